/* MatMul, Gemm, Einsum, Det and their relatives: numpy's rules on hand-worked values, and against a direct sum. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I64 GOPT_DTYPE_I64

static void matrices_multiply(void **state)
{
    (void)state;
    ref_case c = ref_begin("MatMul");
    ref_input(&c, F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    ref_input(&c, F32, DIMS(3, 2), VALUES(1, 0, 0, 1, 10, 100));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 2), 0, VALUES(31, 302, 64, 605));
    ref_end(&c);
}

typedef struct shapes {
    int ra, rb, r;
    int64_t a[4], b[4], out[4];
} shapes;

static void batches_broadcast(void **state)
{
    static const shapes all[] = {
        {1, 1, 0, {4}, {4}, {0}},
        {1, 2, 1, {4}, {4, 3}, {3}},
        {2, 1, 1, {3, 4}, {4}, {3}},
        {1, 3, 2, {4}, {2, 4, 3}, {2, 3}},
        {3, 1, 2, {2, 3, 4}, {4}, {2, 3}},
        {3, 2, 3, {2, 3, 4}, {4, 5}, {2, 3, 5}},
        {4, 3, 4, {2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
        {4, 4, 4, {2, 1, 3, 4}, {1, 3, 4, 2}, {2, 3, 3, 2}},
        {2, 2, 2, {2, 0}, {0, 3}, {2, 3}}, /* a sum of nothing */
        {3, 3, 3, {0, 2, 3}, {1, 3, 2}, {0, 2, 2}},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(all); i++) {
        ref_case c = ref_begin("MatMul");
        ref_varied(&c, F32, all[i].ra, all[i].a);
        ref_varied(&c, F32, all[i].rb, all[i].b);
        /* Symbols hide that a dimension is 1, so only what inference claims is compared. */
        c.loose = true;
        assert_ok(ref_run(&c, 1), &c.e);
        assert_int_equal(c.out[0].rank, all[i].r);
        for (int d = 0; d < all[i].r; d++)
            assert_int_equal(c.out[0].dim[d], all[i].out[d]);
        ref_end(&c);
    }
}

static void every_batch_takes_its_own_matrices(void **state)
{
    (void)state;
    ref_case c = ref_begin("MatMul");
    ref_input(&c, F32, DIMS(2, 1, 1, 2), VALUES(1, 2, 3, 4));
    ref_input(&c, F32, DIMS(2, 2, 1), VALUES(1, 10, 100, 1000));
    c.loose = true;
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 2, 1, 1), 0, VALUES(21, 2100, 43, 4300));
    ref_end(&c);
}

/* Larger than one panel in every direction. */
static void panels_meet(void **state)
{
    enum { M = 70, N = 530, K = 150 };
    (void)state;
    ref_case c = ref_begin("MatMul");
    const gopt_tensor *a = ref_varied(&c, F32, DIMS(M, K)), *b = ref_varied(&c, F32, DIMS(K, N));
    assert_ok(ref_run(&c, 1), &c.e);
    for (int64_t i = 0; i < M; i += 23)
        for (int64_t j = 0; j < N; j += 53) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += gopt_tensor_get(a, i * K + k) * gopt_tensor_get(b, k * N + j);
            assert_true(fabs(ref_at(&c, 0, i * N + j) - sum) <= 1e-6 * fmax(1, fabs(sum)));
        }
    ref_end(&c);
}

static void integers_stay_exact(void **state)
{
    (void)state;
    ref_case c = ref_begin("MatMul");
    gopt_tensor *a = ref_input(&c, I64, DIMS(1, 2), 0, NULL);
    ref_input(&c, I64, DIMS(2, 1), VALUES(1, 1));
    gopt_tensor_set_int(a, 0, ((int64_t)1 << 60) + 1);
    gopt_tensor_set_int(a, 1, 1);
    assert_ok(ref_run(&c, 1), &c.e);
    assert_int_equal(gopt_tensor_get_int(&c.out[0], 0), ((int64_t)1 << 60) + 2);
    ref_end(&c);
}

static void gemm_transposes_scales_and_adds(void **state)
{
    static const double a[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 4, 2, 5, 3, 6}};
    static const double b[2][6] = {{1, 0, 0, 1, 10, 100}, {1, 0, 10, 0, 1, 100}};
    (void)state;
    for (int t = 0; t < 4; t++) {
        int ta = t & 1, tb = t >> 1;
        ref_case c = ref_begin("Gemm");
        ref_input(&c, F32, DIMS(ta ? 3 : 2, ta ? 2 : 3), 6, a[ta]);
        ref_input(&c, F32, DIMS(tb ? 2 : 3, tb ? 3 : 2), 6, b[tb]);
        ref_constant(&c, F32, DIMS(2, 1), VALUES(1, 2));
        ref_int(&c, "transA", ta);
        ref_int(&c, "transB", tb);
        ref_float(&c, "alpha", 2);
        ref_float(&c, "beta", 0.5);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(2, 2), 1e-7, VALUES(62.5, 604.5, 129, 1211));
        ref_end(&c);
    }
}

static void gemm_broadcasts_every_addend(void **state)
{
    static const int64_t dims[][2] = {{0}, {1}, {2}, {1, 2}, {2, 2}};
    static const int ranks[] = {0, 1, 1, 2, 2};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(ranks); i++) {
        ref_case c = ref_begin("Gemm");
        ref_input(&c, F32, DIMS(2, 1), VALUES(1, 2));
        ref_input(&c, F32, DIMS(1, 2), VALUES(1, 10));
        ref_constant(&c, F32, ranks[i], dims[i], VALUES(100));
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(2, 2), 0, VALUES(101, 110, 102, 120));
        ref_end(&c);
    }
}

static void fused_products_have_their_extras(void **state)
{
    (void)state;
    ref_case g = ref_begin("com.microsoft:FusedGemm"), m = ref_begin("com.microsoft:FusedMatMul");
    ref_input(&g, F32, DIMS(1, 2), VALUES(1, 2));
    ref_input(&g, F32, DIMS(2, 2), VALUES(1, -1, 1, -1));
    ref_string(&g, "activation", "LeakyRelu");
    ref_float(&g, "activation_alpha", 0.25);
    assert_ok(ref_run(&g, 1), &g.e);
    ref_expect(&g, 0, F32, DIMS(1, 2), 1e-7, VALUES(3, -0.75));
    ref_end(&g);
    /* A is stored rows first, then the batch: row r of batch b at [r][b]. */
    ref_input(&m, F32, DIMS(2, 3, 1), VALUES(1, 2, 3, 4, 5, 6));
    ref_input(&m, F32, DIMS(3, 1, 1), VALUES(1, 10, 100));
    ref_int(&m, "transBatchA", 1);
    ref_float(&m, "alpha", 2);
    m.loose = true;
    assert_ok(ref_run(&m, 1), &m.e);
    ref_expect(&m, 0, F32, DIMS(3, 2, 1), 0, VALUES(2, 8, 40, 100, 600, 1200));
    ref_end(&m);
}

/* ---- Einsum ---- */

typedef struct equation {
    const char *text;
    int ra, rb; /* rb < 0: one operand */
    int64_t a[3], b[3];
    int r;
    int64_t out[3];
    int n;
    double want[9];
} equation;

/* Operands hold 1, 2, 3 and so on. */
static void einsum_follows_its_equation(void **state)
{
    static const equation all[] = {
        {"ij,jk->ik", 2, 2, {2, 2}, {2, 2}, 2, {2, 2}, 4, {7, 10, 15, 22}},
        {"ij,jk", 2, 2, {2, 2}, {2, 2}, 2, {2, 2}, 4, {7, 10, 15, 22}},
        {"ij->ji", 2, -1, {2, 3}, {0}, 2, {3, 2}, 6, {1, 4, 2, 5, 3, 6}},
        {"ba", 2, -1, {2, 3}, {0}, 2, {3, 2}, 6, {1, 4, 2, 5, 3, 6}}, /* implicit output in alphabetical order */
        {"aB->", 2, -1, {2, 3}, {0}, 0, {0}, 1, {21}},
        {"ii->i", 2, -1, {3, 3}, {0}, 1, {3}, 3, {1, 5, 9}},
        {"ii", 2, -1, {3, 3}, {0}, 0, {0}, 1, {15}},
        {" i , j -> i j ", 1, 1, {2}, {3}, 2, {2, 3}, 6, {1, 2, 3, 2, 4, 6}},
        {"i,i->", 1, 1, {3}, {3}, 0, {0}, 1, {14}},
        {"...i,i->...", 3, 1, {2, 1, 2}, {2}, 2, {2, 1}, 2, {5, 11}},
        {"...ij,...jk", 3, 3, {1, 1, 2}, {2, 2, 1}, 3, {2, 1, 1}, 2, {5, 11}},
        {"b...->...b", 2, -1, {2, 2}, {0}, 2, {2, 2}, 4, {1, 3, 2, 4}},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(all); i++) {
        const equation *q = &all[i];
        ref_case c = ref_begin("Einsum");
        ref_input(&c, F32, q->ra, q->a, VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9));
        if (q->rb >= 0)
            ref_input(&c, F32, q->rb, q->b, VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9));
        ref_string(&c, "equation", q->text);
        c.loose = true;
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, q->r, q->out, 0, q->n, q->want);
        ref_end(&c);
    }
}

static void einsum_refuses_what_does_not_fit(void **state)
{
    static const char *const texts[][2] = {
        {"ij", "terms"},
        {"ij,jk,kl", "terms"},
        {"i,jk", "rank"},
        {"ij,jk->iz", "no operand"},
        {"ij,jk->ii", "twice"},
        {"i1,jk", "unexpected"},
        {"ij,jk->ik,", "behind"},
        {"ij-jk", "unexpected"},
        {"ij,ij->...ij.", "unexpected"},
        {"ij,kj->ik", "label"},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(texts); i++) {
        ref_case c = ref_begin("Einsum");
        ref_varied(&c, F32, DIMS(2, 3));
        ref_varied(&c, F32, DIMS(3, 2));
        ref_string(&c, "equation", texts[i][0]);
        ref_expect_error(&c, GOPT_EINPUT, texts[i][1]);
        ref_end(&c);
    }
}

static void determinants_of_a_batch(void **state)
{
    (void)state;
    ref_case c = ref_begin("Det");
    ref_input(&c, F32, DIMS(3, 2, 2), VALUES(1, 2, 3, 4, 0, 1, 1, 0, 1, 2, 2, 4));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(3), 1e-6, VALUES(-2, -1, 0));
    ref_end(&c);
}

/* ---- refusals ---- */

static void shapes_that_do_not_go_together(void **state)
{
    (void)state;
    ref_case m = ref_begin("MatMul"), b = ref_begin("MatMul"), g = ref_begin("Gemm"), d = ref_begin("Det");
    ref_varied(&m, F32, DIMS(2, 3));
    ref_varied(&m, F32, DIMS(2, 3));
    ref_expect_error(&m, GOPT_EINPUT, "inner dimensions");
    ref_varied(&b, F32, DIMS(2, 2, 3));
    ref_varied(&b, F32, DIMS(3, 3, 2));
    ref_expect_error(&b, GOPT_EINPUT, "batch axes");
    ref_varied(&g, F32, DIMS(2, 2));
    ref_varied(&g, F32, DIMS(2, 2));
    ref_varied(&g, F32, DIMS(3));
    ref_expect_error(&g, GOPT_EINPUT, "input C");
    ref_varied(&d, F32, DIMS(2, 3));
    ref_expect_error(&d, GOPT_EINPUT, "rows and columns");
    ref_end(&m);
    ref_end(&b);
    ref_end(&g);
    ref_end(&d);
}

static void a_missing_input_is_named(void **state)
{
    (void)state;
    ref_case c = ref_begin("MatMul");
    ref_varied(&c, F32, DIMS(2, 2));
    ref_absent(&c);
    ref_expect_error(&c, GOPT_EINPUT, "input 1");
    ref_end(&c);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case m = ref_begin("MatMul"), e = ref_begin("Einsum");
    ref_varied(&m, F32, DIMS(2, 3));
    ref_varied(&m, F32, DIMS(3, 2));
    ref_expect_oom_safe(&m, 1);
    ref_varied(&e, I64, DIMS(2, 3));
    ref_varied(&e, I64, DIMS(3, 2));
    ref_string(&e, "equation", "ij,jk");
    ref_expect_oom_safe(&e, 1);
    ref_end(&m);
    ref_end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_multiply),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(every_batch_takes_its_own_matrices),
        cmocka_unit_test(panels_meet),
        cmocka_unit_test(integers_stay_exact),
        cmocka_unit_test(gemm_transposes_scales_and_adds),
        cmocka_unit_test(gemm_broadcasts_every_addend),
        cmocka_unit_test(fused_products_have_their_extras),
        cmocka_unit_test(einsum_follows_its_equation),
        cmocka_unit_test(einsum_refuses_what_does_not_fit),
        cmocka_unit_test(determinants_of_a_batch),
        cmocka_unit_test(shapes_that_do_not_go_together),
        cmocka_unit_test(a_missing_input_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
