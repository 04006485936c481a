/* lower.h: graph to plan: values, steps, kernels. Inner interface of the compiler. */
#ifndef GOPT_LOWER_H
#define GOPT_LOWER_H

#include "compile.h"

/* Makes the plan of g and of its bodies: aliases, groups, a kernel for every step (generated ones without code yet), but no
 * memory places, no packing, no code. Everything lies in the new plan's arena, except constants' data, which stay g's. */
gopt_status gopt_lower(gopt_plan **out, const gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                       gopt_err *e);
/* Lays constant operands out as the kernels want them (the `prepack` decision). Bodies too. */
gopt_status gopt_lower_pack(gopt_plan *p, gopt_err *e);
/* Gives arena places to values; sums weights and workspace. Bodies too. */
gopt_status gopt_lower_place(gopt_plan *p, int planner, gopt_err *e);
/* Emits, compiles and attaches the code of generated steps; falls back to precompiled kernels without a compiler. */
gopt_status gopt_lower_generate(gopt_plan *p, const gopt_config *c, const gopt_compile_options *o, gopt_compile_log *log,
                                gopt_err *e);
/* Makes k (NULL: late) the kernel of s: knobs copied into a, cost predicted. */
void gopt_lower_use(gopt_step *s, const gopt_kernel *k, const gopt_config *c, const gopt_target *t, gopt_arena *a);
/* The first precompiled kernel that the configuration allows for the group (NULL: none fits). */
const gopt_kernel *gopt_lower_precompiled(const gopt_group *g, const gopt_config *c, const gopt_target *t);

#endif
