/* problems.h: the table of problems that kernels are checked and measured on. */
#ifndef GOPT_TEST_PROBLEMS_H
#define GOPT_TEST_PROBLEMS_H

#include "support/problem.h"

extern const problem_text problems[];       /* for correctness: edges; ends with op NULL */
extern const problem_text bench_problems[]; /* for speed */
/* Prints the speed of every kernel whose name contains `filter` on every bench problem it fits; the exit code. */
int checkern_bench(const char *filter);

#endif
