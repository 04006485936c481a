/* What this processor offers, read once; how much of it is ours, read when asked. */
#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/cgroup.h"
#include "base/err.h"

static const char *const isa_names[GOPT_ISA_COUNT] = {
    [GOPT_ISA_BASE] = "base", [GOPT_ISA_AVX2] = "avx2", [GOPT_ISA_AVX512] = "avx512"};

const char *gopt_isa_name(gopt_isa i)
{
    return (unsigned)i < GOPT_ISA_COUNT ? isa_names[i] : "unknown";
}

static gopt_isa hardware_isa = GOPT_ISA_BASE;

static void detect_isa(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    __builtin_cpu_init(); /* its answers include what the kernel saves and restores */
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    hardware_isa = wide ? GOPT_ISA_AVX512 : GOPT_ISA_AVX2;
#endif
}

gopt_isa gopt_cpu_isa(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, detect_isa);
    const char *wanted = getenv("GOPT_ISA");
    for (int i = 0; wanted && i < GOPT_ISA_COUNT; i++)
        if (i < (int)hardware_isa && strcmp(wanted, isa_names[i]) == 0)
            return (gopt_isa)i;
    return hardware_isa;
}

static char cpu_name[128];

static void read_name(void)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !cpu_name[0] && fgets(line, sizeof(line), f)) {
        char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value) {
            value += 1 + strspn(value + 1, " \t");
            value[strcspn(value, "\n")] = '\0';
            snprintf(cpu_name, sizeof(cpu_name), "%.*s", (int)sizeof(cpu_name) - 1, value);
        }
    }
    if (f)
        fclose(f);
    struct utsname system; /* architectures other than x86 name no model */
    if (!cpu_name[0])
        snprintf(cpu_name, sizeof(cpu_name), "%s", uname(&system) ? "unknown" : system.machine);
}

const char *gopt_cpu_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_name);
    return cpu_name;
}

static int affinity_count(void)
{
    enum { PROCESSORS_MAX = 1 << 16 };
    for (size_t n = CPU_SETSIZE; n <= PROCESSORS_MAX; n *= 2) { /* refused while smaller than the kernel's own mask */
        cpu_set_t *set = CPU_ALLOC(n);
        if (!set)
            break;
        int count = sched_getaffinity(0, CPU_ALLOC_SIZE(n), set) ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(n), set);
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return (int)GOPT_MAX(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

int gopt_cpu_count(void)
{
    int count = affinity_count();
    int quota = gopt_cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota > 0 ? GOPT_MIN(count, quota) : count;
}

/* One word of a file of processor 0's cache number `index`. */
static bool cache_word(int index, const char *name, char word[32])
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool got = fscanf(f, "%31s", word) == 1;
    fclose(f);
    return got;
}

static size_t parse_size(const char *word)
{
    char *unit;
    unsigned long n = strtoul(word, &unit, 10);
    return *unit == 'K' ? n << 10 : *unit == 'M' ? n << 20 : *unit == 'G' ? n << 30 : n;
}

size_t gopt_cpu_cache(int level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    char word[32];
    if (level < 1 || level > GOPT_COUNT(names))
        return 0;
    for (int i = 0; cache_word(i, "level", word); i++) {
        if (atoi(word) != level || !cache_word(i, "type", word) || strcmp(word, "Instruction") == 0)
            continue;
        if (cache_word(i, "size", word))
            return parse_size(word);
    }
    return (size_t)GOPT_MAX(0L, sysconf(names[level - 1]));
}
