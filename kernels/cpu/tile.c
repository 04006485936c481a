/* tile.c: from expressions to tile programs: operands numbered densely, constants loaded once, registers used again. */
#include "cpu/tile.h"

#include <string.h>

typedef struct compiler {
    gopt_tile *t;
    const gopt_expr *x;
    bool live[GOPT_EXPR_LIMIT];
    int last[GOPT_EXPR_LIMIT]; /* the instruction that reads a value last */
    int reg[GOPT_EXPR_LIMIT];  /* where a value is */
    bool busy[GOPT_TILE_REGS];
} compiler;

static bool has_code(const gopt_expr *x, int k)
{
    gopt_expr_code code = x->at[k].code;
    return code != GOPT_EXPR_BITNOT && (code < GOPT_EXPR_BITAND || code > GOPT_EXPR_SHR) && gopt_expr_floats_at(x, k);
}

/* Integers are loaded as floats. */
static bool is_loaded_integer(const gopt_expr *x, const gopt_instr *in)
{
    if (in->code != GOPT_EXPR_CAST)
        return false;
    const gopt_instr *from = &x->at[in->arg[0]];
    return (from->code == GOPT_EXPR_LOAD || from->code == GOPT_EXPR_ACC) && from->class != GOPT_CLASS_BOOL &&
           from->class != GOPT_CLASS_FLOAT;
}

/* Loads become operands, constants registers. False when there are too many. */
static bool place_inputs(compiler *c, int *operand, int max)
{
    gopt_tile *t = c->t;
    for (int k = 0; k < c->x->n; k++) {
        const gopt_instr *in = &c->x->at[k];
        if (!c->live[k])
            continue;
        if (!has_code(c->x, k))
            return false;
        if (in->code == GOPT_EXPR_ACC)
            c->reg[k] = 0;
        if (in->code != GOPT_EXPR_LOAD)
            continue;
        if (t->n_in == max)
            return false;
        operand[t->n_in] = (int)in->i;
        c->reg[k] = 1 + t->n_in++;
    }
    t->first_const = 1 + t->n_in;
    for (int k = 0; k < c->x->n; k++) {
        const gopt_instr *in = &c->x->at[k];
        if (!c->live[k] || in->code != GOPT_EXPR_CONST)
            continue;
        if (t->n_const == GOPT_TILE_CONSTS)
            return false;
        c->reg[k] = t->first_const + t->n_const;
        t->constant[t->n_const++] = in->class == GOPT_CLASS_FLOAT ? (float)in->f : (float)in->i;
    }
    t->first_temp = t->n_reg = t->first_const + t->n_const;
    return t->n_reg < GOPT_TILE_REGS;
}

static void find_last_uses(compiler *c)
{
    for (int k = 0; k < c->x->n; k++)
        for (int j = 0; c->live[k] && j < 3; j++)
            if (c->x->at[k].arg[j] >= 0)
                c->last[c->x->at[k].arg[j]] = k;
}

static int take_register(compiler *c)
{
    for (int r = c->t->first_temp; r < GOPT_TILE_REGS; r++)
        if (!c->busy[r]) {
            c->busy[r] = true;
            c->t->n_reg = GOPT_MAX(c->t->n_reg, r + 1);
            return r;
        }
    return -1;
}

/* One that no instruction has written: the result's memory may be ACC's, which others still read. */
static int take_fresh_register(compiler *c)
{
    return c->t->n_reg < GOPT_TILE_REGS ? c->t->n_reg++ : -1;
}

/* An instruction may overwrite its own operand: elements do not meet. */
static bool place(compiler *c, int k)
{
    const gopt_instr *in = &c->x->at[k];
    gopt_tile *t = c->t;
    if (is_loaded_integer(c->x, in)) {
        c->reg[k] = c->reg[in->arg[0]];
        return true;
    }
    if (t->n_op == GOPT_TILE_OPS)
        return false;
    gopt_tile_op *o = &t->op[t->n_op++];
    bool to_integer = in->code == GOPT_EXPR_CAST && in->class != GOPT_CLASS_FLOAT;
    o->code = to_integer ? GOPT_TILE_NUMBER : (unsigned char)in->code;
    for (int j = 0; j < 3; j++) {
        int a = in->arg[j];
        if (a < 0)
            continue;
        o->arg[j] = (unsigned char)c->reg[a];
        if (c->last[a] == k && c->reg[a] >= t->first_temp)
            c->busy[c->reg[a]] = false;
    }
    if (in->code == GOPT_EXPR_POW && c->x->at[in->arg[1]].code == GOPT_EXPR_CONST && c->x->at[in->arg[1]].f == 2.0) {
        o->code = GOPT_EXPR_MUL;
        o->arg[1] = o->arg[0];
    }
    if (in->code == GOPT_EXPR_CAST && gopt_dtype_is_half(in->dtype))
        o->code = in->dtype == GOPT_DTYPE_F16 ? GOPT_TILE_TO_F16 : GOPT_TILE_TO_BF16;
    int r = take_register(c);
    c->reg[k] = r;
    o->dst = (unsigned char)r;
    return r >= 0;
}

static bool compile(compiler *c, int *operand, int max)
{
    int result = c->x->result;
    if (c->x->failed || result < 0)
        return false;
    gopt_expr_live(c->x, c->live);
    if (!place_inputs(c, operand, max))
        return false;
    find_last_uses(c);
    for (int k = 0; k <= result; k++) {
        gopt_expr_code code = c->x->at[k].code;
        if (c->live[k] && code != GOPT_EXPR_LOAD && code != GOPT_EXPR_ACC && code != GOPT_EXPR_CONST && !place(c, k))
            return false;
    }
    gopt_tile *t = c->t;
    if (c->reg[result] < t->first_temp) { /* a copy */
        int r = take_register(c);
        t->op[t->n_op++] = (gopt_tile_op){.code = GOPT_EXPR_CAST, .dst = (unsigned char)r};
        t->op[t->n_op - 1].arg[0] = (unsigned char)c->reg[result];
        t->result = r;
        return r >= 0;
    }
    /* The result goes straight to its destination, so no other value may share its register. */
    t->result = take_fresh_register(c);
    t->op[t->n_op - 1].dst = (unsigned char)t->result;
    return t->result >= 0;
}

bool gopt_tile_compile(gopt_tile *t, const gopt_expr *x, int *operand, int max)
{
    gopt_tile local;
    compiler c = {.t = t ? t : &local, .x = x};
    memset(c.t, 0, sizeof *c.t);
    return compile(&c, operand, max);
}

int gopt_tile_length(const gopt_tile *t)
{
    int n = GOPT_TILE_FLOATS / GOPT_MAX(t->n_reg, 1);
    return GOPT_MIN(n, GOPT_TILE_MAX) / GOPT_TILE_UNIT * GOPT_TILE_UNIT;
}
