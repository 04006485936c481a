/* emit_expr.c: pointwise expressions as C over vectors. */
#include <math.h>
#include <stdio.h>

#include "cpu/emit.h"

/* A and B stand for the operands. */
static const char *const fn1[GOPT_EXPR_CODE_COUNT] = {
    [GOPT_EXPR_NEG] = "-A",
    [GOPT_EXPR_ABS] = "v_abs(A)",
    [GOPT_EXPR_SIGN] = "v_sign(A)",
    [GOPT_EXPR_EXP] = "v_exp(A)",
    [GOPT_EXPR_LOG] = "v_log(A)",
    [GOPT_EXPR_SQRT] = "v_sqrt(A)",
    [GOPT_EXPR_TANH] = "v_tanh(A)",
    [GOPT_EXPR_SIGMOID] = "v_sigmoid(A)",
    [GOPT_EXPR_ERF] = "v_erf(A)",
    [GOPT_EXPR_FLOOR] = "v_floor(A)",
    [GOPT_EXPR_CEIL] = "v_ceil(A)",
    [GOPT_EXPR_ROUND] = "v_round(A)",
    [GOPT_EXPR_NOT] = "~A",
    [GOPT_EXPR_RECIPROCAL] = "1.0f / A",
    [GOPT_EXPR_ISNAN] = "(vi)(A != A)",
    [GOPT_EXPR_ISINF] = "(vi)(v_abs(A) == __builtin_inff())",
};

static const char *const fn2[GOPT_EXPR_CODE_COUNT] = {
    [GOPT_EXPR_ADD] = "A + B",       [GOPT_EXPR_SUB] = "A - B",       [GOPT_EXPR_MUL] = "A * B",
    [GOPT_EXPR_DIV] = "A / B",       [GOPT_EXPR_MIN] = "v_min(A, B)", [GOPT_EXPR_MAX] = "v_max(A, B)",
    [GOPT_EXPR_LT] = "(vi)(A < B)",  [GOPT_EXPR_LE] = "(vi)(A <= B)", [GOPT_EXPR_GT] = "(vi)(A > B)",
    [GOPT_EXPR_GE] = "(vi)(A >= B)", [GOPT_EXPR_EQ] = "(vi)(A == B)", [GOPT_EXPR_NE] = "(vi)(A != B)",
    [GOPT_EXPR_AND] = "A & B",       [GOPT_EXPR_OR] = "A | B",        [GOPT_EXPR_XOR] = "A ^ B",
};

static void put_formula(gopt_text *t, const char *formula, const char *a, const char *b)
{
    for (; *formula; formula++)
        if (*formula == 'A' || *formula == 'B')
            gopt_text_put(t, *formula == 'A' ? a : b);
        else
            gopt_text_putn(t, formula, 1);
}

/* 2 or 3 where a constant exponent is that, else 0. */
static int small_power(const gopt_expr *x, const gopt_instr *in)
{
    if (in->code != GOPT_EXPR_POW || x->at[in->arg[1]].code != GOPT_EXPR_CONST)
        return 0;
    double power = x->at[in->arg[1]].f;
    return power == 2 ? 2 : power == 3 ? 3 : 0;
}

static const char *cast_formula(gopt_dtype to)
{
    return to == GOPT_DTYPE_F16 ? "v_round_f16(A)" : to == GOPT_DTYPE_BF16 ? "v_round_bf16(A)" : "A";
}

static bool has_code(const gopt_expr *x, const gopt_instr *in)
{
    bool is_bool = in->class == GOPT_CLASS_BOOL, is_half = gopt_dtype_is_half(in->dtype);
    bool is_float =
        in->class == GOPT_CLASS_FLOAT && (in->dtype == GOPT_DTYPE_F32 || in->dtype == GOPT_DTYPE_NONE || is_half);
    if ((!is_bool && !is_float) || (is_half && in->code == GOPT_EXPR_LOAD))
        return false;
    if (in->code == GOPT_EXPR_CAST)
        return is_float && x->at[in->arg[0]].class == GOPT_CLASS_FLOAT;
    return in->code <= GOPT_EXPR_CONST || in->code == GOPT_EXPR_SELECT || fn1[in->code] || fn2[in->code] ||
           small_power(x, in);
}

bool gopt_emit_expr_of(gopt_emit_expr *e, const gopt_group *g, const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    int operand[GOPT_WALK_IN], n = 0;
    *e = (gopt_emit_expr){.x = x};
    if (x->failed || x->result < 0 || x->at[x->result].class != GOPT_CLASS_FLOAT || g->out[0].dtype != GOPT_DTYPE_F32)
        return false;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++) {
        const gopt_instr *in = &x->at[k];
        if (!live[k])
            continue;
        if (!has_code(x, in) || (in->code == GOPT_EXPR_LOAD && n == GOPT_WALK_IN))
            return false;
        if (in->code != GOPT_EXPR_LOAD)
            continue;
        e->is_bool[n] = in->class == GOPT_CLASS_BOOL;
        operand[n++] = (int)in->i;
    }
    return gopt_walk_of(&e->walk, g, operand, n);
}

static void put_constant(const gopt_instr *in, gopt_text *t)
{
    float f = (float)in->f;
    if (in->class == GOPT_CLASS_BOOL)
        gopt_text_add(t, "vi_splat(%d)", in->i ? -1 : 0);
    else if (isnan(f))
        gopt_text_put(t, "v_splat(__builtin_nanf(\"\"))");
    else if (isinf(f))
        gopt_text_add(t, "v_splat(%s__builtin_inff())", f < 0 ? "-" : "");
    else
        gopt_text_add(t, "v_splat(%af)", (double)f);
}

static int parameter(const gopt_emit_expr *e, int64_t operand)
{
    int k = 0;
    while (e->walk.operand[k] != operand)
        k++;
    return k;
}

static void put_value(const gopt_emit_expr *e, const gopt_instr *in, gopt_text *t)
{
    char a[3][16] = {""};
    for (int j = 0; j < 3; j++)
        if (in->arg[j] >= 0)
            snprintf(a[j], sizeof a[j], "v%d", in->arg[j]);
    if (in->code == GOPT_EXPR_ACC)
        gopt_text_put(t, "acc");
    else if (in->code == GOPT_EXPR_LOAD)
        gopt_text_add(t, "a%d", parameter(e, in->i));
    else if (in->code == GOPT_EXPR_CONST)
        put_constant(in, t);
    else if (in->code == GOPT_EXPR_SELECT && in->class == GOPT_CLASS_BOOL)
        gopt_text_add(t, "(%s & %s) | (~%s & %s)", a[0], a[1], a[0], a[2]);
    else if (in->code == GOPT_EXPR_SELECT)
        gopt_text_add(t, "v_select(%s, %s, %s)", a[0], a[1], a[2]);
    else if (in->code == GOPT_EXPR_CAST)
        put_formula(t, cast_formula(in->dtype), a[0], "");
    else if (small_power(e->x, in))
        put_formula(t, small_power(e->x, in) == 2 ? "A * A" : "A * A * A", a[0], "");
    else
        put_formula(t, fn1[in->code] ? fn1[in->code] : fn2[in->code], a[0], a[1]);
}

void gopt_emit_expr_function(const gopt_emit_expr *e, const char *name, gopt_text *t)
{
    bool live[GOPT_EXPR_LIMIT];
    gopt_expr_live(e->x, live);
    gopt_text_add(t, "static inline __attribute__((always_inline)) vf %s(vf acc", name);
    for (int k = 0; k < e->walk.n_in; k++)
        gopt_text_add(t, ", %s a%d", e->is_bool[k] ? "vi" : "vf", k);
    gopt_text_put(t, ")\n{\n");
    for (int k = 0; k <= e->x->result; k++) {
        const gopt_instr *in = &e->x->at[k];
        if (!live[k])
            continue;
        gopt_text_add(t, "    %s v%d = ", in->class == GOPT_CLASS_BOOL ? "vi" : "vf", k);
        put_value(e, in, t);
        gopt_text_put(t, ";\n");
    }
    gopt_text_add(t, "    return v%d;\n}\n", e->x->result);
}

void gopt_emit_expr_pointers(const gopt_emit_expr *e, gopt_text *t)
{
    for (int k = 0; k < e->walk.n_in; k++)
        gopt_text_add(t, "    const %s *p%d = t->in[%d];\n", e->is_bool[k] ? "unsigned char" : "float", k,
                      e->walk.operand[k]);
}

void gopt_emit_walk_offset(const gopt_walk *w, int k, const char *at, gopt_text *t)
{
    int64_t step = 1;
    for (int d = w->rank - 1; d >= 0; step *= w->dim[d], d--)
        if (w->stride[k][d] && d > 0)
            gopt_text_add(t, " + %s / %lld %% %lld * %lld", at, (long long)step, (long long)w->dim[d],
                          (long long)w->stride[k][d]);
        else if (w->stride[k][d])
            gopt_text_add(t, " + %s / %lld * %lld", at, (long long)step, (long long)w->stride[k][d]);
}

void gopt_emit_expr_row(const gopt_emit_expr *e, const char *at, const char *indent, gopt_text *t)
{
    const gopt_walk *w = &e->walk;
    for (int k = 0; k < w->n_in; k++) {
        gopt_text_add(t, "%sconst %s *q%d = p%d", indent, e->is_bool[k] ? "unsigned char" : "float", k, k);
        gopt_emit_walk_offset(w, k, at, t);
        gopt_text_put(t, ";\n");
        if (w->stride[k][w->rank - 1] == 0)
            gopt_text_add(t, e->is_bool[k] ? "%svi s%d = vi_splat(*q%d ? -1 : 0);\n" : "%svf s%d = v_splat(*q%d);\n",
                          indent, k, k);
    }
}

void gopt_emit_expr_call(const gopt_emit_expr *e, const char *name, const char *acc, const char *i, const char *part,
                         gopt_text *t)
{
    gopt_text_add(t, "%s(%s", name, acc);
    for (int k = 0; k < e->walk.n_in; k++)
        if (e->walk.stride[k][e->walk.rank - 1] == 0)
            gopt_text_add(t, ", s%d", k);
        else if (e->is_bool[k])
            gopt_text_add(t, ", v_mask(q%d + %s, %s)", k, i, part ? part : "GOPT_VW");
        else if (part)
            gopt_text_add(t, ", v_load_part(q%d + %s, %s, 0)", k, i, part);
        else
            gopt_text_add(t, ", v_load(q%d + %s)", k, i);
    gopt_text_put(t, ")");
}

void gopt_emit_expr_finish(const gopt_emit_expr *e, const char *name, const char *end, const char *indent, gopt_text *t)
{
    char rest[64], acc[96];
    snprintf(rest, sizeof rest, "(int)(%s - i)", end);
    snprintf(acc, sizeof acc, "v_load_part(s + i, %s, 0)", rest);
    gopt_text_add(t, "%sfor (; i + GOPT_VW <= %s; i += GOPT_VW)\n%s    v_store(o + i, ", indent, end, indent);
    gopt_emit_expr_call(e, name, "v_load(s + i)", "i", NULL, t);
    gopt_text_add(t, ");\n%sif (i < %s)\n%s    v_store_part(o + i, ", indent, end, indent);
    gopt_emit_expr_call(e, name, acc, "i", rest, t);
    gopt_text_add(t, ", %s);\n", rest);
}
