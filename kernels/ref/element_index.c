/* element_index.c: walks an index tensor whose own position says where else than along the axis an element lies. */
#include "ref/element_index.h"

enum { DATA, INDICES };

gopt_status gopt_element_index_infer(const gopt_infer *x, gopt_err *e)
{
    int axis;
    GOPT_TRY(gopt_ref_type(x, INDICES, GOPT_REF_INDEX, "indices", e));
    if (!gopt_ref_ranked(x, DATA) || !gopt_ref_ranked(x, INDICES))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA], *indices = &x->in[INDICES];
    GOPT_TRY(gopt_move_axis(x->attrs, 0, in->rank, &axis, e));
    GOPT_TRY(gopt_ref_rank(x, INDICES, in->rank, in->rank, "indices", e));
    for (int d = 0; d < in->rank; d++) {
        gopt_dim a = indices->dim[d], b = in->dim[d];
        if (d != axis && gopt_dim_is_const(a) && gopt_dim_is_const(b) && a.k > b.k)
            return gopt_fail(e, GOPT_EINPUT, "input indices: dimension %d has %lld elements, at most %lld expected", d,
                             (long long)a.k, (long long)b.k);
    }
    return GOPT_OK;
}

gopt_status gopt_element_index_each(gopt_exec *x, const gopt_tensor *data, const gopt_tensor *indices,
                                    void (*visit)(void *ctx, int64_t k, int64_t place), void *ctx, gopt_err *e)
{
    int64_t stride[GOPT_RANK_MAX], index[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(indices), along;
    int axis;
    GOPT_TRY(gopt_move_axis(x->attrs, 0, data->rank, &axis, e));
    gopt_dims_strides(data->dim, data->rank, stride);
    for (int64_t k = 0; k < n; k++, gopt_ref_next(index, indices->dim, indices->rank)) {
        GOPT_TRY(gopt_move_index(indices, k, data->dim[axis], &along, e));
        int64_t place = along * stride[axis];
        for (int d = 0; d < data->rank; d++)
            place += d == axis ? 0 : index[d] * stride[d];
        visit(ctx, k, place);
        if (k % 1024 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}
