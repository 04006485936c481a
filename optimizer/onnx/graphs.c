/* graphs.c: the main graph, bodies of nodes, and calls of local functions. */
#include <string.h>

#include "onnx/draft.h"

static const char *text(const char *s)
{
    return s ? s : "";
}

/* ---- initializers ---- */

static gopt_status define_constant(gopt_onnx_importer *x, gopt_onnx_scope *s, const char *name, const gopt_tensor *t,
                                   gopt_err *e)
{
    if (!*name)
        return gopt_fail(e, GOPT_EINPUT, "it has no name");
    x->parameter_bytes += gopt_tensor_bytes(t);
    const char *unique = gopt_onnx_value_name(x, s->frame, name);
    gopt_value *v = unique ? gopt_graph_constant(s->graph, unique, t) : NULL;
    return v ? gopt_onnx_define(s, name, v, e) : gopt_oom(e);
}

static gopt_status define_initializers(gopt_onnx_importer *x, gopt_onnx_scope *s, const Onnx__GraphProto *p,
                                       gopt_err *e)
{
    const gopt_tensor *t = NULL;
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = text(p->initializer[i]->name);
        gopt_status status = gopt_onnx_tensor(&t, p->initializer[i], &x->source, e);
        if (!status)
            status = define_constant(x, s, name, t, e);
        if (status)
            return gopt_within(e, status, "initializer %.100s", name);
    }
    for (size_t i = 0; i < p->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = p->sparse_initializer[i];
        const char *name = sparse->values ? text(sparse->values->name) : "";
        gopt_status status = gopt_onnx_sparse_tensor(&t, sparse, &x->source, e);
        if (!status)
            status = define_constant(x, s, name, t, e);
        if (status)
            return gopt_within(e, status, "initializer %.100s", name);
    }
    return GOPT_OK;
}

/* ---- inputs, outputs ---- */

static gopt_status define_input(gopt_onnx_importer *x, gopt_onnx_scope *s, const char *name, const gopt_fact *f,
                                gopt_err *e)
{
    if (!*name)
        return gopt_fail(e, GOPT_EINPUT, "it has no name");
    const char *unique = gopt_onnx_value_name(x, s->frame, name);
    gopt_value *v = unique ? gopt_graph_input(s->graph, unique, f) : NULL;
    return v ? gopt_onnx_define(s, name, v, e) : gopt_oom(e);
}

/* An input with an initializer is a constant: a default that nobody overrides. */
static gopt_status define_inputs(gopt_onnx_importer *x, gopt_onnx_scope *s, const Onnx__GraphProto *p, gopt_err *e)
{
    gopt_fact f;
    for (size_t i = 0; i < p->n_input; i++) {
        const char *name = text(p->input[i]->name);
        if (!s->outer && gopt_value_is_const(gopt_name_map_find(&s->names, name)))
            continue;
        gopt_status status =
            s->outer ? gopt_onnx_body_fact(p->input[i], &f, e) : gopt_onnx_input_fact(x, p->input[i], &f, e);
        if (!status)
            status = define_input(x, s, name, &f, e);
        if (status)
            return gopt_within(e, status, "input %.100s", name);
    }
    return GOPT_OK;
}

static void add_hints(gopt_onnx_scope *s, Onnx__ValueInfoProto **info, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (info[i]->name)
            gopt_name_map_add(&s->hints, info[i]->name, info[i]);
}

static gopt_status add_outputs(gopt_onnx_scope *s, const Onnx__GraphProto *p, gopt_err *e)
{
    for (size_t i = 0; i < p->n_output; i++) {
        const char *name = text(p->output[i]->name);
        gopt_value *v;
        gopt_status status = gopt_onnx_find(s, name, &v, e);
        if (!status && !v)
            status = gopt_fail(e, GOPT_EINPUT, "it has no value");
        if (!status && !gopt_graph_output(s->graph, v))
            status = gopt_oom(e);
        if (status)
            return gopt_within(e, status, "output %.100s", name);
    }
    return GOPT_OK;
}

static gopt_status convert(gopt_onnx_importer *x, gopt_onnx_scope *s, const Onnx__GraphProto *p, gopt_err *e)
{
    GOPT_TRY(define_initializers(x, s, p, e));
    GOPT_TRY(define_inputs(x, s, p, e));
    add_hints(s, p->output, p->n_output);
    add_hints(s, p->value_info, p->n_value_info);
    if (s->hints.failed)
        return gopt_oom(e);
    GOPT_TRY(gopt_onnx_nodes(x, s, p->node, p->n_node, e));
    return add_outputs(s, p, e);
}

gopt_status gopt_onnx_main_graph(gopt_onnx_importer *x, gopt_graph *g, gopt_err *e)
{
    const Onnx__GraphProto *p = x->model->graph;
    if (p->n_output == 0)
        return gopt_fail(e, GOPT_EINPUT, "the graph has no outputs");
    gopt_onnx_scope s = {.frame = &x->frame, .graph = g};
    gopt_onnx_symbols(x);
    gopt_status status = convert(x, &s, p, e);
    gopt_onnx_scope_fini(&s);
    return status;
}

gopt_status gopt_onnx_body(gopt_onnx_importer *x, const gopt_onnx_scope *outer, const Onnx__GraphProto *p,
                           gopt_graph **out, gopt_err *e)
{
    gopt_onnx_scope s = {.outer = outer, .frame = outer->frame, .graph = gopt_graph_new_body(outer->graph)};
    *out = s.graph;
    if (!s.graph)
        return gopt_oom(e);
    gopt_status status = convert(x, &s, p, e);
    gopt_onnx_scope_fini(&s);
    return status;
}

/* ---- functions ---- */

static bool is_argument(const gopt_onnx_frame *f, const char *name)
{
    for (int i = 0; i < f->n_attr; i++)
        if (!strcmp(f->attr[i]->name, name))
            return true;
    return false;
}

/* Arguments: the call's attributes under their names there, then defaults of those that it leaves out. */
static gopt_status read_arguments(gopt_onnx_frame *frame, const gopt_onnx_draft *d, const gopt_onnx_function *f,
                                  const Onnx__NodeProto *call, gopt_err *e)
{
    gopt_arena *a = &d->x->scratch;
    frame->attr = GOPT_NEW(a, Onnx__AttributeProto *, call->n_attribute + (size_t)f->n_defaults);
    if (!frame->attr)
        return gopt_oom(e);
    for (size_t i = 0; i < call->n_attribute; i++) {
        const Onnx__AttributeProto *given = gopt_onnx_attribute(d->scope->frame, call->attribute[i]);
        if (!given)
            continue;
        if (given->g || given->n_graphs)
            return gopt_fail(e, GOPT_EUNSUP, "attribute %.60s: graphs as arguments of functions are not supported",
                             text(call->attribute[i]->name));
        Onnx__AttributeProto *named = gopt_arena_copy(a, given, 1, sizeof *given);
        if (!named)
            return gopt_oom(e);
        named->name = call->attribute[i]->name ? call->attribute[i]->name : (char *)"";
        frame->attr[frame->n_attr++] = named;
    }
    for (int i = 0; i < f->n_defaults; i++)
        if (f->defaults[i]->name && !is_argument(frame, f->defaults[i]->name))
            frame->attr[frame->n_attr++] = f->defaults[i];
    return GOPT_OK;
}

static gopt_status bind_operands(gopt_onnx_scope *s, const gopt_onnx_draft *d, const Onnx__FunctionProto *p,
                                 gopt_err *e)
{
    if ((size_t)d->n_in > p->n_input || (size_t)d->n_out > p->n_output)
        return gopt_fail(e, GOPT_EINPUT, "%d inputs and %d outputs, at most %zu and %zu expected", d->n_in, d->n_out,
                         p->n_input, p->n_output);
    for (size_t i = 0; i < p->n_input; i++) {
        bool given = gopt_onnx_draft_has(d, (int)i);
        GOPT_TRY(given ? gopt_onnx_define(s, p->input[i], d->in[i], e) : gopt_onnx_define_absent(s, p->input[i], e));
    }
    for (int k = 0; k < d->n_out; k++)
        if (d->out[k])
            gopt_name_map_add(&s->results, p->output[k], d->out[k]);
    return s->results.failed ? gopt_oom(e) : GOPT_OK;
}

/* Results that no node of the function writes directly: inputs handed through, constants, one value twice. */
static gopt_status copy_results(const gopt_onnx_scope *s, const gopt_onnx_draft *d, const Onnx__FunctionProto *p,
                                gopt_err *e)
{
    for (int k = 0; k < d->n_out; k++) {
        gopt_value *v;
        if (!d->out[k])
            continue;
        GOPT_TRY(gopt_onnx_find(s, p->output[k], &v, e));
        if (v == d->out[k])
            continue;
        GOPT_TRY(gopt_onnx_draft_copy(d, v, d->out[k], e));
    }
    return GOPT_OK;
}

gopt_status gopt_onnx_call(const gopt_onnx_draft *d, const gopt_onnx_function *f, const Onnx__NodeProto *call,
                           gopt_err *e)
{
    enum { PREFIX_MAX = 200 }; /* names in the file have any length, and this one is repeated */
    const Onnx__FunctionProto *p = f->proto;
    gopt_onnx_frame frame = {.model = &d->x->frame, .opset = p->opset_import, .n_opset = p->n_opset_import};
    gopt_onnx_scope s = {.frame = &frame, .graph = d->scope->graph};
    frame.prefix = gopt_arena_printf(&d->x->scratch, "%.*s/", PREFIX_MAX, d->name);
    if (!frame.prefix)
        return gopt_oom(e);
    gopt_status status = read_arguments(&frame, d, f, call, e);
    if (!status)
        status = bind_operands(&s, d, p, e);
    if (!status)
        status = gopt_onnx_nodes(d->x, &s, p->node, p->n_node, e);
    if (!status)
        status = copy_results(&s, d, p, e);
    gopt_onnx_scope_fini(&s);
    return status;
}
