/* device.c: reading the machine. */
#include "device.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/hash.h"
#include "build/cc.h"

/* The first line of a file that starts with `key`, after it; empty when there is none. */
static void read_line(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    FILE *f = fopen(path, "r");
    out[0] = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) {
            snprintf(out, size, "%.*s", (int)strcspn(line + strlen(key), "\n"), line + strlen(key));
            break;
        }
    if (f)
        fclose(f);
}

static void read_hypervisor(char *out, size_t size)
{
    char flags[32];
    read_line("/sys/hypervisor/type", "", out, size);
    if (out[0])
        return;
    read_line("/sys/class/dmi/id/sys_vendor", "", flags, sizeof flags);
    snprintf(out, size, "%s", flags[0] ? flags : "unknown");
}

void gopt_device_read(gopt_device *d)
{
    struct utsname u;
    char hex[33];
    *d = (gopt_device){.cores = gopt_cpu_count()};
    snprintf(d->name, sizeof d->name, "%s", gopt_cpu_name());
    snprintf(d->isa, sizeof d->isa, "%s", gopt_isa_name(gopt_cpu_isa()));
    if (!uname(&u))
        snprintf(d->kernel, sizeof d->kernel, "%.40s %.40s", u.sysname, u.release);
    read_hypervisor(d->hypervisor, sizeof d->hypervisor);
    snprintf(d->compiler, sizeof d->compiler, "%s", gopt_cc_find()->path[0] ? gopt_cc_find()->identity : "none");
    d->l1 = (int64_t)gopt_cpu_cache(1);
    d->l2 = (int64_t)gopt_cpu_cache(2);
    d->l3 = (int64_t)gopt_cpu_cache(3);
    d->memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    gopt_text t = {0};
    gopt_text_add(&t, "%s|%s|%s|%s|%d|%lld|%lld|%lld", d->name, d->isa, d->hypervisor, d->compiler, d->cores,
                  (long long)d->l1, (long long)d->l2, (long long)d->l3);
    snprintf(d->fingerprint, sizeof d->fingerprint, "%s", gopt_hash_hex(hex, gopt_hash_bytes(gopt_text_str(&t), t.n)));
    gopt_text_fini(&t);
}

/* Second number of a thread's schedstat, ns: the time it was ready to run but did not. -1: there is no such file. */
static double waited_by(const char *thread)
{
    char path[64], line[128];
    double ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    read_line(path, "", line, sizeof line);
    return sscanf(line, "%lf %lf", &ran, &waited) == 2 ? waited : -1;
}

enum { THREADS_LOOKED_AT = 64 }; /* a file each */

double gopt_health_waited(void)
{
    double ns = 0;
    int n = 0;
    DIR *threads = opendir("/proc/self/task");
    for (const struct dirent *one; threads && n < THREADS_LOOKED_AT && (one = readdir(threads));) {
        double waited = one->d_name[0] == '.' ? -1 : waited_by(one->d_name);
        if (waited < 0)
            continue;
        ns += waited;
        n++;
    }
    if (threads)
        closedir(threads);
    return n ? ns / (double)GOPT_NS_PER_S : -1;
}

static void read_processors(gopt_health *h)
{
    char line[256];
    unsigned long long user, nice, system, idle, wait, irq, soft, steal;
    double tick = 1 / (double)sysconf(_SC_CLK_TCK);
    read_line("/proc/stat", "cpu ", line, sizeof line);
    if (sscanf(line, "%llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft,
               &steal) != 8)
        return;
    h->steal_s = (double)steal * tick;
    h->busy_s = (double)(user + nice + system + irq + soft) * tick;
}

void gopt_health_read(gopt_health *h)
{
    char line[256];
    struct rusage own, children;
    *h = (gopt_health){.at_ns = gopt_now(), .pressure_us = -1, .busy_s = -1};
    h->own_s = (double)gopt_cpu_now() / (double)GOPT_NS_PER_S;
    h->waited_s = gopt_health_waited();
    read_processors(h);
    read_line("/proc/pressure/cpu", "some ", line, sizeof line);
    const char *total = strstr(line, "total=");
    if (total)
        sscanf(total, "total=%lf", &h->pressure_us);
    if (!getrusage(RUSAGE_SELF, &own) && !getrusage(RUSAGE_CHILDREN, &children))
        h->switches = own.ru_nivcsw + children.ru_nivcsw;
}

static double seconds_between(const gopt_health *before, const gopt_health *after)
{
    return (double)(after->at_ns - before->at_ns) / (double)GOPT_NS_PER_S;
}

bool gopt_health_disturbed(const gopt_health *before, const gopt_health *after)
{
    double seconds = seconds_between(before, after), waited = 0;
    if (seconds <= 0)
        return false;
    if (before->waited_s >= 0)
        waited = after->waited_s - before->waited_s;
    else if (before->pressure_us >= 0)
        waited = (after->pressure_us - before->pressure_us) / 1e6;
    bool stolen = after->steal_s - before->steal_s > GOPT_MAX(0.01 * seconds, 0.015); /* at least two clock ticks */
    return stolen || waited > 0.10 * seconds;
}

void gopt_disturbance_add(gopt_disturbance *d, const gopt_health *before, const gopt_health *after)
{
    double own = after->own_s - before->own_s;
    d->seconds += seconds_between(before, after);
    d->steal_s += after->steal_s - before->steal_s;
    d->others_s += before->busy_s >= 0 ? after->busy_s - before->busy_s - own : 0;
    d->waited_s =
        before->waited_s >= 0 && d->waited_s >= 0 ? d->waited_s + GOPT_MAX(after->waited_s - before->waited_s, 0) : -1;
}
