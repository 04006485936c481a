#include "cpu/walk.h"

/* Strides of an operand over the output's dimensions, 0 where broadcast. */
static bool strides_over(const gopt_operand *in, const gopt_operand *out, int64_t *stride)
{
    int64_t step = 1;
    if (in->packed || in->rank > out->rank)
        return false;
    for (int i = 0; i < out->rank; i++)
        stride[i] = 0;
    for (int i = in->rank - 1, d = out->rank - 1; i >= 0; i--, d--) {
        if (in->dim[i] != 1 && in->dim[i] != out->dim[d])
            return false;
        stride[d] = in->dim[i] == 1 ? 0 : step;
        step *= in->dim[i];
    }
    return true;
}

bool gopt_walk_of(gopt_walk *w, const gopt_group *g, const int *operand, int n)
{
    const gopt_operand *out = &g->out[0];
    int64_t full[GOPT_WALK_IN][GOPT_RANK_MAX];
    *w = (gopt_walk){.n_in = n};
    if (n > GOPT_WALK_IN)
        return false;
    for (int k = 0; k < n; k++) {
        w->operand[k] = operand[k];
        if (operand[k] >= g->n_in || !strides_over(&g->in[operand[k]], out, full[k]))
            return false;
    }
    for (int d = 0; d < out->rank; d++) {
        bool joins = w->rank > 0;
        if (out->dim[d] == 1)
            continue;
        for (int k = 0; joins && k < n; k++)
            joins = w->stride[k][w->rank - 1] == full[k][d] * out->dim[d];
        int at = joins ? w->rank - 1 : w->rank++;
        w->dim[at] = joins ? w->dim[at] * out->dim[d] : out->dim[d];
        for (int k = 0; k < n; k++)
            w->stride[k][at] = full[k][d];
    }
    if (w->rank == 0)
        w->dim[w->rank++] = 1;
    return true;
}

int64_t gopt_walk_row(const gopt_walk *w, int k, int64_t row)
{
    int64_t at = 0;
    for (int d = w->rank - 2; d >= 0; row /= w->dim[d], d--)
        at += row % w->dim[d] * w->stride[k][d];
    return at;
}
