/* convert.c: elements of one type as another. */
#include "ref/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_float8(gopt_dtype d)
{
    return gopt_dtype_is_float(d) && gopt_dtype_bits(d) == 8;
}

static bool saturates(gopt_attrs a)
{
    return gopt_attr_int(a, "saturate", 1);
}

static const char *round_mode(gopt_attrs a)
{
    return gopt_attr_string(a, "round_mode", "up");
}

/* Float to float, where the target's overflow or rounding is not the one that a store has. */
static bool is_special(gopt_attrs a, gopt_dtype from, gopt_dtype to)
{
    if (!is_float8(to) || !gopt_dtype_is_float(from))
        return false;
    return !saturates(a) || (to == GOPT_DTYPE_F8E8M0 && strcmp(round_mode(a), "up") != 0);
}

bool gopt_convert_is_plain(gopt_attrs a, gopt_dtype from, gopt_dtype to)
{
    return gopt_move_is_number(from) && gopt_move_is_number(to) && !is_special(a, from, to);
}

gopt_status gopt_convert_infer(gopt_infer *x, gopt_dtype to, gopt_err *e)
{
    gopt_dtype from = gopt_move_infer_dtype(x, 0);
    bool reads = gopt_move_is_number(from) || from == GOPT_DTYPE_STRING || from == GOPT_DTYPE_NONE;
    if (!reads || (!gopt_move_is_number(to) && to != GOPT_DTYPE_NONE))
        return gopt_fail(e, GOPT_EUNSUP, "casting %s to %s", gopt_dtype_name(from), gopt_dtype_name(to));
    if (from != GOPT_DTYPE_NONE && to != GOPT_DTYPE_NONE)
        gopt_infer_set(x, 0, to, x->in[0].rank, x->in[0].dim);
    return GOPT_OK;
}

static gopt_status cast_plain(gopt_exec *x, gopt_dtype to, gopt_err *e)
{
    gopt_expr expr = gopt_expr_new(x->scratch);
    if (gopt_expr_cast(&expr, gopt_expr_load(&expr, 0, x->in[0]->dtype), to) < 0)
        return gopt_oom(e);
    return gopt_pointwise_apply(&expr, x->in, 1, x->out[0], x->scratch, e);
}

static gopt_status cast_text(const char *s, gopt_tensor *out, int64_t i, gopt_err *e)
{
    char *end;
    if (gopt_dtype_is_int(out->dtype)) {
        long long v = strtoll(s, &end, 10);
        if (end > s && !*end) {
            gopt_tensor_set_int(out, i, v);
            return GOPT_OK;
        }
    }
    double v = strtod(s, &end);
    if (end == s || *end)
        return gopt_fail(e, GOPT_EINPUT, "\"%.40s\" is no number", s);
    gopt_tensor_set(out, i, v);
    return GOPT_OK;
}

/* A power of two near v, for the modes that do not round up. */
static float to_power(double v, bool down)
{
    int exponent;
    double m = frexp(v, &exponent); /* in [0.5, 1) */
    if (v == 0 || !isfinite(v))
        return (float)v;
    return ldexpf(1, down || fabs(m) < 0.75 ? exponent - 1 : exponent);
}

static void cast_special(const gopt_exec *x, gopt_dtype to, int64_t n)
{
    const char *mode = round_mode(x->attrs);
    bool power = to == GOPT_DTYPE_F8E8M0 && strcmp(mode, "up") != 0, down = !strcmp(mode, "down");
    uint8_t *out = x->out[0]->data;
    for (int64_t i = 0; i < n; i++) {
        double v = gopt_tensor_get(x->in[0], i);
        out[i] = gopt_f32_to_small(to, power ? to_power(v, down) : (float)v, saturates(x->attrs));
    }
}

gopt_status gopt_convert_run(gopt_exec *x, gopt_dtype to, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[0];
    int64_t n = gopt_tensor_count(in);
    if (gopt_convert_is_plain(x->attrs, in->dtype, to))
        return cast_plain(x, to, e);
    if (in->dtype != GOPT_DTYPE_STRING)
        cast_special(x, to, n);
    for (int64_t i = 0; in->dtype == GOPT_DTYPE_STRING && i < n; i++)
        GOPT_TRY(cast_text(gopt_move_string(in, i), x->out[0], i, e));
    return GOPT_OK;
}
