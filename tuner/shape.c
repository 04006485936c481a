/* shape.c: from what was given, or from tensors, to bound graphs. */
#include "shape.h"

#include <inttypes.h>
#include <string.h>

#include "inputs.h"

const int64_t gopt_lengths[GOPT_LENGTHS] = {32, 128, 512, 1024, 4};

enum { SYMBOLS_MAX = 256 };

static int find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

static bool is_given(const gopt_shapes *given, const char *name)
{
    bool found = false;
    for (int i = 0; given && i < given->n; i++)
        found = found || !strcmp(given->name[i], name);
    return found;
}

static gopt_status check_given(const gopt_shapes *given, const char *const *names, int n, gopt_err *e)
{
    for (int i = 0; given && i < given->n; i++) {
        if (find(names, n, given->name[i]) >= 0)
            continue;
        if (n == 0)
            return gopt_fail(e, GOPT_EUSAGE, "--shape: %s: the model has no symbolic dimensions", given->name[i]);
        return gopt_within(e, gopt_unknown(e, "dimension", given->name[i], names, n), "--shape");
    }
    return GOPT_OK;
}

gopt_status gopt_shape_need_all(const gopt_graph *g, const gopt_shapes *given, gopt_err *e)
{
    const char *names[SYMBOLS_MAX];
    int n = gopt_graph_symbols(g, names, SYMBOLS_MAX), open = n;
    gopt_text list = {0};
    GOPT_TRY(check_given(given, names, n, e));
    for (int i = 0; i < n; i++) {
        open -= is_given(given, names[i]);
        gopt_text_add(&list, "%s%s=N", i ? "," : "", names[i]);
    }
    gopt_status s = GOPT_OK;
    if (open)
        s = gopt_fail(e, GOPT_EUSAGE, "the model has symbolic dimensions; say all of --shape %.300s",
                      gopt_text_str(&list));
    gopt_text_fini(&list);
    return s;
}

/* Those not given that depend on the length tried; all that were not given when none does. */
static void list_open(const gopt_graph *g, const gopt_shapes *given, gopt_text *list)
{
    const char *names[SYMBOLS_MAX];
    int64_t sizes[2][SYMBOLS_MAX];
    int n = gopt_inputs_shape(g, names, sizes[0], SYMBOLS_MAX, gopt_lengths[0]);
    gopt_inputs_shape(g, names, sizes[1], SYMBOLS_MAX, gopt_lengths[1]);
    for (int all = 0; all < 2 && !list->n; all++)
        for (int i = 0; i < n; i++)
            if (!is_given(given, names[i]) && (all || sizes[0][i] != sizes[1][i]))
                gopt_text_add(list, "%s%s", list->n ? ", " : "", names[i]);
}

gopt_status gopt_shape_search(const gopt_graph *g, const gopt_shapes *given, gopt_shape_attempt *attempt, void *ctx,
                              gopt_err *e)
{
    gopt_status first = GOPT_OK;
    gopt_err why = {0};
    for (int i = 0; i < GOPT_LENGTHS; i++) {
        int made_up = 0;
        gopt_err failure = {0};
        gopt_status s = attempt(ctx, gopt_lengths[i], &made_up, &failure);
        if ((s != GOPT_EINPUT && s != GOPT_EUNSUP) || !made_up)
            return s ? gopt_fail(e, s, "%s", failure.msg) : GOPT_OK;
        first = i ? first : s;
        why = i ? why : failure;
    }
    gopt_text open = {0};
    list_open(g, given, &open);
    gopt_fail(e, first, "%.300s; no size tried for %.150s fits: choose with --shape", why.msg, gopt_text_str(&open));
    gopt_text_fini(&open);
    return first;
}

/* A model may leave the rank of an input open: only data can say it then. */
static gopt_status check_known(const gopt_graph *g, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX];
    for (int i = 0; i < g->n_inputs; i++)
        if (!gopt_fact_static(&g->inputs[i]->fact, dim))
            return gopt_fail(e, GOPT_EUNSUP, "input \"%s\": the model does not declare its shape", g->inputs[i]->name);
    return GOPT_OK;
}

gopt_status gopt_shape_bind(gopt_graph *g, const gopt_shapes *given, int64_t length, gopt_text *bound, int *made_up,
                            gopt_err *e)
{
    const char *names[SYMBOLS_MAX];
    int64_t sizes[SYMBOLS_MAX];
    int n = gopt_inputs_shape(g, names, sizes, SYMBOLS_MAX, length), open = n;
    GOPT_TRY(check_given(given, names, n, e));
    for (int i = 0; given && i < given->n; i++) {
        sizes[find(names, n, given->name[i])] = given->size[i];
        open--;
    }
    for (int i = 0; bound && i < n; i++)
        gopt_text_add(bound, "%s%s=%" PRId64, i ? "," : "", names[i], sizes[i]);
    if (made_up)
        *made_up = open;
    GOPT_TRY(gopt_graph_bind(g, names, sizes, n, e));
    return check_known(g, e);
}

/* ---- from tensors ---- */

typedef struct solution {
    const char *name[SYMBOLS_MAX];
    int64_t size[SYMBOLS_MAX];
    int n;
} solution;

/* A dimension that is a symbol and nothing else. */
static const char *plain_symbol(const gopt_graph *g, gopt_dim d)
{
    const char *names[2];
    bool one = gopt_dim_is_known(d) && gopt_dim_symbols(g->family->dims, d, names, 0, 2) == 1;
    return one && gopt_dim_equal(d, gopt_dim_symbol(g->family->dims, names[0])) ? names[0] : NULL;
}

static gopt_status solve(solution *s, const gopt_value *input, const char *symbol, int64_t size, gopt_err *e)
{
    int at = find(s->name, s->n, symbol);
    if (at >= 0 && s->size[at] != size)
        return gopt_fail(e, GOPT_EINPUT, "input \"%s\": dimension \"%s\" is %" PRId64 " here and %" PRId64 " elsewhere",
                         input->name, symbol, size, s->size[at]);
    if (at < 0 && s->n == SYMBOLS_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "more than %d symbolic dimensions", SYMBOLS_MAX);
    if (at < 0) {
        s->name[s->n] = symbol;
        s->size[s->n++] = size;
    }
    return GOPT_OK;
}

static gopt_status solve_input(solution *s, gopt_value *v, const gopt_tensor *t, gopt_err *e)
{
    gopt_fact *f = &v->fact;
    if (f->rank >= 0 && f->rank != t->rank)
        return gopt_fail(e, GOPT_EINPUT, "input \"%s\": of rank %d, %d expected", v->name, t->rank, f->rank);
    bool unknown = f->rank < 0;
    f->rank = t->rank;
    for (int d = 0; d < t->rank; d++) {
        const char *symbol = unknown ? NULL : plain_symbol(v->graph, f->dim[d]);
        if (symbol)
            GOPT_TRY(solve(s, v, symbol, t->dim[d], e));
        else if (unknown || !gopt_dim_is_known(f->dim[d]))
            f->dim[d] = gopt_dim_of(t->dim[d]);
    }
    return GOPT_OK;
}

static gopt_status check_input(const gopt_graph *g, const gopt_value *v, const gopt_tensor *t, gopt_err *e)
{
    char want[160];
    for (int d = 0; d < t->rank; d++)
        if (!gopt_dim_equal(v->fact.dim[d], gopt_dim_of(t->dim[d])))
            return gopt_fail(e, GOPT_EINPUT, "input \"%s\": dimension %d is %" PRId64 ", %s expected", v->name, d,
                             t->dim[d], gopt_dim_print(g->family->dims, v->fact.dim[d], want, sizeof want));
    return GOPT_OK;
}

gopt_status gopt_shape_bind_to(gopt_graph *g, const gopt_tensor *const *in, gopt_err *e)
{
    solution s = {.n = 0};
    for (int i = 0; i < g->n_inputs; i++)
        GOPT_TRY(solve_input(&s, g->inputs[i], in[i], e));
    GOPT_TRY(gopt_graph_bind(g, s.name, s.size, s.n, e));
    for (int i = 0; i < g->n_inputs; i++)
        GOPT_TRY(check_input(g, g->inputs[i], in[i], e));
    return GOPT_OK;
}
