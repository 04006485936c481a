/* tensor_proto.c: every encoding of tensors: raw bytes in the file, external files, typed fields, sparse form. */
#include "onnx/tensor_proto.h"

#include <stdalign.h>
#include <string.h>

#include "onnx/wire.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw data are little-endian and used as they are");

/* What a field of typed data holds. */
typedef enum typed { FLOAT_DATA, DOUBLE_DATA, INT32_DATA, INT64_DATA, UINT64_DATA, TYPED_COUNT } typed;

static typed field_of(gopt_dtype d)
{
    switch (d) {
    case GOPT_DTYPE_F32:
    case GOPT_DTYPE_C64:
        return FLOAT_DATA;
    case GOPT_DTYPE_F64:
    case GOPT_DTYPE_C128:
        return DOUBLE_DATA;
    case GOPT_DTYPE_I64:
        return INT64_DATA;
    case GOPT_DTYPE_U32:
    case GOPT_DTYPE_U64:
        return UINT64_DATA;
    default:
        return INT32_DATA;
    }
}

/* Entries of every typed field. */
static void count_typed(const Onnx__TensorProto *p, size_t n[TYPED_COUNT])
{
    n[FLOAT_DATA] = p->n_float_data;
    n[DOUBLE_DATA] = p->n_double_data;
    n[INT32_DATA] = p->n_int32_data;
    n[INT64_DATA] = p->n_int64_data;
    n[UINT64_DATA] = p->n_uint64_data;
}

/* Entries that hold `count` elements: complex numbers take two, those narrower than a byte share one. */
static size_t entries_of(gopt_dtype d, int64_t count)
{
    if (d == GOPT_DTYPE_C64 || d == GOPT_DTYPE_C128)
        return 2 * (size_t)count;
    return gopt_dtype_bits(d) < 8 ? gopt_dtype_bytes(d, count) : (size_t)count;
}

static void store_int32(gopt_tensor *t, const int32_t *v, size_t n)
{
    size_t bytes = GOPT_MAX((size_t)gopt_dtype_bits(t->dtype) / 8, (size_t)1);
    unsigned char *to = t->data;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = t->dtype == GOPT_DTYPE_BOOL ? v[i] != 0 : (uint32_t)v[i];
        memcpy(to + i * bytes, &bits, bytes);
    }
}

static void store_typed(gopt_tensor *t, const Onnx__TensorProto *p, size_t n)
{
    if (n == 0)
        return;
    switch (field_of(t->dtype)) {
    case FLOAT_DATA:
        memcpy(t->data, p->float_data, n * sizeof(float));
        break;
    case DOUBLE_DATA:
        memcpy(t->data, p->double_data, n * sizeof(double));
        break;
    case INT64_DATA:
        memcpy(t->data, p->int64_data, n * sizeof(int64_t));
        break;
    case UINT64_DATA:
        gopt_dtype_store_int(t->dtype, t->data, 0, (int64_t)n, (const int64_t *)p->uint64_data);
        break;
    default:
        store_int32(t, p->int32_data, n);
        break;
    }
}

static gopt_status wrong_size(const gopt_tensor *t, size_t have, size_t want, const char *unit, gopt_err *e)
{
    char text[160];
    return gopt_fail(e, GOPT_EINPUT, "%zu %s of data, %zu expected for %s", have, unit, want,
                     gopt_tensor_describe(text, sizeof text, t));
}

static gopt_status read_typed(gopt_tensor *t, const Onnx__TensorProto *p, const gopt_onnx_source *src, gopt_err *e)
{
    size_t n[TYPED_COUNT], want = entries_of(t->dtype, gopt_tensor_count(t));
    count_typed(p, n);
    size_t have = n[field_of(t->dtype)];
    if (have != want)
        return wrong_size(t, have, want, "entries", e);
    gopt_tensor *made = gopt_tensor_new(src->arena, t->dtype, t->rank, t->dim);
    if (!made)
        return gopt_oom(e);
    t->data = made->data;
    store_typed(t, p, want);
    return GOPT_OK;
}

/* Data as they lie in a file: borrowed or copied. */
static gopt_status take(gopt_tensor *t, const uint8_t *data, size_t bytes, const gopt_onnx_source *src, gopt_err *e)
{
    size_t align = GOPT_MIN(GOPT_MAX((size_t)gopt_dtype_bits(t->dtype) / 8, (size_t)1), alignof(double));
    if ((uintptr_t)data % align == 0) {
        t->data = (void *)(uintptr_t)data;
        return GOPT_OK;
    }
    t->data = gopt_arena_copy(src->arena, data, 1, bytes);
    gopt_pages_drop(data, bytes);
    return t->data ? GOPT_OK : gopt_oom(e);
}

static gopt_status read_raw(gopt_tensor *t, const Onnx__TensorProto *p, const gopt_onnx_source *src, gopt_err *e)
{
    gopt_wire_ref ref;
    size_t want = gopt_tensor_bytes(t);
    memcpy(&ref, p->raw_data.data, sizeof ref);
    if (ref.bytes != want)
        return wrong_size(t, ref.bytes, want, "bytes", e);
    return take(t, src->file->data + ref.offset, want, src, e);
}

static gopt_status read_external(gopt_tensor *t, const Onnx__TensorProto *p, const gopt_onnx_source *src, gopt_err *e)
{
    const uint8_t *data;
    size_t want = gopt_tensor_bytes(t);
    GOPT_TRY(gopt_onnx_external(&data, src->folder, p, want, e));
    return take(t, data, want, src, e);
}

static gopt_status read_shape(gopt_tensor *t, const int64_t *dim, size_t rank, gopt_err *e)
{
    int64_t count;
    if (rank > GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "%zu dimensions, at most %d are supported", rank, GOPT_RANK_MAX);
    t->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return gopt_fail(e, GOPT_EINPUT, "dimension %zu is %lld", i, (long long)dim[i]);
        t->dim[i] = dim[i];
    }
    return gopt_dims_count(dim, t->rank, &count) ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "its dimensions overflow");
}

static gopt_status read_header(gopt_tensor *t, const Onnx__TensorProto *p, gopt_err *e)
{
    *t = (gopt_tensor){.dtype = (gopt_dtype)p->data_type};
    if (p->data_type <= GOPT_DTYPE_NONE || p->data_type >= GOPT_DTYPE_COUNT)
        return gopt_fail(e, GOPT_EINPUT, "unknown element type %d", p->data_type);
    if (t->dtype == GOPT_DTYPE_STRING)
        return gopt_fail(e, GOPT_EUNSUP, "tensors of strings are not supported");
    if (p->segment)
        return gopt_fail(e, GOPT_EUNSUP, "tensors in segments are not supported");
    return read_shape(t, p->dims, p->n_dims, e);
}

static gopt_status read_data(gopt_tensor *t, const Onnx__TensorProto *p, const gopt_onnx_source *src, gopt_err *e)
{
    gopt_wire_ref raw = {0};
    size_t n[TYPED_COUNT], entries = p->n_string_data;
    count_typed(p, n);
    for (int i = 0; i < TYPED_COUNT; i++)
        entries += n[i];
    if (p->has_raw_data)
        memcpy(&raw, p->raw_data.data, sizeof raw);
    bool external = p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    if ((raw.bytes > 0) + (entries > 0) + external > 1)
        return gopt_fail(e, GOPT_EINPUT, "its data are given in more than one form");
    if (external)
        return read_external(t, p, src, e);
    if (entries > n[field_of(t->dtype)])
        return gopt_fail(e, GOPT_EINPUT, "its data are of another type than %s", gopt_dtype_name(t->dtype));
    return p->has_raw_data && entries == 0 ? read_raw(t, p, src, e) : read_typed(t, p, src, e);
}

gopt_status gopt_onnx_tensor(const gopt_tensor **out, const Onnx__TensorProto *p, const gopt_onnx_source *src,
                             gopt_err *e)
{
    gopt_tensor *t = GOPT_NEW(src->arena, gopt_tensor, 1);
    *out = NULL;
    if (!t)
        return gopt_oom(e);
    GOPT_TRY(read_header(t, p, e));
    GOPT_TRY(read_data(t, p, src, e));
    *out = t;
    return GOPT_OK;
}

/* ---- sparse ---- */

/* The flat index of entry i: indices are flat already, or one row of coordinates per entry. */
static bool flat_index(const gopt_tensor *indices, int64_t i, const gopt_tensor *dense, int64_t *out)
{
    const int64_t *at = indices->data;
    int64_t flat = 0;
    if (indices->rank == 1) {
        *out = at[i];
        return at[i] >= 0 && at[i] < gopt_tensor_count(dense);
    }
    for (int d = 0; d < dense->rank; d++) {
        int64_t v = at[i * dense->rank + d];
        if (v < 0 || v >= dense->dim[d])
            return false;
        flat = flat * dense->dim[d] + v;
    }
    *out = flat;
    return true;
}

static gopt_status scatter(gopt_tensor *dense, const gopt_tensor *values, const gopt_tensor *indices, gopt_err *e)
{
    int64_t n = gopt_tensor_count(values), last = -1;
    size_t bytes = (size_t)gopt_dtype_bits(values->dtype) / 8;
    bool rows = indices->rank == 2 && indices->dim[1] == dense->rank && indices->dim[0] == n;
    if (values->rank != 1 || indices->dtype != GOPT_DTYPE_I64 ||
        !(rows || (indices->rank == 1 && indices->dim[0] == n)))
        return gopt_fail(e, GOPT_EINPUT, "indices do not go with values and dimensions");
    if (bytes == 0)
        return gopt_fail(e, GOPT_EUNSUP, "sparse tensors of %s are not supported", gopt_dtype_name(values->dtype));
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
        if (!flat_index(indices, i, dense, &at) || at <= last)
            return gopt_fail(e, GOPT_EINPUT, "index %lld is out of range or out of order", (long long)i);
        memcpy((char *)dense->data + (size_t)at * bytes, (const char *)values->data + (size_t)i * bytes, bytes);
        last = at;
    }
    return GOPT_OK;
}

gopt_status gopt_onnx_sparse_tensor(const gopt_tensor **out, const Onnx__SparseTensorProto *p,
                                    const gopt_onnx_source *src, gopt_err *e)
{
    enum { DENSE_MAX = 256 << 20 };
    const gopt_tensor *values, *indices;
    gopt_tensor shape = {0};
    *out = NULL;
    if (!p->values || !p->indices)
        return gopt_fail(e, GOPT_EINPUT, "values or indices are missing");
    GOPT_TRY(gopt_onnx_tensor(&values, p->values, src, e));
    GOPT_TRY(gopt_onnx_tensor(&indices, p->indices, src, e));
    shape.dtype = values->dtype;
    GOPT_TRY(read_shape(&shape, p->dims, p->n_dims, e));
    if (gopt_tensor_bytes(&shape) > DENSE_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "%zu bytes when dense, at most %d are supported", gopt_tensor_bytes(&shape),
                         DENSE_MAX);
    gopt_tensor *dense = gopt_tensor_new(src->arena, shape.dtype, shape.rank, shape.dim);
    if (!dense)
        return gopt_oom(e);
    GOPT_TRY(scatter(dense, values, indices, e));
    *out = dense;
    return GOPT_OK;
}
