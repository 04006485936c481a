/* rewrite.h: what passes share: visiting, matching, replacing. */
#ifndef GOPT_REWRITE_H
#define GOPT_REWRITE_H

#include "pass.h"

/* Calls f for every node, in order, the nodes of bodies before the one that has them. What f makes is not visited, what
 * it removes neither. ELIMIT once the deadline has passed. */
typedef gopt_status gopt_rewrite(gopt_node *n, gopt_pass_run *r, gopt_err *e);
gopt_status gopt_rewrite_each(gopt_graph *g, gopt_pass_run *r, gopt_rewrite *f, gopt_err *e);
/* Calls f for g and then for its bodies, outer ones first. */
typedef gopt_status gopt_rewrite_graph(gopt_graph *g, gopt_pass_run *r, gopt_err *e);
gopt_status gopt_rewrite_each_graph(gopt_graph *g, gopt_pass_run *r, gopt_rewrite_graph *f, gopt_err *e);

/* Removes n, when nothing reads what it computes, and then whatever was computed for it alone. */
void gopt_rewrite_drop(gopt_node *n);
/* The readers of n's output 0 read v (of the same shape and type) from then on; n and what was for it alone are
 * removed. False, with nothing done, where an output's name is in the way. */
bool gopt_rewrite_bypass(gopt_node *n, gopt_value *v);

/* n is an operator of ai.onnx of this name without post. n may be NULL. */
bool gopt_rewrite_is(const gopt_node *n, const char *name);
/* The node that alone reads v, perhaps more than once; NULL when there are others, or v is an output of a graph. */
gopt_node *gopt_rewrite_sole_reader(const gopt_value *v);
/* What nodes of v's own graph compute v, without post, of this name; NULL otherwise. v may be NULL. */
gopt_node *gopt_rewrite_producer(const gopt_value *v, const char *name);
bool gopt_rewrite_same_shape(const gopt_fact *a, const gopt_fact *b); /* proven */
/* a broadcasts to `to` without enlarging it; proven. */
bool gopt_rewrite_broadcasts(const gopt_fact *a, const gopt_fact *to);
/* Operand k of a two-operand node is a scalar constant (into *c); *other is the other operand. */
bool gopt_rewrite_scalar_operand(const gopt_node *n, int k, double *c, gopt_value **other);

/* A new float or integer constant, rounded from v. NULL without memory. */
gopt_value *gopt_rewrite_constant(gopt_graph *g, gopt_dtype d, int rank, const int64_t *dim, const double *v);
gopt_value *gopt_rewrite_ints(gopt_graph *g, const int64_t *v, int64_t n); /* int64[n] */
gopt_attrs gopt_rewrite_attr_int(gopt_graph *g, gopt_attrs a, const char *name, int64_t v);
gopt_attrs gopt_rewrite_attr_float(gopt_graph *g, gopt_attrs a, const char *name, double v);
gopt_attrs gopt_rewrite_attr_ints(gopt_graph *g, gopt_attrs a, const char *name, const int64_t *v, int64_t n);

#endif
