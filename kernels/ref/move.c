/* move.c: copying elements of any type, packed ones included. */
#include "ref/move.h"

#include <string.h>

gopt_dtype gopt_move_dtype(const gopt_exec *x, int i)
{
    const gopt_tensor *t = gopt_ref_in(x, i);
    return t ? t->dtype : GOPT_DTYPE_NONE;
}

gopt_dtype gopt_move_infer_dtype(const gopt_infer *x, int i)
{
    return i < x->n_in ? x->in[i].dtype : GOPT_DTYPE_NONE;
}

gopt_dtype gopt_move_type(int64_t number)
{
    return number > GOPT_DTYPE_NONE && number < GOPT_DTYPE_COUNT ? (gopt_dtype)number : GOPT_DTYPE_NONE;
}

gopt_status gopt_move_axis(gopt_attrs a, int64_t fallback, int rank, int *out, gopt_err *e)
{
    gopt_status s = gopt_axis(gopt_attr_int(a, "axis", fallback), rank, out, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

gopt_status gopt_move_flat_axis(gopt_attrs a, int rank, int *out, bool *flat, gopt_err *e)
{
    *out = 0;
    *flat = !gopt_attr_find(a, "axis");
    return *flat ? GOPT_OK : gopt_move_axis(a, 0, rank, out, e);
}

/* One element narrower than a byte. */
static void move_bits(int bits, unsigned char *dst, int64_t to, const unsigned char *src, int64_t from)
{
    unsigned mask = (1U << bits) - 1, shift = (unsigned)(to * bits % 8);
    unsigned v = (unsigned)src[from * bits / 8] >> (from * bits % 8) & mask;
    dst[to * bits / 8] = (unsigned char)((dst[to * bits / 8] & ~(mask << shift)) | v << shift);
}

void gopt_move(gopt_tensor *dst, int64_t to, const gopt_tensor *src, int64_t from, int64_t n)
{
    int bits = gopt_dtype_bits(dst->dtype);
    size_t size = gopt_dtype_bytes(dst->dtype, 1);
    if (bits > 0 && bits < 8) {
        for (int64_t i = 0; i < n; i++)
            move_bits(bits, dst->data, to + i, src->data, from + i);
    } else if (n > 0) {
        memcpy((char *)dst->data + (size_t)to * size, (const char *)src->data + (size_t)from * size, (size_t)n * size);
    }
}

void gopt_move_fill(gopt_tensor *dst, int64_t to, int64_t n, const gopt_tensor *src, int64_t from)
{
    static const unsigned char zero[16]; /* an element of the widest type */
    const gopt_tensor none = {.dtype = dst->dtype, .data = (void *)zero};
    if (n > 0)
        gopt_move(dst, to, src ? src : &none, src ? from : 0, 1);
    for (int64_t done = 1; done < n; done *= 2) /* what is filled is copied behind itself */
        gopt_move(dst, to + done, dst, to, GOPT_MIN(done, n - done));
}

gopt_status gopt_move_strided(gopt_exec *x, gopt_tensor *dst, const gopt_tensor *src, int64_t base,
                              const int64_t *stride, gopt_err *e)
{
    int last = dst->rank - 1;
    int64_t index[GOPT_RANK_MAX] = {0}, n = dst->rank ? dst->dim[last] : 1, step = dst->rank ? stride[last] : 1, to = 0;
    if (gopt_tensor_count(dst) == 0)
        return GOPT_OK;
    do {
        int64_t from = base;
        for (int d = 0; d < last; d++)
            from += index[d] * stride[d];
        if (step == 1)
            gopt_move(dst, to, src, from, n);
        for (int64_t i = 0; step != 1 && i < n; i++)
            gopt_move(dst, to + i, src, from + i * step, 1);
        to += n;
        GOPT_TRY(gopt_ref_tick(x, e));
    } while (gopt_ref_next(index, dst->dim, last));
    return GOPT_OK;
}

gopt_status gopt_move_index(const gopt_tensor *t, int64_t k, int64_t size, int64_t *out, gopt_err *e)
{
    int64_t v = gopt_tensor_get_int(t, k);
    if (v < -size || v >= size)
        return gopt_fail(e, GOPT_EINPUT, "index %lld is outside [%lld, %lld)", (long long)v, (long long)-size,
                         (long long)size);
    *out = v < 0 ? v + size : v;
    return GOPT_OK;
}

const char *gopt_move_string(const gopt_tensor *t, int64_t i)
{
    const char *s = ((const char *const *)t->data)[i];
    return s ? s : "";
}

void gopt_move_infer_view(gopt_infer *x, int rank, const gopt_dim *dim)
{
    int64_t n;
    const gopt_dim *content = gopt_move_content(x, 0, &n);
    gopt_infer_set(x, 0, x->in[0].dtype, rank, dim);
    if (content && n <= GOPT_CONTENT_MAX)
        x->out[0].content = content;
}

gopt_status gopt_move_run_view(gopt_exec *x, gopt_err *e)
{
    char have[160], want[160];
    GOPT_TRY(gopt_ref_begin(x, e));
    int64_t n = gopt_tensor_count(x->in[0]);
    if (gopt_tensor_count(x->out[0]) != n)
        return gopt_fail(e, GOPT_EINPUT, "%s does not have as many elements as %s",
                         gopt_tensor_describe(want, sizeof want, x->out[0]),
                         gopt_tensor_describe(have, sizeof have, x->in[0]));
    gopt_move(x->out[0], 0, x->in[0], 0, n);
    return GOPT_OK;
}

/* ---- broadcasting ---- */

bool gopt_move_is_number(gopt_dtype d)
{
    return gopt_dtype_is_float(d) || gopt_dtype_is_int(d) || d == GOPT_DTYPE_BOOL;
}

gopt_status gopt_move_infer_broadcast(gopt_infer *x, gopt_dtype d, gopt_err *e)
{
    gopt_fact shape = x->in[0];
    for (int i = 1; i < x->n_in; i++)
        GOPT_TRY(gopt_infer_broadcast(x, &shape, &x->in[i], &shape, e));
    gopt_infer_set(x, 0, d, shape.rank, shape.dim);
    return GOPT_OK;
}

gopt_status gopt_move_run_broadcast(gopt_exec *x, void (*one)(gopt_exec *x, int64_t to, const int64_t *from),
                                    gopt_err *e)
{
    int64_t stride[GOPT_MOVE_OPERANDS][GOPT_RANK_MAX], from[GOPT_MOVE_OPERANDS], index[GOPT_RANK_MAX] = {0}, to = 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *out = x->out[0];
    for (int i = 0; i < x->n_in; i++)
        gopt_ref_broadcast_strides(x->in[i]->dim, x->in[i]->rank, out->dim, out->rank, stride[i]);
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    do {
        for (int i = 0; i < x->n_in; i++) {
            from[i] = 0;
            for (int d = 0; d < out->rank; d++)
                from[i] += index[d] * stride[i][d];
        }
        one(x, to++, from);
        if (to % 1024 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    } while (gopt_ref_next(index, out->dim, out->rank));
    return GOPT_OK;
}
