/* rotary_embedding.h: rotary position embedding of one head, shared by the operators that have it. */
#ifndef GOPT_REF_ROTARY_EMBEDDING_H
#define GOPT_REF_ROTARY_EMBEDDING_H

#include "ref/operand.h"

/* Rotates the `half` pairs of one head in place; the halves of v[0 .. 2 half), or neighbours, make the pairs. */
void gopt_ref_rotate(double *v, const double *cosine, const double *sine, int64_t half, bool interleaved);

#endif
