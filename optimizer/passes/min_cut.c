#include "passes/min_cut.h"

#include "base/err.h"

typedef struct gopt_cut_arc {
    int to, next;
    int64_t room; /* what may still flow */
} gopt_cut_arc;

static int add_node(gopt_cut *c)
{
    size_t n = (size_t)c->n;
    int *first = gopt_arena_grow(&c->arena, c->first, n, &c->cap_nodes, n + 1, sizeof *first);
    int *label = gopt_arena_grow(&c->arena, c->label, n, &c->cap_labels, n + 1, sizeof *label);
    if (!first || !label)
        return 0;
    c->first = first;
    c->label = label;
    first[c->n] = -1;
    return c->n++;
}

int gopt_cut_node(gopt_cut *c)
{
    while (c->n <= GOPT_CUT_SINK && !c->arena.failed)
        add_node(c);
    return c->arena.failed ? 0 : add_node(c);
}

static void add_half(gopt_cut *c, int u, int v, int64_t room)
{
    c->edge[c->n_edges] = (gopt_cut_arc){v, c->first[u], room};
    c->first[u] = c->n_edges++;
}

void gopt_cut_edge(gopt_cut *c, int u, int v, int64_t cost)
{
    size_t n = (size_t)c->n_edges;
    gopt_cut_arc *edge = gopt_arena_grow(&c->arena, c->edge, n, &c->cap_edges, n + 2, sizeof *edge);
    if (!edge || c->arena.failed)
        return;
    c->edge = edge;
    add_half(c, u, v, cost);
    add_half(c, v, u, 0);
}

/* Breadth first from `from` along edges with room (against them, when backwards); label: the edge by which a node was
 * reached, -1: not reached. queue has room for all nodes. */
static void search(gopt_cut *c, int from, bool backwards, int *queue)
{
    int head = 0, tail = 0;
    for (int i = 0; i < c->n; i++)
        c->label[i] = -1;
    c->label[from] = c->n_edges;
    queue[tail++] = from;
    while (head < tail) {
        int u = queue[head++];
        for (int i = c->first[u]; i >= 0; i = c->edge[i].next) {
            int v = c->edge[i].to;
            if (c->label[v] >= 0 || c->edge[backwards ? i ^ 1 : i].room == 0)
                continue;
            c->label[v] = i;
            queue[tail++] = v;
        }
    }
}

static int64_t push(gopt_cut *c)
{
    int64_t least = INT64_MAX;
    for (int v = GOPT_CUT_SINK; v != GOPT_CUT_SOURCE; v = c->edge[c->label[v] ^ 1].to)
        least = GOPT_MIN(least, c->edge[c->label[v]].room);
    for (int v = GOPT_CUT_SINK; v != GOPT_CUT_SOURCE; v = c->edge[c->label[v] ^ 1].to) {
        c->edge[c->label[v]].room -= least;
        c->edge[c->label[v] ^ 1].room += least;
    }
    return least;
}

int64_t gopt_cut_solve(gopt_cut *c)
{
    int64_t flow = 0;
    int *queue = GOPT_NEW(&c->arena, int, c->n);
    if (!queue)
        return 0;
    for (search(c, GOPT_CUT_SOURCE, false, queue); c->label[GOPT_CUT_SINK] >= 0;
         search(c, GOPT_CUT_SOURCE, false, queue))
        flow += push(c);
    search(c, GOPT_CUT_SINK, true, queue);
    return flow;
}

bool gopt_cut_is_beyond(const gopt_cut *c, int node)
{
    return c->label[node] >= 0;
}

void gopt_cut_fini(gopt_cut *c)
{
    gopt_arena_fini(&c->arena);
    *c = (gopt_cut){0};
}
