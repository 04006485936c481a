/* emit_scalar.h: expressions of any element type as C over single elements, for loops that the compiler makes vectors
 * of. What needs a library (exp, tanh, pow, ...) is not emitted: generated code links none. */
#ifndef GOPT_CPU_EMIT_SCALAR_H
#define GOPT_CPU_EMIT_SCALAR_H

#include "cpu/walk.h"

typedef struct gopt_emit_scalar {
    const gopt_expr *x;
    gopt_walk walk; /* over the operands that it loads, in the order of the function's parameters */
    gopt_dtype in[GOPT_WALK_IN], out;
    bool in_double; /* what floats are computed in: float unless a double takes part */
} gopt_emit_scalar;

/* False when x has what is not emitted, or operands that do not follow. x must outlive s. */
bool gopt_emit_scalar_of(gopt_emit_scalar *s, const gopt_group *g, const gopt_expr *x);
/* The C type of an element; NULL when none is emitted for d. */
const char *gopt_emit_scalar_type(gopt_dtype d);
/* static inline TYPE NAME(TYPE a0, ...) and what it needs. */
void gopt_emit_scalar_function(const gopt_emit_scalar *s, const char *name, gopt_text *t);

#endif
