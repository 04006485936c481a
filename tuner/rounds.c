/* rounds.c: paired samples in random order. */
#include "rounds.h"

#include <math.h>

#include "base/clock.h"
#include "device.h"
#include "timing.h"
#include "workplace.h"

enum { ROUNDS_MOST = 20000, ROUNDS_LEAST = 11, OPENINGS_LEAST = 9, SINGLES_MOST = 1 << 20 };
static const double SAMPLE_NS = 1e6;                /* a sample takes at least this long */
static const double SINGLE_NS = 2000;               /* an inference this long: the clock is 1 % of it */
static const double WARM_SHARE = 0.25;              /* of the seconds, at most */
static const double CACHES_NS = 20e6;               /* an inference longer than this fills its caches in no time */
static const int64_t WINDOW_NS = 100 * 1000 * 1000; /* between two looks at what else runs */
enum { PAD_LINES = 1024, LINE = 64 };

typedef struct taking {
    gopt_rounds *r;
    const gopt_lane_source *source;
    double seconds;
    gopt_random random;
    int last; /* lane that ran last; -1: none */
    gopt_health then;
    int windows, busy;
} taking;

static gopt_status make_lane(gopt_rounds *r, gopt_err *e)
{
    gopt_lane *l = &r->lane[r->n_lanes++];
    *l = (gopt_lane){.ns = gopt_calloc(2 * ROUNDS_MOST, sizeof *l->ns),
                     .single = gopt_calloc(SINGLES_MOST, sizeof *l->single),
                     .stride = 1};
    return l->ns && l->single ? GOPT_OK : gopt_oom(e);
}

static gopt_status warm(gopt_lane *l, double seconds, gopt_err *e)
{
    int64_t limit = (int64_t)(seconds * 1e9), begin = gopt_now();
    if (l->typical_ns > 0) { /* after the first time it is known how long it takes */
        do
            GOPT_TRY(gopt_engine_run(l->engine, 0, e));
        while (gopt_now() - begin < GOPT_MIN(limit, (int64_t)(10 * l->typical_ns)));
        return GOPT_OK;
    }
    GOPT_TRY(gopt_timing_warm(l->engine, limit, &l->typical_ns, e));
    l->repeats = (int)GOPT_MIN(GOPT_MAX(ceil(SAMPLE_NS / GOPT_MAX(l->typical_ns, 1)), 1), 1e6);
    l->singly = l->typical_ns >= SINGLE_NS;
    return GOPT_OK;
}

/* What the other lane left in the caches is nobody's latency. */
static gopt_status refill(taking *t, int lane, gopt_err *e)
{
    gopt_lane *l = &t->r->lane[lane];
    bool cold = t->last >= 0 && t->last != lane && l->typical_ns < CACHES_NS;
    t->last = lane;
    return cold ? gopt_engine_run(l->engine, 0, e) : GOPT_OK;
}

/* Every other one goes when there are too many, so that those left are of the whole time. */
static void make_room(gopt_lane *l)
{
    if (l->n_single + l->repeats <= SINGLES_MOST)
        return;
    l->n_single /= 2;
    l->stride *= 2;
    for (int i = 0; i < l->n_single; i++)
        l->single[i] = l->single[2 * i];
}

static void keep_single(gopt_lane *l, double ns)
{
    if (++l->skipped < l->stride)
        return;
    l->skipped = 0;
    l->single[l->n_single++] = ns;
}

/* A sample that looks at the clock after each of its inferences. */
static gopt_status sample_singly(gopt_lane *l, double *ns, gopt_err *e)
{
    make_room(l);
    int64_t begin = gopt_now(), last = begin;
    for (int i = 0; i < l->repeats; i++) {
        GOPT_TRY(gopt_engine_run(l->engine, 0, e));
        int64_t now = gopt_now();
        keep_single(l, (double)(now - last));
        last = now;
    }
    *ns = (double)(last - begin) / l->repeats;
    return GOPT_OK;
}

static gopt_status take_sample(gopt_lane *l, double *ns, gopt_err *e)
{
    return l->singly ? sample_singly(l, ns, e) : gopt_timing_sample(l->engine, SAMPLE_NS, &l->repeats, ns, e);
}

static gopt_status take_round(taking *t, gopt_err *e)
{
    gopt_rounds *r = t->r;
    int order[4] = {0, 1, 2, 3}, n = r->n_lanes * r->per_round;
    gopt_random_shuffle(&t->random, order, n);
    for (int i = 0; i < n; i++) {
        int lane = order[i] % r->n_lanes, which = order[i] / r->n_lanes;
        gopt_lane *l = &r->lane[lane];
        GOPT_TRY(refill(t, lane, e));
        GOPT_TRY(take_sample(l, &l->ns[r->per_round * r->n + which], e));
    }
    r->n++;
    return GOPT_OK;
}

static void watch(taking *t)
{
    gopt_health now;
    if (gopt_now() - t->then.at_ns < WINDOW_NS)
        return;
    gopt_health_read(&now);
    t->busy += gopt_health_disturbed(&t->then, &now);
    t->windows++;
    t->then = now;
}

static gopt_status take_until(taking *t, int64_t end, int least, gopt_err *e)
{
    gopt_rounds *r = t->r;
    for (int begin = r->n; r->n < ROUNDS_MOST && (r->n - begin < least || gopt_now() < end);) {
        GOPT_TRY(gopt_workplace_check(e));
        GOPT_TRY(take_round(t, e));
        watch(t);
    }
    return GOPT_OK;
}

/* The lanes take turns in being opened first. Memory that is held meanwhile makes them lie elsewhere each time. */
static gopt_status open_all(taking *t, void **held, gopt_err *e)
{
    gopt_rounds *r = t->r;
    double seconds = WARM_SHARE * t->seconds / r->n_lanes / (t->source->close ? GOPT_OPENINGS : 1);
    for (int k = 0; k < r->n_lanes && t->source->close; k++)
        t->source->close(t->source->ctx, k);
    for (int i = 0; i < r->n_lanes; i++) {
        int lane = (i + r->n_openings) % r->n_lanes;
        held[lane] = gopt_malloc((size_t)(1 + gopt_random_below(&t->random, PAD_LINES)) * LINE);
        GOPT_TRY(t->source->open(t->source->ctx, lane, &r->lane[lane].engine, e));
    }
    for (int i = 0; i < r->n_lanes; i++)
        GOPT_TRY(warm(&r->lane[(i + r->n_openings) % r->n_lanes], seconds, e));
    return GOPT_OK;
}

static gopt_status take_opening(taking *t, int64_t end, int least, gopt_err *e)
{
    gopt_rounds *r = t->r;
    void *held[2] = {NULL};
    gopt_status s = open_all(t, held, e);
    t->last = -1;
    if (!s)
        s = take_until(t, end, least, e);
    r->opening[++r->n_openings] = r->n;
    gopt_free(held[0]);
    gopt_free(held[1]);
    return s;
}

static gopt_status take_all(taking *t, gopt_err *e)
{
    int64_t begin = gopt_now(), span = (int64_t)(t->seconds * 1e9);
    gopt_health_read(&t->then);
    if (!t->source->close)
        return take_opening(t, begin + span, ROUNDS_LEAST, e);
    for (int k = 0; k < GOPT_OPENINGS && (k < OPENINGS_LEAST || gopt_now() < begin + span); k++)
        GOPT_TRY(take_opening(t, begin + span * (k + 1) / GOPT_OPENINGS, 1, e));
    return GOPT_OK;
}

gopt_status gopt_rounds_take(gopt_rounds *r, int n_lanes, const gopt_lane_source *source, double seconds, uint64_t seed,
                             gopt_err *e)
{
    taking t = {.r = r, .source = source, .seconds = seconds};
    *r = (gopt_rounds){.per_round = n_lanes};
    gopt_random_seed(&t.random, seed);
    for (int i = 0; i < n_lanes; i++)
        GOPT_TRY(make_lane(r, e));
    GOPT_TRY(take_all(&t, e));
    r->busy_share = t.windows ? (double)t.busy / t.windows : 0;
    return GOPT_OK;
}

/* ---- comparing ---- */

gopt_latency gopt_rounds_latency(const gopt_rounds *r, int lane)
{
    return gopt_latency_of(r->lane[lane].ns, r->n * r->per_round);
}

gopt_latency gopt_rounds_singles(const gopt_rounds *r, int lane)
{
    return gopt_latency_of(r->lane[lane].single, r->lane[lane].n_single);
}

/* ln of T of the second over T of the first, in the middle of the rounds of one opening. */
static double opening_ratio(const gopt_rounds *r, int opening, double *scratch)
{
    const double *a = r->lane[0].ns, *b = r->lane[1].ns;
    int n = 0;
    for (int i = r->opening[opening]; i < r->opening[opening + 1]; i++)
        scratch[n++] = 0.5 * log(b[2 * i] / a[2 * i] * (b[2 * i + 1] / a[2 * i + 1]));
    return gopt_median(scratch, n);
}

static double half_width(const gopt_estimate *ratio)
{
    return isfinite(ratio->lo) && isfinite(ratio->hi) ? 0.5 * log(ratio->hi / ratio->lo) : 0;
}

/* The two samples of a round, of either lane: they differ by noise alone. */
static double noise_of(const gopt_rounds *r, double *scratch)
{
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < r->n; i++)
            scratch[n++] = log(r->lane[k].ns[2 * i + 1] / r->lane[k].ns[2 * i]);
    gopt_estimate x = gopt_median_estimate(scratch, n, n);
    gopt_estimate same = {.value = exp(x.value), .lo = exp(x.lo), .hi = exp(x.hi)};
    return GOPT_MAX(fabs(x.value), half_width(&same));
}

gopt_comparison gopt_rounds_compare(const gopt_rounds *r)
{
    gopt_comparison c = {.ratio = {.value = NAN, .lo = NAN, .hi = NAN}, .verdict = GOPT_VERDICT_UNKNOWN};
    double each[GOPT_OPENINGS], *scratch = gopt_calloc(2 * (size_t)r->n + 1, sizeof *scratch);
    if (!scratch)
        return c;
    for (int k = 0; k < r->n_openings; k++)
        each[k] = opening_ratio(r, k, scratch);
    gopt_estimate x = gopt_median_estimate(each, r->n_openings, r->n_openings);
    c.ratio = (gopt_estimate){.value = exp(x.value), .lo = exp(x.lo), .hi = exp(x.hi), .n = x.n};
    c.floor = GOPT_MAX(noise_of(r, scratch), half_width(&c.ratio));
    c.verdict = gopt_verdict_of(&c.ratio, c.floor);
    gopt_free(scratch);
    return c;
}

void gopt_rounds_fini(gopt_rounds *r)
{
    for (int k = 0; k < 2; k++) {
        gopt_free(r->lane[k].ns);
        gopt_free(r->lane[k].single);
    }
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

void gopt_verdict_put(gopt_text *t, const gopt_comparison *c)
{
    double percent = 100 * c->floor;
    bool excludes = c->ratio.lo > 1 || c->ratio.hi < 1;
    gopt_text_put(t, gopt_verdict_name(c->verdict));
    if (c->verdict != GOPT_VERDICT_TIE || !excludes)
        gopt_text_add(t, " (noise floor %.1f %%)", percent);
    else if (gopt_verdict_least(c->floor) > gopt_verdict_least(0))
        gopt_text_add(t, ": within twice the noise floor of %.1f %%", percent);
    else
        gopt_text_add(t, ": within 1 %% (noise floor %.1f %%)", percent);
}
