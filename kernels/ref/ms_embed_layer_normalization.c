/* ms_embed_layer_normalization.c: com.microsoft.EmbedLayerNormalization: sum of word, position and segment embeddings,
 * normalized. */
#include "ref/layer_norm.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITION_IDS };

static gopt_status check_tables(gopt_infer *x, gopt_err *e)
{
    static const int tables[] = {WORD, POSITION, SEGMENT};
    gopt_dim hidden = gopt_ref_ranked(x, WORD) && x->in[WORD].rank == 2 ? x->in[WORD].dim[1] : GOPT_DIM_UNKNOWN;
    for (int i = 0; i < GOPT_COUNT(tables); i++) {
        GOPT_TRY(gopt_ref_type(x, tables[i], GOPT_REF_FLOAT, "embedding", e));
        GOPT_TRY(gopt_ref_same_type(x, WORD, tables[i], e));
        GOPT_TRY(gopt_ref_rank(x, tables[i], 2, 2, "embedding", e));
        if (gopt_ref_ranked(x, tables[i]))
            GOPT_TRY(gopt_ref_equal(x->in[tables[i]].dim[1], hidden, "hidden sizes of the embeddings", e));
    }
    GOPT_TRY(gopt_ref_vector(x, GAMMA, hidden, "gamma", e));
    return gopt_ref_vector(x, BETA, hidden, "beta", e);
}

/* Ids that go with input_ids, element by element; position ids may lack the batch. */
static gopt_status check_ids(gopt_infer *x, int i, const char *name, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, i, GOPT_REF_INDEX, name, e));
    GOPT_TRY(gopt_ref_rank(x, i, 2, 2, name, e));
    for (int d = 0; gopt_ref_ranked(x, IDS) && gopt_ref_ranked(x, i) && d < 2; d++) {
        gopt_dim n = x->in[i].dim[d];
        if (i == POSITION_IDS && d == 0 && gopt_dim_is_const(n) && n.k == 1)
            continue;
        gopt_status s = gopt_ref_equal(n, x->in[IDS].dim[d], "shape", e);
        if (s)
            return gopt_within(e, s, "input %s", name);
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(check_ids(x, IDS, "input_ids", e));
    GOPT_TRY(check_ids(x, SEGMENTS, "segment_ids", e));
    GOPT_TRY(check_ids(x, MASK, "mask", e));
    GOPT_TRY(check_ids(x, POSITION_IDS, "position_ids", e));
    GOPT_TRY(check_tables(x, e));
    if (!gopt_infer_has(x, WORD))
        return GOPT_OK;
    gopt_dtype d = x->in[WORD].dtype;
    for (int k = 0; k < x->n_out && k < 3; k++)
        gopt_ref_infer_type(x, k, k == 1 ? GOPT_DTYPE_I32 : d);
    if (!gopt_ref_ranked(x, IDS) || !gopt_ref_ranked(x, WORD))
        return GOPT_OK;
    gopt_dim dim[3] = {x->in[IDS].dim[0], x->in[IDS].dim[1], x->in[WORD].dim[1]};
    gopt_infer_set(x, 0, d, 3, dim);
    if (x->n_out > 1)
        gopt_infer_set(x, 1, GOPT_DTYPE_I32, 1, dim);
    if (x->n_out > 2)
        gopt_infer_set(x, 2, d, 3, dim);
    return GOPT_OK;
}

/* Adds the row of the table that the id names, from the end where it is negative (as Gather counts). */
static gopt_status add_row(gopt_exec *x, int table, int64_t id, double *row, double *tmp, gopt_err *e)
{
    const gopt_tensor *t = x->in[table];
    id += id < 0 ? t->dim[0] : 0;
    if (id < 0 || id >= t->dim[0])
        return gopt_fail(e, GOPT_EINPUT, "id %lld is outside the embedding of %lld rows", (long long)id,
                         (long long)t->dim[0]);
    gopt_dtype_load(t->dtype, t->data, id * t->dim[1], t->dim[1], tmp);
    for (int64_t j = 0; j < t->dim[1]; j++)
        row[j] += tmp[j];
    return GOPT_OK;
}

static gopt_status embed(gopt_exec *x, double *v, gopt_err *e)
{
    const gopt_tensor *ids = x->in[IDS], *segments = gopt_ref_in(x, SEGMENTS), *at = gopt_ref_in(x, POSITION_IDS);
    int64_t n = gopt_tensor_count(ids), hidden = x->in[WORD]->dim[1];
    double *tmp;
    if (segments && !gopt_ref_in(x, SEGMENT))
        return gopt_fail(e, GOPT_EINPUT, "segment_ids are given without segment_embedding");
    GOPT_TRY(gopt_ref_buffer(x, hidden, &tmp, e));
    for (int64_t i = 0; i < n; i++, v += hidden) {
        int64_t position = at ? gopt_tensor_get_int(at, i % gopt_tensor_count(at)) : i % ids->dim[1];
        GOPT_TRY(add_row(x, WORD, gopt_tensor_get_int(ids, i), v, tmp, e));
        GOPT_TRY(add_row(x, POSITION, position, v, tmp, e));
        if (segments)
            GOPT_TRY(add_row(x, SEGMENT, gopt_tensor_get_int(segments, i), v, tmp, e));
    }
    return GOPT_OK;
}

/* Number of ones in the mask of every sequence; 0 without a mask. */
static void count_mask(gopt_exec *x)
{
    gopt_tensor *out = gopt_ref_out(x, 1);
    const gopt_tensor *mask = gopt_ref_in(x, MASK);
    for (int64_t b = 0; out && b < out->dim[0]; b++) {
        int64_t ones = 0, n = mask ? mask->dim[1] : 0;
        for (int64_t i = 0; i < n; i++)
            ones += gopt_tensor_get_int(mask, b * n + i) == 1;
        gopt_tensor_set_int(out, b, ones);
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v, *gamma, *beta, mean, inv, epsilon = gopt_attr_float(x->attrs, "epsilon", 1e-12f);
    GOPT_TRY(gopt_ref_begin_with(x, 1u << IDS | 1u << WORD | 1u << POSITION | 1u << GAMMA | 1u << BETA, e));
    int64_t n = gopt_tensor_count(x->in[IDS]), hidden = x->in[WORD]->dim[1];
    GOPT_TRY(gopt_ref_buffer(x, n * hidden, &v, e));
    GOPT_TRY(gopt_ref_load(x, GAMMA, &gamma, e));
    GOPT_TRY(gopt_ref_load(x, BETA, &beta, e));
    GOPT_TRY(embed(x, v, e));
    gopt_ref_store(x, 2, v);
    for (int64_t i = 0; i < n; i++) {
        double *row = v + i * hidden;
        gopt_layer_norm_row(false, epsilon, row, hidden, &mean, &inv);
        for (int64_t j = 0; j < hidden; j++)
            row[j] = row[j] * gamma[j] + beta[j];
    }
    gopt_ref_store(x, 0, v);
    count_mask(x);
    return GOPT_OK;
}

const gopt_op gopt_op_ms_EmbedLayerNormalization = {.name = "EmbedLayerNormalization",
                                                    .domain = "com.microsoft",
                                                    .in_min = 7,
                                                    .in_max = 9,
                                                    .out_min = 1,
                                                    .out_max = 3,
                                                    .infer = infer,
                                                    .run = run};
