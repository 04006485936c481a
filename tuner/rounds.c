/* rounds.c: paired samples in random order. */
#include "rounds.h"

#include <math.h>

#include "base/clock.h"
#include "device.h"
#include "timing.h"
#include "workplace.h"

enum { ROUNDS_MOST = 20000, ROUNDS_LEAST = 11 };
static const double SAMPLE_NS = 1e6;                /* a sample takes at least this long */
static const double WARM_SHARE = 0.25;              /* of the seconds, at most */
static const int64_t WINDOW_NS = 100 * 1000 * 1000; /* between two looks at what else runs */

static gopt_status make_lane(gopt_rounds *r, gopt_engine *engine, gopt_err *e)
{
    gopt_lane *l = &r->lane[r->n_lanes++];
    *l = (gopt_lane){.engine = engine, .ns = gopt_calloc(ROUNDS_MOST, sizeof *l->ns)};
    return l->ns ? GOPT_OK : gopt_oom(e);
}

static gopt_status warm(gopt_lane *l, double seconds, gopt_err *e)
{
    double median;
    GOPT_TRY(gopt_timing_warm(l->engine, (int64_t)(seconds * 1e9), &median, e));
    l->repeats = (int)GOPT_MIN(GOPT_MAX(ceil(SAMPLE_NS / GOPT_MAX(median, 1)), 1), 1e6);
    return GOPT_OK;
}

/* Places of a round: the lanes, and with two of them the first one again. */
static gopt_status take_round(gopt_rounds *r, gopt_random *random, gopt_err *e)
{
    int order[3] = {0, 1, 2}, n = r->n_lanes > 1 ? 3 : 1;
    gopt_random_shuffle(random, order, n);
    for (int i = 0; i < n; i++) {
        gopt_lane *l = &r->lane[order[i] == 1];
        double *to = order[i] == 2 ? r->again : l->ns;
        GOPT_TRY(gopt_timing_sample(l->engine, SAMPLE_NS, &l->repeats, &to[r->n], e));
    }
    r->n++;
    return GOPT_OK;
}

static gopt_status take_all(gopt_rounds *r, double seconds, gopt_random *random, gopt_err *e)
{
    int64_t end = gopt_now() + (int64_t)(seconds * 1e9);
    int windows = 0, busy = 0;
    gopt_health then, now;
    for (int i = 0; i < r->n_lanes; i++)
        GOPT_TRY(warm(&r->lane[i], WARM_SHARE * seconds / r->n_lanes, e));
    gopt_health_read(&then);
    while (r->n < ROUNDS_MOST && (r->n < ROUNDS_LEAST || gopt_now() < end)) {
        GOPT_TRY(gopt_workplace_check(e));
        GOPT_TRY(take_round(r, random, e));
        if (gopt_now() - then.at_ns < WINDOW_NS)
            continue;
        gopt_health_read(&now);
        busy += gopt_health_disturbed(&then, &now);
        windows++;
        then = now;
    }
    r->busy_share = windows ? (double)busy / windows : 0;
    return GOPT_OK;
}

gopt_status gopt_rounds_take(gopt_rounds *r, gopt_engine *first, gopt_engine *second, double seconds, uint64_t seed,
                             gopt_err *e)
{
    gopt_random random;
    *r = (gopt_rounds){.n_lanes = 0};
    gopt_random_seed(&random, seed);
    GOPT_TRY(make_lane(r, first, e));
    if (second) {
        GOPT_TRY(make_lane(r, second, e));
        if (!(r->again = gopt_calloc(ROUNDS_MOST, sizeof *r->again)))
            return gopt_oom(e);
    }
    return take_all(r, seconds, &random, e);
}

gopt_comparison gopt_rounds_compare(const gopt_rounds *r)
{
    gopt_comparison c = {.ratio = gopt_paired_ratio(r->lane[1].ns, r->lane[0].ns, r->n)};
    gopt_estimate same = gopt_paired_ratio(r->again, r->lane[0].ns, r->n);
    c.floor = fabs(log(same.value));
    if (isfinite(same.lo) && isfinite(same.hi))
        c.floor = GOPT_MAX(c.floor, 0.5 * log(same.hi / same.lo));
    c.verdict = gopt_verdict_of(&c.ratio, c.floor);
    return c;
}

void gopt_rounds_fini(gopt_rounds *r)
{
    gopt_free(r->lane[0].ns);
    gopt_free(r->lane[1].ns);
    gopt_free(r->again);
    *r = (gopt_rounds){.n_lanes = 0};
}

const char *gopt_verdict_name(gopt_verdict v)
{
    static const char *const names[] = {[GOPT_VERDICT_UNKNOWN] = "unknown",
                                        [GOPT_VERDICT_TIE] = "tie",
                                        [GOPT_VERDICT_BETTER] = "better",
                                        [GOPT_VERDICT_WORSE] = "worse"};
    return names[v];
}
