/* scatter_by_element.c: ScatterElements under both its names: the index replaces the position along one axis. */
#include "ref/element_index.h"
#include "ref/scatter.h"

enum { DATA, INDICES, UPDATES };

static void put(void *ctx, int64_t k, int64_t place)
{
    gopt_scatter_put(ctx, place, k, 1);
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    gopt_scatter s;
    GOPT_TRY(gopt_scatter_begin(&s, x, e));
    GOPT_TRY(gopt_element_index_each(x, x->in[DATA], x->in[INDICES], put, &s, e));
    gopt_scatter_end(&s);
    return GOPT_OK;
}

static gopt_status check_updates(const gopt_infer *x, gopt_err *e)
{
    if (!gopt_ref_ranked(x, INDICES) || !gopt_ref_ranked(x, UPDATES))
        return GOPT_OK;
    const gopt_fact *indices = &x->in[INDICES], *updates = &x->in[UPDATES];
    GOPT_TRY(gopt_ref_rank(x, UPDATES, indices->rank, indices->rank, "updates", e));
    for (int d = 0; d < indices->rank; d++) {
        gopt_status s = gopt_ref_equal(updates->dim[d], indices->dim[d], "size", e);
        if (s)
            return gopt_within(e, s, "input updates: dimension %d", d);
    }
    return GOPT_OK;
}

gopt_status gopt_scatter_elements_infer(gopt_infer *x, gopt_err *e)
{
    bool combines;
    GOPT_TRY(gopt_scatter_infer(x, &combines, e));
    GOPT_TRY(gopt_element_index_infer(x, e));
    GOPT_TRY(check_updates(x, e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_infer_like(x, 0, DATA);
    if (!combines)
        gopt_move_follow(x, 1U << DATA | 1U << UPDATES, move);
    return GOPT_OK;
}

gopt_status gopt_scatter_elements_run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}
