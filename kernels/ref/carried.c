/* carried.c: running a body step by step. */
#include "ref/carried.h"

#include <string.h>

enum { STEPS_MAX = 10000000 }; /* every step leaves memory behind until the node is done */

gopt_status gopt_carried_check(gopt_carried_shape *s, int n_bodies, int n_out, gopt_err *e)
{
    if (n_bodies < 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute body is missing");
    if (s->n_state < 0 || n_out < s->n_state)
        return gopt_fail(e, GOPT_EINPUT, "%d outputs, at least %d expected", n_out, GOPT_MAX(0, s->n_state));
    s->n_out = s->first_out + n_out;
    return GOPT_OK;
}

gopt_status gopt_carried_begin(gopt_carried *c, gopt_exec *x, gopt_carried_shape s, const gopt_tensor *const *in,
                               gopt_err *e)
{
    int rows = s.n_out - s.first_out - s.n_state;
    *c = (gopt_carried){.x = x,
                        .shape = s,
                        .in = GOPT_NEW(x->scratch, const gopt_tensor *, s.n_in),
                        .state = GOPT_NEW(x->scratch, gopt_tensor, s.n_state),
                        .out = GOPT_NEW(x->scratch, gopt_tensor, s.n_out),
                        .rows = GOPT_NEW(x->scratch, gopt_tensor *, rows),
                        .cap = GOPT_NEW(x->scratch, size_t, rows)};
    if (x->scratch->failed)
        return gopt_oom(e);
    for (int j = 0; j < s.n_state; j++) {
        if (!in[j])
            return gopt_fail(e, GOPT_EINPUT, "initial state %d is missing", j);
        c->state[j] = *in[j];
        c->in[s.first_in + j] = &c->state[j];
    }
    return GOPT_OK;
}

static int rows_of(const gopt_carried *c)
{
    return c->shape.n_out - c->shape.first_out - c->shape.n_state;
}

static const gopt_tensor *row_out(const gopt_carried *c, int j)
{
    return &c->out[c->shape.first_out + c->shape.n_state + j];
}

static gopt_status add_row(gopt_carried *c, int j, gopt_err *e)
{
    const gopt_tensor *row = row_out(c, j), *first = c->n ? c->rows[j] : row;
    char have[160], want[160];
    if (row->dtype != first->dtype || !gopt_dims_equal(row, first))
        return gopt_fail(e, GOPT_EINPUT, "row %lld of output %d is %s, but the first one was %s", (long long)c->n,
                         c->shape.n_state + j, gopt_tensor_describe(have, sizeof have, row),
                         gopt_tensor_describe(want, sizeof want, first));
    size_t n = (size_t)c->n;
    gopt_tensor *rows = gopt_arena_grow(c->x->scratch, c->rows[j], n, &c->cap[j], n + 1, sizeof *rows);
    if (!rows)
        return gopt_oom(e);
    rows[n] = *row;
    c->rows[j] = rows;
    return GOPT_OK;
}

gopt_status gopt_carried_probe(gopt_carried *c, gopt_err *e)
{
    gopt_status s = c->x->body(c->x, 0, c->in, c->shape.n_in, c->out, c->shape.n_out, e);
    return s ? gopt_within(e, s, "step %lld", (long long)c->n) : GOPT_OK;
}

gopt_status gopt_carried_step(gopt_carried *c, gopt_err *e)
{
    const gopt_carried_shape *s = &c->shape;
    GOPT_TRY(gopt_ref_tick(c->x, e));
    if (c->n == STEPS_MAX)
        return gopt_fail(e, GOPT_ELIMIT, "no end after %d steps", STEPS_MAX);
    GOPT_TRY(gopt_carried_probe(c, e));
    for (int j = 0; j < rows_of(c); j++)
        if (gopt_ref_out(c->x, s->n_state + j))
            GOPT_TRY(add_row(c, j, e));
    for (int j = 0; j < s->n_state; j++)
        c->state[j] = c->out[s->first_out + j];
    c->n++;
    return GOPT_OK;
}

bool gopt_carried_is_blank(const gopt_carried *c)
{
    bool blank = false;
    for (int j = 0; j < rows_of(c); j++) {
        const gopt_tensor *out = gopt_ref_out(c->x, c->shape.n_state + j);
        blank |= out && !out->data;
    }
    return c->n == 0 && blank;
}

gopt_status gopt_carried_write_state(const gopt_carried *c, gopt_err *e)
{
    for (int j = 0; j < c->shape.n_state; j++) {
        const gopt_tensor *v = &c->state[j];
        if (!gopt_ref_out(c->x, j))
            continue;
        GOPT_TRY(gopt_exec_out(c->x, j, v->dtype, v->rank, v->dim, e));
        gopt_move(c->x->out[j], 0, v, 0, gopt_tensor_count(v));
    }
    return GOPT_OK;
}

/* The output of n rows along the axis. */
static gopt_status make_stack(const gopt_carried *c, int k, const gopt_tensor *row, int64_t axis, int *at, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX + 1];
    GOPT_TRY(gopt_move_check_rank(row->rank + 1, e));
    GOPT_TRY(gopt_axis(axis, row->rank + 1, at, e));
    for (int d = 0, from = 0; d < row->rank + 1; d++)
        dim[d] = d == *at ? c->n : row->dim[from++];
    return gopt_exec_out(c->x, k, row->dtype, row->rank + 1, dim, e);
}

/* A planned output that gets no rows must have been planned without elements. */
static gopt_status check_empty(const gopt_carried *c, const gopt_tensor *out, gopt_err *e)
{
    char want[160];
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "%s was planned, but there were %lld steps",
                     gopt_tensor_describe(want, sizeof want, out), (long long)c->n);
}

gopt_status gopt_carried_write_rows(const gopt_carried *c, int j, int64_t axis, bool reverse, gopt_err *e)
{
    int k = c->shape.n_state + j, at;
    gopt_tensor *out = gopt_ref_out(c->x, k);
    if (!out)
        return GOPT_OK;
    if (c->n == 0 && out->data)
        return check_empty(c, out, e);
    GOPT_TRY(make_stack(c, k, c->n ? c->rows[j] : row_out(c, j), axis, &at, e));
    gopt_axis_split s = gopt_axis_of(out, at);
    for (int64_t i = 0; gopt_tensor_count(out) > 0 && i < c->n; i++) {
        int64_t place = reverse ? c->n - 1 - i : i;
        for (int64_t o = 0; o < s.outer; o++)
            gopt_move(out, (o * s.n + place) * s.inner, &c->rows[j][i], o * s.inner, s.inner);
        GOPT_TRY(gopt_ref_tick(c->x, e));
    }
    return GOPT_OK;
}
