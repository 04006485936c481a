/* convert.h: what Cast and CastLike share. */
#ifndef GOPT_REF_CONVERT_H
#define GOPT_REF_CONVERT_H

#include "ref/move.h"

/* Whether an expression can do it: numbers to numbers, with the rounding that every store has. */
bool gopt_convert_is_plain(gopt_attrs a, gopt_dtype from, gopt_dtype to);
/* out[0] = input 0's shape with type `to`, which may be NONE while it is unknown. */
gopt_status gopt_convert_infer(gopt_infer *x, gopt_dtype to, gopt_err *e);
gopt_status gopt_convert_run(gopt_exec *x, gopt_dtype to, gopt_err *e);

#endif
