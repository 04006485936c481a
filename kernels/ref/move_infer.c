/* move_infer.c: contents of small integer tensors, followed through operators that move elements. */
#include "ref/move.h"

gopt_dim gopt_move_length(const gopt_infer *x, int i)
{
    if (!gopt_ref_ranked(x, i) || x->in[i].rank > 1)
        return GOPT_DIM_UNKNOWN;
    return x->in[i].rank == 0 ? gopt_dim_of(1) : x->in[i].dim[0];
}

const gopt_dim *gopt_move_content(gopt_infer *x, int i, int64_t *n)
{
    int64_t dim[GOPT_RANK_MAX];
    if (!gopt_infer_has(x, i) || !x->in[i].content)
        return gopt_infer_ints(x, i, n);
    return gopt_fact_static(&x->in[i], dim) && gopt_dims_count(dim, x->in[i].rank, n) ? x->in[i].content : NULL;
}

const gopt_dim *gopt_move_constants(gopt_infer *x, int i, int64_t *n)
{
    const gopt_dim *v = gopt_infer_ints(x, i, n);
    for (int64_t k = 0; v && k < *n; k++)
        if (!gopt_dim_is_const(v[k]))
            return NULL;
    return v;
}

bool gopt_move_scalar(gopt_infer *x, int i, int64_t *out)
{
    int64_t n;
    const gopt_dim *v = gopt_move_constants(x, i, &n);
    if (!v || n != 1)
        return false;
    *out = v[0].k;
    return true;
}

void gopt_move_infer_rank(gopt_infer *x, int k, gopt_dtype d, int rank)
{
    gopt_dim dim[GOPT_RANK_MAX];
    for (int i = 0; i < rank; i++)
        dim[i] = GOPT_DIM_UNKNOWN;
    gopt_infer_set(x, k, d, rank, dim);
}

gopt_status gopt_move_check_rank(int64_t rank, gopt_err *e)
{
    if (rank > GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "a shape of %lld dimensions, %d are possible", (long long)rank, GOPT_RANK_MAX);
    if (rank < 0)
        return gopt_fail(e, GOPT_EINPUT, "a shape of %lld dimensions", (long long)rank);
    return GOPT_OK;
}

/* ---- following ---- */

typedef struct trail {
    gopt_infer *x;
    gopt_arena scratch;
    gopt_tensor *in, *out; /* the mover's operands */
    gopt_dim *value;       /* of the element with this number; number 0 is a zero */
    size_t numbers, cap;
    bool any; /* something is known of what is moved */
} trail;

static gopt_tensor *small_tensor(trail *t, const gopt_fact *f, gopt_dtype d, int64_t *n)
{
    int64_t dim[GOPT_RANK_MAX];
    if (!gopt_fact_static(f, dim) || !gopt_dims_count(dim, f->rank, n) || *n > GOPT_CONTENT_MAX)
        return NULL;
    return gopt_tensor_new(&t->scratch, d, f->rank, dim);
}

/* Input i, whose elements move, as a tensor of their numbers. */
static bool number_input(trail *t, int i, const gopt_tensor **out)
{
    int64_t n, known;
    const gopt_dim *content = gopt_move_content(t->x, i, &known);
    gopt_tensor *made = small_tensor(t, &t->x->in[i], GOPT_DTYPE_I64, &n);
    if (!made)
        return false;
    gopt_dim *value =
        gopt_arena_grow(&t->scratch, t->value, t->numbers, &t->cap, t->numbers + (size_t)n, sizeof *value);
    if (!value)
        return false;
    for (int64_t k = 0; k < n; k++) {
        gopt_tensor_set_int(made, k, (int64_t)t->numbers);
        value[t->numbers++] = content ? content[k] : GOPT_DIM_UNKNOWN;
    }
    t->any |= content != NULL;
    t->value = value;
    *out = made;
    return true;
}

/* Input i, which says how elements move. */
static bool constant_input(trail *t, int i, const gopt_tensor **out)
{
    int64_t n, count;
    const gopt_fact *f = &t->x->in[i];
    *out = f->constant;
    if (f->constant)
        return true;
    const gopt_dim *v = gopt_move_constants(t->x, i, &n);
    gopt_tensor *made = v ? small_tensor(t, f, f->dtype, &count) : NULL;
    for (int64_t k = 0; made && k < n; k++)
        gopt_tensor_set_int(made, k, v[k].k);
    *out = made;
    return made != NULL;
}

static bool make_inputs(trail *t, unsigned moved, const gopt_tensor **in)
{
    for (int i = 0; i < t->x->n_in; i++) {
        if (!gopt_infer_has(t->x, i))
            continue;
        bool moves = moved >> GOPT_MIN(i, 31) & 1;
        if (!(moves ? number_input(t, i, &in[i]) : constant_input(t, i, &in[i])))
            return false;
    }
    return t->any;
}

static bool make_outputs(trail *t, gopt_tensor **out)
{
    int64_t n;
    for (int k = 0; k < t->x->n_out; k++)
        if (!(out[k] = small_tensor(t, &t->x->out[k], GOPT_DTYPE_I64, &n)))
            return false;
    return true;
}

static void read_outputs(trail *t, gopt_tensor *const *out)
{
    for (int k = 0; k < t->x->n_out; k++) {
        int64_t n = gopt_tensor_count(out[k]);
        gopt_dim *content = GOPT_NEW(t->x->arena, gopt_dim, n);
        for (int64_t i = 0; content && i < n; i++)
            content[i] = t->value[gopt_tensor_get_int(out[k], i)];
        t->x->out[k].content = content;
    }
}

static void follow(trail *t, unsigned moved, gopt_status (*move)(gopt_exec *x, gopt_err *e))
{
    const gopt_tensor **in = GOPT_NEW(&t->scratch, const gopt_tensor *, t->x->n_in);
    gopt_tensor **out = GOPT_NEW(&t->scratch, gopt_tensor *, t->x->n_out);
    t->value = GOPT_NEW(&t->scratch, gopt_dim, 1); /* a zero */
    t->numbers = t->cap = 1;
    if (!in || !out || !t->value || !make_outputs(t, out) || !make_inputs(t, moved, in))
        return;
    gopt_exec x = {.op = t->x->op,
                   .attrs = t->x->attrs,
                   .n_in = t->x->n_in,
                   .n_out = t->x->n_out,
                   .in = in,
                   .out = out,
                   .scratch = &t->scratch};
    if (move(&x, NULL) == GOPT_OK) /* what fails here fails again in the run, with a message */
        read_outputs(t, out);
}

void gopt_move_follow(gopt_infer *x, unsigned moved, gopt_status (*move)(gopt_exec *x, gopt_err *e))
{
    trail t = {.x = x};
    bool any = false;
    for (int i = 0; i < x->n_in; i++)
        any |= (moved >> GOPT_MIN(i, 31) & 1) && (x->in[i].content || x->in[i].constant);
    if (!any)
        return;
    follow(&t, moved, move);
    if (t.scratch.failed)
        x->arena->failed = true;
    gopt_arena_fini(&t.scratch);
}
