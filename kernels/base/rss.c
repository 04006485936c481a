/* Resident memory from /proc. A process group's members are found by looking through all processes: the kernel lists
 * children only where it was built to. */
#include "base/rss.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

static bool read_proc(const char *process, const char *file, char *buf, size_t size)
{
    char path[320];
    snprintf(path, sizeof(path), "/proc/%s/%s", process, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buf, size - 1);
    close(fd);
    buf[GOPT_MAX(n, 0)] = '\0';
    return n > 0;
}

int64_t gopt_rss_now(void)
{
    char text[128];
    long long pages;
    if (!read_proc("self", "statm", text, sizeof(text)) || sscanf(text, "%*s %lld", &pages) != 1)
        return 0;
    return pages * sysconf(_SC_PAGESIZE);
}

/* "pid (name) state ppid pgrp ..."; the name may hold anything, also parentheses. */
static pid_t group_of(const char *process)
{
    char text[512];
    int group;
    const char *name_end = read_proc(process, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    return name_end && sscanf(name_end + 1, " %*c %*d %d", &group) == 1 ? group : -1;
}

static int64_t peak_of(const char *process)
{
    char text[4096];
    const char *row = read_proc(process, "status", text, sizeof(text)) ? strstr(text, "VmHWM:") : NULL;
    return row ? strtoll(row + 6, NULL, 10) * 1024 : 0; /* a process that has ended has no such row */
}

int64_t gopt_rss_group_peak(pid_t group)
{
    int64_t peak = 0;
    DIR *all = opendir("/proc");
    if (!all)
        return 0;
    for (const struct dirent *d; (d = readdir(all));) /* NOLINT: this stream is ours alone */
        if (isdigit((unsigned char)d->d_name[0]) && atoi(d->d_name) != group && group_of(d->d_name) == group)
            peak = GOPT_MAX(peak, peak_of(d->d_name));
    closedir(all);
    return peak;
}
