/* cells.c: the steps of recurrent networks: one state times its weights, and what becomes of the sums of the gates. */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

/* `panels` panels at a time: enough sums that none waits for the one before it. */
static inline __attribute__((always_inline)) void products(const gopt_state_product *p, int64_t first, const int panels,
                                                           const int vectors)
{
    const int64_t step = p->backwards ? -1 : 1, begin = p->backwards ? p->k - 1 : 0;
    const float *x = p->x + begin, *b = p->b + first * p->b_panel + begin * p->b_row;
    float *sums = p->sums + first * p->sums_panel;
    vf acc[4][4];
    UNROLL for (int i = 0; i < panels; i++) UNROLL for (int j = 0; j < vectors; j++) acc[i][j] =
        v_load(sums + i * p->sums_panel + j * GOPT_VW);
    for (int64_t q = 0; q < p->k; q++) {
        vf xv = v_splat(*x);
        UNROLL for (int i = 0; i < panels; i++) UNROLL for (int j = 0; j < vectors; j++) acc[i][j] +=
            xv * v_load(b + i * p->b_panel + j * GOPT_VW);
        x += step;
        b += step * p->b_row;
    }
    UNROLL for (int i = 0; i < panels; i++) UNROLL for (int j = 0; j < vectors; j++)
        v_store(sums + i * p->sums_panel + j * GOPT_VW, acc[i][j]);
}

/* As many panels as go together; the rest, which are at the end, one by one. */
static inline __attribute__((always_inline)) void all_products(const gopt_state_product *p, const int together,
                                                               const int vectors)
{
    int64_t whole = p->panels / together * together;
    for (int64_t i = p->panels - 1; p->backwards && i >= whole; i--)
        products(p, i, 1, vectors);
    for (int64_t i = 0; i < whole; i += together)
        products(p, p->backwards ? whole - together - i : i, together, vectors);
    for (int64_t i = whole; !p->backwards && i < p->panels; i++)
        products(p, i, 1, vectors);
}

/* One function for each: gcc gives up allocating registers well in one that holds them all. */
static __attribute__((noinline)) void by_one(const gopt_state_product *p)
{
    all_products(p, 4, 1);
}

static __attribute__((noinline)) void by_two(const gopt_state_product *p)
{
    all_products(p, 4, 2);
}

static __attribute__((noinline)) void by_three(const gopt_state_product *p)
{
    all_products(p, 2, 3);
}

static __attribute__((noinline)) void by_four(const gopt_state_product *p)
{
    all_products(p, 2, 4);
}

void GOPT_LEVEL(gopt_state_product_run)(const gopt_state_product *p)
{
    static void (*const by_vectors[])(const gopt_state_product *) = {by_one, by_two, by_three, by_four};
    by_vectors[p->vectors - 1](p);
}

/* Activations as quotients, so that products of two need one division. */
typedef struct quotient {
    vf above, below;
} quotient;

static inline __attribute__((always_inline)) quotient sigmoid_of(vf x)
{
    quotient q;
    q.above = v_sigmoid_parts(x, &q.below);
    return q;
}

/* 1 from |x| = 9 on, to the last bit or so. */
static inline __attribute__((always_inline)) quotient tanh_of(vf x)
{
    quotient q;
    q.above = v_tanh_parts(v_select(v_abs(x) > 9.0f, v_copysign(v_splat(9.0f), x), x), &q.below);
    return q;
}

static inline __attribute__((always_inline)) vf product_of(quotient a, quotient b)
{
    return (a.above * b.above) / (a.below * b.below);
}

/* Whole vectors, then the rest through one: sums have room for it. */
void GOPT_LEVEL(gopt_lstm_cell)(int64_t n, const float *sums, float *c, float *h)
{
    for (int64_t i = 0; i < n; i += GOPT_VW, sums += 4 * GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        quotient in = sigmoid_of(v_load(sums)), out = sigmoid_of(v_load(sums + GOPT_VW));
        vf forget = v_sigmoid(v_load(sums + 2 * GOPT_VW));
        vf state = forget * v_load_part(c + i, m, 0) + product_of(in, tanh_of(v_load(sums + 3 * GOPT_VW)));
        v_store_part(c + i, state, m);
        v_store_part(h + i, product_of(out, tanh_of(state)), m);
    }
}

void GOPT_LEVEL(gopt_gru_reset)(int64_t n, const float *sums, const float *h, float *z, float *reset)
{
    for (int64_t i = 0; i < n; i += GOPT_VW, sums += 3 * GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        v_store_part(z + i, v_sigmoid(v_load(sums)), m);
        v_store_part(reset + i, v_sigmoid(v_load(sums + GOPT_VW)) * v_load_part(h + i, m, 0), m);
    }
}

void GOPT_LEVEL(gopt_gru_update)(int64_t n, const float *sums, const float *z, const float *h, float *out)
{
    for (int64_t i = 0; i < n; i += GOPT_VW, sums += 3 * GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf keep = v_load_part(z + i, m, 0), next = v_tanh(v_load(sums + 2 * GOPT_VW));
        v_store_part(out + i, (1.0f - keep) * next + keep * v_load_part(h + i, m, 0), m);
    }
}

void GOPT_LEVEL(gopt_gru_cell)(int64_t n, const float *sums, const float *x, const float *h, float *out)
{
    for (int64_t i = 0; i < n; i += GOPT_VW, sums += 3 * GOPT_VW, x += 3 * GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf keep = v_sigmoid(v_load(sums)), reset = v_sigmoid(v_load(sums + GOPT_VW));
        vf next = v_tanh(v_load(x + 2 * GOPT_VW) + reset * v_load(sums + 2 * GOPT_VW));
        v_store_part(out + i, (1.0f - keep) * next + keep * v_load_part(h + i, m, 0), m);
    }
}
