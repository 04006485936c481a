/* cli_values.c: reading the values of options. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cli.h"

/* A decimal number of 0 and up that begins with a digit or a point; its end, NULL when there is none. */
static const char *read_decimal(const char *text, double *v)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return NULL;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return NULL;
    *v = strtod(text, &end);
    return end != text && isfinite(*v) ? end : NULL;
}

static gopt_status read_whole(const char *text, int64_t lo, int64_t hi, int64_t *v, gopt_err *e)
{
    char *end;
    errno = 0;
    *v = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text))
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': a whole number expected", text);
    if (errno || *v < lo || *v > hi)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': out of range, %" PRId64 " to %" PRId64 " allowed", text, lo, hi);
    return GOPT_OK;
}

gopt_status gopt_parse_text(void *field, const char *text, gopt_err *e)
{
    if (!*text)
        return gopt_fail(e, GOPT_EUSAGE, "is empty");
    *(const char **)field = text;
    return GOPT_OK;
}

gopt_status gopt_parse_count(void *field, const char *text, gopt_err *e)
{
    int64_t v;
    GOPT_TRY(read_whole(text, 0, INT_MAX, &v, e));
    *(int *)field = (int)v;
    return GOPT_OK;
}

gopt_status gopt_parse_seed(void *field, const char *text, gopt_err *e)
{
    return read_whole(text, 0, INT64_MAX, field, e);
}

static const double MOST_NUMBER = 1e18; /* times a year in nanoseconds is still finite */

gopt_status gopt_parse_number(void *field, const char *text, gopt_err *e)
{
    const char *end = read_decimal(text, field);
    if (!end || *end)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': a number of 0 and up expected", text);
    return *(double *)field > MOST_NUMBER ? gopt_fail(e, GOPT_EUSAGE, "'%.40s': above 1e18", text) : GOPT_OK;
}

gopt_status gopt_parse_raise(void *field, const char *text, gopt_err *e)
{
    (void)text, (void)e;
    ++*(int *)field;
    return GOPT_OK;
}

typedef struct unit {
    const char *name;
    double size;
} unit;

static const unit *find_unit(const unit *units, const char *text, size_t n)
{
    for (; units->name; units++)
        if (strlen(units->name) == n && !strncasecmp(units->name, text, n))
            return units;
    return NULL;
}

static const double MOST_BYTES = 4503599627370496.0; /* 4 PiB; a double counts them */
static const double LONGEST_S = 366 * 86400.0;       /* far from where nanoseconds overflow 64 bits */

gopt_status gopt_parse_duration(void *field, const char *text, gopt_err *e)
{
    static const unit units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60},
                                 {"min", 60}, {"h", 3600},  {"d", 86400}, {NULL, 0}};
    double sum = 0, v;
    const char *p = text;
    do {
        const char *end = read_decimal(p, &v);
        size_t n = end ? strspn(end, "mushindMUSHIND") : 0;
        const unit *u = end ? n ? find_unit(units, end, n) : p == text && !*end ? units : NULL : NULL;
        if (!u)
            return gopt_fail(e, GOPT_EUSAGE,
                             "'%.40s': a duration expected: numbers with ns, us, ms, s, m, h or d, such as 90s, 1h30m",
                             text);
        sum += v * u->size;
        p = end + n;
    } while (*p);
    if (sum > LONGEST_S)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': at most a year is supported", text);
    *(double *)field = sum;
    return GOPT_OK;
}

gopt_status gopt_parse_bytes(void *field, const char *text, gopt_err *e)
{
    static const unit units[] = {{"", 1},
                                 {"B", 1},
                                 {"K", 1024.0},
                                 {"KiB", 1024.0},
                                 {"M", 1048576.0},
                                 {"MiB", 1048576.0},
                                 {"G", 1073741824.0},
                                 {"GiB", 1073741824.0},
                                 {"T", 1.099511627776e12},
                                 {"TiB", 1.099511627776e12},
                                 {NULL, 0}};
    double v;
    const char *end = read_decimal(text, &v);
    const unit *u = end ? find_unit(units, end, strlen(end)) : NULL;
    if (!u)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': a size expected, such as 512M or 2G", text);
    if (v * u->size > MOST_BYTES)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': more memory than there can be", text);
    *(double *)field = v * u->size;
    return GOPT_OK;
}

gopt_status gopt_parse_some_bytes(void *field, const char *text, gopt_err *e)
{
    double *v = field;
    if (gopt_parse_bytes(v, text, NULL) || !(*v > 0))
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': a size above 0, such as 512M or 2G, expected", text);
    return GOPT_OK;
}

/* Without a limit is 0 in the field; as a limit it would keep everything out, which nobody means. */
static gopt_status read_limit(double *field, const char *text, gopt_option_parse *parse, double least,
                              const char *wanted, gopt_err *e)
{
    *field = 0;
    if (!strcmp(text, "none"))
        return GOPT_OK;
    if (parse(field, text, NULL) || !(*field >= least))
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': %s expected, or none for no limit", text, wanted);
    return GOPT_OK;
}

gopt_status gopt_parse_max_bytes(void *field, const char *text, gopt_err *e)
{
    return read_limit(field, text, gopt_parse_bytes, 1, "a size of a byte to 4 PiB, such as 512M or 2G,", e);
}

gopt_status gopt_parse_max_duration(void *field, const char *text, gopt_err *e)
{
    return read_limit(field, text, gopt_parse_duration, 1e-9, "a duration of 1ns to a year, such as 20ms or 90s,", e);
}

gopt_status gopt_parse_words(void *field, const char *text, gopt_err *e)
{
    gopt_words *w = field;
    if (w->n == GOPT_WORDS_MAX)
        return gopt_fail(e, GOPT_EUSAGE, "given more than %d times", GOPT_WORDS_MAX);
    w->at[w->n++] = text;
    return GOPT_OK;
}

/* The next part up to a comma, at most size - 1 bytes, into buf; where the one after begins, NULL at the end. */
static const char *next_part(const char *text, char *buf, size_t size)
{
    size_t n = strcspn(text, ",");
    snprintf(buf, size, "%.*s", (int)GOPT_MIN(n, size - 1), text);
    return text[n] ? text + n + 1 : NULL;
}

gopt_status gopt_parse_counts(void *field, const char *text, gopt_err *e)
{
    gopt_counts *c = field;
    char part[24];
    *c = (gopt_counts){0};
    for (const char *next = text; next;) {
        int64_t v;
        next = next_part(next, part, sizeof part);
        GOPT_TRY(read_whole(part, 1, GOPT_POOL_MOST, &v, e));
        if (c->n == GOPT_COUNTS_MAX)
            return gopt_fail(e, GOPT_EUSAGE, "more than %d values", GOPT_COUNTS_MAX);
        int at = c->n;
        while (at > 0 && c->at[at - 1] > v)
            at--;
        if (at > 0 && c->at[at - 1] == v)
            continue;
        memmove(&c->at[at + 1], &c->at[at], (size_t)(c->n++ - at) * sizeof *c->at);
        c->at[at] = (int)v;
    }
    return GOPT_OK;
}

static gopt_status add_shape(gopt_shapes *s, const char *part, gopt_err *e)
{
    const char *equals = strrchr(part, '=');
    if (!equals || equals == part || (size_t)(equals - part) >= sizeof s->name[0])
        return gopt_fail(e, GOPT_EUSAGE, "'%.80s': NAME=SIZE expected, such as batch=1,seq=128", part);
    if (s->n == GOPT_SHAPES_MAX)
        return gopt_fail(e, GOPT_EUSAGE, "more than %d dimensions", GOPT_SHAPES_MAX);
    snprintf(s->name[s->n], sizeof s->name[0], "%.*s", (int)(equals - part), part);
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], s->name[s->n]))
            return gopt_fail(e, GOPT_EUSAGE, "%s is given twice", s->name[i]);
    GOPT_TRY(read_whole(equals + 1, 0, INT32_MAX, &s->size[s->n], e));
    s->n++;
    return GOPT_OK;
}

gopt_status gopt_parse_shapes(void *field, const char *text, gopt_err *e)
{
    char part[128];
    for (const char *next = text; next;) {
        next = next_part(next, part, sizeof part);
        GOPT_TRY(add_shape(field, part, e));
    }
    return GOPT_OK;
}
