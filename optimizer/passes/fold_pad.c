/* fold_pad.c: a Pad before a convolution or pooling becomes padding of its windows.
 *
 * Legal when the node alone reads the Pad, which adds (and takes nothing away) along spatial axes alone, by constant
 * amounts, in mode constant, and when padding of windows means the same as what was added:
 *  - Conv: zeros. A weight that is infinite or NaN may or may not be multiplied by them.
 *  - AveragePool: zeros that count: the pool has no padding of its own yet, or counts it. Then count_include_pad.
 *  - MaxPool: the lowest value of the type (-inf), or zeros around what is never negative when no window lies in the
 *    padding alone. Its indices, which count padded elements, must not be wanted.
 * SAME paddings and, of pools, ceil_mode depend on the size of what they see: left alone. */
#include <math.h>
#include <string.h>

#include "passes/rewrite.h"
#include "ref/window.h"

typedef struct padding {
    int64_t before[GOPT_RANK_MAX], after[GOPT_RANK_MAX];
    double value;
} padding;

static bool has_in(const gopt_node *n, int k)
{
    return k < n->n_in && n->in[k];
}

/* Adds amounts along the axes of a rank; false when they are not known, or where one is negative. */
static bool read_amounts(const gopt_node *pad, int rank, padding *p)
{
    const gopt_tensor *pads = pad->in[1]->fact.constant;
    const gopt_tensor *axes = has_in(pad, 3) ? pad->in[3]->fact.constant : NULL;
    if (!pads || (has_in(pad, 3) && !axes))
        return false;
    int64_t n = gopt_tensor_count(pads) / 2;
    if (axes ? gopt_tensor_count(axes) != n : n != rank)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = axes ? gopt_tensor_get_int(axes, i) : i;
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank)
            return false;
        p->before[axis] = gopt_tensor_get_int(pads, i);
        p->after[axis] = gopt_tensor_get_int(pads, n + i);
    }
    for (int i = 0; i < rank; i++)
        if (p->before[i] < 0 || p->after[i] < 0 || (i < 2 && p->before[i] + p->after[i] > 0))
            return false;
    return true;
}

static bool read_padding(const gopt_node *pad, padding *p)
{
    int rank = pad->in[0]->fact.rank;
    *p = (padding){0};
    if (rank < 3 || !has_in(pad, 1) || strcmp(gopt_attr_string(pad->attrs, "mode", "constant"), "constant") != 0)
        return false;
    return (!has_in(pad, 2) || gopt_value_scalar(pad->in[2], &p->value)) && read_amounts(pad, rank, p);
}

static bool is_never_negative(const gopt_value *v)
{
    static const char *const ops[] = {"Relu", "Sigmoid", "HardSigmoid", "Abs", "Exp", "Softmax"};
    double low;
    const gopt_node *clip = gopt_rewrite_producer(v, "Clip");
    if (clip && has_in(clip, 1) && gopt_value_scalar(clip->in[1], &low))
        return low >= 0;
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (gopt_rewrite_producer(v, ops[i]))
            return true;
    return false;
}

static bool is_lowest(gopt_dtype d, double v)
{
    if (gopt_dtype_is_float(d))
        return v == -(double)INFINITY;
    return gopt_dtype_is_int(d) && (gopt_dtype_is_signed(d) ? v == -ldexp(1, gopt_dtype_bits(d) - 1) : v == 0);
}

/* Every window reaches the data. */
static bool is_narrow(const gopt_window *w, const padding *p)
{
    for (int i = 0; i < w->n; i++)
        if (w->dilation[i] != 1 || w->pad[i] + p->before[2 + i] >= w->kernel[i] ||
            w->pad_end[i] + p->after[2 + i] >= w->kernel[i])
            return false;
    return true;
}

static bool fits_max_pool(const gopt_node *n, const gopt_node *pad, const gopt_window *w, const padding *p)
{
    const gopt_value *x = pad->in[0];
    if (w->ceil || (n->n_out > 1 && n->out[1]))
        return false;
    return is_lowest(x->fact.dtype, p->value) || (p->value == 0 && is_narrow(w, p) && is_never_negative(x));
}

static bool fits_average_pool(const gopt_node *n, const gopt_window *w, const padding *p)
{
    bool counts = gopt_attr_int(n->attrs, "count_include_pad", 0), own = false;
    for (int i = 0; i < w->n; i++)
        own |= w->pad[i] + w->pad_end[i] > 0;
    return p->value == 0 && !w->ceil && (counts || !own);
}

static bool fits(const gopt_node *n, const gopt_node *pad, const gopt_window *w, const padding *p)
{
    if (gopt_rewrite_is(n, "Conv"))
        return p->value == 0;
    if (gopt_rewrite_is(n, "MaxPool"))
        return fits_max_pool(n, pad, w, p);
    return gopt_rewrite_is(n, "AveragePool") && fits_average_pool(n, w, p);
}

static bool apply(gopt_node *n, gopt_node *pad, const gopt_window *w, const padding *p)
{
    int64_t pads[2 * GOPT_WINDOW_MAX];
    for (int i = 0; i < w->n; i++) {
        pads[i] = w->pad[i] + p->before[2 + i];
        pads[w->n + i] = w->pad_end[i] + p->after[2 + i];
    }
    n->attrs = gopt_attrs_without(&n->graph->family->arena, n->attrs, "auto_pad");
    n->attrs = gopt_rewrite_attr_ints(n->graph, n->attrs, "pads", pads, 2 * w->n);
    if (gopt_rewrite_is(n, "AveragePool"))
        n->attrs = gopt_rewrite_attr_int(n->graph, n->attrs, "count_include_pad", 1);
    if (!gopt_node_add_origins(n, pad) || !gopt_node_set_in(n, 0, pad->in[0]))
        return false;
    gopt_rewrite_drop(pad);
    return true;
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    gopt_window w;
    padding p;
    gopt_node *pad = n->n_in > 0 ? gopt_rewrite_producer(n->in[0], "Pad") : NULL;
    if (!pad || pad->graph != n->graph || gopt_rewrite_sole_reader(pad->out[0]) != n || !read_padding(pad, &p))
        return GOPT_OK;
    if (gopt_window_read(&w, n->attrs, pad->in[0]->fact.rank - 2, NULL) || w.mode > GOPT_PAD_VALID ||
        !fits(n, pad, &w, &p))
        return GOPT_OK;
    if (!apply(n, pad, &w, &p))
        return gopt_oom(e);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_pad = {
    .name = "fold_pad",
    .doc = "a Pad before a convolution or pooling becomes padding of its windows",
    .revision = 1,
    .run = run,
};
