/* group_norm.c: every group of channels of every image is one row to normalize. */
#include "ref/group_norm.h"

#include "ref/layer_norm.h"

static gopt_status check_vector(gopt_infer *x, int i, int64_t groups, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    gopt_dim n = x->in[i].rank == 1 ? x->in[i].dim[0] : GOPT_DIM_UNKNOWN;
    if (groups && gopt_dim_is_const(n) && n.k == groups)
        return GOPT_OK;
    return gopt_ref_vector(x, i, x->in[0].dim[1], name, e);
}

gopt_status gopt_group_norm_infer(gopt_infer *x, int64_t groups, gopt_err *e)
{
    GOPT_TRY(gopt_ref_infer_float(x, 2, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    gopt_dim channels = x->in[0].dim[1];
    if (groups && gopt_dim_is_const(channels) && channels.k % groups)
        return gopt_fail(e, GOPT_EINPUT, "%lld channels do not divide into %lld groups", (long long)channels.k,
                         (long long)groups);
    GOPT_TRY(check_vector(x, 1, groups, "scale", e));
    return check_vector(x, 2, groups, "bias", e);
}

/* The value for channel c of a vector with one value for each channel or group. */
static double pick(const gopt_tensor *t, const double *v, int64_t c, int64_t channels)
{
    return v[t->dim[0] == channels ? c : c / (channels / t->dim[0])];
}

gopt_status gopt_group_norm_run(gopt_exec *x, int64_t groups, gopt_err *e)
{
    double *v, *scale, *bias, mean, inv, epsilon = gopt_attr_float(x->attrs, "epsilon", 1e-5f);
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    GOPT_TRY(gopt_ref_load(x, 1, &scale, e));
    GOPT_TRY(gopt_ref_load(x, 2, &bias, e));
    const gopt_tensor *in = x->in[0];
    int64_t batch = in->dim[0], channels = in->dim[1], size = gopt_ref_count(in->dim + 2, in->rank - 2);
    groups = groups ? groups : channels;
    int64_t each = groups ? channels / groups : 0;
    for (int64_t i = 0; i < batch * groups; i++)
        gopt_layer_norm_row(false, epsilon, v + i * each * size, each * size, &mean, &inv);
    for (int64_t i = 0; i < batch * channels; i++) {
        double s = pick(x->in[1], scale, i % channels, channels), b = pick(x->in[2], bias, i % channels, channels);
        for (int64_t j = 0; j < size; j++)
            v[i * size + j] = v[i * size + j] * s + b;
    }
    gopt_ref_store(x, 0, v);
    return GOPT_OK;
}
