/* stats.h: distribution-free statistics of latencies and of paired ratios. Formulas: design/measurement.md;
 * order-statistic intervals after Conover, Practical Nonparametric Statistics; false discovery rate after Benjamini &
 * Hochberg 1995. */
#ifndef GOPT_STATS_H
#define GOPT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value with its 95 % interval. n is the sample count; lo and hi are NAN when n cannot support them. */
typedef struct gopt_estimate {
    double value, lo, hi;
    int n;
} gopt_estimate;

/* What is known of a latency, in ns. A quantile that the samples cannot support is NAN. */
typedef struct gopt_latency {
    gopt_estimate median; /* its interval uses the effective sample size */
    double mean, p90, p95, p99;
    double effective; /* n (1 - rho1) / (1 + rho1), rho1 the lag-1 autocorrelation, clipped to [1, n] */
    int samples;
} gopt_latency;

double gopt_median(const double *x, int n); /* NAN when n == 0 */
/* The p-quantile by linear interpolation of order statistics. */
double gopt_quantile(const double *x, int n, double p);
/* Ranks (from 1) of the order statistics that bound the p-quantile with the given confidence; false when n is too
 * small. */
bool gopt_quantile_ranks(int n, double p, double confidence, int *lo, int *hi);
/* Median with its distribution-free interval as if there were `effective` independent samples (effective <= n). */
gopt_estimate gopt_median_estimate(const double *x, int n, double effective);
double gopt_effective_samples(const double *x, int n); /* x in the order taken */
/* x in the order taken, ns. */
gopt_latency gopt_latency_of(const double *x, int n);

/* exp of the median of ln(a[i] / b[i]) with its interval: how many times longer a takes than b. */
gopt_estimate gopt_paired_ratio(const double *a, const double *b, int n);
/* The same for rounds in the order taken, with an interval that also covers what differs between `GOPT_BLOCKS`
 * stretches of them, such as processes that were started again, by Student's t over their medians; n >= 9 a stretch,
 * else as above. */
enum { GOPT_BLOCKS = 5 };
gopt_estimate gopt_blocked_ratio(const double *a, const double *b, int n);
/* One-sided sign test: the chance of at least `wins` of `n` under a fair coin. */
double gopt_sign_test(int wins, int n);
/* Two-sided p-value that an estimate of a ratio differs from 1, from its sign counts: wins of n non-ties. */
double gopt_two_sided_sign(int wins, int n);
/* Two-sided p-value of ln(value) = 0 given a 95 % interval on a ratio, by the normal approximation. 1 when unknown. */
double gopt_ratio_p(const gopt_estimate *ratio);
/* Alpha spent on one of K - 1 rivals at look j (from 1): 0.05 * 6 / (pi^2 j^2) / (K - 1). */
double gopt_alpha_spent(int look, int rivals);
/* Benjamini-Hochberg: rejected[i] says whether hypothesis i is rejected at false discovery rate q. scratch: n ints. */
void gopt_false_discovery(const double *p, int n, double q, bool *rejected, int *scratch);

typedef enum gopt_verdict {
    GOPT_VERDICT_UNKNOWN,
    GOPT_VERDICT_TIE,
    GOPT_VERDICT_BETTER,
    GOPT_VERDICT_WORSE
} gopt_verdict;
/* Of a ratio where above 1 is better: better or worse only when the interval excludes 1 and |ln ratio| exceeds
 * max(1 %, 2 floor), gopt_verdict_least. */
double gopt_verdict_least(double floor);
gopt_verdict gopt_verdict_of(const gopt_estimate *ratio, double floor);

/* xoshiro256**: every random order comes from one seed. */
typedef struct gopt_random {
    uint64_t s[4];
} gopt_random;
void gopt_random_seed(gopt_random *r, uint64_t seed);
uint64_t gopt_random_next(gopt_random *r);
int gopt_random_below(gopt_random *r, int n); /* uniform in [0, n) */
double gopt_random_unit(gopt_random *r);      /* uniform in [0, 1) */
void gopt_random_shuffle(gopt_random *r, int *x, int n);

#endif
