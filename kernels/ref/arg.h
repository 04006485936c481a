/* arg.h: what ArgMax and ArgMin share. */
#ifndef GOPT_REF_ARG_H
#define GOPT_REF_ARG_H

#include "ref/operand.h"

gopt_status gopt_arg_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_arg_run(gopt_exec *x, bool largest, gopt_err *e);

#endif
