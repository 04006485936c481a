/* emit_planes.h: code that lays images out in planes (planes.h), all sizes known. */
#ifndef GOPT_CPU_EMIT_PLANES_H
#define GOPT_CPU_EMIT_PLANES_H

#include "cpu/planes.h"

/* static void NAME(const float *src, float *dst): one channel, p->size floats. */
void gopt_emit_planes_function(const gopt_planes *p, const char *name, gopt_text *t);

#endif
