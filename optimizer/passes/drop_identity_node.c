/* drop_identity_node.c: single nodes whose output is their input 0, or another operand. */
#include <math.h>
#include <string.h>

#include "passes/drop_identity.h"

/* Each rule gives the operand that the output equals, or NULL. Shapes and types of the two are equal already. */
typedef gopt_value *rule(const gopt_node *n);

static gopt_value *always(const gopt_node *n)
{
    return n->in[0];
}

static bool is_absent(const gopt_node *n, int k)
{
    return k >= n->n_in || !n->in[k];
}

static gopt_value *inference(const gopt_node *n)
{
    double training = 0;
    bool on = !is_absent(n, 2) && (!gopt_value_scalar(n->in[2], &training) || training != 0);
    return on ? NULL : n->in[0];
}

static gopt_value *alone(const gopt_node *n)
{
    return n->n_in == 1 ? n->in[0] : NULL;
}

/* The operand beside which all others are empty along the axis. */
static gopt_value *only_full(const gopt_node *n)
{
    gopt_value *full = NULL;
    int axis, rank = n->in[0]->fact.rank;
    if (n->n_in == 1)
        return n->in[0];
    if (rank < 1 || gopt_axis(gopt_attr_int(n->attrs, "axis", 0), rank, &axis, NULL))
        return NULL;
    for (int k = 0; k < n->n_in; k++) {
        const gopt_fact *f = &n->in[k]->fact;
        bool empty = f->rank == rank && gopt_dim_is_const(f->dim[axis]) && f->dim[axis].k == 0;
        if (!empty && full)
            return NULL;
        full = empty ? full : n->in[k];
    }
    return full;
}

static bool all_are(const gopt_value *v, double c)
{
    if (!gopt_value_is_const(v) || gopt_dtype_bits(v->fact.dtype) == 0)
        return false;
    for (int64_t i = 0; i < gopt_tensor_count(v->fact.constant); i++) {
        double x = gopt_tensor_get(v->fact.constant, i);
        if (x != c || signbit(x) != signbit(c))
            return false;
    }
    return true;
}

/* Steps of 1 take all elements in order when the shape stays. */
static gopt_value *steps_of_one(const gopt_node *n)
{
    return is_absent(n, 4) || all_are(n->in[4], 1) ? n->in[0] : NULL;
}

static gopt_value *no_pads(const gopt_node *n)
{
    return !is_absent(n, 1) && all_are(n->in[1], 0) ? n->in[0] : NULL;
}

static gopt_value *no_bounds(const gopt_node *n)
{
    return is_absent(n, 1) && is_absent(n, 2) ? n->in[0] : NULL;
}

/* One output: of more than one the shape could not be that of the input. */
static gopt_value *one_part(const gopt_node *n)
{
    return n->n_out == 1 ? n->in[0] : NULL;
}

static gopt_value *same_order(const gopt_node *n)
{
    int64_t count;
    const int64_t *perm = gopt_attr_ints(n->attrs, "perm", &count);
    if (!perm)
        return n->in[0]->fact.rank <= 1 ? n->in[0] : NULL;
    for (int64_t i = 0; i < count; i++)
        if (perm[i] != i)
            return NULL;
    return n->in[0];
}

/* x * 1, x / 1, x ** 1 and x - 0 are x, whatever x is, and so is x + -0.0; x + 0.0 is not where x is -0.0. */
static gopt_value *neutral(const gopt_node *n, int k, double c)
{
    return n->n_in == 2 && all_are(n->in[k], c) ? n->in[1 - k] : NULL;
}

static gopt_value *times_one(const gopt_node *n)
{
    gopt_value *v = neutral(n, 1, 1);
    return v ? v : neutral(n, 0, 1);
}

static gopt_value *by_one(const gopt_node *n)
{
    return neutral(n, 1, 1);
}

static gopt_value *plus_zero(const gopt_node *n)
{
    double zero = gopt_dtype_is_float(n->in[0]->fact.dtype) ? -0.0 : 0.0;
    gopt_value *v = neutral(n, 1, zero);
    return v ? v : neutral(n, 0, zero);
}

static gopt_value *minus_zero(const gopt_node *n)
{
    return neutral(n, 1, 0);
}

static gopt_value *chosen(const gopt_node *n)
{
    return n->n_in != 3 ? NULL : all_are(n->in[0], 1) ? n->in[1] : all_are(n->in[0], 0) ? n->in[2] : NULL;
}

static const struct {
    const char *op;
    rule *rule;
} rules[] = {
    {"Identity", always}, {"Dropout", inference}, {"Cast", always},          {"CastLike", always},
    {"Reshape", always},  {"Squeeze", always},    {"Unsqueeze", always},     {"Flatten", always},
    {"Expand", always},   {"Tile", always},       {"Transpose", same_order}, {"Slice", steps_of_one},
    {"Pad", no_pads},     {"Concat", only_full},  {"Split", one_part},       {"Sum", alone},
    {"Max", alone},       {"Min", alone},         {"Mean", alone},           {"Clip", no_bounds},
    {"Mul", times_one},   {"Div", by_one},        {"Pow", by_one},           {"Add", plus_zero},
    {"Sub", minus_zero},  {"Where", chosen},
};

static bool is_like(const gopt_value *a, const gopt_value *b)
{
    return a->fact.dtype == b->fact.dtype && gopt_rewrite_same_shape(&a->fact, &b->fact);
}

static bool wants_more(const gopt_node *n)
{
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->n_users || n->out[k]->n_results))
            return true;
    return false;
}

bool gopt_drop_identity_node(gopt_node *n)
{
    for (int i = 0; i < GOPT_COUNT(rules); i++) {
        if (!gopt_rewrite_is(n, rules[i].op) || n->n_in == 0 || !n->in[0] || !n->out[0] || wants_more(n))
            continue;
        gopt_value *by = rules[i].rule(n);
        bool identity = rules[i].rule == always && i == 0; /* of Identity nothing needs proof */
        return by && (identity || is_like(by, n->out[0])) && gopt_rewrite_bypass(n, by);
    }
    return false;
}
