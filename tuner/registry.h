/* registry.h: what there is, printed: --list. */
#ifndef GOPT_REGISTRY_H
#define GOPT_REGISTRY_H

#include "base/err.h"

/* "passes", "kernels", "knobs", "presets", "samplers" or "engines" to stdout, one line each. */
gopt_status gopt_registry_print(const char *what, gopt_err *e);

#endif
