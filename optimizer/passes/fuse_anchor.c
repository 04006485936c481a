/* fuse_anchor.c: lets a product, convolution, normalization, pooling or softmax finish its result with the pointwise
 * nodes that follow it: bias, activation, scale, residual.
 *
 * A region of pointwise nodes is taken into the anchor's post when
 *  - it lies in the anchor's graph, reads the anchor's output 0, and nothing else does: no other node, no graph output;
 *  - its nodes but the last are read inside it alone;
 *  - every node's shape is proven to be that of the anchor's output, so that operands broadcast to it and never enlarge
 * it;
 *  - all is float32, float16 or bfloat16 (tests and selections on bool aside), without casts; products of integers may
 *    be cast to float32 first and quantized in the end;
 *  - no other output of the anchor is wanted.
 * The node then stands where the last one stood, so all operands are there; none can depend on the anchor, whose only
 * way out is through the region. */
#include <string.h>

#include "passes/region.h"

enum { MAX_OPS };

static const gopt_knob knobs[] = {[MAX_OPS] = {.name = "max_ops",
                                               .kind = GOPT_KNOB_POW2,
                                               .lo = 1,
                                               .hi = 128,
                                               .init = 64,
                                               .doc = "instructions of one expression after an anchor"},
                                  {0}};

enum { MAX_INPUTS = 8 };

/* Their kernels take in casts to float32 and requantization. */
static bool sums_integers(const gopt_node *n)
{
    bool integers = !strcmp(n->op->name, "MatMulInteger") || !strcmp(n->op->name, "ConvInteger");
    return integers && !*n->op->domain;
}

static bool is_anchor(const gopt_node *n)
{
    static const char *const ops[] = {"LayerNormalization",
                                      "RMSNormalization",
                                      "SkipLayerNormalization",
                                      "SkipSimplifiedLayerNormalization",
                                      "EmbedLayerNormalization",
                                      "InstanceNormalization",
                                      "GroupNormalization",
                                      "BatchNormalization",
                                      "Softmax",
                                      "LogSoftmax",
                                      "MaxPool",
                                      "AveragePool",
                                      "GlobalAveragePool",
                                      "GlobalMaxPool",
                                      "ReduceMean",
                                      "ReduceSum",
                                      "ReduceMax"};
    static const char *const recurrent[] = {"LSTM", "GRU", "RNN"};
    if (n->n_bodies || n->n_anchor == 0 || n->n_out == 0 || !n->out[0])
        return false;
    if (sums_integers(n))
        return true;
    if (!gopt_region_is_quick(n->out[0]->fact.dtype))
        return false;
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->n_users || n->out[k]->n_results))
            return false;
    for (int i = 0; i < GOPT_COUNT(recurrent); i++)
        if (!strcmp(n->op->name, recurrent[i]))
            return false;
    if (n->op->traits & GOPT_TRAIT_HEAVY)
        return true;
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (!strcmp(n->op->name, ops[i]))
            return true;
    return false;
}

static gopt_node *last_reader(const gopt_value *v)
{
    gopt_node *last = NULL;
    for (int i = 0; i < v->n_users; i++)
        if (!last || v->users[i]->index > last->index)
            last = v->users[i];
    return last;
}

/* post so far (or the bare result), then the region. Built aside: attempts that fail leave nothing behind. */
static bool build(const gopt_node *n, const gopt_region *r, gopt_expr *x)
{
    int load[GOPT_REGION_INPUTS + GOPT_REGION_NODES];
    bool integers = sums_integers(n);
    int before = n->post.result >= 0 ? gopt_expr_loads(&n->post) : 0;
    int acc = gopt_expr_acc(x, integers ? GOPT_DTYPE_I32 : n->out[0]->fact.dtype);
    for (int k = n->n_anchor; k < before; k++)
        load[k - n->n_anchor] = k;
    if (n->post.result >= 0) {
        int *map = GOPT_NEW(x->arena, int, before);
        for (int k = n->n_anchor; map && k < before; k++)
            map[k] = gopt_expr_load(x, load[k - n->n_anchor], n->in[k]->fact.dtype);
        acc = map ? gopt_expr_splice(x, &n->post, map, before, acc) : -1;
    }
    if (acc >= 0 && gopt_dtype_is_half(x->at[acc].dtype))
        acc = gopt_expr_cast(x, acc, x->at[acc].dtype);
    return acc >= 0 && gopt_region_build(r, x, n->n_in, n->out[0], acc) >= 0 &&
           (integers ? gopt_expr_is_float_inside(x) : gopt_expr_is_float(x));
}

static bool apply(gopt_node *n, const gopt_region *r, const gopt_expr *x)
{
    for (int k = 0; k < r->n_in; k++)
        if (gopt_node_add_in(n, r->in[k]) < 0)
            return false;
    n->post = gopt_expr_copy(&n->graph->family->arena, x);
    for (int i = 1; i < r->n; i++)
        if (!gopt_node_add_origins(n, r->node[i]))
            return false;
    if (n->post.failed || !gopt_node_absorb(n, r->node[0]))
        return false;
    for (int i = 1; i < r->n; i++)
        gopt_rewrite_drop(r->node[i]);
    return true;
}

/* Takes in the region that ends in m; *fused says whether there is one. */
static gopt_status try_fuse(gopt_node *n, gopt_node *m, const gopt_pass_run *run, bool *fused, gopt_err *e)
{
    gopt_value *root = n->out[0];
    gopt_region r = {0};
    gopt_region_limits limits = {.root = root, .float_only = true, .casts = sums_integers(n)};
    limits.ops = (int)run->knob[MAX_OPS] - gopt_region_ops(&n->post);
    limits.inputs = MAX_INPUTS - (n->n_in - n->n_anchor);
    gopt_expr x = gopt_expr_new(&r.arena);
    *fused = false;
    gopt_status s = gopt_region_grow(&r, m, &limits, e);
    if (!s && r.n > 0 && gopt_region_keep_root(&r, root) && build(n, &r, &x)) {
        *fused = true;
        if (!apply(n, &r, &x))
            s = gopt_oom(e);
    }
    if (!s && r.arena.failed)
        s = gopt_oom(e);
    gopt_region_fini(&r);
    return s;
}

/* Whether the sink of n's region may be m or lie behind it. */
static bool may_contain(const gopt_node *n, const gopt_node *m)
{
    bool pointwise = m->op->traits & GOPT_TRAIT_POINTWISE || (m->n_anchor == 0 && m->post.result >= 0);
    return pointwise && m->graph == n->graph && m->n_out == 1 && m->out[0] &&
           gopt_rewrite_same_shape(&m->out[0]->fact, &n->out[0]->fact);
}

/* The readers of a value may meet further on (x * sigmoid(x)): the sink is looked for down the line of last readers. */
static gopt_status fuse(gopt_node *n, gopt_pass_run *run, gopt_err *e)
{
    enum { STEPS = 16 };
    if (!is_anchor(n))
        return GOPT_OK;
    bool fused = true;
    while (fused) {
        gopt_node *m = n->out[0]->n_results ? NULL : last_reader(n->out[0]);
        fused = false;
        for (int i = 0; i < STEPS && m && !fused; i++) {
            if (!may_contain(n, m))
                break;
            GOPT_TRY(try_fuse(n, m, run, &fused, e));
            m = fused || m->out[0]->n_results ? m : last_reader(m->out[0]);
        }
        run->changed += fused;
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_anchor = {
    .name = "fuse_anchor",
    .doc = "products, convolutions and norms finish their result with what follows: bias, activation, residual",
    .revision = 5,
    .knobs = knobs,
    .run = run,
};
