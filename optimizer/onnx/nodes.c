/* nodes.c: nodes of the file to nodes of a graph. */
#include <string.h>

#include "onnx/draft.h"

static const char *text(const char *s)
{
    return s ? s : "";
}

static const char *op_of(const Onnx__NodeProto *n)
{
    return n->op_type && *n->op_type ? n->op_type : "no operator";
}

/* For messages about a node that has no unique name yet. */
static gopt_status within_node(gopt_err *e, gopt_status s, const Onnx__NodeProto *n, size_t index)
{
    if (n->name && *n->name)
        return gopt_within(e, s, "node %.100s (%.60s)", n->name, op_of(n));
    return gopt_within(e, s, "node #%zu (%.60s)", index, op_of(n));
}

static bool is_constant(gopt_onnx_importer *x, const Onnx__NodeProto *n)
{
    return !*gopt_onnx_domain(n->domain) && !strcmp(op_of(n), "Constant") && !gopt_onnx_function_find(x, n);
}

/* ---- values ---- */

/* The value of a computed name: a new one, or the caller's when it is a result of a function. */
static gopt_value *computed_value(gopt_onnx_importer *x, gopt_onnx_scope *s, const char *name)
{
    gopt_value *v = gopt_name_map_find(&s->results, name);
    if (v)
        return v;
    const char *unique = gopt_onnx_value_name(x, s->frame, name);
    const Onnx__ValueInfoProto *hint = gopt_name_map_find(&s->hints, name);
    v = unique ? gopt_graph_value(s->graph, unique) : NULL;
    if (v && hint)
        v->fact = gopt_onnx_hint(x, hint);
    return v;
}

/* Some optimizers leave several Constants of one name behind. The last one counts, as it does elsewhere. */
static gopt_status define_constant(gopt_onnx_importer *x, gopt_onnx_scope *s, const Onnx__NodeProto *n, gopt_err *e)
{
    const gopt_tensor *t = NULL;
    if (n->n_input != 0 || n->n_output != 1)
        return gopt_fail(e, GOPT_EINPUT, "%zu inputs and %zu outputs, 0 and 1 expected", n->n_input, n->n_output);
    const char *name = n->output[0];
    GOPT_TRY(gopt_onnx_constant(x, s->frame, n, &t, e));
    if (s->frame == &x->frame) /* a function's body is there once, however often it is called */
        x->parameter_bytes += gopt_tensor_bytes(t);
    gopt_value *v = gopt_name_map_find(&s->constants, name);
    if (v) {
        gopt_fact_of_tensor(&v->fact, t, &x->family->arena);
        return x->family->arena.failed ? gopt_oom(e) : GOPT_OK;
    }
    const char *unique = gopt_onnx_value_name(x, s->frame, name);
    v = unique ? gopt_graph_constant(s->graph, unique, t) : NULL;
    if (!v || !gopt_name_map_add(&s->constants, name, v))
        return gopt_oom(e);
    return gopt_onnx_define(s, name, v, e);
}

static gopt_status define_outputs(gopt_onnx_importer *x, gopt_onnx_scope *s, const Onnx__NodeProto *n, gopt_err *e)
{
    if (is_constant(x, n))
        return define_constant(x, s, n, e);
    for (size_t k = 0; k < n->n_output; k++) {
        if (!*n->output[k])
            continue;
        gopt_value *v = computed_value(x, s, n->output[k]);
        if (!v)
            return gopt_oom(e);
        gopt_status status = gopt_onnx_define(s, n->output[k], v, e);
        if (status)
            return gopt_within(e, status, "output %zu", k);
    }
    return GOPT_OK;
}

/* ---- nodes ---- */

/* The number of a node in the file or in an inlined function, by which reports name it. */
static gopt_status new_origin(gopt_onnx_importer *x, const char *op, int *out, gopt_err *e)
{
    gopt_family *f = x->family;
    size_t n = (size_t)f->imported_nodes;
    if (n == GOPT_ONNX_NODES_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "more than %d nodes", GOPT_ONNX_NODES_MAX);
    f->imported_name = gopt_arena_grow(&f->arena, f->imported_name, n, &x->cap_name, n + 1, sizeof *f->imported_name);
    f->imported_op = gopt_arena_grow(&f->arena, f->imported_op, n, &x->cap_op, n + 1, sizeof *f->imported_op);
    const char *copy = gopt_arena_str(&f->arena, op);
    if (!f->imported_name || !f->imported_op || !copy)
        return gopt_oom(e);
    f->imported_op[n] = f->imported_name[n] = copy; /* until it has a name */
    *out = f->imported_nodes++;
    return GOPT_OK;
}

static gopt_status read_operands(gopt_onnx_draft *d, const Onnx__NodeProto *n, gopt_err *e)
{
    gopt_arena *a = &d->x->scratch;
    d->n_in = (int)n->n_input;
    d->cap_in = n->n_input;
    d->n_out = (int)n->n_output;
    d->in = GOPT_NEW(a, gopt_value *, n->n_input);
    d->out = GOPT_NEW(a, gopt_value *, n->n_output);
    if (!d->in || !d->out)
        return gopt_oom(e);
    for (int k = 0; k < d->n_in; k++) {
        gopt_status s = gopt_onnx_find(d->scope, n->input[k], &d->in[k], e);
        if (s)
            return gopt_within(e, s, "input %d", k);
    }
    for (int k = 0; k < d->n_out; k++)
        d->out[k] = *n->output[k] ? gopt_name_map_find(&d->scope->names, n->output[k]) : NULL;
    return GOPT_OK;
}

/* If names two bodies; the order is the operator's. */
static int body_index(const char *attribute)
{
    return !strcmp(attribute, "else_branch") ? 1 : 0;
}

static gopt_status read_bodies(gopt_onnx_draft *d, const Onnx__NodeProto *n, gopt_err *e)
{
    enum { BODIES_MAX = 2 };
    d->body = GOPT_NEW(&d->x->family->arena, gopt_graph *, BODIES_MAX);
    if (!d->body)
        return gopt_oom(e);
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = gopt_onnx_attribute(d->scope->frame, n->attribute[i]);
        const char *name = text(n->attribute[i]->name);
        if (!a || (!a->g && a->n_graphs == 0))
            continue;
        if (a != n->attribute[i] || a->n_graphs)
            return gopt_fail(e, GOPT_EUNSUP, "attribute %.60s: graphs as arguments or in lists are not supported",
                             name);
        int b = body_index(name);
        if (d->body[b])
            return gopt_fail(e, GOPT_EINPUT, "attribute %.60s: a body is given twice", name);
        gopt_status s = gopt_onnx_body(d->x, d->scope, a->g, &d->body[b], e);
        if (s)
            return gopt_within(e, s, "attribute %.60s", name);
        d->body[b]->name = gopt_arena_str(&d->x->family->arena, name);
        d->n_bodies = GOPT_MAX(d->n_bodies, b + 1);
    }
    return d->n_bodies == BODIES_MAX && !d->body[0] ? gopt_fail(e, GOPT_EINPUT, "attribute then_branch is missing")
                                                    : GOPT_OK;
}

/* Tools forget to import other domains, but ai.onnx is nothing without its version. */
static gopt_status check_domain(const gopt_onnx_draft *d, gopt_err *e)
{
    bool fine = d->version > 0 || *d->domain;
    return fine ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "the model imports no version of ai.onnx");
}

static gopt_status convert_operator(gopt_onnx_draft *d, const Onnx__NodeProto *n, gopt_err *e)
{
    GOPT_TRY(gopt_onnx_draft_known(d, e));
    GOPT_TRY(check_domain(d, e));
    GOPT_TRY(gopt_onnx_attributes(d->x, d->scope->frame, n, &d->attrs, e));
    GOPT_TRY(read_bodies(d, n, e));
    if (!*d->domain)
        GOPT_TRY(gopt_onnx_upgrade(d, e));
    return gopt_onnx_draft_finish(d, e);
}

static gopt_status convert(gopt_onnx_draft *d, const Onnx__NodeProto *n, gopt_err *e)
{
    const gopt_onnx_function *f = gopt_onnx_function_find(d->x, n);
    if (!n->op_type || !*n->op_type)
        return gopt_fail(e, GOPT_EINPUT, "it names no operator");
    if (n->n_attribute > GOPT_ONNX_ATTRIBUTES_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "%zu attributes, at most %d are supported", n->n_attribute,
                         GOPT_ONNX_ATTRIBUTES_MAX);
    GOPT_TRY(read_operands(d, n, e));
    return f ? gopt_onnx_call(d, f, n, e) : convert_operator(d, n, e);
}

static gopt_status convert_node(gopt_onnx_importer *x, const gopt_onnx_scope *s, const Onnx__NodeProto *n, gopt_err *e)
{
    gopt_onnx_draft d = {.x = x, .scope = s, .op = op_of(n), .domain = gopt_onnx_domain(n->domain)};
    d.version = gopt_onnx_version(s->frame, d.domain);
    gopt_status status = new_origin(x, d.op, &d.origin, e);
    if (status)
        return status;
    d.name = gopt_onnx_node_name(x, s->frame, n->name, d.op, d.origin);
    if (!d.name)
        return gopt_oom(e);
    x->family->imported_name[d.origin] = d.name;
    status = convert(&d, n, e);
    return status ? gopt_within(e, status, "node %.100s (%.60s)", d.name, op_of(n)) : GOPT_OK;
}

gopt_status gopt_onnx_nodes(gopt_onnx_importer *x, gopt_onnx_scope *s, Onnx__NodeProto **nodes, size_t n, gopt_err *e)
{
    for (size_t i = 0; i < n; i++) {
        gopt_status status = define_outputs(x, s, nodes[i], e);
        if (status)
            return within_node(e, status, nodes[i], i);
    }
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->n_output > 0 && !is_constant(x, nodes[i])) /* what defines nothing does nothing */
            GOPT_TRY(convert_node(x, s, nodes[i], e));
    return GOPT_OK;
}
