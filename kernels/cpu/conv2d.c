#include "cpu/conv2d.h"

#include <string.h>

#include "cpu/group.h"
#include "ref/window.h"

static bool all_float(const gopt_group *g)
{
    for (int k = 0; k < 4; k++)
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

static void swap(int64_t *a, int64_t *b)
{
    int64_t was = *a;
    *a = *b;
    *b = was;
}

/* A column, as exporters make of one dimension, lies in memory like a row; kernels are made for long rows. */
static void lay_down(gopt_conv2d *c)
{
    if (c->iw != 1 || c->kw != 1 || c->ow != 1 || c->pad_w != 0)
        return;
    swap(&c->ih, &c->iw);
    swap(&c->oh, &c->ow);
    swap(&c->kh, &c->kw);
    swap(&c->stride_h, &c->stride_w);
    swap(&c->dilation_h, &c->dilation_w);
    swap(&c->pad_h, &c->pad_w);
}

bool gopt_conv2d_plain(const gopt_group *g, gopt_conv2d *c)
{
    const gopt_operand *x = &g->in[0], *f = &g->in[1];
    int n = x->rank - 2;
    *c = (gopt_conv2d){.groups = gopt_attr_int(g->attrs, "group", 1)};
    if (n < 1 || n > 2 || f->rank != x->rank || c->groups < 1 || f->dim[0] % c->groups)
        return false;
    c->batch = x->dim[0];
    c->channels = f->dim[1];
    c->filters = f->dim[0] / c->groups;
    if (c->channels * c->groups != x->dim[1] || !bind(g, c, n))
        return false;
    lay_down(c);
    return true;
}

bool gopt_conv2d_of(const gopt_group *g, gopt_conv2d *c)
{
    *c = (gopt_conv2d){0};
    if ((!gopt_group_is(g, "", "Conv") && !gopt_group_is(g, "com.microsoft", "FusedConv")) || !all_float(g) ||
        !gopt_conv2d_plain(g, c))
        return false;
    c->bias = gopt_group_has(g, 2);
    return true;
}

double gopt_conv2d_flops(const gopt_conv2d *c)
{
    return 2.0 * (double)(c->batch * c->groups * c->filters * c->oh * c->ow) * (double)(c->channels * c->kh * c->kw);
}

static int clip(gopt_expr *x, int v, double low, double high)
{
    v = gopt_expr_op2(x, GOPT_EXPR_MAX, v, gopt_expr_float(x, low));
    return gopt_expr_op2(x, GOPT_EXPR_MIN, v, gopt_expr_float(x, high));
}

/* The activations that FusedConv may have; -1: another. */
static int activate(const gopt_group *g, gopt_expr *x, int v)
{
    const char *name = gopt_attr_string(g->attrs, "activation", "");
    const gopt_attr *params = gopt_attr_find(g->attrs, "activation_params");
    bool given = params && params->n > 0, both = params && params->n > 1;
    double alpha = given ? params->floats[0] : 0, beta = both ? params->floats[1] : 0;
    if (!strcmp(name, ""))
        return v;
    if (!strcmp(name, "Relu"))
        return gopt_expr_op2(x, GOPT_EXPR_MAX, v, gopt_expr_float(x, 0));
    if (!strcmp(name, "Tanh") || !strcmp(name, "Sigmoid"))
        return gopt_expr_op1(x, name[0] == 'T' ? GOPT_EXPR_TANH : GOPT_EXPR_SIGMOID, v);
    if (!strcmp(name, "Clip") && both)
        return clip(x, v, alpha, beta);
    if (!strcmp(name, "LeakyRelu")) {
        int scaled = gopt_expr_op2(x, GOPT_EXPR_MUL, v, gopt_expr_float(x, given ? alpha : 0.01));
        int negative = gopt_expr_op2(x, GOPT_EXPR_LT, v, gopt_expr_float(x, 0));
        return gopt_expr_op3(x, GOPT_EXPR_SELECT, negative, scaled, v);
    }
    if (strcmp(name, "HardSigmoid"))
        return -1;
    v = gopt_expr_op2(x, GOPT_EXPR_MUL, v, gopt_expr_float(x, given ? alpha : 0.2));
    return clip(x, gopt_expr_op2(x, GOPT_EXPR_ADD, v, gopt_expr_float(x, both ? beta : 0.5)), 0, 1);
}

bool gopt_conv2d_expr(const gopt_group *g, gopt_expr *x)
{
    int load[GOPT_EXPR_LIMIT], v = gopt_expr_acc(x, GOPT_DTYPE_F32), sum = v;
    if (gopt_group_is(g, "com.microsoft", "FusedConv")) {
        if (gopt_group_has(g, 3))
            v = gopt_expr_op2(x, GOPT_EXPR_ADD, v, gopt_expr_load(x, 3, GOPT_DTYPE_F32));
        v = activate(g, x, v);
    }
    if (g->post && v >= 0) {
        int n = gopt_group_loads(g, x, load);
        v = gopt_expr_splice(x, g->post, load, n, v);
    }
    x->result = v == sum ? -1 : v;
    return v >= 0;
}

bool gopt_conv2d_post_fits(const gopt_group *g)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    bool ok = gopt_conv2d_expr(g, &x) && gopt_post_fits(g, x.result < 0 ? NULL : &x);
    gopt_arena_fini(&a);
    return ok;
}

void gopt_conv2d_post_prepare(gopt_post *p, const gopt_group *g, const gopt_simd *simd)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    bool any = gopt_conv2d_expr(g, &x) && x.result >= 0;
    gopt_post_prepare(p, g, any ? &x : NULL, simd);
    gopt_arena_fini(&a);
}
