/* ms_heads.h: what com.microsoft's Attention and MultiHeadAttention share, once queries, keys and values lie by heads.
 */
#ifndef GOPT_REF_MS_HEADS_H
#define GOPT_REF_MS_HEADS_H

#include "ref/operand.h"

typedef struct gopt_ms_heads {
    int64_t batch, heads, s, past, t; /* queries; keys of the past; all keys */
    int64_t d, dv;
    int mask, bias;          /* numbers of the node's inputs */
    const double *q, *k, *v; /* (batch, heads, s or t, d or dv) */
    double *kept;            /* gets the scaled products (batch, heads, s, t), or NULL */
} gopt_ms_heads;

/* The mask's shape must be one of (b), (2 b), (b, t), (b, s, t), (b, 1, m, m) with m >= t. */
gopt_status gopt_ms_heads_check_mask(const gopt_infer *x, int mask, const gopt_dim dim[3], gopt_err *e);
/* EINPUT unless input i, when known, broadcasts to (b, heads, s, t). */
gopt_status gopt_ms_heads_check_bias(const gopt_infer *x, int i, const gopt_dim dim[4], gopt_err *e);
/* from (n, length, heads * size), plus bias[heads * size] unless NULL, to (n, heads, length, size). `stride` is the
 * distance between rows of `from`. */
void gopt_ms_heads_split(const double *from, int64_t n, int64_t length, int64_t stride, int64_t heads, int64_t size,
                         const double *bias, double *to);
/* Past keys or values in front of the present ones in every head; *v is replaced. past may be NULL. */
gopt_status gopt_ms_heads_join(gopt_exec *x, const gopt_ms_heads *h, const double *past, int64_t size, double **v,
                               gopt_err *e);
/* Stores output 0 (batch, s, heads * dv). Attributes scale, mask_filter_value, unidirectional. */
gopt_status gopt_ms_heads_run(gopt_exec *x, const gopt_ms_heads *h, gopt_err *e);

#endif
