/* attention_shape.h: the shapes of Attention (ONNX): heads in an axis of their own (rank 4) or in the last one (rank
 * 3). */
#ifndef GOPT_REF_ATTENTION_SHAPE_H
#define GOPT_REF_ATTENTION_SHAPE_H

#include "ref/operand.h"

enum { GOPT_ATT_Q, GOPT_ATT_K, GOPT_ATT_V, GOPT_ATT_MASK, GOPT_ATT_PAST_K, GOPT_ATT_PAST_V, GOPT_ATT_NONPAD };

gopt_status gopt_attention_infer(gopt_infer *x, gopt_err *e);

#endif
