/* import.c: a model file becomes a graph. */
#include "import.h"

#include <string.h>

#include "base/utf8.h"
#include "onnx/importer.h"
#include "onnx/wire.h"

/* ---- the file as a whole ---- */

static gopt_status check_versions(const gopt_onnx_importer *x, gopt_err *e)
{
    const Onnx__ModelProto *m = x->model;
    int64_t opset = gopt_onnx_version(&x->frame, "");
    if (!m->graph)
        return gopt_fail(e, GOPT_EINPUT, "no graph in it: not an ONNX model");
    if (m->ir_version < 1)
        return gopt_fail(e, GOPT_EINPUT, "IR version %lld", (long long)m->ir_version);
    if (m->ir_version > GOPT_ONNX_IR_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "IR version %lld, at most %d is supported", (long long)m->ir_version,
                         GOPT_ONNX_IR_MAX);
    if (m->n_opset_import == 0)
        return gopt_fail(e, GOPT_EINPUT, "no opset_import");
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = gopt_onnx_domain(m->opset_import[i]->domain);
        if (m->opset_import[i]->version < 1)
            return gopt_fail(e, GOPT_EINPUT, "opset %lld of domain %.60s", (long long)m->opset_import[i]->version,
                             *domain ? domain : "ai.onnx");
    }
    if (opset > GOPT_ONNX_OPSET_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "opset %lld, at most %d is supported", (long long)opset, GOPT_ONNX_OPSET_MAX);
    return GOPT_OK;
}

/* The files that lie beside models are easily taken for one. */
static gopt_status name_tensor(const char *path, gopt_status s, gopt_err *e)
{
    char shape[160];
    gopt_tensor t;
    gopt_arena a = {0};
    if (s == GOPT_EINPUT && !gopt_tensor_read(&t, path, NULL, &a, NULL))
        gopt_fail(e, s, "not an ONNX model but a tensor, %s", gopt_tensor_describe(shape, sizeof shape, &t));
    gopt_arena_fini(&a);
    return gopt_within(e, s, "%s", path);
}

static gopt_status open_model(gopt_onnx_importer *x, const char *path, gopt_err *e)
{
    ProtobufCMessage *m = NULL;
    GOPT_TRY(gopt_file_map(&x->file, path, e));
    gopt_status s = gopt_wire_unpack(&m, &onnx__model_proto__descriptor, &x->file, &x->scratch, e);
    if (s)
        return name_tensor(path, s, e);
    x->model = (Onnx__ModelProto *)m;
    x->frame = (gopt_onnx_frame){.prefix = "", .opset = x->model->opset_import, .n_opset = x->model->n_opset_import};
    s = check_versions(x, e);
    return s ? gopt_within(e, s, "%s", path) : GOPT_OK;
}

/* From here on the family owns what is mapped. */
static gopt_status give_backing(gopt_onnx_importer *x, const char *path, gopt_err *e)
{
    gopt_family *f = x->family;
    gopt_onnx_backing *b = GOPT_NEW(&f->arena, gopt_onnx_backing, 1);
    if (!b)
        return gopt_oom(e);
    f->backing = b;
    f->backing_free = gopt_onnx_backing_fini;
    f->backing_drop = gopt_onnx_backing_drop;
    x->file_given = true;
    GOPT_TRY(gopt_onnx_backing_add(b, x->file, &f->arena, e));
    x->folder = (gopt_onnx_folder){.model = path, .backing = b, .arena = &f->arena};
    x->source = (gopt_onnx_source){.file = &x->file, .folder = &x->folder, .arena = &f->arena};
    return GOPT_OK;
}

/* ---- the graph ---- */

/* Keeps the facts of n's operands, then leaves only types and shapes in them. One value may be several operands. */
static void hide_contents(const gopt_node *n, gopt_fact *kept)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k])
            kept[k] = n->in[k]->fact;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]) {
            n->in[k]->fact.constant = NULL;
            n->in[k]->fact.content = NULL;
        }
}

static void restore_contents(const gopt_node *n, const gopt_fact *kept)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k])
            n->in[k]->fact = kept[k];
}

/* Whether n reads nothing but inputs and initializers. */
static bool reads_declared(const gopt_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->producer)
            return false;
    return n->n_bodies == 0;
}

/* The dimensions of v that follow from declared types and shapes alone. */
static gopt_status proven_fact(const gopt_value *v, gopt_fact *out, gopt_err *e)
{
    gopt_node *n = v->producer;
    *out = n ? (gopt_fact){.rank = -1} : v->fact;
    if (!n || !reads_declared(n))
        return GOPT_OK;
    gopt_fact *kept = gopt_calloc((size_t)n->n_in, sizeof *kept), before = v->fact;
    if (!kept)
        return gopt_oom(e);
    gopt_value *self = n->out[v->output];
    hide_contents(n, kept);
    self->fact = (gopt_fact){.rank = -1};
    gopt_status s = gopt_node_infer(n, NULL);
    *out = self->fact;
    self->fact = before;
    restore_contents(n, kept);
    gopt_free(kept);
    return s == GOPT_ENOMEM ? gopt_oom(e) : GOPT_OK;
}

static int contradicting_dim(const gopt_fact *a, const gopt_fact *b)
{
    for (int i = 0; a->rank == b->rank && i < a->rank; i++)
        if (gopt_dim_is_const(a->dim[i]) && gopt_dim_is_const(b->dim[i]) && !gopt_dim_equal(a->dim[i], b->dim[i]))
            return i;
    return -1;
}

/* Types must be what is declared. Shapes that tools left behind are often wrong and do no harm; one that contradicts
 * the shapes of the operands, whatever they hold, means that the file is broken. */
static gopt_status check_output(const gopt_value *v, const gopt_fact *declared, gopt_err *e)
{
    gopt_fact proven;
    if (declared->dtype != GOPT_DTYPE_NONE && v->fact.dtype != GOPT_DTYPE_NONE && v->fact.dtype != declared->dtype)
        return gopt_fail(e, GOPT_EINPUT, "declared as %s, but it is %s", gopt_dtype_name(declared->dtype),
                         gopt_dtype_name(v->fact.dtype));
    if (contradicting_dim(declared, &v->fact) < 0)
        return GOPT_OK;
    GOPT_TRY(proven_fact(v, &proven, e));
    int i = contradicting_dim(declared, &proven);
    return i < 0 ? GOPT_OK
                 : gopt_fail(e, GOPT_EINPUT, "dimension %d is declared as %lld, but it is %lld", i,
                             (long long)declared->dim[i].k, (long long)proven.dim[i].k);
}

static gopt_status check_outputs(const gopt_onnx_importer *x, const gopt_graph *g, gopt_err *e)
{
    gopt_fact declared;
    for (int i = 0; i < g->n_outputs; i++) {
        if (gopt_onnx_body_fact(x->model->graph->output[i], &declared, NULL))
            continue;
        gopt_status s = check_output(g->outputs[i], &declared, e);
        if (s)
            return gopt_within(e, s, "output %.100s", g->outputs[i]->name);
    }
    return GOPT_OK;
}

static gopt_status build(gopt_onnx_importer *x, gopt_graph *g, gopt_err *e)
{
    GOPT_TRY(gopt_onnx_survey(x, e));
    GOPT_TRY(gopt_onnx_main_graph(x, g, e));
    GOPT_TRY(gopt_graph_sort(g, e));
    GOPT_TRY(gopt_graph_infer(g, e));
    GOPT_TRY(check_outputs(x, g, e));
    return gopt_graph_unique_names(g, e);
}

static void describe(const gopt_onnx_importer *x, gopt_model_info *info)
{
    const char *producer = x->model->producer_name;
    *info = (gopt_model_info){.ir_version = x->model->ir_version,
                              .opset = gopt_onnx_version(&x->frame, ""),
                              .nodes = (int)x->n_file_nodes,
                              .parameters_bytes = x->parameter_bytes};
    strncat(info->producer, producer ? producer : "", sizeof info->producer - 1);
    gopt_onnx_sha256(&x->file, info->sha256);
}

static void fini(gopt_onnx_importer *x)
{
    if (!x->file_given)
        gopt_file_unmap(&x->file);
    gopt_name_map_fini(&x->function_of);
    gopt_name_map_fini(&x->file_nodes);
    gopt_name_map_fini(&x->symbols);
    gopt_name_map_fini(&x->nodes);
    gopt_name_map_fini(&x->values);
    gopt_arena_fini(&x->scratch);
}

static gopt_status import(gopt_onnx_importer *x, gopt_graph **g, const char *path, gopt_err *e)
{
    GOPT_TRY(open_model(x, path, e));
    GOPT_TRY(gopt_graph_new(g, e));
    x->family = (*g)->family;
    gopt_status s = give_backing(x, path, e);
    if (!s)
        s = build(x, *g, e);
    return s ? gopt_within(e, s, "%s", path) : GOPT_OK;
}

gopt_status gopt_model_import(gopt_graph **out, const char *path, gopt_model_info *info, gopt_err *e)
{
    gopt_onnx_importer x = {0};
    gopt_graph *g = NULL;
    *out = NULL;
    gopt_status s = import(&x, &g, path, e);
    if (!s && info)
        describe(&x, info);
    fini(&x);
    if (s) {
        gopt_graph_free(g);
        if (e)
            gopt_utf8_clean(e->msg);
        return s;
    }
    *out = g;
    return GOPT_OK;
}
