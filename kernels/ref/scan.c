/* scan.c: Scan: body 0 takes state and one slice of every scanned input, and gives state and rows. */
#include <limits.h>

#include "ref/carried.h"

typedef struct scan {
    gopt_carried_shape shape;
    int n_scanned; /* inputs behind the state */
    gopt_attrs attrs;
} scan;

/* Element j of a list attribute with one value for each of n; 0 without it. */
static int64_t listed(gopt_attrs a, const char *name, int j)
{
    int64_t n;
    const int64_t *v = gopt_attr_ints(a, name, &n);
    return v && j < n ? v[j] : 0;
}

static gopt_status check_list(gopt_attrs a, const char *name, int want, gopt_err *e)
{
    int64_t n;
    if (gopt_attr_ints(a, name, &n) && n != want)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld values, %d expected", name, (long long)n, want);
    return GOPT_OK;
}

static gopt_status scan_of(gopt_attrs a, int n_in, int n_bodies, int n_out, scan *s, gopt_err *e)
{
    int64_t scanned = gopt_attr_int(a, "num_scan_inputs", 0);
    if (scanned < 1 || scanned > n_in)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_scan_inputs: %lld, there are %d inputs", (long long)scanned,
                         n_in);
    *s = (scan){.n_scanned = (int)scanned, .attrs = a};
    s->shape = (gopt_carried_shape){.n_in = n_in, .n_state = n_in - s->n_scanned};
    GOPT_TRY(gopt_carried_check(&s->shape, n_bodies, n_out, e));
    int rows = n_out - s->shape.n_state;
    GOPT_TRY(check_list(a, "scan_input_axes", s->n_scanned, e));
    GOPT_TRY(check_list(a, "scan_input_directions", s->n_scanned, e));
    GOPT_TRY(check_list(a, "scan_output_axes", rows, e));
    return check_list(a, "scan_output_directions", rows, e);
}

static gopt_status axis_of(const scan *s, int j, int rank, int *axis, gopt_err *e)
{
    gopt_status status = gopt_axis(listed(s->attrs, "scan_input_axes", j), rank, axis, e);
    return status ? gopt_within(e, status, "attribute scan_input_axes") : GOPT_OK;
}

/* ---- inference ---- */

/* The fact of a slice of input j, and the length of what is scanned. */
static gopt_status infer_slice(const gopt_infer *x, const scan *s, int j, gopt_fact *slice, gopt_dim *length,
                               gopt_err *e)
{
    const gopt_fact *in = &x->in[s->shape.n_state + j];
    int axis;
    *slice = (gopt_fact){.dtype = in->dtype, .rank = -1};
    if (in->dtype == GOPT_DTYPE_NONE || in->rank < 0)
        return GOPT_OK;
    GOPT_TRY(axis_of(s, j, in->rank, &axis, e));
    GOPT_TRY(gopt_ref_equal(*length, in->dim[axis], "lengths of the scanned inputs", e));
    if (!gopt_dim_is_const(*length) && gopt_dim_is_known(in->dim[axis]))
        *length = in->dim[axis];
    slice->rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (d != axis)
            slice->dim[slice->rank++] = in->dim[d];
    return GOPT_OK;
}

static gopt_status infer_body(gopt_infer *x, const scan *s, gopt_fact *in, gopt_fact *out, gopt_err *e)
{
    gopt_dim length = GOPT_DIM_UNKNOWN;
    int n_state = s->shape.n_state;
    for (int j = 0; j < n_state; j++)
        in[j] = x->in[j];
    for (int j = 0; j < s->n_scanned; j++)
        GOPT_TRY(infer_slice(x, s, j, &in[n_state + j], &length, e));
    GOPT_TRY(gopt_carried_infer(x, &s->shape, in, out, e));
    for (int k = n_state; k < x->n_out; k++) {
        int64_t axis = listed(s->attrs, "scan_output_axes", k - n_state);
        GOPT_TRY(gopt_carried_infer_rows(x, k, &out[k], length, axis, e));
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_arena scratch = {0};
    scan s;
    GOPT_TRY(scan_of(x->attrs, x->n_in, x->n_bodies, x->n_out, &s, e));
    gopt_fact *in = GOPT_NEW(&scratch, gopt_fact, s.shape.n_in), *out = GOPT_NEW(&scratch, gopt_fact, s.shape.n_out);
    gopt_status status = in && out ? infer_body(x, &s, in, out, e) : gopt_oom(e);
    gopt_arena_fini(&scratch);
    return status;
}

/* ---- execution ---- */

static gopt_status read_length(const gopt_exec *x, const scan *s, int64_t *length, gopt_err *e)
{
    int axis;
    for (int j = 0; j < s->n_scanned; j++) {
        const gopt_tensor *in = x->in[s->shape.n_state + j];
        if (!in)
            return gopt_fail(e, GOPT_EINPUT, "scanned input %d is missing", j);
        GOPT_TRY(axis_of(s, j, in->rank, &axis, e));
        if (j && in->dim[axis] != *length)
            return gopt_fail(e, GOPT_EINPUT, "scanned input %d: length %lld, %lld expected", j,
                             (long long)in->dim[axis], (long long)*length);
        *length = in->dim[axis];
    }
    return GOPT_OK;
}

/* Slice t of scanned input j, counted from the back where its direction is 1; zeros where there is none. */
static gopt_status take_slice(gopt_carried *c, const scan *s, int j, int64_t t, gopt_err *e)
{
    const gopt_tensor *in = c->x->in[s->shape.n_state + j];
    int64_t dim[GOPT_RANK_MAX], stride[GOPT_RANK_MAX], moved[GOPT_RANK_MAX];
    int axis, rank = 0;
    GOPT_TRY(axis_of(s, j, in->rank, &axis, e));
    gopt_dims_strides(in->dim, in->rank, stride);
    for (int d = 0; d < in->rank; d++)
        if (d != axis) {
            moved[rank] = stride[d];
            dim[rank++] = in->dim[d];
        }
    gopt_tensor *slice = gopt_tensor_new(c->x->scratch, in->dtype, rank, dim);
    if (!slice)
        return gopt_oom(e);
    c->in[s->shape.n_state + j] = slice;
    if (t >= in->dim[axis])
        return GOPT_OK;
    int64_t place = listed(s->attrs, "scan_input_directions", j) ? in->dim[axis] - 1 - t : t;
    return gopt_move_strided(c->x, slice, in, place * stride[axis], moved, e);
}

static gopt_status take_slices(gopt_carried *c, const scan *s, int64_t t, gopt_err *e)
{
    for (int j = 0; j < s->n_scanned; j++)
        GOPT_TRY(take_slice(c, s, j, t, e));
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    scan s;
    gopt_carried c;
    int64_t length = 0;
    GOPT_TRY(scan_of(x->attrs, x->n_in, x->n_bodies, x->n_out, &s, e));
    GOPT_TRY(read_length(x, &s, &length, e));
    GOPT_TRY(gopt_carried_begin(&c, x, s.shape, x->in, e));
    while (c.n < length) {
        GOPT_TRY(take_slices(&c, &s, c.n, e));
        GOPT_TRY(gopt_carried_step(&c, e));
    }
    if (gopt_carried_is_blank(&c)) {
        GOPT_TRY(take_slices(&c, &s, 0, e));
        GOPT_TRY(gopt_carried_probe(&c, e));
    }
    GOPT_TRY(gopt_carried_write_state(&c, e));
    for (int j = 0; j < x->n_out - s.shape.n_state; j++)
        GOPT_TRY(gopt_carried_write_rows(&c, j, listed(s.attrs, "scan_output_axes", j),
                                         listed(s.attrs, "scan_output_directions", j), e));
    return GOPT_OK;
}

const gopt_op gopt_op_Scan = {
    .name = "Scan",
    .domain = "",
    .in_min = 1,
    .in_max = INT_MAX,
    .out_min = 1,
    .out_max = INT_MAX,
    .traits = GOPT_TRAIT_CONTROL,
    .infer = infer,
    .run = run,
};
