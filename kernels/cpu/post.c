#include "cpu/post.h"

#include <string.h>

typedef struct frame {
    _Alignas(64) float buffer[GOPT_TILE_FLOATS];
    float *reg[GOPT_TILE_REGS];
    int length;
} frame;

static bool build(gopt_post *p, const gopt_group *g, const gopt_expr *x)
{
    int operand[GOPT_WALK_IN];
    p->out = g->out[0].dtype;
    gopt_dtype d = gopt_expr_dtype(x);
    if (p->out != (gopt_dtype_is_float(d) ? GOPT_DTYPE_F32 : d) || !gopt_expr_is_float_inside(x) ||
        !gopt_tile_compile(&p->tile, x, operand, GOPT_WALK_IN) || !gopt_walk_of(&p->walk, g, operand, p->tile.n_in))
        return false;
    for (int k = 0; k < p->tile.n_in; k++) {
        const gopt_operand *o = &g->in[operand[k]];
        int64_t n = gopt_operand_count(o);
        p->type[k] = o->dtype;
        p->kind[k] = n == 1                                ? GOPT_POST_SCALAR
                     : n == gopt_operand_count(&g->out[0]) ? GOPT_POST_DENSE
                                                           : GOPT_POST_STRIDED;
    }
    p->active = true;
    return true;
}

bool gopt_post_fits(const gopt_group *g, const gopt_expr *x)
{
    gopt_post p;
    if (!x || g->out[0].dtype != GOPT_DTYPE_F32)
        return g->out[0].dtype == GOPT_DTYPE_F32;
    memset(&p, 0, sizeof p);
    return build(&p, g, x);
}

bool gopt_post_fits_any(const gopt_group *g, const gopt_expr *x)
{
    gopt_post p = {.active = false};
    return x && build(&p, g, x);
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

/* n elements of operand k from element `at` on. */
static void read_elements(const gopt_post *p, int k, const void *base, int64_t at, int64_t n, float *dst)
{
    const unsigned char *b = (const unsigned char *)base + at * gopt_dtype_bits(p->type[k]) / 8;
    if (p->type[k] == GOPT_DTYPE_F32)
        memcpy(dst, b, (size_t)n * sizeof *dst);
    else if (gopt_dtype_is_half(p->type[k]))
        p->simd->half_widen(dst, (const uint16_t *)(const void *)b, n, p->type[k] == GOPT_DTYPE_BF16);
    else if (p->type[k] != GOPT_DTYPE_BOOL)
        p->simd->from_integers(p->type[k], b, dst, n);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = b[i] != 0;
}

/* The same; all are the first one unless it moves. */
static void read_run(const gopt_post *p, int k, const void *base, int64_t at, int64_t n, bool moves, float *dst)
{
    float first;
    read_elements(p, k, base, at, moves ? n : 1, moves ? dst : &first);
    if (!moves)
        p->simd->fill(dst, first, n);
}

/* Elements of an operand for outputs [first, first + n): where they lie when they do, else gathered in room. */
static float *read_operand(const gopt_post *p, int k, const void *base, int64_t first, int n, bool copy, float *room)
{
    const gopt_walk *w = &p->walk;
    int64_t length = w->dim[w->rank - 1], inner = first % length, row = first / length;
    bool moves = w->stride[k][w->rank - 1], lies = p->type[k] == GOPT_DTYPE_F32 && !copy;
    if (p->kind[k] == GOPT_POST_SCALAR)
        return room;
    if (p->kind[k] == GOPT_POST_DENSE && lies)
        return (float *)base + first;
    if (moves && inner + n <= length && lies)
        return (float *)base + gopt_walk_row(w, k, row) + inner;
    for (int64_t done = 0; done < n; row++, inner = 0) {
        int64_t m = GOPT_MIN(n - done, length - inner);
        read_run(p, k, base, gopt_walk_row(w, k, row) + (moves ? inner : 0), m, moves, room + done);
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
    for (int k = 0; k < t->n_in; k++)
        if (p->kind[k] == GOPT_POST_SCALAR)
            read_run(p, k, in[p->walk.operand[k]], 0, used, false, f->reg[1 + k]);
}

/* A tile that is no multiple of the unit is computed in own memory: whole vectors are read and written. */
static void run_tile(frame *f, const gopt_post *p, const void *const *in, const float *acc, void *out, int64_t first,
                     int n)
{
    const gopt_tile *t = &p->tile;
    float *reg[GOPT_TILE_REGS];
    bool ragged = n % GOPT_TILE_UNIT, own = ragged || p->out != GOPT_DTYPE_F32;
    memcpy(reg, f->reg, (size_t)t->n_reg * sizeof *reg);
    if (acc && !ragged)
        reg[0] = (float *)acc;
    else if (acc)
        memcpy(reg[0], acc, (size_t)n * sizeof *acc);
    for (int k = 0; k < t->n_in; k++)
        reg[1 + k] = read_operand(p, k, in[p->walk.operand[k]], first, n, ragged, reg[1 + k]);
    if (!own)
        reg[t->result] = out;
    p->simd->tile(t, reg, (n + GOPT_TILE_UNIT - 1) / GOPT_TILE_UNIT * GOPT_TILE_UNIT);
    if (p->out != GOPT_DTYPE_F32)
        p->simd->to_integers(p->out, reg[t->result], out, n);
    else if (own)
        memcpy(out, reg[t->result], (size_t)n * sizeof(float));
}

void gopt_post_run(const gopt_post *p, const void *const *in, const float *acc, void *out, int64_t first, int64_t n)
{
    frame f;
    int64_t size = gopt_dtype_bits(p->out) / 8;
    if (!p->active || n <= 0)
        return;
    frame_init(&f, p, in, n);
    for (int64_t at = 0; at < n; at += f.length)
        run_tile(&f, p, in, acc ? acc + at : NULL, (char *)out + at * size, first + at,
                 (int)GOPT_MIN(f.length, n - at));
}
