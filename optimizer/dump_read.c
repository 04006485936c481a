/* dump_read.c: the text form back to graphs, line by line. */
#include "dump.h"
#include "dump_scan.h"

#include <string.h>

#include "name_map.h"

typedef struct reading {
    gopt_scan scan;
    gopt_graph *g; /* the one that lines go to */
    gopt_name_map values;
    int depth;
} reading;

enum { NESTING_MAX = 32 };

static gopt_status define(reading *r, gopt_value *v)
{
    if (!v)
        return gopt_oom(r->scan.e);
    if (gopt_name_map_add(&r->values, v->name, v))
        return GOPT_OK;
    return r->values.failed ? gopt_oom(r->scan.e) : gopt_fail(r->scan.e, GOPT_EINPUT, "%s is defined twice", v->name);
}

static gopt_status read_input(reading *r)
{
    const char *name;
    gopt_fact f;
    GOPT_TRY(gopt_scan_name(&r->scan, &name, NULL));
    GOPT_TRY(gopt_scan_type(&r->scan, &f));
    return define(r, gopt_graph_input(r->g, name, &f));
}

static gopt_status read_const(reading *r)
{
    const char *name;
    const gopt_tensor *t;
    GOPT_TRY(gopt_scan_name(&r->scan, &name, NULL));
    GOPT_TRY(gopt_scan_tensor(&r->scan, &t));
    return define(r, gopt_graph_constant(r->g, name, t));
}

/* The value of this name; NULL for an absent one. */
static gopt_status find_value(reading *r, gopt_value **out)
{
    const char *name;
    bool quoted;
    GOPT_TRY(gopt_scan_name(&r->scan, &name, &quoted));
    *out = gopt_name_map_find(&r->values, name);
    if (!*out && (quoted || strcmp(name, "_")))
        return gopt_fail(r->scan.e, GOPT_EINPUT, "%s is not defined", name);
    return GOPT_OK;
}

static gopt_status read_output(reading *r)
{
    gopt_value *v;
    GOPT_TRY(find_value(r, &v));
    if (!v)
        return gopt_scan_fail(&r->scan, "value");
    return gopt_graph_output(r->g, v) ? GOPT_OK : gopt_oom(r->scan.e);
}

/* ---- nodes ---- */

typedef struct line { /* of a node */
    gopt_value **out; /* made beforehand; NULL: not wanted */
    int n_out;
    const gopt_op *op;
    gopt_value **in;
    int n_in, n_anchor;
    gopt_attrs attrs;
} line;

/* "a float32[2], _, b int64[] =" */
static gopt_status read_outputs(reading *r, line *l)
{
    while (!gopt_scan_accept(&r->scan, "=")) {
        const char *name;
        bool quoted;
        if (l->n_out > 0)
            GOPT_TRY(gopt_scan_expect(&r->scan, ","));
        GOPT_TRY(gopt_scan_name(&r->scan, &name, &quoted));
        l->out[l->n_out++] = NULL;
        if (!quoted && !strcmp(name, "_"))
            continue;
        gopt_value *v = l->out[l->n_out - 1] = gopt_graph_value(r->g, name);
        GOPT_TRY(define(r, v));
        GOPT_TRY(gopt_scan_type(&r->scan, &v->fact));
    }
    return GOPT_OK;
}

static gopt_status read_op(reading *r, line *l)
{
    const char *domain = "", *name;
    GOPT_TRY(gopt_scan_name(&r->scan, &name, NULL));
    if (gopt_scan_accept(&r->scan, "::")) {
        domain = name;
        GOPT_TRY(gopt_scan_name(&r->scan, &name, NULL));
    }
    l->op = gopt_op_find(domain, name);
    if (!l->op)
        return gopt_fail(r->scan.e, GOPT_EUNSUP, "unknown operator %s%s%s", domain, *domain ? "::" : "", name);
    GOPT_TRY(gopt_scan_expect(&r->scan, "("));
    l->n_anchor = -1;
    while (!gopt_scan_accept(&r->scan, ")")) {
        if (l->n_anchor < 0 && gopt_scan_accept(&r->scan, ";"))
            l->n_anchor = l->n_in;
        else if (l->n_in > 0)
            GOPT_TRY(gopt_scan_expect(&r->scan, ","));
        GOPT_TRY(find_value(r, &l->in[l->n_in++]));
    }
    if (l->n_anchor < 0)
        l->n_anchor = l->n_in;
    return gopt_scan_attrs(&r->scan, &l->attrs);
}

static gopt_status add_node(reading *r, const char *name, const line *l)
{
    gopt_err *e = r->scan.e;
    gopt_family *f = r->g->family;
    gopt_node *n = gopt_graph_node(r->g, name, l->op, l->attrs, l->in, l->n_in, 0, NULL, NULL, 0);
    if (!n)
        return gopt_oom(e);
    n->n_anchor = l->n_anchor;
    n->out = l->out;
    n->n_out = l->n_out;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]) {
            n->out[k]->producer = n;
            n->out[k]->output = k;
        }
    n->origin = GOPT_NEW(&f->arena, int, 1);
    if (!n->origin)
        return gopt_oom(e);
    n->origin[0] = f->imported_nodes++;
    n->n_origin = 1;
    if (gopt_scan_accept(&r->scan, "post="))
        GOPT_TRY(gopt_expr_parse(&n->post, &f->arena, r->scan.p, e));
    else if (!gopt_scan_end(&r->scan))
        return gopt_scan_fail(&r->scan, "end of line");
    r->scan.p = "";
    return GOPT_OK;
}

static gopt_status read_node(reading *r, const char *name)
{
    size_t room = strlen(r->scan.p);
    line l = {.out = GOPT_NEW(&r->g->family->arena, gopt_value *, room),
              .in = GOPT_NEW(&r->g->family->arena, gopt_value *, room)};
    if (!l.out || !l.in)
        return gopt_oom(r->scan.e);
    GOPT_TRY(gopt_scan_expect(&r->scan, ":"));
    GOPT_TRY(read_outputs(r, &l));
    GOPT_TRY(read_op(r, &l));
    return add_node(r, name, &l);
}

static gopt_status read_body(reading *r)
{
    gopt_family *f = r->g->family;
    const char *name;
    GOPT_TRY(gopt_scan_name(&r->scan, &name, NULL));
    if (r->g->n_nodes == 0)
        return gopt_scan_fail(&r->scan, "node before its body");
    if (++r->depth > NESTING_MAX)
        return gopt_fail(r->scan.e, GOPT_EUNSUP, "more than %d levels of nesting", NESTING_MAX);
    gopt_node *n = r->g->nodes[r->g->n_nodes - 1];
    gopt_graph *body = gopt_graph_new_body(r->g);
    gopt_graph **bodies = GOPT_NEW(&f->arena, gopt_graph *, n->n_bodies + 1);
    if (!body || !bodies)
        return gopt_oom(r->scan.e);
    body->name = name;
    if (n->n_bodies)
        memcpy(bodies, n->body, (size_t)n->n_bodies * sizeof *bodies);
    bodies[n->n_bodies++] = body;
    n->body = bodies;
    r->g = body;
    return GOPT_OK;
}

static gopt_status read_end(reading *r)
{
    if (!r->g->parent)
        return gopt_fail(r->scan.e, GOPT_EINPUT, "'end' without a body");
    r->g = r->g->parent;
    r->depth--;
    return GOPT_OK;
}

static gopt_status read_line(reading *r)
{
    const char *word;
    bool quoted;
    if (gopt_scan_end(&r->scan) || *r->scan.p == '#')
        return GOPT_OK;
    GOPT_TRY(gopt_scan_name(&r->scan, &word, &quoted));
    if (quoted || !gopt_dump_is_keyword(word))
        return read_node(r, word);
    if (!strcmp(word, "input"))
        GOPT_TRY(read_input(r));
    else if (!strcmp(word, "const"))
        GOPT_TRY(read_const(r));
    else if (!strcmp(word, "output"))
        GOPT_TRY(read_output(r));
    else if (!strcmp(word, "body"))
        GOPT_TRY(read_body(r));
    else if (!strcmp(word, "end"))
        GOPT_TRY(read_end(r));
    return gopt_scan_end(&r->scan) ? GOPT_OK : gopt_scan_fail(&r->scan, "end of line");
}

static gopt_status read_lines(reading *r, const char *text)
{
    gopt_err *e = r->scan.e;
    for (int number = 1; *text; number++) {
        size_t n = strcspn(text, "\n");
        r->scan.p = gopt_arena_strn(&r->g->family->arena, text, n);
        gopt_status s = r->scan.p ? read_line(r) : gopt_oom(e);
        if (s)
            return gopt_within(e, s, "line %d", number);
        text += n + (text[n] == '\n');
    }
    return r->g->parent ? gopt_fail(e, GOPT_EINPUT, "a body has no end") : GOPT_OK;
}

static void name_imported(gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        g->family->imported_name[n->origin[0]] = n->name;
        g->family->imported_op[n->origin[0]] = n->op->name;
        for (int b = 0; b < n->n_bodies; b++)
            name_imported(n->body[b]);
    }
}

static gopt_status finish(gopt_graph *g, gopt_err *e)
{
    gopt_family *f = g->family;
    f->imported_name = GOPT_NEW(&f->arena, const char *, f->imported_nodes);
    f->imported_op = GOPT_NEW(&f->arena, const char *, f->imported_nodes);
    if (f->arena.failed)
        return gopt_oom(e);
    name_imported(g);
    gopt_graph_touched_clear(f);
    GOPT_TRY(gopt_graph_sort(g, e));
    GOPT_TRY(gopt_graph_infer(g, e));
    gopt_status s = gopt_graph_check(g, e);
    return s == GOPT_EBUG ? GOPT_EINPUT : s;
}

gopt_status gopt_graph_read(gopt_graph **out, const char *text, gopt_err *e)
{
    gopt_graph *g;
    *out = NULL;
    GOPT_TRY(gopt_graph_new(&g, e));
    reading r = {.scan = {.family = g->family, .e = e}, .g = g};
    gopt_status s = read_lines(&r, text);
    gopt_name_map_fini(&r.values);
    if (!s)
        s = finish(g, e);
    if (s) {
        gopt_graph_free(g);
        return s;
    }
    *out = g;
    return GOPT_OK;
}
