/* choose.c: the choice. The best by the objective of those that keep the constraints; the default stays unless that one
 * is better beyond the noise. What was not in the final counts with the low end of its speedup's interval: the best of
 * many short races is half luck. */
#include "choose.h"

#include <math.h>

#include "base/text.h"

/* ---- scores: smaller is better ---- */

static bool keeps(const gopt_goal *g, const gopt_assessed *x)
{
    return (!(g->max_memory > 0) || x->peak <= g->max_memory) &&
           (!(g->max_compile_ns > 0) || x->compile_ns <= g->max_compile_ns) &&
           (!(g->max_latency_ns > 0) || x->run_ns <= g->max_latency_ns);
}

static double wall(const gopt_goal *g, double compile_ns, double run_ns, double requests)
{
    return compile_ns * (1 - g->hit_rate) + requests * run_ns;
}

/* S / (1 + alpha T_compile / T_run) with S = T_base / T_run, upside down and without T_base. */
static double inverse_utility(const gopt_goal *g, double compile_ns, double run_ns, double alpha)
{
    return run_ns + alpha * compile_ns * (1 - g->hit_rate);
}

/* NAN: not known. */
static double score(const gopt_goal *g, const gopt_assessed *x, double run_ns)
{
    switch (g->objective) {
    case GOPT_OBJECTIVE_p99:
        return x->latency.p99;
    case GOPT_OBJECTIVE_memory:
        return x->peak;
    case GOPT_OBJECTIVE_compile:
        return x->compile_ns;
    case GOPT_OBJECTIVE_utility:
        return inverse_utility(g, x->compile_ns, run_ns, g->alpha);
    case GOPT_OBJECTIVE_wall:
        return wall(g, x->compile_ns, run_ns, g->requests);
    case GOPT_OBJECTIVE_latency:
    case GOPT_OBJECTIVE_throughput:
    case GOPT_OBJECTIVE_COUNT:
        break;
    }
    return run_ns;
}

/* Known without a race: the time of a run decides only among equals. */
static bool is_counted(const gopt_assessment *a)
{
    return a->goal.objective == GOPT_OBJECTIVE_memory || a->goal.objective == GOPT_OBJECTIVE_compile;
}

/* How much less a score must be to be less: compiling is timed once, memory is counted. */
static double margin(const gopt_assessment *a)
{
    switch (a->goal.objective) {
    case GOPT_OBJECTIVE_compile:
        return 0.05;
    case GOPT_OBJECTIVE_p99: /* of one sample in a hundred */
        return GOPT_MAX(0.01, isfinite(a->floor) ? 2 * a->floor : 0);
    default:
        return 0.01;
    }
}

int gopt_assess_leaders(const gopt_assessment *a, int *trial, int max)
{
    int n = 0;
    double value[16];
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        double v = score(&a->goal, x, x->run_ns);
        if (!keeps(&a->goal, x))
            continue;
        v = isnan(v) ? x->run_ns : v; /* p99 in short races: the final will tell */
        int k = GOPT_MIN(n, GOPT_MIN(max, GOPT_COUNT(value)) - 1);
        if (n > k && v >= value[k])
            continue;
        for (; k > 0 && value[k - 1] > v; k--) {
            value[k] = value[k - 1];
            trial[k] = trial[k - 1];
        }
        value[k] = v;
        trial[k] = x->trial;
        n = GOPT_MIN(n + 1, max);
    }
    return n;
}

/* NULL: none keeps the constraints and is known. */
static const gopt_assessed *least_of(const gopt_assessment *a)
{
    const gopt_assessed *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < a->n; i++) {
        double mine = keeps(&a->goal, &a->at[i]) ? score(&a->goal, &a->at[i], a->at[i].cautious_ns) : NAN;
        if (mine < least) {
            least = mine;
            best = &a->at[i];
        }
    }
    return best;
}

/* The best; of those that are as good within the margin of what is counted, the fastest. NULL: none keeps the
 * constraints and is known. */
static const gopt_assessed *best_of(const gopt_assessment *a)
{
    const gopt_assessed *best = NULL, *first = least_of(a);
    double least = first ? score(&a->goal, first, first->cautious_ns) : NAN;
    double most = is_counted(a) ? least * (1 + margin(a)) : least;
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        if (keeps(&a->goal, x) && score(&a->goal, x, x->cautious_ns) <= most &&
            (!best || x->cautious_ns < best->cautious_ns))
            best = x;
    }
    return best;
}

/* ---- against the default ---- */

/* How many times as fast as y x is. Pairs are compared where both were timed in the same rounds of the final, or there
 * was none; else through the baseline, whose uncertainty counts twice. */
static gopt_estimate compare(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *y)
{
    gopt_estimate r = gopt_effects_ratio(a->study, y->trial, x->trial);
    bool paired = !a->had_final || (x->in_final && y->in_final);
    if (!paired || !isfinite(r.lo)) {
        r.value = x->speedup.value / y->speedup.value;
        r.lo = x->speedup.lo / y->speedup.hi;
        r.hi = x->speedup.hi / y->speedup.lo;
    }
    return r;
}

/* What a decision may take it for: 1 where they tie. */
static double times_as_fast(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *y)
{
    gopt_estimate r = compare(a, x, y);
    gopt_verdict v = gopt_verdict_of(&r, isfinite(a->floor) ? a->floor : 0);
    return v == GOPT_VERDICT_BETTER || v == GOPT_VERDICT_WORSE ? r.value : 1;
}

/* Better by the objective beyond the noise. */
static bool is_proven(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *standard)
{
    double fast = times_as_fast(a, x, standard);
    if (a->goal.objective == GOPT_OBJECTIVE_latency || a->goal.objective == GOPT_OBJECTIVE_throughput)
        return fast > 1;
    double mine = score(&a->goal, x, standard->cautious_ns / fast);
    return mine < score(&a->goal, standard, standard->cautious_ns) * (1 - margin(a));
}

bool gopt_assessed_beats(const gopt_assessed *x, const gopt_assessed *y)
{
    return x->latency.median.hi < y->latency.median.lo && x->peak <= y->peak && x->compile_ns <= y->compile_ns;
}

/* Quicker by an interval above 1, which the noise of this machine may be wider than, and no worse otherwise. */
static bool is_free(const gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *standard)
{
    return x != standard && keeps(&a->goal, x) && x->peak <= standard->peak && x->compile_ns <= standard->compile_ns &&
           compare(a, x, standard).lo > 1;
}

/* The best of what is better than the default at no cost. */
static const gopt_assessed *free_gain(const gopt_assessment *a, const gopt_assessed *standard)
{
    const gopt_assessed *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        double mine = is_counted(a) ? x->cautious_ns : score(&a->goal, x, x->cautious_ns);
        if (is_free(a, x, standard) && mine < least) {
            least = mine;
            best = x;
        }
    }
    return best;
}

/* ---- why ---- */

static const char *amount(const gopt_assessment *a, const gopt_assessed *x, char buf[static 32])
{
    double v = score(&a->goal, x, x->run_ns);
    return a->goal.objective == GOPT_OBJECTIVE_memory ? gopt_text_bytes(buf, v) : gopt_text_ns(buf, v);
}

/* "least peak memory, 12 MiB"; who has that, where x only comes near. */
static const char *say_least(gopt_assessment *a, const gopt_assessed *x)
{
    char mine[32], its[32];
    const gopt_assessed *least = least_of(a);
    const char *what = a->goal.objective == GOPT_OBJECTIVE_memory ? "least peak memory" : "shortest time to compile";
    if (least == x)
        return gopt_arena_printf(&a->arena, "%s, %s", what, amount(a, x, mine));
    return gopt_arena_printf(&a->arena, "fastest within %g %% of the %s: it has %s, trial %d has %s", 100 * margin(a),
                             what, amount(a, x, mine), least->trial, amount(a, least, its));
}

static const char *say_best(gopt_assessment *a, const gopt_assessed *x)
{
    if (is_counted(a))
        return say_least(a, x);
    return gopt_arena_printf(&a->arena, "best by %s", gopt_objective_name(a->goal.objective));
}

static const char *say_better(gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *standard)
{
    char its[32];
    const char *best = say_best(a, x);
    if (is_counted(a))
        return gopt_arena_printf(&a->arena, "%s; the default has %s", best, amount(a, standard, its));
    return gopt_arena_printf(&a->arena, "%s, better than the default beyond the noise", best);
}

static const char *say_tie(gopt_assessment *a, const gopt_assessed *best, const gopt_assessed *standard)
{
    char mine[32], its[32];
    gopt_estimate r = compare(a, best, standard);
    if (!is_counted(a))
        return gopt_arena_printf(
            &a->arena,
            "trial %d runs %.3f [%.3f, %.3f] times as fast as the default, not better by %s beyond "
            "the noise: a tie keeps the default",
            best->trial, r.value, r.lo, r.hi, gopt_objective_name(a->goal.objective));
    return gopt_arena_printf(&a->arena,
                             "trial %d has %s, the default %s: less than %g %% apart is a tie, and that keeps the "
                             "default",
                             best->trial, amount(a, best, mine), amount(a, standard, its), 100 * margin(a));
}

static const char *say_free(gopt_assessment *a, const gopt_assessed *x, const gopt_assessed *standard)
{
    gopt_estimate r = compare(a, x, standard);
    return gopt_arena_printf(&a->arena,
                             "within the noise of this machine a tie with the default, but %.3f [%.3f, %.3f] times as "
                             "fast with no more memory and no more compiling",
                             r.value, r.lo, r.hi);
}

static const char *say_unbeaten(gopt_assessment *a, const gopt_assessed *standard)
{
    if (is_counted(a))
        return gopt_arena_printf(&a->arena, "no candidate is better than the default: %s", say_least(a, standard));
    return gopt_arena_printf(&a->arena, "no candidate is known to be better than the default by %s",
                             gopt_objective_name(a->goal.objective));
}

/* A trial with a better median, which counts for less as it comes of short races; NULL: none. */
static const gopt_assessed *promising(const gopt_assessment *a, const gopt_assessed *chosen)
{
    const gopt_assessed *best = NULL;
    double most =
        score(&a->goal, chosen, chosen->cautious_ns) * (1 - GOPT_MAX(0.03, isfinite(a->floor) ? 2 * a->floor : 0));
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        double mine = score(&a->goal, x, x->run_ns);
        if (x != chosen && keeps(&a->goal, x) && x->cautious_ns > x->run_ns && mine < most) {
            best = x;
            most = mine;
        }
    }
    return best;
}

/* Readers of the tables see medians, and should know what was decided by. */
static void add_races(gopt_assessment *a)
{
    const gopt_assessed *chosen = gopt_assess_find(a, a->chosen);
    if (a->unmet || !chosen || !a->reason || is_counted(a))
        return;
    const gopt_assessed *other = promising(a, chosen);
    if (chosen->cautious_ns > chosen->run_ns)
        a->reason = gopt_arena_printf(&a->arena,
                                      "%s; it was not in the final, so the low end of its speedup counts, as of all "
                                      "that were not",
                                      a->reason);
    if (other)
        a->reason = gopt_arena_printf(&a->arena,
                                      "%s; trial %d has the better median, %.3fx the baseline, but of short races: the "
                                      "low end of its speedup, %.3f, counts",
                                      a->reason, other->trial, other->speedup.value, other->speedup.lo);
}

/* ---- the choice ---- */

static void keep_default(gopt_assessment *a, const gopt_assessed *standard, const gopt_assessed *best)
{
    const gopt_assessed *gain = free_gain(a, standard);
    a->chosen = gain ? gain->trial : standard->trial;
    a->reason = gain ? say_free(a, gain, standard) : say_tie(a, best, standard);
}

static void choose_known(gopt_assessment *a, const gopt_assessed *standard)
{
    const gopt_assessed *best = best_of(a);
    a->chosen = best ? best->trial : standard ? standard->trial : -1;
    a->unmet = !best;
    if (!best)
        a->reason = standard ? "no candidate keeps the constraints; the default stays" : NULL;
    else if (!standard)
        a->reason = "the default was not timed; the best of what was";
    else if (!keeps(&a->goal, standard))
        a->reason = gopt_arena_printf(&a->arena, "%s; the default does not keep the constraints", say_best(a, best));
    else if (best == standard)
        a->reason = say_unbeaten(a, standard);
    else if (is_proven(a, best, standard))
        a->reason = say_better(a, best, standard);
    else
        keep_default(a, standard, best);
}

static bool any_p99(const gopt_assessment *a)
{
    for (int i = 0; i < a->n; i++)
        if (keeps(&a->goal, &a->at[i]) && isfinite(a->at[i].latency.p99))
            return true;
    return false;
}

void gopt_assess_choose(gopt_assessment *a)
{
    const gopt_assessed *standard = gopt_assess_find(a, a->standard);
    bool by_median = a->goal.objective == GOPT_OBJECTIVE_p99 &&
                     (!any_p99(a) || (standard && keeps(&a->goal, standard) && !isfinite(standard->latency.p99)));
    if (by_median)
        a->goal.objective = GOPT_OBJECTIVE_latency;
    choose_known(a, standard);
    add_races(a);
    if (!by_median)
        return;
    a->goal.objective = GOPT_OBJECTIVE_p99;
    if (!a->unmet && a->reason)
        a->reason = gopt_arena_printf(&a->arena, "by median latency, as p99 needs 299 samples and there are fewer: %s",
                                      a->reason);
}

/* ---- regimes ---- */

typedef double weighted(const gopt_goal *g, double compile_ns, double run_ns, double weight);

/* The weight, `from` or above, from which on y costs less than x; INFINITY: nowhere. Costs are linear in the weight. */
static double crossing(const gopt_goal *g, const gopt_assessed *x, const gopt_assessed *y, weighted *cost, double from)
{
    double x0 = cost(g, x->compile_ns, x->cautious_ns, 0), y0 = cost(g, y->compile_ns, y->cautious_ns, 0);
    double x1 = cost(g, x->compile_ns, x->cautious_ns, 1) - x0, y1 = cost(g, y->compile_ns, y->cautious_ns, 1) - y0;
    double at = (y0 - x0) / (x1 - y1);
    return y1 < x1 && at >= from ? at : INFINITY;
}

/* From the cheapest at weight 0 on. */
static int walk(const gopt_assessment *a, weighted *cost, gopt_regime *out)
{
    const gopt_goal *g = &a->goal;
    const gopt_assessed *now = NULL;
    int n = 0;
    double from = 0;
    for (int i = 0; i < a->n; i++) {
        const gopt_assessed *x = &a->at[i];
        if (keeps(g, x) &&
            (!now || cost(g, x->compile_ns, x->cautious_ns, 0) < cost(g, now->compile_ns, now->cautious_ns, 0)))
            now = x;
    }
    for (int steps = 0; now && steps < a->n; steps++) { /* each to one that grows more slowly */
        const gopt_assessed *next = NULL;
        double to = INFINITY;
        for (int i = 0; i < a->n; i++) {
            double at = keeps(g, &a->at[i]) ? crossing(g, now, &a->at[i], cost, from) : INFINITY;
            if (at < to) {
                to = at;
                next = &a->at[i];
            }
        }
        if (to > from)
            out[n++] = (gopt_regime){.from = from, .to = to, .trial = now->trial};
        from = to;
        now = next;
    }
    if (n)
        out[n - 1].to = INFINITY;
    return n;
}

void gopt_assess_regimes(gopt_assessment *a)
{
    a->alpha = GOPT_NEW(&a->arena, gopt_regime, a->n);
    a->requests = GOPT_NEW(&a->arena, gopt_regime, a->n);
    if (a->arena.failed)
        return;
    a->n_alpha = walk(a, inverse_utility, a->alpha);
    a->n_requests = walk(a, wall, a->requests);
}
