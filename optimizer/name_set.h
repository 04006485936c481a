/* name_set.h: which names a model uses. */
#ifndef GOPT_NAME_SET_H
#define GOPT_NAME_SET_H

#include "base/arena.h"

typedef struct gopt_name_set {
    const char **at; /* open addressing; borrowed strings */
    size_t n, size;
    bool failed;
} gopt_name_set; /* {0} is empty */

bool gopt_name_set_add(gopt_name_set *s, const char *name); /* false: it was there already (or memory ran out) */
void gopt_name_set_fini(gopt_name_set *s);

#endif
