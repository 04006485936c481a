/* tensor.c: shapes, and dense tensors in an arena. */
#include "tensor.h"

#include <stdio.h>
#include <string.h>

#define ELEMENT_MAX 16 /* bytes of the largest element: no shape that passes gopt_dims_count overflows in any dtype */

bool gopt_dims_count(const int64_t *dim, int rank, int64_t *count)
{
    int64_t limit = GOPT_MIN(INT64_MAX, (int64_t)(SIZE_MAX / 2)) / ELEMENT_MAX, n = 1;
    bool empty = false, over = false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return false;
        empty |= dim[i] == 0;
        over |= dim[i] > 0 && n > limit / dim[i];
        n = over || dim[i] == 0 ? n : n * dim[i];
    }
    *count = empty ? 0 : n;
    return empty || !over;
}

int64_t gopt_tensor_count(const gopt_tensor *t)
{
    int64_t count = 0;
    gopt_dims_count(t->dim, t->rank, &count);
    return count;
}

size_t gopt_tensor_bytes(const gopt_tensor *t)
{
    return gopt_dtype_bytes(t->dtype, gopt_tensor_count(t));
}

void gopt_dims_strides(const int64_t *dim, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= dim[i];
    }
}

bool gopt_dims_equal(const gopt_tensor *a, const gopt_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]);
}

bool gopt_dims_broadcast(const int64_t *a, int ra, const int64_t *b, int rb, int64_t *out, int *rank)
{
    int64_t dim[GOPT_RANK_MAX];
    int n = GOPT_MAX(ra, rb);
    for (int i = 0; i < n; i++) {
        int64_t da = i < n - ra ? 1 : a[i - (n - ra)], db = i < n - rb ? 1 : b[i - (n - rb)];
        if (da != db && da != 1 && db != 1)
            return false;
        dim[i] = da == 1 ? db : da;
    }
    memcpy(out, dim, (size_t)n * sizeof dim[0]);
    *rank = n;
    return true;
}

char *gopt_tensor_describe(char *buf, size_t size, const gopt_tensor *t)
{
    size_t at = (size_t)snprintf(buf, size, "%s[", gopt_dtype_name(t->dtype));
    for (int i = 0; i < t->rank && at < size; i++)
        at += t->dim[i] < 0 ? (size_t)snprintf(buf + at, size - at, i ? ",?" : "?")
                            : (size_t)snprintf(buf + at, size - at, i ? ",%lld" : "%lld", (long long)t->dim[i]);
    if (at < size)
        snprintf(buf + at, size - at, t->rank < 0 ? "...]" : "]");
    return buf;
}

gopt_tensor *gopt_tensor_new(gopt_arena *a, gopt_dtype d, int rank, const int64_t *dim)
{
    int64_t count;
    if (rank < 0 || rank > GOPT_RANK_MAX || !gopt_dims_count(dim, rank, &count)) {
        a->failed = true;
        return NULL;
    }
    gopt_tensor *t = GOPT_NEW(a, gopt_tensor, 1);
    if (!t)
        return NULL;
    *t = (gopt_tensor){.dtype = d, .rank = rank};
    for (int i = 0; i < rank; i++)
        t->dim[i] = dim[i];
    t->data = gopt_arena_take(a, 1, gopt_dtype_bytes(d, count));
    return t->data ? t : NULL;
}

double gopt_tensor_get(const gopt_tensor *t, int64_t i)
{
    double v;
    gopt_dtype_load(t->dtype, t->data, i, 1, &v);
    return v;
}

int64_t gopt_tensor_get_int(const gopt_tensor *t, int64_t i)
{
    int64_t v;
    gopt_dtype_load_int(t->dtype, t->data, i, 1, &v);
    return v;
}

void gopt_tensor_set(gopt_tensor *t, int64_t i, double v)
{
    gopt_dtype_store(t->dtype, t->data, i, 1, &v);
}

void gopt_tensor_set_int(gopt_tensor *t, int64_t i, int64_t v)
{
    gopt_dtype_store_int(t->dtype, t->data, i, 1, &v);
}
