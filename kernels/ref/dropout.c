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

/* Uniform in [0, 1): splitmix64. */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static gopt_status drop(const gopt_exec *x, double ratio, gopt_err *e)
{
    gopt_tensor *out = gopt_ref_out(x, 0), *mask = gopt_ref_out(x, 1);
    uint64_t state = (uint64_t)gopt_attr_int(x->attrs, "seed", 0);
    int64_t n = gopt_tensor_count(x->in[DATA]);
    for (int64_t i = 0; i < n; i++) {
        bool stays = next_random(&state) >= ratio;
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
