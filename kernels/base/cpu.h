/* cpu.h: what this processor and this process's share of it offer. */
#ifndef GOPT_BASE_CPU_H
#define GOPT_BASE_CPU_H

#include <stddef.h>

/* Rising levels; kernels are built once per level. */
typedef enum gopt_isa {
    GOPT_ISA_BASE,   /* what the compiler targets by default */
    GOPT_ISA_AVX2,   /* AVX2 + FMA + F16C */
    GOPT_ISA_AVX512, /* F, BW, DQ, VL */
    GOPT_ISA_COUNT
} gopt_isa;

gopt_isa gopt_cpu_isa(void);           /* highest level usable here; GOPT_ISA=base|avx2|avx512 lowers it */
const char *gopt_isa_name(gopt_isa i); /* "base", "avx2", "avx512" */
const char *gopt_cpu_name(void);       /* model name, static storage */
int gopt_cpu_count(void);              /* processors this process may use: affinity and cgroup quota counted, >= 1 */
size_t gopt_cpu_cache(int level);      /* bytes of data cache at level 1, 2, 3; 0 when unknown */

#endif
