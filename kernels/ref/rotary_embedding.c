/* rotary_embedding.c: RotaryEmbedding: pairs of elements of every head are rotated by the angle of their position. */
#include "ref/rotary_embedding.h"

enum { X, COS, SIN, POSITIONS };

/* How many elements of every head are rotated. */
static gopt_status read_sizes(const gopt_infer *x, gopt_dim *rotated, gopt_err *e)
{
    const gopt_fact *in = &x->in[X];
    int64_t heads = gopt_attr_int(x->attrs, "num_heads", 0), part = gopt_attr_int(x->attrs, "rotary_embedding_dim", 0);
    gopt_dim size = in->dim[in->rank - 1];
    if (in->rank == 3) {
        if (heads < 1 || heads > INT32_MAX)
            return gopt_fail(e, GOPT_EINPUT, "attribute num_heads: %lld, 1 or more expected", (long long)heads);
        if (gopt_dim_is_const(size) && size.k % heads)
            return gopt_fail(e, GOPT_EINPUT, "%lld elements do not divide into %lld heads", (long long)size.k,
                             (long long)heads);
        size = gopt_dim_div(x->dims, size, gopt_dim_of(heads));
    }
    *rotated = part ? gopt_dim_of(part) : size;
    if (part < 0 || (gopt_dim_is_const(size) && part > size.k))
        return gopt_fail(e, GOPT_EINPUT, "attribute rotary_embedding_dim: %lld does not fit a head of %lld",
                         (long long)part, (long long)size.k);
    if (gopt_dim_is_const(*rotated) && rotated->k % 2)
        return gopt_fail(e, GOPT_EINPUT, "an odd number of elements, %lld, cannot be rotated", (long long)rotated->k);
    return GOPT_OK;
}

static gopt_status check_cache(const gopt_infer *x, int i, const char *name, gopt_dim half, gopt_err *e)
{
    const gopt_fact *in = &x->in[X], *cache = &x->in[i];
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_rank(x, i, 2, 3, name, e));
    GOPT_TRY(gopt_ref_equal(cache->dim[cache->rank - 1], half, "half of the rotated elements and the cache", e));
    if (cache->rank == 2)
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(cache->dim[0], in->dim[0], "batch sizes of X and the cache", e));
    return gopt_ref_equal(cache->dim[1], in->dim[in->rank - 2], "lengths of X and the cache", e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim rotated;
    GOPT_TRY(gopt_ref_infer_float(x, 3, e));
    GOPT_TRY(gopt_ref_rank(x, X, 3, 4, "X", e));
    GOPT_TRY(gopt_ref_same_type(x, X, COS, e));
    GOPT_TRY(gopt_ref_same_type(x, X, SIN, e));
    GOPT_TRY(gopt_ref_type(x, POSITIONS, GOPT_REF_INDEX, "position_ids", e));
    GOPT_TRY(gopt_ref_rank(x, POSITIONS, 2, 2, "position_ids", e));
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    GOPT_TRY(read_sizes(x, &rotated, e));
    gopt_dim half = gopt_dim_div(x->dims, rotated, gopt_dim_of(2));
    GOPT_TRY(check_cache(x, COS, "cos_cache", half, e));
    GOPT_TRY(check_cache(x, SIN, "sin_cache", half, e));
    if (!gopt_ref_ranked(x, POSITIONS))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(x->in[POSITIONS].dim[0], x->in[X].dim[0], "batch sizes of X and position_ids", e));
    return gopt_ref_equal(x->in[POSITIONS].dim[1], x->in[X].dim[x->in[X].rank - 2], "lengths of X and position_ids", e);
}

void gopt_ref_rotate(double *v, const double *cosine, const double *sine, int64_t half, bool interleaved)
{
    for (int64_t i = 0; i < half; i++) {
        double *a = &v[interleaved ? 2 * i : i], *b = &v[interleaved ? 2 * i + 1 : half + i];
        double real = cosine[i] * *a - sine[i] * *b;
        *b = sine[i] * *a + cosine[i] * *b;
        *a = real;
    }
}

/* The row of the caches for position s of sequence b. */
static gopt_status find_row(const gopt_exec *x, int64_t b, int64_t s, int64_t length, int64_t *row, gopt_err *e)
{
    const gopt_tensor *positions = gopt_ref_in(x, POSITIONS), *cache = x->in[COS];
    *row = positions ? gopt_tensor_get_int(positions, b * length + s) : b * length + s;
    int64_t rows = gopt_ref_count(cache->dim, cache->rank - 1);
    if (*row < 0 || *row >= rows)
        return gopt_fail(e, GOPT_EINPUT, "position %lld is outside the caches of %lld rows", (long long)*row,
                         (long long)rows);
    return GOPT_OK;
}

static gopt_status check_ranks(const gopt_exec *x, gopt_err *e)
{
    int want = gopt_ref_in(x, POSITIONS) ? 2 : 3;
    const gopt_tensor *c = x->in[COS], *s = x->in[SIN];
    if (c->rank != want || s->rank != want || !gopt_dims_equal(c, s))
        return gopt_fail(e, GOPT_EINPUT, "the caches need rank %d and the same shape %s position_ids", want,
                         want == 2 ? "with" : "without");
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v, *cosine, *sine;
    bool interleaved = gopt_attr_int(x->attrs, "interleaved", 0) != 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(check_ranks(x, e));
    const gopt_tensor *in = x->in[X];
    bool split = in->rank == 4;
    int64_t heads = split ? in->dim[1] : gopt_attr_int(x->attrs, "num_heads", 1), length = in->dim[in->rank - 2];
    int64_t size = split ? in->dim[3] : in->dim[2] / heads, half = x->in[COS]->dim[x->in[COS]->rank - 1], row;
    GOPT_TRY(gopt_ref_load(x, X, &v, e));
    GOPT_TRY(gopt_ref_load(x, COS, &cosine, e));
    GOPT_TRY(gopt_ref_load(x, SIN, &sine, e));
    for (int64_t b = 0; b < in->dim[0]; b++)
        for (int64_t s = 0; s < length; s++) {
            GOPT_TRY(find_row(x, b, s, length, &row, e));
            for (int64_t h = 0; h < heads; h++) {
                int64_t at = split ? (b * heads + h) * length + s : (b * length + s) * heads + h;
                gopt_ref_rotate(v + at * size, cosine + row * half, sine + row * half, half, interleaved);
            }
        }
    gopt_ref_store(x, 0, v);
    return GOPT_OK;
}

const gopt_op gopt_op_RotaryEmbedding = {.name = "RotaryEmbedding",
                                         .domain = "",
                                         .in_min = 3,
                                         .in_max = 4,
                                         .out_min = 1,
                                         .out_max = 1,
                                         .infer = infer,
                                         .run = run};
