#include "cpu/conv2d.h"

#include "cpu/group.h"
#include "ref/window.h"

static bool all_float(const gopt_group *g)
{
    for (int k = 0; k < 3; k++)
        if (!gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    return gopt_group_has(g, 0) && gopt_group_has(g, 1) && g->n_out == 1 && g->out[0].dtype == GOPT_DTYPE_F32;
}

static bool bind(const gopt_group *g, gopt_conv2d *c, int n)
{
    gopt_window w;
    const gopt_operand *x = &g->in[0], *f = &g->in[1];
    if (gopt_window_read(&w, g->attrs, n, NULL))
        return false;
    for (int i = 0; i < n; i++)
        w.kernel[i] = f->dim[2 + i];
    gopt_window_bind(&w, x->dim + 2);
    int last = n - 1;
    c->ih = n == 2 ? x->dim[2] : 1;
    c->iw = x->dim[2 + last];
    c->oh = n == 2 ? w.out[0] : 1;
    c->ow = w.out[last];
    c->kh = n == 2 ? w.kernel[0] : 1;
    c->kw = w.kernel[last];
    c->stride_h = n == 2 ? w.stride[0] : 1;
    c->stride_w = w.stride[last];
    c->dilation_h = n == 2 ? w.dilation[0] : 1;
    c->dilation_w = w.dilation[last];
    c->pad_h = n == 2 ? w.pad[0] : 0;
    c->pad_w = w.pad[last];
    return true;
}

bool gopt_conv2d_of(const gopt_group *g, gopt_conv2d *c)
{
    *c = (gopt_conv2d){0};
    if (!gopt_group_is(g, "", "Conv") || !all_float(g))
        return false;
    const gopt_operand *x = &g->in[0], *f = &g->in[1];
    int n = x->rank - 2;
    if (n < 1 || n > 2 || f->rank != x->rank)
        return false;
    c->groups = gopt_attr_int(g->attrs, "group", 1);
    if (c->groups < 1 || f->dim[0] % c->groups)
        return false;
    c->batch = x->dim[0];
    c->channels = f->dim[1];
    c->filters = f->dim[0] / c->groups;
    c->bias = gopt_group_has(g, 2);
    return c->channels * c->groups == x->dim[1] && bind(g, c, n);
}

double gopt_conv2d_flops(const gopt_conv2d *c)
{
    return 2.0 * (double)(c->batch * c->groups * c->filters * c->oh * c->ow) * (double)(c->channels * c->kh * c->kw);
}
