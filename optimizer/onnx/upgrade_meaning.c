/* upgrade_meaning.c: defaults, names and attributes that meant something else in older opsets. */
#include <string.h>

#include "onnx/upgrade.h"

/* A hint for running in place. */
gopt_status gopt_onnx_rule_consumed(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_onnx_draft_drop(d, "consumed_inputs", e);
}

gopt_status gopt_onnx_rule_concat(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_onnx_draft_default_int(d, "axis", 1, e);
}

/* "FLOAT" and so on. */
gopt_status gopt_onnx_rule_cast(gopt_onnx_draft *d, gopt_err *e)
{
    static const char *const names[] = {"",       "FLOAT",  "UINT8",     "INT8",      "UINT16",  "INT16",
                                        "INT32",  "INT64",  "STRING",    "BOOL",      "FLOAT16", "DOUBLE",
                                        "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
    const char *to = gopt_attr_string(d->attrs, "to", NULL);
    for (int i = 1; to && i < GOPT_COUNT(names); i++)
        if (!strcmp(to, names[i]))
            return gopt_onnx_draft_attr(d, (gopt_attr){.name = "to", .kind = GOPT_ATTR_INT, .i = i}, e);
    return to ? gopt_fail(e, GOPT_EINPUT, "attribute to: unknown type \"%.40s\"", to) : GOPT_OK;
}

/* All dimensions from the axis on were one. */
gopt_status gopt_onnx_rule_softmax(gopt_onnx_draft *d, gopt_err *e)
{
    GOPT_TRY(gopt_onnx_draft_default_int(d, "axis", 1, e));
    return gopt_onnx_draft_attr(d, (gopt_attr){.name = "coerce_2d", .kind = GOPT_ATTR_INT, .i = 1}, e);
}

gopt_status gopt_onnx_rule_scatter(gopt_onnx_draft *d, gopt_err *e)
{
    (void)e;
    d->op = "ScatterElements";
    return GOPT_OK;
}

gopt_status gopt_onnx_rule_roi_align(gopt_onnx_draft *d, gopt_err *e)
{
    if (gopt_attr_find(d->attrs, "coordinate_transformation_mode"))
        return GOPT_OK;
    return gopt_onnx_draft_text(d, "coordinate_transformation_mode", "output_half_pixel", e);
}

gopt_status gopt_onnx_rule_grid_sample(gopt_onnx_draft *d, gopt_err *e)
{
    const char *mode = gopt_attr_string(d->attrs, "mode", "bilinear");
    if (!strcmp(mode, "bilinear"))
        return gopt_onnx_draft_text(d, "mode", "linear", e);
    return strcmp(mode, "bicubic") ? GOPT_OK : gopt_onnx_draft_text(d, "mode", "cubic", e);
}

/* Rounding (x + 0.5) / scale down is rounding the half-pixel coordinate to the nearest, halves up. */
gopt_status gopt_onnx_rule_resize_tf(gopt_onnx_draft *d, gopt_err *e)
{
    if (strcmp(gopt_attr_string(d->attrs, "coordinate_transformation_mode", ""), "tf_half_pixel_for_nn") != 0)
        return GOPT_OK;
    if (strcmp(gopt_attr_string(d->attrs, "mode", "nearest"), "nearest") != 0 ||
        strcmp(gopt_attr_string(d->attrs, "nearest_mode", "round_prefer_floor"), "floor") != 0)
        return gopt_fail(e, GOPT_EUNSUP, "tf_half_pixel_for_nn is supported with mode nearest and nearest_mode floor");
    GOPT_TRY(gopt_onnx_draft_text(d, "coordinate_transformation_mode", "half_pixel", e));
    return gopt_onnx_draft_text(d, "nearest_mode", "round_prefer_ceil", e);
}

gopt_status gopt_onnx_rule_recurrent(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_onnx_draft_drop(d, "output_sequence", e);
}

/* C was broadcast only where it said so. */
gopt_status gopt_onnx_rule_gemm(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_onnx_draft_drop(d, "broadcast", e);
}

/* The power of a norm was a float. */
gopt_status gopt_onnx_rule_power(gopt_onnx_draft *d, gopt_err *e)
{
    const gopt_attr *p = gopt_attr_find(d->attrs, "p");
    if (!p || p->kind != GOPT_ATTR_FLOAT)
        return GOPT_OK;
    if (!(p->f >= 1 && p->f <= 64) || p->f != (double)(int64_t)p->f)
        return gopt_fail(e, GOPT_EUNSUP, "attribute p: %g, a small whole number expected", p->f);
    return gopt_onnx_draft_attr(d, (gopt_attr){.name = "p", .kind = GOPT_ATTR_INT, .i = (int64_t)p->f}, e);
}

gopt_status gopt_onnx_rule_unsupported(gopt_onnx_draft *d, gopt_err *e)
{
    return gopt_fail(e, GOPT_EUNSUP, "the operator's form in opset %lld is not supported", (long long)d->version);
}
