/* compiled.h: graphs through the compiler and the engine, compared with the reference executor. */
#ifndef GOPT_TEST_COMPILED_H
#define GOPT_TEST_COMPILED_H

#include "compile.h"

/* Graphs that are hard to lower: values captured by branches and loops, weights of branches, views of all kinds, lives
 * that end before others begin, weights worth forgetting once packed, and one that computes nothing. test_models: all
 * of them, NULL at the end. */
extern const char test_model_captured[], test_model_looping[], test_model_products[], test_model_views[],
    test_model_chain[], test_model_heavy[], test_model_nothing[];
extern const char *const test_models[];

/* The baseline with these settings ("pass.codegen=on", ...), NULL at the end. */
gopt_config test_config(const char *first, ...);
/* The plan of a graph's text; dir is cache and scratch folder. log may be NULL. */
gopt_plan *test_compile(const char *text, const gopt_config *c, const char *dir, gopt_compile_log *log);
/* Runs the plan on every case of inputs, twice each: outputs must be those of the reference executor. */
void test_plan_matches(const gopt_plan *p, const char *text, const char *what);

#endif
