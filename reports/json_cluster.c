/* json_cluster.c: trials, effects and regimes of one cluster in findings.json. */
#include <math.h>

#include "json_tree.h"

static void latency(gopt_tree *b, cJSON *trial, const gopt_finding_latency *l)
{
    cJSON *o = gopt_tree_group(b, trial, "latency", l->median);
    if (!o)
        return;
    gopt_tree_known(b, o, "median", l->median);
    gopt_tree_known(b, o, "lo", l->lo);
    gopt_tree_known(b, o, "hi", l->hi);
    gopt_tree_number(b, o, "mean", l->mean);
    gopt_tree_known(b, o, "p90", l->p90);
    gopt_tree_known(b, o, "p95", l->p95);
    gopt_tree_known(b, o, "p99", l->p99);
    gopt_tree_known(b, o, "samples", l->samples);
    gopt_tree_known(b, o, "repeats", l->repeats);
    gopt_tree_truth(b, o, "in_final", l->in_final);
}

static void memory(gopt_tree *b, cJSON *trial, const gopt_finding_memory *m)
{
    cJSON *o = gopt_tree_group(b, trial, "memory", m->peak);
    if (!o)
        return;
    gopt_tree_known(b, o, "peak", m->peak);
    gopt_tree_known(b, o, "steady", m->steady);
    gopt_tree_known(b, o, "weights", m->weights);
    gopt_tree_known(b, o, "arena", m->arena);
    gopt_tree_known(b, o, "workspace", m->workspace);
    gopt_tree_known(b, o, "runtime", m->runtime);
    gopt_tree_number(b, o, "saving", m->saving);
    gopt_tree_known(b, o, "arena_bound", m->arena_bound);
    gopt_tree_number(b, o, "arena_reuse", m->reuse);
    gopt_tree_number(b, o, "arena_fragmentation", m->fragmentation);
}

static void compile(gopt_tree *b, cJSON *trial, const gopt_finding_compile *c)
{
    cJSON *o = gopt_tree_group(b, trial, "compile", c->total);
    if (!o)
        return;
    gopt_tree_known(b, o, "total", c->total);
    gopt_tree_known(b, o, "peak_memory", c->peak_memory);
    gopt_tree_truth(b, o, "cached", c->cached);
    cJSON *stages = gopt_tree_object(b, o, "stages");
    for (int i = 0; i < c->n_stages; i++)
        gopt_tree_known(b, stages, c->stages[i].name, c->stages[i].ns);
}

static void trial(gopt_tree *b, cJSON *trials, const gopt_finding_trial *t)
{
    cJSON *o = gopt_tree_object(b, trials, NULL);
    gopt_tree_integer(b, o, "id", t->id);
    gopt_tree_text(b, o, "status", t->status);
    gopt_tree_text(b, o, "why", t->why);
    gopt_tree_text(b, o, "role", t->role);
    gopt_tree_texts(b, o, "pipeline", t->pipeline, t->n_pipeline);
    gopt_tree_facts(b, gopt_tree_object(b, o, "config"), t->config, t->n_config);
    latency(b, o, &t->latency);
    gopt_tree_number(b, o, "throughput_per_s", t->throughput_per_s);
    gopt_tree_ratio(b, o, "speedup", &t->speedup, false);
    memory(b, o, &t->memory);
    compile(b, o, &t->compile);
    gopt_tree_number(b, o, "break_even_requests", t->break_even_requests);
    gopt_tree_number(b, o, "utility", t->utility);
    cJSON *error = gopt_tree_object(b, o, "error");
    gopt_tree_number(b, error, "max_abs", t->max_abs);
    gopt_tree_number(b, error, "max_rel", t->max_rel);
}

static void singles(gopt_tree *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, effects, "single");
    for (int i = 0; i < c->n_single; i++) {
        const gopt_finding_single *s = &c->single[i];
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "pass", s->pass);
        gopt_tree_integer(b, o, "trial", s->trial);
        gopt_tree_ratio(b, o, "speedup", &s->speedup, false);
        gopt_tree_number(b, o, "memory_saving", s->memory_saving);
        gopt_tree_known(b, o, "compile", s->compile);
        gopt_tree_number(b, o, "share", s->share);
        gopt_tree_number(b, o, "operator_speedup", s->operator_speedup);
        gopt_tree_number(b, o, "amdahl_predicted", s->amdahl_predicted);
        gopt_tree_number(b, o, "amdahl_ceiling", s->amdahl_ceiling);
        gopt_tree_text(b, o, "bottleneck", s->bottleneck);
        gopt_tree_number(b, o, "rest_change", s->rest_change);
    }
}

static void left_out(gopt_tree *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, effects, "leave_one_out");
    for (int i = 0; i < c->n_left_out; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "pass", c->left_out[i].pass);
        gopt_tree_integer(b, o, "trial", c->left_out[i].trial);
        gopt_tree_ratio(b, o, "slowdown", &c->left_out[i].slowdown, false);
    }
}

static void pairs(gopt_tree *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, effects, "pairs");
    for (int i = 0; i < c->n_pairs; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "first", c->pairs[i].first);
        gopt_tree_text(b, o, "second", c->pairs[i].second);
        gopt_tree_integer(b, o, "trial", c->pairs[i].trial);
        gopt_tree_ratio(b, o, "eta", &c->pairs[i].eta, true);
        gopt_tree_text(b, o, "why", c->pairs[i].why);
        cJSON *first = gopt_tree_object(b, o, "first_rewrites"), *second = gopt_tree_object(b, o, "second_rewrites");
        gopt_tree_known(b, first, "alone", c->pairs[i].first_alone);
        gopt_tree_known(b, first, "together", c->pairs[i].first_together);
        gopt_tree_known(b, second, "alone", c->pairs[i].second_alone);
        gopt_tree_known(b, second, "together", c->pairs[i].second_together);
    }
}

static void attribution(gopt_tree *b, cJSON *effects, const gopt_finding_attribution *a)
{
    cJSON *o = gopt_tree_group(b, effects, "attribution", a->n_shares ? a->n_shares : GOPT_UNKNOWN);
    if (!o)
        return;
    gopt_tree_integer(b, o, "trial", a->trial);
    gopt_tree_number(b, o, "total", a->total);
    gopt_tree_known(b, o, "orders", a->orders);
    gopt_tree_known(b, o, "all_orders", a->all_orders);
    cJSON *list = gopt_tree_array(b, o, "passes");
    for (int i = 0; i < a->n_shares; i++) {
        cJSON *share = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, share, "pass", a->shares[i].pass);
        gopt_tree_ratio(b, share, "gain", &a->shares[i].gain, false);
        gopt_tree_number(b, share, "share", a->shares[i].share);
    }
}

static void steps(gopt_tree *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, effects, "steps");
    for (int i = 0; i < c->n_steps; i++) {
        const gopt_finding_step *s = &c->steps[i];
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "pass", s->pass);
        gopt_tree_known(b, o, "nodes_before", s->nodes_before);
        gopt_tree_known(b, o, "nodes_after", s->nodes_after);
        gopt_tree_known(b, o, "kernels_after", s->kernels_after);
        gopt_tree_known(b, o, "arena_after", s->arena_after);
        gopt_tree_known(b, o, "latency", s->latency);
        gopt_tree_truth(b, o, "idle", s->idle);
    }
}

static void regime(gopt_tree *b, cJSON *regimes, const char *key, const gopt_finding_regime *r, int n)
{
    cJSON *list = gopt_tree_array(b, regimes, key);
    for (int i = 0; i < n; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_number(b, o, "from", r[i].from);
        gopt_tree_number(b, o, "to", r[i].to);
        gopt_tree_integer(b, o, "trial", r[i].trial);
    }
}

static void anytime(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, cluster, "anytime");
    for (int i = 0; i < c->n_anytime; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_number(b, o, "elapsed_s", c->anytime[i].elapsed_s);
        gopt_tree_integer(b, o, "trial", c->anytime[i].trial);
        gopt_tree_known(b, o, "median", c->anytime[i].median);
    }
}

static void profiles(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, cluster, "profiles");
    for (int i = 0; i < c->n_profiles; i++) {
        const gopt_finding_profile *p = &c->profiles[i];
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_integer(b, o, "trial", p->trial);
        gopt_tree_number(b, o, "inflation", p->inflation);
        cJSON *spots = gopt_tree_array(b, o, "hotspots");
        for (int k = 0; k < p->n_hotspots; k++) {
            cJSON *spot = gopt_tree_object(b, spots, NULL);
            gopt_tree_text(b, spot, "name", p->hotspots[k].name);
            gopt_tree_text(b, spot, "kernel", p->hotspots[k].kernel);
            gopt_tree_known(b, spot, "calls", p->hotspots[k].calls);
            gopt_tree_known(b, spot, "ns", p->hotspots[k].ns);
            gopt_tree_number(b, spot, "share", p->hotspots[k].share);
        }
    }
}

static void shapes(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, cluster, "shapes"), *bounds = gopt_tree_object(b, cluster, "bounds");
    for (int i = 0; i < c->n_shapes; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        for (int k = 0; k < c->shapes[i].n_sizes; k++)
            gopt_tree_known(b, o, c->shapes[i].sizes[k].dim, c->shapes[i].sizes[k].value);
    }
    for (int i = 0; i < c->n_bounds; i++) {
        cJSON *pair = gopt_tree_array(b, bounds, c->bounds[i].dim);
        gopt_tree_known(b, pair, NULL, c->bounds[i].lo);
        gopt_tree_known(b, pair, NULL, c->bounds[i].hi);
    }
}

static void presets(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, cluster, "presets");
    for (int i = 0; i < c->n_presets; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "preset", c->presets[i].name);
        gopt_tree_integer(b, o, "trial", c->presets[i].trial);
        gopt_tree_number(b, o, "compile", c->presets[i].compile_ns);
        gopt_tree_number(b, o, "run", c->presets[i].run_ns);
        gopt_tree_number(b, o, "best_from", c->presets[i].best_from);
        gopt_tree_number(b, o, "best_to", c->presets[i].best_to);
    }
}

static void bans(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = gopt_tree_array(b, cluster, "banned");
    for (int i = 0; i < c->n_bans; i++) {
        cJSON *o = gopt_tree_object(b, list, NULL);
        gopt_tree_text(b, o, "pass", c->bans[i].pass);
        gopt_tree_integer(b, o, "trial", c->bans[i].trial);
        gopt_tree_text(b, o, "command", c->bans[i].command);
    }
}

static void effects(gopt_tree *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *o = gopt_tree_object(b, cluster, "effects");
    singles(b, o, c);
    left_out(b, o, c);
    pairs(b, o, c);
    attribution(b, o, &c->attribution);
    steps(b, o, c);
}

void gopt_tree_cluster(gopt_tree *b, cJSON *clusters, const gopt_finding_cluster *c)
{
    cJSON *o = gopt_tree_object(b, clusters, NULL);
    gopt_tree_text(b, o, "id", c->id);
    shapes(b, o, c);
    gopt_tree_number(b, o, "weight", c->weight);
    gopt_tree_known(b, o, "baseline", c->baseline_trial);
    gopt_tree_known(b, o, "default", c->default_trial);
    gopt_tree_known(b, o, "chosen", c->chosen_trial);
    gopt_tree_ratio(b, o, "chosen_over_default", &c->over_default, false);
    gopt_tree_text(b, o, "reason", c->reason);
    gopt_tree_truth(b, o, "unmet", c->unmet);
    gopt_tree_known(b, o, "served", c->what_if ? c->served_trial : c->chosen_trial);
    gopt_tree_text(b, o, "served_breaks", c->served_breaks);
    cJSON *front = gopt_tree_array(b, o, "front");
    for (int i = 0; i < c->n_front; i++)
        gopt_tree_integer(b, front, NULL, c->front[i]);
    cJSON *regimes = gopt_tree_object(b, o, "regimes");
    regime(b, regimes, "alpha", c->alpha, c->n_alpha);
    regime(b, regimes, "requests", c->requests, c->n_requests);
    cJSON *trials = gopt_tree_array(b, o, "trials");
    for (int i = 0; i < c->n_trials; i++)
        trial(b, trials, &c->trials[i]);
    presets(b, o, c);
    bans(b, o, c);
    effects(b, o, c);
    anytime(b, o, c);
    profiles(b, o, c);
}
