/* graph.c: building graphs and asking simple questions about them. */
#include "graph.h"

#include <string.h>

gopt_status gopt_graph_new(gopt_graph **out, gopt_err *e)
{
    *out = NULL;
    gopt_family *f = gopt_calloc(1, sizeof *f);
    if (!f)
        return gopt_oom(e);
    f->dims = gopt_dims_new(&f->arena);
    gopt_graph *g = GOPT_NEW(&f->arena, gopt_graph, 1);
    if (!f->dims || !g) {
        gopt_arena_fini(&f->arena);
        gopt_free(f);
        return gopt_oom(e);
    }
    g->family = f;
    g->name = "main";
    *out = g;
    return GOPT_OK;
}

gopt_graph *gopt_graph_new_body(gopt_graph *parent)
{
    gopt_graph *g = GOPT_NEW(&parent->family->arena, gopt_graph, 1);
    if (g)
        *g = (gopt_graph){.family = parent->family, .name = "body", .parent = parent};
    return g;
}

void gopt_graph_free(gopt_graph *main_graph)
{
    if (!main_graph)
        return;
    gopt_family *f = main_graph->family;
    if (f->backing_free)
        f->backing_free(f->backing);
    gopt_arena_fini(&f->arena);
    gopt_free(f);
}

/* NULL: a name of our own. */
static const char *name_of(gopt_family *f, const char *name)
{
    return name ? gopt_arena_str(&f->arena, name) : gopt_arena_printf(&f->arena, "~%lld", (long long)++f->next_name);
}

gopt_value *gopt_graph_value(gopt_graph *g, const char *name)
{
    gopt_family *f = g->family;
    gopt_value *v = GOPT_NEW(&f->arena, gopt_value, 1);
    name = name_of(f, name);
    if (!v || !name)
        return NULL;
    *v = (gopt_value){.id = f->next_id++, .name = name, .graph = g, .fact.rank = -1};
    return v;
}

/* Appends p to one of a graph's arrays of pointers. */
static bool append(gopt_arena *a, void *array, int *n, size_t *cap, void *p)
{
    void ***at = array;
    void **grown = gopt_arena_grow(a, *at, (size_t)*n, cap, (size_t)*n + 1, sizeof *grown);
    if (!grown)
        return false;
    *at = grown;
    grown[(*n)++] = p;
    return true;
}

gopt_value *gopt_graph_input(gopt_graph *g, const char *name, const gopt_fact *f)
{
    gopt_value *v = gopt_graph_value(g, name);
    if (!v || !append(&g->family->arena, &g->inputs, &g->n_inputs, &g->cap_inputs, v))
        return NULL;
    v->fact = *f;
    v->is_input = true;
    return v;
}

gopt_value *gopt_graph_constant(gopt_graph *g, const char *name, const gopt_tensor *t)
{
    gopt_value *v = gopt_graph_value(g, name);
    if (!v)
        return NULL;
    gopt_fact_of_tensor(&v->fact, t, &g->family->arena);
    return g->family->arena.failed ? NULL : v;
}

bool gopt_graph_output(gopt_graph *g, gopt_value *v)
{
    if (!append(&g->family->arena, &g->outputs, &g->n_outputs, &g->cap_outputs, v))
        return false;
    v->n_results++;
    return true;
}

/* The union of ascending lists into n. */
static bool unite_origins(gopt_node *n, gopt_node *const *from, int n_from)
{
    gopt_arena *a = &n->graph->family->arena;
    int total = 0;
    for (int i = 0; i < n_from; i++)
        total += from[i]->n_origin;
    int *at = GOPT_NEW(a, int, total), count = 0;
    if (!at)
        return false;
    for (int i = 0; i < n_from; i++)
        for (int k = 0; k < from[i]->n_origin; k++) {
            int o = from[i]->origin[k], p = count;
            while (p > 0 && at[p - 1] > o)
                p--;
            if (p > 0 && at[p - 1] == o)
                continue;
            memmove(&at[p + 1], &at[p], (size_t)(count - p) * sizeof *at);
            at[p] = o;
            count++;
        }
    n->origin = at;
    n->n_origin = count;
    return true;
}

static bool make_outputs(gopt_node *n, int n_out)
{
    n->out = GOPT_NEW(&n->graph->family->arena, gopt_value *, n_out);
    n->n_out = n_out;
    for (int i = 0; n->out && i < n_out; i++) {
        if (!(n->out[i] = gopt_graph_value(n->graph, NULL)))
            return false;
        n->out[i]->producer = n;
        n->out[i]->output = i;
    }
    return n->out;
}

/* Position of a node: insertions since the last sort have moved it to the right of its index. */
static int position_of(const gopt_graph *g, const gopt_node *n)
{
    int i = n->index;
    while (i < g->n_nodes && g->nodes[i] != n)
        i++;
    return i;
}

static bool insert(gopt_graph *g, gopt_node *n, const gopt_node *before)
{
    int at = before ? position_of(g, before) : g->n_nodes;
    if (!append(&g->family->arena, &g->nodes, &g->n_nodes, &g->cap_nodes, n))
        return false;
    memmove(&g->nodes[at + 1], &g->nodes[at], (size_t)(g->n_nodes - 1 - at) * sizeof *g->nodes);
    g->nodes[at] = n;
    n->index = before ? before->index : at;
    return true;
}

gopt_node *gopt_graph_node(gopt_graph *g, const char *name, const gopt_op *op, gopt_attrs attrs, gopt_value *const *in,
                           int n_in, int n_out, gopt_node *before, gopt_node *const *from, int n_from)
{
    gopt_family *f = g->family;
    gopt_node *n = GOPT_NEW(&f->arena, gopt_node, 1);
    name = name_of(f, name);
    if (!n || !name)
        return NULL;
    *n = (gopt_node){.id = f->next_id++, .name = name, .op = op, .attrs = attrs, .graph = g, .n_anchor = n_in};
    n->post = gopt_expr_new(&f->arena);
    for (int i = 0; i < n_in; i++)
        if (gopt_node_add_in(n, in[i]) < 0)
            return NULL;
    if (!make_outputs(n, n_out) || !unite_origins(n, from, n_from) || !insert(g, n, before))
        return NULL;
    return n;
}

bool gopt_value_is_const(const gopt_value *v)
{
    return v && v->fact.constant;
}

bool gopt_value_single_use(const gopt_value *v)
{
    return v->n_users == 1 && v->n_results == 0;
}

bool gopt_value_scalar(const gopt_value *v, double *out)
{
    if (!gopt_value_is_const(v) || gopt_tensor_count(v->fact.constant) != 1)
        return false;
    const gopt_tensor *t = v->fact.constant;
    if (gopt_dtype_bits(t->dtype) == 0 || t->dtype == GOPT_DTYPE_C64 || t->dtype == GOPT_DTYPE_C128)
        return false;
    *out = gopt_dtype_class(t->dtype) == GOPT_CLASS_FLOAT ? gopt_tensor_get(t, 0) : (double)gopt_tensor_get_int(t, 0);
    return true;
}

int gopt_graph_count(const gopt_graph *g)
{
    int count = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        count += !n->dead;
        for (int b = 0; !n->dead && b < n->n_bodies; b++)
            count += gopt_graph_count(n->body[b]);
    }
    return count;
}

static size_t constant_bytes(const gopt_graph *g, unsigned char *seen)
{
    size_t sum = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        if (n->dead)
            continue;
        for (int k = 0; k < n->n_in; k++) {
            const gopt_value *v = n->in[k];
            if (!gopt_value_is_const(v) || seen[v->id])
                continue;
            seen[v->id] = 1;
            sum += gopt_tensor_bytes(v->fact.constant);
        }
        for (int b = 0; b < n->n_bodies; b++)
            sum += constant_bytes(n->body[b], seen);
    }
    return sum;
}

size_t gopt_graph_constant_bytes(const gopt_graph *g)
{
    unsigned char *seen = gopt_calloc((size_t)g->family->next_id, 1);
    size_t sum = seen ? constant_bytes(g, seen) : 0;
    gopt_free(seen);
    return sum;
}
