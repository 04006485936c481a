/* attr.h: node attributes, the same in a graph, in a plan and in a bundle. */
#ifndef GOPT_ATTR_H
#define GOPT_ATTR_H

#include "tensor.h"

typedef enum gopt_attr_kind {
    GOPT_ATTR_NONE,
    GOPT_ATTR_INT,
    GOPT_ATTR_FLOAT,
    GOPT_ATTR_STRING,
    GOPT_ATTR_INTS,
    GOPT_ATTR_FLOATS,
    GOPT_ATTR_STRINGS,
    GOPT_ATTR_TENSOR,
} gopt_attr_kind;

typedef struct gopt_attr {
    const char *name;
    gopt_attr_kind kind;
    int64_t i;
    double f;
    const char *s;
    int64_t n; /* elements of ints, floats or strings */
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    const gopt_tensor *tensor;
} gopt_attr; /* subgraphs are no attributes: a node lists them as its bodies */

typedef struct gopt_attrs {
    const gopt_attr *at;
    int n;
} gopt_attrs;

const gopt_attr *gopt_attr_find(gopt_attrs a, const char *name); /* NULL when absent */
int64_t gopt_attr_int(gopt_attrs a, const char *name, int64_t fallback);
double gopt_attr_float(gopt_attrs a, const char *name, double fallback);
const char *gopt_attr_string(gopt_attrs a, const char *name, const char *fallback);
/* Elements of an INTS attribute, or n = 0 and NULL. */
const int64_t *gopt_attr_ints(gopt_attrs a, const char *name, int64_t *n);
bool gopt_attrs_equal(gopt_attrs a, gopt_attrs b); /* same set, whatever the order */
/* A copy of `a` in the arena with one attribute replaced or added. at is NULL and arena->failed without memory. */
gopt_attrs gopt_attrs_with(gopt_arena *arena, gopt_attrs a, gopt_attr one);
gopt_attrs gopt_attrs_without(gopt_arena *arena, gopt_attrs a, const char *name);

#endif
