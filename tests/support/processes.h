/* processes.h: who has started whom, from /proc. */
#ifndef GOPT_TEST_PROCESSES_H
#define GOPT_TEST_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

/* Children of `parent` that have not ended; returns their number. */
int test_children(pid_t parent, pid_t *child, int max);
/* Whether it runs: neither gone nor waiting to be reaped. */
bool test_is_running(pid_t pid);
/* Waits for its end, at most that long. */
bool test_ends_within(pid_t pid, double seconds);

#endif
