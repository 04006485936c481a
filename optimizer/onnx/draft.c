/* draft.c: changing drafts, and making nodes of them. */
#include "onnx/draft.h"

#include <string.h>

bool gopt_onnx_draft_has(const gopt_onnx_draft *d, int k)
{
    return k < d->n_in && d->in[k];
}

gopt_status gopt_onnx_draft_set(gopt_onnx_draft *d, int k, gopt_value *v, gopt_err *e)
{
    int need = GOPT_MAX(d->n_in, k + 1);
    gopt_value **in = gopt_arena_grow(&d->x->scratch, d->in, (size_t)d->n_in, &d->cap_in, (size_t)need, sizeof *in);
    if (!in)
        return gopt_oom(e);
    d->in = in;
    while (d->n_in < need)
        in[d->n_in++] = NULL;
    in[k] = v;
    return GOPT_OK;
}

gopt_fact gopt_onnx_draft_fact(const gopt_onnx_draft *d, int k)
{
    return gopt_onnx_draft_has(d, k) ? d->in[k]->fact : (gopt_fact){.rank = -1};
}

gopt_status gopt_onnx_draft_attr(gopt_onnx_draft *d, gopt_attr one, gopt_err *e)
{
    d->attrs = gopt_attrs_with(&d->x->family->arena, d->attrs, one);
    return d->attrs.at ? GOPT_OK : gopt_oom(e);
}

gopt_status gopt_onnx_draft_text(gopt_onnx_draft *d, const char *name, const char *v, gopt_err *e)
{
    return gopt_onnx_draft_attr(d, (gopt_attr){.name = name, .kind = GOPT_ATTR_STRING, .s = v}, e);
}

gopt_status gopt_onnx_draft_drop(gopt_onnx_draft *d, const char *name, gopt_err *e)
{
    if (gopt_attr_find(d->attrs, name))
        d->attrs = gopt_attrs_without(&d->x->family->arena, d->attrs, name);
    return d->x->family->arena.failed ? gopt_oom(e) : GOPT_OK;
}

gopt_status gopt_onnx_draft_default_int(gopt_onnx_draft *d, const char *name, int64_t v, gopt_err *e)
{
    if (gopt_attr_find(d->attrs, name))
        return GOPT_OK;
    return gopt_onnx_draft_attr(d, (gopt_attr){.name = name, .kind = GOPT_ATTR_INT, .i = v}, e);
}

/* A constant called "node/what". */
static gopt_status constant(gopt_onnx_draft *d, const char *what, const gopt_tensor *t, gopt_value **out, gopt_err *e)
{
    const char *name = gopt_arena_printf(&d->x->scratch, "%s/%s", d->name, what);
    *out = NULL;
    if (t && name)
        name = gopt_onnx_value_name(d->x, &d->x->frame, name);
    if (t && name)
        *out = gopt_graph_constant(d->scope->graph, name, t);
    return *out ? GOPT_OK : gopt_oom(e);
}

static gopt_status list(gopt_onnx_draft *d, const char *what, gopt_dtype type, const void *v, int64_t n,
                        gopt_value **out, gopt_err *e)
{
    gopt_tensor *t = gopt_tensor_new(&d->x->family->arena, type, 1, &n);
    if (t && n)
        memcpy(t->data, v, gopt_tensor_bytes(t));
    return constant(d, what, t, out, e);
}

gopt_status gopt_onnx_draft_ints(gopt_onnx_draft *d, const char *what, const int64_t *v, int64_t n, gopt_value **out,
                                 gopt_err *e)
{
    return list(d, what, GOPT_DTYPE_I64, v, n, out, e);
}

gopt_status gopt_onnx_draft_floats(gopt_onnx_draft *d, const char *what, const float *v, int64_t n, gopt_value **out,
                                   gopt_err *e)
{
    return list(d, what, GOPT_DTYPE_F32, v, n, out, e);
}

gopt_status gopt_onnx_draft_scalar(gopt_onnx_draft *d, const char *what, gopt_dtype type, double v, gopt_value **out,
                                   gopt_err *e)
{
    gopt_tensor *t = gopt_tensor_new(&d->x->family->arena, type, 0, NULL);
    if (t)
        gopt_tensor_set(t, 0, v);
    return constant(d, what, t, out, e);
}

static gopt_node *new_node(gopt_onnx_draft *d, const char *name, const gopt_op *op, gopt_attrs attrs,
                           gopt_value *const *in, int n_in, int n_out)
{
    gopt_node *n = gopt_graph_node(d->scope->graph, name, op, attrs, in, n_in, n_out, NULL, NULL, 0);
    if (!n)
        return NULL;
    n->origin = gopt_arena_copy(&d->x->family->arena, &d->origin, 1, sizeof d->origin);
    n->n_origin = n->origin != NULL;
    return n->origin ? n : NULL;
}

/* Rules for later nodes may ask for ranks and types. What is wrong shows again when the whole graph is inferred. */
static gopt_status infer(const gopt_onnx_draft *d, gopt_node *n, gopt_err *e)
{
    if (n->n_bodies || gopt_onnx_version(d->scope->frame, "") > GOPT_ONNX_UPGRADED_MAX)
        return GOPT_OK;
    return gopt_node_infer(n, NULL) == GOPT_ENOMEM ? gopt_oom(e) : GOPT_OK;
}

gopt_status gopt_onnx_draft_before(gopt_onnx_draft *d, const char *op, gopt_attrs attrs, gopt_value *const *in,
                                   int n_in, gopt_value **out, gopt_err *e)
{
    const gopt_op *known = gopt_op_find("", op);
    if (!known)
        return gopt_fail(e, GOPT_EUNSUP, "operator %s, which its version %lld needs, is not supported", op,
                         (long long)d->version);
    const char *name = gopt_onnx_added_name(d->x, d->name, op);
    gopt_node *n = name ? new_node(d, name, known, attrs, in, n_in, 1) : NULL;
    if (!n)
        return gopt_oom(e);
    *out = n->out[0];
    return infer(d, n, e);
}

static gopt_status check_count(const char *what, int n, int min, int max, gopt_err *e)
{
    if (n >= min && n <= max)
        return GOPT_OK;
    if (min == max)
        return gopt_fail(e, GOPT_EINPUT, "%d %s, %d expected", n, what, min);
    if (n < min)
        return gopt_fail(e, GOPT_EINPUT, "%d %s, at least %d expected", n, what, min);
    return gopt_fail(e, GOPT_EINPUT, "%d %s, at most %d expected", n, what, max);
}

gopt_status gopt_onnx_draft_known(const gopt_onnx_draft *d, gopt_err *e)
{
    if (gopt_op_find(d->domain, d->op) || (!*d->domain && gopt_onnx_upgrades(d->op)))
        return GOPT_OK;
    if (d->version == 0)
        return gopt_fail(e, GOPT_EUNSUP, "operator %.60s of domain %.60s, which is not imported, is not supported",
                         d->op, d->domain);
    return gopt_fail(e, GOPT_EUNSUP, "operator %.60s of domain %.60s, version %lld, is not supported", d->op,
                     *d->domain ? d->domain : "ai.onnx", (long long)d->version);
}

/* Operands that may be left out although others that must be there follow. */
static bool is_optional(const char *op, int k)
{
    return (!strcmp(op, "Loop") && k < 2) || (!strcmp(op, "EmbedLayerNormalization") && (k == 1 || k == 4));
}

static gopt_status check(const gopt_onnx_draft *d, const gopt_op *op, gopt_err *e)
{
    if (!op)
        return gopt_fail(e, GOPT_EUNSUP, "operator %.60s is not supported", d->op);
    GOPT_TRY(check_count("inputs", d->n_in, op->in_min, op->in_max, e));
    GOPT_TRY(check_count("outputs", d->n_out, op->out_min, op->out_max, e));
    for (int k = 0; k < op->in_min; k++)
        if (!d->in[k] && !is_optional(d->op, k))
            return gopt_fail(e, GOPT_EINPUT, "input %d is required, but has no name", k);
    for (int k = 0; k < op->out_min; k++)
        if (!d->out[k])
            return gopt_fail(e, GOPT_EINPUT, "output %d is required, but has no name", k);
    return GOPT_OK;
}

gopt_status gopt_onnx_draft_finish(gopt_onnx_draft *d, gopt_err *e)
{
    const gopt_op *op = gopt_op_find(d->domain, d->op);
    while (op && d->n_in > op->in_min && !d->in[d->n_in - 1])
        d->n_in--;
    GOPT_TRY(check(d, op, e));
    gopt_node *n = new_node(d, d->name, op, d->attrs, d->in, d->n_in, 0);
    gopt_value **out = gopt_arena_copy(&d->x->family->arena, d->out, (size_t)d->n_out, sizeof *out);
    if (!n || !out)
        return gopt_oom(e);
    n->out = out;
    n->n_out = d->n_out;
    for (int k = 0; k < d->n_out; k++) {
        if (!out[k])
            continue;
        out[k]->producer = n;
        out[k]->output = k;
    }
    n->body = d->body;
    n->n_bodies = d->n_bodies;
    return infer(d, n, e);
}

gopt_status gopt_onnx_draft_copy(const gopt_onnx_draft *d, gopt_value *v, gopt_value *out, gopt_err *e)
{
    gopt_onnx_draft copy = {.x = d->x,
                            .scope = d->scope,
                            .op = "Identity",
                            .domain = "",
                            .version = d->version,
                            .origin = d->origin,
                            .in = &v,
                            .n_in = 1,
                            .out = &out,
                            .n_out = 1};
    copy.name = gopt_onnx_added_name(d->x, d->name, copy.op);
    return copy.name ? gopt_onnx_draft_finish(&copy, e) : gopt_oom(e);
}
