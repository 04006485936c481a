/* Processor quotas of control groups, both versions. A process in a container may see its group's path as it is
 * outside; such a path is not there under the mount, and then the mount's root is the group. */
#include "base/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static bool read_line(char *buf, size_t size, const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX)
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool got = fgets(buf, (int)size, f) != NULL;
    fclose(f);
    return got;
}

/* Processors of one group as quota over period; 0 when it has no limit. */
static double quota_v2(const char *folder)
{
    char line[128], *rest;
    if (!read_line(line, sizeof(line), folder, "cpu.max"))
        return 0;
    double quota = strtod(line, &rest); /* "max 100000" reads as 0 */
    double period = strtod(rest, NULL);
    return quota > 0 && period > 0 ? quota / period : 0;
}

static double quota_v1(const char *folder)
{
    char quota[64], period[64];
    if (!read_line(quota, sizeof(quota), folder, "cpu.cfs_quota_us") ||
        !read_line(period, sizeof(period), folder, "cpu.cfs_period_us"))
        return 0;
    double q = strtod(quota, NULL), p = strtod(period, NULL); /* -1: none */
    return q > 0 && p > 0 ? q / p : 0;
}

/* The least quota from mount/path up to mount itself. */
static double least(const char *mount, const char *path, double (*quota)(const char *folder))
{
    char folder[PATH_MAX];
    double found = 0;
    if (snprintf(folder, sizeof(folder), "%s%s", mount, path) >= PATH_MAX)
        return 0;
    size_t root = strlen(mount);
    for (;;) {
        double q = quota(folder);
        if (q > 0 && (found <= 0 || q < found))
            found = q;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root)
            return found;
        *slash = '\0';
    }
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ',') && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* "0::/path" is version 2; "4:cpu,cpuacct:/path" is version 1, mounted in a folder named after its controllers. */
static double line_quota(char *line, const char *mount)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return 0;
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    if (*controllers == '\0')
        return least(mount, path, quota_v2);
    char folder[PATH_MAX];
    if (!has_word(controllers, "cpu") || snprintf(folder, sizeof(folder), "%s/%s", mount, controllers) >= PATH_MAX)
        return 0;
    return least(folder, path, quota_v1);
}

int gopt_cgroup_cpus(const char *membership, const char *mount)
{
    FILE *f = fopen(membership, "re");
    if (!f)
        return 0;
    char line[PATH_MAX];
    double found = 0;
    while (fgets(line, sizeof(line), f)) {
        double q = line_quota(line, mount);
        if (q > 0 && (found <= 0 || q < found))
            found = q;
    }
    fclose(f);
    /* Rounded down: one spinning thread more than the quota pays for gets all of them throttled. */
    return found <= 0 ? 0 : found >= INT_MAX ? INT_MAX : GOPT_MAX(1, (int)found);
}
