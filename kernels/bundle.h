/* bundle.h: a plan on disk: header, plan as JSON, constants, code; hashed whole. Written atomically; a corrupted,
 * foreign or newer file is refused with the reason, never run; so is one whose plan asks for what its operators and
 * kernels do not (plan_check.h). The code in it is run as it is: a bundle is a program, to be trusted like one. */
#ifndef GOPT_BUNDLE_H
#define GOPT_BUNDLE_H

#include "base/hash.h"
#include "plan.h"

gopt_status gopt_bundle_write(const gopt_plan *p, const char *path, gopt_hash *content, gopt_err *e);
/* Constants are mapped, not copied. */
gopt_status gopt_bundle_read(gopt_plan **out, const char *path, gopt_hash *content, gopt_err *e);

#endif
