/* Strings that grow, durations and sizes for people, and the nearest word. */
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

/* Room for n more bytes and the terminator. */
static bool reserve(gopt_text *t, size_t n)
{
    enum { FIRST_CAPACITY = 64 };
    size_t need;
    if (t->failed || __builtin_add_overflow(t->n + 1, n, &need) || need > SIZE_MAX / 2) {
        t->failed = true;
        return false;
    }
    if (need <= t->cap)
        return true;
    size_t cap = GOPT_MAX(need, GOPT_MAX(2 * t->cap, (size_t)FIRST_CAPACITY));
    char *s = gopt_realloc(t->s, cap);
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->cap = cap;
    return true;
}

void gopt_text_putn(gopt_text *t, const char *s, size_t n)
{
    if (!reserve(t, n))
        return;
    if (n)
        memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void gopt_text_put(gopt_text *t, const char *s)
{
    gopt_text_putn(t, s, strlen(s));
}

void gopt_text_put_word(gopt_text *t, const char *s)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
    if (*s && !s[strspn(s, harmless)]) {
        gopt_text_put(t, s);
        return;
    }
    gopt_text_put(t, "'");
    for (; *s; s++)
        if (*s == '\'')
            gopt_text_put(t, "'\"'\"'");
        else
            gopt_text_putn(t, s, 1);
    gopt_text_put(t, "'");
}

void gopt_text_addv(gopt_text *t, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n < 0)
        t->failed = true;
    else if (reserve(t, (size_t)n)) {
        vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

void gopt_text_add(gopt_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    gopt_text_addv(t, fmt, args);
    va_end(args);
}

void gopt_text_fini(gopt_text *t)
{
    gopt_free(t->s);
    *t = (gopt_text){0};
}

const char *gopt_text_str(const gopt_text *t)
{
    return t->s ? t->s : "";
}

typedef struct unit {
    const char *name;
    double size;
    double below; /* in this unit; from there on the next one is used. Half a digit early: 999.5 would print as 1000 */
} unit;

/* Three significant digits, none after the point in the first unit. */
static char *with_unit(char buf[32], const unit *u, double value)
{
    double magnitude = fabs(value);
    int i = 0;
    if (!isfinite(value)) {
        snprintf(buf, 32, "%s", isnan(value) ? "n/a" : value > 0 ? "inf" : "-inf");
        return buf;
    }
    while (u[i].below > 0 && magnitude / u[i].size >= u[i].below)
        i++;
    magnitude /= u[i].size;
    int digits = i == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
    snprintf(buf, 32, magnitude < 1e12 ? "%.*f %s" : "%.*g %s", digits, value / u[i].size, u[i].name);
    return buf;
}

char *gopt_text_ns(char buf[32], double ns)
{
    static const unit units[] = {{"ns", 1, 999.5},  {"us", 1e3, 999.5},   {"ms", 1e6, 999.5},
                                 {"s", 1e9, 119.5}, {"min", 60e9, 119.5}, {"h", 3600e9, 0}};
    return with_unit(buf, units, ns);
}

char *gopt_text_bytes(char buf[32], double bytes)
{
    static const unit units[] = {{"B", 1, 1023.5},
                                 {"KiB", 1024.0, 1023.5},
                                 {"MiB", 1048576.0, 1023.5},
                                 {"GiB", 1073741824.0, 1023.5},
                                 {"TiB", 1099511627776.0, 0}};
    return with_unit(buf, units, bytes);
}

enum { WORD_MAX = 63 };

/* Edit distance without regard to case; a swap of neighbours is one edit. At least INT_MAX / 2 for very long words. */
static int distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1];
    int na = (int)strnlen(a, WORD_MAX + 1), nb = (int)strnlen(b, WORD_MAX + 1);
    if (na > WORD_MAX || nb > WORD_MAX)
        return INT32_MAX / 2;
    for (int j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = GOPT_MIN(above[j - 1] + (x != y), GOPT_MIN(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
                row[j] = GOPT_MIN(row[j], twice[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

const char *gopt_text_nearest(const char *word, const char *const *candidates, int n)
{
    const char *best = NULL;
    int allowed = GOPT_MAX(1, (int)strnlen(word, WORD_MAX) / 3);
    for (int i = 0; i < n; i++) {
        int d = distance(word, candidates[i]);
        if (d <= allowed) {
            best = candidates[i];
            allowed = d - 1; /* only a nearer one replaces it */
        }
    }
    return best;
}
