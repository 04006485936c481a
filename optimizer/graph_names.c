/* graph_names.c: names unique in the whole model, so that text, messages and decisions can refer to them. */
#include <stdlib.h>

#include "graph.h"
#include "name_map.h"

typedef struct naming {
    gopt_family *family;
    gopt_name_map values, nodes;
    unsigned char *seen; /* by value id */
} naming;

/* A name in the file that could be made up: names made up later begin behind it. */
static void skip(naming *u, const char *name)
{
    char *end;
    int64_t n = *name == '~' ? strtoll(name + 1, &end, 10) : 0;
    if (n > u->family->next_name && n < INT64_MAX / 2 && !*end)
        u->family->next_name = n;
}

static void settle(naming *u, gopt_name_map *set, const char **name)
{
    if (*name && **name && gopt_name_map_add(set, *name, NULL)) {
        skip(u, *name);
        return;
    }
    while (!set->failed && !u->family->arena.failed) {
        *name = gopt_arena_printf(&u->family->arena, "~%lld", (long long)++u->family->next_name);
        if (*name && gopt_name_map_add(set, *name, NULL))
            return;
    }
}

static void settle_value(naming *u, gopt_value *v)
{
    if (!v || u->seen[v->id])
        return;
    u->seen[v->id] = 1;
    settle(u, &u->values, &v->name);
}

static void name_graph(naming *u, gopt_graph *g)
{
    for (int i = 0; i < g->n_inputs; i++)
        settle_value(u, g->inputs[i]);
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        settle(u, &u->nodes, &n->name);
        for (int k = 0; k < n->n_out; k++)
            settle_value(u, n->out[k]);
        for (int k = 0; k < n->n_in; k++)
            settle_value(u, n->in[k]);
    }
    for (int i = 0; i < g->n_outputs; i++)
        settle_value(u, g->outputs[i]);
    for (int i = 0; i < g->n_nodes; i++)
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            name_graph(u, g->nodes[i]->body[b]);
}

gopt_status gopt_graph_unique_names(gopt_graph *main_graph, gopt_err *e)
{
    naming u = {.family = main_graph->family};
    u.seen = gopt_calloc((size_t)u.family->next_id, 1);
    if (u.seen)
        name_graph(&u, main_graph);
    bool failed = !u.seen || u.values.failed || u.nodes.failed || u.family->arena.failed;
    gopt_name_map_fini(&u.values);
    gopt_name_map_fini(&u.nodes);
    gopt_free(u.seen);
    return failed ? gopt_oom(e) : GOPT_OK;
}
