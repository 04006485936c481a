/* memory.c: offset assignment for buffers with lifetimes. */
#include "memory.h"

#include <stdlib.h>

static size_t aligned(size_t bytes)
{
    return (bytes + GOPT_ARENA_ALIGN - 1) / GOPT_ARENA_ALIGN * GOPT_ARENA_ALIGN;
}

static int by_size(const void *a, const void *b)
{
    const gopt_interval *x = *(gopt_interval *const *)a, *y = *(gopt_interval *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y; /* stable: the array's order decides */
}

static int by_birth(const void *a, const void *b)
{
    const gopt_interval *x = *(gopt_interval *const *)a, *y = *(gopt_interval *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool overlap(const gopt_interval *a, const gopt_interval *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Where `it` goes among the placed ones, which are kept in order of offset: the lowest hole (best_fit false) or the
 * tightest one (true) between those alive at the same time. */
static size_t find_hole(const gopt_interval *it, gopt_interval *const *placed, int n, bool best_fit)
{
    size_t need = aligned(it->bytes), end = 0, best = 0, best_room = SIZE_MAX;
    for (int i = 0; i < n; i++) {
        const gopt_interval *p = placed[i];
        if (!overlap(it, p))
            continue;
        if (p->offset >= end + need) {
            if (!best_fit)
                return end;
            if (p->offset - end < best_room) {
                best = end;
                best_room = p->offset - end;
            }
        }
        end = GOPT_MAX(end, p->offset + aligned(p->bytes));
    }
    return best_room < SIZE_MAX ? best : end;
}

static void insert(gopt_interval **placed, int n, gopt_interval *it)
{
    int i = n;
    for (; i > 0 && placed[i - 1]->offset > it->offset; i--)
        placed[i] = placed[i - 1];
    placed[i] = it;
}

static void plan_apart(gopt_interval *at, int n, size_t *arena_bytes)
{
    size_t end = 0;
    for (int i = 0; i < n; i++) {
        at[i].offset = end;
        end += aligned(at[i].bytes);
    }
    *arena_bytes = end;
}

gopt_status gopt_memory_plan(gopt_interval *at, int n, gopt_planner planner, size_t *arena_bytes, gopt_err *e)
{
    if (planner == GOPT_PLANNER_NONE) {
        plan_apart(at, n, arena_bytes);
        return GOPT_OK;
    }
    gopt_interval **order = gopt_malloc(2 * (size_t)GOPT_MAX(n, 1) * sizeof(gopt_interval *));
    if (!order)
        return gopt_oom(e);
    gopt_interval **placed = order + n;
    for (int i = 0; i < n; i++)
        order[i] = &at[i];
    qsort(order, (size_t)n, sizeof *order, planner == GOPT_PLANNER_BY_SIZE ? by_size : by_birth);
    size_t end = 0;
    for (int i = 0; i < n; i++) {
        order[i]->offset = find_hole(order[i], placed, i, planner == GOPT_PLANNER_BY_LIFETIME);
        insert(placed, i, order[i]);
        end = GOPT_MAX(end, order[i]->offset + aligned(order[i]->bytes));
    }
    gopt_free(order);
    *arena_bytes = end;
    return GOPT_OK;
}

size_t gopt_memory_bound(const gopt_interval *at, int n)
{
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        size_t live = 0;
        for (int j = 0; j < n; j++) /* lives peak at the birth of some buffer */
            if (at[j].first <= at[i].first && at[i].first <= at[j].last)
                live += aligned(at[j].bytes);
        most = GOPT_MAX(most, live);
    }
    return most;
}
