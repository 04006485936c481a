/* skip_norm.c: adds, then normalizes over the last axis. */
#include "ref/skip_norm.h"

#include "ref/layer_norm.h"

enum { INPUT, SKIP, GAMMA, BETA };

/* skip has the input's last dimensions; in front there may be ones. */
static gopt_status check_skip(const gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[INPUT], *skip = &x->in[SKIP];
    bool started = false;
    GOPT_TRY(gopt_ref_broadcasts(x, SKIP, INPUT, "skip", e));
    for (int d = 0; gopt_ref_ranked(x, SKIP) && d < skip->rank; d++) {
        gopt_dim a = skip->dim[d], b = in->dim[in->rank - skip->rank + d];
        if (started)
            GOPT_TRY(gopt_ref_equal(a, b, "dimensions of input and skip", e));
        started = started || !gopt_dim_is_const(a) || a.k != 1;
    }
    return GOPT_OK;
}

gopt_status gopt_skip_norm_infer(gopt_infer *x, bool rms, gopt_err *e)
{
    static const char *const names[] = {"input", "skip", "gamma", "beta", "bias"};
    GOPT_TRY(gopt_ref_type(x, INPUT, GOPT_REF_FLOAT, "input", e));
    for (int i = SKIP; i < x->n_in; i++)
        GOPT_TRY(gopt_ref_same_type(x, INPUT, i, e));
    GOPT_TRY(gopt_ref_rank(x, INPUT, 1, GOPT_RANK_MAX, "input", e));
    if (!gopt_infer_has(x, INPUT))
        return GOPT_OK;
    gopt_infer_like(x, 0, INPUT);
    if (x->n_out > 3)
        gopt_infer_like(x, 3, INPUT);
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_ref_infer_type(x, k, GOPT_DTYPE_F32);
    if (!gopt_ref_ranked(x, INPUT))
        return GOPT_OK;
    gopt_fact row = x->in[INPUT];
    GOPT_TRY(check_skip(x, e));
    for (int i = GAMMA; i < x->n_in; i++)
        GOPT_TRY(gopt_ref_vector(x, i, row.dim[row.rank - 1], names[rms && i == BETA ? BETA + 1 : i], e));
    row.dim[row.rank - 1] = gopt_dim_of(1);
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_infer_set(x, k, GOPT_DTYPE_F32, row.rank, row.dim);
    return GOPT_OK;
}

gopt_status gopt_skip_norm_run(gopt_exec *x, bool rms, gopt_err *e)
{
    double *v, *skip, *gamma, *beta = NULL, *bias, *mean, *inv, epsilon = gopt_attr_float(x->attrs, "epsilon", 1e-12f);
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[INPUT];
    int64_t n = in->dim[in->rank - 1], count = gopt_tensor_count(in), rows = n ? count / n : 0;
    GOPT_TRY(gopt_ref_load(x, INPUT, &v, e));
    GOPT_TRY(gopt_ref_load(x, SKIP, &skip, e));
    GOPT_TRY(gopt_ref_load(x, GAMMA, &gamma, e));
    if (!rms)
        GOPT_TRY(gopt_ref_load(x, BETA, &beta, e));
    GOPT_TRY(gopt_ref_load(x, rms ? BETA : BETA + 1, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, rows, &mean, e));
    GOPT_TRY(gopt_ref_buffer(x, rows, &inv, e));
    int64_t skips = gopt_tensor_count(x->in[SKIP]);
    for (int64_t i = 0; i < count; i++)
        v[i] += skip[i % skips] + (bias ? bias[i % n] : 0);
    gopt_ref_store(x, 3, v);
    for (int64_t r = 0; r < rows; r++)
        gopt_layer_norm_row(rms, epsilon, v + r * n, n, &mean[r], &inv[r]);
    for (int64_t i = 0; i < count; i++)
        v[i] = v[i] * gamma[i % n] + (beta ? beta[i % n] : 0);
    gopt_ref_store(x, 0, v);
    gopt_ref_store(x, 1, mean);
    gopt_ref_store(x, 2, inv);
    return GOPT_OK;
}
