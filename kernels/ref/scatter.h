/* scatter.h: what the Scatter operators share: updates put into a copy of the data, or combined with what is there. */
#ifndef GOPT_REF_SCATTER_H
#define GOPT_REF_SCATTER_H

#include "ref/move.h"

typedef struct gopt_scatter {
    gopt_tensor *out;
    const gopt_tensor *updates;
    bool combines;     /* else updates replace */
    gopt_expr combine; /* of operands 0, what is there, and 1, the update */
    gopt_expr_class class;
    gopt_scalar *sum; /* where it combines: the output's elements, stored at the end */
} gopt_scatter;

/* EINPUT for a reduction attribute that there is not, or not for this type. Whether updates are combined in *combines.
 */
gopt_status gopt_scatter_infer(const gopt_infer *x, bool *combines, gopt_err *e);
/* Copies input 0 to output 0, which exists, and makes ready for updates from input 2. */
gopt_status gopt_scatter_begin(gopt_scatter *s, gopt_exec *x, gopt_err *e);
/* Elements [to, to + n) of the output take updates [from, from + n). */
void gopt_scatter_put(gopt_scatter *s, int64_t to, int64_t from, int64_t n);
void gopt_scatter_end(const gopt_scatter *s);

/* ScatterElements, which has two names. */
gopt_status gopt_scatter_elements_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_scatter_elements_run(gopt_exec *x, gopt_err *e);

#endif
