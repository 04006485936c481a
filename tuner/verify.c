/* verify.c: comparing results with the tolerance that their element type allows. */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_small_float(gopt_dtype d)
{
    return gopt_dtype_is_float(d) && gopt_dtype_bits(d) <= 16;
}

static gopt_tolerance resolve(gopt_tolerance t, gopt_dtype d, double largest)
{
    double rel = 0, abs = 0;
    if (t.rel >= 0 && t.abs < 0) { /* one number was given: of floats */
        abs = gopt_dtype_is_float(d) ? t.rel * largest : d == GOPT_DTYPE_U8 || d == GOPT_DTYPE_I8;
        t.rel = 0;
    } else if (d == GOPT_DTYPE_F32) {
        rel = 1e-3;
        abs = 1e-4 * largest + 1e-7;
    } else if (d == GOPT_DTYPE_F64) {
        rel = 1e-6;
        abs = 1e-6 * largest + 1e-12;
    } else if (is_small_float(d)) {
        rel = 1e-2;
        abs = 1e-2 * largest + 1e-6;
    } else if (d == GOPT_DTYPE_U8 || d == GOPT_DTYPE_I8) {
        abs = 1;
    }
    return (gopt_tolerance){.rel = t.rel < 0 ? rel : t.rel, .abs = t.abs < 0 ? abs : t.abs, .slack = t.slack};
}

static const char *text_at(const char *const *x, int64_t i)
{
    return x[i] ? x[i] : "";
}

static gopt_status compare_strings(const gopt_tensor *got, const gopt_tensor *want, int64_t n, gopt_err *e)
{
    const char *const *a = got->data, *const *b = want->data;
    for (int64_t i = 0; i < n; i++)
        if (strcmp(text_at(a, i), text_at(b, i)) != 0)
            return gopt_fail(e, GOPT_EDIFF, "element %lld: '%.60s', '%.60s' expected", (long long)i, text_at(a, i),
                             text_at(b, i));
    return GOPT_OK;
}

static bool within(double got, double want, const gopt_tolerance *t)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want))
        return got == want;
    return fabs(got - want) <= t->abs + t->slack.abs + t->rel * fabs(want);
}

enum { CHUNK = 1024 };

static double largest_of(const gopt_tensor *t, int64_t n)
{
    double x[CHUNK], most = 0;
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = GOPT_MIN(n - i, (int64_t)CHUNK);
        gopt_dtype_load(t->dtype, t->data, i, m, x);
        for (int64_t k = 0; k < m; k++)
            most = isfinite(x[k]) ? GOPT_MAX(most, fabs(x[k])) : most;
    }
    return most;
}

static gopt_status compare_numbers(const gopt_tensor *got, const gopt_tensor *want, int64_t n, gopt_tolerance tolerance,
                                   gopt_difference *d, gopt_err *e)
{
    double a[CHUNK], b[CHUNK], worst = 0, largest = largest_of(want, n);
    gopt_tolerance t = resolve(tolerance, want->dtype, largest);
    int64_t strays = 0;
    gopt_status s = GOPT_OK;
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = GOPT_MIN(n - i, (int64_t)CHUNK);
        gopt_dtype_load(got->dtype, got->data, i, m, a);
        gopt_dtype_load(want->dtype, want->data, i, m, b);
        for (int64_t k = 0; k < m; k++) {
            if (isfinite(a[k]) && isfinite(b[k]))
                worst = GOPT_MAX(worst, fabs(a[k] - b[k]));
            if (!s && !within(a[k], b[k], &t) && ++strays > t.slack.strays)
                s = gopt_fail(e, GOPT_EDIFF, "element %lld: %.9g, %.9g expected (tolerance %.3g)", (long long)(i + k),
                              a[k], b[k], t.abs + t.slack.abs + t.rel * fabs(b[k]));
        }
    }
    if (d) {
        d->max_abs = GOPT_MAX(d->max_abs, worst);
        d->max_rel = GOPT_MAX(d->max_rel, largest > 0 ? worst / largest : 0);
    }
    return s;
}

/* What a double cannot tell apart. */
static gopt_status compare_wide(const gopt_tensor *got, const gopt_tensor *want, int64_t n, int64_t strays, gopt_err *e)
{
    const int64_t *a = got->data, *b = want->data;
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i] && strays-- <= 0)
            return gopt_fail(e, GOPT_EDIFF, "element %lld: %lld, %lld expected", (long long)i, (long long)a[i],
                             (long long)b[i]);
    return GOPT_OK;
}

static bool is_exact_and_wide(gopt_dtype d, gopt_tolerance t)
{
    return gopt_dtype_is_int(d) && gopt_dtype_bits(d) == 64 && (t.abs < 0 || (t.rel <= 0 && t.abs <= 0));
}

/* Complex numbers are compared by their parts. */
static gopt_tensor parts_of(const gopt_tensor *t, int *parts)
{
    gopt_tensor p = *t;
    *parts = t->dtype == GOPT_DTYPE_C64 || t->dtype == GOPT_DTYPE_C128 ? 2 : 1;
    if (*parts == 2)
        p.dtype = t->dtype == GOPT_DTYPE_C64 ? GOPT_DTYPE_F32 : GOPT_DTYPE_F64;
    return p;
}

gopt_status gopt_verify_tensor(const gopt_tensor *got, const gopt_tensor *want, gopt_tolerance tolerance,
                               gopt_difference *d, gopt_err *e)
{
    if (got->dtype != want->dtype || !gopt_dims_equal(got, want)) {
        char a[160], b[160];
        return gopt_fail(e, GOPT_EDIFF, "%s, %s expected", gopt_tensor_describe(a, sizeof a, got),
                         gopt_tensor_describe(b, sizeof b, want));
    }
    int64_t n = gopt_tensor_count(want);
    if (want->dtype == GOPT_DTYPE_STRING)
        return compare_strings(got, want, n, e);
    int parts;
    gopt_tensor a = parts_of(got, &parts), b = parts_of(want, &parts);
    GOPT_TRY(compare_numbers(&a, &b, n * parts, tolerance, d, e));
    return is_exact_and_wide(b.dtype, tolerance) ? compare_wide(&a, &b, n, tolerance.slack.strays, e) : GOPT_OK;
}

static const double SLACK_FACTOR = 8, STRAY_SHARE = 0.01;
enum { STRAY_FACTOR = 4 };

/* Integers move by whole steps: none is a measure of rounding. */
gopt_slack gopt_verify_slack(const gopt_tensor *noisy, const gopt_tensor *want)
{
    double x[CHUNK], y[CHUNK];
    gopt_slack slack = {0};
    int parts;
    gopt_tensor a = parts_of(noisy, &parts), b = parts_of(want, &parts);
    if (noisy->dtype != want->dtype || !gopt_dims_equal(noisy, want) || want->dtype == GOPT_DTYPE_STRING)
        return slack;
    int64_t n = gopt_tensor_count(want) * parts;
    double most = gopt_dtype_is_float(b.dtype)                           ? STRAY_SHARE * largest_of(&b, n)
                  : b.dtype == GOPT_DTYPE_U8 || b.dtype == GOPT_DTYPE_I8 ? 1
                                                                         : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i % CHUNK;
        if (k == 0) {
            gopt_dtype_load(a.dtype, a.data, i, GOPT_MIN(n - i, (int64_t)CHUNK), x);
            gopt_dtype_load(b.dtype, b.data, i, GOPT_MIN(n - i, (int64_t)CHUNK), y);
        }
        gopt_tolerance limit = {.abs = most};
        if (!within(x[k], y[k], &limit))
            slack.strays += STRAY_FACTOR;
        else if (gopt_dtype_is_float(b.dtype) && isfinite(x[k]) && isfinite(y[k]))
            slack.abs = GOPT_MAX(slack.abs, SLACK_FACTOR * fabs(x[k] - y[k]));
    }
    return slack;
}

gopt_status gopt_tolerance_parse(gopt_tolerance *out, const char *text, gopt_err *e)
{
    char *end;
    *out = GOPT_TOLERANCE_DEFAULT;
    out->rel = strtod(text, &end);
    bool sound = end != text && out->rel >= 0 && isfinite(out->rel);
    if (sound && *end == ',') {
        const char *second = end + 1;
        out->abs = strtod(second, &end);
        sound = end != second && out->abs >= 0 && isfinite(out->abs);
    }
    if (!sound || *end)
        return gopt_fail(e, GOPT_EUSAGE, "'%.40s': REL[,ABS] expected, such as 1e-3 or 1e-3,1e-5", text);
    return GOPT_OK;
}
