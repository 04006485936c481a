/* top_k.c: TopK; among equal elements the one with the lower index comes first. */
#include <stdlib.h>
#include <string.h>

#include "ref/axis.h"
#include "ref/order.h"

static gopt_status read_axis(gopt_attrs a, int rank, int *axis, gopt_err *e)
{
    gopt_status s = gopt_axis(gopt_attr_int(a, "axis", -1), rank, axis, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

static gopt_status check_k(gopt_dim k, gopt_dim n, gopt_err *e)
{
    if (gopt_dim_is_const(k) && (k.k < 0 || (gopt_dim_is_const(n) && k.k > n.k)))
        return gopt_fail(e, GOPT_EINPUT, "input K: %lld, the axis has %lld elements", (long long)k.k, (long long)n.k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    int64_t n;
    int axis;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_REAL, "X", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_INDEX, "K", e));
    GOPT_TRY(gopt_ref_scalar(x, 1, "K", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    gopt_ref_infer_type(x, 1, GOPT_DTYPE_I64);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(read_axis(x->attrs, in->rank, &axis, e));
    const gopt_dim *k = gopt_infer_ints(x, 1, &n);
    gopt_fact out = *in;
    out.dim[axis] = k && n == 1 ? k[0] : GOPT_DIM_UNKNOWN;
    GOPT_TRY(check_k(out.dim[axis], in->dim[axis], e));
    gopt_infer_set(x, 0, in->dtype, out.rank, out.dim);
    if (x->n_out > 1)
        gopt_infer_set(x, 1, GOPT_DTYPE_I64, out.rank, out.dim);
    return GOPT_OK;
}

typedef struct item {
    int64_t key, index;
} item;

static int compare(const void *a, const void *b)
{
    const item *p = a, *q = b;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

/* Elements `first` + i * `stride` of both outputs, i < k. */
static void store(gopt_exec *x, const item *items, int64_t k, int64_t from, int64_t first, int64_t stride)
{
    const gopt_tensor *in = x->in[0];
    gopt_tensor *values = gopt_ref_out(x, 0), *indices = gopt_ref_out(x, 1);
    size_t size = (size_t)gopt_dtype_bits(in->dtype) / 8;
    for (int64_t i = 0; i < k; i++) {
        int64_t to = first + i * stride, at = from + items[i].index * stride;
        if (values)
            memcpy((char *)values->data + (size_t)to * size, (const char *)in->data + (size_t)at * size, size);
        if (indices)
            gopt_tensor_set_int(indices, to, items[i].index);
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int axis;
    bool largest = gopt_attr_int(x->attrs, "largest", 1) != 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_axis(x->attrs, x->in[0]->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(x->in[0], axis);
    int64_t k = gopt_tensor_get_int(x->in[1], 0), *key = GOPT_NEW(x->scratch, int64_t, s.n);
    item *items = GOPT_NEW(x->scratch, item, s.n);
    if (!key || !items)
        return gopt_oom(e);
    for (int64_t v = 0; v < s.outer * s.inner; v++) {
        int64_t o = v / s.inner, i = v % s.inner, from = o * s.n * s.inner + i;
        gopt_order_keys(x->in[0], from, s.n, s.inner, key);
        for (int64_t j = 0; j < s.n; j++)
            items[j] = (item){largest ? ~key[j] : key[j], j};
        qsort(items, (size_t)s.n, sizeof *items, compare);
        store(x, items, k, from, o * k * s.inner + i, s.inner);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_TopK = {
    .name = "TopK", .domain = "", .in_min = 2, .in_max = 2, .out_min = 2, .out_max = 2, .infer = infer, .run = run};
