/* assess.c: figures per trial and the front. */
#include "assess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"

static const double FALSE_DISCOVERY_RATE = 0.05;

/* ---- figures ---- */

static int samples_of(const gopt_study *s, int trial, gopt_sample_stage least, double *out)
{
    int n = 0;
    for (int i = 0; i < s->n_samples; i++)
        if (s->samples[i].trial == trial && s->samples[i].stage >= least)
            out[n++] = s->samples[i].ns;
    return n;
}

enum { FINAL_SAMPLES_LEAST = 9 };

/* From the samples of the final, when there are enough and not `all` are wanted. */
static gopt_latency raw_latency(const gopt_study *s, int trial, bool all, bool *final)
{
    double *x = gopt_malloc(((size_t)s->n_samples + 1) * sizeof *x);
    *final = false;
    gopt_latency none = {.mean = NAN, .p90 = NAN, .p95 = NAN, .p99 = NAN};
    none.median = (gopt_estimate){.value = NAN, .lo = NAN, .hi = NAN};
    if (!x)
        return none;
    int n = all ? 0 : samples_of(s, trial, GOPT_SAMPLE_FINAL, x);
    *final = n >= FINAL_SAMPLES_LEAST;
    if (!*final)
        n = samples_of(s, trial, GOPT_SAMPLE_RACE, x);
    gopt_latency l = gopt_latency_of(x, n);
    if (gopt_effects_repeats(s, trial) > 1) /* means of several inferences have no tail */
        l.p90 = l.p95 = l.p99 = NAN;
    gopt_free(x);
    return l;
}

static void scale(gopt_latency *l, double factor)
{
    double *const figures[] = {&l->median.value, &l->median.lo, &l->median.hi, &l->mean, &l->p90, &l->p95, &l->p99};
    for (int i = 0; i < GOPT_COUNT(figures); i++)
        *figures[i] *= factor;
}

static void derive(gopt_assessment *a, gopt_assessed *x, const gopt_assessed *base)
{
    double kept = 1 - a->goal.hit_rate, gain = base->run_ns - x->run_ns;
    x->throughput = 1e9 / x->run_ns;
    x->saving = base->peak > 0 ? (base->peak - x->peak) / base->peak : NAN;
    x->break_even = gain > 0 && x->trial != base->trial ? x->compile_ns * kept / gain : NAN;
    x->utility = x->speedup.value / (1 + a->goal.alpha * x->compile_ns * kept / x->run_ns);
}

static bool is_timed(const gopt_trial *t, const gopt_estimate *speedup)
{
    return t->reply.status == GOPT_TRIAL_ok && isfinite(speedup->value) && isfinite(speedup->lo) &&
           isfinite(speedup->hi) && speedup->value > 0;
}

/* Intervals from races alone say nothing of what a final would show: they are widened by what it showed of others. */
static void widen(gopt_assessment *a)
{
    double lo, hi;
    if (!a->had_final)
        return;
    gopt_effects_drift(a->study, &lo, &hi);
    for (int i = 0; i < a->n; i++) {
        gopt_assessed *x = &a->at[i];
        if (x->in_final)
            continue;
        x->speedup.lo *= lo;
        x->speedup.hi *= hi;
        x->latency.median.lo /= hi;
        x->latency.median.hi /= lo;
        x->cautious_ns = GOPT_MAX(x->run_ns, x->run_ns * x->speedup.value / x->speedup.lo);
    }
}

static void measure(gopt_assessment *a, const gopt_trial *base)
{
    const gopt_study *s = a->study;
    gopt_assessed *first = NULL;
    bool final;
    gopt_latency base_latency = raw_latency(s, base->id, true, &final);
    for (int i = 0; i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        gopt_assessed x = {.trial = i, .speedup = gopt_effects_speedup(s, i)};
        if (!is_timed(t, &x.speedup) || !isfinite(base_latency.median.lo))
            continue;
        x.latency = i == base->id ? base_latency : raw_latency(s, i, false, &x.in_final);
        if (!isfinite(x.latency.median.lo))
            continue;
        scale(&x.latency, base_latency.median.value / x.speedup.value / x.latency.median.value);
        x.run_ns = x.cautious_ns = x.latency.median.value;
        x.compile_ns = (double)t->reply.compile_ns;
        x.peak = (double)t->reply.memory.peak;
        a->had_final = a->had_final || x.in_final;
        a->at[a->n] = x;
        first = i == base->id ? &a->at[a->n] : first;
        a->n++;
    }
    if (first)
        first->in_final = a->had_final; /* beside every other one */
    widen(a);
    for (int i = 0; first && i < a->n; i++)
        derive(a, &a->at[i], first);
}

static void judge(gopt_assessment *a)
{
    double *p = GOPT_NEW(&a->arena, double, a->n);
    bool *rejected = GOPT_NEW(&a->arena, bool, a->n);
    int *scratch = GOPT_NEW(&a->arena, int, a->n);
    if (a->arena.failed)
        return;
    for (int i = 0; i < a->n; i++)
        p[i] = gopt_ratio_p(&a->at[i].speedup);
    gopt_false_discovery(p, a->n, FALSE_DISCOVERY_RATE, rejected, scratch);
    for (int i = 0; i < a->n; i++)
        a->at[i].verdict =
            rejected[i] ? gopt_verdict_of(&a->at[i].speedup, isfinite(a->floor) ? a->floor : 0) : GOPT_VERDICT_TIE;
}

/* ---- the front ---- */

/* Good enough to stand for y: not slower beyond the intervals, and nothing else to speak of is lost. */
static bool covers(const gopt_assessed *x, const gopt_assessed *y)
{
    return x->latency.median.lo <= y->latency.median.hi && x->peak <= 1.01 * y->peak &&
           x->compile_ns <= 1.05 * y->compile_ns;
}

static bool is_beaten(const gopt_assessment *a, const gopt_assessed *x)
{
    for (int i = 0; i < a->n; i++)
        if (gopt_assessed_beats(&a->at[i], x))
            return true;
    return false;
}

static bool is_covered(const gopt_assessment *a, const gopt_assessed *x)
{
    for (int i = 0; i < a->n; i++)
        if (a->at[i].on_front && &a->at[i] != x && covers(&a->at[i], x))
            return true;
    return false;
}

static const gopt_assessment *sorting;

static int faster_first(const void *x, const void *y)
{
    double a = sorting->at[*(const int *)x].run_ns, b = sorting->at[*(const int *)y].run_ns;
    return (a > b) - (a < b);
}

/* The chosen first, then the fastest first; what a member stands for already is left out. */
static void make_front(gopt_assessment *a)
{
    int *order = GOPT_NEW(&a->arena, int, a->n);
    if (!order)
        return;
    for (int i = 0; i < a->n; i++) {
        order[i] = i;
        a->at[i].on_front = a->at[i].trial == a->chosen;
    }
    sorting = a;
    qsort(order, (size_t)a->n, sizeof *order, faster_first);
    for (int k = 0; k < a->n; k++) {
        gopt_assessed *x = &a->at[order[k]];
        x->on_front = x->on_front || (!is_beaten(a, x) && !is_covered(a, x));
    }
}

gopt_status gopt_assess(gopt_assessment *out, const gopt_study *s, const gopt_goal *goal, gopt_err *e)
{
    *out = (gopt_assessment){.study = s, .goal = *goal, .floor = gopt_effects_noise_floor(s)};
    const gopt_trial *base = gopt_effects_baseline(s);
    const gopt_trial *standard = gopt_effects_stand_in(s, gopt_effects_default(s));
    out->baseline = base ? base->id : -1;
    out->standard = standard ? standard->id : -1;
    out->chosen = -1;
    out->at = GOPT_NEW(&out->arena, gopt_assessed, s->n_trials);
    if (!out->at)
        return gopt_oom(e);
    if (base) {
        measure(out, base);
        judge(out);
        gopt_assess_choose(out);
        make_front(out);
        gopt_assess_regimes(out);
    }
    if (out->arena.failed) {
        gopt_assess_fini(out);
        return gopt_oom(e);
    }
    return GOPT_OK;
}

void gopt_assess_fini(gopt_assessment *a)
{
    gopt_arena_fini(&a->arena);
    *a = (gopt_assessment){.baseline = -1, .standard = -1, .chosen = -1};
}

const gopt_assessed *gopt_assess_find(const gopt_assessment *a, int trial)
{
    for (int i = 0; i < a->n; i++)
        if (a->at[i].trial == trial)
            return &a->at[i];
    return NULL;
}
