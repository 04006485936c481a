/* test_noise.c: what noise alone looks like in the findings: passes without an effect, pairs and shares of no gain. The
 * noise is that of a busy virtual machine: recorded ratios of the baseline to itself, drawn at random, on a speed that
 * drifts, and a synthetic one with rare long interruptions. */
#include <math.h>
#include <sqlite3.h>

#include "decide.h"
#include "support/made_study.h"
#include "support/test.h"

/* ln of one run over another of the same engine in the same round, times 10^4: 160 rounds of 33 us runs on two shared
 * cores while they built other things. */
static const int16_t recorded[] = {
    1240,  -1179, 1262,  -60,   -751,  -446,  -289,  -973,  -417,  177,   -1510, 376,  -539,  159,   32,   -669,
    -1943, -1033, -65,   1361,  12,    -1542, -979,  -1696, 14870, -7360, 1520,  -663, -1492, 1685,  -290, -296,
    1633,  -81,   29,    -937,  -1316, 1044,  -57,   69,    1242,  858,   -1187, -149, -246,  568,   -582, 1263,
    -1325, -1216, 1242,  411,   1355,  180,   546,   -110,  -106,  -2192, -246,  1563, 533,   -181,  -416, -490,
    381,   -548,  -850,  -1381, -1993, 55,    1918,  -1176, 231,   -291,  1636,  1180, 1447,  1920,  453,  -250,
    -163,  -1128, 1126,  -1489, -946,  639,   1467,  1692,  148,   1335,  -105,  -854, -940,  562,   -65,  -86,
    834,   -1928, -242,  -379,  163,   -209,  -1731, 596,   -690,  -197,  -792,  281,  489,   -5583, -857, 1222,
    -439,  -591,  -493,  268,   -699,  1396,  340,   -737,  -1797, 730,   -253,  -151, -1797, 515,   328,  631,
    -960,  142,   -640,  -240,  -1843, -1693, 1236,  150,   -597,  -664,  14896, 112,  134,   161,   -114, -181,
    2220,  -1055, -1380, -861,  684,   -243,  759,   592,   1311,  -260,  -831,  -748, 1509,  702,   1959, 215};

typedef double noise(gopt_random *r);

/* A ratio of two samples has the noise of both: each gets half of its variance. */
static double recorded_noise(gopt_random *r)
{
    double x = recorded[gopt_random_below(r, GOPT_COUNT(recorded))] * 1e-4 / sqrt(2.0);
    return gopt_random_below(r, 2) ? x : -x;
}

static double synthetic_noise(gopt_random *r)
{
    double u = 1 - gopt_random_unit(r), x = 0.01 * sqrt(-2 * log(u)) * cos(6.283185307179586 * gopt_random_unit(r));
    return gopt_random_below(r, 25) ? x : x + gopt_random_unit(r); /* one in 25 is interrupted */
}

enum { SINGLES = 8, PAIRS = 3, REPEATS = 100, NONE_LEAST = 95 };

static const char about[] = "{\"seed\":1,\"budget_s\":60,\"elapsed_s\":59,\"stopped\":\"budget\",\"shapes\":\"\"}";

typedef struct world {
    noise *draw;
    gopt_random random;
    gopt_study *study;
} world;

static void add_rounds(world *w, const int *trial, const double *ms, int n, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        int round = w->study->next_round;
        double speed = 1 + 0.4 * sin(0.05 * round);
        test_study_sample(w->study, 0, round, 10 * speed * exp(w->draw(&w->random)));
        test_study_sample(w->study, 0, round, 10 * speed * exp(w->draw(&w->random)));
        for (int i = 0; i < n; i++)
            test_study_sample(w->study, trial[i], round, ms[i] * speed * exp(w->draw(&w->random)));
    }
}

/* All trials take as long as the baseline: singles and pairs of passes that do nothing, in batches as a job makes them.
 * gain: what the last single saves. */
static void play(world *w, const char *dir, uint64_t seed, int rounds, double gain)
{
    enum { BATCH = 4 };
    gopt_err e = {0};
    int trial[BATCH];
    double ms[BATCH];
    gopt_random_seed(&w->random, seed);
    w->study = test_study_make(dir, NULL, NULL, 0, 0);
    sqlite3_exec(w->study->db, "pragma synchronous = off", NULL, NULL, NULL); /* hundreds of them, and none is kept */
    assert_ok(gopt_study_set(w->study, "about", about, &e), &e);
    add_rounds(w, (const int[]){1}, (const double[]){10}, 1, rounds);
    for (int i = 0, n = 0; i < SINGLES + PAIRS; i++) {
        bool single = i < SINGLES;
        ms[n] = i == SINGLES - 1 ? 10 / gain : 10;
        trial[n++] = test_study_add(w->study, single ? GOPT_ROLE_SINGLE : GOPT_ROLE_PAIR, single ? i : 0,
                                    single ? -1 : i - SINGLES + 1, 10, 100);
        if (n == BATCH || i == SINGLES + PAIRS - 1) {
            add_rounds(w, trial, ms, n, rounds);
            n = 0;
        }
    }
}

typedef struct counts {
    int none, single, pair; /* repeats in which all have no effect; false alarms */
} counts;

static counts repeat(noise *draw, const char *dir, int rounds)
{
    counts k = {0};
    for (int i = 0; i < REPEATS; i++) {
        gopt_err e = {0};
        gopt_findings *f;
        world w = {.draw = draw};
        int single = 0, pair = 0;
        play(&w, dir, 1000 + (uint64_t)i, rounds, 1);
        assert_ok(gopt_decide(&f, w.study, &gopt_goal_default, &e), &e);
        const gopt_finding_cluster *c = &f->clusters[0];
        assert_true(c->n_single == SINGLES && c->n_pairs == PAIRS);
        for (int s = 0; s < c->n_single; s++)
            single += c->single[s].speedup.verdict != GOPT_FINDING_TIE;
        for (int s = 0; s < c->n_pairs; s++)
            pair += c->pairs[s].eta.verdict != GOPT_FINDING_TIE;
        k.none += single + pair == 0;
        k.single += single;
        k.pair += pair;
        gopt_findings_free(f);
        gopt_study_close(w.study);
    }
    return k;
}

static void check_none(noise *draw, const char *name, const char *dir)
{
    static const int rounds[] = {9, 31};
    for (int i = 0; i < GOPT_COUNT(rounds); i++) {
        counts k = repeat(draw, dir, rounds[i]);
        printf("%s noise, %d rounds: %d of %d repeats without a false alarm (%d singles, %d pairs)\n", name, rounds[i],
               k.none, REPEATS, k.single, k.pair);
        assert_true(k.none >= NONE_LEAST);
    }
}

static void recorded_noise_is_no_effect(void **state)
{
    check_none(recorded_noise, "recorded", *state);
}

static void synthetic_noise_is_no_effect(void **state)
{
    check_none(synthetic_noise, "synthetic", *state);
}

/* The test would be worth nothing if everything had no effect. */
static void an_effect_is_found_in_the_noise(void **state)
{
    int found = 0;
    for (int i = 0; i < REPEATS; i++) {
        gopt_err e = {0};
        gopt_findings *f;
        world w = {.draw = recorded_noise};
        play(&w, *state, 5000 + (uint64_t)i, 31, 1.3);
        assert_ok(gopt_decide(&f, w.study, &gopt_goal_default, &e), &e);
        found += f->clusters[0].single[SINGLES - 1].speedup.verdict == GOPT_FINDING_BETTER;
        gopt_findings_free(f);
        gopt_study_close(w.study);
    }
    printf("a gain of 1.3 is found in %d of %d repeats\n", found, REPEATS);
    assert_true(found >= 90);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(recorded_noise_is_no_effect),
        D(synthetic_noise_is_no_effect),
        D(an_effect_is_found_in_the_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
