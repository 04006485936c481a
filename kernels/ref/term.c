/* term.c: pieces that several pointwise operators share. No call has two arguments that build instructions: their order
 * would be the compiler's choice. */
#include "ref/term.h"

#include <math.h>

int gopt_term_operand(const gopt_expr *x, int a, unsigned types)
{
    return a >= 0 && types >> x->at[a].class & 1 ? a : -1;
}

int gopt_term_like(const gopt_expr *x, int a, int b)
{
    return a >= 0 && b >= 0 && x->at[a].dtype == x->at[b].dtype ? a : -1;
}

int gopt_term_unary(gopt_expr *x, gopt_expr_code code, int a, unsigned types)
{
    return gopt_expr_op1(x, code, gopt_term_operand(x, a, types));
}

int gopt_term_fold(gopt_expr *x, gopt_expr_code code, const int *a, int n, unsigned types)
{
    int sum = gopt_term_operand(x, a[0], types);
    for (int i = 1; i < n; i++)
        sum = gopt_expr_op2(x, code, sum, gopt_term_like(x, a[i], a[0]));
    return sum;
}

int gopt_term_binary(gopt_expr *x, gopt_expr_code code, const int *a, unsigned types)
{
    return gopt_term_fold(x, code, a, 2, types);
}

int gopt_term_with(gopt_expr *x, gopt_expr_code code, int a, double v)
{
    return gopt_expr_op2(x, code, a, gopt_expr_float(x, v));
}

int gopt_term_bend(gopt_expr *x, int a, int bend)
{
    return gopt_expr_op3(x, GOPT_EXPR_SELECT, gopt_term_with(x, GOPT_EXPR_LT, a, 0), bend, a);
}

int gopt_term_ramp(gopt_expr *x, int a, double slope, double offset)
{
    int line = gopt_term_with(x, GOPT_EXPR_ADD, gopt_term_with(x, GOPT_EXPR_MUL, a, slope), offset);
    return gopt_term_with(x, GOPT_EXPR_MAX, gopt_term_with(x, GOPT_EXPR_MIN, line, 1), 0);
}

int gopt_term_softplus(gopt_expr *x, int a)
{
    int minus = gopt_expr_op1(x, GOPT_EXPR_NEG, gopt_expr_op1(x, GOPT_EXPR_ABS, a));
    int rest = gopt_expr_op1(x, GOPT_EXPR_LOG1P, gopt_expr_op1(x, GOPT_EXPR_EXP, minus));
    return gopt_expr_op2(x, GOPT_EXPR_ADD, gopt_term_with(x, GOPT_EXPR_MAX, a, 0), rest);
}

int gopt_term_swish(gopt_expr *x, int a, double alpha)
{
    int gate = gopt_expr_op1(x, GOPT_EXPR_SIGMOID, gopt_term_with(x, GOPT_EXPR_MUL, a, alpha));
    return gopt_expr_op2(x, GOPT_EXPR_MUL, a, gate);
}

/* a / 2 * (1 + gate). */
static int gated(gopt_expr *x, int a, int gate)
{
    int open = gopt_term_with(x, GOPT_EXPR_ADD, gate, 1);
    return gopt_expr_op2(x, GOPT_EXPR_MUL, gopt_term_with(x, GOPT_EXPR_MUL, a, 0.5), open);
}

int gopt_term_gelu(gopt_expr *x, int a)
{
    return gated(x, a, gopt_expr_op1(x, GOPT_EXPR_ERF, gopt_term_with(x, GOPT_EXPR_MUL, a, M_SQRT1_2)));
}

int gopt_term_gelu_tanh(gopt_expr *x, int a)
{
    int square = gopt_expr_op2(x, GOPT_EXPR_MUL, a, a);
    int slope = gopt_term_with(x, GOPT_EXPR_ADD, gopt_term_with(x, GOPT_EXPR_MUL, square, 0.044715), 1);
    int inner = gopt_expr_op2(x, GOPT_EXPR_MUL, gopt_term_with(x, GOPT_EXPR_MUL, a, sqrt(2 / M_PI)), slope);
    return gated(x, a, gopt_expr_op1(x, GOPT_EXPR_TANH, inner));
}
