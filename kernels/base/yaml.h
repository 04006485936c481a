/* yaml.h: what a YAML file must not be, before libyaml loads it. */
#ifndef GOPT_BASE_YAML_H
#define GOPT_BASE_YAML_H

#include "base/err.h"

enum { GOPT_YAML_DEPTH = 64 };

/* EINPUT "line 7: nested more than 64 deep": libyaml's work grows with the square of the depth. What is not YAML at all
 * is left for it to tell. */
gopt_status gopt_yaml_check(const unsigned char *yaml, size_t bytes, gopt_err *e);

#endif
