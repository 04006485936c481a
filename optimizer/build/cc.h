/* cc.h: C text to shared objects by the system's compiler. */
#ifndef GOPT_CC_H
#define GOPT_CC_H

#include "base/err.h"
#include "base/text.h"

typedef struct gopt_cc {
    char path[256];     /* of the compiler; empty: none was found */
    char identity[160]; /* first line of --version and the processor it compiles for: part of cache keys */
} gopt_cc;

/* $GOPT_CC, else cc, gcc, clang on PATH; looked up once per process. Never NULL. */
const gopt_cc *gopt_cc_find(void);

typedef struct gopt_cc_job {
    const char *source; /* C text */
    int level;          /* -O level */
    void *elf;          /* result: gopt_malloc'ed, caller frees with gopt_free; NULL on failure */
    size_t bytes;
    int64_t ns; /* wall clock */
    int64_t peak_bytes;
    gopt_status status;
    gopt_err error;
} gopt_cc_job;

/* Compiles all jobs, up to `parallel` at once, in a private folder below dir (removed again). Each job has its own
 * status; the result is the first that failed. */
gopt_status gopt_cc_run(gopt_cc_job *jobs, int n, int parallel, const char *dir, int64_t limit_ns, gopt_err *e);

#endif
