/* compiled.h: graphs through the compiler and the engine, compared with the reference executor. */
#ifndef GOPT_TEST_COMPILED_H
#define GOPT_TEST_COMPILED_H

#include "compile.h"

/* The plan of a graph's text; dir is cache and scratch folder. log may be NULL. */
gopt_plan *test_compile(const char *text, const gopt_config *c, const char *dir, gopt_compile_log *log);
/* Runs the plan on every case of inputs, twice each: outputs must be those of the reference executor. */
void test_plan_matches(const gopt_plan *p, const char *text, const char *what);

#endif
