/* recognize_gelu.c: finds GELU where exporters have written it out.
 *
 *     y = x * (0.5 * erf(x / sqrt(2)) + 0.5)                          Gelu
 *     y = x * (0.5 * tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) + 0.5)   Gelu, approximate="tanh"
 *
 * in any order and grouping of the constant factors: from erf or tanh upwards the value is followed as (a f + b) x,
 * downwards its argument is read as a polynomial in x. Legal when constants agree to 1e-5 of themselves, all is
 * float32, nothing else reads what lies between, and the result is proven to have the shape of x. */
#include <math.h>
#include <string.h>

#include "passes/match.h"

enum { DEGREE = 3, DEPTH = 8, CLIMB = 6 };

typedef struct polynomial {
    double c[DEGREE + 1];
} polynomial;

static const struct {
    const char *op;
    const char *approximate;
    polynomial argument;
} forms[] = {{"Erf", NULL, {{0, 0.70710678118654752, 0, 0}}},
             {"Tanh", "tanh", {{0, 0.79788456080286536, 0, 0.044715 * 0.79788456080286536}}}};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

/* ---- the argument ---- */

static bool times(const polynomial *a, const polynomial *b, polynomial *out)
{
    polynomial p = {{0}};
    for (int i = 0; i <= DEGREE; i++)
        for (int k = 0; k <= DEGREE; k++) {
            double c = a->c[i] * b->c[k];
            if (i + k > DEGREE && c != 0)
                return false;
            if (i + k <= DEGREE)
                p.c[i + k] += c;
        }
    *out = p;
    return true;
}

static bool power(const polynomial *a, double exponent, polynomial *out)
{
    polynomial p = {{1}};
    if (exponent < 0 || exponent > DEGREE || exponent != floor(exponent))
        return false;
    for (int i = 0; i < (int)exponent; i++)
        if (!times(&p, a, &p))
            return false;
    *out = p;
    return true;
}

static bool combine(const gopt_node *n, const polynomial *a, const polynomial *b, polynomial *out)
{
    bool constant = b->c[1] == 0 && b->c[2] == 0 && b->c[3] == 0;
    if (gopt_rewrite_is(n, "Mul"))
        return times(a, b, out);
    if (gopt_rewrite_is(n, "Pow"))
        return constant && power(a, b->c[0], out);
    double sign = gopt_rewrite_is(n, "Add") ? 1 : gopt_rewrite_is(n, "Sub") ? -1 : 0;
    double by = gopt_rewrite_is(n, "Div") && constant && b->c[0] != 0 ? b->c[0] : 0;
    for (int i = 0; i <= DEGREE; i++)
        out->c[i] = by != 0 ? a->c[i] / by : a->c[i] + sign * b->c[i];
    return by != 0 || sign != 0;
}

/* v as a polynomial in x; the nodes that compute it are added to the match. */
static bool polynomial_of(const gopt_value *v, const gopt_value *x, polynomial *out, gopt_match *m, int depth)
{
    polynomial a, b;
    double scalar;
    *out = (polynomial){{0}};
    if (v == x) {
        out->c[1] = 1;
        return true;
    }
    if (v && gopt_value_scalar(v, &scalar)) {
        out->c[0] = scalar;
        return true;
    }
    gopt_node *n = v ? v->producer : NULL;
    if (!n || n->n_in != 2 || depth == 0 || !polynomial_of(n->in[0], x, &a, m, depth - 1) ||
        !polynomial_of(n->in[1], x, &b, m, depth - 1) || !combine(n, &a, &b, out))
        return false;
    gopt_match_add(m, n);
    return true;
}

/* ---- upwards ---- */

/* A value as (a f + b) scale x, x NULL before it has come in. */
typedef struct climb {
    double a, b;
    gopt_value *x;
    gopt_node *at;
} climb;

static bool argument_fits(const gopt_node *f, const polynomial *expected, const gopt_value *x, gopt_match *m)
{
    polynomial p;
    if (!polynomial_of(f->in[0], x, &p, m, DEPTH))
        return false;
    for (int i = 0; i <= DEGREE; i++)
        if (expected->c[i] == 0 ? p.c[i] != 0 : !near(p.c[i], expected->c[i]))
            return false;
    return true;
}

/* The factor is x, or c x. */
static bool take_factor(climb *c, const gopt_node *f, const polynomial *expected, gopt_value *factor, gopt_match *m)
{
    gopt_match with = *m;
    polynomial scale;
    gopt_node *n = factor->producer;
    if (argument_fits(f, expected, factor, &with)) {
        c->x = factor;
        *m = with;
        return true;
    }
    for (int k = 0; n && n->n_in == 2 && k < 2; k++) {
        with = *m;
        if (!n->in[k] || !polynomial_of(factor, n->in[k], &scale, &with, 1) || scale.c[0] != 0 || scale.c[2] != 0 ||
            scale.c[3] != 0 || !argument_fits(f, expected, n->in[k], &with))
            continue;
        c->x = n->in[k];
        c->a *= scale.c[1];
        c->b *= scale.c[1];
        *m = with;
        return true;
    }
    return false;
}

/* From c->at's output to what reads it. */
static bool climb_one(climb *c, const gopt_node *f, const polynomial *expected, gopt_match *m)
{
    const gopt_value *v = c->at->out[0];
    gopt_node *n = gopt_rewrite_sole_reader(v);
    double k;
    if (!n || n->n_in != 2 || n->in[0] == n->in[1])
        return false;
    gopt_value *other = n->in[n->in[0] == v ? 1 : 0];
    bool scalar = other && gopt_value_scalar(other, &k);
    c->at = n;
    gopt_match_add(m, n);
    if (gopt_rewrite_is(n, "Add") && scalar && !c->x) {
        c->b += k;
        return true;
    }
    bool over = gopt_rewrite_is(n, "Div") && n->in[0] == v && scalar && k != 0;
    if (over || (gopt_rewrite_is(n, "Mul") && scalar)) {
        c->a *= over ? 1 / k : k;
        c->b *= over ? 1 / k : k;
        return true;
    }
    return gopt_rewrite_is(n, "Mul") && other && !c->x && take_factor(c, f, expected, other, m);
}

static gopt_status recognize(gopt_node *f, gopt_pass_run *r, gopt_err *e)
{
    int form = 0;
    while (form < GOPT_COUNT(forms) && !gopt_rewrite_is(f, forms[form].op))
        form++;
    const gopt_op *gelu = gopt_op_find("", "Gelu");
    if (form == GOPT_COUNT(forms) || !gelu || f->out[0]->fact.dtype != GOPT_DTYPE_F32)
        return GOPT_OK;
    gopt_match m = {0};
    climb c = {.a = 1, .at = f};
    gopt_match_add(&m, f);
    for (int i = 0; i < CLIMB && climb_one(&c, f, &forms[form].argument, &m); i++) {
        if (!c.x || !near(c.a, 0.5) || !near(c.b, 0.5))
            continue;
        if (!gopt_match_closed(&m, c.at) || !gopt_rewrite_same_shape(&c.at->out[0]->fact, &c.x->fact))
            return GOPT_OK;
        gopt_attrs attrs = {0};
        if (forms[form].approximate)
            attrs = gopt_attrs_with(
                &f->graph->family->arena, attrs,
                (gopt_attr){.name = "approximate", .kind = GOPT_ATTR_STRING, .s = forms[form].approximate});
        if (!gopt_match_replace(&m, c.at, gelu, attrs, &c.x, 1))
            return gopt_oom(e);
        r->changed++;
        return GOPT_OK;
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, recognize, e);
}

const gopt_pass gopt_pass_recognize_gelu = {
    .name = "recognize_gelu",
    .doc = "find GELU where it is written out",
    .revision = 1,
    .run = run,
};
