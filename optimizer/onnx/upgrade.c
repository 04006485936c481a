/* upgrade.c: which rules apply to which operator of ai.onnx, up to which opset.
 *
 * Rules are tried in the order of the table, each against the operator as the earlier ones have left it. An operator
 * that has no row means today what it has always meant, as far as it is supported. */
#include "onnx/upgrade.h"

#include <string.h>

typedef struct row {
    const char *op; /* NULL: every one */
    int64_t upto;   /* the last opset with the older form */
    gopt_onnx_rule *rule;
} row;

enum { ALWAYS = GOPT_ONNX_OPSET_MAX }; /* an operator that is gone, but met in files that claim a newer opset */

static const row rows[] = {
    {NULL, 5, gopt_onnx_rule_consumed},

    {"Add", 6, gopt_onnx_rule_broadcast},
    {"And", 6, gopt_onnx_rule_broadcast},
    {"Div", 6, gopt_onnx_rule_broadcast},
    {"Equal", 6, gopt_onnx_rule_broadcast},
    {"Greater", 6, gopt_onnx_rule_broadcast},
    {"Less", 6, gopt_onnx_rule_broadcast},
    {"Mul", 6, gopt_onnx_rule_broadcast},
    {"Or", 6, gopt_onnx_rule_broadcast},
    {"Pow", 6, gopt_onnx_rule_broadcast},
    {"Sub", 6, gopt_onnx_rule_broadcast},
    {"Xor", 6, gopt_onnx_rule_broadcast},
    {"PRelu", 6, gopt_onnx_rule_prelu},
    {"Gemm", 6, gopt_onnx_rule_gemm},

    {"ReduceL1", 17, gopt_onnx_rule_axes},
    {"ReduceL2", 17, gopt_onnx_rule_axes},
    {"ReduceLogSum", 17, gopt_onnx_rule_axes},
    {"ReduceLogSumExp", 17, gopt_onnx_rule_axes},
    {"ReduceMax", 17, gopt_onnx_rule_axes},
    {"ReduceMean", 17, gopt_onnx_rule_axes},
    {"ReduceMin", 17, gopt_onnx_rule_axes},
    {"ReduceProd", 17, gopt_onnx_rule_axes},
    {"ReduceSum", 12, gopt_onnx_rule_axes},
    {"ReduceSumSquare", 17, gopt_onnx_rule_axes},
    {"Squeeze", 12, gopt_onnx_rule_axes},
    {"Unsqueeze", 12, gopt_onnx_rule_axes},

    {"Slice", 9, gopt_onnx_rule_slice},
    {"Split", 12, gopt_onnx_rule_split},
    {"Split", 17, gopt_onnx_rule_split_even},
    {"Clip", 10, gopt_onnx_rule_clip},
    {"Pad", 10, gopt_onnx_rule_pad},
    {"TopK", 9, gopt_onnx_rule_topk},
    {"Reshape", 4, gopt_onnx_rule_reshape},
    {"DFT", 19, gopt_onnx_rule_dft},
    {"Dropout", 11, gopt_onnx_rule_dropout},
    {"Resize", 10, gopt_onnx_rule_resize},
    {"Resize", 12, gopt_onnx_rule_resize_tf},
    {"Upsample", ALWAYS, gopt_onnx_rule_upsample},

    {"Softmax", 12, gopt_onnx_rule_softmax},
    {"LogSoftmax", 12, gopt_onnx_rule_softmax},
    {"Hardmax", 12, gopt_onnx_rule_softmax},
    {"Scatter", ALWAYS, gopt_onnx_rule_scatter},
    {"Concat", 3, gopt_onnx_rule_concat},
    {"Cast", 5, gopt_onnx_rule_cast},
    {"RoiAlign", 15, gopt_onnx_rule_roi_align},
    {"GridSample", 19, gopt_onnx_rule_grid_sample},
    {"RNN", 6, gopt_onnx_rule_recurrent},
    {"LSTM", 6, gopt_onnx_rule_recurrent},
    {"GRU", 6, gopt_onnx_rule_recurrent},
    {"LpPool", 1, gopt_onnx_rule_power},
    {"GlobalLpPool", 1, gopt_onnx_rule_power},
    {"Tile", 5, gopt_onnx_rule_unsupported},
    {"MeanVarianceNormalization", 8, gopt_onnx_rule_unsupported},

    {"BatchNormalization", 6, gopt_onnx_rule_batch_norm_test},
    {"BatchNormalization", 13, gopt_onnx_rule_batch_norm_outputs},
    {"BatchNormalization", 8, gopt_onnx_rule_batch_norm},
    {"GroupNormalization", 20, gopt_onnx_rule_group_norm},
    {"Scan", 8, gopt_onnx_rule_scan},
};

bool gopt_onnx_upgrades(const char *op)
{
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        if (rows[i].op && !strcmp(rows[i].op, op))
            return true;
    return false;
}

gopt_status gopt_onnx_upgrade(gopt_onnx_draft *d, gopt_err *e)
{
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        if (d->version <= rows[i].upto && (!rows[i].op || !strcmp(rows[i].op, d->op)))
            GOPT_TRY(rows[i].rule(d, e));
    return GOPT_OK;
}
