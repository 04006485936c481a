/* ms_matmul_nbits.c: com.microsoft.MatMulNBits: a product with weights of 2, 4 or 8 bits, quantized in blocks of a row.
 */
#include <string.h>

#include "ref/multiply.h"
#include "ref/operand.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

typedef struct packed {
    int64_t n, k, bits, block, blocks; /* blocks of one row */
} packed;

static gopt_status read_size(gopt_attrs a, const char *name, int64_t fallback, int64_t *v, gopt_err *e)
{
    *v = gopt_attr_int(a, name, fallback);
    if (*v < 1 || *v > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld, 1 or more expected", name, (long long)*v);
    return GOPT_OK;
}

static gopt_status read_packed(gopt_attrs a, packed *p, gopt_err *e)
{
    GOPT_TRY(read_size(a, "N", 0, &p->n, e));
    GOPT_TRY(read_size(a, "K", 0, &p->k, e));
    GOPT_TRY(read_size(a, "bits", 4, &p->bits, e));
    GOPT_TRY(read_size(a, "block_size", 0, &p->block, e));
    if (p->bits != 2 && p->bits != 4 && p->bits != 8)
        return gopt_fail(e, GOPT_EUNSUP, "attribute bits: %lld, 2, 4 or 8 are supported", (long long)p->bits);
    if (p->block * p->bits % 8)
        return gopt_fail(e, GOPT_EINPUT, "attribute block_size: %lld values do not fill bytes", (long long)p->block);
    p->blocks = (p->k + p->block - 1) / p->block;
    return GOPT_OK;
}

/* The number of elements of input i, when known, is this. */
static gopt_status check_count(const gopt_infer *x, int i, const char *name, int64_t want, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    gopt_status s =
        gopt_ref_equal(gopt_ref_product(x->dims, x->in[i].dim, x->in[i].rank), gopt_dim_of(want), "elements", e);
    return s ? gopt_within(e, s, "input %s", name) : GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *a = &x->in[A];
    packed p = {0};
    GOPT_TRY(read_packed(x->attrs, &p, e));
    GOPT_TRY(gopt_ref_type(x, A, GOPT_REF_FLOAT, "A", e));
    GOPT_TRY(gopt_ref_type(x, B, GOPT_REF_BYTE, "B", e));
    GOPT_TRY(gopt_ref_type(x, SCALES, GOPT_REF_FLOAT, "scales", e));
    GOPT_TRY(gopt_ref_type(x, ZEROS, GOPT_REF_FLOAT | GOPT_REF_BYTE, "zero_points", e));
    if (gopt_infer_has(x, GROUPS))
        return gopt_fail(e, GOPT_EUNSUP, "input g_idx is not supported");
    GOPT_TRY(gopt_ref_rank(x, A, 1, GOPT_RANK_MAX, "A", e));
    GOPT_TRY(check_count(x, B, "B", p.n * p.blocks * (p.block * p.bits / 8), e));
    GOPT_TRY(check_count(x, SCALES, "scales", p.n * p.blocks, e));
    if (gopt_infer_has(x, ZEROS)) {
        bool floats = gopt_dtype_is_float(x->in[ZEROS].dtype);
        GOPT_TRY(check_count(x, ZEROS, "zero_points", p.n * (floats ? p.blocks : (p.blocks * p.bits + 7) / 8), e));
    }
    GOPT_TRY(gopt_ref_vector(x, BIAS, gopt_dim_of(p.n), "bias", e));
    gopt_ref_infer_type(x, 0, a->dtype);
    if (!gopt_ref_ranked(x, A))
        return GOPT_OK;
    gopt_fact out = *a;
    GOPT_TRY(gopt_ref_equal(a->dim[a->rank - 1], gopt_dim_of(p.k), "columns of A and K", e));
    out.dim[a->rank - 1] = gopt_dim_of(p.n);
    gopt_infer_set(x, 0, a->dtype, a->rank, out.dim);
    return GOPT_OK;
}

/* Value i of packed bytes, low bits first. */
static double unpack(const uint8_t *bytes, int64_t bits, int64_t i)
{
    return (double)(bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1));
}

static double zero_point(const gopt_tensor *t, const packed *p, int64_t row, int64_t block)
{
    if (!t)
        return (double)(1 << (p->bits - 1));
    if (gopt_dtype_is_float(t->dtype))
        return gopt_tensor_get(t, row * p->blocks + block);
    const uint8_t *bytes = t->data;
    return unpack(bytes + row * ((p->blocks * p->bits + 7) / 8), p->bits, block);
}

/* Rows [first, first + n) of the weights as columns of w (k x n). */
static void dequantize(const gopt_exec *x, const packed *p, int64_t first, int64_t n, double *w)
{
    int64_t bytes = p->block * p->bits / 8;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < p->k; i++) {
            int64_t row = first + j, block = i / p->block, at = row * p->blocks + block;
            const uint8_t *from = (const uint8_t *)x->in[B]->data + at * bytes;
            double zero = zero_point(gopt_ref_in(x, ZEROS), p, row, block);
            w[i * n + j] = (unpack(from, p->bits, i % p->block) - zero) * gopt_tensor_get(x->in[SCALES], at);
        }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    enum { PANEL = 64 };
    packed p = {0};
    double *a, *bias, *w, *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_packed(x->attrs, &p, e));
    GOPT_TRY(gopt_ref_load(x, A, &a, e));
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, p.k * PANEL, &w, e));
    int64_t rows = gopt_tensor_count(x->in[A]) / p.k;
    GOPT_TRY(gopt_ref_buffer(x, rows * p.n, &y, e));
    for (int64_t i = 0; bias && i < rows; i++)
        memcpy(y + i * p.n, bias, (size_t)p.n * sizeof *y);
    for (int64_t first = 0; first < p.n; first += PANEL) {
        int64_t n = GOPT_MIN(PANEL, p.n - first);
        dequantize(x, &p, first, n, w);
        gopt_ref_multiply(rows, n, p.k, a, p.k, w, n, y + first, p.n);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_ms_MatMulNBits = {.name = "MatMulNBits",
                                        .domain = "com.microsoft",
                                        .in_min = 3,
                                        .in_max = 6,
                                        .out_min = 1,
                                        .out_max = 1,
                                        .traits = GOPT_TRAIT_HEAVY,
                                        .infer = infer,
                                        .run = run};
