/* origin.h: the model that something deployed was made from. */
#ifndef GOPT_ORIGIN_H
#define GOPT_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

/* Path of the model that the manifest names; it may be gone. False: the manifest cannot be read or names none. */
bool gopt_origin_of_manifest(char *buf, size_t size, const char *manifest);
/* A bundle does not name its model, but the manifest does beside whose folder bundles/ it lies. */
bool gopt_origin_of_bundle(char *buf, size_t size, const char *bundle);

#endif
