/* lower_pack.c: weights laid out for their kernels; what they were made from gives its memory back. */
#include <string.h>

#include "base/file.h"
#include "lower.h"
#include "memory.h"

/* The constant that value v of p is, by itself or by another name; NULL: none. */
static gopt_plan_value *constant_of(const gopt_plan *p, int v)
{
    while (v >= 0 && (p->values[v].place == GOPT_PLACE_ALIAS || p->values[v].place == GOPT_PLACE_OUTER)) {
        const gopt_plan_value *name = &p->values[v];
        p = name->place == GOPT_PLACE_OUTER ? p->parent : p;
        v = name->outer;
    }
    return v >= 0 && p->values[v].place == GOPT_PLACE_CONST ? &p->values[v] : NULL;
}

static bool any_overlaps(const gopt_plan *p, const int *value, int n, const gopt_plan_value *m)
{
    uintptr_t from = (uintptr_t)m->data;
    for (int k = 0; k < n; k++) {
        const gopt_plan_value *other = constant_of(p, value[k]);
        uintptr_t at = other ? (uintptr_t)other->data : 0;
        if (other && from < at + other->bytes && at < from + m->bytes)
            return true;
    }
    return false;
}

static bool is_read(const gopt_plan *p, const gopt_plan_value *m)
{
    bool found = any_overlaps(p, p->outputs, p->n_outputs, m);
    for (int i = 0; i < p->n_steps && !found; i++) {
        const gopt_step *s = &p->steps[i];
        found = any_overlaps(p, s->in, s->group.n_in, m);
        for (int b = 0; b < s->n_bodies && !found; b++)
            found = is_read(s->body[b], m);
    }
    return found;
}

enum { WORTH_FORGETTING = 1 << 16 }; /* bytes; far above what kernels may read of a packed operand (kernel.h) */

/* The constant that value v of p is, when no step reads it: one did, and gets a packed form. Else NULL. */
static gopt_plan_value *spent(const gopt_plan *main_plan, const gopt_plan *p, int v)
{
    gopt_plan_value *m = constant_of(p, v);
    return m && m->bytes >= WORTH_FORGETTING && !is_read(main_plan, m) ? m : NULL;
}

/* Without this large weights would be in memory twice. */
static void forget(gopt_plan_value *m)
{
    gopt_pages_drop(m->data, m->bytes);
    m->place = GOPT_PLACE_NONE;
    m->data = NULL;
}

static size_t packed_bytes(const gopt_plan *main_plan, const gopt_step *s, int k)
{
    return s->kernel && s->kernel->packed_bytes && s->group.in[k].constant
               ? s->kernel->packed_bytes(&s->group, s->knob, &main_plan->target, k)
               : 0;
}

/* p->values has room for the new value. */
static gopt_status pack_operand(gopt_plan *main_plan, gopt_plan *p, gopt_step *s, int k, size_t bytes, gopt_err *e)
{
    void *data = gopt_arena_take(&main_plan->arena, 1, GOPT_MAX(bytes, (size_t)GOPT_ARENA_ALIGN));
    if (!data)
        return gopt_oom(e);
    p->values[p->n_values] = (gopt_plan_value){.dtype = GOPT_DTYPE_U8,
                                               .rank = 1,
                                               .dim = {(int64_t)bytes},
                                               .place = GOPT_PLACE_CONST,
                                               .bytes = bytes,
                                               .data = data};
    int was = s->in[k];
    s->in[k] = p->n_values++;
    gopt_operand *in = (gopt_operand *)s->group.in;
    gopt_plan_value *source = spent(main_plan, p, was);
    in[k].spent = source != NULL;
    GOPT_TRY(gopt_kernel_pack(s->kernel, &s->group, s->knob, &main_plan->target, k, data, e));
    in[k].packed = true;
    if (source)
        forget(source);
    return GOPT_OK;
}

static gopt_status pack_plan(gopt_plan *main_plan, gopt_plan *p, gopt_err *e)
{
    int more = 0;
    for (int i = 0; i < p->n_steps; i++) {
        for (int k = 0; k < p->steps[i].group.n_in; k++)
            more += packed_bytes(main_plan, &p->steps[i], k) > 0;
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            GOPT_TRY(pack_plan(main_plan, p->steps[i].body[b], e));
    }
    gopt_plan_value *grown = GOPT_NEW(&main_plan->arena, gopt_plan_value, p->n_values + more);
    if (!grown)
        return gopt_oom(e);
    if (p->n_values)
        memcpy(grown, p->values, (size_t)p->n_values * sizeof *grown);
    p->values = grown;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->steps[i].group.n_in; k++) {
            size_t bytes = packed_bytes(main_plan, &p->steps[i], k);
            if (bytes)
                GOPT_TRY(pack_operand(main_plan, p, &p->steps[i], k, bytes, e));
        }
    return GOPT_OK;
}

gopt_status gopt_lower_pack(gopt_plan *p, gopt_err *e)
{
    return pack_plan(p, p, e);
}
