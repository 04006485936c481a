#include "cpu/emit_scalar.h"

#include <math.h>
#include <stdio.h>

/* A and B stand for the operands, T for the type of the result, U for an unsigned one in which nothing overflows. */
typedef struct formula {
    const char *floats, *integers, *bools;
} formula;

static const formula formulas[GOPT_EXPR_CODE_COUNT] = {
    [GOPT_EXPR_NEG] = {"-A", "(T)(0 - (U)A)", NULL},
    [GOPT_EXPR_ABS] = {"__builtin_fabs(A)", "A < 0 ? (T)(0 - (U)A) : A", NULL},
    [GOPT_EXPR_SQRT] = {"__builtin_sqrt(A)", NULL, NULL},
    [GOPT_EXPR_RECIPROCAL] = {"1 / A", NULL, NULL},
    [GOPT_EXPR_SIGN] = {"A > 0 ? 1 : A < 0 ? -1 : A == 0 ? 0 : A", "(A > 0) - (A < 0)", NULL},
    [GOPT_EXPR_FLOOR] = {"__builtin_floor(A)", "A", NULL},
    [GOPT_EXPR_CEIL] = {"__builtin_ceil(A)", "A", NULL},
    [GOPT_EXPR_ROUND] = {"__builtin_rint(A)", "A", NULL},
    [GOPT_EXPR_ISNAN] = {"A != A", NULL, NULL},
    [GOPT_EXPR_ISINF] = {"A == __builtin_inf() || A == -__builtin_inf()", NULL, NULL},
    [GOPT_EXPR_NOT] = {NULL, NULL, "!A"},
    [GOPT_EXPR_BITNOT] = {NULL, "(T)~A", NULL},
    [GOPT_EXPR_ADD] = {"A + B", "(T)((U)A + (U)B)", NULL},
    [GOPT_EXPR_SUB] = {"A - B", "(T)((U)A - (U)B)", NULL},
    [GOPT_EXPR_MUL] = {"A * B", "(T)((U)A * (U)B)", NULL},
    [GOPT_EXPR_DIV] = {"A / B", NULL, NULL},
    [GOPT_EXPR_MIN] = {"A < B || A != A ? A : B", "A < B ? A : B", NULL},
    [GOPT_EXPR_MAX] = {"A > B || A != A ? A : B", "A > B ? A : B", NULL},
    [GOPT_EXPR_LT] = {"A < B", "A < B", NULL},
    [GOPT_EXPR_LE] = {"A <= B", "A <= B", NULL},
    [GOPT_EXPR_GT] = {"A > B", "A > B", NULL},
    [GOPT_EXPR_GE] = {"A >= B", "A >= B", NULL},
    [GOPT_EXPR_EQ] = {"A == B", "A == B", "A == B"},
    [GOPT_EXPR_NE] = {"A != B", "A != B", "A != B"},
    [GOPT_EXPR_AND] = {NULL, NULL, "A & B"},
    [GOPT_EXPR_OR] = {NULL, NULL, "A | B"},
    [GOPT_EXPR_XOR] = {NULL, NULL, "A ^ B"},
    [GOPT_EXPR_BITAND] = {NULL, "(T)(A & B)", NULL},
    [GOPT_EXPR_BITOR] = {NULL, "(T)(A | B)", NULL},
    [GOPT_EXPR_BITXOR] = {NULL, "(T)(A ^ B)", NULL},
};

/* A float as an integer: truncated, modulo 2^64; 0 for what is no number. */
static const char truncation[] = "static inline int64_t to_int(double v)\n{\n"
                                 "    union { double f; uint64_t u; } x = {v};\n"
                                 "    if (__builtin_fabs(v) < 0x1p62)\n"
                                 "        return (int64_t)v;\n"
                                 "    int shift = (int)(x.u >> 52 & 2047) - 1075;\n"
                                 "    if (shift >= 64) /* the infinities and NaN too */\n"
                                 "        return 0;\n"
                                 "    uint64_t m = ((x.u & (1ULL << 52) - 1) | 1ULL << 52) << shift;\n"
                                 "    return (int64_t)(v < 0 ? 0 - m : m);\n}\n";

const char *gopt_emit_scalar_type(gopt_dtype d)
{
    switch (d) {
    case GOPT_DTYPE_F32:
        return "float";
    case GOPT_DTYPE_F64:
        return "double";
    case GOPT_DTYPE_I8:
        return "int8_t";
    case GOPT_DTYPE_I16:
        return "int16_t";
    case GOPT_DTYPE_I32:
        return "int32_t";
    case GOPT_DTYPE_I64:
        return "int64_t";
    case GOPT_DTYPE_U8:
        return "uint8_t";
    case GOPT_DTYPE_U16:
        return "uint16_t";
    case GOPT_DTYPE_U32:
        return "uint32_t";
    case GOPT_DTYPE_U64:
        return "uint64_t";
    case GOPT_DTYPE_BOOL:
        return "bool";
    default:
        return NULL;
    }
}

/* Of the instruction's value. */
static const char *type_of(const gopt_emit_scalar *s, const gopt_instr *in)
{
    if (in->class == GOPT_CLASS_BOOL)
        return "bool";
    if (in->class == GOPT_CLASS_FLOAT)
        return s->in_double ? "double" : "float";
    if (in->dtype != GOPT_DTYPE_NONE)
        return gopt_emit_scalar_type(in->dtype);
    return in->class == GOPT_CLASS_INT ? "int64_t" : "uint64_t";
}

/* By the class of what it works on. */
static const char *formula_of(const gopt_expr *x, const gopt_instr *in)
{
    const formula *f = &formulas[in->code];
    switch (in->arg[0] < 0 ? in->class : x->at[in->arg[0]].class) {
    case GOPT_CLASS_FLOAT:
        return f->floats;
    case GOPT_CLASS_BOOL:
        return f->bools;
    default:
        return f->integers;
    }
}

static bool has_code(const gopt_emit_scalar *s, const gopt_instr *in)
{
    if (in->dtype != GOPT_DTYPE_NONE && !gopt_emit_scalar_type(in->dtype))
        return false;
    /* float32 values that are rounded on the way are not what a double holds */
    if (in->code == GOPT_EXPR_CAST && in->dtype == GOPT_DTYPE_F32 && s->in_double)
        return false;
    return in->code == GOPT_EXPR_LOAD || in->code == GOPT_EXPR_CONST || in->code == GOPT_EXPR_SELECT ||
           in->code == GOPT_EXPR_CAST || formula_of(s->x, in);
}

bool gopt_emit_scalar_of(gopt_emit_scalar *s, const gopt_group *g, const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    int operand[GOPT_WALK_IN], n = 0;
    *s = (gopt_emit_scalar){.x = x, .out = g->out[0].dtype};
    if (x->failed || x->result < 0 || !gopt_emit_scalar_type(s->out) || gopt_expr_dtype(x) != s->out)
        return false;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++)
        s->in_double = s->in_double || (live[k] && x->at[k].dtype == GOPT_DTYPE_F64);
    for (int k = 0; k < x->n; k++) {
        const gopt_instr *in = &x->at[k];
        if (!live[k])
            continue;
        if (!has_code(s, in) || (in->code == GOPT_EXPR_LOAD && n == GOPT_WALK_IN))
            return false;
        if (in->code != GOPT_EXPR_LOAD)
            continue;
        s->in[n] = in->dtype;
        operand[n++] = (int)in->i;
    }
    return gopt_walk_of(&s->walk, g, operand, n);
}

static void put_constant(const gopt_instr *in, gopt_text *t)
{
    if (in->class == GOPT_CLASS_FLOAT && isnan(in->f))
        gopt_text_put(t, "__builtin_nan(\"\")");
    else if (in->class == GOPT_CLASS_FLOAT && isinf(in->f))
        gopt_text_put(t, in->f < 0 ? "-__builtin_inf()" : "__builtin_inf()");
    else if (in->class == GOPT_CLASS_FLOAT)
        gopt_text_add(t, "%a", in->f);
    else
        gopt_text_add(t, "(%s)%lluULL", in->class == GOPT_CLASS_INT ? "int64_t" : "uint64_t",
                      (unsigned long long)in->i);
}

static void put_cast(const gopt_emit_scalar *s, const gopt_instr *in, const char *a, gopt_text *t)
{
    const bool from_float = s->x->at[in->arg[0]].class == GOPT_CLASS_FLOAT;
    if (in->class == GOPT_CLASS_BOOL)
        gopt_text_add(t, "%s != 0", a);
    else if (from_float && in->class != GOPT_CLASS_FLOAT)
        gopt_text_add(t, "(%s)to_int(%s)", gopt_emit_scalar_type(in->dtype), a);
    else
        gopt_text_add(t, "(%s)%s", gopt_emit_scalar_type(in->dtype), a);
}

static void put_formula(const char *pattern, const char *const *arg, const char *type, bool wide, gopt_text *t)
{
    for (; *pattern; pattern++)
        if (*pattern == 'A' || *pattern == 'B')
            gopt_text_put(t, arg[*pattern - 'A']);
        else if (*pattern == 'T')
            gopt_text_put(t, type);
        else if (*pattern == 'U')
            gopt_text_put(t, wide ? "uint64_t" : "uint32_t");
        else
            gopt_text_putn(t, pattern, 1);
}

static void put_value(const gopt_emit_scalar *s, const gopt_instr *in, gopt_text *t)
{
    char name[3][16] = {""};
    const char *const arg[] = {name[0], name[1]};
    for (int j = 0; j < 3; j++)
        if (in->arg[j] >= 0)
            snprintf(name[j], sizeof name[j], "v%d", in->arg[j]);
    int k = 0;
    switch (in->code) {
    case GOPT_EXPR_LOAD:
        while (s->walk.operand[k] != in->i)
            k++;
        gopt_text_add(t, "a%d", k);
        break;
    case GOPT_EXPR_CONST:
        put_constant(in, t);
        break;
    case GOPT_EXPR_SELECT:
        gopt_text_add(t, "%s ? %s : %s", name[0], name[1], name[2]);
        break;
    case GOPT_EXPR_CAST:
        put_cast(s, in, name[0], t);
        break;
    default:
        put_formula(formula_of(s->x, in), arg, type_of(s, in),
                    in->dtype == GOPT_DTYPE_NONE || gopt_dtype_bits(in->dtype) > 32, t);
    }
}

void gopt_emit_scalar_function(const gopt_emit_scalar *s, const char *name, gopt_text *t)
{
    bool live[GOPT_EXPR_LIMIT];
    gopt_expr_live(s->x, live);
    gopt_text_put(t, "#ifndef GOPT_TO_INT\n#define GOPT_TO_INT\n");
    gopt_text_put(t, truncation);
    gopt_text_add(t, "#endif\nstatic inline __attribute__((always_inline)) %s %s(", gopt_emit_scalar_type(s->out),
                  name);
    for (int k = 0; k < s->walk.n_in; k++)
        gopt_text_add(t, "%s%s a%d", k ? ", " : "", gopt_emit_scalar_type(s->in[k]), k);
    gopt_text_put(t, s->walk.n_in ? ")\n{\n" : "void)\n{\n");
    for (int k = 0; k <= s->x->result; k++) {
        const gopt_instr *in = &s->x->at[k];
        if (!live[k])
            continue;
        gopt_text_add(t, "    %s v%d = ", type_of(s, in), k);
        put_value(s, in, t);
        gopt_text_put(t, ";\n");
    }
    gopt_text_add(t, "    return v%d;\n}\n", s->x->result);
}
