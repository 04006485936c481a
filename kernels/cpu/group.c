#include "cpu/group.h"

#include <string.h>

bool gopt_group_is(const gopt_group *g, const char *domain, const char *op)
{
    return g->op && !strcmp(g->op->name, op) && !strcmp(g->op->domain, domain);
}

bool gopt_group_is_any(const gopt_group *g, const char *const *ops)
{
    for (int i = 0; ops[i]; i++)
        if (gopt_group_is(g, "", ops[i]))
            return true;
    return false;
}

bool gopt_group_has(const gopt_group *g, int k)
{
    return k < g->n_anchor && g->in[k].dtype != GOPT_DTYPE_NONE;
}

bool gopt_operand_is(const gopt_operand *o, gopt_dtype d)
{
    return o->dtype == d;
}

bool gopt_group_in_is(const gopt_group *g, int k, gopt_dtype d)
{
    return !gopt_group_has(g, k) || g->in[k].dtype == d;
}

int gopt_operand_ints(const gopt_operand *o, int64_t *out, int max)
{
    int64_t n = gopt_operand_count(o);
    if (!o->constant || o->packed || n > max || (o->dtype != GOPT_DTYPE_I64 && o->dtype != GOPT_DTYPE_I32))
        return -1;
    for (int64_t i = 0; i < n; i++)
        out[i] = o->dtype == GOPT_DTYPE_I64 ? ((const int64_t *)o->constant)[i] : ((const int32_t *)o->constant)[i];
    return (int)n;
}

int gopt_group_loads(const gopt_group *g, gopt_expr *x, int *load)
{
    bool live[GOPT_EXPR_LIMIT];
    gopt_expr_live(g->post, live);
    memset(load, -1, GOPT_EXPR_LIMIT * sizeof *load);
    for (int k = 0; k < g->post->n; k++)
        if (live[k] && g->post->at[k].code == GOPT_EXPR_LOAD)
            load[g->post->at[k].i] = gopt_expr_load(x, (int)g->post->at[k].i, g->post->at[k].dtype);
    return gopt_expr_loads(g->post);
}

static int append_post(const gopt_group *g, gopt_expr *x, int acc)
{
    int load[GOPT_EXPR_LIMIT], n = gopt_group_loads(g, x, load);
    return gopt_expr_splice(x, g->post, load, n, acc);
}

gopt_status gopt_group_expr(const gopt_group *g, gopt_expr *x, gopt_err *e)
{
    gopt_dtype dtype[GOPT_EXPR_LIMIT];
    bool anchored = g->op && g->op->expr;
    if (!anchored && !gopt_group_is(g, "gopt", "Pointwise"))
        return gopt_fail(e, GOPT_EUNSUP, "not pointwise");
    if (anchored) {
        for (int k = 0; k < g->n_anchor && k < GOPT_EXPR_LIMIT; k++)
            dtype[k] = g->in[k].dtype;
        GOPT_TRY(gopt_op_expr(x, g->op, g->attrs, dtype, g->n_anchor, e));
    }
    if (!g->post && !anchored)
        return gopt_fail(e, GOPT_EUNSUP, "no expression");
    if (g->post && append_post(g, x, anchored ? x->result : -1) < 0)
        return x->arena->failed ? gopt_oom(e) : gopt_fail(e, GOPT_EUNSUP, "too long an expression");
    return GOPT_OK;
}

int gopt_parts(const gopt_target *t, double flops, double bytes)
{
    static const double worth_s = 20e-6, least_s = 10e-6; /* of one thread's time: to split at all; for each part */
    double compute = flops / t->flops_per_s, traffic = bytes / t->bytes_per_s, s = GOPT_MAX(compute, traffic);
    if (t->threads <= 1 || s < worth_s)
        return 1;
    return s / least_s < t->threads ? (int)(s / least_s) : t->threads;
}

void gopt_share(int64_t n, int64_t grain, int part, int parts, int64_t *lo, int64_t *hi)
{
    int64_t units = gopt_ceil_div(n, grain);
    *lo = GOPT_MIN(n, units * part / parts * grain);
    *hi = GOPT_MIN(n, units * (part + 1) / parts * grain);
}
