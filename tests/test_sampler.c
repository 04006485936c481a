/* test_sampler.c: every sampler on spaces with a known minimum: nothing twice, nothing outside, the same by the same
 * seed. */
#include "sampler.h"

#include <math.h>

#include "support/test.h"

enum { SEEN_MAX = 700 };

typedef double cost_function(const gopt_config *c);

typedef struct play {
    gopt_config at[SEEN_MAX];
    gopt_observation seen[SEEN_MAX];
    int n;
    bool ended; /* the sampler knew no further one */
} play;

static void add_row(gopt_space *s, const char *name, const int64_t *value, int n)
{
    int row = gopt_setting_find(name);
    assert_true(row >= 0);
    s->row[s->n_rows] = row;
    s->n_values[s->n_rows] = n;
    memcpy(s->value[s->n_rows++], value, (size_t)n * sizeof *value);
}

static const int64_t off_on[] = {0, 1}, one_to_three[] = {1, 2, 3},
                     one_to_sixteen[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* The planner matters only where reuse is on: 2 * 3 * (1 + 2) assignments that differ. */
static gopt_space *small_space(void)
{
    static gopt_space s;
    s.n_rows = 0;
    gopt_config_default(&s.start);
    add_row(&s, "pass.drop_dead", off_on, 2);
    add_row(&s, "pass.reuse_memory", off_on, 2);
    add_row(&s, "reuse_memory.planner", off_on, 2);
    add_row(&s, "engine.threads", one_to_three, 3);
    return &s;
}
enum { SMALL_SIZE = 18 };

static gopt_space *large_space(void)
{
    static gopt_space s;
    static const char *const switches[] = {"pass.drop_dead",    "pass.fold_const", "pass.drop_identity",
                                           "pass.merge_common", "pass.prepack",    "pass.reuse_memory",
                                           "pass.alias_views"};
    s.n_rows = 0;
    gopt_config_default(&s.start);
    for (int i = 0; i < GOPT_COUNT(switches); i++)
        add_row(&s, switches[i], off_on, 2);
    add_row(&s, "engine.threads", one_to_sixteen, 16);
    return &s;
}

static int64_t value(const gopt_config *c, const char *name)
{
    return c->v[gopt_setting_find(name)];
}

/* Convex, its minimum 1 at threads 11, drop_dead and prepack off, everything else on. */
static double valley(const gopt_config *c)
{
    return 1 + (double)llabs(value(c, "engine.threads") - 11) + 3 * (double)value(c, "pass.drop_dead") +
           2 * (double)value(c, "pass.prepack") + 4 * (double)!value(c, "pass.fold_const") +
           (double)!value(c, "pass.alias_views");
}

/* drop_dead and prepack together off are best, each alone is worse than neither: no single change leads there. */
static double trap(const gopt_config *c)
{
    bool a = !value(c, "pass.drop_dead"), b = !value(c, "pass.prepack");
    return (a && b ? 1 : a || b ? 30 : 10) + (double)llabs(value(c, "engine.threads") - 3);
}

static void run(play *p, const gopt_sampler *sampler, const gopt_space *s, cost_function *cost, uint64_t seed, int most)
{
    gopt_random r;
    gopt_random_seed(&r, seed);
    p->ended = false;
    for (p->n = 0; p->n < most; p->n++) {
        gopt_config *c = &p->at[p->n];
        if (!sampler->next(s, p->seen, p->n, &r, c)) {
            p->ended = true;
            return;
        }
        assert_false(gopt_space_seen(c, p->seen, p->n));
        bool fails = value(c, "engine.threads") == 2; /* some candidates have no score */
        p->seen[p->n] = (gopt_observation){.config = c, .ok = !fails, .score = fails ? NAN : cost(c)};
    }
}

/* Every row that may vary has one of its values, every other one that of the start; idle rows are defaults. */
static void assert_inside(const gopt_space *s, const gopt_config *c)
{
    gopt_config normal = *c;
    gopt_config_normalize(&normal);
    assert_true(gopt_config_equal(c, &normal));
    for (int i = 0; i < gopt_setting_count(); i++) {
        bool allowed = c->v[i] == s->start.v[i] || c->v[i] == gopt_setting_at(i)->knob->init;
        for (int k = 0; k < s->n_rows; k++)
            for (int v = 0; s->row[k] == i && v < s->n_values[k]; v++)
                allowed = allowed || s->value[k][v] == c->v[i];
        assert_true(allowed);
    }
}

static void every_sampler_stays_inside_without_repetition(void **state)
{
    (void)state;
    static play p;
    for (int k = 0; gopt_samplers[k]; k++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            const gopt_space *s = seed == 2 ? small_space() : large_space();
            run(&p, gopt_samplers[k], s, valley, seed, 100);
            assert_true(p.n > 10);
            for (int i = 0; i < p.n; i++)
                assert_inside(s, &p.at[i]);
        }
}

static void the_same_seed_gives_the_same_order(void **state)
{
    (void)state;
    static play a, b, c;
    for (int k = 0; gopt_samplers[k]; k++) {
        run(&a, gopt_samplers[k], large_space(), valley, 7, 60);
        run(&b, gopt_samplers[k], large_space(), valley, 7, 60);
        run(&c, gopt_samplers[k], large_space(), valley, 8, 60);
        assert_int_equal(a.n, b.n);
        bool differs = a.n != c.n;
        for (int i = 0; i < a.n; i++) {
            assert_true(gopt_config_equal(&a.at[i], &b.at[i]));
            differs = differs || !gopt_config_equal(&a.at[i], &c.at[i]);
        }
        assert_int_equal(differs, strcmp(gopt_samplers[k]->name, "exhaustive") != 0);
    }
}

/* Small spaces are visited wholly by every sampler, then it says that there is no more. */
static void a_small_space_is_exhausted(void **state)
{
    (void)state;
    static play p;
    for (int k = 0; gopt_samplers[k]; k++) {
        run(&p, gopt_samplers[k], small_space(), valley, 3, 100);
        assert_true(p.ended);
        assert_int_equal(p.n, SMALL_SIZE);
    }
}

static void a_space_of_nothing_has_the_start_only(void **state)
{
    (void)state;
    static play p;
    static gopt_space s;
    s.n_rows = 0;
    gopt_config_default(&s.start);
    assert_true(gopt_space_size(&s) == 1);
    for (int k = 0; gopt_samplers[k]; k++) {
        run(&p, gopt_samplers[k], &s, valley, 1, 5);
        assert_true(p.ended && p.n <= 1);
        assert_true(p.n == 0 || gopt_config_equal(&p.at[0], &s.start));
        p.seen[0] = (gopt_observation){.config = &s.start, .ok = true, .score = 1};
        gopt_random r;
        gopt_random_seed(&r, 1);
        assert_false(gopt_samplers[k]->next(&s, p.seen, 1, &r, &p.at[0]));
    }
}

static double best_of(const play *p)
{
    int best = gopt_space_best(p->seen, p->n);
    assert_true(best >= 0);
    return p->seen[best].score;
}

static void the_neighbourhood_search_finds_a_minimum(void **state)
{
    (void)state;
    static play p;
    const gopt_sampler *s = gopt_sampler_find("neighbourhood");
    assert_true(gopt_space_size(large_space()) == 2048);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run(&p, s, large_space(), valley, seed, 300);
        assert_true(best_of(&p) == 1);
        run(&p, s, large_space(), trap, seed, SEEN_MAX);
        assert_true(best_of(&p) == 1);
    }
}

/* Random needs most of the space for what the neighbourhood search finds in a part of it. */
static void random_is_a_yardstick(void **state)
{
    (void)state;
    static play p;
    double sum = 0, with = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run(&p, gopt_sampler_find("random"), large_space(), valley, seed, 60);
        sum += best_of(&p);
        run(&p, gopt_sampler_find("neighbourhood"), large_space(), valley, seed, 60);
        with += best_of(&p);
    }
    assert_true(with < sum);
}

static void samplers_are_found_by_name(void **state)
{
    (void)state;
    assert_non_null(gopt_sampler_find("random"));
    assert_non_null(gopt_sampler_find("exhaustive"));
    assert_null(gopt_sampler_find("auto"));
    assert_null(gopt_sampler_find(""));
    for (int k = 0; gopt_samplers[k]; k++) {
        assert_true(gopt_sampler_find(gopt_samplers[k]->name) == gopt_samplers[k]);
        assert_true(gopt_samplers[k]->doc[0]);
    }
    gopt_observation none = {.ok = false};
    assert_int_equal(gopt_space_best(&none, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampler_stays_inside_without_repetition),
        cmocka_unit_test(the_same_seed_gives_the_same_order),
        cmocka_unit_test(a_small_space_is_exhausted),
        cmocka_unit_test(a_space_of_nothing_has_the_start_only),
        cmocka_unit_test(the_neighbourhood_search_finds_a_minimum),
        cmocka_unit_test(random_is_a_yardstick),
        cmocka_unit_test(samplers_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
