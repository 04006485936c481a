/* upgrade.h: rules that take a node from the semantics of an older opset to the newest. */
#ifndef GOPT_ONNX_UPGRADE_H
#define GOPT_ONNX_UPGRADE_H

#include "onnx/draft.h"

typedef gopt_status gopt_onnx_rule(gopt_onnx_draft *d, gopt_err *e);

/* upgrade_operands.c: attributes that became operands */
gopt_onnx_rule gopt_onnx_rule_axes, gopt_onnx_rule_slice, gopt_onnx_rule_split, gopt_onnx_rule_split_even;
gopt_onnx_rule gopt_onnx_rule_clip, gopt_onnx_rule_pad, gopt_onnx_rule_topk, gopt_onnx_rule_reshape, gopt_onnx_rule_dft;
gopt_onnx_rule gopt_onnx_rule_resize, gopt_onnx_rule_upsample;

/* upgrade_meaning.c: what meant something else */
gopt_onnx_rule gopt_onnx_rule_consumed, gopt_onnx_rule_concat, gopt_onnx_rule_cast, gopt_onnx_rule_softmax;
gopt_onnx_rule gopt_onnx_rule_scatter, gopt_onnx_rule_roi_align, gopt_onnx_rule_grid_sample, gopt_onnx_rule_recurrent;
gopt_onnx_rule gopt_onnx_rule_gemm, gopt_onnx_rule_power, gopt_onnx_rule_resize_tf;
gopt_onnx_rule gopt_onnx_rule_unsupported;

/* upgrade_nodes.c, upgrade_scan.c: what becomes several nodes */
gopt_onnx_rule gopt_onnx_rule_broadcast, gopt_onnx_rule_prelu, gopt_onnx_rule_batch_norm,
    gopt_onnx_rule_batch_norm_outputs;
gopt_onnx_rule gopt_onnx_rule_batch_norm_test, gopt_onnx_rule_group_norm, gopt_onnx_rule_scan, gopt_onnx_rule_dropout;

#endif
