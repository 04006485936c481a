/* emit.h: writing C for generated kernels: what the text begins with, and expressions as code over vectors. Generated
 * code includes no header and calls no library. */
#ifndef GOPT_CPU_EMIT_H
#define GOPT_CPU_EMIT_H

#include "kernel.h"

/* Types (that of gopt_task among them) and vector functions: what every generated text begins with. Vectors are as wide
 * as the compiler's target has them: GOPT_VW floats. */
void gopt_emit_prelude(gopt_text *t);

#endif
