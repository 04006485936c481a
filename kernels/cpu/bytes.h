/* bytes.h: what products of 8-bit integers have in common: zero points, and rows widened to 16 bits. */
#ifndef GOPT_CPU_BYTES_H
#define GOPT_CPU_BYTES_H

#include "cpu/group.h"
#include "cpu/simd.h"

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

#endif
