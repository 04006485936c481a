/* rows.c: what happens along one axis: sums and extremes, softmax, normalization. An axis is a run of memory (row), or
 * elements `step` apart with whole vectors of neighbours to go along (columns). */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

#include <math.h>

static inline __attribute__((always_inline)) vf combine(gopt_reduction kind, vf acc, vf v, vf shift)
{
    switch (kind) {
    case GOPT_REDUCE_MAX:
        return v_max(acc, v);
    case GOPT_REDUCE_MIN:
        return v_min(acc, v);
    case GOPT_REDUCE_PROD:
        return acc * v;
    case GOPT_REDUCE_ABS:
        return acc + v_abs(v);
    case GOPT_REDUCE_SQUARE:
        return acc + v * v;
    case GOPT_REDUCE_EXP:
        return acc + v_exp(v - shift);
    case GOPT_REDUCE_SUM:
        break;
    }
    return acc + v;
}

/* Of lanes: sums of powers are summed, as they have been taken. */
static inline vf merge(gopt_reduction kind, vf a, vf b)
{
    bool sums = kind != GOPT_REDUCE_MAX && kind != GOPT_REDUCE_MIN && kind != GOPT_REDUCE_PROD;
    return combine(sums ? GOPT_REDUCE_SUM : kind, a, b, (vf){0});
}

static float start(gopt_reduction kind)
{
    return kind == GOPT_REDUCE_MAX ? -INFINITY : kind == GOPT_REDUCE_MIN ? INFINITY : kind == GOPT_REDUCE_PROD ? 1 : 0;
}

static inline __attribute__((always_inline)) float row(gopt_reduction kind, const float *x, int64_t n, float shift)
{
    vf begin = v_splat(start(kind)), s0 = begin, s1 = begin, s2 = begin, s3 = begin, d = v_splat(shift);
    int64_t i = 0;
    for (; i + 4 * GOPT_VW <= n; i += 4 * GOPT_VW) {
        s0 = combine(kind, s0, v_load(x + i), d);
        s1 = combine(kind, s1, v_load(x + i + GOPT_VW), d);
        s2 = combine(kind, s2, v_load(x + i + 2 * GOPT_VW), d);
        s3 = combine(kind, s3, v_load(x + i + 3 * GOPT_VW), d);
    }
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        s0 = combine(kind, s0, v_load(x + i), d);
    if (i < n) /* what fills up must not count */
        s1 = combine(kind, s1, v_load_part(x + i, (int)(n - i), kind == GOPT_REDUCE_EXP ? -INFINITY : start(kind)), d);
    s0 = merge(kind, merge(kind, s0, s1), merge(kind, s2, s3));
#if GOPT_VW == 16
    s0 = merge(kind, s0, v_swap8(s0));
#endif
#if GOPT_VW >= 8
    s0 = merge(kind, s0, v_swap4(s0));
#endif
    s0 = merge(kind, s0, v_swap2(s0));
    return merge(kind, s0, v_swap1(s0))[0];
}

float GOPT_LEVEL(gopt_reduce_row)(gopt_reduction kind, const float *x, int64_t n, float shift)
{
    switch (kind) {
    case GOPT_REDUCE_MAX:
        return row(GOPT_REDUCE_MAX, x, n, shift);
    case GOPT_REDUCE_MIN:
        return row(GOPT_REDUCE_MIN, x, n, shift);
    case GOPT_REDUCE_PROD:
        return row(GOPT_REDUCE_PROD, x, n, shift);
    case GOPT_REDUCE_ABS:
        return row(GOPT_REDUCE_ABS, x, n, shift);
    case GOPT_REDUCE_SQUARE:
        return row(GOPT_REDUCE_SQUARE, x, n, shift);
    case GOPT_REDUCE_EXP:
        return row(GOPT_REDUCE_EXP, x, n, shift);
    case GOPT_REDUCE_SUM:
        break;
    }
    return row(GOPT_REDUCE_SUM, x, n, shift);
}

static inline __attribute__((always_inline)) void into(gopt_reduction kind, float *acc, const float *x, int64_t n,
                                                       const float *shift)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(acc + i, combine(kind, v_load(acc + i), v_load(x + i), shift ? v_load(shift + i) : (vf){0}));
    if (i == n)
        return;
    vf d = shift ? v_load_part(shift + i, (int)(n - i), 0) : (vf){0};
    v_store_part(acc + i, combine(kind, v_load_part(acc + i, (int)(n - i), 0), v_load_part(x + i, (int)(n - i), 0), d),
                 (int)(n - i));
}

void GOPT_LEVEL(gopt_reduce_into)(gopt_reduction kind, float *acc, const float *x, int64_t n, const float *shift)
{
    switch (kind) {
    case GOPT_REDUCE_MAX:
        into(GOPT_REDUCE_MAX, acc, x, n, shift);
        break;
    case GOPT_REDUCE_MIN:
        into(GOPT_REDUCE_MIN, acc, x, n, shift);
        break;
    case GOPT_REDUCE_PROD:
        into(GOPT_REDUCE_PROD, acc, x, n, shift);
        break;
    case GOPT_REDUCE_ABS:
        into(GOPT_REDUCE_ABS, acc, x, n, shift);
        break;
    case GOPT_REDUCE_SQUARE:
        into(GOPT_REDUCE_SQUARE, acc, x, n, shift);
        break;
    case GOPT_REDUCE_EXP:
        into(GOPT_REDUCE_EXP, acc, x, n, shift);
        break;
    case GOPT_REDUCE_SUM:
        into(GOPT_REDUCE_SUM, acc, x, n, shift);
        break;
    }
}

void GOPT_LEVEL(gopt_affine)(float *y, const float *x, int64_t n, float origin, float a, float b)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(y + i, (v_load(x + i) - origin) * a + b);
    for (; i < n; i++)
        y[i] = (x[i] - origin) * a + b;
}

void GOPT_LEVEL(gopt_scale_row)(float *y, const float *x, int64_t n, float origin, float a, float b, const float *scale,
                                const float *shift)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW) {
        vf v = ((v_load(x + i) - origin) * a + b) * v_load(scale + i);
        v_store(y + i, shift ? v + v_load(shift + i) : v);
    }
    for (; i < n; i++)
        y[i] = ((x[i] - origin) * a + b) * scale[i] + (shift ? shift[i] : 0);
}

/* y = a + b, either may be y. */
void GOPT_LEVEL(gopt_add)(float *y, const float *a, const float *b, int64_t n)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(y + i, v_load(a + i) + v_load(b + i));
    for (; i < n; i++)
        y[i] = a[i] + b[i];
}

float GOPT_LEVEL(gopt_moments)(const float *x, int64_t n, float origin, float *square)
{
    vf s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
    int64_t i = 0;
    for (; i + 2 * GOPT_VW <= n; i += 2 * GOPT_VW) {
        vf d0 = v_load(x + i) - origin, d1 = v_load(x + i + GOPT_VW) - origin;
        s0 += d0;
        s1 += d1;
        q0 += d0 * d0;
        q1 += d1 * d1;
    }
    float sum = v_sum(s0 + s1);
    *square = v_sum(q0 + q1);
    for (; i < n; i++) {
        float d = x[i] - origin;
        sum += d;
        *square += d * d;
    }
    return sum;
}

float GOPT_LEVEL(gopt_exp_row)(float *y, const float *x, int64_t n, float shift)
{
    vf s = {0};
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW) {
        vf e = v_exp(v_load(x + i) - shift);
        v_store(y + i, e);
        s += e;
    }
    if (i < n) {
        vf e = v_exp(v_load_part(x + i, (int)(n - i), -INFINITY) - shift);
        v_store_part(y + i, e, (int)(n - i));
        s += e;
    }
    return v_sum(s);
}

void GOPT_LEVEL(gopt_softmax_row)(float *y, const float *x, int64_t n, bool log)
{
    float most = row(GOPT_REDUCE_MAX, x, n, 0);
    if (log) {
        float sum = row(GOPT_REDUCE_EXP, x, n, most);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] - most - logf(sum);
        return;
    }
    float sum = GOPT_LEVEL(gopt_exp_row)(y, x, n, most);
    GOPT_LEVEL(gopt_affine)(y, y, n, 0, 1 / sum, 0);
}

/* n elements `step` apart, for `cols` <= GOPT_VW neighbours. */
static inline void softmax_columns(float *y, const float *x, int64_t n, int64_t step, int64_t cols, bool log)
{
    bool whole = cols == GOPT_VW;
    vf most = v_splat(-INFINITY), sum = {0};
    for (int64_t i = 0; i < n; i++)
        most = v_max(most, whole ? v_load(x + i * step) : v_load_part(x + i * step, (int)cols, 0));
    for (int64_t i = 0; i < n; i++) {
        vf v = (whole ? v_load(x + i * step) : v_load_part(x + i * step, (int)cols, 0)) - most, e = v_exp(v);
        sum += e;
        whole ? v_store(y + i * step, log ? v : e) : v_store_part(y + i * step, log ? v : e, (int)cols);
    }
    vf scale = log ? v_splat(1) : 1.0f / sum, shift = log ? -v_log(sum) : (vf){0};
    for (int64_t i = 0; i < n; i++) {
        vf v = whole ? v_load(y + i * step) : v_load_part(y + i * step, (int)cols, 0);
        v = log ? v + shift : v * scale;
        whole ? v_store(y + i * step, v) : v_store_part(y + i * step, v, (int)cols);
    }
}

void GOPT_LEVEL(gopt_softmax_columns)(float *y, const float *x, int64_t n, int64_t step, int64_t cols, bool log)
{
    for (int64_t j = 0; j < cols; j += GOPT_VW)
        softmax_columns(y + j, x + j, n, step, cols - j < GOPT_VW ? cols - j : GOPT_VW, log);
}
