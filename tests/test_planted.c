/* test_planted.c: whole jobs with planted passes: a wrong one is found and banned alone, a conflict and a synergy are
 * told from each other, one without an effect has none. Time is made up: an operator of the test takes a millisecond of
 * a clock that otherwise goes as the real one, so that a disturbed machine changes little. */
#define GOPT_OPS_DEF "planted_ops.def"
#define GOPT_PASSES_DEF "planted_passes.def"
#include "op.c"
#include "pass.c"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "culprit.h"
#include "decide.h"
#include "effects.h"
#include "job.h"
#include "passes/rewrite.h"
#include "support/graphs.h"
#include "support/test.h"
#include "tune.h"

/* ---- time ---- */

enum { DELAY_NS = 1000000 };
static int64_t delays;

static int64_t now_with_delays(void)
{
    return gopt_clock_monotonic() + delays;
}

static gopt_status delay_infer(gopt_infer *x, gopt_err *e)
{
    (void)e;
    gopt_infer_like(x, 0, 0);
    return GOPT_OK;
}

static gopt_status delay_run(gopt_exec *x, gopt_err *e)
{
    delays += DELAY_NS;
    GOPT_TRY(gopt_exec_out(x, 0, x->in[0]->dtype, x->in[0]->rank, x->in[0]->dim, e));
    memcpy(x->out[0]->data, x->in[0]->data, gopt_tensor_bytes(x->in[0]));
    return GOPT_OK;
}

const gopt_op gopt_op_planted_delay = {.name = "PlantedDelay",
                                       .domain = "com.microsoft",
                                       .in_min = 1,
                                       .in_max = 1,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .infer = delay_infer,
                                       .run = delay_run};

/* ---- passes ---- */

static gopt_node *find_node(const gopt_graph *g, const char *name)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->dead && !strcmp(g->nodes[i]->name, name))
            return g->nodes[i];
    return NULL;
}

static void drop_node(gopt_node *n, gopt_pass_run *r)
{
    if (!n || n->post.result >= 0 || !gopt_value_can_replace(n->out[0], n->in[0]))
        return;
    gopt_value_replace(n->out[0], n->in[0]);
    gopt_node_remove(n);
    r->changed++;
}

static gopt_status drop_first(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    drop_node(find_node(g, "first"), r);
    return GOPT_OK;
}

/* Needs what planted_first takes away. */
static gopt_status drop_rival(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    if (find_node(g, "first"))
        drop_node(find_node(g, "rival"), r);
    return GOPT_OK;
}

static gopt_status drop_opener(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    drop_node(find_node(g, "opener"), r);
    return GOPT_OK;
}

/* Needs what planted_opener makes. */
static gopt_status drop_follower(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    if (!find_node(g, "opener"))
        drop_node(find_node(g, "follower"), r);
    return GOPT_OK;
}

static gopt_status spoil(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    gopt_node *n = find_node(g, "act");
    if (n && gopt_node_replace(n, gopt_op_find("", "Softplus"), (gopt_attrs){0}, n->in, 1, &n, 1))
        r->changed++;
    return GOPT_OK;
}

/* Says that it did something. */
static gopt_status idle(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)g, (void)e;
    r->changed++;
    return GOPT_OK;
}

#define PLANTED(n, fn) const gopt_pass gopt_pass_##n = {.name = #n, .doc = "planted", .revision = 1, .run = fn}
PLANTED(planted_first, drop_first);
PLANTED(planted_rival, drop_rival);
PLANTED(planted_opener, drop_opener);
PLANTED(planted_follower, drop_follower);
PLANTED(planted_wrong, spoil);
PLANTED(planted_idle, idle);

/* ---- jobs ---- */

static const char model_text[] = "input x float32[4,16]\n"
                                 "first: a float32[4,16] = com.microsoft::PlantedDelay(x)\n"
                                 "rival: b float32[4,16] = com.microsoft::PlantedDelay(a)\n"
                                 "act: c float32[4,16] = Relu(b)\n"
                                 "opener: d float32[4,16] = Identity(c)\n"
                                 "follower: f float32[4,16] = com.microsoft::PlantedDelay(d)\n"
                                 "last: y float32[4,16] = Neg(f)\n"
                                 "output y\n";

static const gopt_tune_options options = {.sampler = "auto",
                                          .goal = {.objective = GOPT_OBJECTIVE_latency, .requests = 100},
                                          .tolerance = {.rel = -1, .abs = -1},
                                          .threads = {1},
                                          .n_threads = 1,
                                          .seed = 7,
                                          .budget_s = 6,
                                          .progress = GOPT_PROGRESS_NONE};

/* A preset with the planted passes but `without` (NULL: all of them), alone or among all others. */
static void write_preset(const char *path, bool others, const char *without)
{
    gopt_err e = {0};
    gopt_text t = {0};
    for (int i = 0; gopt_passes[i]; i++)
        if ((strncmp(gopt_passes[i]->name, "planted_", 8) && !others) ||
            (without && !strcmp(gopt_passes[i]->name, without)))
            gopt_text_add(&t, "pass.%s: off\n", gopt_passes[i]->name);
    gopt_text_put(&t, "engine.threads: 1\n");
    assert_ok(gopt_file_write_text(path, gopt_text_str(&t), &e), &e);
    gopt_text_fini(&t);
}

typedef struct outcome {
    gopt_study *study;
    gopt_findings *findings;
    const gopt_finding_cluster *c;
    char model[4096];
} outcome;

static void tune(outcome *o, const char *dir, bool others, const char *without)
{
    static char out[4096], preset[4096], cache[4096], path[4096];
    gopt_err e = {0};
    gopt_tune_options t = options;
    gopt_graph *g = test_graph(model_text);
    assert_ok(gopt_model_export(g, test_path(o->model, dir, "it's.onnx"), &e), &e);
    gopt_graph_free(g);
    write_preset(test_path(preset, dir, "planted.yaml"), others, without);
    setenv("GOPT_CACHE_DIR", test_path(cache, dir, "cache"), 1);
    t.model = o->model;
    t.out = test_path(out, dir, "out");
    t.preset = preset;
    gopt_job_interrupted = 0;
    assert_ok(gopt_tune(&t, NULL, &e), &e);
    assert_ok(gopt_study_read(&o->study, test_path(path, out, "study.db"), &e), &e);
    assert_ok(gopt_decide(&o->findings, o->study, &t.goal, &e), &e);
    o->c = &o->findings->clusters[0];
}

static void end(outcome *o)
{
    gopt_findings_free(o->findings);
    gopt_study_close(o->study);
}

static void a_wrong_pass_is_found_and_banned_alone(void **state)
{
    outcome o;
    int pass[GOPT_SETTINGS_MAX];
    tune(&o, *state, true, NULL);
    assert_int_equal(o.study->trials[1].reply.status, GOPT_TRIAL_wrong);
    assert_int_equal(o.study->n_bans, 1);
    assert_string_equal(gopt_passes[o.study->bans[0].pass]->name, "planted_wrong");
    const gopt_trial *standard = gopt_effects_default(o.study), *shown = &o.study->trials[o.study->bans[0].trial];
    assert_int_equal(gopt_config_pipeline(&standard->config, pass), gopt_pass_count() - 1);
    assert_false(gopt_config_pass_on(&standard->config, &gopt_pass_planted_wrong));
    assert_int_equal(shown->reply.status, GOPT_TRIAL_wrong);
    int n = gopt_config_pipeline(&shown->config, pass);
    assert_ptr_equal(gopt_passes[pass[n - 1]], &gopt_pass_planted_wrong); /* the shortest that fails */
    for (int i = shown->id + 1; i < o.study->n_trials; i++)
        if (gopt_config_pass_on(&o.study->trials[i].config, &gopt_pass_planted_wrong))
            assert_int_equal(o.study->trials[i].role, GOPT_ROLE_SEARCH); /* while it was looked for */
    const gopt_finding_preset *first = &o.c->presets[0], *last = &o.c->presets[o.c->n_presets - 1];
    assert_true(o.c->n_presets >= 2 && first->trial == 0);
    assert_string_equal(last->name, "max-autotune");
    assert_int_equal(last->trial, standard->id); /* without the banned one */
    assert_true(last->run_ns < first->run_ns);
    assert_int_equal(o.c->n_bans, 1);
    assert_string_equal(o.c->bans[0].pass, "planted_wrong");
    assert_non_null(strstr(o.c->bans[0].command, "gopt verify --pipeline "));
    assert_non_null(strstr(o.c->bans[0].command, ",planted_wrong --threads 1 --inputs random --seed 7 '"));
    assert_non_null(strstr(o.c->bans[0].command, "it'\"'\"'s.onnx'"));
    end(&o);
}

static const gopt_finding_pair *find_pair(const gopt_finding_cluster *c, const char *first, const char *second)
{
    for (int i = 0; i < c->n_pairs; i++)
        if (!strcmp(c->pairs[i].first, first) && !strcmp(c->pairs[i].second, second))
            return &c->pairs[i];
    fail_msg("no pair %s, %s", first, second);
    return NULL;
}

static const gopt_finding_single *find_single(const gopt_finding_cluster *c, const char *pass)
{
    for (int i = 0; i < c->n_single; i++)
        if (!strcmp(c->single[i].pass, pass))
            return &c->single[i];
    fail_msg("%s was not tried alone", pass);
    return NULL;
}

/* One saves a delay of three; two save one together. */
static void check_attribution(const outcome *o)
{
    const gopt_finding_attribution *a = &o->c->attribution;
    double product = 1;
    assert_true(a->orders > 0 && a->all_orders == 24 && a->n_shares == 4);
    for (int i = 0; i < a->n_shares; i++) {
        const gopt_finding_ratio *gain = &a->shares[i].gain;
        product *= gain->value;
        if (!strcmp(a->shares[i].pass, "planted_idle"))
            assert_true(gain->verdict != GOPT_FINDING_BETTER && gain->verdict != GOPT_FINDING_WORSE);
        else
            assert_true(gain->value > 1.1 || a->orders < a->all_orders);
    }
    assert_true(fabs(product / a->total - 1) < 1e-9 && fabs(a->total - 3) < 0.3);
    /* Deciding again says the same. */
    gopt_err e = {0};
    gopt_findings *again;
    assert_ok(gopt_decide(&again, o->study, &options.goal, &e), &e);
    const gopt_finding_attribution *b = &again->clusters[0].attribution;
    assert_int_equal(b->n_shares, a->n_shares);
    for (int i = 0; i < a->n_shares; i++)
        assert_memory_equal(&a->shares[i].gain, &b->shares[i].gain, sizeof b->shares[i].gain.value * 3);
    gopt_findings_free(again);
}

/* Three delays: each of the first two passes saves one, but not both; the last two save one only together. */
static void a_conflict_and_a_synergy_are_told_from_each_other(void **state)
{
    outcome o;
    tune(&o, *state, false, "planted_wrong");
    const gopt_finding_single *first = find_single(o.c, "planted_first"), *idle_one = find_single(o.c, "planted_idle");
    assert_true(fabs(first->speedup.value - 1.5) < 0.2);
    assert_int_equal(first->speedup.verdict, GOPT_FINDING_BETTER);
    if (first->bottleneck) /* it was traced: two of three delays are left */
        assert_non_null(strstr(first->bottleneck, "PlantedDelay takes"));
    assert_int_equal(idle_one->speedup.verdict, GOPT_FINDING_TIE);
    const gopt_finding_pair *conflict = find_pair(o.c, "planted_first", "planted_rival");
    const gopt_finding_pair *synergy = find_pair(o.c, "planted_opener", "planted_follower");
    assert_true(fabs(conflict->eta.value - 1.5 / (1.5 * 1.5)) < 0.15);
    assert_int_equal(conflict->eta.verdict, GOPT_FINDING_WORSE);
    assert_true(fabs(synergy->eta.value - 1.5) < 0.2);
    assert_int_equal(synergy->eta.verdict, GOPT_FINDING_BETTER);
    assert_non_null(strstr(conflict->why, "planted_rival rewrote 1 place fewer after planted_first (0 instead of 1)"));
    assert_non_null(
        strstr(synergy->why, "planted_follower rewrote 1 place more after planted_opener (1 instead of 0)"));
    /* The other way round there is no conflict, and no synergy. */
    const gopt_finding_pair *reversed = find_pair(o.c, "planted_rival", "planted_first");
    assert_true(fabs(reversed->eta.value - 3 / (1.5 * 1.5)) < 0.2);
    const gopt_finding_pair *late = find_pair(o.c, "planted_follower", "planted_opener");
    assert_true(fabs(late->eta.value - 1) < 0.1);
    assert_int_equal(late->eta.verdict, GOPT_FINDING_TIE);
    check_attribution(&o);
    end(&o);
}

/* A candidate that only the end of the budget stopped, or whose plan is known, is nobody's fault. */
static void the_end_of_the_budget_is_no_failure(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_TRIAL_STATUS_COUNT; i++) {
        gopt_trial t = {.reply.status = (gopt_trial_status)i};
        bool innocent = i == GOPT_TRIAL_ok || i == GOPT_TRIAL_pruned || i == GOPT_TRIAL_timed_out;
        assert_int_equal(gopt_culprit_is_failure(&t), !innocent);
    }
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    gopt_clock_source = now_with_delays;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_budget_is_no_failure),
        D(a_wrong_pass_is_found_and_banned_alone),
        D(a_conflict_and_a_synergy_are_told_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
