/* pointwise: the shared execution against plain loops, over shapes, types and sizes round a tile. */
#include "support/test.h"

#include "op.h"

static gopt_expr_code code;

static int expr(gopt_expr *x, gopt_attrs attrs, const int *arg, int n)
{
    (void)attrs;
    int r = arg[0];
    for (int i = 1; i < n; i++)
        r = arg[i] < 0 ? r : gopt_expr_op2(x, code, r, arg[i]);
    return r;
}

static const gopt_op any = {
    .name = "Any", .domain = "", .in_min = 1, .in_max = 300, .out_min = 1, .out_max = 1, .expr = expr};

static gopt_status alloc(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    gopt_tensor *t = gopt_tensor_new(x->driver, d, rank, dim);
    if (!t)
        return gopt_oom(e);
    *x->out[k] = *t;
    return GOPT_OK;
}

static gopt_status run(gopt_arena *a, const gopt_tensor *const *in, int n, gopt_tensor *out, gopt_err *e)
{
    gopt_arena scratch = {0};
    gopt_exec x = {
        .op = &any, .n_in = n, .n_out = 1, .in = in, .out = &out, .scratch = &scratch, .alloc = alloc, .driver = a};
    gopt_status s = gopt_pointwise_run(&x, e);
    gopt_arena_fini(&scratch);
    return s;
}

/* A tensor of this shape ("2 3"), counting up from `from`. */
static gopt_tensor *make(gopt_arena *a, gopt_dtype d, const char *shape, int from)
{
    int64_t dim[GOPT_RANK_MAX];
    int rank = 0;
    for (char *end; *shape; shape = end)
        dim[rank++] = strtoll(shape, &end, 10);
    gopt_tensor *t = gopt_tensor_new(a, d, rank, dim);
    assert_non_null(t);
    for (int64_t i = 0; i < gopt_tensor_count(t); i++)
        gopt_tensor_set_int(t, i, from + i % 97);
    return t;
}

/* Flat index into t of the element that goes to flat index i of out. */
static int64_t source(const gopt_tensor *t, const gopt_tensor *out, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = 1; k <= t->rank; k++) {
        int64_t dim = out->dim[out->rank - k];
        at += t->dim[t->rank - k] == 1 ? 0 : i % dim * step;
        step *= t->dim[t->rank - k];
        i /= dim;
    }
    return at;
}

static void shapes_broadcast_in_every_way(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "", ""},
        {"5", "", "5"},
        {"2 3", "3", "2 3"},
        {"2 3", "2 1", "2 3"},
        {"2 1 4", "3 1", "2 3 4"},
        {"1 3 1 5", "2 1 4 1", "2 3 4 5"},
        {"1 1", "1", "1 1"},
        {"0 3", "1 3", "0 3"},
        {"255", "255", "255"},
        {"256", "1", "256"},
        {"257", "257", "257"},
        {"3 100", "100", "3 100"},
        {"700 2", "700 1", "700 2"},
        {"2 300", "2 1", "2 300"},
        {"2 2 2 2 2 2 2 2 2 2 2 2", "2 1 2 1 2 1 2 1 2 1 2 1", "2 2 2 2 2 2 2 2 2 2 2 2"},
    };
    code = GOPT_EXPR_SUB;
    for (int i = 0; i < 2 * GOPT_COUNT(cases); i++) {
        gopt_arena a = {0};
        gopt_err e = {0};
        gopt_tensor out = {0}, *want = make(&a, GOPT_DTYPE_F32, cases[i / 2][2], 0);
        const gopt_tensor *in[] = {make(&a, GOPT_DTYPE_F32, cases[i / 2][i % 2], 1),
                                   make(&a, GOPT_DTYPE_F32, cases[i / 2][1 - i % 2], 10)};
        assert_ok(run(&a, in, 2, &out, &e), &e);
        assert_true(gopt_dims_equal(&out, want));
        for (int64_t k = 0; k < gopt_tensor_count(&out); k++)
            assert_true(gopt_tensor_get(&out, k) == gopt_tensor_get(in[0], source(in[0], &out, k)) -
                                                        gopt_tensor_get(in[1], source(in[1], &out, k)));
        gopt_arena_fini(&a);
    }
}

static void every_type_computes_in_its_class(void **state)
{
    (void)state;
    code = GOPT_EXPR_ADD;
    for (int d = 1; d < GOPT_DTYPE_COUNT; d++) {
        gopt_dtype type = (gopt_dtype)d;
        gopt_arena a = {0};
        gopt_err e = {0};
        gopt_tensor out = {0};
        const gopt_tensor *in[] = {make(&a, type, "301", 0), make(&a, type, "1", 3)};
        bool number = gopt_dtype_is_float(type) || gopt_dtype_is_int(type);
        if (!number && type != GOPT_DTYPE_BOOL) {
            assert_int_equal(run(&a, in, 2, &out, &e), GOPT_EUNSUP);
        } else {
            assert_ok(run(&a, in, 2, &out, &e), &e);
            assert_int_equal(out.dtype, number ? type : GOPT_DTYPE_I32);
        }
        for (int64_t i = 0; number && i < 301; i++) {
            double p = gopt_tensor_get(in[0], i), q = gopt_tensor_get(in[1], 0);
            double want = gopt_dtype_is_float(type) ? gopt_dtype_round(type, p + q)
                                                    : (double)gopt_dtype_wrap(type, (int64_t)(p + q));
            assert_true(gopt_tensor_get(&out, i) == want);
        }
        gopt_arena_fini(&a);
    }
}

static void large_integers_stay_exact(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_err e = {0};
    int64_t big[] = {INT64_MAX - 1, INT64_MIN}, one = 1;
    gopt_tensor x = {.dtype = GOPT_DTYPE_I64, .rank = 1, .dim = {2}, .data = big}, out = {0};
    gopt_tensor y = {.dtype = GOPT_DTYPE_I64, .data = &one};
    code = GOPT_EXPR_ADD;
    assert_ok(run(&a, (const gopt_tensor *const[]){&x, &y}, 2, &out, &e), &e);
    assert_int_equal(((int64_t *)out.data)[0], INT64_MAX);
    assert_int_equal(((int64_t *)out.data)[1], INT64_MIN + 1);
    gopt_arena_fini(&a);
}

static void tests_give_bools_and_absent_inputs_are_skipped(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_tensor out = {0};
    const gopt_tensor *in[] = {make(&a, GOPT_DTYPE_F32, "2 3", 0), NULL, make(&a, GOPT_DTYPE_F32, "3", 2)};
    code = GOPT_EXPR_LT;
    assert_ok(run(&a, in, 3, &out, &e), &e);
    assert_int_equal(out.dtype, GOPT_DTYPE_BOOL);
    static const uint8_t want[] = {1, 1, 1, 0, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(((uint8_t *)out.data)[i], want[i]);
    gopt_arena_fini(&a);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_tensor out = {0}, *planned = make(&a, GOPT_DTYPE_F32, "2 4", 0);
    const gopt_tensor *in[300] = {make(&a, GOPT_DTYPE_F32, "2 3", 0), make(&a, GOPT_DTYPE_F32, "2", 0)};
    code = GOPT_EXPR_ADD;
    assert_int_equal(run(&a, in, 2, &out, &e), GOPT_EINPUT);
    assert_string_equal(e.msg, "inputs float32[2,3] and float32[2] do not broadcast");
    in[1] = in[0];
    assert_int_equal(run(&a, in, 2, planned, &e), GOPT_EINPUT);
    assert_string_equal(e.msg, "output 0 is float32[2,3], but float32[2,4] was planned");
    for (int i = 0; i < 300; i++)
        in[i] = in[0];
    assert_int_equal(run(&a, in, 200, &out, &e), GOPT_EUNSUP);
    assert_string_equal(e.msg, "more than 256 instructions per element");
    assert_int_equal(run(&a, in, 300, &out, &e), GOPT_EUNSUP);
    assert_ok(run(&a, in, 100, &out, &e), &e);
    assert_true(gopt_tensor_get(&out, 5) == 500);
    gopt_arena_fini(&a);
}

static gopt_status run_once(void *ctx, gopt_err *e)
{
    (void)ctx;
    gopt_arena a = {0};
    float x[] = {1, 2};
    gopt_tensor in = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {2}, .data = x}, out = {0};
    code = GOPT_EXPR_MUL;
    gopt_status s = run(&a, (const gopt_tensor *const[]){&in, &in}, 2, &out, e);
    gopt_arena_fini(&a);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(run_once, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_broadcast_in_every_way),
        cmocka_unit_test(every_type_computes_in_its_class),
        cmocka_unit_test(large_integers_stay_exact),
        cmocka_unit_test(tests_give_bools_and_absent_inputs_are_skipped),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
