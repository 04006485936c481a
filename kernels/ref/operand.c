/* operand.c: checks, conversion and bookkeeping that reference operators share. */
#include "ref/operand.h"

#include <string.h>

#include "base/clock.h"

static bool is_in(gopt_dtype d, unsigned types)
{
    switch (d) {
    case GOPT_DTYPE_F16:
    case GOPT_DTYPE_BF16:
    case GOPT_DTYPE_F32:
    case GOPT_DTYPE_F64:
        return types & GOPT_REF_FLOAT;
    case GOPT_DTYPE_F8E4M3FN:
    case GOPT_DTYPE_F8E4M3FNUZ:
    case GOPT_DTYPE_F8E5M2:
    case GOPT_DTYPE_F8E5M2FNUZ:
        return types & GOPT_REF_FLOAT8;
    case GOPT_DTYPE_I8:
    case GOPT_DTYPE_U8:
        return types & (GOPT_REF_INT | GOPT_REF_BYTE);
    case GOPT_DTYPE_I16:
    case GOPT_DTYPE_U16:
        return types & GOPT_REF_INT;
    case GOPT_DTYPE_U32:
    case GOPT_DTYPE_U64:
        return types & (GOPT_REF_INT | GOPT_REF_WIDE);
    case GOPT_DTYPE_I32:
    case GOPT_DTYPE_I64:
        return types & (GOPT_REF_INT | GOPT_REF_WIDE | GOPT_REF_INDEX);
    case GOPT_DTYPE_U4:
    case GOPT_DTYPE_I4:
    case GOPT_DTYPE_U2:
    case GOPT_DTYPE_I2:
    case GOPT_DTYPE_F4E2M1:
    case GOPT_DTYPE_F8E8M0:
        return types & GOPT_REF_SMALL;
    case GOPT_DTYPE_BOOL:
        return types & GOPT_REF_BOOL;
    default:
        return false;
    }
}

bool gopt_ref_ranked(const gopt_infer *x, int i)
{
    return gopt_infer_has(x, i) && x->in[i].rank >= 0;
}

gopt_status gopt_ref_type(const gopt_infer *x, int i, unsigned types, const char *name, gopt_err *e)
{
    if (!gopt_infer_has(x, i) || is_in(x->in[i].dtype, types))
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "input %s: type %s is not allowed", name, gopt_dtype_name(x->in[i].dtype));
}

gopt_status gopt_ref_same_type(const gopt_infer *x, int i, int j, gopt_err *e)
{
    if (!gopt_infer_has(x, i) || !gopt_infer_has(x, j) || x->in[i].dtype == x->in[j].dtype)
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "inputs %d and %d: types %s and %s, the same expected", i, j,
                     gopt_dtype_name(x->in[i].dtype), gopt_dtype_name(x->in[j].dtype));
}

gopt_status gopt_ref_rank(const gopt_infer *x, int i, int lo, int hi, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i) || (x->in[i].rank >= lo && x->in[i].rank <= hi))
        return GOPT_OK;
    if (lo == hi)
        return gopt_fail(e, GOPT_EINPUT, "input %s: rank %d, %d expected", name, x->in[i].rank, lo);
    return gopt_fail(e, GOPT_EINPUT, "input %s: rank %d, %d to %d expected", name, x->in[i].rank, lo, hi);
}

gopt_status gopt_ref_equal(gopt_dim a, gopt_dim b, const char *what, gopt_err *e)
{
    if (!gopt_dim_is_const(a) || !gopt_dim_is_const(b) || a.k == b.k)
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "%s: %lld and %lld do not match", what, (long long)a.k, (long long)b.k);
}

gopt_status gopt_ref_vector(const gopt_infer *x, int i, gopt_dim n, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_rank(x, i, 1, 1, name, e));
    gopt_status s = gopt_ref_equal(x->in[i].dim[0], n, "length", e);
    return s ? gopt_within(e, s, "input %s", name) : GOPT_OK;
}

gopt_status gopt_ref_scalar(const gopt_infer *x, int i, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    for (int d = 0; d < x->in[i].rank; d++)
        if (gopt_dim_is_const(x->in[i].dim[d]) && x->in[i].dim[d].k != 1)
            return gopt_fail(e, GOPT_EINPUT, "input %s: %lld elements in axis %d, a scalar expected", name,
                             (long long)x->in[i].dim[d].k, d);
    return GOPT_OK;
}

gopt_status gopt_ref_broadcasts(const gopt_infer *x, int i, int j, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i) || !gopt_ref_ranked(x, j))
        return GOPT_OK;
    const gopt_fact *f = &x->in[i], *to = &x->in[j];
    if (f->rank > to->rank)
        return gopt_fail(e, GOPT_EINPUT, "input %s: rank %d does not broadcast to rank %d", name, f->rank, to->rank);
    for (int d = 0; d < f->rank; d++) {
        gopt_dim a = f->dim[d], b = to->dim[to->rank - f->rank + d];
        if (gopt_dim_is_const(a) && gopt_dim_is_const(b) && a.k != 1 && a.k != b.k)
            return gopt_fail(e, GOPT_EINPUT, "input %s: axis %d has %lld elements, 1 or %lld expected", name, d,
                             (long long)a.k, (long long)b.k);
    }
    return GOPT_OK;
}

gopt_dim gopt_ref_product(gopt_dims *t, const gopt_dim *dim, int n)
{
    gopt_dim p = gopt_dim_of(1);
    for (int i = 0; i < n; i++)
        p = gopt_dim_mul(t, p, dim[i]);
    return p;
}

void gopt_ref_infer_type(gopt_infer *x, int k, gopt_dtype d)
{
    if (k < x->n_out) {
        x->out[k].dtype = d;
        x->out[k].rank = -1;
    }
}

gopt_status gopt_ref_infer_float(gopt_infer *x, int lo, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_rank(x, 0, lo, GOPT_RANK_MAX, "X", e));
    if (gopt_infer_has(x, 0))
        gopt_infer_like(x, 0, 0);
    return GOPT_OK;
}

gopt_status gopt_ref_infer_same(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_infer_float(x, 0, e));
    int axis;
    if (!gopt_ref_ranked(x, 0) || x->in[0].rank == 0)
        return GOPT_OK;
    gopt_status s = gopt_axis(gopt_attr_int(x->attrs, "axis", -1), x->in[0].rank, &axis, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

const gopt_tensor *gopt_ref_in(const gopt_exec *x, int i)
{
    return i < x->n_in ? x->in[i] : NULL;
}

gopt_tensor *gopt_ref_out(const gopt_exec *x, int k)
{
    return k < x->n_out ? x->out[k] : NULL;
}

static gopt_status make(gopt_exec *x, int k, const gopt_fact *f, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX];
    if (f->dtype == GOPT_DTYPE_NONE || !gopt_fact_static(f, dim))
        return gopt_fail(e, GOPT_EINPUT, "output %d: its shape does not follow from the inputs, or is too large", k);
    return gopt_exec_out(x, k, f->dtype, f->rank, dim, e);
}

gopt_status gopt_ref_begin_with(gopt_exec *x, unsigned required, gopt_err *e)
{
    for (int i = 0; i < 32; i++)
        if ((required >> i & 1) && !gopt_ref_in(x, i))
            return gopt_fail(e, GOPT_EINPUT, "input %d is missing", i);
    gopt_fact *in = GOPT_NEW(x->scratch, gopt_fact, x->n_in);
    gopt_fact *out = GOPT_NEW(x->scratch, gopt_fact, x->n_out);
    if (!in || !out)
        return gopt_oom(e);
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i])
            gopt_fact_of_tensor(&in[i], x->in[i], x->scratch);
    for (int k = 0; k < x->n_out; k++)
        out[k].rank = -1;
    gopt_infer f = {
        .op = x->op, .attrs = x->attrs, .arena = x->scratch, .n_in = x->n_in, .n_out = x->n_out, .in = in, .out = out};
    gopt_status s = x->op->infer(&f, e);
    if (x->scratch->failed)
        return gopt_oom(e);
    GOPT_TRY(s);
    for (int k = 0; k < x->n_out; k++)
        if (x->out[k])
            GOPT_TRY(make(x, k, &out[k], e));
    return GOPT_OK;
}

gopt_status gopt_ref_begin(gopt_exec *x, gopt_err *e)
{
    if (x->op->out_max == 1 && !gopt_ref_out(x, 0))
        return gopt_fail(e, GOPT_EUSAGE, "nothing to compute: the output is not wanted");
    return gopt_ref_begin_with(x, (1u << x->op->in_min) - 1u, e);
}

gopt_status gopt_ref_buffer(gopt_exec *x, int64_t n, double **out, gopt_err *e)
{
    *out = n < 0 ? NULL : GOPT_NEW(x->scratch, double, n);
    return *out ? GOPT_OK : gopt_oom(e);
}

gopt_status gopt_ref_load(gopt_exec *x, int i, double **out, gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, i);
    *out = NULL;
    if (!t)
        return GOPT_OK;
    int64_t n = gopt_tensor_count(t);
    GOPT_TRY(gopt_ref_buffer(x, n, out, e));
    gopt_dtype_load(t->dtype, t->data, 0, n, *out);
    return GOPT_OK;
}

double gopt_ref_number(const gopt_exec *x, int i, double fallback)
{
    const gopt_tensor *t = gopt_ref_in(x, i);
    return t && gopt_tensor_count(t) > 0 ? gopt_tensor_get(t, 0) : fallback;
}

void gopt_ref_store(gopt_exec *x, int k, const double *v)
{
    gopt_tensor *t = gopt_ref_out(x, k);
    if (t)
        gopt_dtype_store(t->dtype, t->data, 0, gopt_tensor_count(t), v);
}

gopt_status gopt_ref_round(gopt_exec *x, gopt_dtype d, double *v, int64_t n, gopt_err *e)
{
    if (d == GOPT_DTYPE_F64)
        return GOPT_OK;
    void *rounded = gopt_arena_take(x->scratch, gopt_dtype_bytes(d, n), 1);
    if (!rounded)
        return gopt_oom(e);
    gopt_dtype_store(d, rounded, 0, n, v);
    gopt_dtype_load(d, rounded, 0, n, v);
    return GOPT_OK;
}

gopt_status gopt_ref_tick(const gopt_exec *x, gopt_err *e)
{
    if (x->deadline && gopt_now() > x->deadline)
        return gopt_fail(e, GOPT_ELIMIT, "time limit reached");
    return GOPT_OK;
}

void gopt_ref_broadcast_strides(const int64_t *dim, int rank, const int64_t *to, int to_rank, int64_t *stride)
{
    int64_t dense[GOPT_RANK_MAX];
    gopt_dims_strides(dim, rank, dense);
    memset(stride, 0, (size_t)to_rank * sizeof *stride);
    for (int d = 0; d < rank; d++) {
        int at = to_rank - rank + d;
        stride[at] = dim[d] == 1 && to[at] != 1 ? 0 : dense[d];
    }
}

bool gopt_ref_next(int64_t *index, const int64_t *dim, int rank)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}

int64_t gopt_ref_count(const int64_t *dim, int rank)
{
    uint64_t n = 1; /* may wrap where another dimension is 0 */
    for (int d = 0; d < rank; d++)
        n *= (uint64_t)dim[d];
    return (int64_t)n;
}
