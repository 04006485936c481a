/* test_rounds.c: two lanes are timed in the same circumstances, and opening anew is part of the noise. */
#include <math.h>

#include "rounds.h"
#include "support/compiled.h"
#include "support/test.h"

/* ---- comparing ---- */

/* Rounds of two lanes of 1 ms; the second is `by[k]` times slower in opening k, each sample jitters a little. */
static gopt_rounds made_rounds(const double *by, int openings)
{
    enum { EACH = 20 };
    gopt_rounds r = {.n_lanes = 2, .per_round = 2, .n = openings * EACH, .n_openings = openings};
    for (int k = 0; k < 2; k++)
        r.lane[k].ns = gopt_calloc((size_t)r.n * 2, sizeof(double));
    for (int k = 0; k <= openings; k++)
        r.opening[k] = k * EACH;
    for (int i = 0; i < 2 * r.n; i++) {
        double jitter = 1 + 0.0005 * (i % 7 - 3);
        r.lane[0].ns[i] = 1e6 * jitter;
        r.lane[1].ns[i] = 1e6 * by[i / 2 / EACH] / jitter;
    }
    return r;
}

static gopt_comparison compared(const double *by, int openings)
{
    gopt_rounds r = made_rounds(by, openings);
    gopt_comparison c = gopt_rounds_compare(&r);
    gopt_rounds_fini(&r);
    return c;
}

/* Each opening alone would be a clear verdict; together they show that it is where engines lie. */
static void what_opening_does_is_noise(void **state)
{
    (void)state;
    double by[GOPT_OPENINGS];
    for (int k = 0; k < GOPT_OPENINGS; k++)
        by[k] = k % 3 == 0 ? 0.97 : 1.02 + 0.002 * (k % 4);
    gopt_comparison c = compared(by, GOPT_OPENINGS);
    assert_int_equal(c.verdict, GOPT_VERDICT_TIE);
    assert_true(c.floor > 0.01 && c.ratio.lo < 1 && c.ratio.hi > 1);
}

static void a_difference_in_every_opening_is_found(void **state)
{
    (void)state;
    double by[GOPT_OPENINGS];
    for (int k = 0; k < GOPT_OPENINGS; k++)
        by[k] = 1.05 + 0.001 * (k % 5);
    gopt_comparison c = compared(by, GOPT_OPENINGS);
    assert_int_equal(c.verdict, GOPT_VERDICT_BETTER);
    assert_true(fabs(c.ratio.value - 1.052) < 0.001 && c.floor < 0.005);
    for (int k = 0; k < GOPT_OPENINGS; k++)
        by[k] = 1 / by[k];
    assert_int_equal(compared(by, GOPT_OPENINGS).verdict, GOPT_VERDICT_WORSE);
    assert_int_equal(compared(by, 4).verdict, GOPT_VERDICT_UNKNOWN); /* too few to say */
}

static void a_tie_beside_1_says_why(void **state)
{
    (void)state;
    static const struct {
        gopt_comparison c;
        const char *text;
    } rows[] = {
        {{{.value = 1.408, .lo = 1.09, .hi = 1.785}, 0.247, GOPT_VERDICT_UNKNOWN},
         "tie: within twice the noise floor of 24.7 %"},
        {{{.value = 0.94, .lo = 0.895, .hi = 0.978}, 0.044, GOPT_VERDICT_UNKNOWN},
         "tie: within twice the noise floor of 4.4 %"},
        {{{.value = 1.006, .lo = 1.004, .hi = 1.008}, 0.002, GOPT_VERDICT_UNKNOWN},
         "tie: within 1 % (noise floor 0.2 %)"},
        {{{.value = 1.01, .lo = 0.99, .hi = 1.03}, 0.02, GOPT_VERDICT_UNKNOWN}, "tie (noise floor 2.0 %)"},
        {{{.value = 1.2, .lo = 1.19, .hi = 1.21}, 0.01, GOPT_VERDICT_UNKNOWN}, "better (noise floor 1.0 %)"},
    };
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_comparison c = rows[i].c;
        gopt_text t = {0};
        c.verdict = gopt_verdict_of(&c.ratio, c.floor);
        gopt_verdict_put(&t, &c);
        assert_string_equal(gopt_text_str(&t), rows[i].text);
        gopt_text_fini(&t);
    }
}

/* ---- taking ---- */

typedef struct opener {
    const gopt_plan *plan;
    gopt_engine *open[2];
    gopt_tensor x;
    int order[2 * GOPT_OPENINGS], n, fail_at;
} opener;

static gopt_status open_lane(void *ctx, int lane, gopt_engine **out, gopt_err *e)
{
    opener *o = ctx;
    assert_null(o->open[lane]);
    if (o->n == o->fail_at)
        return gopt_fail(e, GOPT_EIO, "no more");
    GOPT_TRY(gopt_engine_new(&o->open[lane], o->plan, 1, e));
    o->order[o->n++] = lane;
    *out = o->open[lane];
    return gopt_engine_bind(*out, 0, &o->x, e);
}

static void close_lane(void *ctx, int lane)
{
    opener *o = ctx;
    gopt_engine_free(o->open[lane]);
    o->open[lane] = NULL;
}

typedef struct world {
    gopt_plan *plan;
    float x[4];
    opener o;
    gopt_rounds rounds;
} world;

static world take(const char *dir, int lanes, int fail_at, gopt_status expected)
{
    gopt_err e = {0};
    gopt_config c = test_config(NULL);
    world w = {.plan = test_compile("input x float32[4]\na: y float32[4] = Exp(x)\noutput y\n", &c, dir, NULL)};
    w.o = (opener){
        .plan = w.plan, .x = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {4}, .data = w.x}, .fail_at = fail_at};
    gopt_lane_source source = {.open = open_lane, .close = lanes > 1 ? close_lane : NULL, .ctx = &w.o};
    assert_int_equal(gopt_rounds_take(&w.rounds, lanes, &source, 0.1, 1, &e), expected);
    return w;
}

static void put_away(world *w)
{
    gopt_rounds_fini(&w->rounds);
    close_lane(&w->o, 0);
    close_lane(&w->o, 1);
    gopt_plan_free(w->plan);
}

static void lanes_are_opened_in_turns(void **state)
{
    world w = take(*state, 2, -1, GOPT_OK);
    const gopt_rounds *r = &w.rounds;
    assert_true(r->n_openings >= 9 && w.o.n == 2 * r->n_openings);
    for (int k = 0; k < r->n_openings; k++) {
        assert_int_equal(w.o.order[2 * k], k % 2);
        assert_int_equal(w.o.order[2 * k + 1], !(k % 2));
        assert_true(r->opening[k + 1] > r->opening[k]);
    }
    assert_int_equal(r->opening[r->n_openings], r->n);
    for (int lane = 0; lane < 2; lane++) { /* as many samples of one as of the other */
        assert_int_equal(gopt_rounds_latency(r, lane).samples, 2 * r->n);
        for (int i = 0; i < 2 * r->n; i++)
            assert_true(r->lane[lane].ns[i] > 0);
    }
    put_away(&w);
}

static void one_lane_is_opened_once(void **state)
{
    world w = take(*state, 1, -1, GOPT_OK);
    assert_int_equal(w.o.n, 1);
    assert_int_equal(w.rounds.n_openings, 1);
    assert_true(w.rounds.n >= 11);
    assert_int_equal(gopt_rounds_latency(&w.rounds, 0).samples, w.rounds.n);
    put_away(&w);
}

static gopt_rounds one_taken(const char *dir, const char *graph, gopt_tensor *x)
{
    gopt_err e = {0};
    gopt_config c = test_config(NULL);
    gopt_rounds r;
    opener o = {.plan = test_compile(graph, &c, dir, NULL), .x = *x, .fail_at = -1};
    gopt_lane_source source = {.open = open_lane, .ctx = &o};
    assert_ok(gopt_rounds_take(&r, 1, &source, 0.1, 1, &e), &e);
    close_lane(&o, 0);
    gopt_plan_free((gopt_plan *)(uintptr_t)o.plan);
    return r;
}

/* Percentiles are of single inferences, or there are none. */
static void inferences_are_timed_alone_where_the_clock_can(void **state)
{
    static float x[1 << 16];
    gopt_tensor few = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {4}, .data = x};
    gopt_tensor many = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {1 << 16}, .data = x};
    gopt_rounds r = one_taken(*state, "input x float32[4]\na: y float32[4] = Exp(x)\noutput y\n", &few);
    assert_true(r.lane[0].typical_ns < 2000 && r.lane[0].repeats > 1);
    assert_int_equal(gopt_rounds_singles(&r, 0).samples, 0);
    assert_true(isnan(gopt_rounds_singles(&r, 0).p90));
    gopt_rounds_fini(&r);
    r = one_taken(*state, "input x float32[65536]\na: y float32[65536] = Exp(x)\noutput y\n", &many);
    assert_true(r.lane[0].repeats > 1);
    gopt_latency x1 = gopt_rounds_singles(&r, 0), xn = gopt_rounds_latency(&r, 0);
    assert_int_equal(x1.samples, xn.samples * r.lane[0].repeats);
    assert_true(x1.median.value <= x1.p90 && x1.p90 <= x1.p95 && isfinite(x1.mean));
    assert_true(fabs(x1.mean / xn.mean - 1) < 1e-6);
    gopt_rounds_fini(&r);
}

static void a_lane_that_does_not_open_ends_it(void **state)
{
    world w = take(*state, 2, 3, GOPT_EIO);
    put_away(&w);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_opening_does_is_noise),
        cmocka_unit_test(a_difference_in_every_opening_is_found),
        cmocka_unit_test(a_tie_beside_1_says_why),
        D(lanes_are_opened_in_turns),
        D(one_lane_is_opened_once),
        D(inferences_are_timed_alone_where_the_clock_can),
        D(a_lane_that_does_not_open_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
