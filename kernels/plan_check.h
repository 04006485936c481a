/* plan_check.h: whether a plan that came from a file may be run. Hash and syntax prove nothing about what it says: a
 * step may name any value, a value any place. After the check, the engine and the precompiled kernels touch no memory
 * but the plan's own; generated code, which nobody can check, is trusted. */
#ifndef GOPT_PLAN_CHECK_H
#define GOPT_PLAN_CHECK_H

#include "plan.h"

/* Bodies too. EINPUT, with the step or value. */
gopt_status gopt_plan_check(const gopt_plan *p, gopt_err *e);

/* ---- inner: what it is made of ---- */

/* All dimensions known and of a size that memory could hold: bytes are its elements' (may be NULL). */
bool gopt_plan_static(gopt_dtype d, int rank, const int64_t *dim, size_t *bytes);
/* A step with a kernel, its values in order: the operator infers its results, the kernel fits and asks for no more than
 * the plan has. */
gopt_status gopt_step_check(const gopt_plan *main_plan, const gopt_plan *p, const gopt_step *s, gopt_arena *scratch,
                            gopt_err *e);

#endif
