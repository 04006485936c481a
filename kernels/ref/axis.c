/* axis.c: one loop over the vectors along an axis. */
#include "ref/axis.h"

#include <math.h>

gopt_axis_split gopt_axis_of(const gopt_tensor *t, int axis)
{
    if (t->rank == 0)
        return (gopt_axis_split){1, 1, 1};
    return (gopt_axis_split){.outer = gopt_ref_count(t->dim, axis),
                             .n = t->dim[axis],
                             .inner = gopt_ref_count(t->dim + axis + 1, t->rank - axis - 1)};
}

double gopt_axis_largest(const double *v, int64_t n)
{
    double m = v[0];
    for (int64_t i = 1; i < n; i++)
        if (v[i] > m || isnan(v[i]))
            m = v[i];
    return m;
}

static gopt_status split(const gopt_exec *x, gopt_axis_split *s, gopt_err *e)
{
    const gopt_tensor *t = x->in[0];
    int axis = 0;
    if (t->rank)
        GOPT_TRY(gopt_axis(gopt_attr_int(x->attrs, "axis", -1), t->rank, &axis, e));
    *s = gopt_axis_of(t, axis);
    if (gopt_attr_int(x->attrs, "coerce_2d", 0))
        *s = (gopt_axis_split){.outer = s->outer, .n = s->n * s->inner, .inner = 1};
    return GOPT_OK;
}

gopt_status gopt_axis_run(gopt_exec *x, void (*fn)(gopt_attrs a, double *v, int64_t n), gopt_err *e)
{
    gopt_axis_split s;
    double *data, *v;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(split(x, &s, e));
    GOPT_TRY(gopt_ref_load(x, 0, &data, e));
    GOPT_TRY(gopt_ref_buffer(x, s.n, &v, e));
    for (int64_t o = 0; o < s.outer && s.n > 0; o++) {
        for (int64_t i = 0; i < s.inner; i++) {
            double *at = data + o * s.n * s.inner + i;
            for (int64_t j = 0; j < s.n; j++)
                v[j] = at[j * s.inner];
            fn(x->attrs, v, s.n);
            for (int64_t j = 0; j < s.n; j++)
                at[j * s.inner] = v[j];
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, data);
    return GOPT_OK;
}
