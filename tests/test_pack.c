/* test_pack.c: constant operands of products in tiles, with their source kept or given back on the way. */
#include <string.h>
#include <sys/mman.h>

#include "base/cpu.h"
#include "cpu/group.h"
#include "cpu/matmul.h"
#include "support/test.h"

enum { N = 41, K = 1 << 17 };

static float *source(size_t bytes)
{
    float *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    for (size_t i = 0; i < bytes / sizeof *p; i++)
        p[i] = 1 + (float)(i % 8191);
    return p;
}

static size_t lost(const float *p, size_t n)
{
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++)
        zeros += p[i] == 0;
    return zeros;
}

static float *packed(const gopt_simd *simd, const float *src, bool rows, bool spent)
{
    int64_t tiles = gopt_ceil_div(N, simd->nr);
    float *out = gopt_calloc((size_t)(tiles * simd->nr * K), sizeof *out);
    assert_non_null(out);
    gopt_matmul_pack(simd,
                     (gopt_packing){.src = src,
                                    .n = N,
                                    .k = K,
                                    .step = rows ? K : 1,
                                    .depth = rows ? 1 : N,
                                    .unit = simd->nr,
                                    .scale = 1,
                                    .dst = out,
                                    .last = tiles},
                     spent);
    return out;
}

static void spent_memory_goes_back_and_tiles_are_the_same(void **state)
{
    const size_t bytes = (size_t)N * K * sizeof(float);
    (void)state;
    for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++)
        for (int rows = 0; rows < 2; rows++) {
            const gopt_simd *simd = gopt_simd_for((gopt_isa)isa);
            float *src = source(bytes), *kept = packed(simd, src, rows, false);
            assert_int_equal(lost(src, N * (size_t)K), 0);
            float *out = packed(simd, src, rows, true);
            size_t of_tiles = (size_t)(gopt_ceil_div(N, simd->nr) * simd->nr) * K * sizeof(float);
            assert_memory_equal(out, kept, of_tiles);
            assert_true(rows ? lost(src, N * (size_t)K) > (size_t)N * K * 9 / 10 : lost(src, N * (size_t)K) == 0);
            gopt_free(out);
            gopt_free(kept);
            munmap(src, bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spent_memory_goes_back_and_tiles_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
