/* affine.c: general matrix products with a broadcast addend. */
#include "ref/affine.h"

#include <math.h>

#include "ref/matrix.h"

static gopt_matrix_view view(gopt_attrs a, int input)
{
    return (gopt_matrix_view){.input = input, .transposed = gopt_attr_int(a, input ? "transB" : "transA", 0) != 0};
}

gopt_status gopt_affine_infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT | GOPT_REF_WIDE, "A", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    GOPT_TRY(gopt_ref_rank(x, 0, 2, 2, "A", e));
    GOPT_TRY(gopt_ref_rank(x, 1, 2, 2, "B", e));
    GOPT_TRY(gopt_matmul_infer(x, view(x->attrs, 0), view(x->attrs, 1), x->in[0].dtype, e));
    if (x->out[0].rank != 2 || !gopt_ref_ranked(x, 2))
        return GOPT_OK;
    gopt_fact both[2] = {x->in[2], x->out[0]};
    gopt_infer addend = {.n_in = 2, .in = both};
    return gopt_ref_broadcasts(&addend, 0, 1, "C", e);
}

static void addend_strides(const gopt_exec *x, const gopt_matmul *mm, int64_t stride[2])
{
    const gopt_tensor *c = x->in[2];
    int64_t to[2] = {mm->m, mm->n};
    gopt_ref_broadcast_strides(c->dim, c->rank, to, 2, stride);
}

static gopt_status run_int(gopt_exec *x, const gopt_matmul *mm, gopt_err *e)
{
    gopt_tensor *y = x->out[0];
    const gopt_tensor *c = gopt_ref_in(x, 2);
    uint64_t *v = GOPT_NEW(x->scratch, uint64_t, gopt_tensor_count(y));
    uint64_t alpha = (uint64_t)(int64_t)gopt_attr_float(x->attrs, "alpha", 1);
    uint64_t beta = (uint64_t)(int64_t)gopt_attr_float(x->attrs, "beta", 1);
    int64_t s[2] = {0};
    if (!v)
        return gopt_oom(e);
    GOPT_TRY(gopt_matmul_run_int(x, mm, v, e));
    if (c)
        addend_strides(x, mm, s);
    for (int64_t i = 0; i < gopt_tensor_count(y); i++) {
        uint64_t plus = c ? (uint64_t)gopt_tensor_get_int(c, i / mm->n * s[0] + i % mm->n * s[1]) : 0;
        gopt_tensor_set_int(y, i, (int64_t)(alpha * v[i] + beta * plus));
    }
    return GOPT_OK;
}

static gopt_status add(gopt_exec *x, const gopt_matmul *mm, double *y, gopt_err *e)
{
    double *c, alpha = gopt_attr_float(x->attrs, "alpha", 1), beta = gopt_attr_float(x->attrs, "beta", 1);
    int64_t s[2] = {0};
    GOPT_TRY(gopt_ref_load(x, 2, &c, e));
    if (c)
        addend_strides(x, mm, s);
    for (int64_t i = 0; i < mm->m; i++, y += mm->n)
        for (int64_t j = 0; j < mm->n; j++)
            y[j] = alpha * y[j] + (c ? beta * c[i * s[0] + j * s[1]] : 0);
    return GOPT_OK;
}

/* Integers stay exact where the factors are integers of a sane size. */
static bool is_whole(gopt_attrs a, const char *name)
{
    double v = gopt_attr_float(a, name, 1);
    return v == trunc(v) && fabs(v) < 9e15;
}

gopt_status gopt_affine_run(gopt_exec *x, const gopt_activation *act, gopt_err *e)
{
    gopt_matmul mm;
    double *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_matmul_bind(x, view(x->attrs, 0), view(x->attrs, 1), &mm);
    if (gopt_dtype_is_int(x->out[0]->dtype) && is_whole(x->attrs, "alpha") && is_whole(x->attrs, "beta"))
        return run_int(x, &mm, e);
    GOPT_TRY(gopt_ref_buffer(x, mm.m * mm.n, &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    GOPT_TRY(add(x, &mm, y, e));
    if (act)
        gopt_activation_apply(act, y, mm.m * mm.n);
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}
