/* op.h: operators. One file per operator (or family that shares one loop) under ref/, ending in its descriptor; ops.def
 * lists them. Semantics are those of the newest opset: the importer rewrites older forms (see
 * optimizer/onnx/upgrade.c). */
#ifndef GOPT_OP_H
#define GOPT_OP_H

#include "attr.h"
#include "dim.h"
#include "expr.h"

typedef enum gopt_trait {
    GOPT_TRAIT_POINTWISE = 1,  /* has `expr`: numpy broadcasting, one output */
    GOPT_TRAIT_VIEW = 2,       /* output is input 0's elements in the same order: no data need move */
    GOPT_TRAIT_RANDOM = 4,     /* two runs differ: never folded, merged or moved */
    GOPT_TRAIT_CONTROL = 8,    /* has bodies */
    GOPT_TRAIT_COMMUTES = 16,  /* two operands, in either order */
    GOPT_TRAIT_HEAVY = 32,     /* GEMM-like: worth an anchor */
    GOPT_TRAIT_SHAPE_ONLY = 64 /* reads only the shape of input 0 (Shape, Size) */
} gopt_trait;

#define GOPT_CONTENT_MAX 4096 /* integers of a value that inference follows */

/* What is known of a value before it is computed. */
typedef struct gopt_fact {
    gopt_dtype dtype;            /* GOPT_DTYPE_NONE: the value is absent (an optional input), or not known yet */
    int rank;                    /* -1 when unknown */
    gopt_dim dim[GOPT_RANK_MAX]; /* of the first `rank` dimensions */
    const gopt_dim *content; /* elements of a tensor of known small shape whose values are integers (also a float one
                                that was cast from integers), or NULL; each may be unknown */
    const gopt_tensor *constant; /* the whole value when it is known, or NULL */
} gopt_fact;

/* Inference of one node: fills out[] from in[]. */
typedef struct gopt_infer {
    const struct gopt_op *op;
    gopt_attrs attrs;
    gopt_dims *dims;   /* may be NULL when every dimension is a constant */
    gopt_arena *arena; /* for contents; outlives the call */
    int n_in, n_out;
    const gopt_fact *in; /* in[i].dtype == NONE: absent or unknown */
    gopt_fact *out;      /* zeroed, rank -1 */
    int n_bodies;
    /* Infers body b with these facts for its inputs; out has room for the body's n_out outputs. */
    gopt_status (*body)(struct gopt_infer *x, int b, const gopt_fact *in, int n_in, gopt_fact *out, int n_out,
                        gopt_err *e);
    void *driver;
} gopt_infer;

/* Execution of one node with real tensors. */
typedef struct gopt_exec {
    const struct gopt_op *op;
    gopt_attrs attrs;
    int n_in, n_out;
    const gopt_tensor *const *in; /* NULL: absent */
    gopt_tensor **out;   /* NULL: not wanted. data is set where inference gave the shape, else call gopt_exec_out */
    gopt_arena *scratch; /* emptied after the node */
    int n_bodies;
    /* Makes out[k] of this shape (see gopt_exec_out). */
    gopt_status (*alloc)(struct gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e);
    /* Runs body b; the outputs' data lies in memory that stays valid until the node has ended. */
    gopt_status (*body)(struct gopt_exec *x, int b, const gopt_tensor *const *in, int n_in, gopt_tensor *out, int n_out,
                        gopt_err *e);
    int64_t deadline; /* gopt_now() after which loops give up with GOPT_ELIMIT; 0: none */
    void *driver;
} gopt_exec;

typedef struct gopt_op {
    const char *name;   /* "Conv" */
    const char *domain; /* "" is ai.onnx; "com.microsoft"; "gopt" is ours, made by passes */
    int in_min, in_max; /* in_max INT_MAX: variadic */
    int out_min, out_max;
    unsigned traits;
    gopt_status (*infer)(gopt_infer *x, gopt_err *e);
    gopt_status (*run)(gopt_exec *x, gopt_err *e);
    /* POINTWISE only: the expression over operand instructions arg[0..n_arg) (-1: absent input); returns its result. */
    int (*expr)(gopt_expr *x, gopt_attrs attrs, const int *arg, int n_arg);
} gopt_op;

extern const gopt_op *const gopt_ops[];                            /* all, NULL at the end */
const gopt_op *gopt_op_find(const char *domain, const char *name); /* "ai.onnx" is "" ; NULL when unknown */

/* ---- for the operators' own files ---- */

/* Sees to it that out[k] exists with this shape; checks it against the planned one where there is one. Does nothing
 * when out[k] is NULL. */
gopt_status gopt_exec_out(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e);
/* The expression of a POINTWISE node over its operands: dtype[k] is NONE where operand k is absent. x is new; x->result
 * is the node's. EUNSUP for types without arithmetic and for what does not fit into one expression. */
gopt_status gopt_op_expr(gopt_expr *x, const gopt_op *op, gopt_attrs attrs, const gopt_dtype *dtype, int n,
                         gopt_err *e);
/* The shared inference and execution of every POINTWISE operator. Output dtype follows from the expression. */
gopt_status gopt_pointwise_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_pointwise_run(gopt_exec *x, gopt_err *e);
/* Its loop, for any expression without an ACC: the operands (NULL: absent and not loaded) are broadcast to out's shape.
 * An operand may share out's data when it has its shape and type. */
gopt_status gopt_pointwise_apply(const gopt_expr *x, const gopt_tensor *const *in, int n_in, gopt_tensor *out,
                                 gopt_arena *scratch, gopt_err *e);
/* Output facts: dtype and rank with all dimensions; out[k] = in[i]'s type without content. */
void gopt_infer_like(gopt_infer *x, int k, int i);
void gopt_infer_set(gopt_infer *x, int k, gopt_dtype d, int rank, const gopt_dim *dim);
/* Content for out[k]: n dims copied into x->arena (silently none when out of memory or over GOPT_CONTENT_MAX). */
void gopt_infer_content(gopt_infer *x, int k, const gopt_dim *content, int64_t n);
/* Number of elements and contents of an integer input: from `content` or `constant`; NULL when not all known (elements
 * may still be symbolic). The array lies in x->arena. */
const gopt_dim *gopt_infer_ints(gopt_infer *x, int i, int64_t *n);
bool gopt_infer_has(const gopt_infer *x, int i); /* input i is present */
/* Broadcast of the shapes of two facts into out; unknown dims stay unknown. EINPUT when they contradict. */
gopt_status gopt_infer_broadcast(gopt_infer *x, const gopt_fact *a, const gopt_fact *b, gopt_fact *out, gopt_err *e);
/* axis in [-rank, rank) to [0, rank); EINPUT with the range otherwise. */
gopt_status gopt_axis(int64_t axis, int rank, int *out, gopt_err *e);

/* Infers a node whose inputs are real tensors: facts with constant dims (and contents of integer inputs up to
 * GOPT_CONTENT_MAX). Facts live in the arena. */
void gopt_fact_of_tensor(gopt_fact *out, const gopt_tensor *t, gopt_arena *a);
/* All dimensions known constants: fills dim and returns true. */
bool gopt_fact_static(const gopt_fact *f, int64_t dim[GOPT_RANK_MAX]);

#endif
