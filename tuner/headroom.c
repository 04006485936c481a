/* headroom.c: free memory, of the machine and of the container. */
#include "headroom.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

size_t gopt_headroom(void)
{
    return 0;
}

#else

static const double SHARE = 0.8; /* of what is free */

/* The first number after `key` in a file; -1 when there is none ("max" means no limit). */
static double read_number(const char *path, const char *key)
{
    char line[256];
    double v = -1;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%lf", &v) == 1)
            break;
    if (f)
        fclose(f);
    return v;
}

static double available(void)
{
    double kib = read_number("/proc/meminfo", "MemAvailable:");
    double most = read_number("/sys/fs/cgroup/memory.max", ""), used = read_number("/sys/fs/cgroup/memory.current", "");
    double cache =
        read_number("/sys/fs/cgroup/memory.stat", "inactive_file "); /* counted as used, given back at need */
    double bytes = kib > 0 ? 1024 * kib : (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return most > 0 && used >= 0 ? GOPT_MIN(bytes, GOPT_MAX(most - used + GOPT_MAX(cache, 0), 0)) : bytes;
}

size_t gopt_headroom(void)
{
    struct rlimit own;
    double pages = read_number("/proc/self/statm", ""), page = (double)sysconf(_SC_PAGESIZE);
    double bytes = GOPT_MAX(pages, 0) * page + SHARE * available();
    if (!getrlimit(RLIMIT_AS, &own) && own.rlim_cur != RLIM_INFINITY)
        bytes = GOPT_MIN(bytes, (double)own.rlim_cur);
    return (size_t)bytes;
}

#endif
