/* bundle_write.c: a plan to a file. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bundle.h"
#include "bundle_format.h"

typedef struct writer {
    gopt_arena arena;
    gopt_piece *blob; /* data and padding alternate */
    size_t n_blob, cap_blob, offset;
    const void **seen;            /* constants already written ... */
    size_t *seen_at, *seen_bytes; /* ... and where, and how much of them */
    size_t n_seen, cap_seen, cap_at, cap_bytes;
    bool failed;
} writer;

static const char padding[GOPT_BUNDLE_ALIGN];

static void piece(writer *w, const void *data, size_t bytes)
{
    gopt_piece *grown = gopt_arena_grow(&w->arena, w->blob, w->n_blob, &w->cap_blob, w->n_blob + 1, sizeof *grown);
    if (!grown)
        return;
    w->blob = grown;
    w->blob[w->n_blob++] = (gopt_piece){data, bytes};
    w->offset += bytes;
}

static size_t place_blob(writer *w, const void *data, size_t bytes)
{
    for (size_t i = 0; i < w->n_seen; i++)
        if (w->seen[i] == data && w->seen_bytes[i] == bytes)
            return w->seen_at[i];
    size_t at = w->offset;
    const void **seen = gopt_arena_grow(&w->arena, w->seen, w->n_seen, &w->cap_seen, w->n_seen + 1, sizeof *seen);
    size_t *seen_at = gopt_arena_grow(&w->arena, w->seen_at, w->n_seen, &w->cap_at, w->n_seen + 1, sizeof *seen_at);
    size_t *sizes = gopt_arena_grow(&w->arena, w->seen_bytes, w->n_seen, &w->cap_bytes, w->n_seen + 1, sizeof *sizes);
    piece(w, data, bytes);
    piece(w, padding, (GOPT_BUNDLE_ALIGN - bytes % GOPT_BUNDLE_ALIGN) % GOPT_BUNDLE_ALIGN);
    if (seen && seen_at && sizes) {
        w->seen = seen;
        w->seen_at = seen_at;
        w->seen_bytes = sizes;
        w->seen_bytes[w->n_seen] = bytes;
        w->seen[w->n_seen] = data;
        w->seen_at[w->n_seen++] = at;
    }
    return at;
}

/* Adds item to parent (an array when name is NULL); a NULL item is a failed allocation. */
static cJSON *add(writer *w, cJSON *parent, const char *name, cJSON *item)
{
    bool added =
        item && parent && (name ? cJSON_AddItemToObject(parent, name, item) : cJSON_AddItemToArray(parent, item));
    if (!added) {
        w->failed = true;
        cJSON_Delete(item);
        return NULL;
    }
    return item;
}

static void add_int(writer *w, cJSON *parent, const char *name, int64_t v)
{
    const int64_t exact = (int64_t)1 << 53;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    add(w, parent, name, v <= exact && v >= -exact ? cJSON_CreateNumber((double)v) : cJSON_CreateString(text));
}

static void add_float(writer *w, cJSON *parent, const char *name, double v)
{
    char text[48];
    snprintf(text, sizeof text, "%a", v);
    add(w, parent, name, cJSON_CreateString(text));
}

static void add_text(writer *w, cJSON *parent, const char *name, const char *s)
{
    add(w, parent, name, cJSON_CreateString(s));
}

static void add_ints(writer *w, cJSON *parent, const char *name, const int64_t *v, int64_t n)
{
    cJSON *a = add(w, parent, name, cJSON_CreateArray());
    for (int64_t i = 0; i < n; i++)
        add_int(w, a, NULL, v[i]);
}

static void add_indices(writer *w, cJSON *parent, const char *name, const int *v, int n)
{
    cJSON *a = add(w, parent, name, cJSON_CreateArray());
    for (int i = 0; i < n; i++)
        add_int(w, a, NULL, v[i]);
}

static void add_blob(writer *w, cJSON *parent, const char *name, const void *data, size_t bytes)
{
    int64_t place[2] = {(int64_t)place_blob(w, data, bytes), (int64_t)bytes};
    add_ints(w, parent, name, place, 2);
}

static void add_attr(writer *w, cJSON *list, const gopt_attr *a)
{
    cJSON *o = add(w, list, NULL, cJSON_CreateObject());
    add_text(w, o, "name", a->name);
    add_int(w, o, "kind", a->kind);
    cJSON *floats = NULL, *strings = NULL;
    switch (a->kind) {
    case GOPT_ATTR_NONE:
        break;
    case GOPT_ATTR_INT:
        add_int(w, o, "i", a->i);
        break;
    case GOPT_ATTR_FLOAT:
        add_float(w, o, "f", a->f);
        break;
    case GOPT_ATTR_STRING:
        add_text(w, o, "s", a->s);
        break;
    case GOPT_ATTR_INTS:
        add_ints(w, o, "ints", a->ints, a->n);
        break;
    case GOPT_ATTR_FLOATS:
        floats = add(w, o, "floats", cJSON_CreateArray());
        for (int64_t i = 0; i < a->n; i++)
            add_float(w, floats, NULL, a->floats[i]);
        break;
    case GOPT_ATTR_STRINGS:
        strings = add(w, o, "strings", cJSON_CreateArray());
        for (int64_t i = 0; i < a->n; i++)
            add_text(w, strings, NULL, a->strings[i]);
        break;
    case GOPT_ATTR_TENSOR:
        add_int(w, o, "dtype", a->tensor->dtype);
        add_ints(w, o, "dim", a->tensor->dim, a->tensor->rank);
        add_blob(w, o, "blob", a->tensor->data, gopt_tensor_bytes(a->tensor));
        break;
    }
}

static void add_operands(writer *w, cJSON *step, const char *name, const gopt_operand *at, int n)
{
    cJSON *list = add(w, step, name, cJSON_CreateArray());
    for (int i = 0; i < n; i++) {
        cJSON *o = add(w, list, NULL, cJSON_CreateObject());
        add_int(w, o, "dtype", at[i].dtype);
        add_int(w, o, "rank", at[i].rank);
        add_ints(w, o, "dim", at[i].dim, GOPT_MAX(at[i].rank, 0));
        if (at[i].packed)
            add(w, o, "packed", cJSON_CreateTrue());
        size_t bytes = at[i].packed && at[i].constant ? gopt_dtype_bytes(at[i].dtype, gopt_operand_count(&at[i])) : 0;
        if (bytes > 0 && bytes <= GOPT_BUNDLE_SMALL)
            add_blob(w, o, "constant", at[i].constant, bytes);
    }
}

static void add_group(writer *w, cJSON *step, const gopt_group *g)
{
    add_text(w, step, "domain", g->op->domain);
    add_text(w, step, "op", g->op->name);
    add_int(w, step, "anchor", g->n_anchor);
    cJSON *attrs = add(w, step, "attrs", cJSON_CreateArray());
    for (int i = 0; i < g->attrs.n; i++)
        add_attr(w, attrs, &g->attrs.at[i]);
    add_operands(w, step, "operands", g->in, g->n_in);
    add_operands(w, step, "results", g->out, g->n_out);
    if (g->post) {
        gopt_text t = {0};
        gopt_expr_print(g->post, &t);
        w->failed = w->failed || t.failed;
        add_text(w, step, "post", gopt_text_str(&t));
        gopt_text_fini(&t);
    }
}

static void add_plan(writer *w, cJSON *o, const gopt_plan *p);

static void add_step(writer *w, cJSON *list, const gopt_step *s)
{
    cJSON *o = add(w, list, NULL, cJSON_CreateObject());
    add_text(w, o, "name", s->name);
    add_group(w, o, &s->group);
    add_indices(w, o, "in", s->in, s->group.n_in);
    add_indices(w, o, "out", s->out, s->group.n_out);
    add_indices(w, o, "origin", s->origin, s->n_origin);
    add_float(w, o, "cost", s->cost_s);
    add(w, o, "pack_late", cJSON_CreateBool(s->pack_late));
    if (s->kernel) {
        add_text(w, o, "kernel", s->kernel->name);
        add_int(w, o, "revision", s->kernel->revision);
        add_ints(w, o, "knobs", s->knob, gopt_kernel_knob_count(s->kernel));
        int64_t work[3] = {s->work.parts, s->work.phases, (int64_t)s->work.workspace};
        add_ints(w, o, "work", work, 3);
    }
    if (s->symbol) {
        add_text(w, o, "symbol", s->symbol);
        add_int(w, o, "code", s->code_index);
    }
    cJSON *bodies = s->n_bodies ? add(w, o, "bodies", cJSON_CreateArray()) : NULL;
    for (int i = 0; i < s->n_bodies; i++)
        add_plan(w, add(w, bodies, NULL, cJSON_CreateObject()), s->body[i]);
}

static void add_value(writer *w, cJSON *list, const gopt_plan *p, int v, const unsigned char *used)
{
    const gopt_plan_value *at = &p->values[v];
    cJSON *o = add(w, list, NULL, cJSON_CreateObject());
    if (at->name)
        add_text(w, o, "name", at->name);
    add_int(w, o, "dtype", at->dtype);
    add_int(w, o, "rank", at->rank);
    add_ints(w, o, "dim", at->dim, GOPT_MAX(at->rank, 0));
    bool idle = at->place == GOPT_PLACE_CONST && !used[v];
    add_int(w, o, "place", idle ? GOPT_PLACE_NONE : at->place);
    add_int(w, o, "offset", (int64_t)at->offset);
    add_int(w, o, "bytes", (int64_t)at->bytes);
    add_int(w, o, "outer", at->outer);
    add_int(w, o, "last", at->last_step);
    if (at->place == GOPT_PLACE_CONST && !idle)
        add_blob(w, o, "blob", at->data, at->bytes);
}

static void mark(const gopt_plan *p, unsigned char *used, const int *v, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = v[i]; k >= 0; k = p->values[k].place == GOPT_PLACE_ALIAS ? p->values[k].outer : -1)
            used[k] = 1;
}

static void mark_outer(const gopt_plan *body, const gopt_plan *p, unsigned char *used)
{
    for (int v = 0; v < body->n_values; v++)
        if (body->values[v].place == GOPT_PLACE_OUTER)
            mark(p, used, &body->values[v].outer, 1);
}

/* Constants that packing or folding left without a reader are not written. */
static unsigned char *used_values(writer *w, const gopt_plan *p)
{
    unsigned char *used = GOPT_NEW(&w->arena, unsigned char, p->n_values);
    if (!used)
        return NULL;
    mark(p, used, p->outputs, p->n_outputs);
    for (int i = 0; i < p->n_steps; i++) {
        mark(p, used, p->steps[i].in, p->steps[i].group.n_in);
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            mark_outer(p->steps[i].body[b], p, used);
    }
    return used;
}

static void add_plan(writer *w, cJSON *o, const gopt_plan *p)
{
    unsigned char *used = used_values(w, p);
    cJSON *values = add(w, o, "values", cJSON_CreateArray());
    cJSON *steps = add(w, o, "steps", cJSON_CreateArray());
    for (int v = 0; used && v < p->n_values; v++)
        add_value(w, values, p, v, used);
    for (int i = 0; i < p->n_steps; i++)
        add_step(w, steps, &p->steps[i]);
    add_indices(w, o, "inputs", p->inputs, p->n_inputs);
    add_indices(w, o, "outputs", p->outputs, p->n_outputs);
    add_int(w, o, "arena", (int64_t)p->arena_bytes);
    add_int(w, o, "workspace", (int64_t)p->workspace_bytes);
    add_int(w, o, "weights", (int64_t)p->weight_bytes);
}

static void add_main(writer *w, cJSON *root, const gopt_plan *p)
{
    cJSON *ports = add(w, root, "ports", cJSON_CreateArray());
    for (int i = 0; i < p->n_inputs + p->n_outputs; i++) {
        cJSON *o = add(w, ports, NULL, cJSON_CreateObject());
        add_text(w, o, "name", p->ports[i].name);
        add_int(w, o, "dtype", p->ports[i].dtype);
        add_int(w, o, "rank", p->ports[i].rank);
        add_ints(w, o, "dim", p->ports[i].dim, GOPT_MAX(p->ports[i].rank, 0));
    }
    add_int(w, root, "isa", p->target.isa);
    add_int(w, root, "threads", p->target.threads);
    cJSON *code = add(w, root, "code", cJSON_CreateArray());
    for (int i = 0; i < p->n_code; i++)
        add_blob(w, code, NULL, p->code[i].elf, p->code[i].bytes);
    add_plan(w, root, p);
}

static gopt_status hash_pieces(const gopt_piece *at, size_t n, gopt_hash *out, gopt_err *e)
{
    gopt_hasher *h = gopt_hasher_new();
    if (!h)
        return gopt_oom(e);
    for (size_t i = 0; i < n; i++)
        gopt_hasher_add(h, at[i].data, at[i].bytes);
    *out = gopt_hasher_free(h);
    return GOPT_OK;
}

static gopt_status write_file(writer *w, const char *json, const char *path, gopt_hash *content, gopt_err *e)
{
    size_t bytes = strlen(json), pad = (GOPT_BUNDLE_ALIGN - bytes % GOPT_BUNDLE_ALIGN) % GOPT_BUNDLE_ALIGN;
    gopt_piece *all = GOPT_NEW(&w->arena, gopt_piece, w->n_blob + 3);
    if (!all)
        return gopt_oom(e);
    gopt_bundle_header h = {.magic = GOPT_BUNDLE_MAGIC, .version = GOPT_BUNDLE_VERSION, .endian = GOPT_BUNDLE_ENDIAN};
    h.json_bytes = bytes;
    h.total_bytes = sizeof h + bytes + pad + w->offset;
    all[0] = (gopt_piece){&h, sizeof h};
    all[1] = (gopt_piece){json, bytes};
    all[2] = (gopt_piece){padding, pad};
    if (w->n_blob)
        memcpy(all + 3, w->blob, w->n_blob * sizeof *all);
    GOPT_TRY(hash_pieces(all + 1, w->n_blob + 2, &h.content, e));
    if (content)
        *content = h.content;
    return gopt_file_write(path, all, (int)w->n_blob + 3, e);
}

gopt_status gopt_bundle_write(const gopt_plan *p, const char *path, gopt_hash *content, gopt_err *e)
{
    writer w = {0};
    cJSON *root = cJSON_CreateObject();
    if (root)
        add_main(&w, root, p);
    char *json = root && !w.failed && !w.arena.failed ? cJSON_PrintUnformatted(root) : NULL;
    gopt_status s = json ? write_file(&w, json, path, content, e) : gopt_oom(e);
    cJSON_free(json);
    cJSON_Delete(root);
    gopt_arena_fini(&w.arena);
    return s;
}
