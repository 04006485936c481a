/* upgrade_operands.c: attributes of older opsets that are operands today. */
#include <string.h>

#include "onnx/upgrade.h"

/* An ints attribute becomes constant operand k, where it is given. */
static gopt_status move_ints(gopt_onnx_draft *d, const char *name, int k, gopt_err *e)
{
    int64_t n;
    const int64_t *v = gopt_attr_ints(d->attrs, name, &n);
    if (v && !gopt_onnx_draft_has(d, k)) {
        gopt_value *made;
        GOPT_TRY(gopt_onnx_draft_ints(d, name, v, n, &made, e));
        GOPT_TRY(gopt_onnx_draft_set(d, k, made, e));
    }
    return gopt_onnx_draft_drop(d, name, e);
}

/* A float attribute becomes a scalar operand k of the type of operand 0. */
static gopt_status move_float(gopt_onnx_draft *d, const char *name, int k, gopt_err *e)
{
    gopt_dtype type = gopt_onnx_draft_fact(d, 0).dtype;
    if (gopt_attr_find(d->attrs, name)) {
        gopt_value *made;
        GOPT_TRY(gopt_onnx_draft_scalar(d, name, type == GOPT_DTYPE_NONE ? GOPT_DTYPE_F32 : type,
                                        gopt_attr_float(d->attrs, name, 0), &made, e));
        GOPT_TRY(gopt_onnx_draft_set(d, k, made, e));
    }
    return gopt_onnx_draft_drop(d, name, e);
}

static gopt_status required(const gopt_onnx_draft *d, const char *name, gopt_err *e)
{
    return gopt_attr_find(d->attrs, name) ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "attribute %s is missing", name);
}

gopt_status gopt_onnx_rule_axes(gopt_onnx_draft *d, gopt_err *e)
{
    return move_ints(d, "axes", 1, e);
}

gopt_status gopt_onnx_rule_slice(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(required(d, "starts", e));
    GOPT_TRY(required(d, "ends", e));
    GOPT_TRY(move_ints(d, "starts", 1, e));
    GOPT_TRY(move_ints(d, "ends", 2, e));
    return move_ints(d, "axes", 3, e);
}

gopt_status gopt_onnx_rule_split(gopt_onnx_draft *d, gopt_err *e)
{
    return move_ints(d, "split", 1, e);
}

gopt_status gopt_onnx_rule_split_even(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_onnx_draft_has(d, 1) ? GOPT_OK : gopt_onnx_draft_default_int(d, "num_outputs", d->n_out, e);
}

gopt_status gopt_onnx_rule_clip(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(move_float(d, "min", 1, e));
    return move_float(d, "max", 2, e);
}

gopt_status gopt_onnx_rule_pad(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(move_ints(d, "paddings", 1, e)); /* its name in opset 1 */
    GOPT_TRY(move_ints(d, "pads", 1, e));
    return move_float(d, "value", 2, e);
}

gopt_status gopt_onnx_rule_topk(gopt_onnx_draft *d, gopt_err *e)
{
    gopt_value *k;
    GOPT_TRY(required(d, "k", e));
    int64_t v = gopt_attr_int(d->attrs, "k", 0);
    GOPT_TRY(gopt_onnx_draft_ints(d, "k", &v, 1, &k, e));
    GOPT_TRY(gopt_onnx_draft_set(d, 1, k, e));
    return gopt_onnx_draft_drop(d, "k", e);
}

gopt_status gopt_onnx_rule_reshape(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(required(d, "shape", e));
    return move_ints(d, "shape", 1, e);
}

gopt_status gopt_onnx_rule_dft(gopt_onnx_draft *d, gopt_err *e)
{
    gopt_value *axis;
    GOPT_TRY(gopt_onnx_draft_scalar(d, "axis", GOPT_DTYPE_I64, (double)gopt_attr_int(d->attrs, "axis", 1), &axis, e));
    GOPT_TRY(gopt_onnx_draft_set(d, 2, axis, e));
    return gopt_onnx_draft_drop(d, "axis", e);
}

/* ---- Upsample, and Resize before it could choose: x_out = x_in * scale, rounded down ---- */

gopt_status gopt_onnx_rule_resize(gopt_onnx_draft *d, gopt_err *e)
{
    if (d->n_in != 2)
        return gopt_fail(e, GOPT_EINPUT, "%d inputs, 2 expected", d->n_in);
    GOPT_TRY(gopt_onnx_draft_set(d, 2, d->in[1], e));
    d->in[1] = NULL;
    if (!strcmp(gopt_attr_string(d->attrs, "mode", ""), "bilinear"))
        GOPT_TRY(gopt_onnx_draft_text(d, "mode", "linear", e));
    GOPT_TRY(gopt_onnx_draft_text(d, "coordinate_transformation_mode", "asymmetric", e));
    return gopt_onnx_draft_text(d, "nearest_mode", "floor", e);
}

/* Scales of opset 7 and 8 are an attribute, those of opset 1 two. */
static gopt_status upsample_scales(const gopt_onnx_draft *d, float *scales, int64_t *n, gopt_err *e)
{
    const gopt_attr *a = gopt_attr_find(d->attrs, "scales");
    if (!a && gopt_attr_find(d->attrs, "height_scale") && gopt_attr_find(d->attrs, "width_scale")) {
        scales[0] = scales[1] = 1;
        scales[2] = (float)gopt_attr_float(d->attrs, "height_scale", 1);
        scales[3] = (float)gopt_attr_float(d->attrs, "width_scale", 1);
        *n = 4;
        return GOPT_OK;
    }
    if (!a || a->n > GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EINPUT, a ? "attribute scales: too many values" : "attribute scales is missing");
    for (*n = 0; *n < a->n; ++*n)
        scales[*n] = (float)a->floats[*n];
    return GOPT_OK;
}

gopt_status gopt_onnx_rule_upsample(gopt_onnx_draft *d, gopt_err *e)
{
    if (!gopt_onnx_draft_has(d, 1)) {
        float scales[GOPT_RANK_MAX];
        gopt_value *made;
        int64_t n = 0;
        GOPT_TRY(upsample_scales(d, scales, &n, e));
        GOPT_TRY(gopt_onnx_draft_floats(d, "scales", scales, n, &made, e));
        GOPT_TRY(gopt_onnx_draft_set(d, 1, made, e));
    }
    GOPT_TRY(gopt_onnx_draft_drop(d, "scales", e));
    GOPT_TRY(gopt_onnx_draft_drop(d, "height_scale", e));
    GOPT_TRY(gopt_onnx_draft_drop(d, "width_scale", e));
    d->op = "Resize";
    return gopt_onnx_rule_resize(d, e);
}
