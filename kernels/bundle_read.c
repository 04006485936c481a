/* bundle_read.c: a file to a plan, everything checked: hash, version, kernels' revisions, every index and blob. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/pool.h"
#include "bundle.h"
#include "bundle_format.h"
#include "plan_check.h"

typedef struct reader {
    gopt_plan *plan; /* the main one, with the arena */
    const unsigned char *blobs;
    size_t blob_bytes;
    bool bad; /* sticky: something was missing, of another kind or out of range */
} reader;

static gopt_arena *arena(reader *r)
{
    return &r->plan->arena;
}

static const cJSON *item(reader *r, const cJSON *o, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(o, name);
    r->bad = r->bad || !found;
    return found;
}

#define EXACT 9007199254740992.0 /* integers up to here are exact in double; larger ones are written as strings */

static int64_t number(reader *r, const cJSON *n, int64_t lo, int64_t hi)
{
    int64_t v = 0;
    if (cJSON_IsNumber(n) && n->valuedouble >= -EXACT && n->valuedouble <= EXACT)
        v = (int64_t)n->valuedouble;
    else if (cJSON_IsString(n))
        v = strtoll(n->valuestring, NULL, 10);
    else
        r->bad = true;
    if (v < lo || v > hi) {
        r->bad = true;
        return lo;
    }
    return v;
}

static int64_t get_int(reader *r, const cJSON *o, const char *name, int64_t lo, int64_t hi)
{
    return number(r, item(r, o, name), lo, hi);
}

static double to_float(reader *r, const cJSON *n)
{
    r->bad = r->bad || !cJSON_IsString(n);
    return r->bad ? 0 : strtod(n->valuestring, NULL);
}

static const char *get_text(reader *r, const cJSON *o, const char *name)
{
    const cJSON *s = item(r, o, name);
    r->bad = r->bad || !cJSON_IsString(s);
    const char *copy = r->bad ? NULL : gopt_arena_str(arena(r), s->valuestring);
    return copy ? copy : "";
}

/* Nothing was missing or malformed so far, and memory was there. */
static gopt_status sound(reader *r, gopt_err *e)
{
    if (arena(r)->failed)
        return gopt_oom(e);
    return r->bad ? gopt_fail(e, GOPT_EINPUT, "malformed bundle") : GOPT_OK;
}

/* Elements of an array, at most max. */
static int size_of(reader *r, const cJSON *list, int max)
{
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
    r->bad = r->bad || n < 0 || n > max;
    return r->bad ? 0 : n;
}

static int64_t *get_ints(reader *r, const cJSON *o, const char *name, int64_t lo, int64_t hi, int64_t *n)
{
    const cJSON *list = item(r, o, name), *one;
    *n = size_of(r, list, INT32_MAX);
    int64_t *v = GOPT_NEW(arena(r), int64_t, *n), i = 0;
    if (v)
        cJSON_ArrayForEach(one, list) if (i < *n) v[i++] = number(r, one, lo, hi);
    return v;
}

static int *get_indices(reader *r, const cJSON *o, const char *name, int hi, int *n)
{
    int64_t count;
    int64_t *v = get_ints(r, o, name, -1, hi, &count);
    *n = (int)count;
    int *out = GOPT_NEW(arena(r), int, count);
    for (int64_t i = 0; out && v && i < count; i++)
        out[i] = (int)v[i];
    return out;
}

static void get_dim(reader *r, const cJSON *o, int rank, int64_t dim[GOPT_RANK_MAX])
{
    int64_t n;
    int64_t *v = get_ints(r, o, "dim", -1, INT64_MAX, &n);
    r->bad = r->bad || n != GOPT_MAX(rank, 0) || n > GOPT_RANK_MAX;
    for (int64_t i = 0; !r->bad && v && i < n; i++)
        dim[i] = v[i];
}

static const void *blob_at(reader *r, const cJSON *pair, size_t *bytes)
{
    if (size_of(r, pair, 2) != 2)
        return NULL;
    size_t at = (size_t)number(r, cJSON_GetArrayItem(pair, 0), 0, (int64_t)r->blob_bytes);
    *bytes = (size_t)number(r, cJSON_GetArrayItem(pair, 1), 0, (int64_t)(r->blob_bytes - at));
    r->bad = r->bad || at % GOPT_BUNDLE_ALIGN != 0;
    return r->blobs + at;
}

static void read_attr_tensor(reader *r, const cJSON *o, gopt_attr *a)
{
    gopt_tensor *t = GOPT_NEW(arena(r), gopt_tensor, 1);
    int64_t n;
    size_t bytes = 0;
    int64_t *dim = get_ints(r, o, "dim", 0, INT64_MAX, &n);
    r->bad = r->bad || n > GOPT_RANK_MAX;
    const void *data = blob_at(r, item(r, o, "blob"), &bytes);
    if (r->bad || !t || !dim)
        return;
    t->dtype = (gopt_dtype)get_int(r, o, "dtype", 1, GOPT_DTYPE_COUNT - 1);
    t->rank = (int)n;
    memcpy(t->dim, dim, (size_t)n * sizeof *dim);
    t->data = (void *)(uintptr_t)data;
    int64_t count;
    r->bad = r->bad || !gopt_dims_count(t->dim, t->rank, &count) || gopt_tensor_bytes(t) != bytes;
    a->tensor = t;
}

static void read_attr(reader *r, const cJSON *o, gopt_attr *a)
{
    const cJSON *list, *one;
    int64_t i = 0;
    a->name = get_text(r, o, "name");
    a->kind = (gopt_attr_kind)get_int(r, o, "kind", 0, GOPT_ATTR_TENSOR);
    switch (a->kind) {
    case GOPT_ATTR_NONE:
        break;
    case GOPT_ATTR_INT:
        a->i = get_int(r, o, "i", INT64_MIN, INT64_MAX);
        break;
    case GOPT_ATTR_FLOAT:
        a->f = to_float(r, item(r, o, "f"));
        break;
    case GOPT_ATTR_STRING:
        a->s = get_text(r, o, "s");
        break;
    case GOPT_ATTR_INTS:
        a->ints = get_ints(r, o, "ints", INT64_MIN, INT64_MAX, &a->n);
        break;
    case GOPT_ATTR_FLOATS: {
        list = item(r, o, "floats");
        a->n = size_of(r, list, INT32_MAX);
        double *f = GOPT_NEW(arena(r), double, a->n);
        if (f)
            cJSON_ArrayForEach(one, list) if (i < a->n) f[i++] = to_float(r, one);
        a->floats = f;
        break;
    }
    case GOPT_ATTR_STRINGS: {
        list = item(r, o, "strings");
        a->n = size_of(r, list, INT32_MAX);
        const char **s = GOPT_NEW(arena(r), const char *, a->n);
        if (s)
            cJSON_ArrayForEach(one, list) if (i < a->n) s[i++] =
                cJSON_IsString(one) ? gopt_arena_str(arena(r), one->valuestring) : "";
        a->strings = s;
        break;
    }
    case GOPT_ATTR_TENSOR:
        read_attr_tensor(r, o, a);
        break;
    }
}

static void read_attrs(reader *r, const cJSON *o, gopt_attrs *out)
{
    const cJSON *list = item(r, o, "attrs"), *one;
    int n = size_of(r, list, INT32_MAX), i = 0;
    gopt_attr *a = GOPT_NEW(arena(r), gopt_attr, n);
    if (a)
        cJSON_ArrayForEach(one, list) if (i < n) read_attr(r, one, &a[i++]);
    *out = (gopt_attrs){.at = a, .n = a ? n : 0};
}

/* The elements of a packed operand that is small. */
static void read_kept_constant(reader *r, const cJSON *o, gopt_operand *x)
{
    size_t bytes = 0;
    int64_t count = 0;
    const void *data = blob_at(r, item(r, o, "constant"), &bytes);
    r->bad = r->bad || x->rank < 0 || !gopt_dims_count(x->dim, x->rank, &count) ||
             gopt_dtype_bytes(x->dtype, count) != bytes;
    x->constant = r->bad ? NULL : data;
}

static gopt_operand *read_operands(reader *r, const cJSON *o, const char *name, const gopt_plan *p, const int *value,
                                   int n)
{
    const cJSON *list = item(r, o, name), *one;
    int i = 0;
    r->bad = r->bad || size_of(r, list, INT32_MAX) != n;
    gopt_operand *at = GOPT_NEW(arena(r), gopt_operand, n);
    if (!at || r->bad)
        return at;
    cJSON_ArrayForEach(one, list)
    {
        gopt_operand *x = &at[i];
        x->dtype = (gopt_dtype)get_int(r, one, "dtype", 0, GOPT_DTYPE_COUNT - 1);
        x->rank = (int)get_int(r, one, "rank", -1, GOPT_RANK_MAX);
        get_dim(r, one, x->rank, x->dim);
        x->packed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(one, "packed"));
        if (value[i] >= 0 && !x->packed && p->values[value[i]].place == GOPT_PLACE_CONST)
            x->constant = p->values[value[i]].data;
        if (x->packed && cJSON_HasObjectItem(one, "constant"))
            read_kept_constant(r, one, x);
        i++;
    }
    return at;
}

static gopt_status read_group(reader *r, const cJSON *o, const gopt_plan *p, gopt_step *s, gopt_err *e)
{
    gopt_group *g = &s->group;
    const char *domain = get_text(r, o, "domain"), *name = get_text(r, o, "op");
    s->in = get_indices(r, o, "in", p->n_values - 1, &g->n_in);
    s->out = get_indices(r, o, "out", p->n_values - 1, &g->n_out);
    GOPT_TRY(sound(r, e));
    if (!(g->op = gopt_op_find(domain, name)))
        return gopt_fail(e, GOPT_EUNSUP, "step %s: operator %s is unknown to this version", s->name, name);
    g->n_anchor = (int)get_int(r, o, "anchor", 0, g->n_in);
    read_attrs(r, o, &g->attrs);
    g->in = read_operands(r, o, "operands", p, s->in, g->n_in);
    g->out = read_operands(r, o, "results", p, s->out, g->n_out);
    const cJSON *post = cJSON_GetObjectItemCaseSensitive(o, "post");
    if (!cJSON_IsString(post))
        return GOPT_OK;
    gopt_expr *x = GOPT_NEW(arena(r), gopt_expr, 1);
    if (!x)
        return gopt_oom(e);
    g->post = x;
    GOPT_TRY(gopt_expr_parse(x, arena(r), post->valuestring, e));
    for (int k = 0; k < x->n; k++)
        r->bad = r->bad || (x->at[k].code == GOPT_EXPR_LOAD && x->at[k].i >= GOPT_MIN(g->n_in, GOPT_EXPR_LIMIT));
    return GOPT_OK;
}

static gopt_status read_kernel(reader *r, const cJSON *o, gopt_step *s, gopt_err *e)
{
    if (!cJSON_HasObjectItem(o, "kernel"))
        return GOPT_OK;
    const char *name = get_text(r, o, "kernel");
    int64_t revision = get_int(r, o, "revision", 0, INT32_MAX), n;
    GOPT_TRY(sound(r, e));
    int k = gopt_kernel_find(name);
    if (k < 0 || gopt_kernels[k]->revision != revision)
        return gopt_fail(e, GOPT_EUNSUP, "step %s: kernel %s revision %lld is not that of this version; compile again",
                         s->name, name, (long long)revision);
    s->kernel = gopt_kernels[k];
    s->knob = get_ints(r, o, "knobs", INT64_MIN, INT64_MAX, &n);
    r->bad = r->bad || n != gopt_kernel_knob_count(s->kernel);
    int64_t *work = get_ints(r, o, "work", 0, INT64_MAX, &n);
    r->bad = r->bad || n != 3;
    if (!r->bad && work)
        s->work = (gopt_work){.parts = (int)work[0], .phases = (int)work[1], .workspace = (size_t)work[2]};
    if (s->kernel->generated) {
        s->symbol = get_text(r, o, "symbol");
        s->code_index = (int)get_int(r, o, "code", 0, r->plan->n_code - 1);
    }
    return GOPT_OK;
}

static gopt_status read_plan(reader *r, const cJSON *o, gopt_plan *p, gopt_err *e);

static gopt_status read_step(reader *r, const cJSON *o, gopt_plan *p, gopt_step *s, gopt_err *e)
{
    s->name = get_text(r, o, "name");
    GOPT_TRY(read_group(r, o, p, s, e));
    GOPT_TRY(read_kernel(r, o, s, e));
    s->origin = get_indices(r, o, "origin", INT32_MAX, &s->n_origin);
    s->cost_s = to_float(r, item(r, o, "cost"));
    s->pack_late = cJSON_IsTrue(item(r, o, "pack_late"));
    const cJSON *bodies = cJSON_GetObjectItemCaseSensitive(o, "bodies"), *one;
    int n = bodies ? size_of(r, bodies, INT32_MAX) : 0;
    GOPT_TRY(sound(r, e));
    s->body = GOPT_NEW(arena(r), gopt_plan *, n);
    if (!s->body)
        return gopt_oom(e);
    cJSON_ArrayForEach(one, bodies)
    {
        if (!(s->body[s->n_bodies] = GOPT_NEW(arena(r), gopt_plan, 1)))
            return gopt_oom(e);
        s->body[s->n_bodies]->parent = p;
        GOPT_TRY(read_plan(r, one, s->body[s->n_bodies++], e));
    }
    return GOPT_OK;
}

static void read_value(reader *r, const cJSON *o, gopt_plan *p, int index)
{
    gopt_plan_value *v = &p->values[index];
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(o, "name");
    v->name = cJSON_IsString(name) ? gopt_arena_str(arena(r), name->valuestring) : NULL;
    v->dtype = (gopt_dtype)get_int(r, o, "dtype", 0, GOPT_DTYPE_COUNT - 1);
    v->rank = (int)get_int(r, o, "rank", -1, GOPT_RANK_MAX);
    get_dim(r, o, v->rank, v->dim);
    v->place = (gopt_place)get_int(r, o, "place", 0, GOPT_PLACE_ALIAS);
    v->offset = (size_t)get_int(r, o, "offset", 0, INT64_MAX);
    v->bytes = (size_t)get_int(r, o, "bytes", 0, INT64_MAX);
    int limit = v->place == GOPT_PLACE_ALIAS   ? index - 1
                : v->place == GOPT_PLACE_OUTER ? p->parent ? p->parent->n_values - 1 : -1
                                               : INT32_MAX;
    v->outer = (int)get_int(r, o, "outer", 0, limit);
    v->last_step = (int)get_int(r, o, "last", 0, INT32_MAX);
    if (v->place == GOPT_PLACE_CONST) {
        size_t bytes = 0;
        v->data = blob_at(r, item(r, o, "blob"), &bytes);
        r->bad = r->bad || bytes != v->bytes;
    }
}

static gopt_status read_plan(reader *r, const cJSON *o, gopt_plan *p, gopt_err *e)
{
    const cJSON *values = item(r, o, "values"), *steps = item(r, o, "steps"), *one;
    int n = size_of(r, values, INT32_MAX), n_steps = size_of(r, steps, INT32_MAX);
    p->values = GOPT_NEW(arena(r), gopt_plan_value, n);
    p->steps = GOPT_NEW(arena(r), gopt_step, n_steps);
    if (!p->values || !p->steps)
        return gopt_oom(e);
    p->target = r->plan->target;
    p->arena_bytes = (size_t)get_int(r, o, "arena", 0, INT64_MAX);
    p->workspace_bytes = (size_t)get_int(r, o, "workspace", 0, INT64_MAX);
    p->weight_bytes = (size_t)get_int(r, o, "weights", 0, (int64_t)r->blob_bytes);
    cJSON_ArrayForEach(one, values) if (p->n_values < n) read_value(r, one, p, p->n_values++);
    p->inputs = get_indices(r, o, "inputs", n - 1, &p->n_inputs);
    p->outputs = get_indices(r, o, "outputs", n - 1, &p->n_outputs);
    cJSON_ArrayForEach(one, steps)
    {
        if (r->bad || p->n_steps == n_steps)
            break;
        GOPT_TRY(read_step(r, one, p, &p->steps[p->n_steps++], e));
    }
    for (int i = 0; i < p->n_inputs + p->n_outputs && p->inputs && p->outputs; i++)
        r->bad = r->bad || (i < p->n_inputs ? p->inputs[i] : p->outputs[i - p->n_inputs]) < 0;
    return sound(r, e);
}

static void read_code(reader *r, const cJSON *root)
{
    const cJSON *list = item(r, root, "code"), *one;
    gopt_plan *p = r->plan;
    int n = size_of(r, list, INT32_MAX);
    p->code = GOPT_NEW(arena(r), gopt_code, n);
    if (p->code)
        cJSON_ArrayForEach(one, list) if (p->n_code < n)
        {
            p->code[p->n_code].elf = blob_at(r, one, &p->code[p->n_code].bytes);
            p->n_code++;
        }
}

static void read_ports(reader *r, const cJSON *root)
{
    const cJSON *list = item(r, root, "ports"), *one;
    int n = size_of(r, list, INT32_MAX), i = 0;
    gopt_port *port = r->plan->ports = GOPT_NEW(arena(r), gopt_port, n);
    if (!port)
        return;
    cJSON_ArrayForEach(one, list)
    {
        if (i == n)
            break;
        port[i].name = get_text(r, one, "name");
        port[i].dtype = (gopt_dtype)get_int(r, one, "dtype", 0, GOPT_DTYPE_COUNT - 1);
        port[i].rank = (int)get_int(r, one, "rank", -1, GOPT_RANK_MAX);
        get_dim(r, one, port[i].rank, port[i].dim);
        i++;
    }
    r->bad = r->bad || n != r->plan->n_inputs + r->plan->n_outputs;
}

static gopt_status read_json(reader *r, const cJSON *root, gopt_err *e)
{
    gopt_target_host(&r->plan->target, (int)get_int(r, root, "threads", 1, GOPT_POOL_MOST));
    int isa = (int)get_int(r, root, "isa", 0, GOPT_ISA_COUNT - 1);
    if ((int)gopt_cpu_isa() < isa)
        return gopt_fail(e, GOPT_ENODEV, "built for %s, this processor offers %s; compile again",
                         gopt_isa_name((gopt_isa)isa), gopt_isa_name(gopt_cpu_isa()));
    r->plan->target.isa = (gopt_isa)isa;
    read_code(r, root);
    GOPT_TRY(read_plan(r, root, r->plan, e));
    read_ports(r, root);
    GOPT_TRY(sound(r, e));
    return gopt_plan_check(r->plan, e);
}

static gopt_status check_header(const gopt_mapping *m, gopt_bundle_header *h, gopt_err *e)
{
    if (m->bytes < sizeof *h || memcmp(m->data, GOPT_BUNDLE_MAGIC, sizeof h->magic) != 0)
        return gopt_fail(e, GOPT_EINPUT, "not a gopt bundle");
    memcpy(h, m->data, sizeof *h);
    if (h->version != GOPT_BUNDLE_VERSION || h->endian != GOPT_BUNDLE_ENDIAN)
        return gopt_fail(e, GOPT_EUNSUP, "bundle format %u of another version or machine; compile again", h->version);
    if (h->total_bytes != m->bytes || h->json_bytes > m->bytes - sizeof *h)
        return gopt_fail(e, GOPT_EINPUT, "cut short: %zu bytes of %llu", m->bytes, (unsigned long long)h->total_bytes);
    gopt_hash content = gopt_hash_bytes(m->data + sizeof *h, m->bytes - sizeof *h);
    if (content.hi != h->content.hi || content.lo != h->content.lo)
        return gopt_fail(e, GOPT_EINPUT, "damaged: its content does not match its hash");
    return GOPT_OK;
}

static void unmap(void *mapping)
{
    gopt_file_unmap(mapping);
    gopt_free(mapping);
}

static gopt_status read_mapping(gopt_plan *p, const gopt_mapping *m, gopt_hash *content, gopt_err *e)
{
    gopt_bundle_header h;
    GOPT_TRY(check_header(m, &h, e));
    if (content)
        *content = h.content;
    const char *json = (const char *)m->data + sizeof h;
    size_t pad = (GOPT_BUNDLE_ALIGN - h.json_bytes % GOPT_BUNDLE_ALIGN) % GOPT_BUNDLE_ALIGN;
    reader r = {.plan = p, .blobs = m->data + sizeof h + h.json_bytes + pad};
    if (h.json_bytes + pad > m->bytes - sizeof h)
        return gopt_fail(e, GOPT_EINPUT, "malformed bundle");
    r.blob_bytes = m->bytes - sizeof h - h.json_bytes - pad;
    cJSON *root = cJSON_ParseWithLength(json, h.json_bytes);
    gopt_status s = root ? read_json(&r, root, e) : gopt_fail(e, GOPT_EINPUT, "its plan is no JSON, or out of memory");
    cJSON_Delete(root);
    return s;
}

gopt_status gopt_bundle_read(gopt_plan **out, const char *path, gopt_hash *content, gopt_err *e)
{
    *out = NULL;
    gopt_plan *p = gopt_calloc(1, sizeof *p);
    gopt_mapping *m = gopt_calloc(1, sizeof *m);
    if (!p || !m) {
        gopt_free(p);
        gopt_free(m);
        return gopt_oom(e);
    }
    gopt_status s = gopt_file_map(m, path, e);
    if (s) {
        gopt_free(m);
        gopt_free(p);
        return s;
    }
    p->backing = m;
    p->backing_free = unmap;
    s = read_mapping(p, m, content, e);
    if (s) {
        gopt_plan_free(p);
        return gopt_within(e, s, "%s", path);
    }
    *out = p;
    return GOPT_OK;
}
