/* stats.c: medians, intervals, tests. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *x, int n)
{
    double *copy = n > 0 ? gopt_malloc((size_t)n * sizeof *copy) : NULL;
    if (copy) {
        memcpy(copy, x, (size_t)n * sizeof *copy);
        qsort(copy, (size_t)n, sizeof *copy, ascending);
    }
    return copy;
}

static double at_quantile(const double *sorted, int n, double p)
{
    double at = p * (n - 1);
    int low = (int)floor(at);
    int high = GOPT_MIN(low + 1, n - 1);
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

double gopt_quantile(const double *x, int n, double p)
{
    double *s = sorted_copy(x, n);
    double q = s ? at_quantile(s, n, p) : NAN;
    gopt_free(s);
    return q;
}

double gopt_median(const double *x, int n)
{
    return gopt_quantile(x, n, 0.5);
}

/* P(Binomial(n, p) <= k). */
static double binomial_cdf(int k, int n, double p)
{
    double sum = 0;
    for (int i = 0; i <= k && i <= n; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) + (n - i) * log1p(-p));
    return GOPT_MIN(sum, 1.0);
}

/* The smallest l with P(Binomial(n, p) <= l) > tail, at most n; one walk over the terms, in logarithms because the
 * first ones underflow. */
static int rank_above(int n, double p, double tail)
{
    double term = n * log1p(-p), odds = log(p) - log1p(-p), sum = exp(term);
    int l = 0;
    for (; l < n && sum <= tail; l++) {
        term += log((double)(n - l) / (l + 1)) + odds;
        sum += exp(term);
    }
    return l;
}

/* The interval between order statistics lo and hi covers the quantile with chance P(lo <= B < hi), B binomial. */
bool gopt_quantile_ranks(int n, double p, double confidence, int *lo, int *hi)
{
    double tail = (1 - confidence) / 2;
    *lo = rank_above(n, p, tail);
    *hi = n + 1 - rank_above(n, 1 - p, tail);
    return *lo >= 1 && *hi <= n;
}

gopt_estimate gopt_median_estimate(const double *x, int n, double effective)
{
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN, .n = n};
    double *s = sorted_copy(x, n);
    if (!s)
        return out;
    out.value = at_quantile(s, n, 0.5);
    int lo, hi, m = (int)GOPT_MIN(GOPT_MAX(effective, 1.0), (double)n);
    if (n >= 9) {
        if (gopt_quantile_ranks(m, 0.5, 0.95, &lo, &hi)) { /* ranks of m samples, stretched to n */
            lo = (int)floor((double)lo * n / m);
            hi = (int)ceil((double)hi * n / m);
        } else {
            lo = 1;
            hi = n;
        }
        out.lo = s[GOPT_MAX(lo, 1) - 1];
        out.hi = s[GOPT_MIN(hi, n) - 1];
    }
    gopt_free(s);
    return out;
}

double gopt_effective_samples(const double *x, int n)
{
    double mean = 0, variance = 0, lag = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    for (int i = 1; i < n; i++)
        lag += (x[i] - mean) * (x[i - 1] - mean);
    double rho = variance > 0 ? lag / variance : 0;
    double effective = n * (1 - rho) / (1 + rho);
    return GOPT_MAX(1.0, GOPT_MIN(effective, (double)n));
}

gopt_latency gopt_latency_of(const double *x, int n)
{
    gopt_latency l = {.mean = NAN, .p90 = NAN, .p95 = NAN, .p99 = NAN, .samples = n};
    l.effective = gopt_effective_samples(x, n);
    l.median = gopt_median_estimate(x, n, l.effective);
    if (n == 0)
        return l;
    l.mean = 0;
    for (int i = 0; i < n; i++)
        l.mean += x[i] / n;
    if (n >= 29)
        l.p90 = gopt_quantile(x, n, 0.90);
    if (n >= 59)
        l.p95 = gopt_quantile(x, n, 0.95);
    if (n >= 299)
        l.p99 = gopt_quantile(x, n, 0.99);
    return l;
}

gopt_estimate gopt_paired_ratio(const double *a, const double *b, int n)
{
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN, .n = n};
    double *d = n > 0 ? gopt_malloc((size_t)n * sizeof *d) : NULL;
    if (!d)
        return out;
    for (int i = 0; i < n; i++)
        d[i] = log(a[i] / b[i]);
    out = gopt_median_estimate(d, n, n);
    gopt_free(d);
    out.value = exp(out.value);
    out.lo = exp(out.lo);
    out.hi = exp(out.hi);
    return out;
}

gopt_estimate gopt_blocked_ratio(const double *a, const double *b, int n)
{
    const double student = 2.776; /* 97.5 %, GOPT_BLOCKS - 1 degrees of freedom */
    gopt_estimate out = gopt_paired_ratio(a, b, n);
    double x[GOPT_BLOCKS], mean = 0, variance = 0;
    if (n < 9 * GOPT_BLOCKS || !isfinite(out.value))
        return out;
    for (int k = 0; k < GOPT_BLOCKS; k++) {
        int from = n * k / GOPT_BLOCKS, to = n * (k + 1) / GOPT_BLOCKS;
        x[k] = log(gopt_paired_ratio(a + from, b + from, to - from).value);
        mean += x[k] / GOPT_BLOCKS;
    }
    for (int k = 0; k < GOPT_BLOCKS; k++)
        variance += (x[k] - mean) * (x[k] - mean) / (GOPT_BLOCKS - 1);
    double half = student * sqrt(variance / GOPT_BLOCKS);
    out.lo = GOPT_MIN(out.lo, out.value * exp(-half));
    out.hi = GOPT_MAX(out.hi, out.value * exp(half));
    return out;
}

double gopt_sign_test(int wins, int n)
{
    return wins <= 0 ? 1.0 : 1.0 - binomial_cdf(wins - 1, n, 0.5);
}

double gopt_two_sided_sign(int wins, int n)
{
    double one = gopt_sign_test(GOPT_MAX(wins, n - wins), n);
    return GOPT_MIN(1.0, 2 * one);
}

double gopt_ratio_p(const gopt_estimate *ratio)
{
    double half = (log(ratio->hi) - log(ratio->lo)) / 2;
    if (!isfinite(half) || !isfinite(ratio->value) || ratio->value <= 0)
        return 1;
    if (half <= 0)
        return ratio->value == 1 ? 1 : 0;
    return erfc(fabs(log(ratio->value)) / half * 1.959964 / sqrt(2.0));
}

double gopt_alpha_spent(int look, int rivals)
{
    const double pi = 3.14159265358979323846;
    return 0.05 * 6 / (pi * pi * look * look) / GOPT_MAX(rivals - 1, 1);
}

void gopt_false_discovery(const double *p, int n, double q, bool *rejected, int *scratch)
{
    for (int i = 0; i < n; i++) { /* insertion sort of indices by p: n is a few hundred */
        int k = i;
        for (; k > 0 && p[scratch[k - 1]] > p[i]; k--)
            scratch[k] = scratch[k - 1];
        scratch[k] = i;
        rejected[i] = false;
    }
    int last = 0;
    for (int k = 1; k <= n; k++)
        if (p[scratch[k - 1]] <= q * k / n)
            last = k;
    for (int k = 0; k < last; k++)
        rejected[scratch[k]] = true;
}

double gopt_verdict_least(double floor)
{
    return GOPT_MAX(0.01, 2 * floor);
}

gopt_verdict gopt_verdict_of(const gopt_estimate *ratio, double floor)
{
    if (!isfinite(ratio->value) || !isfinite(ratio->lo) || !isfinite(ratio->hi))
        return GOPT_VERDICT_UNKNOWN;
    double least = gopt_verdict_least(floor);
    if (ratio->lo > 1 && log(ratio->value) > least)
        return GOPT_VERDICT_BETTER;
    if (ratio->hi < 1 && -log(ratio->value) > least)
        return GOPT_VERDICT_WORSE;
    return GOPT_VERDICT_TIE;
}
