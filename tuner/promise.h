/* promise.h: whether a deployment still runs as its manifest promised. */
#ifndef GOPT_PROMISE_H
#define GOPT_PROMISE_H

#include "base/text.h"
#include "stats.h"

typedef enum gopt_promise {
    GOPT_PROMISE_KEPT,
    GOPT_PROMISE_FASTER,
    GOPT_PROMISE_SLOWER,
    GOPT_PROMISE_UNKNOWN
} gopt_promise;

/* Of the median latency now against the one of the manifest, both with intervals, ns: faster or slower only when their
 * ratio's interval excludes 1 and the ratio is beyond what two sessions of one machine differ by. busy_share: of the
 * time measured now, in which the machine was busy with other things; what is slow then, is unknown. Says in `detail`
 * what was compared and how far apart it is. */
gopt_promise gopt_promise_judge(const gopt_estimate *now, const gopt_estimate *then, double busy_share,
                                gopt_text *detail);
const char *gopt_promise_name(gopt_promise p); /* "unchanged", "faster", "slower", "unknown" */

#endif
