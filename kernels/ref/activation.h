/* activation.h: activation functions that operators name in an attribute (RNN, LSTM, GRU, FusedConv, FusedGemm). */
#ifndef GOPT_REF_ACTIVATION_H
#define GOPT_REF_ACTIVATION_H

#include "base/err.h"

typedef struct gopt_activation {
    double (*f)(double v, double alpha, double beta);
    double alpha, beta; /* the function's defaults until the caller sets others */
    int parameters;     /* how many of alpha, beta it uses */
} gopt_activation;

/* By its ONNX name, whatever the case; "" is the identity. EINPUT when unknown. */
gopt_status gopt_activation_find(const char *name, gopt_activation *out, gopt_err *e);
void gopt_activation_apply(const gopt_activation *a, double *v, int64_t n);

#endif
