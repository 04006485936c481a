/* post.h: float expressions over whole tensors: operands broadcast to the output, tile by tile. Serves pointwise groups
 * and the epilogues of all others, which hand over pieces of their result while these are in the cache. */
#ifndef GOPT_CPU_POST_H
#define GOPT_CPU_POST_H

#include "cpu/simd.h"
#include "cpu/walk.h"

typedef enum gopt_post_kind {
    GOPT_POST_DENSE,  /* the output's shape */
    GOPT_POST_SCALAR, /* one element */
    GOPT_POST_STRIDED
} gopt_post_kind;

typedef struct gopt_post {
    const gopt_simd *simd;
    bool active; /* false: nothing to compute */
    gopt_tile tile;
    gopt_walk walk; /* its operands are the tile program's */
    gopt_post_kind kind[GOPT_WALK_IN];
    gopt_dtype type[GOPT_WALK_IN], out;
} gopt_post;

/* Whether tiles can compute x over the group's operands into out[0], which must be float32. Operands are float32,
 * float16, bfloat16, bool, or integers of 8 and 16 bits and int32; all is computed in float32. NULL is fine. */
bool gopt_post_fits(const gopt_group *g, const gopt_expr *x);
/* The same where out[0] may also be of integers of 8 or 16 bits; never of NULL. */
bool gopt_post_fits_any(const gopt_group *g, const gopt_expr *x);
/* p is zeroed; x as accepted by one of these. */
void gopt_post_prepare(gopt_post *p, const gopt_group *g, const gopt_expr *x, const gopt_simd *simd);
/* Elements [first, first + n) of the output, of which `out` is the first. ACC is read from acc, as floats whatever its
 * type; acc may be out. */
void gopt_post_run(const gopt_post *p, const void *const *in, const float *acc, void *out, int64_t first, int64_t n);
/* Operations per element, for predictions. */
double gopt_post_cost(const gopt_expr *x);

#endif
