/* attribute_kinds.c: names of the attributes of ai.onnx, all versions, by type. An attribute of another type would be
 * taken for absent by operators, so it must be refused. A few names have had two types. */
#include <string.h>

#include "onnx/attributes.h"

static const char *const of_int[] = {"align_corners",
                                     "allowzero",
                                     "antialias",
                                     "axis",
                                     "batch_axis",
                                     "batch_dims",
                                     "block_size",
                                     "blocksize",
                                     "broadcast",
                                     "ceil_mode",
                                     "center_point_box",
                                     "chunk_size",
                                     "count_include_pad",
                                     "detect_negative",
                                     "detect_positive",
                                     "dtype",
                                     "end",
                                     "exclude_outside",
                                     "exclusive",
                                     "fmod",
                                     "group",
                                     "hidden_size",
                                     "ignore_index",
                                     "input_forget",
                                     "interleaved",
                                     "inverse",
                                     "is_case_sensitive",
                                     "is_causal",
                                     "is_test",
                                     "k",
                                     "keepdims",
                                     "kv_num_heads",
                                     "largest",
                                     "layout",
                                     "left_window_size",
                                     "linear_before_reset",
                                     "max_gram_length",
                                     "max_skip_count",
                                     "maxsplit",
                                     "min_gram_length",
                                     "new_axis",
                                     "noop_with_empty_axes",
                                     "num_groups",
                                     "num_heads",
                                     "num_outputs",
                                     "num_scan_inputs",
                                     "offset_group",
                                     "onesided",
                                     "output_datatype",
                                     "output_dtype",
                                     "output_height",
                                     "output_sequence",
                                     "output_width",
                                     "p",
                                     "periodic",
                                     "precision",
                                     "q_num_heads",
                                     "qk_matmul_output_mode",
                                     "reverse",
                                     "right_window_size",
                                     "rotary_embedding_dim",
                                     "sample_size",
                                     "sampling_ratio",
                                     "saturate",
                                     "seed",
                                     "select_last_index",
                                     "size",
                                     "softmax_precision",
                                     "sorted",
                                     "spatial",
                                     "start",
                                     "stash_type",
                                     "storage_order",
                                     "time_axis",
                                     "to",
                                     "training_mode",
                                     "transA",
                                     "transB",
                                     "upper",
                                     "value_int",
                                     NULL};
static const char *const of_float[] = {"alpha",
                                       "beta",
                                       "bias",
                                       "clip",
                                       "cubic_coeff_a",
                                       "epsilon",
                                       "extrapolation_value",
                                       "gamma",
                                       "height_scale",
                                       "high",
                                       "lambd",
                                       "low",
                                       "max",
                                       "mean",
                                       "min",
                                       "momentum",
                                       "p",
                                       "ratio",
                                       "scale",
                                       "seed",
                                       "softcap",
                                       "spatial_scale",
                                       "value",
                                       "value_float",
                                       "width_scale",
                                       NULL};
static const char *const of_string[] = {"activation",
                                        "approximate",
                                        "auto_pad",
                                        "case_change_action",
                                        "coordinate_transformation_mode",
                                        "delimiter",
                                        "direction",
                                        "equation",
                                        "keep_aspect_ratio_policy",
                                        "locale",
                                        "mode",
                                        "nearest_mode",
                                        "padding_mode",
                                        "pattern",
                                        "pixel_format",
                                        "reduction",
                                        "round_mode",
                                        "to",
                                        "update_rule",
                                        "value_string",
                                        NULL};
static const char *const of_ints[] = {"axes",
                                      "consumed_inputs",
                                      "dilations",
                                      "directions",
                                      "ends",
                                      "kernel_shape",
                                      "ngram_counts",
                                      "ngram_indexes",
                                      "output_padding",
                                      "output_shape",
                                      "paddings",
                                      "pads",
                                      "perm",
                                      "pool_int64s",
                                      "pooled_shape",
                                      "scan_input_axes",
                                      "scan_input_directions",
                                      "scan_output_axes",
                                      "scan_output_directions",
                                      "shape",
                                      "split",
                                      "starts",
                                      "strides",
                                      "value_ints",
                                      NULL};
static const char *const of_floats[] = {"activation_alpha", "activation_beta", "scales",
                                        "value_floats",     "weights",         NULL};
static const char *const of_strings[] = {"activations", "pool_strings", "stopwords", "value_strings", NULL};
static const char *const of_tensor[] = {"value", NULL};

static const struct {
    const char *text;
    const char *const *names;
} kinds[] = {
    [GOPT_ATTR_NONE] = {"nothing", NULL},          [GOPT_ATTR_INT] = {"an int", of_int},
    [GOPT_ATTR_FLOAT] = {"a float", of_float},     [GOPT_ATTR_STRING] = {"a string", of_string},
    [GOPT_ATTR_INTS] = {"ints", of_ints},          [GOPT_ATTR_FLOATS] = {"floats", of_floats},
    [GOPT_ATTR_STRINGS] = {"strings", of_strings}, [GOPT_ATTR_TENSOR] = {"a tensor", of_tensor},
};

static bool listed(gopt_attr_kind kind, const char *name)
{
    const char *const *names = kinds[kind].names;
    while (names && *names && strcmp(*names, name) != 0)
        names++;
    return names && *names;
}

bool gopt_onnx_attribute_fits(const char *name, gopt_attr_kind kind, gopt_attr_kind *want)
{
    if (listed(kind, name))
        return true;
    for (int k = 0; k < (int)(sizeof kinds / sizeof kinds[0]); k++)
        if (listed((gopt_attr_kind)k, name)) {
            *want = (gopt_attr_kind)k;
            return false;
        }
    return true;
}

const char *gopt_onnx_kind_name(gopt_attr_kind kind)
{
    return kinds[kind].text;
}
