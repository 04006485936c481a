#include "cpu/post.h"

#include <string.h>

typedef struct frame {
    _Alignas(64) float buffer[GOPT_TILE_FLOATS];
    float *reg[GOPT_TILE_REGS];
    int length;
} frame;

static bool broadcasts(const gopt_operand *in, const gopt_operand *out)
{
    if (in->rank > out->rank || in->packed || (in->dtype != GOPT_DTYPE_F32 && in->dtype != GOPT_DTYPE_BOOL))
        return false;
    for (int i = 0; i < in->rank; i++)
        if (in->dim[i] != 1 && in->dim[i] != out->dim[out->rank - in->rank + i])
            return false;
    return true;
}

static void strides_over(const gopt_operand *in, const gopt_operand *out, int64_t *stride)
{
    int64_t step = 1;
    for (int i = 0; i < out->rank; i++)
        stride[i] = 0;
    for (int i = in->rank - 1, k = out->rank - 1; i >= 0; i--, k--) {
        stride[k] = in->dim[i] == 1 ? 0 : step;
        step *= in->dim[i];
    }
}

/* Merges neighbouring dimensions of the output that every operand walks through alike. False: too many are left. */
static bool merge(gopt_post *p, const gopt_group *g)
{
    const gopt_operand *out = g->out;
    int64_t full[GOPT_POST_IN][GOPT_RANK_MAX];
    for (int k = 0; k < p->tile.n_in; k++)
        strides_over(&g->in[p->in[k].operand], out, full[k]);
    for (int d = 0; d < out->rank; d++) {
        bool joins = p->rank > 0;
        if (out->dim[d] == 1)
            continue;
        for (int k = 0; joins && k < p->tile.n_in; k++)
            joins = p->in[k].stride[p->rank - 1] == full[k][d] * out->dim[d];
        if (!joins && p->rank == GOPT_POST_RANK)
            return false;
        int at = joins ? p->rank - 1 : p->rank++;
        p->dim[at] = joins ? p->dim[at] * out->dim[d] : out->dim[d];
        for (int k = 0; k < p->tile.n_in; k++)
            p->in[k].stride[at] = full[k][d];
    }
    if (p->rank == 0)
        p->dim[p->rank++] = 1;
    return true;
}

static bool build(gopt_post *p, const gopt_group *g, const gopt_expr *x)
{
    int operand[GOPT_POST_IN];
    if (g->out[0].dtype != GOPT_DTYPE_F32 || x->at[x->result].class != GOPT_CLASS_FLOAT ||
        !gopt_tile_compile(&p->tile, x, operand, GOPT_POST_IN))
        return false;
    for (int k = 0; k < p->tile.n_in; k++) {
        if (operand[k] >= g->n_in || !broadcasts(&g->in[operand[k]], g->out))
            return false;
        p->in[k].operand = operand[k];
        p->in[k].is_bool = g->in[operand[k]].dtype == GOPT_DTYPE_BOOL;
    }
    if (!merge(p, g))
        return false;
    for (int k = 0; k < p->tile.n_in; k++) {
        int64_t n = gopt_operand_count(&g->in[operand[k]]);
        p->in[k].kind = n == 1                                ? GOPT_POST_SCALAR
                        : n == gopt_operand_count(&g->out[0]) ? GOPT_POST_DENSE
                                                              : GOPT_POST_STRIDED;
    }
    p->active = true;
    return true;
}

bool gopt_post_fits(const gopt_group *g, const gopt_expr *x)
{
    gopt_post p;
    if (!x)
        return g->out[0].dtype == GOPT_DTYPE_F32;
    memset(&p, 0, sizeof p);
    return !x->failed && x->result >= 0 && build(&p, g, x);
}

void gopt_post_prepare(gopt_post *p, const gopt_group *g, const gopt_expr *x, const gopt_simd *simd)
{
    p->simd = simd;
    if (x)
        build(p, g, x);
}

double gopt_post_cost(const gopt_expr *x)
{
    return x ? gopt_expr_cost(x) : 0;
}

/* n elements that lie `stride` (0 or 1) apart from element `at` of an operand on. */
static void read_run(const gopt_post *p, const gopt_post_in *in, const void *base, int64_t at, int64_t n, float *dst)
{
    const unsigned char *b = (const unsigned char *)base + at;
    const float *f = (const float *)base + at;
    bool moves = in->stride[p->rank - 1];
    if (!moves)
        p->simd->fill(dst, in->is_bool ? (float)(*b != 0) : *f, n);
    else if (!in->is_bool)
        memcpy(dst, f, (size_t)n * sizeof *dst);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = b[i] != 0;
}

static int64_t position(const gopt_post *p, const gopt_post_in *in, int64_t row)
{
    int64_t at = 0;
    for (int d = p->rank - 2; d >= 0; row /= p->dim[d], d--)
        at += row % p->dim[d] * in->stride[d];
    return at;
}

/* Elements of an operand for outputs [first, first + n): where they lie when they do, else gathered in room. */
static float *read_operand(const gopt_post *p, const gopt_post_in *in, const void *base, int64_t first, int n,
                           bool copy, float *room)
{
    int64_t length = p->dim[p->rank - 1], inner = first % length, row = first / length;
    bool moves = in->stride[p->rank - 1];
    if (in->kind == GOPT_POST_SCALAR)
        return room;
    if (in->kind == GOPT_POST_DENSE && !in->is_bool && !copy)
        return (float *)base + first;
    if (moves && inner + n <= length && !in->is_bool && !copy)
        return (float *)base + position(p, in, row) + inner;
    for (int64_t done = 0; done < n; row++, inner = 0) {
        int64_t m = GOPT_MIN(n - done, length - inner);
        read_run(p, in, base, position(p, in, row) + (moves ? inner : 0), m, room + done);
        done += m;
    }
    return room;
}

static void frame_init(frame *f, const gopt_post *p, const void *const *in, int64_t n)
{
    const gopt_tile *t = &p->tile;
    f->length = gopt_tile_length(t);
    int64_t used = GOPT_MIN(f->length, (n + GOPT_TILE_UNIT - 1) / GOPT_TILE_UNIT * GOPT_TILE_UNIT);
    for (int r = 0; r < t->n_reg; r++)
        f->reg[r] = f->buffer + r * f->length;
    for (int k = 0; k < t->n_const; k++)
        p->simd->fill(f->reg[t->first_const + k], t->constant[k], used);
    for (int k = 0; k < t->n_in; k++) {
        const void *base = in[p->in[k].operand];
        if (p->in[k].kind == GOPT_POST_SCALAR)
            p->simd->fill(f->reg[1 + k],
                          p->in[k].is_bool ? (float)(*(const unsigned char *)base != 0) : *(const float *)base, used);
    }
}

/* A tile that is no multiple of the unit is computed in own memory: whole vectors are read and written. */
static void run_tile(frame *f, const gopt_post *p, const void *const *in, const float *acc, float *out, int64_t first,
                     int n)
{
    const gopt_tile *t = &p->tile;
    float *reg[GOPT_TILE_REGS];
    bool ragged = n % GOPT_TILE_UNIT;
    memcpy(reg, f->reg, (size_t)t->n_reg * sizeof *reg);
    if (acc && !ragged)
        reg[0] = (float *)acc;
    else if (acc)
        memcpy(reg[0], acc, (size_t)n * sizeof *acc);
    for (int k = 0; k < t->n_in; k++)
        reg[1 + k] = read_operand(p, &p->in[k], in[p->in[k].operand], first, n, ragged, reg[1 + k]);
    if (!ragged)
        reg[t->result] = out;
    p->simd->tile(t, reg, (n + GOPT_TILE_UNIT - 1) / GOPT_TILE_UNIT * GOPT_TILE_UNIT);
    if (ragged)
        memcpy(out, reg[t->result], (size_t)n * sizeof *out);
}

void gopt_post_run(const gopt_post *p, const void *const *in, const float *acc, float *out, int64_t first, int64_t n)
{
    frame f;
    if (!p->active || n <= 0)
        return;
    frame_init(&f, p, in, n);
    for (int64_t at = 0; at < n; at += f.length)
        run_tile(&f, p, in, acc ? acc + at : NULL, out + at, first + at, (int)GOPT_MIN(f.length, n - at));
}
