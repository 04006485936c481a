/* move.h: what operators that move elements share. Elements are copied as they are, whatever their type; a string is a
 * pointer to text that someone else owns. */
#ifndef GOPT_REF_MOVE_H
#define GOPT_REF_MOVE_H

#include "ref/axis.h"

/* The type of input i; NONE when it is absent or, in inference, unknown. */
gopt_dtype gopt_move_dtype(const gopt_exec *x, int i);
gopt_dtype gopt_move_infer_dtype(const gopt_infer *x, int i);

/* The number of an ONNX element type; NONE when it is none. */
gopt_dtype gopt_move_type(int64_t number);
/* The axis attribute in [0, rank). */
gopt_status gopt_move_axis(gopt_attrs a, int64_t fallback, int rank, int *out, gopt_err *e);
/* The same where a missing attribute means that the tensor counts as a vector: *out is 0 and *flat true. */
gopt_status gopt_move_flat_axis(gopt_attrs a, int rank, int *out, bool *flat, gopt_err *e);

/* dst[to .. to + n) = src[from .. from + n), flat indices; both have one type and do not overlap. */
void gopt_move(gopt_tensor *dst, int64_t to, const gopt_tensor *src, int64_t from, int64_t n);
/* dst[to .. to + n) = src[from], or zero, false or no string where src is NULL. */
void gopt_move_fill(gopt_tensor *dst, int64_t to, int64_t n, const gopt_tensor *src, int64_t from);
/* Fills dst: its element at index i is src's at flat index `base` + sum of i[d] * stride[d]. */
gopt_status gopt_move_strided(gopt_exec *x, gopt_tensor *dst, const gopt_tensor *src, int64_t base,
                              const int64_t *stride, gopt_err *e);
/* Element k of an index tensor, in [-size, size), as a position in [0, size); EINPUT otherwise. */
gopt_status gopt_move_index(const gopt_tensor *t, int64_t k, int64_t size, int64_t *out, gopt_err *e);
/* A string element; "" where there is none. */
const char *gopt_move_string(const gopt_tensor *t, int64_t i);

/* ---- operators that keep all elements in order: Reshape and its like ---- */

/* out[0] = in[0]'s type and content with another shape. */
void gopt_move_infer_view(gopt_infer *x, int rank, const gopt_dim *dim);
gopt_status gopt_move_run_view(gopt_exec *x, gopt_err *e);

/* ---- pointwise operators on types without arithmetic (strings, complex numbers) ---- */

enum { GOPT_MOVE_OPERANDS = 3 }; /* at most */

bool gopt_move_is_number(gopt_dtype d); /* expressions compute with it */
/* out[0] = type d and the shape of all inputs broadcast together. */
gopt_status gopt_move_infer_broadcast(gopt_infer *x, gopt_dtype d, gopt_err *e);
/* Calls one() for every element of out[0] with its flat index and those of the inputs' elements that meet there. */
gopt_status gopt_move_run_broadcast(gopt_exec *x, void (*one)(gopt_exec *x, int64_t to, const int64_t *from),
                                    gopt_err *e);

/* ---- inference through contents ---- */

/* How many elements a vector or scalar input has; unknown for others. */
gopt_dim gopt_move_length(const gopt_infer *x, int i);
/* Known elements of an integer input, single ones of which may be unknown; NULL when nothing is known of it. */
const gopt_dim *gopt_move_content(gopt_infer *x, int i, int64_t *n);
/* The integers of input i when all are constants; NULL otherwise. */
const gopt_dim *gopt_move_constants(gopt_infer *x, int i, int64_t *n);
/* The one integer of input i, when it is known. */
bool gopt_move_scalar(gopt_infer *x, int i, int64_t *out);
/* Contents of the outputs, whose facts are set, of an operator that copies elements of the inputs in the bit set
 * `moved` (bit 31: all from there on) and zeros to its outputs: `move`, the operator's run without the making of
 * outputs, is let loose on the numbers of the elements. Does nothing where too little is known. */
void gopt_move_follow(gopt_infer *x, unsigned moved, gopt_status (*move)(gopt_exec *x, gopt_err *e));
/* out[k] = a known type, and `rank` dimensions of which nothing is known. */
void gopt_move_infer_rank(gopt_infer *x, int k, gopt_dtype d, int rank);
/* EUNSUP when a shape would have more than GOPT_RANK_MAX dimensions, EINPUT when fewer than 0. */
gopt_status gopt_move_check_rank(int64_t rank, gopt_err *e);

#endif
