/* group.h: questions that kernels ask about groups, and how they share work between threads. */
#ifndef GOPT_CPU_GROUP_H
#define GOPT_CPU_GROUP_H

#include "kernel.h"

bool gopt_group_is(const gopt_group *g, const char *domain, const char *op);
/* One of the names of a NULL-terminated list, all of ai.onnx. */
bool gopt_group_is_any(const gopt_group *g, const char *const *ops);
bool gopt_group_has(const gopt_group *g, int k); /* anchor operand k is there */
bool gopt_operand_is(const gopt_operand *o, gopt_dtype d);
/* Operand k, when it is there, has this type. */
bool gopt_group_in_is(const gopt_group *g, int k, gopt_dtype d);
/* Integers of a constant INT64 or INT32 operand into out (at most max); their number, or -1 when not constant or too
 * many. */
int gopt_operand_ints(const gopt_operand *o, int64_t *out, int max);
/* The expression of a whole group without a heavy anchor: that of a POINTWISE op, then post. EUNSUP when there is none.
 */
gopt_status gopt_group_expr(const gopt_group *g, gopt_expr *x, gopt_err *e);

/* Instructions of x that load what post loads, by operand (GOPT_EXPR_LIMIT of them, -1: not loaded), for
 * gopt_expr_splice; their number. */
int gopt_group_loads(const gopt_group *g, gopt_expr *x, int *load);

/* Parts that a call with this much work is worth: waking a second thread costs a few microseconds. */
int gopt_parts(const gopt_target *t, double flops, double bytes);
/* Part `part` of `parts` of [0, n): [*lo, *hi), a multiple of `grain` each but the last. */
void gopt_share(int64_t n, int64_t grain, int part, int parts, int64_t *lo, int64_t *hi);

static inline int64_t gopt_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Floats of room that ends where the widest vector does. */
static inline int64_t gopt_whole_vectors(int64_t floats)
{
    return gopt_ceil_div(floats, 16) * 16;
}

#endif
