/* recurrence.c: shapes and the walk through time of recurrent operators. */
#include "ref/recurrence.h"

#include <math.h>
#include <string.h>

#include "ref/multiply.h"

enum { X, W, R, B, LENS, INITIAL_H, INITIAL_C, PEEPHOLE };

static gopt_status directions(gopt_attrs a, int *n, bool *reversed, gopt_err *e)
{
    const char *s = gopt_attr_string(a, "direction", "forward");
    *n = strcmp(s, "bidirectional") ? 1 : 2;
    *reversed = !strcmp(s, "reverse");
    if (*n == 2 || *reversed || !strcmp(s, "forward"))
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "attribute direction: unknown value \"%s\"", s);
}

/* ---- inference ---- */

/* Input i, when known, has this rank and these dimensions. */
static gopt_status check_shape(gopt_infer *x, int i, const char *name, int rank, const gopt_dim *dim, gopt_err *e)
{
    GOPT_TRY(gopt_ref_rank(x, i, rank, rank, name, e));
    for (int d = 0; gopt_ref_ranked(x, i) && d < rank; d++) {
        gopt_status s = gopt_ref_equal(x->in[i].dim[d], dim[d], "dimension", e);
        if (s)
            return gopt_within(e, s, "input %s, axis %d", name, d);
    }
    return GOPT_OK;
}

static gopt_status check_types(gopt_infer *x, bool cell, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_type(x, LENS, GOPT_REF_INDEX, "sequence_lens", e));
    for (int i = W; i <= (cell ? PEEPHOLE : INITIAL_H); i++)
        if (i != LENS)
            GOPT_TRY(gopt_ref_same_type(x, X, i, e));
    return GOPT_OK;
}

typedef struct sizes {
    gopt_dim dirs, seq, batch, input, hidden, gates; /* gates: of all, times hidden */
    int layout;
} sizes;

static gopt_status check_state(gopt_infer *x, int i, const char *name, const sizes *s, gopt_err *e)
{
    gopt_dim first[3] = {s->batch, s->dirs, s->hidden}, last[3] = {s->dirs, s->batch, s->hidden};
    return check_shape(x, i, name, 3, s->layout ? first : last, e);
}

static gopt_status check_shapes(gopt_infer *x, const gopt_recurrence_kind *kind, const sizes *s, gopt_err *e)
{
    GOPT_TRY(check_shape(x, W, "W", 3, (gopt_dim[]){s->dirs, s->gates, s->input}, e));
    GOPT_TRY(check_shape(x, R, "R", 3, (gopt_dim[]){s->dirs, s->gates, s->hidden}, e));
    gopt_dim biases = gopt_dim_mul(x->dims, s->gates, gopt_dim_of(2));
    GOPT_TRY(check_shape(x, B, "B", 2, (gopt_dim[]){s->dirs, biases}, e));
    GOPT_TRY(check_shape(x, LENS, "sequence_lens", 1, &s->batch, e));
    GOPT_TRY(check_state(x, INITIAL_H, "initial_h", s, e));
    if (!kind->cell)
        return GOPT_OK;
    GOPT_TRY(check_state(x, INITIAL_C, "initial_c", s, e));
    gopt_dim peepholes = gopt_dim_mul(x->dims, s->hidden, gopt_dim_of(3));
    return check_shape(x, PEEPHOLE, "P", 2, (gopt_dim[]){s->dirs, peepholes}, e);
}

static void set_outputs(gopt_infer *x, bool cell, const sizes *s)
{
    gopt_dtype d = x->in[X].dtype;
    gopt_dim y[2][4] = {{s->seq, s->dirs, s->batch, s->hidden}, {s->batch, s->seq, s->dirs, s->hidden}};
    gopt_dim state[2][3] = {{s->dirs, s->batch, s->hidden}, {s->batch, s->dirs, s->hidden}};
    if (x->n_out > 0)
        gopt_infer_set(x, 0, d, 4, y[s->layout]);
    for (int k = 1; k < x->n_out && k < 2 + cell; k++)
        gopt_infer_set(x, k, d, 3, state[s->layout]);
}

gopt_status gopt_recurrence_infer(gopt_infer *x, const gopt_recurrence_kind *kind, gopt_err *e)
{
    int dirs;
    bool reversed;
    int64_t hidden = gopt_attr_int(x->attrs, "hidden_size", 0), layout = gopt_attr_int(x->attrs, "layout", 0);
    GOPT_TRY(directions(x->attrs, &dirs, &reversed, e));
    GOPT_TRY(check_types(x, kind->cell, e));
    GOPT_TRY(gopt_ref_rank(x, X, 3, 3, "X", e));
    GOPT_TRY(gopt_ref_rank(x, R, 3, 3, "R", e));
    if (hidden < 0 || hidden > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute hidden_size: %lld is out of range", (long long)hidden);
    if (layout < 0 || layout > 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute layout: %lld, 0 or 1 expected", (long long)layout);
    if (!gopt_ref_ranked(x, X)) {
        for (int k = 0; gopt_infer_has(x, X) && k < 2 + kind->cell; k++)
            gopt_ref_infer_type(x, k, x->in[X].dtype);
        return GOPT_OK;
    }
    const gopt_fact *in = &x->in[X];
    sizes s = {.dirs = gopt_dim_of(dirs), .layout = (int)layout, .input = in->dim[2], .hidden = gopt_dim_of(hidden)};
    s.seq = in->dim[layout];
    s.batch = in->dim[1 - layout];
    if (!hidden)
        s.hidden = gopt_ref_ranked(x, R) ? x->in[R].dim[2] : GOPT_DIM_UNKNOWN;
    s.gates = gopt_dim_mul(x->dims, s.hidden, gopt_dim_of(kind->gates));
    GOPT_TRY(check_shapes(x, kind, &s, e));
    set_outputs(x, kind->cell, &s);
    return GOPT_OK;
}

/* ---- running ---- */

typedef struct job {
    const gopt_recurrence_kind *kind;
    gopt_recurrence_step *step;
    int64_t seq, batch, input, hidden, gates; /* gates: all, times hidden */
    int dirs, layout;
    bool reversed;
    double *in[8];         /* X as (seq, batch, input), states as (dirs, batch, hidden); NULL: absent */
    int64_t *len;          /* of every sequence */
    double *y, *y_h, *y_c; /* (seq, dirs, batch, hidden) and (dirs, batch, hidden) */
    double *x_w, *h_r, *turned, *zeros, *tmp;
} job;

/* to[j][i][...] = from[i][j][...]: the two first axes change places. */
static void swap_axes(const double *from, int64_t n, int64_t m, int64_t inner, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            memcpy(to + (j * n + i) * inner, from + (i * m + j) * inner, (size_t)inner * sizeof *to);
}

/* Input i with its first two axes, (n, m) in layout 1, swapped. */
static gopt_status load_swapped(gopt_exec *x, const job *j, int i, int64_t n, int64_t m, int64_t inner, double **out,
                                gopt_err *e)
{
    double *v;
    GOPT_TRY(gopt_ref_load(x, i, &v, e));
    *out = v;
    if (!v || !j->layout)
        return GOPT_OK;
    GOPT_TRY(gopt_ref_buffer(x, n * m * inner, out, e));
    swap_axes(v, n, m, inner, *out);
    return GOPT_OK;
}

static gopt_status load_lengths(gopt_exec *x, job *j, gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, LENS);
    j->len = GOPT_NEW(x->scratch, int64_t, j->batch);
    if (!j->len)
        return gopt_oom(e);
    for (int64_t b = 0; b < j->batch; b++) {
        j->len[b] = t ? gopt_tensor_get_int(t, b) : j->seq;
        if (j->len[b] < 0 || j->len[b] > j->seq)
            return gopt_fail(e, GOPT_EINPUT, "input sequence_lens: %lld is outside [0, %lld]", (long long)j->len[b],
                             (long long)j->seq);
    }
    return GOPT_OK;
}

static gopt_status load(gopt_exec *x, job *j, gopt_err *e)
{
    const gopt_tensor *in = x->in[X];
    j->seq = in->dim[j->layout];
    j->batch = in->dim[1 - j->layout];
    j->input = in->dim[2];
    j->hidden = x->in[R]->dim[2];
    j->gates = j->kind->gates * j->hidden;
    GOPT_TRY(load_swapped(x, j, X, j->batch, j->seq, j->input, &j->in[X], e));
    for (int i = W; i <= B; i++)
        GOPT_TRY(gopt_ref_load(x, i, &j->in[i], e));
    GOPT_TRY(load_swapped(x, j, INITIAL_H, j->batch, j->dirs, j->hidden, &j->in[INITIAL_H], e));
    if (j->kind->cell) {
        GOPT_TRY(load_swapped(x, j, INITIAL_C, j->batch, j->dirs, j->hidden, &j->in[INITIAL_C], e));
        GOPT_TRY(gopt_ref_load(x, PEEPHOLE, &j->in[PEEPHOLE], e));
    }
    return load_lengths(x, j, e);
}

static gopt_status make_buffers(gopt_exec *x, job *j, gopt_err *e)
{
    int64_t state = j->dirs * j->batch * j->hidden;
    GOPT_TRY(gopt_ref_buffer(x, j->seq * state, &j->y, e));
    GOPT_TRY(gopt_ref_buffer(x, state, &j->y_h, e));
    GOPT_TRY(gopt_ref_buffer(x, state, &j->y_c, e));
    GOPT_TRY(gopt_ref_buffer(x, j->seq * j->batch * j->gates, &j->x_w, e));
    GOPT_TRY(gopt_ref_buffer(x, j->batch * j->gates, &j->h_r, e));
    GOPT_TRY(gopt_ref_buffer(x, GOPT_MAX(j->input, j->hidden) * j->gates, &j->turned, e));
    GOPT_TRY(gopt_ref_buffer(x, GOPT_MAX(j->gates, 3 * j->hidden), &j->zeros, e));
    return gopt_ref_buffer(x, 2 * j->hidden, &j->tmp, e);
}

static void transpose(const double *from, int64_t rows, int64_t cols, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k++)
            to[k * rows + i] = from[i * cols + k];
}

/* x_w = X W^T + bias, for all steps at once. */
static void project_input(job *j, int dir)
{
    const double *bias = j->in[B] ? j->in[B] + dir * 2 * j->gates : j->zeros;
    transpose(j->in[W] + dir * j->gates * j->input, j->gates, j->input, j->turned);
    for (int64_t i = 0; i < j->seq * j->batch; i++)
        memcpy(j->x_w + i * j->gates, bias, (size_t)j->gates * sizeof *bias);
    gopt_ref_multiply(j->seq * j->batch, j->gates, j->input, j->in[X], j->input, j->turned, j->gates, j->x_w, j->gates);
}

/* Parameters of the activation functions are taken from the lists in the order in which functions need them. */
static gopt_status read_functions(gopt_attrs a, const job *j, int dir, gopt_recurrence *n, gopt_err *e)
{
    const gopt_attr *names = gopt_attr_find(a, "activations"), *alpha = gopt_attr_find(a, "activation_alpha");
    const gopt_attr *beta = gopt_attr_find(a, "activation_beta");
    int count = j->kind->functions;
    int64_t next_alpha = 0, next_beta = 0;
    if (names && names->n && names->n < (int64_t)count * j->dirs)
        return gopt_fail(e, GOPT_EINPUT, "attribute activations: %lld values, %d expected", (long long)names->n,
                         count * j->dirs);
    for (int i = 0; i < count * (dir + 1); i++) {
        gopt_activation *f = &n->f[i % count];
        GOPT_TRY(gopt_activation_find(names && names->n ? names->strings[i] : j->kind->defaults[i % count], f, e));
        if (f->parameters > 0 && alpha && next_alpha < alpha->n)
            f->alpha = alpha->floats[next_alpha++];
        if (f->parameters > 1 && beta && next_beta < beta->n)
            f->beta = beta->floats[next_beta++];
    }
    return GOPT_OK;
}

/* One step of every sequence that still lasts. */
static void run_step(const job *j, const gopt_recurrence *n, int dir, bool backward, int64_t t)
{
    double *h = j->y_h + dir * j->batch * j->hidden, *c = j->y_c + dir * j->batch * j->hidden;
    memset(j->h_r, 0, (size_t)(j->batch * j->gates) * sizeof *j->h_r);
    gopt_ref_multiply(j->batch, j->gates, j->hidden, h, j->hidden, n->r, j->gates, j->h_r, j->gates);
    for (int64_t b = 0; b < j->batch; b++) {
        if (t >= j->len[b])
            continue;
        int64_t at = backward ? j->len[b] - 1 - t : t;
        j->step(n, j->x_w + (at * j->batch + b) * j->gates, j->h_r + b * j->gates, h + b * j->hidden,
                c + b * j->hidden);
        memcpy(j->y + ((at * j->dirs + dir) * j->batch + b) * j->hidden, h + b * j->hidden,
               (size_t)j->hidden * sizeof *h);
    }
}

static gopt_status run_direction(gopt_exec *x, job *j, int dir, gopt_err *e)
{
    int64_t state = j->batch * j->hidden;
    gopt_recurrence n = {.hidden = j->hidden,
                         .r = j->turned,
                         .r_bias = j->in[B] ? j->in[B] + (dir * 2 + 1) * j->gates : j->zeros,
                         .peephole = j->in[PEEPHOLE] ? j->in[PEEPHOLE] + dir * 3 * j->hidden : j->zeros,
                         .clip = gopt_attr_float(x->attrs, "clip", 0),
                         .couple = gopt_attr_int(x->attrs, "input_forget", 0) != 0,
                         .linear_before_reset = gopt_attr_int(x->attrs, "linear_before_reset", 0) != 0,
                         .tmp = j->tmp};
    if (!(n.clip > 0))
        n.clip = INFINITY;
    GOPT_TRY(read_functions(x->attrs, j, dir, &n, e));
    project_input(j, dir);
    transpose(j->in[R] + dir * j->gates * j->hidden, j->gates, j->hidden, j->turned);
    if (j->in[INITIAL_H])
        memcpy(j->y_h + dir * state, j->in[INITIAL_H] + dir * state, (size_t)state * sizeof(double));
    if (j->in[INITIAL_C])
        memcpy(j->y_c + dir * state, j->in[INITIAL_C] + dir * state, (size_t)state * sizeof(double));
    for (int64_t t = 0; t < j->seq; t++) {
        run_step(j, &n, dir, j->reversed || dir == 1, t);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

/* In layout 1 the batch comes first. */
static gopt_status store(gopt_exec *x, const job *j, gopt_err *e)
{
    double *y = j->y, *h = j->y_h, *c = j->y_c;
    if (j->layout) {
        int64_t state = j->dirs * j->batch * j->hidden;
        GOPT_TRY(gopt_ref_buffer(x, j->seq * state, &y, e));
        GOPT_TRY(gopt_ref_buffer(x, state, &h, e));
        GOPT_TRY(gopt_ref_buffer(x, state, &c, e));
        swap_axes(j->y, j->seq * j->dirs, j->batch, j->hidden, y);
        swap_axes(j->y_h, j->dirs, j->batch, j->hidden, h);
        swap_axes(j->y_c, j->dirs, j->batch, j->hidden, c);
    }
    gopt_ref_store(x, 0, y);
    gopt_ref_store(x, 1, h);
    if (j->kind->cell)
        gopt_ref_store(x, 2, c);
    return GOPT_OK;
}

gopt_status gopt_recurrence_run(gopt_exec *x, const gopt_recurrence_kind *kind, gopt_recurrence_step *step, gopt_err *e)
{
    job j = {.kind = kind, .step = step, .layout = (int)gopt_attr_int(x->attrs, "layout", 0)};
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(directions(x->attrs, &j.dirs, &j.reversed, e));
    GOPT_TRY(load(x, &j, e));
    GOPT_TRY(make_buffers(x, &j, e));
    for (int dir = 0; dir < j.dirs; dir++)
        GOPT_TRY(run_direction(x, &j, dir, e));
    return store(x, &j, e);
}

double gopt_recurrence_apply(const gopt_recurrence *n, int i, double v)
{
    const gopt_activation *f = &n->f[i];
    v = v > n->clip ? n->clip : v < -n->clip ? -n->clip : v;
    return f->f(v, f->alpha, f->beta);
}
