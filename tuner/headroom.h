/* headroom.h: what a process that works for a command may take, so that no model harms the machine. */
#ifndef GOPT_HEADROOM_H
#define GOPT_HEADROOM_H

#include <stddef.h>

/* Bytes of address space: what this process has plus most of the memory that is free, never above its own limit. 0
 * (none) in builds whose sanitizer needs an address space without limit. */
size_t gopt_headroom(void);

#endif
