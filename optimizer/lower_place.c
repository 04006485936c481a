/* lower_place.c: activations placed in the arena, weights and workspace summed. */
#include <string.h>

#include "lower.h"
#include "memory.h"

typedef struct placing {
    gopt_plan *plan;
    bool in_place;
    gopt_interval *at;
    int n;
    int *buffer; /* by value: its place in at[] */
} placing;

static int root_of(const gopt_plan *p, int v)
{
    while (v >= 0 && p->values[v].place == GOPT_PLACE_ALIAS)
        v = p->values[v].outer;
    return v;
}

static bool same_layout(const gopt_operand *a, const gopt_operand *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

/* The buffer of an operand that step i, its last reader, may write its result over; -1: none. */
static int overwritten(const placing *x, const gopt_step *s, int i)
{
    if (!x->in_place || !s->kernel || !s->kernel->in_place || s->group.n_out != 1)
        return -1;
    for (int k = 0; k < s->group.n_in; k++) {
        int v = root_of(x->plan, s->in[k]);
        if (v < 0 || x->plan->values[v].place != GOPT_PLACE_ARENA || x->at[x->buffer[v]].last != i)
            continue;
        if (same_layout(&s->group.in[k], &s->group.out[0]) &&
            x->at[x->buffer[v]].bytes == x->plan->values[s->out[0]].bytes)
            return x->buffer[v];
    }
    return -1;
}

static void add_outputs(placing *x, int i)
{
    const gopt_step *s = &x->plan->steps[i];
    for (int k = 0; k < s->group.n_out; k++) {
        int v = s->out[k];
        if (v < 0 || x->plan->values[v].place != GOPT_PLACE_ARENA)
            continue;
        const gopt_plan_value *made = &x->plan->values[v];
        int b = overwritten(x, s, i);
        if (b < 0) {
            b = x->n++;
            x->at[b] = (gopt_interval){.bytes = made->bytes, .first = i};
        }
        x->at[b].last = made->last_step;
        x->buffer[v] = b;
    }
}

static gopt_status place_values(gopt_plan *p, const gopt_decisions *d, gopt_compile_log *log, gopt_err *e)
{
    placing x = {.plan = p, .in_place = d->in_place};
    x.at = gopt_calloc((size_t)p->n_values + 1, sizeof *x.at);
    x.buffer = gopt_calloc((size_t)p->n_values + 1, sizeof *x.buffer);
    gopt_status s = x.at && x.buffer ? GOPT_OK : gopt_oom(e);
    for (int i = 0; !s && i < p->n_steps; i++)
        add_outputs(&x, i);
    if (!s)
        s = gopt_memory_plan(x.at, x.n, (gopt_planner)d->reuse, &p->arena_bytes, e);
    for (int i = 0; !s && i < p->n_steps; i++)
        for (int k = 0; k < p->steps[i].group.n_out; k++) {
            int v = p->steps[i].out[k];
            if (v < 0 || p->values[v].place != GOPT_PLACE_ARENA)
                continue;
            p->values[v].offset = x.at[x.buffer[v]].offset;
            log->arena_total += p->values[v].bytes;
        }
    if (!s) {
        log->arena_bytes += p->arena_bytes;
        log->arena_bound += gopt_memory_bound(x.at, x.n);
    }
    gopt_free(x.at);
    gopt_free(x.buffer);
    return s;
}

/* Bytes of constants that steps or outputs read, each piece of memory once. */
typedef struct seen {
    const void **at;
    size_t n, mask;
} seen;

static bool first_time(seen *s, const void *data)
{
    size_t h = (size_t)(((uintptr_t)data >> 4) * 0x9E3779B97F4A7C15u) & s->mask;
    for (; s->at[h]; h = (h + 1) & s->mask)
        if (s->at[h] == data)
            return false;
    s->at[h] = data;
    return true;
}

static size_t count_values(const gopt_plan *p)
{
    size_t n = (size_t)p->n_values;
    for (int i = 0; i < p->n_steps; i++)
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            n += count_values(p->steps[i].body[b]);
    return n;
}

static size_t weigh(seen *s, const gopt_plan *p, const int *value, int n)
{
    size_t bytes = 0;
    for (int k = 0; k < n; k++) {
        int v = root_of(p, value[k]);
        if (v >= 0 && p->values[v].place == GOPT_PLACE_CONST && first_time(s, p->values[v].data))
            bytes += p->values[v].bytes;
    }
    return bytes;
}

static size_t weigh_plan(seen *s, const gopt_plan *p)
{
    size_t bytes = weigh(s, p, p->outputs, p->n_outputs);
    for (int i = 0; i < p->n_steps; i++) {
        bytes += weigh(s, p, p->steps[i].in, p->steps[i].group.n_in);
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            bytes += weigh_plan(s, p->steps[i].body[b]);
    }
    return bytes;
}

typedef struct whole {
    gopt_plan *plan; /* the main one */
    const gopt_decisions *decisions;
    gopt_compile_log *log;
} whole;

static gopt_status place_plan(const whole *w, gopt_plan *p, gopt_err *e)
{
    for (int i = 0; i < p->n_steps; i++) {
        gopt_step *s = &p->steps[i];
        if (s->kernel) {
            s->work = s->kernel->work(&s->group, s->knob, &w->plan->target);
            p->workspace_bytes = GOPT_MAX(p->workspace_bytes, s->work.workspace);
        }
        for (int b = 0; b < s->n_bodies; b++)
            GOPT_TRY(place_plan(w, s->body[b], e));
    }
    return place_values(p, w->decisions, w->log, e);
}

gopt_status gopt_lower_place(gopt_plan *p, const gopt_decisions *d, gopt_compile_log *log, gopt_err *e)
{
    seen s = {.mask = 1};
    log->arena_bytes = log->arena_bound = log->arena_total = 0;
    GOPT_TRY(place_plan(&(whole){p, d, log}, p, e));
    while (s.mask < 2 * count_values(p))
        s.mask *= 2;
    s.at = gopt_calloc(s.mask, sizeof *s.at);
    if (!s.at)
        return gopt_oom(e);
    s.mask--;
    p->weight_bytes = weigh_plan(&s, p);
    gopt_free(s.at);
    return GOPT_OK;
}
