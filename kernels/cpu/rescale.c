#include "cpu/rescale.h"

#include <string.h>

#include "cpu/group.h"

enum { X, SCALE, ZERO };
enum { GRAIN = 1024 }; /* elements that parts share in */

/* Operands as they are broadcast: x with its axis split into blocks where there are any. */
typedef struct shapes {
    gopt_operand in[3], out;
} shapes;

static void set_shape(gopt_operand *o, int rank, const int64_t *dim)
{
    o->rank = rank;
    memcpy(o->dim, dim, (size_t)rank * sizeof *dim);
}

/* x as outer, blocks, block, inner; scales as outer, blocks, 1, inner. */
static bool split(shapes *s, const gopt_operand *x, int axis, int64_t block)
{
    int64_t whole[4] = {1, 0, block, 1}, part[4];
    if (x->dim[axis] % block)
        return false;
    for (int i = 0; i < axis; i++)
        whole[0] *= x->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        whole[3] *= x->dim[i];
    whole[1] = x->dim[axis] / block;
    memcpy(part, whole, sizeof part);
    part[2] = 1;
    set_shape(&s->in[X], 4, whole);
    set_shape(&s->out, 4, whole);
    set_shape(&s->in[SCALE], 4, part);
    set_shape(&s->in[ZERO], 4, part);
    return true;
}

static bool broadcast(shapes *s, const gopt_group *g)
{
    const gopt_operand *x = &g->in[X];
    int64_t block = gopt_attr_int(g->attrs, "block_size", 0), n = gopt_operand_count(&g->in[SCALE]), dim[GOPT_RANK_MAX];
    int axis = 0;
    gopt_err why;
    for (int k = 0; k < 3 && k < g->n_in; k++)
        s->in[k] = g->in[k];
    s->out = g->out[0];
    if (n == 1 && block == 0) {
        s->in[SCALE].rank = s->in[ZERO].rank = 0;
        return true;
    }
    if (x->rank > 1 && gopt_axis(gopt_attr_int(g->attrs, "axis", 1), x->rank, &axis, &why))
        return false;
    if (x->rank == 0 || block > 0)
        return x->rank > 0 && split(s, x, axis, block);
    for (int i = axis; i < x->rank; i++)
        dim[i - axis] = i == axis ? n : 1;
    set_shape(&s->in[SCALE], x->rank - axis, dim);
    set_shape(&s->in[ZERO], x->rank - axis, dim);
    return n == x->dim[axis];
}

static bool types_fit(const gopt_group *g, bool quantizes)
{
    gopt_dtype from = g->in[X].dtype, to = g->out[0].dtype, whole = quantizes ? to : from;
    int64_t precision = gopt_attr_int(g->attrs, "precision", 0);
    return (quantizes ? from : to) == GOPT_DTYPE_F32 && g->in[SCALE].dtype == GOPT_DTYPE_F32 &&
           (gopt_dtype_is_small_int(whole) || (whole == GOPT_DTYPE_I32 && !quantizes)) &&
           (precision == 0 || precision == GOPT_DTYPE_F32);
}

static void build(gopt_expr *x, const gopt_group *g, bool quantizes)
{
    int value = gopt_expr_load(x, X, g->in[X].dtype), scale = gopt_expr_load(x, SCALE, GOPT_DTYPE_F32);
    int zero = gopt_group_has(g, ZERO) ? gopt_expr_load(x, ZERO, g->in[ZERO].dtype) : -1;
    x->result = quantizes ? gopt_expr_quantize(x, value, scale, zero, g->out[0].dtype)
                          : gopt_expr_dequantize(x, value, scale, zero);
}

bool gopt_rescale_of(gopt_rescale *q, const gopt_group *g, const char *op, const gopt_simd *simd)
{
    bool quantizes = *op == 'Q';
    shapes s = {.out = {.rank = 0}};
    if (!(gopt_group_is(g, "", op) || gopt_group_is(g, "com.microsoft", op)) || g->post || g->n_out != 1 ||
        g->n_in < 2 || !types_fit(g, quantizes) || !broadcast(&s, g))
        return false;
    gopt_group wide = *g;
    wide.in = s.in;
    wide.out = &s.out;
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    build(&x, g, quantizes);
    bool ok = gopt_post_fits_any(&wide, &x);
    if (ok && q) {
        gopt_post_prepare(&q->post, &wide, &x, simd);
        q->count = gopt_operand_count(&s.out);
        q->size = gopt_dtype_bits(s.out.dtype) / 8;
    }
    gopt_arena_fini(&a);
    return ok;
}

static double flops(const gopt_group *g)
{
    return 32 * (double)gopt_operand_count(&g->out[0]);
}

double gopt_rescale_cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

gopt_work gopt_rescale_work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)), .phases = 1};
}

void gopt_rescale_run(const gopt_task *t)
{
    const gopt_rescale *q = t->spec;
    int64_t lo, hi;
    gopt_share(q->count, GRAIN, t->part, t->parts, &lo, &hi);
    gopt_post_run(&q->post, t->in, NULL, (char *)t->out[0] + lo * q->size, lo, hi - lo);
}
