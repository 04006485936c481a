/* scatter_nd.c: ScatterND: slices of the data, named by index tuples, take updates. */
#include "ref/scatter.h"
#include "ref/tuple_index.h"

enum { DATA, INDICES, UPDATES };

static void put(void *ctx, int64_t k, int64_t place, int64_t n)
{
    gopt_scatter_put(ctx, place, k * n, n);
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    gopt_scatter s;
    GOPT_TRY(gopt_scatter_begin(&s, x, e));
    GOPT_TRY(gopt_tuple_index_each(x, x->in[DATA], x->in[INDICES], 0, put, &s, e));
    gopt_scatter_end(&s);
    return GOPT_OK;
}

static gopt_status check_updates(const gopt_infer *x, int width, gopt_err *e)
{
    if (width < 0 || !gopt_ref_ranked(x, UPDATES))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA], *indices = &x->in[INDICES], *updates = &x->in[UPDATES];
    int tuples = indices->rank - 1, rank = tuples + in->rank - width;
    GOPT_TRY(gopt_ref_rank(x, UPDATES, rank, rank, "updates", e));
    for (int d = 0; d < rank; d++) {
        gopt_dim want = d < tuples ? indices->dim[d] : in->dim[d - tuples + width];
        gopt_status s = gopt_ref_equal(updates->dim[d], want, "size", e);
        if (s)
            return gopt_within(e, s, "input updates: dimension %d", d);
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    bool combines;
    int width;
    GOPT_TRY(gopt_scatter_infer(x, &combines, e));
    GOPT_TRY(gopt_tuple_index_infer(x, 0, &width, e));
    GOPT_TRY(check_updates(x, width, e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_infer_like(x, 0, DATA);
    if (!combines)
        gopt_move_follow(x, 1U << DATA | 1U << UPDATES, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_ScatterND = {
    .name = "ScatterND",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
