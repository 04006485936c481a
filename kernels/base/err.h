/* err.h: failing with a cause. Status is returned, the message travels in the caller's gopt_err, context is added on
 * the way up, so that a user reads "net.onnx: node Conv_3 (Conv): attribute pads: 3 values, 4 expected". */
#ifndef GOPT_BASE_ERR_H
#define GOPT_BASE_ERR_H

#include "gopt.h"

#define GOPT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Records the cause and returns s. */
gopt_status gopt_fail(gopt_err *e, gopt_status s, const char *fmt, ...) GOPT_PRINTF(3, 4);
/* Prefixes the message with "fmt: " on the way up and returns s. */
gopt_status gopt_within(gopt_err *e, gopt_status s, const char *fmt, ...) GOPT_PRINTF(3, 4);
/* gopt_fail(e, GOPT_ENOMEM, "out of memory"). */
gopt_status gopt_oom(gopt_err *e);

const char *gopt_commit(void); /* git revision of the build, "" when it was not built from a checkout */

#define GOPT_TRY(call)                                                                                                 \
    do {                                                                                                               \
        gopt_status gopt_try_ = (call);                                                                                \
        if (gopt_try_)                                                                                                 \
            return gopt_try_;                                                                                          \
    } while (0)

#define GOPT_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define GOPT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define GOPT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
