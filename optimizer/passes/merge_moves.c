/* merge_moves.c: Slice, Split and Concat that undo or repeat one another.
 *
 *  - Slice of a Slice that it alone reads: one Slice.
 *  - Slice of a Concat that takes from one operand alone, along the axis of the Concat: a Slice of that operand, or the
 *    operand itself.
 *  - Concat of all parts of a Split, or of Slices of one value that follow one another from its begin to its end: the
 *    value itself.
 *  - Concat of a Concat along the same axis that it alone reads: one Concat.
 *
 * Slices have constant operands, forward steps, and known sizes along the axes that they cut; so have the operands of a
 * Concat along its axis. Exact: elements only move. */
#include <string.h>

#include "passes/rewrite.h"

enum { OPERANDS_MAX = 64 /* of a Concat that kernels take */ };

/* What a Slice takes along each axis. */
typedef struct cut {
    int rank;
    bool cuts[GOPT_RANK_MAX];
    int64_t size[GOPT_RANK_MAX]; /* of the data; the rest counts where it cuts */
    int64_t start[GOPT_RANK_MAX], count[GOPT_RANK_MAX], step[GOPT_RANK_MAX];
} cut;

static bool constant_size(const gopt_fact *f, int64_t axis, int64_t *size)
{
    if (axis < 0 || axis >= f->rank || !gopt_dim_is_const(f->dim[axis]))
        return false;
    *size = f->dim[axis].k;
    return true;
}

/* Element i of an operand of integers, or the fallback without one. */
static int64_t element(const gopt_node *n, int k, int64_t i, int64_t fallback)
{
    return k < n->n_in && n->in[k] ? gopt_tensor_get_int(n->in[k]->fact.constant, i) : fallback;
}

static int64_t clamp(int64_t v, int64_t size)
{
    v += v < 0 ? size : 0;
    return v < 0 ? 0 : GOPT_MIN(v, size);
}

static bool read_axis(const gopt_node *n, int64_t i, cut *c)
{
    int64_t axis = element(n, 3, i, i), step = element(n, 4, i, 1), size;
    axis += axis < 0 ? c->rank : 0;
    if (step < 1 || !constant_size(&n->in[0]->fact, axis, &size))
        return false;
    int64_t start = clamp(element(n, 1, i, 0), size), end = clamp(element(n, 2, i, 0), size);
    c->cuts[axis] = true;
    c->size[axis] = size;
    c->start[axis] = start;
    c->step[axis] = GOPT_MIN(step, GOPT_MAX(size, 1));
    c->count[axis] = end > start ? (end - start - 1) / step + 1 : 0;
    return true;
}

static bool read_cut(const gopt_node *n, cut *c)
{
    *c = (cut){.rank = n->in[0]->fact.rank};
    if (c->rank < 1 || n->n_in < 3)
        return false;
    for (int k = 1; k < n->n_in; k++)
        if (n->in[k] && !gopt_value_is_const(n->in[k]))
            return false;
    for (int64_t i = 0; i < gopt_tensor_count(n->in[1]->fact.constant); i++)
        if (!read_axis(n, i, c))
            return false;
    return true;
}

/* n becomes the Slice of x that c says. */
static gopt_status put_cut(gopt_node *n, gopt_value *x, const cut *c, gopt_node *from, gopt_err *e)
{
    int64_t v[4][GOPT_RANK_MAX];
    gopt_value *in[5] = {x};
    int m = 0;
    for (int i = 0; i < c->rank; i++) {
        if (!c->cuts[i])
            continue;
        v[0][m] = c->start[i];
        v[1][m] = c->count[i] ? c->start[i] + (c->count[i] - 1) * c->step[i] + 1 : c->start[i];
        v[2][m] = i;
        v[3][m++] = c->step[i];
    }
    for (int k = 0; k < 4; k++)
        if (!(in[1 + k] = gopt_rewrite_ints(n->graph, v[k], m)))
            return gopt_oom(e);
    return gopt_node_replace(n, n->op, n->attrs, in, 5, &from, 1) ? GOPT_OK : gopt_oom(e);
}

static gopt_status merge_slices(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    cut inner, outer;
    gopt_node *before = gopt_rewrite_producer(n->in[0], "Slice");
    if (!before || before->graph != n->graph || gopt_rewrite_sole_reader(before->out[0]) != n ||
        !read_cut(before, &inner) || !read_cut(n, &outer))
        return GOPT_OK;
    for (int i = 0; i < inner.rank; i++) {
        if (inner.cuts[i] && outer.cuts[i]) {
            inner.start[i] += outer.count[i] ? outer.start[i] * inner.step[i] : 0;
            inner.step[i] *= outer.step[i];
            inner.count[i] = outer.count[i];
        } else if (outer.cuts[i]) {
            inner.cuts[i] = true;
            inner.start[i] = outer.start[i];
            inner.step[i] = outer.step[i];
            inner.count[i] = outer.count[i];
        }
    }
    GOPT_TRY(put_cut(n, before->in[0], &inner, before, e));
    gopt_rewrite_drop(before);
    r->changed++;
    return GOPT_OK;
}

static int64_t axis_of(const gopt_node *n, int rank)
{
    int64_t axis = gopt_attr_int(n->attrs, "axis", 0);
    return axis < 0 ? axis + rank : axis;
}

/* The operand of a Concat that has elements [first, last] along its axis, which lie *before elements in; NULL: none. */
static gopt_value *operand_with(const gopt_node *concat, int64_t axis, int64_t first, int64_t last, int64_t *before)
{
    *before = 0;
    for (int k = 0; k < concat->n_in; k++) {
        int64_t size;
        if (!constant_size(&concat->in[k]->fact, axis, &size))
            return NULL;
        if (first < *before + size)
            return first >= *before && last < *before + size ? concat->in[k] : NULL;
        *before += size;
    }
    return NULL;
}

static gopt_status slice_of_concat(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    cut c;
    int64_t before;
    gopt_node *concat = gopt_rewrite_producer(n->in[0], "Concat");
    if (!concat || concat->graph != n->graph || !read_cut(n, &c))
        return GOPT_OK;
    int64_t axis = axis_of(concat, c.rank);
    if (axis < 0 || axis >= c.rank || !c.cuts[axis] || c.count[axis] < 1)
        return GOPT_OK;
    int64_t last = c.start[axis] + (c.count[axis] - 1) * c.step[axis];
    gopt_value *x = operand_with(concat, axis, c.start[axis], last, &before);
    if (!x)
        return GOPT_OK;
    c.start[axis] -= before;
    if (gopt_rewrite_same_shape(&x->fact, &n->out[0]->fact) && c.step[axis] == 1) {
        r->changed += gopt_rewrite_bypass(n, x);
        return GOPT_OK;
    }
    GOPT_TRY(put_cut(n, x, &c, concat, e));
    gopt_rewrite_drop(concat);
    r->changed++;
    return GOPT_OK;
}

/* ---- Concat ---- */

static gopt_value *whole_split(const gopt_node *n, int64_t axis)
{
    const gopt_node *split = n->in[0]->producer;
    if (!gopt_rewrite_is(split, "Split") || split->n_out != n->n_in || axis_of(split, n->out[0]->fact.rank) != axis)
        return NULL;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != split->out[k])
            return NULL;
    return split->in[0];
}

static gopt_value *whole_slices(const gopt_node *n, int64_t axis)
{
    int64_t at = 0, size = -1;
    gopt_value *x = NULL;
    for (int k = 0; k < n->n_in; k++) {
        cut c;
        const gopt_node *slice = gopt_rewrite_producer(n->in[k], "Slice");
        if (!slice || (x && slice->in[0] != x) || !read_cut(slice, &c) || axis >= c.rank || !c.cuts[axis])
            return NULL;
        for (int i = 0; i < c.rank; i++)
            if (c.cuts[i] && i != axis && (c.step[i] != 1 || c.count[i] != c.size[i]))
                return NULL;
        if (c.start[axis] != at || c.step[axis] != 1)
            return NULL;
        x = slice->in[0];
        at += c.count[axis];
        size = c.size[axis];
    }
    return at == size ? x : NULL;
}

/* The operands of Concats in a row, of which only the last one is read by others; their number, 0 when there is nothing
 * to merge. */
static int flatten(const gopt_node *n, int64_t axis, gopt_value **in, gopt_node **from, int *n_from)
{
    int m = 0;
    *n_from = 0;
    for (int k = 0; k < n->n_in; k++) {
        gopt_node *p = gopt_rewrite_producer(n->in[k], "Concat");
        bool joins = p && p->graph == n->graph && gopt_rewrite_sole_reader(n->in[k]) == n &&
                     axis_of(p, n->out[0]->fact.rank) == axis;
        if (m + (joins ? p->n_in : 1) > OPERANDS_MAX)
            return 0;
        for (int j = 0; joins && j < p->n_in; j++)
            in[m++] = p->in[j];
        if (joins)
            from[(*n_from)++] = p;
        else
            in[m++] = n->in[k];
    }
    return *n_from ? m : 0;
}

static gopt_status merge_concat(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    int rank = n->out[0]->fact.rank, n_from;
    gopt_value *in[OPERANDS_MAX];
    gopt_node *from[OPERANDS_MAX];
    if (rank < 1 || n->n_in < 2)
        return GOPT_OK;
    int64_t axis = axis_of(n, rank);
    gopt_value *x = whole_split(n, axis);
    x = x ? x : whole_slices(n, axis);
    if (x && gopt_rewrite_same_shape(&x->fact, &n->out[0]->fact)) {
        r->changed += gopt_rewrite_bypass(n, x);
        return GOPT_OK;
    }
    int m = flatten(n, axis, in, from, &n_from);
    if (m == 0)
        return GOPT_OK;
    if (!gopt_node_replace(n, n->op, n->attrs, in, m, from, n_from))
        return gopt_oom(e);
    for (int k = 0; k < n_from; k++)
        gopt_rewrite_drop(from[k]);
    r->changed++;
    return GOPT_OK;
}

static gopt_status merge(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    if (gopt_rewrite_is(n, "Concat"))
        return merge_concat(n, r, e);
    if (!gopt_rewrite_is(n, "Slice"))
        return GOPT_OK;
    int before = r->changed;
    GOPT_TRY(merge_slices(n, r, e));
    return r->changed == before ? slice_of_concat(n, r, e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, merge, e);
}

const gopt_pass gopt_pass_merge_moves = {
    .name = "merge_moves",
    .doc = "slices, splits and concatenations that undo or repeat one another",
    .revision = 1,
    .run = run,
};
