/* unique.c: Unique: the different elements, or slices along an axis, in ascending order or in that of their first
 * occurrence, and where they occur. NaN equals NaN and comes last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/move.h"

enum { VALUES, INDICES, INVERSE, COUNTS };

/* The input as slices that compare element by element. */
typedef struct slices {
    const gopt_tensor *t;
    gopt_axis_split s;
} slices;

static int compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

static int compare_elements(const gopt_tensor *t, int64_t i, int64_t k)
{
    if (t->dtype == GOPT_DTYPE_STRING)
        return strcmp(gopt_move_string(t, i), gopt_move_string(t, k));
    if (gopt_dtype_is_float(t->dtype))
        return compare_floats(gopt_tensor_get(t, i), gopt_tensor_get(t, k));
    int64_t a = gopt_tensor_get_int(t, i), b = gopt_tensor_get_int(t, k);
    if (t->dtype == GOPT_DTYPE_U64)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

static int compare_slices(const slices *all, int64_t a, int64_t b)
{
    const gopt_axis_split *s = &all->s;
    int order = 0;
    if (gopt_tensor_count(all->t) == 0)
        return 0;
    for (int64_t o = 0; !order && o < s->outer; o++)
        for (int64_t i = 0; !order && i < s->inner; i++) {
            int64_t row = o * s->n;
            order = compare_elements(all->t, (row + a) * s->inner + i, (row + b) * s->inner + i);
        }
    return order;
}

static int by_value(const void *a, const void *b, void *all)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    int order = compare_slices(all, i, k);
    return order ? order : (i > k) - (i < k);
}

static int by_place(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    return (i > k) - (i < k);
}

typedef struct found {
    int64_t *first;  /* by number of the value: where it occurs first, in the output's order */
    int64_t *of;     /* by slice: where its value occurs first */
    int64_t *number; /* by slice that is a first one: the number of its value */
    int64_t *count;  /* by number of the value */
    int64_t n;       /* values */
} found;

static gopt_status find(gopt_exec *x, const slices *all, found *f, gopt_err *e)
{
    size_t n = (size_t)all->s.n;
    int64_t *sorted = GOPT_NEW(x->scratch, int64_t, n);
    *f = (found){.first = GOPT_NEW(x->scratch, int64_t, n),
                 .of = GOPT_NEW(x->scratch, int64_t, n),
                 .number = GOPT_NEW(x->scratch, int64_t, n),
                 .count = GOPT_NEW(x->scratch, int64_t, n)};
    if (x->scratch->failed)
        return gopt_oom(e);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (int64_t)i;
    qsort_r(sorted, n, sizeof *sorted, by_value, (void *)all);
    for (size_t i = 0; i < n; i++) {
        bool fresh = i == 0 || compare_slices(all, sorted[i - 1], sorted[i]) != 0;
        if (fresh)
            f->first[f->n++] = sorted[i];
        f->of[sorted[i]] = f->first[f->n - 1];
    }
    if (!gopt_attr_int(x->attrs, "sorted", 1))
        qsort(f->first, (size_t)f->n, sizeof *f->first, by_place);
    for (int64_t k = 0; k < f->n; k++)
        f->number[f->first[k]] = k;
    for (size_t i = 0; i < n; i++)
        f->count[f->number[f->of[i]]]++;
    return GOPT_OK;
}

static gopt_status write_values(gopt_exec *x, const slices *all, const found *f, bool flat, int axis, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX];
    for (int d = 0; d < all->t->rank; d++)
        dim[d] = all->t->dim[d];
    dim[axis] = f->n;
    GOPT_TRY(gopt_exec_out(x, VALUES, all->t->dtype, flat ? 1 : all->t->rank, dim, e));
    gopt_tensor *out = gopt_ref_out(x, VALUES);
    const gopt_axis_split *s = &all->s;
    for (int64_t o = 0; out && gopt_tensor_count(out) > 0 && o < s->outer; o++)
        for (int64_t k = 0; k < f->n; k++)
            gopt_move(out, (o * f->n + k) * s->inner, all->t, (o * s->n + f->first[k]) * s->inner, s->inner);
    return GOPT_OK;
}

static gopt_status write_places(gopt_exec *x, int k, const int64_t *v, int64_t n, gopt_err *e)
{
    if (!gopt_ref_out(x, k))
        return GOPT_OK;
    GOPT_TRY(gopt_exec_out(x, k, GOPT_DTYPE_I64, 1, &n, e));
    gopt_dtype_store_int(GOPT_DTYPE_I64, x->out[k]->data, 0, n, v);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim unknown = GOPT_DIM_UNKNOWN;
    int axis;
    bool flat;
    for (int k = INDICES; k < x->n_out; k++)
        gopt_infer_set(x, k, GOPT_DTYPE_I64, 1, &unknown);
    gopt_ref_infer_type(x, VALUES, gopt_move_infer_dtype(x, 0));
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    gopt_fact in = x->in[0];
    GOPT_TRY(gopt_move_flat_axis(x->attrs, in.rank, &axis, &flat, e));
    if (x->n_out > INVERSE && !flat)
        x->out[INVERSE].dim[0] = in.dim[axis];
    if (x->n_out > INVERSE && flat)
        x->out[INVERSE].dim[0] = gopt_ref_product(x->dims, in.dim, in.rank);
    in.dim[axis] = unknown;
    gopt_infer_set(x, VALUES, in.dtype, flat ? 1 : in.rank, in.dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = gopt_ref_in(x, 0);
    int axis;
    bool flat;
    found f;
    if (!in || (!gopt_move_is_number(in->dtype) && in->dtype != GOPT_DTYPE_STRING))
        return gopt_fail(e, GOPT_EINPUT, "input X: %s", in ? gopt_dtype_name(in->dtype) : "missing");
    GOPT_TRY(gopt_move_flat_axis(x->attrs, in->rank, &axis, &flat, e));
    slices all = {.t = in, .s = {1, gopt_tensor_count(in), 1}};
    if (!flat)
        all.s = gopt_axis_of(in, axis);
    GOPT_TRY(find(x, &all, &f, e));
    GOPT_TRY(write_values(x, &all, &f, flat, axis, e));
    GOPT_TRY(write_places(x, INDICES, f.first, f.n, e));
    for (int64_t i = 0; i < all.s.n; i++)
        f.of[i] = f.number[f.of[i]];
    GOPT_TRY(write_places(x, INVERSE, f.of, all.s.n, e));
    return write_places(x, COUNTS, f.count, f.n, e);
}

const gopt_op gopt_op_Unique = {
    .name = "Unique",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 4,
    .infer = infer,
    .run = run,
};
