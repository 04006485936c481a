/* lower.h: graph to plan: values, steps, kernels. Inner interface of the compiler. */
#ifndef GOPT_LOWER_H
#define GOPT_LOWER_H

#include "compile.h"

/* Makes the plan of g and of its bodies: aliases, groups, a kernel for every step (generated ones without code yet, and
 * only where there is a compiler), but no memory places, no packing, no code. Everything lies in the new plan's arena,
 * except constants' data, which stay g's. */
gopt_status gopt_lower(gopt_plan **out, const gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                       gopt_err *e);
/* Lays constant operands out as the kernels want them (the `prepack` decision). Bodies too. Before gopt_lower_generate:
 * generated code is made for the layout that it will find. */
gopt_status gopt_lower_pack(gopt_plan *p, gopt_err *e);
/* Gives arena places to values; sums weights and workspace; the log's figures of the arena. Bodies too. */
gopt_status gopt_lower_place(gopt_plan *p, const gopt_decisions *d, gopt_compile_log *log, gopt_err *e);
/* Emits, compiles and attaches the code of generated steps. */
gopt_status gopt_lower_generate(gopt_plan *p, const gopt_config *c, const gopt_compile_options *o,
                                gopt_compile_log *log, gopt_err *e);

#endif
