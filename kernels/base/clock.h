/* clock.h: time, replaceable in tests. */
#ifndef GOPT_BASE_CLOCK_H
#define GOPT_BASE_CLOCK_H

#include <stdint.h>

#define GOPT_NS_PER_S 1000000000LL

extern int64_t (*gopt_clock_source)(void); /* monotonic nanoseconds; tests may replace it */
int64_t gopt_now(void);                    /* monotonic nanoseconds */
int64_t gopt_clock_monotonic(void);        /* the source by default: for waiting, which no test may stop */
int64_t gopt_cpu_now(void);                /* CPU nanoseconds used by this process */
int64_t gopt_cpu_thread(void);             /* CPU nanoseconds used by this thread */

#endif
