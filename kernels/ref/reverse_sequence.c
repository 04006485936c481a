/* reverse_sequence.c: ReverseSequence: the first elements of every sequence of a batch, each of its own length, turned
 * round. */
#include "ref/move.h"

enum { DATA, LENGTHS };

/* Time on axis 0 and batch on axis 1, or the other way round. */
static gopt_status read_axes(gopt_attrs a, bool *time_first, gopt_err *e)
{
    int64_t batch = gopt_attr_int(a, "batch_axis", 1), time = gopt_attr_int(a, "time_axis", 0);
    *time_first = time == 0;
    if ((time != 0 && time != 1) || batch != 1 - time)
        return gopt_fail(e, GOPT_EINPUT, "attributes batch_axis and time_axis: %lld and %lld, 0 and 1 expected",
                         (long long)batch, (long long)time);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    bool time_first;
    GOPT_TRY(read_axes(x->attrs, &time_first, e));
    GOPT_TRY(gopt_ref_rank(x, DATA, 2, GOPT_RANK_MAX, "input", e));
    GOPT_TRY(gopt_ref_type(x, LENGTHS, GOPT_REF_INDEX, "sequence_lens", e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_dim batch = x->in[DATA].rank >= 0 ? x->in[DATA].dim[time_first ? 1 : 0] : GOPT_DIM_UNKNOWN;
    GOPT_TRY(gopt_ref_vector(x, LENGTHS, batch, "sequence_lens", e));
    gopt_infer_like(x, 0, DATA);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    bool time_first;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_axes(x->attrs, &time_first, e));
    const gopt_tensor *in = x->in[DATA];
    int64_t times = in->dim[time_first ? 0 : 1], batches = in->dim[time_first ? 1 : 0];
    int64_t n = gopt_ref_count(in->dim + 2, in->rank - 2);
    int64_t time_step = time_first ? batches * n : n, batch_step = time_first ? n : times * n;
    for (int64_t b = 0; gopt_tensor_count(in) > 0 && b < batches; b++) {
        int64_t len = gopt_tensor_get_int(x->in[LENGTHS], b);
        if (len < 0 || len > times)
            return gopt_fail(e, GOPT_EINPUT, "input sequence_lens: %lld of %lld elements", (long long)len,
                             (long long)times);
        for (int64_t t = 0; t < times; t++) {
            int64_t from = t < len ? len - 1 - t : t;
            gopt_move(x->out[0], b * batch_step + t * time_step, in, b * batch_step + from * time_step, n);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_ReverseSequence = {
    .name = "ReverseSequence",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
