/* cells.c: what recurrent networks do with the sums of their gates. */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

/* Whole vectors, then the rest through one: arrays have room for it. */
void GOPT_LEVEL(gopt_lstm_cell)(int64_t n, const float *const *gate, float *c, float *h)
{
    for (int64_t i = 0; i < n; i += GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf in = v_sigmoid(v_load(gate[0] + i)), forget = v_sigmoid(v_load(gate[2] + i));
        vf state = forget * v_load_part(c + i, m, 0) + in * v_tanh(v_load(gate[3] + i));
        vf out = v_sigmoid(v_load(gate[1] + i)) * v_tanh(state);
        v_store_part(c + i, state, m);
        v_store_part(h + i, out, m);
    }
}

void GOPT_LEVEL(gopt_gru_reset)(int64_t n, const float *const *gate, const float *h, float *z, float *reset)
{
    for (int64_t i = 0; i < n; i += GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        v_store_part(z + i, v_sigmoid(v_load(gate[0] + i)), m);
        v_store_part(reset + i, v_sigmoid(v_load(gate[1] + i)) * v_load_part(h + i, m, 0), m);
    }
}

void GOPT_LEVEL(gopt_gru_update)(int64_t n, const float *z, const float *next, const float *h, float *out)
{
    for (int64_t i = 0; i < n; i += GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf keep = v_load_part(z + i, m, 0);
        v_store_part(out + i, (1.0f - keep) * v_tanh(v_load(next + i)) + keep * v_load_part(h + i, m, 0), m);
    }
}

void GOPT_LEVEL(gopt_gru_cell)(int64_t n, const float *const *gate, const float *x, const float *h, float *out)
{
    for (int64_t i = 0; i < n; i += GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf keep = v_sigmoid(v_load(gate[0] + i)), reset = v_sigmoid(v_load(gate[1] + i));
        vf next = v_tanh(v_load_part(x + i, m, 0) + reset * v_load(gate[2] + i));
        v_store_part(out + i, (1.0f - keep) * next + keep * v_load_part(h + i, m, 0), m);
    }
}
