/* simd.h: the vector code: one table of functions per instruction set level, all built from the same sources. */
#ifndef GOPT_CPU_SIMD_H
#define GOPT_CPU_SIMD_H

#include "base/cpu.h"
#include "cpu/tile.h"

/* c[m x n] = a * b, or += with accumulate. a is packed in tiles of mr rows, b in panels of nr columns or lies in rows;
 * whole vectors of b are read, so the last panel needs room up to a multiple of `width` columns. */
typedef struct gopt_gemm {
    int64_t m, n, k;
    const float *a;
    int64_t a_tile; /* floats from one tile of a to the next */
    const float *b;
    int64_t b_panel;         /* floats from one panel to the next */
    int64_t b_row;           /* floats from one row of a panel to the next */
    const int64_t *b_offset; /* instead of b_row where not NULL: where each of the k rows begins */
    float *c;
    int64_t c_row;
    bool accumulate;
} gopt_gemm;

/* n vectors of length k, element (i, p) at src[i * step + p * depth], to tiles of `unit` of them: dst[tile][p][unit],
 * times scale; the last tile is filled up with zeros. Only tiles [first, last) are written. */
typedef struct gopt_packing {
    const float *src;
    int64_t n, k, step, depth;
    int unit;
    float scale;
    float *dst;
    int64_t first, last;
} gopt_packing;

/* out[i][j] = the product of row i of a and row j of b, for m and n rows of k 16-bit integers; steps in elements. */
typedef struct gopt_dots {
    int64_t m, n, k;
    const int16_t *a, *b;
    int64_t a_step, b_step;
    int32_t *out;
    int64_t out_step;
} gopt_dots;

/* sums[rows x n] = a * b over k pairs of 16-bit integers: a tile of mr rows by panels of nr columns. Whole vectors of
 * sums are written, so a row needs room up to a multiple of `width`. */
typedef struct gopt_pairs {
    int rows; /* of the tile that are wanted */
    int64_t n, k;
    const int16_t *a, *b;
    int64_t b_panel; /* elements from one panel to the next */
    int32_t *sums;
    int64_t sums_row;
} gopt_pairs;

/* sums += x[0..k) times panels of which a row's first `vectors` (1 to 4) vectors count; steps in floats. */
typedef struct gopt_state_product {
    const float *x;
    int64_t k;
    const float *b;
    int64_t b_row, b_panel;
    int vectors;
    int64_t panels;
    float *sums;
    int64_t sums_panel;
    bool backwards; /* read from the last panel's end */
} gopt_state_product;

/* See planes.h. */
enum { GOPT_PLANES_MAX = 32 };
typedef struct gopt_planes {
    int64_t ih, iw, pad_h, pad_w, stride_h, stride_w;
    int n_y, n_x, y[GOPT_PLANES_MAX], x[GOPT_PLANES_MAX]; /* remainders of coordinates: one plane for each pair */
    int64_t rows, cols;                                   /* of a plane */
    int64_t size;                                         /* floats of a channel, all its planes */
} gopt_planes;

/* Windows over a plane. */
typedef struct gopt_windows {
    int64_t ih, iw, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w; /* above, left */
    int64_t room;         /* floats of a row with its padding and what vectors read past it */
} gopt_windows;

/* y[j] = begin + sum over k of weight[k] * src[offset[k] + j]; weights are 1 when NULL */
typedef struct gopt_taps {
    const float *src, *weight;
    const int64_t *offset;
    int64_t n;
    float begin;
} gopt_taps;

/* y[j] = x[j] / (bias + alpha * sum over k < taps of near[k * step + j]^2)^beta */
typedef struct gopt_lrn {
    float alpha, beta, bias;
    int64_t taps, step;
} gopt_lrn;

typedef enum gopt_reduction {
    GOPT_REDUCE_SUM,
    GOPT_REDUCE_MAX, /* extremes are NaN when an element is */
    GOPT_REDUCE_MIN,
    GOPT_REDUCE_PROD,
    GOPT_REDUCE_ABS,
    GOPT_REDUCE_SQUARE,
    GOPT_REDUCE_EXP /* sum of e^(x - shift) */
} gopt_reduction;

typedef struct gopt_simd {
    int width;  /* floats of a vector */
    int mr, nr; /* tile of gemm */
    void (*tile)(const gopt_tile *p, float *const *reg, int n);
    void (*fill)(float *dst, float value, int64_t n);
    void (*pack)(const gopt_packing *p);
    /* dst[i][j] = src[j][i] */
    void (*transpose)(float *dst, int64_t dst_row, const float *src, int64_t src_row, int64_t rows, int64_t cols);
    void (*gemm)(const gopt_gemm *g);
    void (*taps)(const gopt_taps *t, float *y, int64_t n);
    /* Numbers [first, first + n) of rows of `cols`, of which src is the first, without those at columns from `used` on.
     * Reads up to a vector past the last one. */
    void (*compact)(float *dst, const float *src, int64_t first, int64_t n, int64_t cols, int64_t used);
    void (*spread)(const gopt_planes *p, const float *src, float *dst); /* one channel */
    /* The largest, or the sum, of each window of one channel; row has w->room floats. Padding does not count. */
    void (*windows_max)(const gopt_windows *w, const float *src, float *dst, float *row);
    void (*windows_sum)(const gopt_windows *w, const float *src, float *dst, float *row);
    /* y[j] = sum of x[p * x_step] * b[p * b_row + j] */
    void (*gemv)(int64_t n, int64_t k, const float *x, int64_t x_step, const float *b, int64_t b_row, float *y);
    float (*dot)(int64_t n, const float *a, const float *b);
    float (*reduce_row)(gopt_reduction kind, const float *x, int64_t n, float shift);
    void (*reduce_into)(gopt_reduction kind, float *acc, const float *x, int64_t n, const float *shift);
    void (*add)(float *y, const float *a, const float *b, int64_t n);
    void (*add_strided)(float *dst, int64_t stride, const float *src, int64_t n); /* dst[i * stride] += src[i] */
    /* y = (x - origin) * a + b */
    void (*affine)(float *y, const float *x, int64_t n, float origin, float a, float b);
    /* y = ((x - origin) * a + b) * scale + shift, those by element; shift may be NULL */
    void (*scale_row)(float *y, const float *x, int64_t n, float origin, float a, float b, const float *scale,
                      const float *shift);
    void (*lrn)(const gopt_lrn *p, const float *x, const float *near, float *y, int64_t n);
    /* Sum of x - origin; into *square that of its squares. */
    float (*moments)(const float *x, int64_t n, float origin, float *square);
    float (*exp_row)(float *y, const float *x, int64_t n, float shift); /* y = e^(x - shift); their sum */
    void (*softmax_row)(float *y, const float *x, int64_t n, bool log);
    /* along n elements that lie `step` apart, for `cols` neighbours */
    void (*softmax_columns)(float *y, const float *x, int64_t n, int64_t step, int64_t cols, bool log);
    void (*state_product)(const gopt_state_product *p);
    /* Recurrent cells over n units. Sums before their activations: by panels of `width` units, all gates of a panel
     * side by side. lstm: gates i, o, f, c; updates c and writes h. */
    void (*lstm_cell)(int64_t n, const float *sums, float *c, float *h);
    /* gru: gates z, r, and the recurrent part of h; the other part of h lies in x, at the same place. */
    void (*gru_cell)(int64_t n, const float *sums, const float *x, const float *h, float *out);
    /* gru that resets before the product, in two steps: z and r * h; then the new state from the sums of h. */
    void (*gru_reset)(int64_t n, const float *sums, const float *h, float *z, float *reset);
    void (*gru_update)(int64_t n, const float *sums, const float *z, const float *h, float *out);
    /* 8-bit integers less their zero point; products of rows of them; bytes from floats. */
    void (*widen)(int16_t *dst, const void *src, bool is_signed, int64_t n, int zero);
    void (*dots)(const gopt_dots *d);
    void (*pairs)(const gopt_pairs *p);
    /* Pairs of two rows of n bytes less their zero point: dst[2 i] from a, dst[2 i + 1] from b (NULL: zeros); zeros up
     * to `unit` pairs. */
    void (*pair_bytes)(int16_t *dst, int unit, const uint8_t *a, const uint8_t *b, int64_t n, bool is_signed, int zero);
    /* y[0..nr) = x[0..k) times a panel of nr columns of float16, bfloat16, int8 or uint8. */
    void (*narrow_row)(gopt_dtype d, int64_t k, const float *x, const void *panel, float *y);
    /* Integers of a type that tiles load (8, 16 or 32 bits) as floats; and back to those
     * of 8 or 16 bits, from whole numbers in range. */
    void (*from_integers)(gopt_dtype d, const void *src, float *dst, int64_t n);
    void (*to_integers)(gopt_dtype d, const float *src, void *dst, int64_t n);
    /* As spread, of bytes less their zero point. */
    void (*spread_bytes)(const gopt_planes *p, const uint8_t *src, bool is_signed, int zero, float *dst);
    void (*extremes)(const float *x, int64_t n, float *low, float *high); /* NaN when an element is; of none: 0 */
    void (*quantize)(uint8_t *dst, const float *x, int64_t n, float scale, float zero);
    /* float16, or with `brain` bfloat16, to float32 and back. */
    void (*half_widen)(float *dst, const uint16_t *src, int64_t n, bool brain);
    void (*half_narrow)(uint16_t *dst, const float *src, int64_t n, bool brain);
    /* Winograd's transforms for tiles of m x m results, m = 2 or 4, e = m + 2; n tiles, in whole vectors. Pixel k of
     * the e x e that a tile sees is src[offset[k] + tile]; its transform's element k goes to v[k * step + tile]. */
    void (*winograd_input)(int m, const gopt_taps *t, int64_t n, float *v, int64_t step);
    /* Back from sums s[k * step + tile]: row i of all tiles' results, one after the other, to dst + i * dst_step. */
    void (*winograd_output)(int m, const float *s, int64_t step, int64_t n, float bias, float *dst, int64_t dst_step);
} gopt_simd;

/* The table of the level, or of the highest one below it that was built. */
const gopt_simd *gopt_simd_for(gopt_isa isa);

#endif
