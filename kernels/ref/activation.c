/* activation.c: the table of named activation functions. */
#include "ref/activation.h"

#include <math.h>
#include <strings.h>

static double identity(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return v;
}

static double relu(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return v < 0 ? 0 : v; /* keeps NaN */
}

static double hyperbolic(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return tanh(v);
}

static double sigmoid(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return 1 / (1 + exp(-v));
}

static double affine(double v, double alpha, double beta)
{
    return alpha * v + beta;
}

static double leaky_relu(double v, double alpha, double beta)
{
    (void)beta;
    return v < 0 ? alpha * v : v;
}

static double thresholded_relu(double v, double alpha, double beta)
{
    (void)beta;
    return v < alpha ? 0 : v;
}

static double scaled_tanh(double v, double alpha, double beta)
{
    return alpha * tanh(beta * v);
}

static double clip(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static double hard_sigmoid(double v, double alpha, double beta)
{
    return clip(alpha * v + beta, 0, 1);
}

static double elu(double v, double alpha, double beta)
{
    (void)beta;
    return v < 0 ? alpha * expm1(v) : v;
}

static double softsign(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return v / (1 + fabs(v));
}

static double softplus(double v, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
}

typedef struct row {
    const char *name;
    gopt_activation a;
} row;

static const row rows[] = {
    {"", {identity, 0, 0, 0}},
    {"Relu", {relu, 0, 0, 0}},
    {"Tanh", {hyperbolic, 0, 0, 0}},
    {"Sigmoid", {sigmoid, 0, 0, 0}},
    {"Affine", {affine, 1, 0, 2}},
    {"LeakyRelu", {leaky_relu, 0.01, 0, 1}},
    {"ThresholdedRelu", {thresholded_relu, 1, 0, 1}},
    {"ScaledTanh", {scaled_tanh, 1, 1, 2}},
    {"HardSigmoid", {hard_sigmoid, 0.2, 0.5, 2}},
    {"Elu", {elu, 1, 0, 1}},
    {"Softsign", {softsign, 0, 0, 0}},
    {"Softplus", {softplus, 0, 0, 0}},
    {"Clip", {clip, -INFINITY, INFINITY, 2}},
};

gopt_status gopt_activation_find(const char *name, gopt_activation *out, gopt_err *e)
{
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        if (!strcasecmp(name, rows[i].name)) {
            *out = rows[i].a;
            return GOPT_OK;
        }
    return gopt_fail(e, GOPT_EINPUT, "unknown activation \"%s\"", name);
}

void gopt_activation_apply(const gopt_activation *a, double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = a->f(v[i], a->alpha, a->beta);
}
