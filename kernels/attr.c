/* attr.c: looking attributes up, comparing and changing sets of them. */
#include "attr.h"

#include <string.h>

const gopt_attr *gopt_attr_find(gopt_attrs a, const char *name)
{
    for (int k = 0; k < a.n; k++)
        if (!strcmp(a.at[k].name, name))
            return &a.at[k];
    return NULL;
}

static const gopt_attr *find_kind(gopt_attrs a, const char *name, gopt_attr_kind kind)
{
    const gopt_attr *found = gopt_attr_find(a, name);
    return found && found->kind == kind ? found : NULL;
}

int64_t gopt_attr_int(gopt_attrs a, const char *name, int64_t fallback)
{
    const gopt_attr *found = find_kind(a, name, GOPT_ATTR_INT);
    return found ? found->i : fallback;
}

double gopt_attr_float(gopt_attrs a, const char *name, double fallback)
{
    const gopt_attr *found = find_kind(a, name, GOPT_ATTR_FLOAT);
    return found ? found->f : fallback;
}

const char *gopt_attr_string(gopt_attrs a, const char *name, const char *fallback)
{
    const gopt_attr *found = find_kind(a, name, GOPT_ATTR_STRING);
    return found ? found->s : fallback;
}

const int64_t *gopt_attr_ints(gopt_attrs a, const char *name, int64_t *n)
{
    const gopt_attr *found = find_kind(a, name, GOPT_ATTR_INTS);
    *n = found ? found->n : 0;
    return found ? found->ints : NULL;
}

static bool same_strings(const gopt_attr *a, const gopt_attr *b)
{
    for (int64_t i = 0; i < a->n; i++)
        if (strcmp(a->strings[i], b->strings[i]))
            return false;
    return true;
}

/* Bit for bit, so that NaN equals itself and -0.0 is not 0.0. */
static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || !memcmp(a, b, bytes);
}

static bool same_tensors(const gopt_tensor *a, const gopt_tensor *b)
{
    return a->dtype == b->dtype && gopt_dims_equal(a, b) && same_bytes(a->data, b->data, gopt_tensor_bytes(a));
}

static bool same_value(const gopt_attr *a, const gopt_attr *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case GOPT_ATTR_NONE:
        return true;
    case GOPT_ATTR_INT:
        return a->i == b->i;
    case GOPT_ATTR_FLOAT:
        return same_bytes(&a->f, &b->f, sizeof a->f);
    case GOPT_ATTR_STRING:
        return !strcmp(a->s, b->s);
    case GOPT_ATTR_INTS:
        return a->n == b->n && same_bytes(a->ints, b->ints, (size_t)a->n * sizeof *a->ints);
    case GOPT_ATTR_FLOATS:
        return a->n == b->n && same_bytes(a->floats, b->floats, (size_t)a->n * sizeof *a->floats);
    case GOPT_ATTR_STRINGS:
        return a->n == b->n && same_strings(a, b);
    case GOPT_ATTR_TENSOR:
        return same_tensors(a->tensor, b->tensor);
    }
    return false;
}

bool gopt_attrs_equal(gopt_attrs a, gopt_attrs b)
{
    if (a.n != b.n)
        return false;
    for (int k = 0; k < a.n; k++) {
        const gopt_attr *other = gopt_attr_find(b, a.at[k].name);
        if (!other || !same_value(&a.at[k], other))
            return false;
    }
    return true;
}

gopt_attrs gopt_attrs_with(gopt_arena *arena, gopt_attrs a, gopt_attr one)
{
    gopt_attr *at = GOPT_NEW(arena, gopt_attr, a.n + 1);
    int n = 0;
    bool replaced = false;
    if (!at)
        return (gopt_attrs){0};
    for (int k = 0; k < a.n; k++) {
        bool here = !strcmp(a.at[k].name, one.name);
        at[n++] = here ? one : a.at[k];
        replaced |= here;
    }
    if (!replaced)
        at[n++] = one;
    return (gopt_attrs){.at = at, .n = n};
}

gopt_attrs gopt_attrs_without(gopt_arena *arena, gopt_attrs a, const char *name)
{
    gopt_attr *at = GOPT_NEW(arena, gopt_attr, a.n);
    int n = 0;
    if (!at)
        return (gopt_attrs){0};
    for (int k = 0; k < a.n; k++)
        if (strcmp(a.at[k].name, name))
            at[n++] = a.at[k];
    return (gopt_attrs){.at = at, .n = n};
}
