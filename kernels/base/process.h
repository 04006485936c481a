/* process.h: running a program to its end, with a time limit, its output captured, dying with us. */
#ifndef GOPT_BASE_PROCESS_H
#define GOPT_BASE_PROCESS_H

#include "base/err.h"
#include "base/text.h"

typedef struct gopt_process_result {
    int exit_code; /* -1 when it was ended by a signal or by the limit */
    int signal;    /* 0 unless ended by one */
    bool timed_out;
    int64_t wall_ns;
    int64_t peak_bytes; /* largest resident set of it and its children */
    gopt_text output;   /* stdout and stderr together, at most 64 KiB; caller frees with gopt_text_fini */
} gopt_process_result;

/* Runs argv[0] (found on PATH), stdin from /dev/null, in a process group of its own that is killed at the limit or
 * when this process dies. A limit that has passed already ends it at once; INT64_MAX is none. GOPT_ENODEV when the
 * program cannot be found or executed; GOPT_OK whatever its exit code. */
gopt_status gopt_process_run(gopt_process_result *out, const char *const *argv, int64_t limit_ns, gopt_err *e);
/* Absolute path of a program on PATH into buf; false when there is none. */
bool gopt_process_find(const char *program, char *buf, size_t size);

#endif
