/* simplify.c: arithmetic that has a cheaper form.
 *
 *  - Not(Not(x)), Neg(Neg(x)): x. Where(Not(c), a, b): Where(c, b, a). Exact.
 *  - Relu(Relu(x)), Relu(Clip(x, low >= 0, high)): the inner node. Exact.
 *  - Clip(Clip(x)), Clip(Relu(x)), Relu(Clip(x)): one Clip with the bounds of both. Exact but for the sign of a zero.
 *  - Pow(x, 2): Mul(x, x); Pow(x, -1): Reciprocal(x). Exact. Pow(x, 0.5): Sqrt(x) where x is no -0 and not -inf, which
 *    have other roots: a square, an absolute value, a Relu, an Exp, a mean or sum of these.
 *  - Div(x, c): Mul(x, 1 / c) for floats and finite c with a finite, normal reciprocal: exact for powers of two, else
 *    within two roundings. Infinities, NaN and zeros stay what they are.
 *  - Mul(Mul(x, a), b): Mul(x, a * b), Add(Add(x, a), b): Add(x, a + b) for float scalars, inner results that nothing
 * else reads, and a finite (for Mul normal) constant: within two roundings. Both factors enlarge or both do not, and
 * both addends have one sign: what the inner result loses to overflow, underflow or cancellation the outer one lost,
 * too. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/rewrite.h"

static bool same_result(const gopt_value *a, const gopt_value *b)
{
    return a->fact.dtype == b->fact.dtype && gopt_rewrite_same_shape(&a->fact, &b->fact);
}

static gopt_status put(gopt_node *n, const char *op, gopt_value *const *in, int n_in, gopt_node *from, bool *done,
                       gopt_err *e)
{
    *done = gopt_node_replace(n, gopt_op_find("", op), (gopt_attrs){0}, in, n_in, &from, from != NULL);
    if (*done && from)
        gopt_rewrite_drop(from);
    return *done ? GOPT_OK : gopt_oom(e);
}

static gopt_value *scalar(const gopt_node *n, gopt_dtype d, double v)
{
    return gopt_rewrite_constant(n->graph, d, 0, NULL, &v);
}

/* ---- twice ---- */

static gopt_status twice(gopt_node *n, bool *done, gopt_err *e)
{
    const gopt_node *p = gopt_rewrite_producer(n->in[0], n->op->name);
    (void)e;
    *done = p && gopt_rewrite_bypass(n, p->in[0]);
    return GOPT_OK;
}

static gopt_status where(gopt_node *n, bool *done, gopt_err *e)
{
    gopt_node *p = gopt_rewrite_producer(n->in[0], "Not");
    if (!p || p->graph != n->graph)
        return GOPT_OK;
    gopt_value *in[] = {p->in[0], n->in[2], n->in[1]};
    bool alone = gopt_rewrite_sole_reader(p->out[0]) == n;
    return put(n, "Where", in, 3, alone ? p : NULL, done, e);
}

/* ---- bounds ---- */

typedef struct bounds {
    double low, high;
} bounds;

/* What a Relu or a Clip by constants lets through; low <= high. */
static bool read_bounds(const gopt_node *n, bounds *b)
{
    *b = (bounds){gopt_rewrite_is(n, "Relu") ? 0 : -(double)INFINITY, (double)INFINITY};
    if (gopt_rewrite_is(n, "Relu"))
        return true;
    if (!gopt_rewrite_is(n, "Clip"))
        return false;
    bool low = n->n_in > 1 && n->in[1], high = n->n_in > 2 && n->in[2];
    if ((low && !gopt_value_scalar(n->in[1], &b->low)) || (high && !gopt_value_scalar(n->in[2], &b->high)))
        return false;
    return b->low <= b->high;
}

static double within(double v, const bounds *b)
{
    return fmin(fmax(v, b->low), b->high);
}

static gopt_status clip(gopt_node *n, bool *done, gopt_err *e)
{
    bounds inner, outer;
    gopt_dtype d = n->out[0]->fact.dtype;
    gopt_node *p = n->in[0]->producer;
    if (!p || p->graph != n->graph || p->n_in == 0 || !gopt_dtype_is_float(d) || !read_bounds(p, &inner) ||
        !read_bounds(n, &outer))
        return GOPT_OK;
    if (outer.low <= inner.low && inner.high <= outer.high) {
        *done = gopt_rewrite_bypass(n, p->out[0]);
        return GOPT_OK;
    }
    if (gopt_rewrite_sole_reader(p->out[0]) != n)
        return GOPT_OK;
    bounds both = {within(inner.low, &outer), within(inner.high, &outer)};
    gopt_value *in[] = {p->in[0], scalar(n, d, both.low), isinf(both.high) ? NULL : scalar(n, d, both.high)};
    return in[1] && (isinf(both.high) || in[2]) ? put(n, "Clip", in, in[2] ? 3 : 2, p, done, e) : gopt_oom(e);
}

/* ---- powers ---- */

/* Neither -0 nor negative, whatever the node's operands are. NaN may be. */
static bool has_plain_root(const gopt_value *v, int depth)
{
    static const char *const always[] = {"Abs", "Exp", "ReduceSumSquare"}, *const means[] = {"ReduceMean", "ReduceSum"};
    for (int i = 0; i < GOPT_COUNT(always); i++)
        if (gopt_rewrite_producer(v, always[i]))
            return true;
    for (int i = 0; i < GOPT_COUNT(means); i++) {
        const gopt_node *mean = gopt_rewrite_producer(v, means[i]);
        if (mean && depth > 0)
            return has_plain_root(mean->in[0], depth - 1);
    }
    const gopt_node *mul = gopt_rewrite_producer(v, "Mul"), *add = gopt_rewrite_producer(v, "Add");
    double c;
    gopt_value *other;
    for (int k = 0; add && depth > 0 && k < 2; k++)
        if (gopt_rewrite_scalar_operand(add, k, &c, &other) && c >= 0)
            return has_plain_root(other, depth - 1);
    return mul && mul->in[0] == mul->in[1];
}

static gopt_status power(gopt_node *n, bool *done, gopt_err *e)
{
    enum { DEPTH = 4 };
    double c;
    gopt_value *x = n->in[0];
    if (n->n_in != 2 || !gopt_dtype_is_float(x->fact.dtype) || !gopt_value_scalar(n->in[1], &c) ||
        !same_result(x, n->out[0]))
        return GOPT_OK;
    if (c == 2)
        return put(n, "Mul", (gopt_value *[]){x, x}, 2, NULL, done, e);
    if (c == -1)
        return put(n, "Reciprocal", &x, 1, NULL, done, e);
    return c == 0.5 && has_plain_root(x, DEPTH) ? put(n, "Sqrt", &x, 1, NULL, done, e) : GOPT_OK;
}

/* ---- constants ---- */

/* A finite number whose reciprocal, and that of which, is no subnormal of the type. */
static bool is_normal(gopt_dtype d, double v)
{
    double least = d == GOPT_DTYPE_F64 ? DBL_MIN : d == GOPT_DTYPE_F16 ? 0x1p-14 : (double)FLT_MIN;
    return isfinite(gopt_dtype_round(d, v)) && fabs(v) >= least;
}

static gopt_status quotient(gopt_node *n, bool *done, gopt_err *e)
{
    enum { CHUNK_MAX = 4096 };
    gopt_dtype d = n->out[0]->fact.dtype;
    if (n->n_in != 2 || !gopt_dtype_is_float(d) || !gopt_value_is_const(n->in[1]) || gopt_value_is_const(n->in[0]))
        return GOPT_OK;
    const gopt_tensor *c = n->in[1]->fact.constant;
    double v[CHUNK_MAX];
    int64_t count = gopt_tensor_count(c);
    if (count > CHUNK_MAX)
        return GOPT_OK;
    for (int64_t i = 0; i < count; i++) {
        double x = gopt_tensor_get(c, i);
        v[i] = 1 / x;
        if (!is_normal(d, x) || !is_normal(d, v[i]))
            return GOPT_OK;
    }
    gopt_value *factor = gopt_rewrite_constant(n->graph, d, c->rank, c->dim, v);
    return factor ? put(n, "Mul", (gopt_value *[]){n->in[0], factor}, 2, NULL, done, e) : gopt_oom(e);
}

/* x and c of n = x op c; false when n is something else. */
static bool with_constant(const gopt_node *n, gopt_value **x, double *c)
{
    for (int k = 0; k < 2; k++)
        if (gopt_rewrite_scalar_operand(n, k, c, x) && !gopt_value_is_const(*x) &&
            n->in[k]->fact.rank <= (*x)->fact.rank)
            return true;
    return false;
}

static gopt_status chain(gopt_node *n, bool *done, gopt_err *e)
{
    bool times = gopt_rewrite_is(n, "Mul");
    gopt_dtype d = n->out[0]->fact.dtype;
    double a, b;
    gopt_value *x, *y;
    if (!gopt_dtype_is_float(d) || !with_constant(n, &y, &b))
        return GOPT_OK;
    gopt_node *p = gopt_rewrite_producer(y, n->op->name);
    if (!p || p->graph != n->graph || gopt_rewrite_sole_reader(y) != n || !with_constant(p, &x, &a) ||
        !same_result(x, n->out[0]))
        return GOPT_OK;
    double c = times ? a * b : a + b;
    bool alike = times ? (fabs(a) >= 1) == (fabs(b) >= 1) : (a >= 0) == (b >= 0);
    bool fine = times ? is_normal(d, a) && is_normal(d, b) && is_normal(d, c) : isfinite(gopt_dtype_round(d, c));
    if (!alike || !fine)
        return GOPT_OK;
    gopt_value *v = scalar(n, d, c);
    return v ? put(n, n->op->name, (gopt_value *[]){x, v}, 2, p, done, e) : gopt_oom(e);
}

static const struct {
    const char *op;
    gopt_status (*rule)(gopt_node *n, bool *done, gopt_err *e);
} rules[] = {{"Not", twice}, {"Neg", twice}, {"Where", where},  {"Relu", clip}, {"Clip", clip},
             {"Pow", power}, {"Mul", chain}, {"Div", quotient}, {"Add", chain}};

static gopt_status simplify(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    for (int i = 0; i < GOPT_COUNT(rules); i++) {
        bool done = false;
        if (!gopt_rewrite_is(n, rules[i].op) || n->n_out != 1 || !n->out[0] || n->n_in == 0 || !n->in[0])
            continue;
        GOPT_TRY(rules[i].rule(n, &done, e));
        r->changed += done;
        return GOPT_OK;
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, simplify, e);
}

const gopt_pass gopt_pass_simplify = {
    .name = "simplify",
    .doc = "arithmetic in a cheaper form: powers, quotients and bounds by constants, double negations",
    .revision = 1,
    .run = run,
};
