/* sample.c: the model of the quick start, one encoder layer written the way exporters do: bias and scale as nodes of
 * their own, norms and GELU taken apart, one scale computed twice, shapes computed from constants, and nodes nobody
 * reads. */
#include <math.h>
#include <string.h>

#include "import.h"

enum { BATCH = 1, TOKENS = 64, WIDTH = 128, HEADS = 4, HEAD = WIDTH / HEADS, HIDDEN = 4 * WIDTH };

typedef struct builder {
    gopt_graph *g;
    uint32_t seed;
    bool failed; /* sticky: out of memory, or an operator is not there */
} builder;

static gopt_value *node(builder *b, const char *op, gopt_attrs attrs, gopt_value *x, gopt_value *y)
{
    gopt_value *in[] = {x, y};
    const gopt_op *known = gopt_op_find("", op);
    gopt_node *n = NULL;
    if (known && !b->failed)
        n = gopt_graph_node(b->g, NULL, known, attrs, in, y ? 2 : 1, 1, NULL, NULL, 0);
    b->failed = b->failed || !n;
    return n ? n->out[0] : NULL;
}

static gopt_value *apply(builder *b, const char *op, gopt_value *x, gopt_value *y)
{
    return node(b, op, (gopt_attrs){0}, x, y);
}

static gopt_value *constant(builder *b, const char *name, const gopt_tensor *t)
{
    gopt_value *v = t ? gopt_graph_constant(b->g, name, t) : NULL;
    b->failed = b->failed || !v;
    return v;
}

/* Values spread evenly over [-scale, scale]. */
static gopt_value *weight(builder *b, const char *name, int rank, const int64_t *dim, double scale)
{
    gopt_tensor *t = gopt_tensor_new(&b->g->family->arena, GOPT_DTYPE_F32, rank, dim);
    for (int64_t i = 0; t && i < gopt_tensor_count(t); i++) {
        b->seed = b->seed * 1664525u + 1013904223u;
        ((float *)t->data)[i] = (float)(scale * ((double)b->seed / 2147483648.0 - 1));
    }
    return constant(b, name, t);
}

static gopt_value *scalar(builder *b, const char *name, double v)
{
    gopt_tensor *t = gopt_tensor_new(&b->g->family->arena, GOPT_DTYPE_F32, 0, NULL);
    if (t)
        gopt_tensor_set(t, 0, v);
    return constant(b, name, t);
}

static gopt_value *list(builder *b, const char *name, const int64_t *v, int64_t n)
{
    gopt_tensor *t = gopt_tensor_new(&b->g->family->arena, GOPT_DTYPE_I64, 1, &n);
    if (t)
        memcpy(t->data, v, (size_t)n * sizeof *v);
    return constant(b, name, t);
}

static gopt_attrs one_attr(builder *b, gopt_attr a)
{
    gopt_attrs attrs = gopt_attrs_with(&b->g->family->arena, (gopt_attrs){0}, a);
    b->failed = b->failed || !attrs.at;
    return attrs;
}

static gopt_value *transpose(builder *b, gopt_value *x, const int64_t *perm, int64_t n)
{
    const int64_t *copy = gopt_arena_copy(&b->g->family->arena, perm, (size_t)n, sizeof *perm);
    return node(b, "Transpose", one_attr(b, (gopt_attr){.name = "perm", .kind = GOPT_ATTR_INTS, .n = n, .ints = copy}),
                x, NULL);
}

static gopt_value *linear(builder *b, const char *name, gopt_value *x, int64_t in, int64_t out)
{
    const char *bias = gopt_arena_printf(&b->g->family->arena, "%s.bias", name);
    gopt_value *w = weight(b, name, 2, (int64_t[]){in, out}, sqrt(3.0 / (double)in));
    return apply(b, "Add", apply(b, "MatMul", x, w), weight(b, bias, 1, &out, 0.1));
}

static gopt_value *mean(builder *b, gopt_value *x, gopt_value *axes)
{
    return node(b, "ReduceMean", one_attr(b, (gopt_attr){.name = "keepdims", .kind = GOPT_ATTR_INT, .i = 1}), x, axes);
}

static gopt_value *norm(builder *b, const char *name, gopt_value *x)
{
    int64_t width = WIDTH;
    const char *shift = gopt_arena_printf(&b->g->family->arena, "%s.shift", name);
    gopt_value *axes = list(b, NULL, (int64_t[]){-1}, 1);
    gopt_value *centred = apply(b, "Sub", x, mean(b, x, axes));
    gopt_value *variance = mean(b, apply(b, "Pow", centred, scalar(b, NULL, 2)), axes);
    gopt_value *deviation = apply(b, "Sqrt", apply(b, "Add", variance, scalar(b, NULL, 1e-5)), NULL);
    gopt_value *scaled = apply(b, "Mul", apply(b, "Div", centred, deviation), weight(b, name, 1, &width, 1));
    return apply(b, "Add", scaled, weight(b, shift, 1, &width, 0.1));
}

static gopt_value *gelu(builder *b, gopt_value *x)
{
    gopt_value *erf = apply(b, "Erf", apply(b, "Div", x, scalar(b, NULL, sqrt(2))), NULL);
    return apply(b, "Mul", apply(b, "Mul", x, apply(b, "Add", erf, scalar(b, NULL, 1))), scalar(b, NULL, 0.5));
}

/* [batch, tokens, width] to [batch, heads, tokens, head]. */
static gopt_value *split_heads(builder *b, gopt_value *x, gopt_value *shape)
{
    return transpose(b, apply(b, "Reshape", x, shape), (int64_t[]){0, 2, 1, 3}, 4);
}

/* Exporters compute the scale in the graph, for queries and keys each. */
static gopt_value *scale(builder *b, gopt_value *x)
{
    gopt_value *width = scalar(b, NULL, HEAD);
    return apply(b, "Div", x, apply(b, "Sqrt", apply(b, "Sqrt", width, NULL), NULL));
}

static gopt_value *attention(builder *b, gopt_value *x)
{
    gopt_value *shape = list(b, "heads", (int64_t[]){0, 0, HEADS, HEAD}, 4);
    gopt_value *q = split_heads(b, linear(b, "query", x, WIDTH, WIDTH), shape);
    gopt_value *k = split_heads(b, linear(b, "key", x, WIDTH, WIDTH), shape);
    gopt_value *v = split_heads(b, linear(b, "value", x, WIDTH, WIDTH), shape);
    k = transpose(b, k, (int64_t[]){0, 1, 3, 2}, 4);
    gopt_value *scores = apply(b, "MatMul", scale(b, q), scale(b, k));
    gopt_attrs last = one_attr(b, (gopt_attr){.name = "axis", .kind = GOPT_ATTR_INT, .i = -1});
    gopt_value *mixed = apply(b, "MatMul", node(b, "Softmax", last, scores, NULL), v);
    gopt_value *joined = transpose(b, mixed, (int64_t[]){0, 2, 1, 3}, 4);
    return apply(b, "Reshape", joined, list(b, "joined", (int64_t[]){0, 0, WIDTH}, 3));
}

static void build(builder *b)
{
    gopt_fact f = {.dtype = GOPT_DTYPE_F32, .rank = 3};
    f.dim[0] = gopt_dim_of(BATCH);
    f.dim[1] = gopt_dim_of(TOKENS);
    f.dim[2] = gopt_dim_of(WIDTH);
    gopt_value *x = gopt_graph_input(b->g, "x", &f);
    b->failed = !x;
    gopt_value *a = apply(b, "Add", x, linear(b, "output", attention(b, x), WIDTH, WIDTH));
    a = norm(b, "norm1", a);
    gopt_value *h = gelu(b, linear(b, "up", a, WIDTH, HIDDEN));
    apply(b, "Relu", apply(b, "Neg", h, NULL), NULL); /* nobody reads this */
    gopt_value *y = norm(b, "norm2", apply(b, "Add", a, linear(b, "down", h, HIDDEN, WIDTH)));
    if (b->failed)
        return;
    y->name = "y";
    b->failed = !gopt_graph_output(b->g, y);
}

gopt_status gopt_model_sample(gopt_graph **out, gopt_err *e)
{
    builder b = {.seed = 1};
    *out = NULL;
    GOPT_TRY(gopt_graph_new(&b.g, e));
    build(&b);
    gopt_status s = !b.failed                   ? gopt_graph_infer(b.g, e)
                    : b.g->family->arena.failed ? gopt_oom(e)
                                                : gopt_fail(e, GOPT_EBUG, "an operator of the sample is missing");
    if (!s)
        s = gopt_graph_unique_names(b.g, e);
    if (s) {
        gopt_graph_free(b.g);
        return s;
    }
    *out = b.g;
    return GOPT_OK;
}
