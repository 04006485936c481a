/* printable.h: messages fit to be shown. */
#ifndef GOPT_ONNX_PRINTABLE_H
#define GOPT_ONNX_PRINTABLE_H

#include "base/err.h"

/* Control characters and what is not UTF-8 become \xNN: names from a file end up in one line on a terminal. Returns s.
 */
gopt_status gopt_onnx_printable(gopt_err *e, gopt_status s);

#endif
