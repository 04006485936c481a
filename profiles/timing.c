/* timing.c: runs between two looks at the clock. */
#include "timing.h"

#include <math.h>

#include "base/clock.h"
#include "stats.h"

enum { REPEATS_MOST = 1 << 20 };

static gopt_status run_timed(gopt_engine *g, int repeats, double *ns, gopt_err *e)
{
    int64_t begin = gopt_now();
    for (int i = 0; i < repeats; i++)
        GOPT_TRY(gopt_engine_run(g, 0, e));
    *ns = (double)(gopt_now() - begin) / repeats;
    return GOPT_OK;
}

gopt_status gopt_timing_warm(gopt_engine *g, int64_t limit_ns, double *median_ns, gopt_err *e)
{
    enum { WINDOW = 10, LEAST = 5 };
    double ns[WINDOW] = {0}, last = 0;
    int64_t begin = gopt_now();
    int n = 0;
    while (n < LEAST || gopt_now() - begin < limit_ns) {
        GOPT_TRY(run_timed(g, 1, &ns[n++ % WINDOW], e));
        if (n % WINDOW)
            continue;
        double median = gopt_median(ns, WINDOW);
        if (last > 0 && fabs(median - last) <= 0.05 * last)
            break;
        last = median;
    }
    *median_ns = gopt_median(ns, GOPT_MIN(n, (int)WINDOW));
    return GOPT_OK;
}

gopt_status gopt_timing_sample(gopt_engine *g, double min_ns, int *repeats, double *ns, gopt_err *e)
{
    *repeats = GOPT_MAX(*repeats, 1);
    GOPT_TRY(run_timed(g, *repeats, ns, e));
    while (*ns * *repeats < min_ns && *repeats < REPEATS_MOST) { /* too short to trust the clock: once more, longer */
        double wanted = GOPT_MAX(2.0 * *repeats, ceil(1.2 * min_ns / GOPT_MAX(*ns, 1)));
        *repeats = (int)GOPT_MIN(wanted, (double)REPEATS_MOST);
        GOPT_TRY(run_timed(g, *repeats, ns, e));
    }
    return GOPT_OK;
}
