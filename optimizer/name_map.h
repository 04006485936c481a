/* name_map.h: things by name. */
#ifndef GOPT_NAME_MAP_H
#define GOPT_NAME_MAP_H

#include "base/arena.h"

typedef struct gopt_name_slot {
    const char *name; /* NULL: free */
    void *what;
} gopt_name_slot;

typedef struct gopt_name_map {
    gopt_name_slot *at; /* open addressing */
    size_t n, size;
    bool failed; /* out of memory; sticky */
} gopt_name_map; /* {0} is empty */

/* Borrows the name. False: it was there already, and stays what it was; or memory ran out. */
bool gopt_name_map_add(gopt_name_map *m, const char *name, void *what);
void *gopt_name_map_find(const gopt_name_map *m, const char *name); /* NULL when absent */
void gopt_name_map_fini(gopt_name_map *m);

#endif
