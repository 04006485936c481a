/* pointwise.c: the execution that every POINTWISE operator shares: its expression over broadcast operands, by tiles. */
#include "op.h"

#include <stdio.h>

#define TILE 256 /* elements at a time: a few operands and instructions stay in the level 1 cache */

typedef struct operand {
    const gopt_tensor *t;
    gopt_expr_class class;
    int64_t full[GOPT_RANK_MAX];   /* strides over the output's dimensions; 0 where broadcast */
    int64_t stride[GOPT_RANK_MAX]; /* over the loop's */
} operand;

typedef struct loop { /* the output's dimensions, neighbours merged where every operand allows it; at least one */
    int rank;
    int64_t dim[GOPT_RANK_MAX];
    operand *in; /* of every operand; t is NULL where absent */
    int n_in;
} loop;

static gopt_status refuse(const gopt_dtype *dtype, int n, gopt_err *e)
{
    char list[120] = "";
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
                               dtype[i] == GOPT_DTYPE_NONE ? "nothing" : gopt_dtype_name(dtype[i]));
    return gopt_fail(e, GOPT_EUNSUP, "inputs of types %s, with these attributes", list);
}

gopt_status gopt_op_expr(gopt_expr *x, const gopt_op *op, gopt_attrs attrs, const gopt_dtype *dtype, int n, gopt_err *e)
{
    int arg[GOPT_EXPR_LIMIT];
    for (int i = 0; i < op->in_min; i++)
        if (i >= n || dtype[i] == GOPT_DTYPE_NONE)
            return gopt_fail(e, GOPT_EINPUT, "input %d is missing", i);
    for (int i = 0; i < n && i < GOPT_EXPR_LIMIT; i++) {
        bool number = gopt_dtype_is_float(dtype[i]) || gopt_dtype_is_int(dtype[i]) || dtype[i] == GOPT_DTYPE_BOOL;
        if (!number && dtype[i] != GOPT_DTYPE_NONE)
            return gopt_fail(e, GOPT_EUNSUP, "input %d is %s", i, gopt_dtype_name(dtype[i]));
        arg[i] = number ? gopt_expr_load(x, i, dtype[i]) : -1;
    }
    int result = n > GOPT_EXPR_LIMIT ? -1 : op->expr(x, attrs, arg, n);
    if (x->arena->failed)
        return gopt_oom(e);
    if (n > GOPT_EXPR_LIMIT || x->failed)
        return gopt_fail(e, GOPT_EUNSUP, "more than %d instructions per element", GOPT_EXPR_LIMIT);
    if (result < 0)
        return refuse(dtype, n, e);
    x->result = result;
    return GOPT_OK;
}

static gopt_status broadcast_shape(const gopt_exec *x, int64_t *dim, int *rank, gopt_err *e)
{
    char have[160], want[160];
    *rank = 0;
    for (int i = 0; i < x->n_in; i++) {
        const gopt_tensor *t = x->in[i];
        if (!t || gopt_dims_broadcast(dim, *rank, t->dim, t->rank, dim, rank))
            continue;
        return gopt_fail(e, GOPT_EINPUT, "inputs %s and %s do not broadcast",
                         gopt_tensor_describe(have, sizeof have, x->in[0]), gopt_tensor_describe(want, sizeof want, t));
    }
    return GOPT_OK;
}

static void operand_init(operand *in, const gopt_tensor *t, const int64_t *dim, int rank)
{
    int64_t own[GOPT_RANK_MAX];
    *in = (operand){.t = t};
    if (!t)
        return;
    in->class = gopt_dtype_class(t->dtype);
    gopt_dims_strides(t->dim, t->rank, own);
    for (int i = 0, k = rank - t->rank; i < t->rank; i++)
        in->full[k + i] = t->dim[i] == 1 && dim[k + i] != 1 ? 0 : own[i];
}

/* Lays out the loop: dimensions of size 1 go, and one that continues its outer neighbour in every operand joins it, so
 * that most loops become one long row. */
static void loop_init(loop *l, const int64_t *dim, int rank)
{
    for (int d = 0; d < rank; d++) {
        bool joins = l->rank > 0;
        if (dim[d] == 1)
            continue;
        for (int i = 0; joins && i < l->n_in; i++)
            joins = l->in[i].stride[l->rank - 1] == l->in[i].full[d] * dim[d];
        int k = joins ? l->rank - 1 : l->rank++;
        l->dim[k] = joins ? l->dim[k] * dim[d] : dim[d];
        for (int i = 0; i < l->n_in; i++)
            l->in[i].stride[k] = l->in[i].full[d];
    }
    if (l->rank == 0)
        l->dim[l->rank++] = 1;
}

static void read_run(const operand *in, int64_t at, int64_t n, gopt_scalar *dst)
{
    if (in->class == GOPT_CLASS_FLOAT)
        gopt_dtype_load(in->t->dtype, in->t->data, at, n, &dst->f);
    else
        gopt_dtype_load_int(in->t->dtype, in->t->data, at, n, &dst->i);
}

/* Reads operand elements for n outputs from flat index `first` on. */
static void gather(const loop *l, const operand *in, int64_t first, int64_t n, gopt_scalar *dst)
{
    int last = l->rank - 1;
    int64_t row = l->dim[last], inner = first % row, outer = first / row;
    while (n > 0) {
        int64_t at = inner * in->stride[last], rest = outer, m = GOPT_MIN(n, row - inner);
        for (int d = last - 1; d >= 0; rest /= l->dim[d], d--)
            at += rest % l->dim[d] * in->stride[d];
        read_run(in, at, in->stride[last] ? m : 1, dst);
        for (int64_t i = 1; !in->stride[last] && i < m; i++)
            dst[i] = dst[0];
        dst += m;
        n -= m;
        inner = 0;
        outer++;
    }
}

static gopt_status evaluate(const loop *l, const gopt_expr *expr, gopt_tensor *out, gopt_arena *scratch, gopt_err *e)
{
    gopt_scalar *load = GOPT_NEW(scratch, gopt_scalar, l->n_in * TILE);
    gopt_scalar *tmp = GOPT_NEW(scratch, gopt_scalar, expr->n * TILE);
    gopt_expr_class class = expr->at[expr->result].class;
    int64_t count = gopt_tensor_count(out);
    if (!load || !tmp)
        return gopt_oom(e);
    for (int64_t first = 0; first < count; first += TILE) {
        int64_t n = GOPT_MIN(TILE, count - first);
        for (int i = 0; i < l->n_in; i++)
            if (l->in[i].t)
                gather(l, &l->in[i], first, n, load + i * n);
        const gopt_scalar *v = gopt_expr_eval_tile(expr, load, NULL, tmp, (int)n);
        if (class == GOPT_CLASS_FLOAT)
            gopt_dtype_store(out->dtype, out->data, first, n, &v->f);
        else
            gopt_dtype_store_int(out->dtype, out->data, first, n, &v->i);
    }
    return GOPT_OK;
}

gopt_status gopt_pointwise_apply(const gopt_expr *x, const gopt_tensor *const *in, int n_in, gopt_tensor *out,
                                 gopt_arena *scratch, gopt_err *e)
{
    loop l = {.in = GOPT_NEW(scratch, operand, n_in), .n_in = n_in};
    if (!l.in)
        return gopt_oom(e);
    for (int i = 0; i < n_in; i++)
        operand_init(&l.in[i], in[i], out->dim, out->rank);
    loop_init(&l, out->dim, out->rank);
    return evaluate(&l, x, out, scratch, e);
}

gopt_status gopt_pointwise_run(gopt_exec *x, gopt_err *e)
{
    gopt_expr expr = gopt_expr_new(x->scratch);
    gopt_dtype *dtype = GOPT_NEW(x->scratch, gopt_dtype, x->n_in);
    int64_t dim[GOPT_RANK_MAX];
    int rank;
    if (!dtype)
        return gopt_oom(e);
    for (int i = 0; i < x->n_in; i++)
        dtype[i] = x->in[i] ? x->in[i]->dtype : GOPT_DTYPE_NONE;
    GOPT_TRY(gopt_op_expr(&expr, x->op, x->attrs, dtype, x->n_in, e));
    GOPT_TRY(broadcast_shape(x, dim, &rank, e));
    GOPT_TRY(gopt_exec_out(x, 0, gopt_expr_dtype(&expr), rank, dim, e));
    return x->out[0] ? gopt_pointwise_apply(&expr, x->in, x->n_in, x->out[0], x->scratch, e) : GOPT_OK;
}
