/* linear_attention.c: LinearAttention: a matrix of state for every head, updated by every token. */
#include <math.h>
#include <string.h>

#include "ref/operand.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct rule {
    bool gated, delta;
} rule;

static gopt_status read_rule(gopt_attrs a, rule *r, gopt_err *e)
{
    const char *s = gopt_attr_string(a, "update_rule", "gated_delta");
    *r = (rule){.gated = !strncmp(s, "gated", 5), .delta = !strcmp(s, "delta") || !strcmp(s, "gated_delta")};
    if (strcmp(s, "linear") && strcmp(s, "gated") && strcmp(s, "delta") && strcmp(s, "gated_delta"))
        return gopt_fail(e, GOPT_EINPUT, "attribute update_rule: unknown value \"%s\"", s);
    return GOPT_OK;
}

static gopt_status read_heads(gopt_attrs a, int64_t *q, int64_t *kv, gopt_err *e)
{
    *q = gopt_attr_int(a, "q_num_heads", 0);
    *kv = gopt_attr_int(a, "kv_num_heads", 0);
    if (*q < 1 || *kv < 1 || *q > INT32_MAX || *q % *kv)
        return gopt_fail(e, GOPT_EINPUT, "%lld heads of queries do not share %lld heads of keys evenly", (long long)*q,
                         (long long)*kv);
    return GOPT_OK;
}

static gopt_status split(gopt_infer *x, int i, const char *name, int64_t heads, gopt_dim *size, gopt_err *e)
{
    *size = GOPT_DIM_UNKNOWN;
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    gopt_dim all = x->in[i].dim[2];
    if (gopt_dim_is_const(all) && all.k % heads)
        return gopt_fail(e, GOPT_EINPUT, "input %s: %lld elements do not divide into %lld heads", name,
                         (long long)all.k, (long long)heads);
    *size = gopt_dim_div(x->dims, all, gopt_dim_of(heads));
    return GOPT_OK;
}

static gopt_status check(gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"query", "key", "value", "past_state", "decay", "beta"};
    GOPT_TRY(gopt_ref_type(x, QUERY, GOPT_REF_FLOAT, "query", e));
    GOPT_TRY(gopt_ref_type(x, PAST, GOPT_REF_FLOAT, "past_state", e));
    for (int i = QUERY; i <= BETA; i++) {
        if (i != PAST)
            GOPT_TRY(gopt_ref_same_type(x, QUERY, i, e));
        GOPT_TRY(gopt_ref_rank(x, i, i == PAST ? 4 : 3, i == PAST ? 4 : 3, names[i], e));
        for (int d = 0; i != PAST && d < 2 && gopt_ref_ranked(x, i) && gopt_ref_ranked(x, QUERY); d++)
            GOPT_TRY(gopt_ref_equal(x->in[QUERY].dim[d], x->in[i].dim[d], "batch sizes or lengths", e));
    }
    return GOPT_OK;
}

/* decay has a value for each head, or for each element of its keys; beta one for each head, or one for all. */
static gopt_status check_gates(const gopt_infer *x, int64_t heads, gopt_dim size, gopt_err *e)
{
    gopt_dim decay = gopt_ref_ranked(x, DECAY) ? x->in[DECAY].dim[2] : GOPT_DIM_UNKNOWN;
    gopt_dim beta = gopt_ref_ranked(x, BETA) ? x->in[BETA].dim[2] : GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(decay) && decay.k != heads)
        GOPT_TRY(gopt_ref_equal(decay, gopt_dim_mul(x->dims, size, gopt_dim_of(heads)), "elements of decay", e));
    if (gopt_dim_is_const(beta) && beta.k != 1)
        GOPT_TRY(gopt_ref_equal(beta, gopt_dim_of(heads), "elements of beta", e));
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    rule r;
    int64_t q, kv;
    gopt_dim dq, dk, dv;
    GOPT_TRY(read_rule(x->attrs, &r, e));
    GOPT_TRY(read_heads(x->attrs, &q, &kv, e));
    GOPT_TRY(check(x, e));
    GOPT_TRY(split(x, QUERY, "query", q, &dq, e));
    GOPT_TRY(split(x, KEY, "key", kv, &dk, e));
    GOPT_TRY(split(x, VALUE, "value", kv, &dv, e));
    GOPT_TRY(gopt_ref_equal(dq, dk, "head sizes of query and key", e));
    GOPT_TRY(check_gates(x, kv, dk, e));
    gopt_dtype state = gopt_infer_has(x, PAST) ? x->in[PAST].dtype : x->in[QUERY].dtype;
    for (int k = 0; k < x->n_out && k < 2; k++)
        gopt_ref_infer_type(x, k, k ? state : x->in[QUERY].dtype);
    if (!gopt_ref_ranked(x, QUERY))
        return GOPT_OK;
    const gopt_dim *dim = x->in[QUERY].dim;
    gopt_dim shape[4] = {dim[0], gopt_dim_of(kv), dk, dv};
    for (int d = 0; gopt_ref_ranked(x, PAST) && d < 4; d++)
        GOPT_TRY(gopt_ref_equal(x->in[PAST].dim[d], shape[d], "shape of past_state", e));
    gopt_infer_set(x, 0, x->in[QUERY].dtype, 3,
                   (gopt_dim[]){dim[0], dim[1], gopt_dim_mul(x->dims, dv, gopt_dim_of(q))});
    if (x->n_out > 1)
        gopt_infer_set(x, 1, state, 4, shape);
    return GOPT_OK;
}

typedef struct job {
    rule rule;
    int64_t batch, length, heads, kv_heads, dk, dv, decays, betas; /* decays, betas: of a token */
    double scale;
    const double *q, *k, *v, *decay, *beta;
    double *state, *tmp, *out; /* tmp: dv */
} job;

/* Token t of head h of sequence b: fades the state, then adds what the key does not yet recall of the value. */
static void update(const job *j, int64_t b, int64_t t, int64_t h)
{
    int64_t token = b * j->length + t, per_key = j->decays / j->kv_heads;
    const double *key = j->k + (token * j->kv_heads + h) * j->dk, *value = j->v + (token * j->kv_heads + h) * j->dv;
    double *state = j->state + (b * j->kv_heads + h) * j->dk * j->dv;
    double beta = j->rule.delta ? j->beta[token * j->betas + (j->betas == 1 ? 0 : h)] : 1;
    for (int64_t i = 0; i < j->dk * j->dv && j->rule.gated; i++)
        state[i] *= exp(j->decay[token * j->decays + h * per_key + (per_key == 1 ? 0 : i / j->dv)]);
    for (int64_t m = 0; m < j->dv; m++) {
        double recalled = 0;
        for (int64_t d = 0; d < j->dk && j->rule.delta; d++)
            recalled += state[d * j->dv + m] * key[d];
        j->tmp[m] = beta * (value[m] - recalled);
    }
    for (int64_t i = 0; i < j->dk * j->dv; i++)
        state[i] += key[i / j->dv] * j->tmp[i % j->dv];
}

/* What the query of head h reads from its state. */
static void read_out(const job *j, int64_t b, int64_t t, int64_t h)
{
    int64_t at = (b * j->length + t) * j->heads + h, kv = h / (j->heads / j->kv_heads);
    const double *query = j->q + at * j->dk, *state = j->state + (b * j->kv_heads + kv) * j->dk * j->dv;
    for (int64_t m = 0; m < j->dv; m++) {
        double sum = 0;
        for (int64_t d = 0; d < j->dk; d++)
            sum += query[d] * state[d * j->dv + m];
        j->out[at * j->dv + m] = sum * j->scale;
    }
}

static gopt_status load(gopt_exec *x, job *j, gopt_err *e)
{
    const double **into[] = {&j->q, &j->k, &j->v, NULL, &j->decay, &j->beta};
    double *v;
    for (int i = QUERY; i <= BETA; i++) {
        GOPT_TRY(gopt_ref_load(x, i, &v, e));
        if (i == PAST)
            j->state = v;
        else
            *into[i] = v;
    }
    if ((j->rule.gated && !j->decay) || (j->rule.delta && !j->beta))
        return gopt_fail(e, GOPT_EINPUT, "the update rule needs the input %s",
                         j->rule.gated && !j->decay ? "decay" : "beta");
    GOPT_TRY(read_heads(x->attrs, &j->heads, &j->kv_heads, e));
    j->batch = x->in[QUERY]->dim[0];
    j->length = x->in[QUERY]->dim[1];
    j->dk = x->in[QUERY]->dim[2] / j->heads;
    j->dv = x->in[VALUE]->dim[2] / j->kv_heads;
    j->decays = j->rule.gated ? x->in[DECAY]->dim[2] : 0;
    j->betas = j->rule.delta ? x->in[BETA]->dim[2] : 0;
    j->scale = gopt_attr_float(x->attrs, "scale", 0);
    if (j->scale == 0)
        j->scale = 1 / sqrt((double)j->dk);
    if (!j->state)
        GOPT_TRY(gopt_ref_buffer(x, j->batch * j->kv_heads * j->dk * j->dv, &j->state, e));
    GOPT_TRY(gopt_ref_buffer(x, j->dv, &j->tmp, e));
    return gopt_ref_buffer(x, j->batch * j->length * j->heads * j->dv, &j->out, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    job j = {0};
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_rule(x->attrs, &j.rule, e));
    GOPT_TRY(load(x, &j, e));
    for (int64_t i = 0; i < j.batch * j.length; i++) {
        for (int64_t h = 0; h < j.kv_heads; h++)
            update(&j, i / j.length, i % j.length, h);
        for (int64_t h = 0; h < j.heads; h++)
            read_out(&j, i / j.length, i % j.length, h);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, j.out);
    gopt_ref_store(x, 1, j.state);
    return GOPT_OK;
}

const gopt_op gopt_op_LinearAttention = {.name = "LinearAttention",
                                         .domain = "",
                                         .in_min = 3,
                                         .in_max = 6,
                                         .out_min = 2,
                                         .out_max = 2,
                                         .traits = GOPT_TRAIT_HEAVY,
                                         .infer = infer,
                                         .run = run};
