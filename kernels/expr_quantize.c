/* expr_quantize.c: float arithmetic that begins or ends with small integers, as quantized models have it. */
#include <math.h>

#include "expr.h"

bool gopt_dtype_is_small_int(gopt_dtype d)
{
    return d == GOPT_DTYPE_U8 || d == GOPT_DTYPE_I8 || d == GOPT_DTYPE_U16 || d == GOPT_DTYPE_I16;
}

static double lowest(gopt_dtype d)
{
    return gopt_dtype_is_signed(d) ? -ldexp(1, gopt_dtype_bits(d) - 1) : 0;
}

static double highest(gopt_dtype d)
{
    return ldexp(1, gopt_dtype_bits(d) - gopt_dtype_is_signed(d)) - 1;
}

int gopt_expr_quantize(gopt_expr *x, int value, int scale, int zero, gopt_dtype d)
{
    int v = gopt_expr_op1(x, GOPT_EXPR_ROUND, gopt_expr_op2(x, GOPT_EXPR_DIV, value, scale));
    if (zero >= 0)
        v = gopt_expr_op2(x, GOPT_EXPR_ADD, v, gopt_expr_cast(x, zero, GOPT_DTYPE_F32));
    v = gopt_expr_op2(x, GOPT_EXPR_MAX, v, gopt_expr_float(x, lowest(d)));
    v = gopt_expr_op2(x, GOPT_EXPR_MIN, v, gopt_expr_float(x, highest(d)));
    return gopt_expr_cast(x, v, d);
}

int gopt_expr_dequantize(gopt_expr *x, int value, int scale, int zero)
{
    int v = gopt_expr_cast(x, value, GOPT_DTYPE_F32);
    if (zero >= 0)
        v = gopt_expr_op2(x, GOPT_EXPR_SUB, v, gopt_expr_cast(x, zero, GOPT_DTYPE_F32));
    return gopt_expr_op2(x, GOPT_EXPR_MUL, v, scale);
}

static bool is_number(const gopt_instr *in, double lo, double hi)
{
    return in->code == GOPT_EXPR_CONST && in->class == GOPT_CLASS_FLOAT && in->f >= lo && in->f <= hi &&
           in->f == floor(in->f);
}

static bool is_small(const gopt_instr *in)
{
    return in->code == GOPT_EXPR_LOAD || in->code == GOPT_EXPR_ACC
               ? gopt_dtype_is_small_int(in->dtype) || in->dtype == GOPT_DTYPE_I32
               : in->code == GOPT_EXPR_CAST && gopt_dtype_is_small_int(in->dtype);
}

/* A value without a fraction: rounded, a zero point, or the sum of such. */
static bool is_whole(const gopt_expr *x, int k)
{
    const gopt_instr *in = &x->at[k];
    if (in->code == GOPT_EXPR_ADD)
        return is_whole(x, in->arg[0]) && is_whole(x, in->arg[1]);
    if (in->code == GOPT_EXPR_CAST)
        return is_small(&x->at[in->arg[0]]);
    return in->code == GOPT_EXPR_ROUND || is_number(in, -0x1p24, 0x1p24);
}

/* A cast that neither truncates nor wraps: of a whole number within the type's range, or NaN. */
static bool saturated(const gopt_expr *x, const gopt_instr *cast)
{
    double lo = lowest(cast->dtype), hi = highest(cast->dtype);
    const gopt_instr *min = &x->at[cast->arg[0]];
    if (min->code != GOPT_EXPR_MIN || !is_number(&x->at[min->arg[1]], lo, hi))
        return false;
    const gopt_instr *max = &x->at[min->arg[0]];
    return max->code == GOPT_EXPR_MAX && is_number(&x->at[max->arg[1]], lo, hi) && is_whole(x, max->arg[0]);
}

static bool is_float(const gopt_instr *in)
{
    bool wide = in->dtype == GOPT_DTYPE_F32 || in->dtype == GOPT_DTYPE_NONE;
    return in->class == GOPT_CLASS_FLOAT && (wide || gopt_dtype_is_half(in->dtype));
}

static bool reads_integers(const gopt_expr *x, const gopt_instr *in)
{
    for (int j = 0; j < 3; j++)
        if (in->arg[j] >= 0 &&
            (x->at[in->arg[j]].class == GOPT_CLASS_INT || x->at[in->arg[j]].class == GOPT_CLASS_UINT))
            return true;
    return false;
}

static bool converts(const gopt_expr *x, const gopt_instr *in)
{
    const gopt_instr *from = &x->at[in->arg[0]];
    if (gopt_dtype_is_small_int(in->dtype))
        return is_float(from) && saturated(x, in);
    if (is_small(from))
        return in->dtype == GOPT_DTYPE_F32;
    return is_float(in) && (is_float(from) || from->class == GOPT_CLASS_BOOL);
}

bool gopt_expr_floats_at(const gopt_expr *x, int k)
{
    const gopt_instr *in = &x->at[k];
    if (in->code == GOPT_EXPR_CAST)
        return converts(x, in);
    if (in->code == GOPT_EXPR_LOAD || in->code == GOPT_EXPR_ACC)
        return is_float(in) || in->class == GOPT_CLASS_BOOL || is_small(in);
    return (is_float(in) || in->class == GOPT_CLASS_BOOL) && !reads_integers(x, in);
}

bool gopt_expr_is_float_inside(const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    if (x->failed || x->result < 0)
        return false;
    const gopt_instr *last = &x->at[x->result];
    if (!is_float(last) && !(last->code == GOPT_EXPR_CAST && gopt_dtype_is_small_int(last->dtype)))
        return false;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++)
        if (live[k] && !gopt_expr_floats_at(x, k))
            return false;
    return true;
}
