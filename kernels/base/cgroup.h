/* cgroup.h: the processor quota that a container or service manager gives this process. */
#ifndef GOPT_BASE_CGROUP_H
#define GOPT_BASE_CGROUP_H

/* Whole processors within the quota, at least 1; 0 when there is none. `membership` is the text of /proc/self/cgroup's
 * kind, `mount` where the control groups are mounted (version 1 or 2). The tightest quota on the way up counts. */
int gopt_cgroup_cpus(const char *membership, const char *mount);

#endif
