/* inspect_model.c: an ONNX model: statistics, inputs and outputs, operators and what runs them, memory. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "coverage.h"
#include "import.h"
#include "inspect.h"

enum { SYMBOLS_MAX = 256 };

static const char *dtype_of(const gopt_fact *f)
{
    return f->dtype == GOPT_DTYPE_NONE ? "unknown" : gopt_dtype_name(f->dtype);
}

/* float32[batch,3,224,224]; an unknown rank as [...]. */
static void put_fact(gopt_text *t, const gopt_graph *g, const gopt_fact *f)
{
    char dim[128];
    gopt_text_add(t, "%s[%s", dtype_of(f), f->rank < 0 ? "..." : "");
    for (int d = 0; d < f->rank; d++) {
        gopt_text_put(t, d ? "," : "");
        gopt_utf8_put(t, gopt_dim_print(g->family->dims, f->dim[d], dim, sizeof dim));
    }
    gopt_text_put(t, "]");
}

static void text_values(const gopt_inspection *x, const char *title, const gopt_graph *g, gopt_value *const *v, int n)
{
    gopt_text_add(x->text, "%s:%s\n", title, n ? "" : " none");
    for (int i = 0; i < n; i++) {
        gopt_text_put(x->text, "  ");
        gopt_utf8_put(x->text, v[i]->name);
        gopt_text_put(x->text, " ");
        put_fact(x->text, g, &v[i]->fact);
        gopt_text_put(x->text, "\n");
    }
}

static void json_values(const gopt_inspection *x, const char *name, const gopt_graph *g, gopt_value *const *v, int n)
{
    cJSON *list = cJSON_AddArrayToObject(x->json, name);
    char text[128];
    for (int i = 0; i < n; i++) {
        cJSON *o = cJSON_CreateObject(), *shape = NULL;
        const gopt_fact *f = &v[i]->fact;
        gopt_json_text(o, "name", v[i]->name);
        gopt_json_text(o, "dtype", dtype_of(f));
        shape = f->rank < 0 ? cJSON_CreateNull() : cJSON_CreateArray();
        for (int d = 0; d < f->rank; d++)
            cJSON_AddItemToArray(shape,
                                 gopt_dim_is_const(f->dim[d])
                                     ? cJSON_CreateNumber((double)f->dim[d].k)
                                     : gopt_json_string(gopt_dim_print(g->family->dims, f->dim[d], text, sizeof text)));
        cJSON_AddItemToObject(o, "shape", shape);
        cJSON_AddItemToArray(list, o);
    }
}

static void put_symbols(const gopt_inspection *x, const gopt_graph *g, const gopt_coverage *c)
{
    const char *names[SYMBOLS_MAX];
    int n = gopt_graph_symbols(g, names, SYMBOLS_MAX);
    cJSON *list = x->json ? cJSON_AddArrayToObject(x->json, "symbols") : NULL;
    for (int i = 0; list && i < n; i++)
        cJSON_AddItemToArray(list, gopt_json_string(names[i]));
    if (x->json)
        gopt_json_text(x->json, "shape", c->shape);
    if (!x->text || !n)
        return;
    gopt_text_put(x->text, "symbolic dimensions:");
    for (int i = 0; i < n; i++) {
        gopt_text_put(x->text, i ? ", " : " ");
        gopt_utf8_put(x->text, names[i]);
    }
    gopt_text_put(x->text, "; below with ");
    gopt_utf8_put(x->text, c->shape);
    gopt_text_put(x->text, c->made_up ? ", choose with --shape\n" : "\n");
}

static void text_operators(const gopt_inspection *x, const gopt_coverage *c, bool known)
{
    int width = 8;
    for (int i = 0; gopt_ops[i] && i < GOPT_COVERAGE_OPERATORS; i++)
        if (c->count[i])
            width = GOPT_MAX(width, (int)strlen(gopt_ops[i]->name));
    gopt_text_add(x->text, "  %-*s  nodes%s\n", width, "operator", known ? "  native  reference" : "");
    for (int i = 0; gopt_ops[i] && i < GOPT_COVERAGE_OPERATORS; i++) {
        if (!c->count[i])
            continue;
        gopt_text_add(x->text, "  %-*s  %5d", width, gopt_ops[i]->name, c->count[i]);
        gopt_text_add(x->text, known ? "  %6d  %9d\n" : "\n", c->native[i], c->reference[i]);
    }
}

static void json_operators(const gopt_inspection *x, const gopt_coverage *c, bool known)
{
    cJSON *operators = cJSON_AddObjectToObject(x->json, "operators");
    cJSON *kernels = cJSON_AddObjectToObject(x->json, "kernels");
    for (int i = 0; gopt_ops[i] && i < GOPT_COVERAGE_OPERATORS; i++) {
        if (!c->count[i])
            continue;
        gopt_json_number(operators, gopt_ops[i]->name, c->count[i]);
        cJSON *o = known ? cJSON_AddObjectToObject(kernels, gopt_ops[i]->name) : NULL;
        gopt_json_number(o, "native", c->native[i]);
        gopt_json_number(o, "reference", c->reference[i]);
    }
}

static void put_coverage(const gopt_inspection *x, const gopt_coverage *c, gopt_status s, const gopt_err *why)
{
    char a[32], b[32], d[32];
    double none = s ? NAN : 0;
    if (x->json) {
        json_operators(x, c, !s);
        cJSON *o = cJSON_AddObjectToObject(x->json, "coverage"), *m = cJSON_AddObjectToObject(x->json, "memory");
        gopt_json_number(o, "native", c->total_native + none);
        gopt_json_number(o, "reference", c->total_reference + none);
        gopt_json_number(o, "unsupported", none);
        gopt_json_text(o, "why", s ? why->msg : NULL);
        gopt_json_number(m, "weights", (double)c->weights + none);
        gopt_json_number(m, "arena", (double)c->arena + none);
        gopt_json_number(m, "workspace", (double)c->workspace + none);
        return;
    }
    gopt_text_put(x->text, "operators:\n");
    text_operators(x, c, !s);
    if (s) {
        gopt_text_put(x->text, "coverage: not known: ");
        gopt_utf8_put(x->text, why->msg);
        gopt_text_put(x->text, "\n");
        return;
    }
    gopt_text_add(x->text, "coverage: %d native, %d reference, 0 unsupported\n", c->total_native, c->total_reference);
    gopt_text_add(x->text, "memory without optimization: weights %s, activations %s, workspace %s\n",
                  gopt_text_bytes(a, (double)c->weights), gopt_text_bytes(b, (double)c->arena),
                  gopt_text_bytes(d, (double)c->workspace));
}

/* What passes, trace and report count is what import leaves: constants have become weights, functions their bodies. */
static void put_nodes(const gopt_inspection *x, int in_file, int imported)
{
    char text[64];
    snprintf(text, sizeof text, in_file == imported ? "%d" : "%d in the file, %d after import", in_file, imported);
    if (x->text)
        gopt_inspect_text(x, NULL, "nodes", text);
    if (!x->json)
        return;
    gopt_json_number(x->json, "nodes", in_file);
    gopt_json_number(x->json, "nodes_imported", imported);
}

static void put_info(const gopt_inspection *x, const gopt_model_info *info, const gopt_graph *g)
{
    gopt_inspect_text(x, "sha256", "sha256", info->sha256);
    gopt_inspect_text(x, "producer", "producer", info->producer);
    gopt_inspect_number(x, "ir_version", "IR version", (double)info->ir_version);
    gopt_inspect_number(x, "opset", "opset", (double)info->opset);
    put_nodes(x, info->nodes, gopt_graph_count(g));
    gopt_inspect_bytes(x, "parameters_bytes", "parameters", (double)info->parameters_bytes);
}

/* What is wrong at sizes that we made up is no fault of the model, nor is a lack of time or memory here. */
static bool is_fault(gopt_status s, const gopt_coverage *c)
{
    return s == GOPT_EUSAGE || ((s == GOPT_EINPUT || s == GOPT_EUNSUP) && !c->made_up);
}

gopt_status gopt_inspect_model(const gopt_inspection *x, gopt_err *e)
{
    gopt_graph *g;
    gopt_model_info info;
    gopt_coverage c;
    gopt_err why = {0};
    GOPT_TRY(gopt_model_import(&g, x->path, &info, e));
    gopt_status s = gopt_coverage_find(&c, g, x->shapes, &why);
    if (is_fault(s, &c)) {
        gopt_graph_free(g);
        return gopt_fail(e, s, "%s: %s", x->path, why.msg);
    }
    put_info(x, &info, g);
    if (x->text) {
        text_values(x, "inputs", g, g->inputs, g->n_inputs);
        text_values(x, "outputs", g, g->outputs, g->n_outputs);
    } else {
        json_values(x, "inputs", g, g->inputs, g->n_inputs);
        json_values(x, "outputs", g, g->outputs, g->n_outputs);
    }
    put_symbols(x, g, &c);
    put_coverage(x, &c, s, &why);
    s = x->headroom > 0 ? gopt_inspect_headroom(x, g, c.shape, &why) : GOPT_OK;
    gopt_graph_free(g);
    return s ? gopt_fail(e, s, "%s: %s", x->path, why.msg) : GOPT_OK;
}
