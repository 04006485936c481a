/* store.h: the compile cache as files: what is in it, what of it can go. Layout: optimizer/build/cache.h. */
#ifndef GOPT_STORE_H
#define GOPT_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"

typedef struct gopt_store_use {
    const char *kernel;
    int functions;
} gopt_store_use;

/* A unit of compiled code with the functions in it. */
typedef struct gopt_store_unit {
    const char *name;     /* its hash in hexadecimal */
    gopt_store_use *uses; /* what it is for, as far as that was noted */
    int n_uses;
    double bytes; /* with its functions' entries */
    double age_s; /* since it was used or made */
    int functions;
    double compile_ns; /* what compiling them took */
} gopt_store_unit;

typedef struct gopt_store {
    gopt_arena arena;
    const char *dir;        /* DIR/code */
    gopt_store_unit *units; /* the one that was not used for longest first */
    int n;
    double bytes;
} gopt_store;

/* An absent cache is empty. ENOMEM. Free with gopt_store_fini, also after a failure. */
gopt_status gopt_store_read(gopt_store *s, const char *cache_dir, gopt_err *e);
void gopt_store_fini(gopt_store *s);
/* Removes units older than older_s, then the longest unused until at most max_bytes are left, entries without a unit,
 * and what killed processes left behind. Bytes freed in *freed, units removed in *removed. */
gopt_status gopt_store_collect(gopt_store *s, const char *cache_dir, double older_s, double max_bytes, double *freed,
                               int *removed, gopt_err *e);
/* Removes the scratch folders that killed processes left behind. */
gopt_status gopt_store_sweep(const char *cache_dir, gopt_err *e);

#endif
