/* dump_scan.c: names, types, tensors and attributes from text. */
#include "dump_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"

gopt_status gopt_scan_fail(const gopt_scan *s, const char *expected)
{
    return gopt_fail(s->e, GOPT_EINPUT, "%s expected at '%.24s'", expected, s->p);
}

static void skip(gopt_scan *s)
{
    while (*s->p == ' ' || *s->p == '\t' || *s->p == '\r')
        s->p++;
}

bool gopt_scan_end(gopt_scan *s)
{
    skip(s);
    return !*s->p;
}

bool gopt_scan_accept(gopt_scan *s, const char *mark)
{
    skip(s);
    if (strncmp(s->p, mark, strlen(mark)))
        return false;
    s->p += strlen(mark);
    return true;
}

gopt_status gopt_scan_expect(gopt_scan *s, const char *mark)
{
    return gopt_scan_accept(s, mark) ? GOPT_OK : gopt_scan_fail(s, mark);
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* After the opening quote. */
static gopt_status scan_quoted(gopt_scan *s, const char **out)
{
    char *text = gopt_arena_take(&s->family->arena, strlen(s->p) + 1, 1);
    size_t n = 0;
    if (!text)
        return gopt_oom(s->e);
    for (; *s->p != '"'; s->p++) {
        if (!*s->p || (*s->p == '\\' && !s->p[1]))
            return gopt_scan_fail(s, "closing quote");
        if (*s->p != '\\') {
            text[n++] = *s->p;
        } else if (s->p[1] == 'x' && hex(s->p[2]) >= 0 && hex(s->p[3]) >= 0) {
            text[n++] = (char)(16 * hex(s->p[2]) + hex(s->p[3]));
            s->p += 3;
        } else {
            text[n++] = *++s->p;
        }
    }
    s->p++;
    *out = text;
    return GOPT_OK;
}

gopt_status gopt_scan_name(gopt_scan *s, const char **out, bool *quoted)
{
    bool opened = gopt_scan_accept(s, "\"");
    if (quoted)
        *quoted = opened;
    if (opened)
        return scan_quoted(s, out);
    size_t n = 0;
    while (isalnum((unsigned char)s->p[n]) || (s->p[n] && strchr("_./~%-", s->p[n])))
        n++;
    if (n == 0)
        return gopt_scan_fail(s, "name");
    *out = gopt_arena_strn(&s->family->arena, s->p, n);
    s->p += n;
    return *out ? GOPT_OK : gopt_oom(s->e);
}

static gopt_status scan_dim(gopt_scan *s, gopt_dim *out)
{
    const char *text;
    *out = GOPT_DIM_UNKNOWN;
    if (gopt_scan_accept(s, "?"))
        return GOPT_OK;
    GOPT_TRY(gopt_scan_name(s, &text, NULL));
    *out = gopt_dim_parse(s->family->dims, text);
    return GOPT_OK;
}

gopt_status gopt_scan_type(gopt_scan *s, gopt_fact *out)
{
    const char *name;
    *out = (gopt_fact){.rank = -1};
    GOPT_TRY(gopt_scan_name(s, &name, NULL));
    out->dtype = gopt_dtype_find(name);
    if (out->dtype == GOPT_DTYPE_NONE && strcmp(name, gopt_dtype_name(GOPT_DTYPE_NONE)))
        return gopt_fail(s->e, GOPT_EINPUT, "unknown type %s", name);
    if (!gopt_scan_accept(s, "["))
        return GOPT_OK;
    out->rank = 0;
    while (!gopt_scan_accept(s, "]")) {
        if (out->rank > 0)
            GOPT_TRY(gopt_scan_expect(s, ","));
        if (out->rank == GOPT_RANK_MAX)
            return gopt_fail(s->e, GOPT_EINPUT, "more than %d dimensions", GOPT_RANK_MAX);
        GOPT_TRY(scan_dim(s, &out->dim[out->rank++]));
    }
    return GOPT_OK;
}

static gopt_status scan_element(gopt_scan *s, gopt_tensor *t, int64_t i)
{
    char *end;
    skip(s);
    if (gopt_dtype_is_float(t->dtype))
        gopt_tensor_set(t, i, strtod(s->p, &end));
    else if (t->dtype == GOPT_DTYPE_U64)
        gopt_tensor_set_int(t, i, (int64_t)strtoull(s->p, &end, 10));
    else
        gopt_tensor_set_int(t, i, strtoll(s->p, &end, 10));
    if (end == s->p)
        return gopt_scan_fail(s, "number");
    s->p = end;
    return GOPT_OK;
}

static gopt_status scan_elements(gopt_scan *s, gopt_tensor *t)
{
    int64_t count = gopt_tensor_count(t);
    if (gopt_scan_accept(s, "random(")) {
        char *end;
        long seed = strtol(s->p, &end, 10);
        if (end == s->p || seed < 0 || seed >= GOPT_DUMP_SEEDS)
            return gopt_scan_fail(s, "seed below 100");
        s->p = end;
        for (int64_t i = 0; i < count; i++)
            gopt_tensor_set(t, i, gopt_dump_random(t->dtype, (int)seed, i));
        return gopt_scan_expect(s, ")");
    }
    if (gopt_scan_accept(s, "splat(")) {
        if (count == 0)
            return gopt_scan_fail(s, "empty list");
        GOPT_TRY(scan_element(s, t, 0));
        for (int64_t i = 1; i < count; i++) {
            gopt_tensor_set(t, i, gopt_tensor_get(t, 0));
            if (!gopt_dtype_is_float(t->dtype))
                gopt_tensor_set_int(t, i, gopt_tensor_get_int(t, 0));
        }
        return gopt_scan_expect(s, ")");
    }
    GOPT_TRY(gopt_scan_expect(s, "{"));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            GOPT_TRY(gopt_scan_expect(s, ","));
        GOPT_TRY(scan_element(s, t, i));
    }
    return gopt_scan_expect(s, "}");
}

gopt_status gopt_scan_tensor(gopt_scan *s, const gopt_tensor **out)
{
    gopt_fact f;
    int64_t dim[GOPT_RANK_MAX], count;
    GOPT_TRY(gopt_scan_type(s, &f));
    bool numbers = gopt_dtype_is_float(f.dtype) || gopt_dtype_is_int(f.dtype) || f.dtype == GOPT_DTYPE_BOOL;
    if (!numbers || !gopt_fact_static(&f, dim) || !gopt_dims_count(dim, f.rank, &count))
        return gopt_scan_fail(s, "numbers of a known shape");
    gopt_tensor *t = gopt_tensor_new(&s->family->arena, f.dtype, f.rank, dim);
    if (!t)
        return gopt_oom(s->e);
    *out = t;
    return scan_elements(s, t);
}

/* ---- attributes ---- */

/* Whether the number at p is written as a float. */
static bool is_float(const char *p)
{
    size_t n = strcspn(p, ",]} ");
    for (size_t i = 0; i < n; i++)
        if (strchr(".enif", p[i]))
            return true;
    return false;
}

static gopt_status scan_number(gopt_scan *s, int64_t *i, double *f)
{
    char *end;
    skip(s);
    if (is_float(s->p)) {
        *f = strtod(s->p, &end);
    } else {
        *i = strtoll(s->p, &end, 10);
        *f = (double)*i;
    }
    if (end == s->p)
        return gopt_scan_fail(s, "number");
    s->p = end;
    return GOPT_OK;
}

/* After "[". One list of each kind is filled; the elements say which one counts. */
static gopt_status scan_list(gopt_scan *s, gopt_attr *a)
{
    gopt_arena *arena = &s->family->arena;
    size_t room = strlen(s->p);
    int64_t *ints = GOPT_NEW(arena, int64_t, room);
    double *floats = GOPT_NEW(arena, double, room);
    const char **strings = GOPT_NEW(arena, const char *, room);
    if (arena->failed)
        return gopt_oom(s->e);
    a->kind = GOPT_ATTR_INTS;
    for (a->n = 0; !gopt_scan_accept(s, "]"); a->n++) {
        if (a->n > 0)
            GOPT_TRY(gopt_scan_expect(s, ","));
        skip(s);
        if (*s->p == '"') {
            a->kind = GOPT_ATTR_STRINGS;
            GOPT_TRY(gopt_scan_name(s, &strings[a->n], NULL));
            continue;
        }
        if (is_float(s->p))
            a->kind = GOPT_ATTR_FLOATS;
        GOPT_TRY(scan_number(s, &ints[a->n], &floats[a->n]));
    }
    a->ints = a->kind == GOPT_ATTR_INTS ? ints : NULL;
    a->floats = a->kind == GOPT_ATTR_FLOATS ? floats : NULL;
    a->strings = a->kind == GOPT_ATTR_STRINGS ? strings : NULL;
    return GOPT_OK;
}

static gopt_status scan_attr(gopt_scan *s, gopt_attr *a)
{
    GOPT_TRY(gopt_scan_name(s, &a->name, NULL));
    GOPT_TRY(gopt_scan_expect(s, "="));
    skip(s);
    if (*s->p == '"') {
        a->kind = GOPT_ATTR_STRING;
        return gopt_scan_name(s, &a->s, NULL);
    }
    if (gopt_scan_accept(s, "[")) {
        gopt_status status = scan_list(s, a);
        for (int64_t i = 0; !status && a->kind == GOPT_ATTR_STRINGS && i < a->n; i++)
            status = a->strings[i] ? GOPT_OK : gopt_scan_fail(s, "strings only");
        return status;
    }
    if (gopt_scan_accept(s, "tensor ")) {
        a->kind = GOPT_ATTR_TENSOR;
        return gopt_scan_tensor(s, &a->tensor);
    }
    double f = 0;
    a->kind = is_float(s->p) ? GOPT_ATTR_FLOAT : GOPT_ATTR_INT;
    GOPT_TRY(scan_number(s, &a->i, &f));
    a->f = a->kind == GOPT_ATTR_FLOAT ? f : 0;
    return GOPT_OK;
}

gopt_status gopt_scan_attrs(gopt_scan *s, gopt_attrs *out)
{
    *out = (gopt_attrs){0};
    if (!gopt_scan_accept(s, "{"))
        return GOPT_OK;
    while (!gopt_scan_accept(s, "}")) {
        gopt_attr one = {0};
        if (out->n > 0)
            GOPT_TRY(gopt_scan_expect(s, ","));
        GOPT_TRY(scan_attr(s, &one));
        *out = gopt_attrs_with(&s->family->arena, *out, one);
        if (!out->at)
            return gopt_oom(s->e);
    }
    return GOPT_OK;
}
