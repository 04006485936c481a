/* fuse_chain.c: makes chains and trees of pointwise nodes one group, gopt.Pointwise, which moves each element once.
 *
 * A producer joins its reader when it lies in the same graph, nothing outside the group reads it and it is no graph
 * output (so nothing is computed twice), and its shape is proven to be the group's. Floats that kernels compute in
 * float32 and other types do not mix but in groups of few elements: see region.c. The group computes in the order of
 * its nodes and stands where the last one stood. */
#include "passes/region.h"

enum { MAX_OPS, MAX_INPUTS };

static const gopt_knob knobs[] = {
    [MAX_OPS] =
        {.name = "max_ops", .kind = GOPT_KNOB_POW2, .lo = 2, .hi = 128, .init = 64, .doc = "instructions of one group"},
    [MAX_INPUTS] = {.name = "max_inputs",
                    .kind = GOPT_KNOB_LINEAR,
                    .lo = 1,
                    .hi = GOPT_REGION_INPUTS,
                    .init = 8,
                    .doc = "tensors that one group reads"},
    {0}};

static gopt_status apply(const gopt_region *r, const gopt_expr *x, gopt_err *e)
{
    gopt_node *sink = r->node[0];
    const gopt_op *op = gopt_op_find("gopt", "Pointwise");
    if (!op)
        return gopt_fail(e, GOPT_EBUG, "no operator gopt.Pointwise");
    gopt_node *n = gopt_node_replace(sink, op, (gopt_attrs){0}, r->in, r->n_in, r->node + 1, r->n - 1);
    if (!n)
        return gopt_oom(e);
    n->n_anchor = 0;
    n->post = gopt_expr_copy(&n->graph->family->arena, x);
    for (int i = 1; i < r->n; i++)
        gopt_rewrite_drop(r->node[i]);
    return n->post.failed ? gopt_oom(e) : GOPT_OK;
}

static bool is_float(const gopt_node *n)
{
    if (n->n_out != 1 || !n->out[0])
        return false;
    gopt_dtype d = n->out[0]->fact.dtype;
    return gopt_region_is_quick(d) || gopt_dtype_is_small_int(d);
}

static gopt_status try_fuse(gopt_node *n, bool float_only, gopt_pass_run *run, gopt_err *e)
{
    gopt_region r = {0};
    gopt_region_limits limits = {
        .ops = (int)run->knob[MAX_OPS], .inputs = (int)run->knob[MAX_INPUTS], .float_only = float_only, .casts = true};
    gopt_expr x = gopt_expr_new(&r.arena);
    gopt_status s = gopt_region_grow(&r, n, &limits, e);
    if (!s && r.n > 1 && gopt_region_build(&r, &x, 0, NULL, -1) >= 0 &&
        (!float_only || gopt_expr_is_float_inside(&x))) {
        s = apply(&r, &x, e);
        run->changed++;
    }
    if (!s && r.arena.failed)
        s = gopt_oom(e);
    gopt_region_fini(&r);
    return s;
}

/* From the end: the last node of a chain is its sink. */
static gopt_status fuse(gopt_graph *g, gopt_pass_run *run, gopt_err *e)
{
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        gopt_node *n = g->nodes[i];
        if (n->dead || (!(n->op->traits & GOPT_TRAIT_POINTWISE) && n->n_anchor > 0))
            continue;
        if (is_float(n))
            GOPT_TRY(try_fuse(n, true, run, e));
        if (!n->dead)
            GOPT_TRY(try_fuse(n, false, run, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each_graph(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_chain = {
    .name = "fuse_chain",
    .doc = "make chains of pointwise nodes one group",
    .revision = 5,
    .knobs = knobs,
    .run = run,
};
