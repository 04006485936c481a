/* upgrade_scan.c: Scan of opset 8, whose operands all had the batch as first dimension. It becomes a Scan over the
 * batch whose body is the Scan over the sequence. */
#include "onnx/upgrade.h"

/* The inner Scan as only node of a new body whose inputs are its operands. */
static gopt_graph *wrap(gopt_onnx_draft *d, gopt_attrs attrs, int n_in)
{
    gopt_arena *a = &d->x->family->arena;
    gopt_graph *inner = d->body[0], *g = gopt_graph_new_body(d->scope->graph);
    gopt_value **in = GOPT_NEW(a, gopt_value *, n_in);
    const gopt_op *op = gopt_op_find("", "Scan");
    const char *name = gopt_onnx_added_name(d->x, d->name, "sequence");
    if (!g || !in || !name || !op)
        return NULL;
    for (int k = 0; k < n_in; k++) {
        gopt_fact f = {.dtype = inner->inputs[k]->fact.dtype, .rank = -1};
        if (!(in[k] = gopt_graph_input(g, NULL, &f)))
            return NULL;
    }
    gopt_node *n = gopt_graph_node(g, name, op, attrs, in, n_in, d->n_out, NULL, NULL, 0);
    if (!n)
        return NULL;
    n->origin = gopt_arena_copy(a, &d->origin, 1, sizeof d->origin);
    n->n_origin = n->origin != NULL;
    n->body = gopt_arena_copy(a, &inner, 1, sizeof(gopt_graph *));
    n->n_bodies = 1;
    inner->parent = g;
    for (int k = 0; k < d->n_out; k++)
        if (!gopt_graph_output(g, n->out[k]))
            return NULL;
    g->name = inner->name;
    return a->failed ? NULL : g;
}

gopt_status gopt_onnx_rule_scan(gopt_onnx_draft *d, gopt_err *e)
{
    int n_in = d->n_in - 1;
    if (gopt_onnx_draft_has(d, 0))
        return gopt_fail(e, GOPT_EUNSUP, "sequences of different lengths in one batch are not supported");
    if (d->n_bodies != 1 || n_in != d->body[0]->n_inputs || !gopt_op_find("", "Scan"))
        return gopt_fail(e, GOPT_EINPUT, "its body does not take %d inputs", n_in);
    gopt_attrs attrs = d->attrs;
    const gopt_attr *directions = gopt_attr_find(attrs, "directions");
    if (directions) {
        gopt_attr renamed = *directions;
        renamed.name = "scan_input_directions";
        attrs = gopt_attrs_with(&d->x->family->arena, attrs, renamed);
        attrs = gopt_attrs_without(&d->x->family->arena, attrs, "directions");
    }
    gopt_graph *body = attrs.n == d->attrs.n ? wrap(d, attrs, n_in) : NULL;
    if (!body)
        return gopt_oom(e);
    d->body[0] = body;
    d->in++;
    d->n_in = n_in;
    d->cap_in--;
    d->attrs = (gopt_attrs){0};
    return gopt_onnx_draft_attr(d, (gopt_attr){.name = "num_scan_inputs", .kind = GOPT_ATTR_INT, .i = n_in}, e);
}
