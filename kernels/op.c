/* op.c: the registry of operators and what their files share. */
#include "op.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GOPT_OPS_DEF /* a test compiles this file with a list of its own: tests/planted_ops.def */
#define GOPT_OPS_DEF "ops.def"
#endif

#define X(name) extern const gopt_op gopt_op_##name;
#include GOPT_OPS_DEF
#undef X

#define X(name) &gopt_op_##name,
const gopt_op *const gopt_ops[] = {
#include GOPT_OPS_DEF
    NULL};
#undef X

static const gopt_op *sorted[GOPT_COUNT(gopt_ops)];
static pthread_once_t sorted_once = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b)
{
    const gopt_op *p = *(const gopt_op *const *)a, *q = *(const gopt_op *const *)b;
    int order = strcmp(p->name, q->name);
    return order ? order : strcmp(p->domain, q->domain);
}

static void sort(void)
{
    memcpy(sorted, gopt_ops, sizeof sorted);
    qsort(sorted, (size_t)GOPT_COUNT(sorted) - 1, sizeof sorted[0], compare);
}

const gopt_op *gopt_op_find(const char *domain, const char *name)
{
    gopt_op key = {.name = name, .domain = strcmp(domain, "ai.onnx") ? domain : ""};
    const gopt_op *wanted = &key;
    pthread_once(&sorted_once, sort);
    const gopt_op **found = bsearch(&wanted, sorted, (size_t)GOPT_COUNT(sorted) - 1, sizeof sorted[0], compare);
    return found ? *found : NULL;
}

gopt_status gopt_axis(int64_t axis, int rank, int *out, gopt_err *e)
{
    if (axis < -rank || axis >= rank)
        return gopt_fail(e, GOPT_EINPUT, "axis %lld is outside [%d, %d)", (long long)axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return GOPT_OK;
}

gopt_status gopt_exec_out(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    gopt_tensor *out = x->out[k], made = {.dtype = d, .rank = rank};
    char have[160], want[160];
    if (!out)
        return GOPT_OK;
    if (!out->data)
        return x->alloc ? x->alloc(x, k, d, rank, dim, e) : gopt_fail(e, GOPT_EBUG, "output %d has no memory", k);
    for (int i = 0; i < rank; i++)
        made.dim[i] = dim[i];
    if (out->dtype == d && gopt_dims_equal(out, &made))
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "output %d is %s, but %s was planned", k,
                     gopt_tensor_describe(have, sizeof have, &made), gopt_tensor_describe(want, sizeof want, out));
}

bool gopt_infer_has(const gopt_infer *x, int i)
{
    return i < x->n_in && x->in[i].dtype != GOPT_DTYPE_NONE;
}

void gopt_infer_set(gopt_infer *x, int k, gopt_dtype d, int rank, const gopt_dim *dim)
{
    x->out[k] = (gopt_fact){.dtype = d, .rank = rank};
    if (rank > 0)
        memcpy(x->out[k].dim, dim, (size_t)rank * sizeof *dim);
}

void gopt_infer_like(gopt_infer *x, int k, int i)
{
    x->out[k] = x->in[i];
    x->out[k].content = NULL;
    x->out[k].constant = NULL;
}

void gopt_infer_content(gopt_infer *x, int k, const gopt_dim *content, int64_t n)
{
    if (n < 0 || n > GOPT_CONTENT_MAX)
        return;
    x->out[k].content = gopt_arena_copy(x->arena, content, (size_t)n, sizeof *content);
}

bool gopt_fact_static(const gopt_fact *f, int64_t dim[GOPT_RANK_MAX])
{
    for (int i = 0; i < f->rank; i++) {
        if (!gopt_dim_is_const(f->dim[i]))
            return false;
        dim[i] = f->dim[i].k;
    }
    return f->rank >= 0;
}

/* The elements of an integer or bool tensor, in the arena; NULL when it is too large or memory is short. */
static const gopt_dim *tensor_content(gopt_arena *a, const gopt_tensor *t, int64_t n)
{
    if (n > GOPT_CONTENT_MAX || !(gopt_dtype_is_int(t->dtype) || t->dtype == GOPT_DTYPE_BOOL))
        return NULL;
    gopt_dim *content = GOPT_NEW(a, gopt_dim, n);
    for (int64_t i = 0; content && i < n; i++)
        content[i] = gopt_dim_of(gopt_tensor_get_int(t, i));
    return content;
}

void gopt_fact_of_tensor(gopt_fact *out, const gopt_tensor *t, gopt_arena *a)
{
    *out = (gopt_fact){.dtype = t->dtype, .rank = t->rank, .constant = t};
    for (int i = 0; i < t->rank; i++)
        out->dim[i] = gopt_dim_of(t->dim[i]);
    out->content = tensor_content(a, t, gopt_tensor_count(t));
}

const gopt_dim *gopt_infer_ints(gopt_infer *x, int i, int64_t *n)
{
    int64_t dim[GOPT_RANK_MAX];
    *n = 0;
    if (!gopt_infer_has(x, i))
        return NULL;
    const gopt_fact *f = &x->in[i];
    if (!(gopt_dtype_is_int(f->dtype) || f->dtype == GOPT_DTYPE_BOOL) || !gopt_fact_static(f, dim))
        return NULL;
    if (!gopt_dims_count(dim, f->rank, n))
        return NULL;
    const gopt_dim *content = f->content ? f->content : f->constant ? tensor_content(x->arena, f->constant, *n) : NULL;
    for (int64_t k = 0; content && k < *n; k++)
        if (!gopt_dim_is_known(content[k]))
            content = NULL;
    if (!content)
        *n = 0;
    return content;
}

static void print_shape(const gopt_dims *t, const gopt_fact *f, char *buf, size_t size)
{
    size_t at = 0;
    char dim[64];
    for (int i = 0; i < f->rank && at < size; i++)
        at +=
            (size_t)snprintf(buf + at, size - at, "%s%s", i ? "," : "[", gopt_dim_print(t, f->dim[i], dim, sizeof dim));
    if (at < size)
        snprintf(buf + at, size - at, f->rank > 0 ? "]" : "[]");
}

/* False when the two can never go together. */
static bool broadcast_dim(gopt_dim a, gopt_dim b, gopt_dim *out)
{
    bool a_const = gopt_dim_is_const(a), b_const = gopt_dim_is_const(b);
    if (gopt_dim_equal(a, b) || (b_const && b.k == 1))
        *out = a;
    else if (a_const && a.k == 1)
        *out = b;
    else if (a_const && b_const)
        return false;
    else /* a constant other than 1 wins over what is not known: that must be it, or 1 */
        *out = a_const ? a : b_const ? b : GOPT_DIM_UNKNOWN;
    return true;
}

gopt_status gopt_infer_broadcast(gopt_infer *x, const gopt_fact *a, const gopt_fact *b, gopt_fact *out, gopt_err *e)
{
    char left[200], right[200];
    gopt_dim dim[GOPT_RANK_MAX];
    int rank = GOPT_MAX(a->rank, b->rank);
    if (a->rank < 0 || b->rank < 0) {
        out->rank = -1;
        return GOPT_OK;
    }
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        gopt_dim da = ia < 0 ? gopt_dim_of(1) : a->dim[ia], db = ib < 0 ? gopt_dim_of(1) : b->dim[ib];
        if (broadcast_dim(da, db, &dim[i]))
            continue;
        print_shape(x->dims, a, left, sizeof left);
        print_shape(x->dims, b, right, sizeof right);
        return gopt_fail(e, GOPT_EINPUT, "shapes %s and %s do not broadcast", left, right);
    }
    memcpy(out->dim, dim, (size_t)rank * sizeof dim[0]);
    out->rank = rank;
    return GOPT_OK;
}
