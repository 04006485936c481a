/* tensor.h: element types and dense row-major tensors. The type itself is public: see gopt.h. */
#ifndef GOPT_TENSOR_H
#define GOPT_TENSOR_H

#include "base/arena.h"
#include "base/err.h"

const char *gopt_dtype_name(gopt_dtype d); /* "float32", "int64", "bfloat16", ...; "undefined" */
gopt_dtype gopt_dtype_find(const char *name);
int gopt_dtype_bits(gopt_dtype d);       /* 2, 4, 8, 16, 32, 64, 128; 0 for strings and unknown ones */
bool gopt_dtype_is_float(gopt_dtype d);  /* any real floating point type */
bool gopt_dtype_is_half(gopt_dtype d);   /* float16 or bfloat16 */
bool gopt_dtype_is_int(gopt_dtype d);    /* signed or unsigned integers, not bool */
bool gopt_dtype_is_signed(gopt_dtype d); /* signed integers */

/* Number of elements; false on a negative dimension or overflow of int64 or size_t bytes. A scalar has 1. */
bool gopt_dims_count(const int64_t *dim, int rank, int64_t *count);
int64_t gopt_tensor_count(const gopt_tensor *t);      /* of a valid tensor */
size_t gopt_dtype_bytes(gopt_dtype d, int64_t count); /* packed size of count elements; a string is a pointer */
size_t gopt_tensor_bytes(const gopt_tensor *t);
void gopt_dims_strides(const int64_t *dim, int rank, int64_t *stride); /* row-major, in elements */
bool gopt_dims_equal(const gopt_tensor *a, const gopt_tensor *b);      /* same rank and dimensions */
/* Numpy broadcasting of two shapes; false when they do not go together. out may be either input. */
bool gopt_dims_broadcast(const int64_t *a, int ra, const int64_t *b, int rb, int64_t *out, int *rank);
/* "float32[2,3]" into buf. */
char *gopt_tensor_describe(char *buf, size_t size, const gopt_tensor *t);

/* A new tensor whose data lies in the arena, zeroed. NULL and a->failed when out of memory. */
gopt_tensor *gopt_tensor_new(gopt_arena *a, gopt_dtype d, int rank, const int64_t *dim);

/* One element, by flat index, of any numeric or bool type. Reading a float as int truncates. Storing rounds to nearest
 * even and follows ONNX Cast: floats to ints truncate, out of range saturates for 8-bit floats and wraps for ints. */
double gopt_tensor_get(const gopt_tensor *t, int64_t i);
int64_t gopt_tensor_get_int(const gopt_tensor *t, int64_t i);
void gopt_tensor_set(gopt_tensor *t, int64_t i, double v);
void gopt_tensor_set_int(gopt_tensor *t, int64_t i, int64_t v);
/* Whole arrays at once, the quick way for kernels: n elements from/to doubles. */
void gopt_dtype_load(gopt_dtype d, const void *src, int64_t first, int64_t n, double *dst);
void gopt_dtype_store(gopt_dtype d, void *dst, int64_t first, int64_t n, const double *src);
/* The same through 64-bit integers, for integer and bool types (floats round and truncate as above). */
void gopt_dtype_load_int(gopt_dtype d, const void *src, int64_t first, int64_t n, int64_t *dst);
void gopt_dtype_store_int(gopt_dtype d, void *dst, int64_t first, int64_t n, const int64_t *src);
/* v as integer or bool type d holds it: wrapped (the bits of a uint64; any non-zero is true). */
int64_t gopt_dtype_wrap(gopt_dtype d, int64_t v);
/* A double as integer or bool type d holds it: truncated, then wrapped; NaN is 0, or true for bool. */
int64_t gopt_dtype_trunc(gopt_dtype d, double v);
/* v rounded to float type d. */
double gopt_dtype_round(gopt_dtype d, double v);

/* float32 to one of the 8-bit floats F8E4M3FN ... F8E5M2FNUZ or to F4E2M1. Without saturate, what is out of range
 * becomes infinity, or NaN where the type has none. */
uint8_t gopt_f32_to_small(gopt_dtype d, float f, bool saturate);
float gopt_small_to_f32(gopt_dtype d, uint8_t code); /* also F8E8M0 */
float gopt_f16_to_f32(uint16_t h);
uint16_t gopt_f32_to_f16(float f);
float gopt_bf16_to_f32(uint16_t h);
uint16_t gopt_f32_to_bf16(float f);

#endif
