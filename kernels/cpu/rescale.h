/* rescale.h: what QuantizeLinear and DequantizeLinear have in common: they are expressions over x, scale and zero
 * point, of which the latter two are broadcast along all axes but one, or block by block. */
#ifndef GOPT_CPU_RESCALE_H
#define GOPT_CPU_RESCALE_H

#include "cpu/post.h"

typedef struct gopt_rescale {
    gopt_post post;
    int64_t count, size; /* of the result: elements, bytes of one */
} gopt_rescale;

/* Between float32 and integers of 8 or 16 bits, from int32 too; both domains. q may be NULL: only the question. */
bool gopt_rescale_of(gopt_rescale *q, const gopt_group *g, const char *op, const gopt_simd *simd);
double gopt_rescale_cost(const gopt_group *g, const int64_t *knob, const gopt_target *t);
gopt_work gopt_rescale_work(const gopt_group *g, const int64_t *knob, const gopt_target *t);
void gopt_rescale_run(const gopt_task *t); /* spec: a gopt_rescale */

#endif
