/* findings.c: findings of which nothing is known yet, and finding one's way in them. */
#include "findings.h"

#include <math.h>
#include <string.h>

const gopt_finding_ratio gopt_finding_ratio_unknown = {NAN, NAN, NAN, GOPT_FINDING_UNKNOWN};

static const gopt_findings nothing = {
    .budget_s = NAN,
    .elapsed_s = NAN,
    .settings = {.alpha = NAN,
                 .requests = NAN,
                 .max_memory = GOPT_UNKNOWN,
                 .max_compile = GOPT_UNKNOWN,
                 .max_latency = GOPT_UNKNOWN},
    .model = {.nodes = GOPT_UNKNOWN,
              .parameters_bytes = GOPT_UNKNOWN,
              .native = GOPT_UNKNOWN,
              .reference = GOPT_UNKNOWN,
              .unsupported = GOPT_UNKNOWN},
    .noise = {.floor = NAN,
              .rounds_flagged = GOPT_UNKNOWN,
              .rounds = GOPT_UNKNOWN,
              .others = NAN,
              .steal = NAN,
              .waited = NAN,
              .spread = NAN},
    .accounting = {NAN, NAN, NAN, NAN, NAN},
    .traffic = {.rate_per_s = NAN,
                .lifetime_s = NAN,
                .hit_rate = NAN,
                .coverage = NAN,
                .padding_waste = NAN,
                .fallback_share = NAN},
};

static const gopt_finding_trial unknown_trial = {
    .latency = {GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, NAN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN,
                GOPT_UNKNOWN},
    .throughput_per_s = NAN,
    .speedup = {NAN, NAN, NAN, GOPT_FINDING_UNKNOWN},
    .memory = {GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, GOPT_UNKNOWN, NAN,
               NAN, NAN},
    .compile = {.total = GOPT_UNKNOWN, .peak_memory = GOPT_UNKNOWN},
    .break_even_requests = NAN,
    .utility = NAN,
    .max_abs = NAN,
    .max_rel = NAN,
};

gopt_status gopt_findings_new(gopt_findings **out, gopt_err *e)
{
    *out = gopt_malloc(sizeof(**out));
    if (!*out)
        return gopt_oom(e);
    **out = nothing;
    return GOPT_OK;
}

void gopt_findings_free(gopt_findings *f)
{
    if (!f)
        return;
    gopt_arena_fini(&f->arena);
    gopt_free(f);
}

gopt_finding_cluster *gopt_findings_take_clusters(gopt_findings *f, int n)
{
    gopt_finding_cluster *c = GOPT_NEW(&f->arena, gopt_finding_cluster, n);
    for (int i = 0; c && i < n; i++)
        c[i] = (gopt_finding_cluster){.weight = NAN,
                                      .baseline_trial = -1,
                                      .default_trial = -1,
                                      .chosen_trial = -1,
                                      .served_trial = -1,
                                      .over_default = gopt_finding_ratio_unknown};
    return c;
}

gopt_finding_trial *gopt_findings_take_trials(gopt_findings *f, int n)
{
    gopt_finding_trial *t = GOPT_NEW(&f->arena, gopt_finding_trial, n);
    for (int i = 0; t && i < n; i++) {
        t[i] = unknown_trial;
        t[i].id = i;
    }
    return t;
}

gopt_finding_fact gopt_finding_fact_text(const char *name, const char *text)
{
    return (gopt_finding_fact){.name = name, .kind = GOPT_FINDING_TEXT, .text = text};
}

gopt_finding_fact gopt_finding_fact_number(const char *name, double number)
{
    return (gopt_finding_fact){.name = name, .kind = GOPT_FINDING_NUMBER, .number = number};
}

gopt_finding_fact gopt_finding_fact_switch(const char *name, bool on)
{
    return (gopt_finding_fact){.name = name, .kind = GOPT_FINDING_SWITCH, .number = on};
}

const gopt_finding_trial *gopt_finding_trial_find(const gopt_finding_cluster *c, int id)
{
    if (id >= 0 && id < c->n_trials && c->trials[id].id == id) /* as a study numbers them */
        return &c->trials[id];
    for (int i = 0; i < c->n_trials; i++)
        if (c->trials[i].id == id)
            return &c->trials[i];
    return NULL;
}

bool gopt_finding_trial_is_ok(const gopt_finding_trial *t)
{
    return t && t->status && !strcmp(t->status, "ok");
}

bool gopt_finding_on_front(const gopt_finding_cluster *c, int id)
{
    for (int i = 0; i < c->n_front; i++)
        if (c->front[i] == id)
            return true;
    return false;
}

const char *gopt_finding_trust(const gopt_finding_noise *n)
{
    return n->unquiet ? "little" : isnan(n->floor) ? "unknown" : "good";
}

int gopt_finding_roles(const gopt_finding_cluster *c, const gopt_finding_trial *out[GOPT_FINDING_ROLES])
{
    const int id[GOPT_FINDING_ROLES] = {c->baseline_trial, c->default_trial, c->chosen_trial};
    int n = 0;
    for (int i = 0; i < GOPT_FINDING_ROLES; i++) {
        const gopt_finding_trial *t = gopt_finding_trial_find(c, id[i]);
        bool again = false;
        for (int k = 0; k < n; k++)
            again |= out[k] == t;
        if (gopt_finding_trial_is_ok(t) && !again)
            out[n++] = t;
    }
    return n;
}

const char *gopt_finding_role_name(const gopt_finding_cluster *c, int id)
{
    static const char *const supposed[2][2] = {{"would be chosen", "would be chosen = baseline"},
                                               {"would be chosen = default", "would be chosen = default = baseline"}};
    static const char *const names[2][2][2] = {
        /* chosen, default, baseline */
        {{"", "baseline"}, {"default", "default = baseline"}},
        {{"chosen", "chosen = baseline"}, {"chosen = default", "chosen = default = baseline"}}};
    if (c->what_if && id == c->chosen_trial)
        return supposed[id == c->default_trial][id == c->baseline_trial];
    return names[id == c->chosen_trial][id == c->default_trial][id == c->baseline_trial];
}

const char *gopt_finding_verdict_name(gopt_finding_verdict v)
{
    static const char *const names[] = {
        [GOPT_FINDING_TIE] = "tie", [GOPT_FINDING_BETTER] = "better", [GOPT_FINDING_WORSE] = "worse"};
    return names[v];
}

const char *gopt_finding_eta_name(gopt_finding_verdict v)
{
    static const char *const names[] = {
        [GOPT_FINDING_TIE] = "none", [GOPT_FINDING_BETTER] = "synergy", [GOPT_FINDING_WORSE] = "conflict"};
    return names[v];
}
