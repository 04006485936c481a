/* channels_last.h: what gopt.ConvNhwc and gopt.PoolNhwc share: images whose channels lie innermost. */
#ifndef GOPT_REF_CHANNELS_LAST_H
#define GOPT_REF_CHANNELS_LAST_H

#include "ref/operand.h"
#include "ref/window.h"

/* The shape with axis `first` first and axis `second` second, the others in their order: as NCHW has it. */
void gopt_channels_first(gopt_fact *out, const gopt_fact *in, int first, int second);
/* And back: the second axis becomes the last. */
void gopt_channels_last(gopt_fact *f);
/* Where tap `tap` of window `at` lies among the cells of an image; -1: outside. w is bound. */
int64_t gopt_channels_last_cell(const gopt_window *w, int64_t at, int64_t tap);

#endif
