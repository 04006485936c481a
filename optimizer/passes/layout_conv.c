/* layout_conv.c: convolutions and poolings, which kernels compute with channels outermost (Conv) or innermost
 * (gopt.ConvNhwc), and what that costs. */
#include <string.h>

#include "kernel.h"
#include "passes/layout.h"

static bool is_float(const gopt_value *v)
{
    return !v || v->fact.dtype == GOPT_DTYPE_F32;
}

bool gopt_layout_is_conv(const gopt_node *n)
{
    int64_t dim[GOPT_RANK_MAX];
    if (!gopt_rewrite_is(n, "Conv") || n->n_in < 2 || !n->in[0] || !gopt_value_is_const(n->in[1]) ||
        gopt_attr_int(n->attrs, "group", 1) != 1)
        return false;
    int rank = n->in[0]->fact.rank;
    return (rank == 3 || rank == 4) && n->in[1]->fact.rank == rank && is_float(n->in[0]) && is_float(n->in[1]) &&
           (n->n_in < 3 || is_float(n->in[2])) && gopt_fact_static(&n->in[0]->fact, dim) &&
           gopt_fact_static(&n->out[0]->fact, dim);
}

static bool all_zero(gopt_attrs a, const char *name)
{
    int64_t n;
    const int64_t *v = gopt_attr_ints(a, name, &n);
    for (int64_t i = 0; i < n; i++)
        if (v[i])
            return false;
    return true;
}

bool gopt_layout_is_pool(const gopt_node *n)
{
    bool max = gopt_rewrite_is(n, "MaxPool"), average = gopt_rewrite_is(n, "AveragePool");
    if ((!max && !average) || !n->in[0] || !is_float(n->in[0]) || (n->n_out > 1 && n->out[1]))
        return false;
    const char *pad = gopt_attr_string(n->attrs, "auto_pad", "NOTSET");
    bool whole = all_zero(n->attrs, "pads") && !gopt_attr_int(n->attrs, "ceil_mode", 0) && strncmp(pad, "SAME", 4) != 0;
    int rank = n->in[0]->fact.rank;
    return (rank == 3 || rank == 4) && (max || whole); /* averages of parts of windows have rules of their own */
}

gopt_layout gopt_layout_channels_last(int rank)
{
    gopt_layout l = {.rank = rank};
    for (int i = 1; i < rank; i++)
        l.perm[i] = i < rank - 1 ? i + 1 : 1;
    return l;
}

static gopt_operand operand_of(const gopt_value *v, const gopt_layout *l)
{
    gopt_operand o = {.dtype = v->fact.dtype, .rank = v->fact.rank};
    for (int d = 0; d < o.rank; d++)
        o.dim[d] = v->fact.dim[l ? l->perm[d] : d].k;
    o.constant = v->fact.constant ? v->fact.constant->data : NULL;
    return o;
}

static double seconds(const gopt_kernel *k, const gopt_group *g, const gopt_target *t)
{
    int64_t knob[GOPT_KERNEL_KNOBS];
    for (int i = 0; i < gopt_kernel_knob_count(k); i++)
        knob[i] = k->knobs[i].init;
    return k->fits(g, knob, t) ? k->cost(g, knob, t) : -1;
}

/* Of the kernel that would be chosen: one made for the shape, a precompiled one, the reference. */
static double predicted(const gopt_group *g, const gopt_target *t)
{
    static const double reference_flops_per_s = 1e9;
    for (int i = 0; gopt_kernels[i]; i++) {
        double s = gopt_kernels[i]->generated ? seconds(gopt_kernels[i], g, t) : -1;
        if (s >= 0)
            return s;
    }
    const gopt_kernel *k = gopt_kernel_default(g, t);
    double taps = (double)gopt_operand_count(&g->in[1]), pixels = (double)gopt_operand_count(&g->out[0]);
    return k ? seconds(k, g, t) : 2 * taps * pixels / (double)g->in[1].dim[0] / reference_flops_per_s;
}

double gopt_layout_conv_gain(const gopt_node *n)
{
    int rank = n->in[0]->fact.rank;
    gopt_layout image = gopt_layout_channels_last(rank);
    gopt_operand in[3] = {operand_of(n->in[0], NULL), operand_of(n->in[1], NULL)}, out = operand_of(n->out[0], NULL);
    gopt_target t;
    gopt_target_host(&t, 1);
    if (n->n_in > 2 && n->in[2])
        in[2] = operand_of(n->in[2], NULL);
    gopt_group g = {.op = n->op, .attrs = n->attrs, .n_in = n->n_in, .n_anchor = n->n_in, .n_out = 1};
    g.in = in;
    g.out = &out;
    double before = predicted(&g, &t);
    in[0] = operand_of(n->in[0], &image);
    out = operand_of(n->out[0], &image);
    g.op = gopt_op_find("gopt", "ConvNhwc");
    return (before - predicted(&g, &t)) * t.bytes_per_s / 2;
}
