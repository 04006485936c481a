/* decide_trials.c: every trial of a study as the reports show it. */
#include <math.h>
#include <string.h>

#include "decide.h"

gopt_finding_ratio gopt_decide_ratio(const gopt_estimate *r, gopt_verdict v)
{
    static const gopt_finding_verdict verdicts[] = {[GOPT_VERDICT_UNKNOWN] = GOPT_FINDING_UNKNOWN,
                                                    [GOPT_VERDICT_TIE] = GOPT_FINDING_TIE,
                                                    [GOPT_VERDICT_BETTER] = GOPT_FINDING_BETTER,
                                                    [GOPT_VERDICT_WORSE] = GOPT_FINDING_WORSE};
    return (gopt_finding_ratio){.value = r->value, .lo = r->lo, .hi = r->hi, .verdict = verdicts[v]};
}

static const double FALSE_DISCOVERY_RATE = 0.05;

double gopt_decide_floor(const gopt_assessment *a)
{
    return isfinite(a->floor) ? a->floor : 0;
}

void gopt_decide_control(gopt_finding_ratio *const *ratio, int n, gopt_findings *f)
{
    double *p = GOPT_NEW(&f->arena, double, n);
    bool *rejected = GOPT_NEW(&f->arena, bool, n);
    int *scratch = GOPT_NEW(&f->arena, int, n);
    if (f->arena.failed)
        return;
    for (int i = 0; i < n; i++) {
        gopt_estimate r = {.value = ratio[i]->value, .lo = ratio[i]->lo, .hi = ratio[i]->hi};
        p[i] = gopt_ratio_p(&r);
    }
    gopt_false_discovery(p, n, FALSE_DISCOVERY_RATE, rejected, scratch);
    for (int i = 0; i < n; i++)
        if (!rejected[i] && ratio[i]->verdict != GOPT_FINDING_UNKNOWN)
            ratio[i]->verdict = GOPT_FINDING_TIE;
}

static int64_t whole(double v)
{
    return isfinite(v) ? (int64_t)llround(v) : GOPT_UNKNOWN;
}

static int64_t or_unknown(size_t v)
{
    return v ? (int64_t)v : GOPT_UNKNOWN;
}

static gopt_status set_pipeline(gopt_findings *f, gopt_finding_trial *t, const gopt_config *c, gopt_err *e)
{
    int pass[GOPT_SETTINGS_MAX], n = gopt_config_pipeline(c, pass);
    const char **names = GOPT_NEW(&f->arena, const char *, n);
    if (!names)
        return gopt_oom(e);
    for (int i = 0; i < n; i++)
        names[i] = gopt_passes[pass[i]]->name;
    t->pipeline = names;
    t->n_pipeline = n;
    return GOPT_OK;
}

static gopt_finding_fact setting(const gopt_setting *s, int64_t v)
{
    if (s->knob->kind == GOPT_KNOB_BOOL)
        return gopt_finding_fact_switch(s->name, v != 0);
    if (s->knob->kind == GOPT_KNOB_CHOICE)
        return gopt_finding_fact_text(s->name, s->knob->choices[v]);
    return gopt_finding_fact_number(s->name, (double)v);
}

static gopt_status set_config(gopt_findings *f, gopt_finding_trial *t, const gopt_config *c, gopt_err *e)
{
    gopt_finding_fact *facts = GOPT_NEW(&f->arena, gopt_finding_fact, gopt_setting_count());
    if (!facts)
        return gopt_oom(e);
    for (int i = 0; i < gopt_setting_count(); i++)
        if (!gopt_setting_at(i)->pass || !gopt_setting_at(i)->is_switch)
            facts[t->n_config++] = setting(gopt_setting_at(i), c->v[i]);
    t->config = facts;
    return GOPT_OK;
}

static gopt_status set_compile(gopt_findings *f, gopt_finding_trial *t, const gopt_reply *r, gopt_err *e)
{
    gopt_finding_stage *stages = GOPT_NEW(&f->arena, gopt_finding_stage, GOPT_STAGE_COUNT - 1 + r->n_passes);
    int n = 0;
    if (!stages)
        return gopt_oom(e);
    int64_t of_passes = 0;
    for (int i = 0; i < r->n_passes; i++) {
        const char *name = gopt_arena_printf(&f->arena, "pass %s", r->passes[i].pass ? r->passes[i].pass : "?");
        if (!name)
            return gopt_oom(e);
        stages[n++] = (gopt_finding_stage){.name = name, .ns = r->passes[i].ns};
        of_passes += r->passes[i].ns;
    }
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        if (i != GOPT_STAGE_passes)
            stages[n++] = (gopt_finding_stage){.name = gopt_stage_names[i], .ns = r->stage_ns[i]};
    stages[n - 1].ns += r->stage_ns[GOPT_STAGE_passes] - GOPT_MIN(of_passes, r->stage_ns[GOPT_STAGE_passes]);
    t->compile = (gopt_finding_compile){
        .total = r->compile_ns, .peak_memory = r->compile_peak, .cached = r->cached, .stages = stages, .n_stages = n};
    return GOPT_OK;
}

static void set_memory(gopt_finding_trial *t, const gopt_reply *r)
{
    const gopt_memory *m = &r->memory;
    t->memory.peak = or_unknown(m->peak);
    t->memory.steady = or_unknown(m->steady);
    if (m->peak == 0)
        return;
    t->memory.weights = (int64_t)m->weights;
    t->memory.arena = (int64_t)m->arena;
    t->memory.workspace = (int64_t)m->workspace;
    t->memory.runtime = (int64_t)m->runtime;
    if (m->arena == 0 || r->arena_bound == 0)
        return;
    t->memory.arena_bound = (int64_t)r->arena_bound;
    t->memory.reuse = (double)r->arena_total / (double)m->arena;
    t->memory.fragmentation = GOPT_MAX(1 - (double)r->arena_bound / (double)m->arena, 0.0);
}

static void set_figures(gopt_finding_trial *t, const gopt_assessed *x)
{
    int64_t median = whole(x->latency.median.value);
    t->latency = (gopt_finding_latency){.median = median,
                                        .lo = GOPT_MIN(whole(floor(x->latency.median.lo)), median),
                                        .hi = GOPT_MAX(whole(ceil(x->latency.median.hi)), median),
                                        .mean = x->latency.mean,
                                        .p90 = whole(x->latency.p90),
                                        .p95 = whole(x->latency.p95),
                                        .p99 = whole(x->latency.p99),
                                        .samples = x->latency.samples,
                                        .in_final = x->in_final};
    t->throughput_per_s = x->throughput;
    t->speedup = gopt_decide_ratio(&x->speedup, x->verdict);
    t->memory.saving = x->saving;
    t->break_even_requests = x->break_even;
    t->utility = x->utility;
}

/* A trial that compiled and verified but was timed too little is not shown as ok: nothing is known of its speed. */
static void set_status(gopt_finding_trial *t, const gopt_reply *r, const gopt_assessed *x)
{
    gopt_trial_status status = r->status;
    t->why = r->why;
    if (status == GOPT_TRIAL_ok && !x) {
        status = GOPT_TRIAL_pruned;
        t->why = "the budget ended before it was timed in 9 rounds";
    }
    t->status = gopt_trial_status_name(status);
}

static gopt_status set_trial(gopt_findings *f, gopt_finding_trial *t, const gopt_assessment *a, const gopt_trial *from,
                             gopt_err *e)
{
    const gopt_assessed *x = gopt_assess_find(a, from->id);
    t->id = from->id;
    t->role = gopt_trial_role_name(from->role);
    set_status(t, &from->reply, x);
    GOPT_TRY(set_pipeline(f, t, &from->config, e));
    GOPT_TRY(set_config(f, t, &from->config, e));
    if (from->reply.compile_ns >= 0)
        GOPT_TRY(set_compile(f, t, &from->reply, e));
    set_memory(t, &from->reply);
    t->max_abs = from->reply.max_abs < 0 ? NAN : from->reply.max_abs;
    t->max_rel = from->reply.max_rel < 0 ? NAN : from->reply.max_rel;
    if (x)
        set_figures(t, x);
    return GOPT_OK;
}

/* The best so far, whenever it changed. */
static gopt_status set_anytime(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    gopt_finding_moment *moments = GOPT_NEW(&f->arena, gopt_finding_moment, a->n);
    double best = INFINITY;
    if (!moments)
        return gopt_oom(e);
    for (int i = 0; i < a->n; i++) {
        if (!(a->at[i].run_ns < best))
            continue;
        best = a->at[i].run_ns;
        moments[c->n_anytime++] = (gopt_finding_moment){
            .elapsed_s = a->study->trials[a->at[i].trial].elapsed_s, .trial = a->at[i].trial, .median = whole(best)};
    }
    c->anytime = moments;
    return GOPT_OK;
}

static gopt_status set_front(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    int *front = GOPT_NEW(&f->arena, int, a->n);
    if (!front)
        return gopt_oom(e);
    for (int i = 0; i < a->n; i++)
        if (a->at[i].on_front)
            front[c->n_front++] = a->at[i].trial;
    c->front = front;
    return GOPT_OK;
}

static gopt_status set_bans(gopt_findings *f, gopt_finding_cluster *c, const gopt_study *s, gopt_err *e)
{
    gopt_finding_ban *list = GOPT_NEW(&f->arena, gopt_finding_ban, s->n_bans);
    if (!list)
        return gopt_oom(e);
    for (int i = 0; i < s->n_bans; i++)
        list[i] = (gopt_finding_ban){
            .pass = gopt_passes[s->bans[i].pass]->name, .trial = s->bans[i].trial, .command = s->bans[i].command};
    c->bans = list;
    c->n_bans = s->n_bans;
    return GOPT_OK;
}

static gopt_finding_regime *regimes(gopt_findings *f, const gopt_regime *at, int n)
{
    gopt_finding_regime *out = GOPT_NEW(&f->arena, gopt_finding_regime, n);
    for (int i = 0; out && i < n; i++)
        out[i] =
            (gopt_finding_regime){.from = at[i].from, .to = isfinite(at[i].to) ? at[i].to : NAN, .trial = at[i].trial};
    return out;
}

gopt_status gopt_decide_trials(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const gopt_study *s = a->study;
    c->trials = gopt_findings_take_trials(f, s->n_trials);
    if (!c->trials)
        return gopt_oom(e);
    c->n_trials = s->n_trials;
    for (int i = 0; i < s->n_trials; i++)
        GOPT_TRY(set_trial(f, &c->trials[i], a, &s->trials[i], e));
    c->baseline_trial = a->baseline;
    c->default_trial = a->standard;
    c->unmet = a->unmet;
    c->chosen_trial = a->chosen;
    c->reason = a->reason ? gopt_arena_str(&f->arena, a->reason) : "nothing was timed";
    if (a->chosen >= 0 && a->standard >= 0 && a->chosen != a->standard) {
        gopt_estimate r = gopt_effects_ratio(s, a->standard, a->chosen);
        c->over_default = gopt_decide_ratio(&r, gopt_verdict_of(&r, isfinite(a->floor) ? a->floor : 0));
    }
    c->alpha = regimes(f, a->alpha, a->n_alpha);
    c->n_alpha = a->n_alpha;
    c->requests = regimes(f, a->requests, a->n_requests);
    c->n_requests = a->n_requests;
    GOPT_TRY(set_bans(f, c, s, e));
    GOPT_TRY(set_front(f, c, a, e));
    GOPT_TRY(set_anytime(f, c, a, e));
    return f->arena.failed ? gopt_oom(e) : GOPT_OK;
}
