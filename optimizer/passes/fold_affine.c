/* fold_affine.c: takes a constant scale or shift per output channel into the weights and bias of the product or
 * convolution before it.
 *
 * y * c, y / c, y + c, y - c and c - y, for y from Conv, ConvTranspose, Gemm or MatMul. Legal when nothing else reads
 * y, weights and bias are constants that nothing else reads, c varies along the channels only and does not enlarge y,
 * and all new numbers are finite. A shift turns a MatMul of matrices into a Gemm; a MatMul of higher rank keeps its
 * Add. Results differ by rounding: the scale is applied to weights instead of sums. */
#include <string.h>

#include "passes/affine.h"

typedef enum kind { TIMES, OVER, PLUS, MINUS, FROM } kind;

/* The value that is scaled or shifted, by what, and how; false when n does not do that. */
static bool match(const gopt_node *n, gopt_value **y, gopt_value **c, kind *how)
{
    static const struct {
        const char *op;
        kind right, left; /* the constant is operand 1 or 0 */
    } ops[] = {{"Mul", TIMES, TIMES}, {"Div", OVER, OVER}, {"Add", PLUS, PLUS}, {"Sub", MINUS, FROM}};
    for (int i = 0; i < GOPT_COUNT(ops); i++) {
        if (!gopt_rewrite_is(n, ops[i].op) || n->n_in != 2 || !n->in[0] || !n->in[1])
            continue;
        bool right = gopt_value_is_const(n->in[1]);
        *y = n->in[right ? 0 : 1];
        *c = n->in[right ? 1 : 0];
        *how = right ? ops[i].right : ops[i].left;
        return gopt_value_is_const(*c) && (right || *how != OVER);
    }
    return false;
}

static bool apply(gopt_affine *p, gopt_node *n, double *c, kind how, gopt_arena *a)
{
    double *minus = how == FROM ? GOPT_NEW(a, double, p->channels) : NULL;
    for (int64_t j = 0; j < p->channels; j++) {
        if (how == OVER)
            c[j] = 1 / c[j];
        else if (how == MINUS)
            c[j] = -c[j];
        if (minus)
            minus[j] = -1;
    }
    if (how == FROM && !minus)
        return false;
    bool scales = how == TIMES || how == OVER;
    return gopt_affine_fold(p, scales ? c : minus, scales ? NULL : c, n);
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    gopt_affine p;
    gopt_value *y, *c;
    kind how;
    if (!match(n, &y, &c, &how) || !gopt_affine_find(&p, y, n))
        return GOPT_OK;
    gopt_arena scratch = {0};
    double *v = gopt_affine_numbers(&p, c, &scratch);
    r->changed += v && apply(&p, n, v, how, &scratch);
    bool failed = scratch.failed;
    gopt_arena_fini(&scratch);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_affine = {
    .name = "fold_affine",
    .doc = "take constant scales and shifts per channel into weights and bias",
    .revision = 1,
    .run = run,
};
