/* gopt.h: the public face of libgopt, the runtime that serves what gopt-tune decided.
 *
 * Open a model (a manifest or a bundle), make one session per thread, bind inputs, run, read outputs:
 *
 *     gopt_model_open(&model, "out/manifest.yaml", NULL, &e);
 *     gopt_session_new(&session, model, &e);
 *     gopt_session_bind(session, 0, &input, &e);    // borrowed until the next bind or the session's end
 *     gopt_session_run(session, &e);
 *     const gopt_tensor *scores = gopt_session_output(session, 0);
 *     gopt_session_free(session);
 *     gopt_model_close(model);
 *
 * Whatever returns a gopt_status returned GOPT_OK, or e.msg says why not. The README has it as a whole program.
 */
#ifndef GOPT_H
#define GOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOPT_API __attribute__((visibility("default")))

#define GOPT_STATUSES(X) /* enumerator, what it means to a user */                                                     \
    X(OK, "ok")                                                                                                        \
    X(ENOMEM, "out of memory")                                                                                         \
    X(EINPUT, "malformed input")                                                                                       \
    X(EUNSUP, "valid, but not supported")                                                                              \
    X(ENODEV, "the environment lacks a device, program or library")                                                    \
    X(EIO, "reading or writing failed")                                                                                \
    X(ELIMIT, "a limit on time or memory was reached")                                                                 \
    X(EDIFF, "outputs differ from the reference")                                                                      \
    X(EUSAGE, "wrong call")                                                                                            \
    X(EINTR, "interrupted")                                                                                            \
    X(EBUG, "internal invariant broken")

#define GOPT_X_STATUS(name, text) GOPT_##name,
typedef enum gopt_status { GOPT_STATUSES(GOPT_X_STATUS) GOPT_STATUS_COUNT } gopt_status;
#undef GOPT_X_STATUS

/* One message, owned by the caller; every function accepts NULL. */
typedef struct gopt_err {
    char msg[512];
} gopt_err;

/* Element types; the numbers are those of ONNX's TensorProto.DataType. */
typedef enum gopt_dtype {
    GOPT_DTYPE_NONE = 0,
    GOPT_DTYPE_F32 = 1,
    GOPT_DTYPE_U8 = 2,
    GOPT_DTYPE_I8 = 3,
    GOPT_DTYPE_U16 = 4,
    GOPT_DTYPE_I16 = 5,
    GOPT_DTYPE_I32 = 6,
    GOPT_DTYPE_I64 = 7,
    GOPT_DTYPE_STRING = 8,
    GOPT_DTYPE_BOOL = 9,
    GOPT_DTYPE_F16 = 10,
    GOPT_DTYPE_F64 = 11,
    GOPT_DTYPE_U32 = 12,
    GOPT_DTYPE_U64 = 13,
    GOPT_DTYPE_C64 = 14,
    GOPT_DTYPE_C128 = 15,
    GOPT_DTYPE_BF16 = 16,
    GOPT_DTYPE_F8E4M3FN = 17,
    GOPT_DTYPE_F8E4M3FNUZ = 18,
    GOPT_DTYPE_F8E5M2 = 19,
    GOPT_DTYPE_F8E5M2FNUZ = 20,
    GOPT_DTYPE_U4 = 21,
    GOPT_DTYPE_I4 = 22,
    GOPT_DTYPE_F4E2M1 = 23,
    GOPT_DTYPE_F8E8M0 = 24,
    GOPT_DTYPE_U2 = 25,
    GOPT_DTYPE_I2 = 26,
    GOPT_DTYPE_COUNT
} gopt_dtype;

#define GOPT_RANK_MAX 12

/* A dense row-major tensor. `data` is borrowed or owned as the function that hands it over says. Elements narrower
 * than a byte are packed, the first one in the low bits. */
typedef struct gopt_tensor {
    gopt_dtype dtype;
    int rank;
    int64_t dim[GOPT_RANK_MAX];
    void *data;
} gopt_tensor;

typedef struct gopt_model gopt_model;     /* immutable after open: share it between threads */
typedef struct gopt_session gopt_session; /* one thread at a time */

typedef struct gopt_options {
    int threads; /* 0: as the manifest says */
} gopt_options;

/* One input or output of a model. A dimension below 0 is symbolic: bind any size. Owned by the model. */
typedef struct gopt_port {
    const char *name;
    gopt_dtype dtype;
    int rank;
    int64_t dim[GOPT_RANK_MAX];
} gopt_port;

/* Opens a manifest (*.yaml) or a bundle. *out is NULL unless GOPT_OK. Options may be NULL. */
GOPT_API gopt_status gopt_model_open(gopt_model **out, const char *path, const gopt_options *options, gopt_err *e);
GOPT_API void gopt_model_close(gopt_model *m); /* NULL is fine; sessions must be gone */
GOPT_API int gopt_model_inputs(const gopt_model *m, const gopt_port **ports);
GOPT_API int gopt_model_outputs(const gopt_model *m, const gopt_port **ports);

GOPT_API gopt_status gopt_session_new(gopt_session **out, gopt_model *m, gopt_err *e);
GOPT_API void gopt_session_free(gopt_session *s);
/* Borrows t->data until the input is bound again or the session is freed. dtype and rank must be the port's. */
GOPT_API gopt_status gopt_session_bind(gopt_session *s, int input, const gopt_tensor *t, gopt_err *e);
GOPT_API gopt_status gopt_session_run(gopt_session *s, gopt_err *e);
/* Valid until the next run or the session's end; NULL before the first run. */
GOPT_API const gopt_tensor *gopt_session_output(const gopt_session *s, int output);

/* What happened since the model was opened; callable at any time, also while sessions run. */
typedef struct gopt_usage {
    uint64_t runs;      /* that succeeded, over all sessions */
    uint64_t fallbacks; /* of them, served by the fallback because the chosen bundle could not be opened */
    uint64_t refused;   /* inputs whose type or shape the model does not take */
    const char *notice; /* why the fallback serves; NULL: the chosen one does. Owned by the model */
} gopt_usage;
GOPT_API void gopt_model_usage(const gopt_model *m, gopt_usage *out);

GOPT_API const char *gopt_status_text(gopt_status s);
GOPT_API const char *gopt_version(void);

#endif
