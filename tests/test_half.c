/* half: every float16 and bfloat16 to float32 and back, at every instruction set level, against the scalar functions.
 */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "cpu/simd.h"

enum { ALL = 1 << 16 };

static float widened(uint16_t h, bool brain)
{
    return brain ? gopt_bf16_to_f32(h) : gopt_f16_to_f32(h);
}

static void assert_same(float got, float want, unsigned of)
{
    if (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want)))
        fail_msg("%04x is %a, not %a", of, (double)got, (double)want);
}

static void all_are_widened(void **state)
{
    static uint16_t in[ALL];
    static float out[ALL];
    (void)state;
    for (int i = 0; i < ALL; i++)
        in[i] = (uint16_t)i;
    for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++)
        for (int brain = 0; brain < 2; brain++) {
            gopt_simd_for((gopt_isa)isa)->half_widen(out, in, ALL, brain);
            for (unsigned i = 0; i < ALL; i++)
                assert_same(out[i], widened((uint16_t)i, brain), i);
        }
}

static void assert_narrowed(const gopt_simd *simd, bool brain, const float *in, uint16_t *out, int n)
{
    simd->half_narrow(out, in, n, brain);
    for (int i = 0; i < n; i++) {
        uint16_t want = brain ? gopt_f32_to_bf16(in[i]) : gopt_f32_to_f16(in[i]);
        if (out[i] != want && !isnan(in[i]))
            fail_msg("%a is %04x, not %04x", (double)in[i], out[i], want);
        if (isnan(in[i]))
            assert_true(isnan(widened(out[i], brain)));
    }
}

/* The numbers themselves, halfway between neighbours and just beside that. */
static void neighbours_are_rounded(void **state)
{
    static float in[4 * ALL];
    static uint16_t out[4 * ALL];
    (void)state;
    for (int brain = 0; brain < 2; brain++) {
        for (int i = 0; i < ALL; i++) {
            float a = widened((uint16_t)i, brain), b = widened((uint16_t)(i + 1), brain);
            float middle = (float)(((double)a + (double)b) / 2);
            in[4 * i] = a;
            in[4 * i + 1] = middle;
            in[4 * i + 2] = nextafterf(middle, INFINITY);
            in[4 * i + 3] = nextafterf(middle, -INFINITY);
        }
        for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++)
            assert_narrowed(gopt_simd_for((gopt_isa)isa), brain, in, out, 4 * ALL);
    }
}

/* By tiles: to float16 or bfloat16 and back in one instruction. */
static void tiles_round_to_neighbours(void **state)
{
    enum { N = 512 };
    _Alignas(64) static float in[N], out[N];
    (void)state;
    for (int i = 0; i < 4 * ALL; i++) {
        float a = widened((uint16_t)(i / 4), i % 2), b = widened((uint16_t)(i / 4 + 1), i % 2);
        in[i % N] = i & 2 ? a : (float)(((double)a + (double)b) / 2);
        if ((i + 1) % N)
            continue;
        for (int brain = 0; brain < 2; brain++)
            for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++) {
                gopt_tile t = {.n_op = 1, .result = 1, .op[0].code = brain ? GOPT_TILE_TO_BF16 : GOPT_TILE_TO_F16};
                t.op[0].dst = 1;
                gopt_simd_for((gopt_isa)isa)->tile(&t, (float *[]){in, out}, N);
                for (int k = 0; k < N; k++)
                    assert_same(out[k], widened(brain ? gopt_f32_to_bf16(in[k]) : gopt_f32_to_f16(in[k]), brain), 0);
            }
    }
}

static void nothing_past_the_end_is_touched(void **state)
{
    uint16_t half[40];
    float wide[40];
    (void)state;
    for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++)
        for (int n = 0; n < 39; n++) {
            for (int i = 0; i < 40; i++) {
                half[i] = 0x3c00;
                wide[i] = 7;
            }
            gopt_simd_for((gopt_isa)isa)->half_widen(wide, half, n, false);
            assert_true((n == 0 || wide[n - 1] == 1) && wide[n] == 7);
            gopt_simd_for((gopt_isa)isa)->half_narrow(half, (float[40]){0}, n, false);
            assert_true((n == 0 || half[n - 1] == 0) && half[n] == 0x3c00);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_widened),
        cmocka_unit_test(neighbours_are_rounded),
        cmocka_unit_test(tiles_round_to_neighbours),
        cmocka_unit_test(nothing_past_the_end_is_touched),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
