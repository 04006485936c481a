/* rss.h: resident memory of processes, from /proc. */
#ifndef GOPT_BASE_RSS_H
#define GOPT_BASE_RSS_H

#include <stdint.h>
#include <sys/types.h>

int64_t gopt_rss_now(void); /* bytes of this process; 0 when unknown */
/* The most that any process now in this process group ever had, not counting its leader; 0 when there is none. */
int64_t gopt_rss_group_peak(pid_t group);

#endif
