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

static double area(const gopt_interval *x)
{
    return (double)x->bytes * (1 + x->last - x->first);
}

static int by_area(const void *a, const void *b)
{
    const gopt_interval *x = *(gopt_interval *const *)a, *y = *(gopt_interval *const *)b;
    if (area(x) != area(y))
        return area(x) < area(y) ? 1 : -1;
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

typedef struct rule {
    int (*order)(const void *, const void *);
    bool best_fit;
} rule;

static const rule rules[] = {{by_size, false}, {by_birth, true},  {by_area, false},
                             {by_size, true},  {by_birth, false}, {by_area, true}};

/* Places in the order of slot[0..n); slot[n..2n) is scratch. Returns the end. */
static size_t place(gopt_interval **slot, int n, bool best_fit)
{
    gopt_interval **placed = slot + n;
    size_t end = 0;
    for (int i = 0; i < n; i++) {
        slot[i]->offset = find_hole(slot[i], placed, i, best_fit);
        insert(placed, i, slot[i]);
        end = GOPT_MAX(end, slot[i]->offset + aligned(slot[i]->bytes));
    }
    return end;
}

static size_t place_by(const rule *r, gopt_interval *at, int n, gopt_interval **slot)
{
    for (int i = 0; i < n; i++)
        slot[i] = &at[i];
    qsort(slot, (size_t)n, sizeof *slot, r->order);
    return place(slot, n, r->best_fit);
}

/* The buffer that reaches the end goes before all that live with it: those have to make room. */
static void promote(gopt_interval **slot, int n, size_t end)
{
    int late = n - 1, early = 0;
    while (late > 0 && slot[late]->offset + aligned(slot[late]->bytes) < end)
        late--;
    while (early < late && !overlap(slot[early], slot[late]))
        early++;
    gopt_interval *it = slot[late];
    for (int i = late; i > early; i--)
        slot[i] = slot[i - 1];
    slot[early] = it;
}

enum { PROMOTIONS = 128, PLACING_WORK = 1 << 24 /* of one rule's promotions: buffers squared */ };

typedef struct answer {
    size_t end;
    size_t *offset; /* by buffer */
} answer;

static void keep(answer *best, const gopt_interval *at, int n, size_t end)
{
    if (end >= best->end)
        return;
    best->end = end;
    for (int i = 0; i < n; i++)
        best->offset[i] = at[i].offset;
}

/* Every rule, improved step by step until the bound is reached or the steps are used up. */
static void place_best(gopt_interval *at, int n, gopt_interval **slot, answer *best)
{
    size_t bound = gopt_memory_bound(at, n);
    int64_t steps = GOPT_MIN(PLACING_WORK / ((int64_t)n * n + 1), PROMOTIONS);
    for (int k = 0; k < GOPT_COUNT(rules) && best->end > bound; k++)
        keep(best, at, n, place_by(&rules[k], at, n, slot));
    for (int k = 0; k < GOPT_COUNT(rules) && best->end > bound; k++) {
        size_t end = place_by(&rules[k], at, n, slot);
        for (int i = 0; i < steps && best->end > bound; i++) {
            promote(slot, n, end);
            end = place(slot, n, rules[k].best_fit);
            keep(best, at, n, end);
        }
    }
    for (int i = 0; i < n; i++)
        at[i].offset = best->offset[i];
}

gopt_status gopt_memory_plan(gopt_interval *at, int n, gopt_planner planner, size_t *arena_bytes, gopt_err *e)
{
    if (planner == GOPT_PLANNER_NONE) {
        plan_apart(at, n, arena_bytes);
        return GOPT_OK;
    }
    gopt_interval **slot = gopt_calloc(2 * (size_t)GOPT_MAX(n, 1), sizeof(gopt_interval *));
    answer best = {.end = SIZE_MAX, .offset = gopt_calloc((size_t)GOPT_MAX(n, 1), sizeof *best.offset)};
    if (!slot || !best.offset) {
        gopt_free(slot);
        gopt_free(best.offset);
        return gopt_oom(e);
    }
    if (planner == GOPT_PLANNER_BEST)
        place_best(at, n, slot, &best);
    else
        best.end = place_by(&rules[planner - GOPT_PLANNER_BY_SIZE], at, n, slot);
    *arena_bytes = best.end;
    gopt_free(slot);
    gopt_free(best.offset);
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
