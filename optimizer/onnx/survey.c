/* survey.c: a look at the whole file before anything is made of it: local functions, sizes, names. Inlining doubles
 * with every level in the worst case, so sizes are worked out beforehand, without doing it. */
#include "onnx/importer.h"
#include "onnx/wire.h"

typedef struct level {
    int nesting, calls; /* subgraphs and functions that enclose this one */
} level;

/* What nodes come to when all functions are inlined. */
typedef struct extent {
    int64_t nodes;
    int calls; /* levels of functions below */
} extent;

static const char *key_of(gopt_arena *a, const char *domain, const char *name, const char *overload)
{
    return gopt_arena_printf(a, "%s\n%s\n%s", gopt_onnx_domain(domain), name ? name : "", overload ? overload : "");
}

gopt_onnx_function *gopt_onnx_function_find(gopt_onnx_importer *x, const Onnx__NodeProto *n)
{
    if (x->n_functions == 0)
        return NULL;
    const char *key =
        key_of(&x->scratch, n->domain, n->op_type, gopt_wire_text(&n->base, GOPT_WIRE_OVERLOAD, &x->scratch));
    return key ? gopt_name_map_find(&x->function_of, key) : NULL;
}

static gopt_status read_defaults(gopt_onnx_importer *x, gopt_onnx_function *f, gopt_err *e)
{
    size_t next = 0, cap = 0;
    for (ProtobufCMessage *m;;) {
        GOPT_TRY(gopt_wire_next(&m, &f->proto->base, GOPT_WIRE_FUNCTION_ATTRIBUTE, &onnx__attribute_proto__descriptor,
                                &next, &x->scratch, e));
        if (!m)
            return GOPT_OK;
        f->defaults = gopt_arena_grow(&x->scratch, f->defaults, (size_t)f->n_defaults, &cap, (size_t)f->n_defaults + 1,
                                      sizeof *f->defaults);
        if (!f->defaults)
            return gopt_oom(e);
        f->defaults[f->n_defaults++] = (Onnx__AttributeProto *)m;
    }
}

static gopt_status register_function(gopt_onnx_importer *x, gopt_onnx_function *f, gopt_err *e)
{
    const Onnx__FunctionProto *p = f->proto;
    f->nodes = -1;
    if (!p->name || !*p->name)
        return gopt_fail(e, GOPT_EINPUT, "it has no name");
    const char *overload = gopt_wire_text(&p->base, GOPT_WIRE_FUNCTION_OVERLOAD, &x->scratch);
    const char *key = key_of(&x->scratch, p->domain, p->name, overload);
    if (!key || !gopt_name_map_add(&x->function_of, key, f))
        return x->scratch.failed || x->function_of.failed ? gopt_oom(e)
                                                          : gopt_fail(e, GOPT_EINPUT, "it is defined twice");
    return read_defaults(x, f, e);
}

static gopt_status measure_nodes(gopt_onnx_importer *x, Onnx__NodeProto **nodes, size_t n, level at, extent *sum,
                                 gopt_err *e);

static gopt_status too_many_calls(int calls, gopt_err *e)
{
    if (calls <= GOPT_ONNX_NESTING_MAX)
        return GOPT_OK;
    return gopt_fail(e, GOPT_EUNSUP, "functions nested more than %d deep", GOPT_ONNX_NESTING_MAX);
}

static gopt_status measure_function(gopt_onnx_importer *x, gopt_onnx_function *f, level at, gopt_err *e)
{
    if (f->open)
        return gopt_fail(e, GOPT_EINPUT, "function %.100s calls itself", f->proto->name);
    if (f->nodes >= 0)
        return GOPT_OK;
    extent sum = {0};
    gopt_status s = too_many_calls(at.calls, e);
    f->open = true;
    if (!s)
        s = measure_nodes(x, f->proto->node, f->proto->n_node, at, &sum, e);
    f->open = false;
    f->nodes = sum.nodes;
    f->calls = sum.calls;
    return s;
}

static gopt_status measure_graph(gopt_onnx_importer *x, const Onnx__GraphProto *g, level at, extent *sum, gopt_err *e)
{
    at.nesting++;
    if (at.nesting > GOPT_ONNX_NESTING_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "subgraphs nested more than %d deep", GOPT_ONNX_NESTING_MAX);
    return g ? measure_nodes(x, g->node, g->n_node, at, sum, e) : GOPT_OK;
}

static gopt_status measure_node(gopt_onnx_importer *x, const Onnx__NodeProto *n, level at, extent *sum, gopt_err *e)
{
    gopt_onnx_function *f = gopt_onnx_function_find(x, n);
    if (x->scratch.failed)
        return gopt_oom(e);
    sum->nodes++;
    if (f) {
        GOPT_TRY(measure_function(x, f, (level){at.nesting, at.calls + 1}, e));
        sum->nodes += f->nodes;
        sum->calls = GOPT_MAX(sum->calls, f->calls + 1);
        GOPT_TRY(too_many_calls(sum->calls, e));
    }
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];
        if (a->g)
            GOPT_TRY(measure_graph(x, a->g, at, sum, e));
        for (size_t k = 0; k < a->n_graphs; k++)
            GOPT_TRY(measure_graph(x, a->graphs[k], at, sum, e));
    }
    return GOPT_OK;
}

static gopt_status measure_nodes(gopt_onnx_importer *x, Onnx__NodeProto **nodes, size_t n, level at, extent *sum,
                                 gopt_err *e)
{
    for (size_t i = 0; i < n; i++) {
        x->n_file_nodes++;
        if (nodes[i]->name)
            gopt_name_map_add(&x->file_nodes, nodes[i]->name, nodes[i]);
        GOPT_TRY(measure_node(x, nodes[i], at, sum, e));
        if (sum->nodes > GOPT_ONNX_NODES_MAX)
            return gopt_fail(e, GOPT_EUNSUP, "more than %d nodes when functions are inlined", GOPT_ONNX_NODES_MAX);
    }
    return x->file_nodes.failed ? gopt_oom(e) : GOPT_OK;
}

gopt_status gopt_onnx_survey(gopt_onnx_importer *x, gopt_err *e)
{
    const Onnx__ModelProto *m = x->model;
    extent sum = {0};
    x->n_functions = (int)m->n_functions;
    x->functions = GOPT_NEW(&x->scratch, gopt_onnx_function, m->n_functions);
    if (!x->functions)
        return gopt_oom(e);
    for (int i = 0; i < x->n_functions; i++) {
        x->functions[i].proto = m->functions[i];
        gopt_status s = register_function(x, &x->functions[i], e);
        if (s)
            return gopt_within(e, s, "function %.100s", m->functions[i]->name ? m->functions[i]->name : "");
    }
    for (int i = 0; i < x->n_functions; i++) {
        gopt_status s = measure_function(x, &x->functions[i], (level){0, 1}, e);
        if (s)
            return gopt_within(e, s, "function %.100s", m->functions[i]->name);
    }
    return measure_nodes(x, m->graph->node, m->graph->n_node, (level){0, 0}, &sum, e);
}
