/* plan_check.c: places, order and lifetimes of values. */
#include "plan_check.h"

#include <string.h>

enum { ALIGN = 64 }; /* of the arena and of places in it */

#define MOST_BYTES ((int64_t)1 << 47) /* what a process can address */

typedef struct scope {
    const gopt_plan *main, *plan;
    bool *is_input, *defined; /* by value; defined: may be read by the step that is looked at */
    struct scope *outer;      /* of a body */
    gopt_arena *arena;
} scope;

bool gopt_plan_static(gopt_dtype d, int rank, const int64_t *dim, size_t *bytes)
{
    int64_t most = 1, count;
    if (rank < 0)
        return false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0 || dim[i] > MOST_BYTES / most)
            return false;
        most *= GOPT_MAX(dim[i], 1);
    }
    gopt_dims_count(dim, rank, &count);
    if (bytes)
        *bytes = gopt_dtype_bytes(d, count);
    return d != GOPT_DTYPE_NONE && d != GOPT_DTYPE_STRING;
}

/* ---- values ---- */

static bool has_shape(const gopt_plan_value *v, size_t *bytes)
{
    return gopt_plan_static(v->dtype, v->rank, v->dim, bytes);
}

static bool same_shape(const gopt_plan_value *a, const gopt_plan_value *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)GOPT_MAX(a->rank, 0) * sizeof a->dim[0]);
}

static bool alias_is_sound(const gopt_plan *p, const gopt_plan_value *v)
{
    const gopt_plan_value *root = &p->values[v->outer];
    size_t bytes, available;
    return root->place != GOPT_PLACE_NONE && root->place != GOPT_PLACE_ALIAS && root->place != GOPT_PLACE_DYNAMIC &&
           root->dtype == v->dtype && has_shape(v, &bytes) && has_shape(root, &available) && bytes <= available;
}

static bool value_is_sound(const scope *x, int index)
{
    const gopt_plan *p = x->plan;
    const gopt_plan_value *v = &p->values[index];
    size_t bytes;
    bool known = has_shape(v, &bytes);
    switch (v->place) {
    case GOPT_PLACE_NONE:
        return true;
    case GOPT_PLACE_INPUT:
        return x->is_input[index] && (known || x->outer);
    case GOPT_PLACE_CONST:
        return known && v->bytes >= bytes;
    case GOPT_PLACE_ARENA:
        return known && v->bytes >= bytes && v->offset % ALIGN == 0 && v->offset <= p->arena_bytes &&
               v->bytes <= p->arena_bytes - v->offset;
    case GOPT_PLACE_DYNAMIC:
        return !known;
    case GOPT_PLACE_OUTER:
        return x->outer && same_shape(v, &x->outer->plan->values[v->outer]);
    case GOPT_PLACE_ALIAS:
        return alias_is_sound(p, v);
    }
    return false;
}

static bool is_there_at_first(gopt_place place)
{
    return place == GOPT_PLACE_INPUT || place == GOPT_PLACE_CONST || place == GOPT_PLACE_OUTER;
}

static gopt_status check_values(scope *x, gopt_err *e)
{
    const gopt_plan *p = x->plan;
    for (int i = 0; i < p->n_inputs; i++) {
        gopt_place place = p->values[p->inputs[i]].place;
        if (place != GOPT_PLACE_INPUT && place != GOPT_PLACE_CONST)
            return gopt_fail(e, GOPT_EINPUT, "input %d is none", i);
        x->is_input[p->inputs[i]] = true;
    }
    for (int v = 0; v < p->n_values; v++) {
        if (!value_is_sound(x, v))
            return gopt_fail(e, GOPT_EINPUT, "value %d (%s): its place does not hold it", v,
                             p->values[v].name ? p->values[v].name : "unnamed");
        x->defined[v] = is_there_at_first(p->values[v].place);
    }
    return GOPT_OK;
}

/* ---- order ---- */

static int root_of(const gopt_plan *p, int v)
{
    return p->values[v].place == GOPT_PLACE_ALIAS ? p->values[v].outer : v;
}

/* It was computed before step i and is not freed before its end. */
static bool is_alive(const scope *x, int v, int i)
{
    const gopt_plan_value *at = &x->plan->values[root_of(x->plan, v)];
    return x->defined[root_of(x->plan, v)] && (at->place != GOPT_PLACE_DYNAMIC || at->last_step >= i);
}

typedef struct range {
    size_t from, to;
} range;

/* Where a value lies in the arena; false when it does not. */
static bool range_of(const gopt_plan *p, int v, range *out)
{
    const gopt_plan_value *at = v < 0 ? NULL : &p->values[root_of(p, v)];
    if (!at || at->place != GOPT_PLACE_ARENA)
        return false;
    *out = (range){at->offset, at->offset + at->bytes};
    return true;
}

static bool overlap(range a, range b)
{
    return a.from < b.to && b.from < a.to;
}

static bool same_layout(const gopt_operand *a, const gopt_operand *b)
{
    return !b->packed && a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)GOPT_MAX(a->rank, 0) * sizeof a->dim[0]);
}

/* Result k lies over nothing that the step reads or writes, but for an operand that the kernel may write over. */
static bool lies_apart(const gopt_plan *p, const gopt_step *s, int k)
{
    range own, other;
    if (!range_of(p, s->out[k], &own))
        return true;
    for (int j = 0; j < s->group.n_out; j++)
        if (j != k && range_of(p, s->out[j], &other) && overlap(own, other))
            return false;
    for (int j = 0; j < s->group.n_in; j++) {
        if (!range_of(p, s->in[j], &other) || !overlap(own, other))
            continue;
        bool in_place = s->kernel && s->kernel->in_place && s->group.n_out == 1 && own.from == other.from;
        if (!in_place || !same_layout(&s->group.out[0], &s->group.in[j]))
            return false;
    }
    return true;
}

static gopt_status check_flow(const scope *x, int i, gopt_err *e)
{
    const gopt_plan *p = x->plan;
    const gopt_step *s = &p->steps[i];
    for (int k = 0; k < s->group.n_in; k++)
        if (s->in[k] >= 0 && !is_alive(x, s->in[k], i))
            return gopt_fail(e, GOPT_EINPUT, "it reads value %d, which is not there", s->in[k]);
    for (int k = 0; k < s->group.n_out; k++) {
        int v = s->out[k];
        if (v < 0)
            continue;
        gopt_place place = p->values[v].place;
        bool writable = place == GOPT_PLACE_ARENA || (place == GOPT_PLACE_DYNAMIC && !s->kernel);
        if (!writable || x->defined[v])
            return gopt_fail(e, GOPT_EINPUT, "it writes value %d, which is not its own", v);
        if (!lies_apart(p, s, k))
            return gopt_fail(e, GOPT_EINPUT, "it writes over what it reads");
        x->defined[v] = true;
    }
    return GOPT_OK;
}

static gopt_status check_plan(const gopt_plan *p, scope *outer, const gopt_plan *main_plan, gopt_arena *a, gopt_err *e);

/* What a body reads of the plans around it must live until the step ends. */
static gopt_status check_body(scope *x, int i, const gopt_plan *body, gopt_err *e)
{
    for (int v = 0; v < body->n_values; v++)
        if (body->values[v].place == GOPT_PLACE_OUTER && !is_alive(x, body->values[v].outer, i))
            return gopt_fail(e, GOPT_EINPUT, "its body reads value %d, which is not there", body->values[v].outer);
    return check_plan(body, x, x->main, x->arena, e);
}

static gopt_status check_step(scope *x, int i, gopt_err *e)
{
    const gopt_step *s = &x->plan->steps[i];
    bool control = s->group.op->traits & GOPT_TRAIT_CONTROL;
    if (control != (s->n_bodies > 0) || (control && s->kernel))
        return gopt_fail(e, GOPT_EINPUT, "it has %d bodies", s->n_bodies);
    if (s->kernel)
        GOPT_TRY(gopt_step_check(x->main, x->plan, s, x->arena, e));
    for (int b = 0; b < s->n_bodies; b++)
        GOPT_TRY(check_body(x, i, s->body[b], e));
    return check_flow(x, i, e);
}

static gopt_status check_outputs(const scope *x, gopt_err *e)
{
    const gopt_plan *p = x->plan;
    for (int i = 0; i < p->n_outputs; i++)
        if (!is_alive(x, p->outputs[i], p->n_steps))
            return gopt_fail(e, GOPT_EINPUT, "output %d is not computed", i);
    return GOPT_OK;
}

/* No more memory than values and steps need: it is touched before the first run. */
static gopt_status check_sizes(const gopt_plan *p, gopt_err *e)
{
    size_t arena = 0, workspace = 0;
    range at;
    for (int v = 0; v < p->n_values; v++)
        if (range_of(p, v, &at))
            arena = GOPT_MAX(arena, at.to);
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kernel)
            workspace = GOPT_MAX(workspace, p->steps[i].work.workspace);
    if (p->arena_bytes >= arena + ALIGN || p->workspace_bytes != workspace)
        return gopt_fail(e, GOPT_EINPUT, "an arena of %zu bytes and a workspace of %zu, %zu and %zu needed",
                         p->arena_bytes, p->workspace_bytes, arena, workspace);
    return GOPT_OK;
}

static gopt_status check_plan(const gopt_plan *p, scope *outer, const gopt_plan *main_plan, gopt_arena *a, gopt_err *e)
{
    scope x = {.main = main_plan, .plan = p, .outer = outer, .arena = a};
    x.is_input = GOPT_NEW(a, bool, p->n_values);
    x.defined = GOPT_NEW(a, bool, p->n_values);
    if (!x.is_input || !x.defined)
        return gopt_oom(e);
    GOPT_TRY(check_values(&x, e));
    for (int i = 0; i < p->n_steps; i++) {
        gopt_status s = check_step(&x, i, e);
        if (s)
            return gopt_within(e, s, "step %s (%s)", p->steps[i].name, p->steps[i].group.op->name);
    }
    GOPT_TRY(check_outputs(&x, e));
    return check_sizes(p, e);
}

gopt_status gopt_plan_check(const gopt_plan *p, gopt_err *e)
{
    gopt_arena a = {0};
    unsigned failures = gopt_alloc_failures;
    gopt_status s = check_plan(p, NULL, p, &a, e);
    gopt_arena_fini(&a);
    /* A kernel that had no memory to look at its group said no more than that it does not fit. */
    return failures != gopt_alloc_failures ? gopt_oom(e) : s;
}
