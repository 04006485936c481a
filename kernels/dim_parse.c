/* dim_parse.c: dimensions as exporters write them into models. Whatever is no expression is a name. */
#include "dim.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DEPTH_MAX 64 /* brackets within brackets */

typedef struct parser {
    gopt_dims *t;
    const char *p;
    int depth;
    bool failed; /* sticky */
} parser;

static gopt_dim sum(parser *s);

static gopt_dim bad(parser *s)
{
    s->failed = true;
    return GOPT_DIM_UNKNOWN;
}

static bool accept(parser *s, char c)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
    if (*s->p != c)
        return false;
    s->p++;
    return true;
}

static bool name_char(const char *p)
{
    unsigned char c = (unsigned char)*p, next = (unsigned char)p[c ? 1 : 0];
    return isalnum(c) || c == '_' || c == '.' ||
           (c == '-' && (isalpha(next) || next == '_')); /* "batch-size" is a name */
}

static gopt_dim number(parser *s)
{
    int64_t k = 0;
    for (; isdigit((unsigned char)*s->p); s->p++)
        if (__builtin_mul_overflow(k, 10, &k) || __builtin_add_overflow(k, *s->p - '0', &k))
            return bad(s);
    return name_char(s->p) && *s->p != '-' ? bad(s) : gopt_dim_of(k);
}

/* After "name(": two operands, or one where only `whole` numbers count anyway. */
static gopt_dim call(parser *s, const char *name, size_t n)
{
    static const struct {
        const char *name;
        gopt_dim (*fn)(gopt_dims *t, gopt_dim a, gopt_dim b);
    } known[] = {{"min", gopt_dim_min}, {"max", gopt_dim_max}, {"mod", gopt_dim_mod}, {"floordiv", gopt_dim_div}};
    gopt_dim a = sum(s);
    if (n == 5 && !strncasecmp(name, "floor", n))
        return accept(s, ')') ? a : bad(s);
    if (!accept(s, ','))
        return bad(s);
    gopt_dim b = sum(s);
    if (!accept(s, ')'))
        return bad(s);
    for (int i = 0; i < GOPT_COUNT(known); i++)
        if (strlen(known[i].name) == n && !strncasecmp(known[i].name, name, n))
            return known[i].fn(s->t, a, b);
    return bad(s);
}

static gopt_dim name(parser *s)
{
    const char *start = s->p;
    char copy[256];
    while (name_char(s->p))
        s->p++;
    size_t n = (size_t)(s->p - start);
    if (accept(s, '('))
        return call(s, start, n);
    if (n == 0 || n >= sizeof copy)
        return bad(s);
    memcpy(copy, start, n);
    copy[n] = '\0';
    return gopt_dim_symbol(s->t, copy);
}

static gopt_dim factor(parser *s)
{
    if (s->failed || s->depth >= DEPTH_MAX)
        return bad(s);
    gopt_dim d;
    s->depth++;
    if (accept(s, '-')) {
        d = gopt_dim_sub(s->t, gopt_dim_of(0), factor(s));
    } else if (accept(s, '(')) {
        d = sum(s);
        if (!accept(s, ')'))
            d = bad(s);
    } else {
        d = isdigit((unsigned char)*s->p)                   ? number(s)
            : isalpha((unsigned char)*s->p) || *s->p == '_' ? name(s)
                                                            : bad(s);
    }
    s->depth--;
    return d;
}

static gopt_dim product(parser *s)
{
    gopt_dim d = factor(s);
    while (!s->failed) {
        if (accept(s, '*')) {
            d = gopt_dim_mul(s->t, d, factor(s));
        } else if (accept(s, '/')) {
            accept(s, '/');
            d = gopt_dim_div(s->t, d, factor(s));
        } else if (accept(s, '%')) {
            d = gopt_dim_mod(s->t, d, factor(s));
        } else {
            break;
        }
    }
    return d;
}

static gopt_dim sum(parser *s)
{
    gopt_dim d = product(s);
    while (!s->failed) {
        if (accept(s, '+'))
            d = gopt_dim_add(s->t, d, product(s));
        else if (accept(s, '-'))
            d = gopt_dim_sub(s->t, d, product(s));
        else
            break;
    }
    return d;
}

gopt_dim gopt_dim_parse(gopt_dims *t, const char *text)
{
    parser s = {.t = t, .p = text};
    if (!*text || !strcmp(text, "?"))
        return GOPT_DIM_UNKNOWN;
    gopt_dim d = sum(&s);
    while (isspace((unsigned char)*s.p))
        s.p++;
    return s.failed || *s.p ? gopt_dim_symbol(t, text) : d;
}
