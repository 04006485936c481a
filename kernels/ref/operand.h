/* operand.h: what the reference operators share: checks of their inputs, operands as arrays of double, the deadline. */
#ifndef GOPT_REF_OPERAND_H
#define GOPT_REF_OPERAND_H

#include "op.h"

/* Sets of element types. */
typedef enum gopt_ref_types {
    GOPT_REF_FLOAT = 1,  /* float16, bfloat16, float32, float64 */
    GOPT_REF_FLOAT8 = 2, /* the four 8-bit formats */
    GOPT_REF_BYTE = 4,   /* int8, uint8 */
    GOPT_REF_INT = 8,    /* integers of 8 to 64 bits */
    GOPT_REF_SMALL = 16, /* integers and floats below 8 bits, and float8e8m0 */
    GOPT_REF_BOOL = 32,
    GOPT_REF_INDEX = 64, /* int32, int64 */
    GOPT_REF_WIDE = 128, /* integers of 32 and 64 bits */
    GOPT_REF_REAL = GOPT_REF_FLOAT | GOPT_REF_INT,
    GOPT_REF_DATA = GOPT_REF_REAL | GOPT_REF_BOOL | GOPT_REF_FLOAT8 | GOPT_REF_SMALL
} gopt_ref_types;

/* ---- inference ---- */

/* Input i is there and its rank is known. */
bool gopt_ref_ranked(const gopt_infer *x, int i);
/* EINPUT when input i has a type outside the set; absent or unknown inputs pass. `name` is the input's in the spec. */
gopt_status gopt_ref_type(const gopt_infer *x, int i, unsigned types, const char *name, gopt_err *e);
/* EINPUT when both inputs are there with different types. */
gopt_status gopt_ref_same_type(const gopt_infer *x, int i, int j, gopt_err *e);
/* EINPUT when the rank of input i is known and outside [lo, hi]. */
gopt_status gopt_ref_rank(const gopt_infer *x, int i, int lo, int hi, const char *name, gopt_err *e);
/* EINPUT when the dims are constants and differ; `what` says which ("channels of X and W"). */
gopt_status gopt_ref_equal(gopt_dim a, gopt_dim b, const char *what, gopt_err *e);
/* EINPUT unless input i, when known, is a vector of n elements (n may be unknown). */
gopt_status gopt_ref_vector(const gopt_infer *x, int i, gopt_dim n, const char *name, gopt_err *e);
/* EINPUT unless input i, when known, has one element. */
gopt_status gopt_ref_scalar(const gopt_infer *x, int i, const char *name, gopt_err *e);
/* EINPUT when input i does not broadcast to the shape of input j (numpy rules, one direction). */
gopt_status gopt_ref_broadcasts(const gopt_infer *x, int i, int j, const char *name, gopt_err *e);
/* The product of n dims. */
gopt_dim gopt_ref_product(gopt_dims *t, const gopt_dim *dim, int n);
/* out[k] gets a type, and no shape. */
void gopt_ref_infer_type(gopt_infer *x, int k, gopt_dtype d);
/* Inference of an operator that maps a float tensor (input 0) to one of the same shape, over the axis attribute. */
gopt_status gopt_ref_infer_same(gopt_infer *x, gopt_err *e);
/* The same for floats of the first input and any rank of at least `lo`. */
gopt_status gopt_ref_infer_float(gopt_infer *x, int lo, gopt_err *e);

/* ---- execution ---- */

/* Input i, or NULL when absent. */
const gopt_tensor *gopt_ref_in(const gopt_exec *x, int i);
/* Output k, or NULL when not wanted. */
gopt_tensor *gopt_ref_out(const gopt_exec *x, int k);
/* Runs the operator's inference, with all its checks, on the real inputs and makes the wanted outputs. EINPUT when one
 * of the first in_min inputs is missing, or a shape does not follow from the inputs. */
gopt_status gopt_ref_begin(gopt_exec *x, gopt_err *e);
/* The same where only the inputs of the bit set `required` must be there. */
gopt_status gopt_ref_begin_with(gopt_exec *x, unsigned required, gopt_err *e);
/* n doubles, zeroed, in the scratch arena. */
gopt_status gopt_ref_buffer(gopt_exec *x, int64_t n, double **out, gopt_err *e);
/* All elements of input i as doubles in the scratch arena; NULL when it is absent. */
gopt_status gopt_ref_load(gopt_exec *x, int i, double **out, gopt_err *e);
/* The first element of input i, or the fallback when it is absent or empty. */
double gopt_ref_number(const gopt_exec *x, int i, double fallback);
/* Stores all elements of output k where it is wanted. */
void gopt_ref_store(gopt_exec *x, int k, const double *v);
/* v[0..n) rounded to the values that type d can hold. */
gopt_status gopt_ref_round(gopt_exec *x, gopt_dtype d, double *v, int64_t n, gopt_err *e);
/* GOPT_ELIMIT once the deadline has passed; call it in outer loops. */
gopt_status gopt_ref_tick(const gopt_exec *x, gopt_err *e);
/* Strides, in elements, that read a tensor of shape `dim` as if broadcast to `to` (0 in broadcast axes); it must be
 * broadcastable. */
void gopt_ref_broadcast_strides(const int64_t *dim, int rank, const int64_t *to, int to_rank, int64_t *stride);
/* The next index in row-major order; false after the last one. */
bool gopt_ref_next(int64_t *index, const int64_t *dim, int rank);
int64_t gopt_ref_count(const int64_t *dim, int rank);

#endif
