/* draft.h: a node on its way from the file into the graph, which the rules of upgrade.c may still change. */
#ifndef GOPT_ONNX_DRAFT_H
#define GOPT_ONNX_DRAFT_H

#include "onnx/importer.h"

typedef struct gopt_onnx_draft {
    gopt_onnx_importer *x;
    const gopt_onnx_scope *scope;
    const char *name, *op, *domain;
    int64_t version; /* of the domain, as the file imports it */
    int origin;
    gopt_attrs attrs;
    gopt_value **in; /* NULL: absent */
    int n_in;
    size_t cap_in;
    gopt_value **out; /* NULL: not wanted */
    int n_out;
    gopt_graph **body;
    int n_bodies;
} gopt_onnx_draft;

/* ---- operands ---- */
bool gopt_onnx_draft_has(const gopt_onnx_draft *d, int k); /* input k is there */
/* Sets input k, with absent ones before it where there are fewer. */
gopt_status gopt_onnx_draft_set(gopt_onnx_draft *d, int k, gopt_value *v, gopt_err *e);
/* What is known of input k so far. */
gopt_fact gopt_onnx_draft_fact(const gopt_onnx_draft *d, int k);

/* ---- attributes ---- */
gopt_status gopt_onnx_draft_attr(gopt_onnx_draft *d, gopt_attr one, gopt_err *e); /* sets it */
gopt_status gopt_onnx_draft_text(gopt_onnx_draft *d, const char *name, const char *v, gopt_err *e);
gopt_status gopt_onnx_draft_drop(gopt_onnx_draft *d, const char *name, gopt_err *e);
gopt_status gopt_onnx_draft_default_int(gopt_onnx_draft *d, const char *name, int64_t v,
                                        gopt_err *e); /* where absent */

/* ---- values; `what` becomes part of the name ---- */
gopt_status gopt_onnx_draft_ints(gopt_onnx_draft *d, const char *what, const int64_t *v, int64_t n, gopt_value **out,
                                 gopt_err *e);
gopt_status gopt_onnx_draft_floats(gopt_onnx_draft *d, const char *what, const float *v, int64_t n, gopt_value **out,
                                   gopt_err *e);
gopt_status gopt_onnx_draft_scalar(gopt_onnx_draft *d, const char *what, gopt_dtype type, double v, gopt_value **out,
                                   gopt_err *e);
/* The only output of a new node before this one; out may be one of the operands. */
gopt_status gopt_onnx_draft_before(gopt_onnx_draft *d, const char *op, gopt_attrs attrs, gopt_value *const *in,
                                   int n_in, gopt_value **out, gopt_err *e);
/* An Identity that writes v to `out`, a value that has no producer yet. */
gopt_status gopt_onnx_draft_copy(const gopt_onnx_draft *d, gopt_value *v, gopt_value *out, gopt_err *e);

/* ---- the end ---- */
/* Whether there is such an operator, today or in an opset that is rewritten; EUNSUP otherwise. */
gopt_status gopt_onnx_draft_known(const gopt_onnx_draft *d, gopt_err *e);
/* Makes the graph's node; checks operator and number of operands. The draft's outputs become its own. */
gopt_status gopt_onnx_draft_finish(gopt_onnx_draft *d, gopt_err *e);

enum { GOPT_ONNX_UPGRADED_MAX = 20 };    /* nodes of later versions need no rewriting */
bool gopt_onnx_upgrades(const char *op); /* some version of it is rewritten */
/* Rewrites a node of ai.onnx from the semantics of its version to the newest (upgrade.c). */
gopt_status gopt_onnx_upgrade(gopt_onnx_draft *d, gopt_err *e);

#endif
