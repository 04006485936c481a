/* liveness.c: sizes, readers and lives of the values of one graph. */
#include "passes/liveness.h"

#include "memory.h"

static size_t bytes_of(const gopt_value *v)
{
    gopt_tensor t = {.dtype = v->fact.dtype, .rank = v->fact.rank};
    int64_t count;
    if (v->fact.constant || v->fact.rank < 0 || !gopt_fact_static(&v->fact, t.dim) ||
        !gopt_dims_count(t.dim, t.rank, &count))
        return 0;
    return (gopt_tensor_bytes(&t) + GOPT_ARENA_ALIGN - 1) / GOPT_ARENA_ALIGN * GOPT_ARENA_ALIGN;
}

static bool shares(const gopt_liveness *l, const gopt_node *n)
{
    return l->alias && (n->op->traits & GOPT_TRAIT_VIEW) && n->post.result < 0 && n->n_in > 0 && n->in[0] &&
           n->out[0] && n->in[0]->graph == l->g && !n->in[0]->fact.constant;
}

static void read_value(gopt_liveness *l, const gopt_value *v, int node)
{
    if (!v || v->graph != l->g || v->fact.constant)
        return;
    int root = l->root[v->id];
    if (l->stamp[root] == node + 1)
        return;
    l->stamp[root] = node + 1;
    int *grown = gopt_arena_grow(&l->arena, l->reads, l->n_reads, &l->cap_reads, l->n_reads + 1, sizeof *grown);
    if (!grown)
        return;
    l->reads = grown;
    grown[l->n_reads++] = root;
    l->at[root].readers++;
}

static void read_all(gopt_liveness *l, const gopt_node *n, int node)
{
    for (int k = 0; k < n->n_in; k++)
        read_value(l, n->in[k], node);
    for (int b = 0; b < n->n_bodies; b++) {
        for (int i = 0; i < n->body[b]->n_nodes; i++)
            read_all(l, n->body[b]->nodes[i], node);
        for (int i = 0; i < n->body[b]->n_outputs; i++)
            read_value(l, n->body[b]->outputs[i], node);
    }
}

static bool reserve(gopt_liveness *l)
{
    size_t ids = (size_t)l->g->family->next_id;
    l->root = GOPT_NEW(&l->arena, int, ids);
    l->at = GOPT_NEW(&l->arena, gopt_buffer, ids);
    l->stamp = GOPT_NEW(&l->arena, int, ids);
    l->first = GOPT_NEW(&l->arena, int, l->n + 1);
    if (l->arena.failed)
        return false;
    for (size_t id = 0; id < ids; id++)
        l->root[id] = (int)id;
    return true;
}

gopt_status gopt_liveness_init(gopt_liveness *l, const gopt_graph *g, gopt_err *e)
{
    *l = (gopt_liveness){.g = g, .n = g->n_nodes, .alias = g->family->decisions.alias_views};
    if (!reserve(l))
        return gopt_oom(e);
    for (int i = 0; i < l->n; i++) {
        const gopt_node *n = g->nodes[i];
        l->first[i] = (int)l->n_reads;
        read_all(l, n, i);
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] && k == 0 && shares(l, n))
                l->root[n->out[k]->id] = l->root[n->in[0]->id];
            else if (n->out[k])
                l->at[n->out[k]->id].bytes = bytes_of(n->out[k]);
    }
    l->first[l->n] = (int)l->n_reads;
    for (int i = 0; i < g->n_inputs; i++)
        l->at[l->root[g->inputs[i]->id]].readers++; /* the caller's: never freed */
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i]->graph == g)
            l->at[l->root[g->outputs[i]->id]].readers++;
    return l->arena.failed ? gopt_oom(e) : GOPT_OK;
}

void gopt_liveness_fini(gopt_liveness *l)
{
    gopt_arena_fini(&l->arena);
}

/* ---- an order and its peak ---- */

size_t gopt_liveness_takes(const gopt_liveness *l, int i)
{
    const gopt_node *n = l->g->nodes[i];
    size_t bytes = 0;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && l->root[n->out[k]->id] == n->out[k]->id)
            bytes += l->at[n->out[k]->id].bytes;
    return bytes;
}

size_t gopt_liveness_frees(const gopt_liveness *l, int i)
{
    const gopt_node *n = l->g->nodes[i];
    size_t bytes = 0;
    for (int k = l->first[i]; k < l->first[i + 1]; k++)
        bytes += l->at[l->reads[k]].remaining == 1 ? l->at[l->reads[k]].bytes : 0;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && l->root[n->out[k]->id] == n->out[k]->id && l->at[n->out[k]->id].readers == 0)
            bytes += l->at[n->out[k]->id].bytes;
    return bytes;
}

void gopt_liveness_start(gopt_liveness *l)
{
    for (int id = 0; id < l->g->family->next_id; id++)
        l->at[id].remaining = l->at[id].readers;
}

void gopt_liveness_step(gopt_liveness *l, int i, size_t *now, size_t *peak)
{
    *now += gopt_liveness_takes(l, i);
    *peak = GOPT_MAX(*peak, *now);
    *now -= gopt_liveness_frees(l, i);
    for (int k = l->first[i]; k < l->first[i + 1]; k++)
        l->at[l->reads[k]].remaining--;
}

size_t gopt_liveness_peak(gopt_liveness *l)
{
    size_t now = 0, peak = 0;
    gopt_liveness_start(l);
    for (int i = 0; i < l->n; i++)
        gopt_liveness_step(l, i, &now, &peak);
    return peak;
}
