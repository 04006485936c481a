/* parts.h: the functions that the files of one level put into its table. */
#ifndef GOPT_CPU_SIMD_PARTS_H
#define GOPT_CPU_SIMD_PARTS_H

#include "cpu/simd.h"
#include "cpu/simd/level.h"

/* The register tile: 3 vectors wide; as many rows as registers allow. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPT_MR 8
#define GOPT_NV 3
#elif defined(__AVX2__)
#define GOPT_MR 4
#define GOPT_NV 3
#else
#define GOPT_MR 4
#define GOPT_NV 2
#endif
#define GOPT_NR (GOPT_NV * GOPT_VW)

/* What loops over register arrays need to vanish. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

void GOPT_LEVEL(gopt_tile_run)(const gopt_tile *p, float *const *reg, int n);
void GOPT_LEVEL(gopt_fill)(float *dst, float value, int64_t n);
void GOPT_LEVEL(gopt_pack)(const gopt_packing *p);
void GOPT_LEVEL(gopt_transpose)(float *dst, int64_t dst_row, const float *src, int64_t src_row, int64_t rows,
                                int64_t cols);
void GOPT_LEVEL(gopt_gemm)(const gopt_gemm *g);
void GOPT_LEVEL(gopt_taps_run)(const gopt_taps *t, float *dst, int64_t n);
void GOPT_LEVEL(gopt_windows_max)(const gopt_windows *w, const float *src, float *dst, float *row);
void GOPT_LEVEL(gopt_windows_sum)(const gopt_windows *w, const float *src, float *dst, float *row);
void GOPT_LEVEL(gopt_compact)(float *dst, const float *src, int64_t first, int64_t n, int64_t cols, int64_t used);
void GOPT_LEVEL(gopt_spread)(const gopt_planes *p, const float *src, float *dst);
void GOPT_LEVEL(gopt_gemv)(int64_t n, int64_t k, const float *x, int64_t x_step, const float *b, int64_t b_row,
                           float *y);
float GOPT_LEVEL(gopt_dot)(int64_t n, const float *a, const float *b);
float GOPT_LEVEL(gopt_reduce_row)(gopt_reduction kind, const float *x, int64_t n, float shift);
void GOPT_LEVEL(gopt_reduce_into)(gopt_reduction kind, float *acc, const float *x, int64_t n, const float *shift);
void GOPT_LEVEL(gopt_add)(float *y, const float *a, const float *b, int64_t n);
void GOPT_LEVEL(gopt_affine)(float *y, const float *x, int64_t n, float origin, float a, float b);
void GOPT_LEVEL(gopt_scale_row)(float *y, const float *x, int64_t n, float origin, float a, float b, const float *scale,
                                const float *shift);
void GOPT_LEVEL(gopt_lrn_run)(const gopt_lrn *p, const float *x, const float *near, float *y, int64_t n);
float GOPT_LEVEL(gopt_moments)(const float *x, int64_t n, float origin, float *square);
float GOPT_LEVEL(gopt_exp_row)(float *y, const float *x, int64_t n, float shift);
void GOPT_LEVEL(gopt_softmax_row)(float *y, const float *x, int64_t n, bool log);
void GOPT_LEVEL(gopt_softmax_columns)(float *y, const float *x, int64_t n, int64_t step, int64_t cols, bool log);
void GOPT_LEVEL(gopt_state_product_run)(const gopt_state_product *p);
void GOPT_LEVEL(gopt_lstm_cell)(int64_t n, const float *sums, float *c, float *h);
void GOPT_LEVEL(gopt_gru_cell)(int64_t n, const float *sums, const float *x, const float *h, float *out);
void GOPT_LEVEL(gopt_gru_reset)(int64_t n, const float *sums, const float *h, float *z, float *reset);
void GOPT_LEVEL(gopt_gru_update)(int64_t n, const float *sums, const float *z, const float *h, float *out);
void GOPT_LEVEL(gopt_add_strided)(float *dst, int64_t stride, const float *src, int64_t n);
void GOPT_LEVEL(gopt_widen)(int16_t *dst, const void *src, bool is_signed, int64_t n, int zero);
void GOPT_LEVEL(gopt_pairs_run)(const gopt_pairs *p);
void GOPT_LEVEL(gopt_pair_bytes)(int16_t *dst, int unit, const uint8_t *a, const uint8_t *b, int64_t n, bool is_signed,
                                 int zero);
void GOPT_LEVEL(gopt_dots_run)(const gopt_dots *d);
void GOPT_LEVEL(gopt_narrow_row)(gopt_dtype d, int64_t k, const float *x, const void *panel, float *y);
void GOPT_LEVEL(gopt_from_integers)(gopt_dtype d, const void *src, float *dst, int64_t n);
void GOPT_LEVEL(gopt_to_integers)(gopt_dtype d, const float *src, void *dst, int64_t n);
void GOPT_LEVEL(gopt_spread_bytes)(const gopt_planes *p, const uint8_t *src, bool is_signed, int zero, float *dst);
void GOPT_LEVEL(gopt_extremes)(const float *x, int64_t n, float *low, float *high);
void GOPT_LEVEL(gopt_quantize)(uint8_t *dst, const float *x, int64_t n, float scale, float zero);
void GOPT_LEVEL(gopt_half_widen)(float *dst, const uint16_t *src, int64_t n, bool brain);
void GOPT_LEVEL(gopt_half_narrow)(uint16_t *dst, const float *src, int64_t n, bool brain);
void GOPT_LEVEL(gopt_winograd_input)(int m, const gopt_taps *t, int64_t n, float *v, int64_t step);
void GOPT_LEVEL(gopt_winograd_output)(int m, const float *s, int64_t step, int64_t n, float bias, float *dst,
                                      int64_t dst_step);

#endif
