/* promise.c: the latency now over the latency when tuned. */
#include "promise.h"

#include <math.h>

static const double SESSION_SLACK = 0.15; /* two sessions of one machine differ by so much */
static const double BUSY_SHARE = 0.5;

/* Of two estimates that know nothing of each other: the widths add. A side without an interval counts as a point. */
static gopt_estimate ratio_of(const gopt_estimate *a, const gopt_estimate *b)
{
    double a_lo = isfinite(a->lo) ? a->lo : a->value, a_hi = isfinite(a->hi) ? a->hi : a->value;
    double b_lo = isfinite(b->lo) ? b->lo : b->value, b_hi = isfinite(b->hi) ? b->hi : b->value;
    return (gopt_estimate){.value = a->value / b->value, .lo = a_lo / b_hi, .hi = a_hi / b_lo};
}

static void put_latency(gopt_text *out, const gopt_estimate *x)
{
    char value[32], lo[32], hi[32];
    gopt_text_put(out, gopt_text_ns(value, x->value));
    if (isfinite(x->lo) && isfinite(x->hi))
        gopt_text_add(out, " [%s, %s]", gopt_text_ns(lo, x->lo), gopt_text_ns(hi, x->hi));
}

static gopt_promise verdict_of(const gopt_estimate *r, double busy_share)
{
    if (!isfinite(r->value))
        return GOPT_PROMISE_UNKNOWN;
    if (r->value > 1 + SESSION_SLACK && r->lo > 1)
        return busy_share > BUSY_SHARE ? GOPT_PROMISE_UNKNOWN : GOPT_PROMISE_SLOWER;
    return r->value < 1 / (1 + SESSION_SLACK) && r->hi < 1 ? GOPT_PROMISE_FASTER : GOPT_PROMISE_KEPT;
}

static void put_verdict(gopt_text *out, gopt_promise p, const gopt_estimate *r)
{
    if (p == GOPT_PROMISE_UNKNOWN)
        gopt_text_put(out, "slower, but the machine is busy with other things");
    else if (p == GOPT_PROMISE_SLOWER)
        gopt_text_add(out, "%.0f %% slower than when tuned", 100 * (r->value - 1));
    else if (p == GOPT_PROMISE_FASTER)
        gopt_text_add(out, "faster than when tuned, which may have been on a busier machine");
    else if (r->lo <= 1 && r->hi >= 1)
        gopt_text_put(out, "no difference beyond the intervals");
    else
        gopt_text_add(out, "within the %.0f %% that two sessions may differ by", 100 * SESSION_SLACK);
}

gopt_promise gopt_promise_judge(const gopt_estimate *now, const gopt_estimate *then, double busy_share,
                                gopt_text *detail)
{
    gopt_estimate r = ratio_of(now, then);
    gopt_promise p = verdict_of(&r, busy_share);
    put_latency(detail, now);
    if (!isfinite(r.value)) {
        gopt_text_put(detail, " now, the manifest says nothing");
        return p;
    }
    gopt_text_put(detail, " now, ");
    put_latency(detail, then);
    gopt_text_add(detail, " when tuned, ratio %.3f [%.3f, %.3f]: ", r.value, r.lo, r.hi);
    put_verdict(detail, p, &r);
    return p;
}

const char *gopt_promise_name(gopt_promise p)
{
    static const char *const names[] = {[GOPT_PROMISE_KEPT] = "unchanged",
                                        [GOPT_PROMISE_FASTER] = "faster",
                                        [GOPT_PROMISE_SLOWER] = "slower",
                                        [GOPT_PROMISE_UNKNOWN] = "unknown"};
    return names[p];
}
