/* tuple_index.c: walks a tensor of index tuples. */
#include "ref/tuple_index.h"

enum { DATA, INDICES };

gopt_status gopt_tuple_index_infer(const gopt_infer *x, int64_t batch, int *width, gopt_err *e)
{
    *width = -1;
    GOPT_TRY(gopt_ref_type(x, INDICES, GOPT_REF_INDEX, "indices", e));
    GOPT_TRY(gopt_ref_rank(x, DATA, 1, GOPT_RANK_MAX, "data", e));
    GOPT_TRY(gopt_ref_rank(x, INDICES, 1, GOPT_RANK_MAX, "indices", e));
    if (!gopt_ref_ranked(x, DATA) || !gopt_ref_ranked(x, INDICES))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA], *indices = &x->in[INDICES];
    if (batch < 0 || batch >= GOPT_MIN(in->rank, indices->rank))
        return gopt_fail(e, GOPT_EINPUT, "attribute batch_dims: %lld, ranks are %d and %d", (long long)batch, in->rank,
                         indices->rank);
    for (int d = 0; d < batch; d++)
        GOPT_TRY(gopt_ref_equal(in->dim[d], indices->dim[d], "batch dimensions", e));
    gopt_dim tuple = indices->dim[indices->rank - 1];
    if (!gopt_dim_is_const(tuple))
        return GOPT_OK;
    if (tuple.k < 1 || tuple.k > in->rank - batch)
        return gopt_fail(e, GOPT_EINPUT, "input indices: tuples of %lld for %lld dimensions", (long long)tuple.k,
                         (long long)(in->rank - batch));
    *width = (int)tuple.k;
    return GOPT_OK;
}

gopt_status gopt_tuple_index_each(gopt_exec *x, const gopt_tensor *data, const gopt_tensor *indices, int batch,
                                  void (*visit)(void *ctx, int64_t k, int64_t place, int64_t n), void *ctx, gopt_err *e)
{
    int width = (int)indices->dim[indices->rank - 1];
    int64_t stride[GOPT_RANK_MAX], along, batches = gopt_ref_count(data->dim, batch);
    int64_t each = gopt_ref_count(indices->dim + batch, indices->rank - 1 - batch); /* tuples of one batch */
    int64_t whole = gopt_ref_count(data->dim + batch, data->rank - batch);          /* elements of one batch */
    int64_t n = gopt_ref_count(data->dim + batch + width, data->rank - batch - width);
    gopt_dims_strides(data->dim, data->rank, stride);
    for (int64_t k = 0; k < batches * each; k++) {
        int64_t place = k / each * whole;
        for (int j = 0; j < width; j++) {
            GOPT_TRY(gopt_move_index(indices, k * width + j, data->dim[batch + j], &along, e));
            place += along * stride[batch + j];
        }
        visit(ctx, k, place, n);
        if (k % 1024 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}
