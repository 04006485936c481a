/* refrun.h: one group (an operator and its pointwise post) on real tensors, by the reference: how the graph is
 * evaluated, constants are folded, and the engine runs what no kernel fits. */
#ifndef GOPT_REFRUN_H
#define GOPT_REFRUN_H

#include "op.h"

typedef struct gopt_ref_step {
    const gopt_op *op;
    gopt_attrs attrs;
    int n_in, n_anchor, n_out;
    const gopt_tensor *const *in; /* NULL: absent. in[0..n_anchor) belong to op, the rest is read by post only */
    gopt_tensor **out;     /* NULL: not wanted. data set: the shape was planned, and must come out; else see alloc */
    const gopt_expr *post; /* NULL: none. With n_anchor == 0 it is all there is (gopt.Pointwise) */
    int64_t deadline;      /* as in gopt_exec */
    void *ctx;             /* of the callbacks */
    /* Sets *out[k] to a tensor of this shape whose data, not zeroed, outlive the call. */
    gopt_status (*alloc)(void *ctx, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e);
    int n_bodies; /* body is as in gopt_exec; may be NULL without bodies */
    gopt_status (*body)(void *ctx, int b, const gopt_tensor *const *in, int n_in, gopt_tensor *out, int n_out,
                        gopt_err *e);
} gopt_ref_step;

/* Results are unspecified on failure. Messages lack the node's name: wrap them. */
gopt_status gopt_ref_run(const gopt_ref_step *s, gopt_err *e);

#endif
