/* emit.h: writing C for generated kernels: what the text begins with, and expressions as code over vectors. Generated
 * code includes no header and calls no library. */
#ifndef GOPT_CPU_EMIT_H
#define GOPT_CPU_EMIT_H

#include "cpu/walk.h"

/* Types (that of gopt_task among them) and vector functions: what every generated text begins with. Vectors are as wide
 * as the compiler's target has them: GOPT_VW floats. */
void gopt_emit_prelude(gopt_text *t);

/* " + AT / 4 % 8 * 16": what leads from the start of w's operand k to its element for output element `at`, a C
 * expression of the flat index. */
void gopt_emit_walk_offset(const gopt_walk *w, int k, const char *at, gopt_text *t);

/* An expression for generated code: a function of vectors, and where its operands come from. */
typedef struct gopt_emit_expr {
    const gopt_expr *x;
    gopt_walk walk; /* over the operands that it loads, in the order of the function's parameters after acc */
    bool is_bool[GOPT_WALK_IN];
} gopt_emit_expr;

/* False when x has what generated code does not inline, or operands that do not follow. x must outlive e. */
bool gopt_emit_expr_of(gopt_emit_expr *e, const gopt_group *g, const gopt_expr *x);
/* static inline vf NAME(vf acc, vf/vi for every operand) */
void gopt_emit_expr_function(const gopt_emit_expr *e, const char *name, gopt_text *t);
/* Declares pointers p<k> to the operands, from task t. */
void gopt_emit_expr_pointers(const gopt_emit_expr *e, gopt_text *t);
/* Declares q<k>: where the operands are for output element `at`, a C expression of its flat index; and for those that
 * stay the same from there on along the innermost dimension, their value s<k>. */
void gopt_emit_expr_row(const gopt_emit_expr *e, const char *at, const char *indent, gopt_text *t);
/* "NAME(acc, v_load(q0 + i), s1)": the call for the vector at offset i from there. part: a C expression of how many of
 * its elements are there, NULL: all. */
void gopt_emit_expr_call(const gopt_emit_expr *e, const char *name, const char *acc, const char *i, const char *part,
                         gopt_text *t);

/* Sums s[i..END) of a row become results o[i..END), whole vectors and a rest; END is a C expression, i, s, o and what
 * gopt_emit_expr_row declares are there. */
void gopt_emit_expr_finish(const gopt_emit_expr *e, const char *name, const char *end, const char *indent,
                           gopt_text *t);

#endif
