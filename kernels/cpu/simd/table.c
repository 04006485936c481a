/* table.c: the level's table. */
#include "cpu/simd/parts.h"

extern const gopt_simd GOPT_LEVEL(gopt_simd);

const gopt_simd GOPT_LEVEL(gopt_simd) = {
    .width = GOPT_VW,
    .mr = GOPT_MR,
    .nr = GOPT_NR,
    .tile = GOPT_LEVEL(gopt_tile_run),
    .fill = GOPT_LEVEL(gopt_fill),
    .pack = GOPT_LEVEL(gopt_pack),
    .transpose = GOPT_LEVEL(gopt_transpose),
    .gemm = GOPT_LEVEL(gopt_gemm),
    .taps = GOPT_LEVEL(gopt_taps_run),
    .taps_max = GOPT_LEVEL(gopt_taps_max),
    .compact = GOPT_LEVEL(gopt_compact),
    .spread = GOPT_LEVEL(gopt_spread),
    .gemv = GOPT_LEVEL(gopt_gemv),
    .dot = GOPT_LEVEL(gopt_dot),
    .reduce_row = GOPT_LEVEL(gopt_reduce_row),
    .reduce_into = GOPT_LEVEL(gopt_reduce_into),
    .add = GOPT_LEVEL(gopt_add),
    .add_strided = GOPT_LEVEL(gopt_add_strided),
    .affine = GOPT_LEVEL(gopt_affine),
    .scale_row = GOPT_LEVEL(gopt_scale_row),
    .moments = GOPT_LEVEL(gopt_moments),
    .softmax_row = GOPT_LEVEL(gopt_softmax_row),
    .softmax_columns = GOPT_LEVEL(gopt_softmax_columns),
    .lstm_cell = GOPT_LEVEL(gopt_lstm_cell),
    .gru_cell = GOPT_LEVEL(gopt_gru_cell),
    .gru_reset = GOPT_LEVEL(gopt_gru_reset),
    .gru_update = GOPT_LEVEL(gopt_gru_update),
    .widen = GOPT_LEVEL(gopt_widen),
    .dots = GOPT_LEVEL(gopt_dots),
    .quantize = GOPT_LEVEL(gopt_quantize),
    .winograd_input = GOPT_LEVEL(gopt_winograd_input),
    .winograd_output = GOPT_LEVEL(gopt_winograd_output),
};
