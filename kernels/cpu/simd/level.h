/* level.h: vectors of the instruction set level that a file of this folder is being compiled for, and names that differ
 * between levels. Only GNU vector types: every compiler and architecture we build for has them. */
#ifndef GOPT_CPU_SIMD_LEVEL_H
#define GOPT_CPU_SIMD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* GOPT_LEVEL(f) is f_avx2 and so on: functions shared between files of one level. */
#define GOPT_PASTE(name, level) name##_##level
#define GOPT_PASTE_EXPANDED(name, level) GOPT_PASTE(name, level)
#define GOPT_LEVEL(name) GOPT_PASTE_EXPANDED(name, GOPT_SIMD)

#include "cpu/simd/vector.h"

#endif
