/* dynlib.h: shared objects at run time, from a file or from memory. */
#ifndef GOPT_BASE_DYNLIB_H
#define GOPT_BASE_DYNLIB_H

#include "base/err.h"

typedef struct gopt_dynlib gopt_dynlib;

gopt_status gopt_dynlib_open(gopt_dynlib **out, const char *path, gopt_err *e);                /* GOPT_ENODEV */
gopt_status gopt_dynlib_memory(gopt_dynlib **out, const void *elf, size_t bytes, gopt_err *e); /* borrows nothing */
void gopt_dynlib_close(gopt_dynlib *d);
void *gopt_dynlib_find(gopt_dynlib *d, const char *symbol); /* NULL when absent */

#endif
