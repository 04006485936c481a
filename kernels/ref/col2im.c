/* col2im.c: Col2Im: adds columns, one for each block, back into the image that they were cut from. */
#include "ref/operand.h"
#include "ref/unfold.h"

enum { COLUMNS, IMAGE, BLOCK };

/* The window over an image with these sizes; all known. */
static gopt_status bind(gopt_attrs a, const gopt_dim *image, const gopt_dim *block, int n, gopt_window *w, gopt_err *e)
{
    int64_t size[GOPT_WINDOW_MAX];
    GOPT_TRY(gopt_window_read(w, a, n, e));
    for (int i = 0; i < n; i++) {
        size[i] = image[i].k;
        w->kernel[i] = block[i].k;
        if (block[i].k < 1 || block[i].k > INT32_MAX || size[i] < 1 || size[i] > INT32_MAX)
            return gopt_fail(e, GOPT_EINPUT, "block of %lld in an image of %lld", (long long)block[i].k,
                             (long long)size[i]);
        gopt_dim out = gopt_window_out(NULL, w, i, image[i]);
        GOPT_TRY(gopt_window_check(w, i, image[i], out, e));
    }
    gopt_window_bind(w, size);
    return GOPT_OK;
}

static bool all_const(const gopt_dim *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!gopt_dim_is_const(v[i]))
            return false;
    return true;
}

static gopt_status check_columns(gopt_infer *x, const gopt_dim *image, const gopt_dim *block, int n, gopt_err *e)
{
    const gopt_fact *in = &x->in[COLUMNS];
    gopt_window w;
    GOPT_TRY(bind(x->attrs, image, block, n, &w, e));
    gopt_dim taps = gopt_ref_product(x->dims, block, n), places = gopt_dim_of(1);
    for (int i = 0; i < n; i++)
        places = gopt_dim_mul(x->dims, places, gopt_dim_of(w.out[i]));
    if (gopt_dim_is_const(in->dim[1]) && gopt_dim_is_const(taps) && in->dim[1].k % taps.k)
        return gopt_fail(e, GOPT_EINPUT, "%lld rows do not divide into blocks of %lld", (long long)in->dim[1].k,
                         (long long)taps.k);
    return gopt_ref_equal(in->dim[2], places, "columns and blocks", e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[COLUMNS];
    int64_t n, m;
    GOPT_TRY(gopt_ref_type(x, COLUMNS, GOPT_REF_REAL | GOPT_REF_BOOL, "input", e));
    GOPT_TRY(gopt_ref_type(x, IMAGE, GOPT_REF_INDEX, "image_shape", e));
    GOPT_TRY(gopt_ref_type(x, BLOCK, GOPT_REF_INDEX, "block_shape", e));
    GOPT_TRY(gopt_ref_rank(x, COLUMNS, 3, 3, "input", e));
    GOPT_TRY(gopt_ref_rank(x, IMAGE, 1, 1, "image_shape", e));
    GOPT_TRY(gopt_ref_rank(x, BLOCK, 1, 1, "block_shape", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    const gopt_dim *image = gopt_infer_ints(x, IMAGE, &n), *block = gopt_infer_ints(x, BLOCK, &m);
    if (!image || !block || !gopt_ref_ranked(x, COLUMNS))
        return GOPT_OK;
    if (n != m || n < 1 || n > GOPT_WINDOW_MAX)
        return gopt_fail(e, GOPT_EINPUT, "image_shape has %lld values, block_shape %lld", (long long)n, (long long)m);
    if (all_const(image, n) && all_const(block, n))
        GOPT_TRY(check_columns(x, image, block, (int)n, e));
    gopt_dim dim[GOPT_RANK_MAX] = {in->dim[0]};
    dim[1] = gopt_dim_div(x->dims, in->dim[1], gopt_ref_product(x->dims, block, (int)n));
    for (int i = 0; i < n; i++)
        dim[2 + i] = image[i];
    gopt_infer_set(x, 0, in->dtype, (int)n + 2, dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_window w;
    gopt_dim image[GOPT_WINDOW_MAX], block[GOPT_WINDOW_MAX];
    double *in, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *t = x->out[0];
    int n = t->rank - 2;
    for (int i = 0; i < n; i++) {
        image[i] = gopt_dim_of(t->dim[2 + i]);
        block[i] = gopt_dim_of(gopt_tensor_get_int(x->in[BLOCK], i));
    }
    GOPT_TRY(bind(x->attrs, image, block, n, &w, e));
    GOPT_TRY(gopt_ref_load(x, COLUMNS, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(t), &out, e));
    gopt_unfold u = {.w = &w, .n = x->in[COLUMNS]->dim[2]};
    int64_t rows = x->in[COLUMNS]->dim[1] * u.n, cells = gopt_ref_count(t->dim + 1, t->rank - 1);
    for (int64_t b = 0; b < t->dim[0]; b++) {
        gopt_unfold_add(&u, in + b * rows, t->dim[1], out + b * cells);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_Col2Im = {
    .name = "Col2Im", .domain = "", .in_min = 3, .in_max = 3, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
