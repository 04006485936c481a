/* assess.c: figures per trial and the choice. */
#include "assess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    gopt_effects_drift(a->study, &lo, &hi);
    for (int i = 0; i < a->n; i++) {
        gopt_assessed *x = &a->at[i];
        if (x->in_final || x->trial == a->baseline)
            continue;
        x->speedup.lo *= lo;
        x->speedup.hi *= hi;
        x->latency.median.lo /= hi;
        x->latency.median.hi /= lo;
    }
}

static void measure(gopt_assessment *a, const gopt_trial *base)
{
    const gopt_study *s = a->study;
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
        x.run_ns = x.latency.median.value;
        x.compile_ns = (double)t->reply.compile_ns;
        x.peak = (double)t->reply.memory.peak;
        a->had_final = a->had_final || x.in_final;
        a->at[a->n++] = x;
    }
    widen(a);
    const gopt_assessed *first = gopt_assess_find(a, base->id);
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

/* For certain: faster beyond both intervals, no worse otherwise. */
static bool beats(const gopt_assessed *x, const gopt_assessed *y)
{
    return x->latency.median.hi < y->latency.median.lo && x->peak <= y->peak && x->compile_ns <= y->compile_ns;
}

/* Good enough to stand for y: not slower beyond the intervals, and nothing else to speak of is lost. */
static bool covers(const gopt_assessed *x, const gopt_assessed *y)
{
    return x->latency.median.lo <= y->latency.median.hi && x->peak <= 1.01 * y->peak &&
           x->compile_ns <= 1.05 * y->compile_ns;
}

static bool is_beaten(const gopt_assessment *a, const gopt_assessed *x)
{
    for (int i = 0; i < a->n; i++)
        if (beats(&a->at[i], x))
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

/* ---- the choice ---- */

static bool allowed(const gopt_goal *g, const gopt_assessed *x)
{
    return (!(g->max_memory > 0) || x->peak <= g->max_memory) &&
           (!(g->max_compile_ns > 0) || x->compile_ns <= g->max_compile_ns) &&
           (!(g->max_latency_ns > 0) || x->run_ns <= g->max_latency_ns);
}

/* Smaller is better. */
static double score(const gopt_goal *g, const gopt_assessed *x)
{
    switch (g->objective) {
    case GOPT_OBJECTIVE_p99:
        return isfinite(x->latency.p99) ? x->latency.p99 : x->run_ns;
    case GOPT_OBJECTIVE_memory:
        return x->peak;
    case GOPT_OBJECTIVE_compile:
        return x->compile_ns;
    case GOPT_OBJECTIVE_utility:
        return -x->utility;
    case GOPT_OBJECTIVE_wall:
        return x->compile_ns * (1 - g->hit_rate) + g->requests * x->run_ns;
    case GOPT_OBJECTIVE_latency:
    case GOPT_OBJECTIVE_throughput:
    case GOPT_OBJECTIVE_COUNT:
        break;
    }
    return x->run_ns;
}

/* Once there was a final, only those that were in it: the best of many short races is half luck. */
static bool is_eligible(const gopt_assessment *a, const gopt_assessed *x)
{
    if (a->goal.objective == GOPT_OBJECTIVE_p99 && !isfinite(x->latency.p99))
        return false; /* too few samples to know it */
    return allowed(&a->goal, x) && (!a->had_final || x->in_final || x->trial == a->baseline);
}

static int rank(const gopt_assessment *a, int *trial, int max,
                bool (*eligible)(const gopt_assessment *, const gopt_assessed *))
{
    int n = 0;
    double value[16];
    for (int i = 0; i < a->n; i++) {
        if (!eligible(a, &a->at[i]))
            continue;
        double v = score(&a->goal, &a->at[i]);
        int k = GOPT_MIN(n, GOPT_MIN(max, GOPT_COUNT(value)) - 1);
        if (n > k && v >= value[k])
            continue;
        for (; k > 0 && value[k - 1] > v; k--) {
            value[k] = value[k - 1];
            trial[k] = trial[k - 1];
        }
        value[k] = v;
        trial[k] = a->at[i].trial;
        n = GOPT_MIN(n + 1, max);
    }
    return n;
}

static bool is_allowed(const gopt_assessment *a, const gopt_assessed *x)
{
    return allowed(&a->goal, x);
}

int gopt_assess_leaders(const gopt_assessment *a, int *trial, int max)
{
    return rank(a, trial, max, is_allowed);
}

/* Is x better than the default beyond the noise? Times are compared in pairs; other objectives need 1 %. */
static bool proven(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *standard)
{
    const gopt_goal *g = &a->goal;
    if (g->objective == GOPT_OBJECTIVE_p99)
        return x->latency.p99 < standard->latency.p99 * (1 - GOPT_MAX(0.01, isfinite(a->floor) ? 2 * a->floor : 0));
    if (g->objective == GOPT_OBJECTIVE_latency || g->objective == GOPT_OBJECTIVE_throughput) {
        gopt_estimate r = gopt_effects_ratio(a->study, standard->trial, x->trial);
        if (!isfinite(r.lo)) { /* no common rounds: through the baseline, whose uncertainty counts twice */
            r.value = x->speedup.value / standard->speedup.value;
            r.lo = x->speedup.lo / standard->speedup.hi;
            r.hi = x->speedup.hi / standard->speedup.lo;
        }
        return gopt_verdict_of(&r, isfinite(a->floor) ? a->floor : 0) == GOPT_VERDICT_BETTER;
    }
    double mine = score(g, x), other = score(g, standard);
    return mine < other - 0.01 * fabs(other);
}

/* The best of those that beat the default for certain, preferably one of the final; NULL: none does. */
static const gopt_assessed *best_beating(const gopt_assessment *a, const gopt_assessed *standard)
{
    const gopt_assessed *best = NULL;
    bool best_known = false;
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        bool known = is_eligible(a, x);
        if (!beats(x, standard) || is_beaten(a, x) || !allowed(&a->goal, x) || (best && best_known && !known))
            continue;
        if (!best || known > best_known || score(&a->goal, x) < score(&a->goal, best)) {
            best = x;
            best_known = known;
        }
    }
    return best;
}

/* No candidate is proven better: the default stays, unless one is quicker for certain, if by little, and costs nothing
 * else. */
static void keep_default(gopt_assessment *a, const gopt_assessed *standard, const gopt_assessed *best)
{
    const gopt_assessed *free_gain = best_beating(a, standard);
    a->chosen = free_gain ? free_gain->trial : standard->trial;
    if (free_gain)
        a->reason =
            gopt_arena_printf(&a->arena, "a tie with the default within the noise of this machine, but no worse in "
                                         "anything: quicker in the samples, no more memory, no more compiling");
    else
        a->reason = gopt_arena_printf(&a->arena,
                                      "trial %d is not better than the default beyond the noise: a tie keeps the "
                                      "default",
                                      best->trial);
}

static void choose_eligible(gopt_assessment *a)
{
    const gopt_assessed *standard = gopt_assess_find(a, a->standard);
    int leader = -1, n = rank(a, &leader, 1, is_eligible);
    const gopt_assessed *best = n ? gopt_assess_find(a, leader) : NULL;
    const char *objective = gopt_objective_name(a->goal.objective);
    if (!standard) {
        a->chosen = best ? best->trial : -1;
        a->reason = best ? "the default was not timed; the best of what was" : NULL;
    } else if (!best) {
        a->unmet = rank(a, &leader, 1, is_allowed) == 0;
        a->chosen = standard->trial;
        a->reason = a->unmet ? "no candidate keeps the constraints; the default stays"
                             : "p99 needs 299 samples, more than any candidate has: the default stays";
    } else if (best == standard) {
        a->chosen = standard->trial;
        a->reason = gopt_arena_printf(&a->arena, "the default is the best of all candidates by %s", objective);
    } else if (!allowed(&a->goal, standard)) {
        a->chosen = best->trial;
        a->reason = gopt_arena_printf(&a->arena, "best by %s of those that keep the constraints; the default does not",
                                      objective);
    } else if (proven(a, best, standard)) {
        a->chosen = best->trial;
        a->reason = gopt_arena_printf(&a->arena, "best by %s, better than the default beyond the noise", objective);
    } else {
        keep_default(a, standard, best);
    }
}

/* A choice that another trial beats for certain in everything is none, even where that one was not in the final. */
static void choose(gopt_assessment *a)
{
    choose_eligible(a);
    const gopt_assessed *chosen = gopt_assess_find(a, a->chosen);
    const gopt_assessed *better = chosen && is_beaten(a, chosen) ? best_beating(a, chosen) : NULL;
    if (!better)
        return;
    a->chosen = better->trial;
    a->reason = "quicker than all that were in the final, beyond what the final showed races to be off by; no more "
                "memory, no more compiling";
}

/* ---- regimes ---- */

static double utility_at(const gopt_assessment *a, const gopt_assessed *x, double alpha)
{
    return x->speedup.value / (1 + alpha * x->compile_ns * (1 - a->goal.hit_rate) / x->run_ns);
}

static double wall_at(const gopt_assessment *a, const gopt_assessed *x, double requests)
{
    return x->compile_ns * (1 - a->goal.hit_rate) + requests * x->run_ns;
}

/* Where y overtakes x as alpha, or as the number of requests, grows; INFINITY: nowhere after `from`. */
static double alpha_crossing(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *y, double from)
{
    double cx = x->compile_ns * (1 - a->goal.hit_rate) / x->run_ns,
           cy = y->compile_ns * (1 - a->goal.hit_rate) / y->run_ns;
    double slope = x->speedup.value * cy - y->speedup.value * cx, at = (y->speedup.value - x->speedup.value) / slope;
    return slope < 0 && at > from ? at : INFINITY;
}

static double requests_crossing(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *y, double from)
{
    double gain = x->run_ns - y->run_ns, at = (y->compile_ns - x->compile_ns) * (1 - a->goal.hit_rate) / gain;
    return gain > 0 && at > from ? at : INFINITY;
}

typedef double crossing(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *y, double from);

static int walk(gopt_assessment *a, const gopt_assessed *now, crossing *cross, gopt_regime *out)
{
    int n = 0;
    double from = 0;
    while (now && n < a->n) {
        const gopt_assessed *next = NULL;
        double to = INFINITY;
        for (int i = 0; i < a->n; i++) {
            double at = cross(a, now, &a->at[i], from);
            if (at < to) {
                to = at;
                next = &a->at[i];
            }
        }
        out[n++] = (gopt_regime){.from = from, .to = to, .trial = now->trial};
        from = to;
        now = next;
    }
    if (n)
        out[n - 1].to = INFINITY;
    return n;
}

static void make_regimes(gopt_assessment *a)
{
    const gopt_assessed *most = NULL, *least = NULL;
    a->alpha = GOPT_NEW(&a->arena, gopt_regime, a->n);
    a->requests = GOPT_NEW(&a->arena, gopt_regime, a->n);
    if (a->arena.failed)
        return;
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        if (!most || utility_at(a, x, 0) > utility_at(a, most, 0))
            most = x;
        if (!least || wall_at(a, x, 0) < wall_at(a, least, 0))
            least = x;
    }
    a->n_alpha = walk(a, most, alpha_crossing, a->alpha);
    a->n_requests = walk(a, least, requests_crossing, a->requests);
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
        choose(out);
        make_front(out);
        make_regimes(out);
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
