/* lrn.c: numbers over a power of the sum of their neighbours' squares. */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

#include <math.h>

/* v^-beta where v_pow_positive holds, else by the scalar function. */
static vf any_power(vf v, float beta)
{
    vf r = v_pow_positive(v, v_splat(-beta));
    vi special = ~((v > 0.0f) & (v < INFINITY));
    for (int i = 0; i < GOPT_VW; i++)
        if (special[i])
            r[i] = powf(v[i], -beta);
    return r;
}

/* The first n <= GOPT_VW elements. */
static inline __attribute__((always_inline)) vf squares(const gopt_lrn *p, const float *near, int n)
{
    vf sum = {0};
    for (int64_t k = 0; k < p->taps; k++) {
        const float *at = near + k * p->step;
        vf x = n == GOPT_VW ? v_load(at) : v_load_part(at, n, 0);
        sum += x * x;
    }
    return sum;
}

static inline __attribute__((always_inline)) vf scale(const gopt_lrn *p, vf x, vf sum)
{
    vf v = sum * p->alpha + p->bias;
    if (p->beta != 0.75f)
        return x * any_power(v, p->beta);
    vf root = v_sqrt(v);
    return x / (root * v_sqrt(root));
}

void GOPT_LEVEL(gopt_lrn_run)(const gopt_lrn *p, const float *x, const float *near, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(y + i, scale(p, v_load(x + i), squares(p, near + i, GOPT_VW)));
    int rest = (int)(n - i);
    if (rest)
        v_store_part(y + i, scale(p, v_load_part(x + i, rest, 0), squares(p, near + i, rest)), rest);
}
