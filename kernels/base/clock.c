/* Time from the system's clocks. */
#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * GOPT_NS_PER_S + t.tv_nsec;
}

int64_t gopt_clock_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t (*gopt_clock_source)(void) = gopt_clock_monotonic;

int64_t gopt_now(void)
{
    return gopt_clock_source();
}

int64_t gopt_cpu_now(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t gopt_cpu_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
