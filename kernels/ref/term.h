/* term.h: pieces of the expressions that pointwise operators compute. A builder given a missing operand (-1) or one of
 * another type than it takes returns -1, which gopt_op_expr reports. */
#ifndef GOPT_REF_TERM_H
#define GOPT_REF_TERM_H

#include "op.h"

/* Sets of operand types. */
typedef enum gopt_term_types {
    GOPT_TERM_FLOAT = 1 << GOPT_CLASS_FLOAT,
    GOPT_TERM_INT = 1 << GOPT_CLASS_INT, /* signed */
    GOPT_TERM_UINT = 1 << GOPT_CLASS_UINT,
    GOPT_TERM_BOOL = 1 << GOPT_CLASS_BOOL,
    GOPT_TERM_WHOLE = GOPT_TERM_INT | GOPT_TERM_UINT,
    GOPT_TERM_NUMBER = GOPT_TERM_FLOAT | GOPT_TERM_WHOLE,
    GOPT_TERM_ANY = GOPT_TERM_NUMBER | GOPT_TERM_BOOL
} gopt_term_types;

/* Operand a where it is one of these types, else -1. */
int gopt_term_operand(const gopt_expr *x, int a, unsigned types);
/* Operand a where it has the type of operand b, else -1. */
int gopt_term_like(const gopt_expr *x, int a, int b);
int gopt_term_unary(gopt_expr *x, gopt_expr_code code, int a, unsigned types);
/* a[0] op a[1] op ... a[n - 1], from the left, all of one type. */
int gopt_term_fold(gopt_expr *x, gopt_expr_code code, const int *a, int n, unsigned types);
int gopt_term_binary(gopt_expr *x, gopt_expr_code code, const int *a, unsigned types);
/* a op v. */
int gopt_term_with(gopt_expr *x, gopt_expr_code code, int a, double v);
/* a, or `bend` where a is negative. */
int gopt_term_bend(gopt_expr *x, int a, int bend);

/* ---- functions of a float ---- */

/* slope * a + offset, held in [0, 1]. */
int gopt_term_ramp(gopt_expr *x, int a, double slope, double offset);
int gopt_term_softplus(gopt_expr *x, int a);            /* log(1 + e^a), exact also for large and small a */
int gopt_term_swish(gopt_expr *x, int a, double alpha); /* a * sigmoid(alpha * a) */
int gopt_term_gelu(gopt_expr *x, int a);
int gopt_term_gelu_tanh(gopt_expr *x, int a);

#endif
