/* decide_effects.c: passes alone, left out, one after the other; where the time goes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide.h"

/* ---- Amdahl ---- */

static const unsigned char *touched_by(const gopt_trial *t, const char *pass)
{
    for (int i = 0; i < t->reply.n_passes; i++)
        if (t->reply.passes[i].pass && !strcmp(t->reply.passes[i].pass, pass))
            return t->reply.touched[i];
    return NULL;
}

static bool is_touched(const gopt_trial_step *s, const unsigned char *touched, int origins)
{
    for (int k = 0; k < s->n_origin; k++)
        if (s->origin[k] >= 0 && s->origin[k] < origins && touched[s->origin[k]])
            return true;
    return false;
}

/* Time of the steps that do the work of a touched node. */
static double time_in(const gopt_trial *t, const unsigned char *touched, int origins)
{
    double ns = 0;
    for (int i = 0; i < t->n_steps; i++)
        ns += is_touched(&t->steps[i], touched, origins) ? (double)t->steps[i].ns : 0;
    return ns;
}

static double time_of(const gopt_trial *t)
{
    double ns = 0;
    for (int i = 0; i < t->n_steps; i++)
        ns += (double)t->steps[i].ns;
    return ns;
}

/* Time of one operator outside the touched nodes. */
static double time_outside(const gopt_trial *t, const unsigned char *touched, int origins, const char *op)
{
    double ns = 0;
    for (int i = 0; i < t->n_steps; i++)
        ns += !strcmp(t->steps[i].op, op) && !is_touched(&t->steps[i], touched, origins) ? (double)t->steps[i].ns : 0;
    return ns;
}

/* Of the operators that the pass left alone: which has most of the time that remains, and whether they changed, too,
 * which the formula takes for impossible. The two traces are runs of their own. */
static const char *bottleneck(gopt_arena *a, const gopt_trial *base, const gopt_trial *alone,
                              const unsigned char *touched, double *rest_change)
{
    int origins = alone->reply.n_origins;
    const char *most = NULL, *changed = NULL;
    double longest = 0, change = 0;
    for (int i = 0; i < alone->n_steps; i++) {
        const char *op = alone->steps[i].op;
        double after = time_outside(alone, touched, origins, op), before = time_outside(base, touched, origins, op);
        if (after > longest) {
            longest = after;
            most = op;
        }
        if (fabs(after - before) > fabs(change)) {
            change = after - before;
            changed = op;
        }
    }
    double all = time_of(alone), rest = time_of(base) - time_in(base, touched, origins);
    double rest_now = all - time_in(alone, touched, origins);
    *rest_change = rest > 0 ? rest_now / rest - 1 : NAN;
    if (!most)
        return gopt_arena_str(a, "no other operator takes time: what is between the operators does");
    if (changed && fabs(*rest_change) > GOPT_REST_CHANGED)
        return gopt_arena_printf(a,
                                 "the operators that it left alone took %.0f %% %s than before, most of it %s; of what "
                                 "is left, %s takes %.0f %%",
                                 100 * fabs(*rest_change), *rest_change > 0 ? "longer" : "less", changed, most,
                                 100 * longest / all);
    return gopt_arena_printf(a,
                             "the operators that it left alone did not change; of what is left, %s takes %.0f %%, and "
                             "what a trace does not see is between the operators",
                             most, 100 * longest / all);
}

/* f: share of the baseline's traced time in the operators that the pass touched; S_p: how much faster those became. */
static void set_amdahl(gopt_findings *f, gopt_finding_single *e, const gopt_assessment *a, const gopt_trial *alone)
{
    const gopt_trial *base = &a->study->trials[a->baseline];
    const unsigned char *touched = touched_by(alone, e->pass);
    double all = time_of(base);
    if (!touched || all <= 0)
        return;
    double before = time_in(base, touched, alone->reply.n_origins);
    if (before <= 0)
        return;
    e->share = GOPT_MIN(before / all, 1.0);
    if (e->share < 1)
        e->amdahl_ceiling = 1 / (1 - e->share);
    double after = alone->n_steps ? time_in(alone, touched, alone->reply.n_origins) : NAN;
    if (!isfinite(after))
        return;
    if (after > 0)
        e->operator_speedup = before / after;
    e->removed = after <= 0;
    if (!e->removed || e->share < 1)
        e->amdahl_predicted = 1 / ((1 - e->share) + e->share * after / before);
    e->bottleneck = bottleneck(&f->arena, base, alone, touched, &e->rest_change);
}

/* ---- single, left out ---- */

static gopt_status set_single(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const gopt_study *s = a->study;
    gopt_finding_single *list = GOPT_NEW(&f->arena, gopt_finding_single, s->n_trials);
    gopt_finding_ratio **ratio = GOPT_NEW(&f->arena, gopt_finding_ratio *, s->n_trials);
    if (!list || !ratio)
        return gopt_oom(e);
    for (int i = 0; i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        const gopt_trial *stand_in = t->role == GOPT_ROLE_SINGLE ? gopt_effects_stand_in(s, t) : NULL;
        const gopt_assessed *x = stand_in ? gopt_assess_find(a, stand_in->id) : NULL;
        if (!x || t->pass_a < 0)
            continue;
        gopt_finding_single *one = &list[c->n_single];
        *one = (gopt_finding_single){
            .pass = gopt_passes[t->pass_a]->name,
            .trial = stand_in->id,
            .speedup = gopt_decide_ratio(&x->speedup, gopt_verdict_of(&x->speedup, gopt_decide_floor(a))),
            .memory_saving = x->saving,
            .compile = (int64_t)x->compile_ns,
            .share = NAN,
            .operator_speedup = NAN,
            .amdahl_predicted = NAN,
            .amdahl_ceiling = NAN,
            .rest_change = NAN};
        if (stand_in == t)
            set_amdahl(f, one, a, t);
        ratio[c->n_single++] = &one->speedup;
    }
    c->single = list;
    gopt_decide_control(ratio, c->n_single, f);
    return GOPT_OK;
}

static gopt_status set_left_out(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const gopt_study *s = a->study;
    gopt_finding_left_out *list = GOPT_NEW(&f->arena, gopt_finding_left_out, s->n_trials);
    gopt_finding_ratio **ratio = GOPT_NEW(&f->arena, gopt_finding_ratio *, s->n_trials);
    const gopt_assessed *whole = gopt_assess_find(a, a->standard);
    if (!list || !ratio)
        return gopt_oom(e);
    for (int i = 0; whole && i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        const gopt_trial *stand_in = t->role == GOPT_ROLE_LEAVE_ONE_OUT ? gopt_effects_stand_in(s, t) : NULL;
        const gopt_assessed *x = stand_in ? gopt_assess_find(a, stand_in->id) : NULL;
        if (!x || t->pass_a < 0)
            continue;
        /* Both against the baseline of their own rounds; independent, so the widths add. */
        gopt_estimate r = {.value = whole->speedup.value / x->speedup.value};
        gopt_estimate keep = {.value = x->speedup.value / whole->speedup.value};
        r.lo = stand_in->id == a->standard ? 1 : whole->speedup.lo / x->speedup.hi;
        r.hi = stand_in->id == a->standard ? 1 : whole->speedup.hi / x->speedup.lo;
        keep.lo = 1 / r.hi;
        keep.hi = 1 / r.lo;
        list[c->n_left_out] = (gopt_finding_left_out){.pass = gopt_passes[t->pass_a]->name, .trial = stand_in->id};
        list[c->n_left_out].slowdown = gopt_decide_ratio(&r, gopt_verdict_of(&keep, gopt_decide_floor(a)));
        ratio[c->n_left_out] = &list[c->n_left_out].slowdown;
        c->n_left_out++;
    }
    c->left_out = list;
    gopt_decide_control(ratio, c->n_left_out, f);
    return GOPT_OK;
}

/* ---- steps and profiles ---- */

static bool is_idle(const gopt_trial *t, const char *pass)
{
    int active[GOPT_SETTINGS_MAX], n = gopt_effects_active(t, active);
    for (int i = 0; i < n; i++)
        if (pass && !strcmp(gopt_passes[active[i]]->name, pass))
            return false;
    return true;
}

static gopt_status set_steps(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const gopt_trial *t = gopt_effects_default(a->study);
    int n = t ? t->reply.n_passes : 0;
    gopt_finding_step *list = GOPT_NEW(&f->arena, gopt_finding_step, n);
    if (!list)
        return gopt_oom(e);
    for (int i = 0; i < n; i++)
        list[i] = (gopt_finding_step){.pass = t->reply.passes[i].pass,
                                      .nodes_before = t->reply.passes[i].nodes_before,
                                      .nodes_after = t->reply.passes[i].nodes_after,
                                      .kernels_after = t->reply.passes[i].nodes_after,
                                      .arena_after = GOPT_UNKNOWN,
                                      .latency = GOPT_UNKNOWN,
                                      .idle = is_idle(t, t->reply.passes[i].pass)};
    if (n)
        list[n - 1].arena_after = (int64_t)t->reply.memory.arena;
    c->steps = list;
    c->n_steps = n;
    return GOPT_OK;
}

static int longest_first(const void *a, const void *b)
{
    int64_t x = ((const gopt_finding_hotspot *)a)->ns, y = ((const gopt_finding_hotspot *)b)->ns;
    return (x < y) - (x > y);
}

static int sum_hotspots(gopt_finding_hotspot *spot, const gopt_trial *t, double all)
{
    int n = 0;
    for (int i = 0; i < t->n_steps; i++) {
        const gopt_trial_step *s = &t->steps[i];
        int k = 0;
        while (k < n && (strcmp(spot[k].name, s->op) != 0 || strcmp(spot[k].kernel, s->kernel) != 0))
            k++;
        if (k == n)
            spot[n++] =
                (gopt_finding_hotspot){.name = s->op,
                                       .kernel = s->kernel,
                                       .has_bodies = !strncmp(s->kernel, GOPT_TRACE_BODIES, strlen(GOPT_TRACE_BODIES))};
        spot[k].calls++;
        spot[k].ns += s->ns;
    }
    for (int k = 0; k < n; k++)
        spot[k].share = all > 0 ? (double)spot[k].ns / all : NAN;
    qsort(spot, (size_t)n, sizeof *spot, longest_first);
    return n;
}

static gopt_status set_profiles(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const int shown[] = {a->baseline, a->standard, a->chosen};
    gopt_finding_profile *list = GOPT_NEW(&f->arena, gopt_finding_profile, GOPT_COUNT(shown));
    if (!list)
        return gopt_oom(e);
    for (int i = 0; i < GOPT_COUNT(shown); i++) {
        const gopt_trial *t = shown[i] >= 0 && (i < 1 || shown[i] != shown[0]) && (i < 2 || shown[i] != shown[1])
                                  ? &a->study->trials[shown[i]]
                                  : NULL;
        if (!t || !t->n_steps)
            continue;
        gopt_finding_hotspot *spot = GOPT_NEW(&f->arena, gopt_finding_hotspot, t->n_steps);
        const gopt_assessed *x = gopt_assess_find(a, t->id);
        if (!spot)
            return gopt_oom(e);
        list[c->n_profiles] = (gopt_finding_profile){.trial = t->id, .hotspots = spot, .inflation = NAN};
        list[c->n_profiles].n_hotspots = sum_hotspots(spot, t, time_of(t));
        if (x)
            list[c->n_profiles].inflation = t->traced_ns / x->run_ns;
        c->n_profiles++;
    }
    c->profiles = list;
    return GOPT_OK;
}

/* ---- percentiles ---- */

/* The percentiles of means of several inferences are none of requests. */
static void set_repeats(gopt_finding_cluster *c, const gopt_assessment *a)
{
    for (int i = 0; i < a->n; i++) {
        gopt_finding_latency *l = &c->trials[a->at[i].trial].latency;
        l->repeats = gopt_effects_repeats(a->study, a->at[i].trial);
        if (l->repeats > 1)
            l->p90 = l->p95 = l->p99 = GOPT_UNKNOWN;
    }
}

gopt_status gopt_decide_effects(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    if (a->baseline < 0)
        return GOPT_OK;
    set_repeats(c, a);
    GOPT_TRY(set_single(f, c, a, e));
    GOPT_TRY(set_left_out(f, c, a, e));
    GOPT_TRY(gopt_decide_together(f, c, a, e));
    GOPT_TRY(gopt_decide_presets(f, c, a, e));
    GOPT_TRY(set_steps(f, c, a, e));
    GOPT_TRY(set_profiles(f, c, a, e));
    return f->arena.failed ? gopt_oom(e) : GOPT_OK;
}
