/* ref_row.h: operators' references checked by tables: a row of text is one node with its inputs and results.
 *
 * Tensors: "f32[2,3] 1 2 3 4 5 6", separated by ';'. Values are repeated when they are fewer than the elements; a '!'
 * behind the shape makes an input known to inference; "-" is an absent input or an output that is not wanted. Types:
 * f16 f32 f64 bf16, i8 ... i64, u8 ... u64, b (bool), s (string), or a type's own name. Attributes: "axis=1 mode='edge'
 * perm=[1,0] alpha=0.5". */
#ifndef GOPT_REF_ROW_H
#define GOPT_REF_ROW_H

#include "support/ref_case.h"

typedef struct ref_row {
    const char *op, *attrs, *in, *out;
    bool loose; /* shapes follow from values that inference does not have, or from symbols it cannot compare */
} ref_row;

typedef struct ref_bad {
    const char *op, *attrs, *in;
    gopt_status want;
    const char *word; /* in the message */
} ref_bad;

/* A case with the inputs and attributes of a row; ref_end frees it. */
ref_case ref_row_case(const char *op, const char *attrs, const char *in);
/* Runs every row, checks results (floats within a relative 1e-6), and inference against execution. */
void ref_rows_check(const ref_row *rows, int n);
/* Runs every row, which must fail as it says. */
void ref_bad_check(const ref_bad *rows, int n);

#endif
