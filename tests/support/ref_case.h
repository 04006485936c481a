/* ref_case.h: one operator's reference on small tensors, with the checks that every operator has to pass: inference on
 * the real shapes gives what execution makes, and so does inference on symbols once the real sizes are put in. */
#ifndef GOPT_REF_CASE_H
#define GOPT_REF_CASE_H

#include "op.h"
#include "support/test.h"

#define REF_MAX 16 /* inputs, outputs, attributes */

typedef struct ref_case {
    const gopt_op *op;
    gopt_arena arena;
    gopt_tensor *in[REF_MAX];
    bool constant[REF_MAX]; /* known to inference */
    gopt_attr attr[REF_MAX];
    gopt_tensor out[REF_MAX], *out_at[REF_MAX];
    int n_in, n_attr, n_out;
    int64_t deadline;
    bool loose; /* shapes depend on values: inference need not know all of them */
    gopt_err e;
} ref_case;

/* Values and dimensions, written where they are needed: DIMS(2, 3), VALUES(1, 2.5). A scalar has no dimensions: SCALAR.
 */
#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define SCALAR 0, NULL
#define VALUES(...)                                                                                                    \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[])                                                \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* A case of "Conv" or "com.microsoft:FusedConv". ref_end frees what it holds. */
ref_case ref_begin(const char *name);
void ref_end(ref_case *c);
/* The next input. Values are repeated when they are fewer than the elements; n == 0 leaves zeros. */
gopt_tensor *ref_input(ref_case *c, gopt_dtype d, int rank, const int64_t *dim, int n, const double *v);
/* The same, as a value that inference may read (an initializer). */
gopt_tensor *ref_constant(ref_case *c, gopt_dtype d, int rank, const int64_t *dim, int n, const double *v);
void ref_absent(ref_case *c);
/* The last input is known to inference. */
void ref_known(ref_case *c);
/* Input of the given shape with values that vary (a fixed pattern in [-1, 1], or small integers). */
gopt_tensor *ref_varied(ref_case *c, gopt_dtype d, int rank, const int64_t *dim);
void ref_int(ref_case *c, const char *name, int64_t v);
void ref_float(ref_case *c, const char *name, double v);
void ref_string(ref_case *c, const char *name, const char *v);
void ref_ints(ref_case *c, const char *name, int n, const int64_t *v); /* ref_ints(c, "pads", DIMS(1, 1)) */
void ref_floats(ref_case *c, const char *name, int n, const double *v);
void ref_strings(ref_case *c, const char *name, int n, const char *const *v);
/* Runs with n_out outputs and, on success, checks inference. Outputs that must not be made: set c->out_at[k] to NULL
 * after ref_outputs, then call ref_run_wanted. */
gopt_status ref_run(ref_case *c, int n_out);
void ref_outputs(ref_case *c, int n_out);
gopt_status ref_run_wanted(ref_case *c);
/* Fails unless output k has this type, shape and values (NaN equals NaN) within |got - want| <= tolerance * max(1,
 * |want|). */
void ref_expect(const ref_case *c, int k, gopt_dtype d, int rank, const int64_t *dim, double tolerance, int n,
                const double *v);
/* The element of output k, flat. */
double ref_at(const ref_case *c, int k, int64_t i);
/* Runs and expects this status, and `word` in its message. */
void ref_expect_error(ref_case *c, gopt_status want, const char *word);
/* Runs with every allocation failing in turn: always GOPT_ENOMEM until it works. */
void ref_expect_oom_safe(ref_case *c, int n_out);

#endif
