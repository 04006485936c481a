/* upgrade_nodes.c: older operators that take several of today's. */
#include <string.h>

#include "onnx/upgrade.h"

static gopt_status binary(gopt_onnx_draft *d, const char *op, gopt_value *a, gopt_value *b, gopt_value **out,
                          gopt_err *e)
{
    return gopt_onnx_draft_before(d, op, (gopt_attrs){0}, (gopt_value *[]){a, b}, 2, out, e);
}

/* Gives operand k `n` more dimensions of size 1 at its end. */
static gopt_status append_dims(gopt_onnx_draft *d, int k, int rank, int64_t n, gopt_err *e)
{
    int64_t axes[GOPT_RANK_MAX];
    gopt_value *list;
    if (rank + n > GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EINPUT, "input %d: more than %d dimensions", k, GOPT_RANK_MAX);
    for (int i = 0; i < n; i++)
        axes[i] = rank + i;
    GOPT_TRY(gopt_onnx_draft_ints(d, "axes", axes, n, &list, e));
    return binary(d, "Unsqueeze", d->in[k], list, &d->in[k], e);
}

static gopt_status need_operands(const gopt_onnx_draft *d, int n, gopt_err *e)
{
    for (int k = 0; k < n; k++)
        if (!gopt_onnx_draft_has(d, k))
            return gopt_fail(e, GOPT_EINPUT, "input %d is missing", k);
    return GOPT_OK;
}

static gopt_status need_rank(const gopt_onnx_draft *d, int k, int *rank, gopt_err *e)
{
    *rank = gopt_onnx_draft_fact(d, k).rank;
    return *rank >= 0 ? GOPT_OK
                      : gopt_fail(e, GOPT_EUNSUP, "opset %lld: it cannot be read without the rank of input %d",
                                  (long long)d->version, k);
}

/* With broadcast = 1, the second operand's shape was laid to the first one's from `axis` on. */
gopt_status gopt_onnx_rule_broadcast(gopt_onnx_draft *d, gopt_err *e)
{
    int a, b;
    const gopt_attr *axis = gopt_attr_find(d->attrs, "axis");
    GOPT_TRY(need_operands(d, 2, e));
    if (axis && gopt_attr_int(d->attrs, "broadcast", 0)) {
        GOPT_TRY(need_rank(d, 0, &a, e));
        GOPT_TRY(need_rank(d, 1, &b, e));
        int64_t at = axis->i < 0 ? axis->i + a : axis->i;
        if (at < 0 || at > a - b)
            return gopt_fail(e, GOPT_EINPUT, "attribute axis: %lld does not go with ranks %d and %d",
                             (long long)axis->i, a, b);
        if (a - b > at)
            GOPT_TRY(append_dims(d, 1, b, a - b - at, e));
    }
    GOPT_TRY(gopt_onnx_draft_drop(d, "axis", e));
    return gopt_onnx_draft_drop(d, "broadcast", e);
}

/* A slope of one dimension belonged to the channels. */
gopt_status gopt_onnx_rule_prelu(gopt_onnx_draft *d, gopt_err *e)
{
    int rank;
    GOPT_TRY(need_operands(d, 2, e));
    gopt_fact slope = gopt_onnx_draft_fact(d, 1);
    if (slope.rank != 1 || (gopt_dim_is_const(slope.dim[0]) && slope.dim[0].k == 1))
        return GOPT_OK;
    GOPT_TRY(need_rank(d, 0, &rank, e));
    return rank > 2 ? append_dims(d, 1, 1, rank - 2, e) : GOPT_OK;
}

gopt_status gopt_onnx_rule_batch_norm_test(gopt_onnx_draft *d, gopt_err *e)
{
    if (gopt_attr_int(d->attrs, "is_test", 0) == 0)
        return gopt_fail(e, GOPT_EUNSUP, "is_test = 0: training is not supported");
    return gopt_onnx_draft_drop(d, "is_test", e);
}

/* In inference the other outputs are the statistics that came in. */
gopt_status gopt_onnx_rule_batch_norm_outputs(gopt_onnx_draft *d, gopt_err *e)
{
    enum { OUTPUTS_MAX = 5, MEAN = 3 };
    GOPT_TRY(need_operands(d, OUTPUTS_MAX, e));
    for (int k = 1; k < d->n_out && k < OUTPUTS_MAX; k++)
        if (d->out[k])
            GOPT_TRY(gopt_onnx_draft_copy(d, d->in[MEAN + (k - 1) % 2], d->out[k], e));
    d->n_out = d->n_out > 1 && d->n_out <= OUTPUTS_MAX ? 1 : d->n_out;
    return GOPT_OK;
}

/* spatial = 0: every element had statistics of its own. */
gopt_status gopt_onnx_rule_batch_norm(gopt_onnx_draft *d, gopt_err *e)
{
    gopt_value *epsilon, *v;
    bool spatial = gopt_attr_int(d->attrs, "spatial", 1) != 0;
    if (spatial)
        return gopt_onnx_draft_drop(d, "spatial", e);
    gopt_dtype type = gopt_onnx_draft_fact(d, 4).dtype;
    GOPT_TRY(gopt_onnx_draft_scalar(d, "epsilon", type == GOPT_DTYPE_NONE ? GOPT_DTYPE_F32 : type,
                                    gopt_attr_float(d->attrs, "epsilon", 1e-5), &epsilon, e));
    gopt_value *x = d->in[0], *scale = d->in[1], *bias = d->in[2], *mean = d->in[3], *var = d->in[4];
    GOPT_TRY(binary(d, "Add", var, epsilon, &var, e));
    GOPT_TRY(gopt_onnx_draft_before(d, "Sqrt", (gopt_attrs){0}, &var, 1, &var, e));
    GOPT_TRY(binary(d, "Sub", x, mean, &v, e));
    GOPT_TRY(binary(d, "Div", v, var, &v, e));
    GOPT_TRY(binary(d, "Mul", v, scale, &v, e));
    d->op = "Add";
    d->attrs = (gopt_attrs){0};
    d->in[0] = v;
    d->in[1] = bias;
    d->n_in = 2;
    return GOPT_OK;
}

/* Repeats each of `groups` elements of operand k so that there is one per channel. */
static gopt_status repeat(gopt_onnx_draft *d, int k, int64_t groups, int64_t channels, gopt_err *e)
{
    gopt_value *shape, *v;
    GOPT_TRY(gopt_onnx_draft_ints(d, "groups", (int64_t[]){groups, 1}, 2, &shape, e));
    GOPT_TRY(binary(d, "Reshape", d->in[k], shape, &v, e));
    GOPT_TRY(gopt_onnx_draft_ints(d, "repeats", (int64_t[]){1, channels / groups}, 2, &shape, e));
    GOPT_TRY(binary(d, "Expand", v, shape, &v, e));
    GOPT_TRY(gopt_onnx_draft_ints(d, "channels", &channels, 1, &shape, e));
    return binary(d, "Reshape", v, shape, &d->in[k], e);
}

/* Scale and bias were per group. */
gopt_status gopt_onnx_rule_group_norm(gopt_onnx_draft *d, gopt_err *e)
{
    gopt_fact x = gopt_onnx_draft_fact(d, 0);
    int64_t groups = gopt_attr_int(d->attrs, "num_groups", 0);
    GOPT_TRY(need_operands(d, 3, e));
    if (x.rank < 2 || !gopt_dim_is_const(x.dim[1]))
        return gopt_fail(e, GOPT_EUNSUP, "opset %lld: it cannot be read without the number of channels",
                         (long long)d->version);
    if (groups < 1 || x.dim[1].k % groups)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_groups: %lld does not divide %lld channels", (long long)groups,
                         (long long)x.dim[1].k);
    if (groups == x.dim[1].k)
        return GOPT_OK;
    GOPT_TRY(repeat(d, 1, groups, x.dim[1].k, e));
    return repeat(d, 2, groups, x.dim[1].k, e);
}

/* What the mask of an inference holds was left open. ONNX Runtime makes it zeros, of the data's type before opset 10.
 */
static gopt_status zero_mask(gopt_onnx_draft *d, gopt_err *e)
{
    gopt_value *shape, *zeros;
    gopt_dtype type = d->version < 10 ? gopt_onnx_draft_fact(d, 0).dtype : GOPT_DTYPE_BOOL;
    gopt_attr value = {.name = "value", .kind = GOPT_ATTR_TENSOR};
    value.tensor =
        gopt_tensor_new(&d->x->family->arena, type == GOPT_DTYPE_NONE ? GOPT_DTYPE_F32 : type, 1, &(int64_t){1});
    gopt_attrs attrs = gopt_attrs_with(&d->x->family->arena, (gopt_attrs){0}, value);
    if (!value.tensor || !attrs.at)
        return gopt_oom(e);
    GOPT_TRY(gopt_onnx_draft_before(d, "Shape", (gopt_attrs){0}, d->in, 1, &shape, e));
    GOPT_TRY(gopt_onnx_draft_before(d, "ConstantOfShape", attrs, &shape, 1, &zeros, e));
    return gopt_onnx_draft_copy(d, zeros, d->out[1], e);
}

/* Only inference is supported, where the ratio means nothing. */
gopt_status gopt_onnx_rule_dropout(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(need_operands(d, 1, e));
    if (d->n_out == 2) {
        if (d->out[1])
            GOPT_TRY(zero_mask(d, e));
        d->n_out = 1;
    }
    GOPT_TRY(gopt_onnx_draft_drop(d, "is_test", e));
    return gopt_onnx_draft_drop(d, "ratio", e);
}
