/* dropout.c: Dropout: the input as it is. In training mode elements are dropped by a generator that the seed sets, so
 * that two runs agree. */
#include "ref/move.h"

enum { DATA, RATIO, TRAINING };

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, DATA, GOPT_REF_FLOAT | GOPT_REF_FLOAT8, "data", e));
    GOPT_TRY(gopt_ref_type(x, RATIO, GOPT_REF_FLOAT | GOPT_REF_FLOAT8, "ratio", e));
    GOPT_TRY(gopt_ref_scalar(x, RATIO, "ratio", e));
    GOPT_TRY(gopt_ref_type(x, TRAINING, GOPT_REF_BOOL, "training_mode", e));
    GOPT_TRY(gopt_ref_scalar(x, TRAINING, "training_mode", e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_infer_like(x, 0, DATA);
    if (x->n_out > 1)
        gopt_infer_set(x, 1, GOPT_DTYPE_BOOL, x->in[DATA].rank, x->in[DATA].dim);
    return GOPT_OK;
}

/* The Mersenne twister, seeded and read as numpy does: the data that ONNX publishes for training mode was made so. */
enum { WORDS = 624, MIDDLE = 397 };
typedef struct twister {
    uint32_t word[WORDS];
    int next;
} twister;

static void twister_seed(twister *t, uint32_t seed)
{
    t->word[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++)
        t->word[i] = 1812433253U * (t->word[i - 1] ^ t->word[i - 1] >> 30) + i;
    t->next = WORDS;
}

static void twister_turn(twister *t)
{
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (t->word[i] & 0x80000000U) | (t->word[(i + 1) % WORDS] & 0x7fffffffU);
        t->word[i] = t->word[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfU : 0);
    }
    t->next = 0;
}

static uint32_t twister_next(twister *t)
{
    if (t->next == WORDS)
        twister_turn(t);
    uint32_t y = t->word[t->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* Uniform in [0, 1). */
static double twister_uniform(twister *t)
{
    uint32_t high = twister_next(t) >> 5, low = twister_next(t) >> 6;
    return ((double)high * 0x1p26 + low) * 0x1p-53;
}

static gopt_status drop(const gopt_exec *x, double ratio, gopt_err *e)
{
    gopt_tensor *out = gopt_ref_out(x, 0), *mask = gopt_ref_out(x, 1);
    twister random;
    int64_t n = gopt_tensor_count(x->in[DATA]);
    twister_seed(&random, (uint32_t)gopt_attr_int(x->attrs, "seed", 0));
    for (int64_t i = 0; i < n; i++) {
        bool stays = ratio == 0 || twister_uniform(&random) >= ratio;
        if (out)
            gopt_tensor_set(out, i, stays ? gopt_tensor_get(x->in[DATA], i) / (1 - ratio) : 0);
        if (mask)
            gopt_tensor_set_int(mask, i, stays);
        if (i % 4096 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    bool training = gopt_ref_number(x, TRAINING, 0) != 0;
    double ratio = training ? gopt_ref_number(x, RATIO, 0.5) : 0;
    if (!(ratio >= 0 && ratio < 1))
        return gopt_fail(e, GOPT_EINPUT, "input ratio: %g is outside [0, 1)", ratio);
    return drop(x, ratio, e);
}

const gopt_op gopt_op_Dropout = {
    .name = "Dropout",
    .domain = "",
    .in_min = 1,
    .in_max = 3,
    .out_min = 1,
    .out_max = 2,
    .infer = infer,
    .run = run,
};
