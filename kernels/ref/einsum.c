/* einsum.c: Einsum by its definition: a sum over all labels that are not in the output, for every output element. */
#include <limits.h>

#include "ref/einsum_parse.h"
#include "ref/operand.h"

/* ---- inference ---- */

static gopt_status parse(gopt_infer *x, gopt_einsum *q, gopt_err *e)
{
    const char *equation = gopt_attr_string(x->attrs, "equation", NULL);
    int *rank = GOPT_NEW(x->arena, int, x->n_in);
    if (!rank)
        return gopt_oom(e);
    if (!equation)
        return gopt_fail(e, GOPT_EINPUT, "attribute equation is missing");
    for (int i = 0; i < x->n_in; i++)
        rank[i] = x->in[i].rank;
    return gopt_einsum_parse(q, x->arena, equation, x->n_in, rank, e);
}

/* Sizes of labels: where operands differ, those of size 1 are broadcast. */
static gopt_status merge(gopt_dim *size, gopt_dim dim, gopt_err *e)
{
    bool one = gopt_dim_is_const(dim) && dim.k == 1;
    if (gopt_dim_is_const(*size) && size->k == 1) {
        *size = dim;
        return GOPT_OK;
    }
    if (one || gopt_dim_equal(*size, dim))
        return GOPT_OK;
    if (gopt_dim_is_const(*size) && !gopt_dim_is_const(dim))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(*size, dim, "sizes of one label", e));
    *size = dim;
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_einsum q;
    gopt_dim size[GOPT_EINSUM_LABELS], dim[GOPT_RANK_MAX];
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_REAL, "Inputs", e));
    for (int i = 1; i < x->n_in; i++)
        GOPT_TRY(gopt_ref_same_type(x, 0, i, e));
    gopt_ref_infer_type(x, 0, x->in[0].dtype);
    for (int i = 0; i < x->n_in; i++)
        if (!gopt_ref_ranked(x, i))
            return GOPT_OK;
    GOPT_TRY(parse(x, &q, e));
    for (int l = 0; l < GOPT_EINSUM_LABELS; l++)
        size[l] = gopt_dim_of(1);
    for (int i = 0; i < q.n; i++)
        for (int d = 0; d < q.in[i].rank; d++)
            GOPT_TRY(merge(&size[q.in[i].label[d]], x->in[i].dim[d], e));
    for (int d = 0; d < q.out.rank; d++)
        dim[d] = size[q.out.label[d]];
    gopt_infer_set(x, 0, x->in[0].dtype, q.out.rank, dim);
    return GOPT_OK;
}

/* ---- running ---- */

/* Nested loops over labels; every operand moves by its own stride for each. */
typedef struct loops {
    int n;
    int64_t size[GOPT_EINSUM_LABELS];
    int64_t *stride[GOPT_EINSUM_LABELS]; /* [loop][operand] */
} loops;

typedef struct job {
    int n;              /* operands */
    const double **f;   /* their elements as floats, */
    const uint64_t **u; /* or as integers */
    loops outer, inner; /* the output's labels, and those summed over */
    int64_t *at;        /* where each operand is */
} job;

static gopt_status add_loop(gopt_exec *x, const gopt_einsum *q, const int64_t *size, int label, loops *l, gopt_err *e)
{
    int64_t dense[GOPT_RANK_MAX], *stride = GOPT_NEW(x->scratch, int64_t, q->n);
    if (!stride)
        return gopt_oom(e);
    for (int i = 0; i < q->n; i++) {
        gopt_dims_strides(x->in[i]->dim, x->in[i]->rank, dense);
        for (int d = 0; d < q->in[i].rank; d++)
            if (q->in[i].label[d] == label && x->in[i]->dim[d] != 1)
                stride[i] += dense[d];
    }
    l->size[l->n] = size[label];
    l->stride[l->n++] = stride;
    return GOPT_OK;
}

static gopt_status plan(gopt_exec *x, const gopt_einsum *q, job *j, gopt_err *e)
{
    int64_t size[GOPT_EINSUM_LABELS];
    bool used[GOPT_EINSUM_LABELS] = {0};
    for (int l = 0; l < GOPT_EINSUM_LABELS; l++)
        size[l] = 1;
    for (int i = 0; i < q->n; i++)
        for (int d = 0; d < q->in[i].rank; d++) {
            used[q->in[i].label[d]] = true;
            if (x->in[i]->dim[d] != 1)
                size[q->in[i].label[d]] = x->in[i]->dim[d];
        }
    for (int d = 0; d < q->out.rank; d++) {
        GOPT_TRY(add_loop(x, q, size, q->out.label[d], &j->outer, e));
        used[q->out.label[d]] = false;
    }
    for (int l = 0; l < GOPT_EINSUM_LABELS; l++)
        if (used[l])
            GOPT_TRY(add_loop(x, q, size, l, &j->inner, e));
    return GOPT_OK;
}

/* The next index of the first n loops; moves the operands along. */
static bool next(const loops *l, int n, int64_t *index, int operands, int64_t *at)
{
    for (int k = n - 1; k >= 0; k--) {
        index[k]++;
        bool more = index[k] < l->size[k];
        for (int i = 0; i < operands; i++)
            at[i] += more ? l->stride[k][i] : -(index[k] - 1) * l->stride[k][i];
        if (more)
            return true;
        index[k] = 0;
    }
    return false;
}

static double dot_float(const job *j, int64_t n, const int64_t *stride)
{
    double sum = 0;
    if (j->n == 2) {
        const double *a = j->f[0] + j->at[0], *b = j->f[1] + j->at[1];
        for (int64_t k = 0; k < n; k++)
            sum += a[k * stride[0]] * b[k * stride[1]];
        return sum;
    }
    for (int64_t k = 0; k < n; k++) {
        double product = 1;
        for (int i = 0; i < j->n; i++)
            product *= j->f[i][j->at[i] + k * stride[i]];
        sum += product;
    }
    return sum;
}

static uint64_t dot_int(const job *j, int64_t n, const int64_t *stride)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t product = 1;
        for (int i = 0; i < j->n; i++)
            product *= j->u[i][j->at[i] + k * stride[i]];
        sum += product;
    }
    return sum;
}

/* The sum over all inner labels, where the operands are; they end where they began. */
static gopt_status sum(const gopt_exec *x, const job *j, const int64_t *still, double *f, uint64_t *u, gopt_err *e)
{
    int64_t index[GOPT_EINSUM_LABELS] = {0}, since_tick = 0;
    int last = j->inner.n - 1;
    int64_t n = last >= 0 ? j->inner.size[last] : 1;
    const int64_t *stride = last >= 0 ? j->inner.stride[last] : still;
    *f = 0;
    *u = 0;
    if (gopt_ref_count(j->inner.size, j->inner.n) == 0)
        return GOPT_OK;
    do {
        if (j->f)
            *f += dot_float(j, n, stride);
        else
            *u += dot_int(j, n, stride);
        since_tick += n;
        if (since_tick > 1 << 20) {
            GOPT_TRY(gopt_ref_tick(x, e));
            since_tick = 0;
        }
    } while (next(&j->inner, last, index, j->n, j->at));
    return GOPT_OK;
}

static gopt_status load(gopt_exec *x, job *j, gopt_err *e)
{
    bool is_float = gopt_dtype_is_float(x->in[0]->dtype);
    j->n = x->n_in;
    j->f = is_float ? GOPT_NEW(x->scratch, const double *, j->n) : NULL;
    j->u = is_float ? NULL : GOPT_NEW(x->scratch, const uint64_t *, j->n);
    j->at = GOPT_NEW(x->scratch, int64_t, j->n);
    if (x->scratch->failed)
        return gopt_oom(e);
    for (int i = 0; i < j->n; i++) {
        int64_t n = gopt_tensor_count(x->in[i]);
        double *f;
        if (is_float) {
            GOPT_TRY(gopt_ref_load(x, i, &f, e));
            j->f[i] = f;
            continue;
        }
        uint64_t *u = GOPT_NEW(x->scratch, uint64_t, n);
        for (int64_t k = 0; u && k < n; k++)
            u[k] = (uint64_t)gopt_tensor_get_int(x->in[i], k);
        j->u[i] = u;
        if (!u)
            return gopt_oom(e);
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_einsum q;
    job j = {0};
    int64_t index[GOPT_EINSUM_LABELS] = {0}, *still = GOPT_NEW(x->scratch, int64_t, x->n_in);
    int *rank = GOPT_NEW(x->scratch, int, x->n_in);
    for (int i = 0; i < x->n_in; i++)
        if (!x->in[i])
            return gopt_fail(e, GOPT_EINPUT, "input %d is missing", i);
    GOPT_TRY(gopt_ref_begin(x, e));
    for (int i = 0; rank && i < x->n_in; i++)
        rank[i] = x->in[i]->rank;
    if (!rank || !still)
        return gopt_oom(e);
    GOPT_TRY(gopt_einsum_parse(&q, x->scratch, gopt_attr_string(x->attrs, "equation", ""), x->n_in, rank, e));
    GOPT_TRY(plan(x, &q, &j, e));
    GOPT_TRY(load(x, &j, e));
    int64_t n = gopt_tensor_count(x->out[0]);
    for (int64_t i = 0; i < n; i++, next(&j.outer, j.outer.n, index, j.n, j.at)) {
        double f;
        uint64_t u;
        GOPT_TRY(sum(x, &j, still, &f, &u, e));
        if (j.f)
            gopt_tensor_set(x->out[0], i, f);
        else
            gopt_tensor_set_int(x->out[0], i, (int64_t)u);
        if ((i & 255) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_Einsum = {.name = "Einsum",
                                .domain = "",
                                .in_min = 1,
                                .in_max = INT_MAX,
                                .out_min = 1,
                                .out_max = 1,
                                .traits = GOPT_TRAIT_HEAVY,
                                .infer = infer,
                                .run = run};
