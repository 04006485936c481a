/* bytes.h: what products of 8-bit integers have in common: zero points, and rows widened to 16 bits. */
#ifndef GOPT_CPU_BYTES_H
#define GOPT_CPU_BYTES_H

#include "cpu/conv2d.h"
#include "cpu/group.h"
#include "cpu/post.h"

/* Operand k is uint8 or int8. */
bool gopt_is_bytes(const gopt_group *g, int k);
/* Operand k, where it is there, is one zero point of operand `of`. */
bool gopt_zero_fits(const gopt_group *g, int k, int of);
/* The i-th value of 8-bit data; 0 without them. */
int gopt_byte_at(const void *data, bool is_signed, int64_t i);
/* Length of a widened row of k elements: whole vectors, filled up with zeros. */
int64_t gopt_wide_row(int64_t k);
/* One row, every `step`-th element of src. */
void gopt_widen_row(const gopt_simd *simd, int16_t *dst, const void *src, bool is_signed, int64_t k, int64_t step,
                    int zero);

/* The least and the largest of a part's share of x, and 0, to range[2 * part]; then scale and zero point of all. */
void gopt_range_find(const gopt_simd *simd, const gopt_task *t, const float *x, int64_t count, float *range);
float gopt_range_scale(const gopt_simd *simd, const gopt_task *t, const float *range, uint8_t *zero);

/* The geometry of a ConvInteger (operands x, w and their zero points); false when it is none, or has many zeros. */
bool gopt_conv_integer_of(const gopt_group *g, gopt_conv2d *c);

enum { GOPT_SUMS = 256 }; /* finished at once */

/* What becomes of the sums: they are the result, or post makes it of them. */
typedef struct gopt_finish {
    gopt_post post; /* inactive: none */
    int64_t size;   /* bytes of an element of the result */
    bool integers;  /* the result is the sums themselves */
} gopt_finish;

/* Whether the group's result can be made of 32-bit sums, or (sum: GOPT_DTYPE_F32) of such times a scale; then how. f is
 * zeroed. */
bool gopt_finish_fits(const gopt_group *g, gopt_dtype sum);
void gopt_finish_prepare(gopt_finish *f, const gopt_group *g, const gopt_simd *simd);
/* n <= GOPT_SUMS sums, which count `scale` times, elements [first, first + n) of out. */
void gopt_finish_run(const gopt_finish *f, const gopt_simd *simd, const gopt_task *t, const int32_t *sums, float scale,
                     int64_t first, int64_t n);
/* The same of any number of sums as floats, whole numbers. */
void gopt_finish_floats(const gopt_finish *f, const gopt_task *t, const float *sums, int64_t first, int64_t n);

#endif
