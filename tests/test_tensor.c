/* tensor: element types, conversions of every type, shapes, tensors. */
#include "support/test.h"

#include <math.h>

#include "tensor.h"

static const gopt_dtype floats[] = {GOPT_DTYPE_F32,        GOPT_DTYPE_F16,    GOPT_DTYPE_F64,        GOPT_DTYPE_BF16,
                                    GOPT_DTYPE_F8E4M3FN,   GOPT_DTYPE_F8E5M2, GOPT_DTYPE_F8E4M3FNUZ, GOPT_DTYPE_F4E2M1,
                                    GOPT_DTYPE_F8E5M2FNUZ, GOPT_DTYPE_F8E8M0};
static const gopt_dtype ints[] = {GOPT_DTYPE_U8,  GOPT_DTYPE_I8,  GOPT_DTYPE_U16, GOPT_DTYPE_I16,
                                  GOPT_DTYPE_I32, GOPT_DTYPE_I64, GOPT_DTYPE_U32, GOPT_DTYPE_U64,
                                  GOPT_DTYPE_U4,  GOPT_DTYPE_I4,  GOPT_DTYPE_U2,  GOPT_DTYPE_I2};

static void names_and_sizes_of_types(void **state)
{
    (void)state;
    for (int d = 1; d < GOPT_DTYPE_COUNT; d++)
        assert_int_equal(gopt_dtype_find(gopt_dtype_name((gopt_dtype)d)), d);
    assert_string_equal(gopt_dtype_name(GOPT_DTYPE_BF16), "bfloat16");
    assert_string_equal(gopt_dtype_name(GOPT_DTYPE_NONE), "undefined");
    assert_string_equal(gopt_dtype_name((gopt_dtype)99), "undefined");
    assert_string_equal(gopt_dtype_name((gopt_dtype)-1), "undefined");
    assert_int_equal(gopt_dtype_find("undefined"), GOPT_DTYPE_NONE);
    assert_int_equal(gopt_dtype_find("float"), GOPT_DTYPE_NONE);
    assert_int_equal(gopt_dtype_bits(GOPT_DTYPE_C128), 128);
    assert_int_equal(gopt_dtype_bits(GOPT_DTYPE_STRING), 0);
    assert_int_equal(gopt_dtype_bits((gopt_dtype)1000), 0);
    for (int i = 0; i < GOPT_COUNT(floats); i++)
        assert_true(gopt_dtype_is_float(floats[i]) && !gopt_dtype_is_int(floats[i]));
    for (int i = 0; i < GOPT_COUNT(ints); i++)
        assert_true(gopt_dtype_is_int(ints[i]) && !gopt_dtype_is_float(ints[i]));
    assert_true(gopt_dtype_is_signed(GOPT_DTYPE_I2) && !gopt_dtype_is_signed(GOPT_DTYPE_U2));
    assert_false(gopt_dtype_is_int(GOPT_DTYPE_BOOL) || gopt_dtype_is_signed(GOPT_DTYPE_F32));
    assert_int_equal(gopt_dtype_bytes(GOPT_DTYPE_U2, 5), 2);
    assert_int_equal(gopt_dtype_bytes(GOPT_DTYPE_I4, 4), 2);
    assert_int_equal(gopt_dtype_bytes(GOPT_DTYPE_F64, 3), 24);
}

static void counts_refuse_what_overflows(void **state)
{
    (void)state;
    int64_t n;
    assert_true(gopt_dims_count(NULL, 0, &n) && n == 1);
    assert_true(gopt_dims_count((int64_t[]){2, 3, 4}, 3, &n) && n == 24);
    assert_true(gopt_dims_count((int64_t[]){INT64_MAX, 0, INT64_MAX}, 3, &n) && n == 0);
    assert_false(gopt_dims_count((int64_t[]){2, -1}, 2, &n));
    assert_false(gopt_dims_count((int64_t[]){0, -1}, 2, &n));
    assert_false(gopt_dims_count((int64_t[]){INT64_MAX / 2, 2}, 2, &n));
    assert_false(gopt_dims_count((int64_t[]){1LL << 31, 1LL << 31}, 2, &n));
    assert_false(gopt_dims_count((int64_t[]){INT64_MAX}, 1, &n));
}

static void shapes_broadcast(void **state)
{
    (void)state;
    static const struct {
        int64_t a[4];
        int ra;
        int64_t b[4];
        int rb;
        int64_t want[4];
        int rank; /* below 0: they do not */
    } cases[] = {
        {{2, 3}, 2, {3}, 1, {2, 3}, 2}, {{2, 1}, 2, {1, 5}, 2, {2, 5}, 2},
        {{0}, 0, {4}, 1, {4}, 1},       {{3}, 1, {2, 4, 1}, 3, {2, 4, 3}, 3},
        {{2}, 1, {3}, 1, {0}, -1},      {{0}, 1, {1}, 1, {0}, 1},
        {{0}, 1, {2}, 1, {0}, -1},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        int64_t out[GOPT_RANK_MAX];
        int rank = -1;
        memcpy(out, cases[i].a, sizeof cases[i].a); /* out may be an input */
        bool fits = gopt_dims_broadcast(out, cases[i].ra, cases[i].b, cases[i].rb, out, &rank);
        assert_int_equal(fits, cases[i].rank >= 0);
        assert_int_equal(rank, cases[i].rank);
        for (int k = 0; k < rank; k++)
            assert_int_equal(out[k], cases[i].want[k]);
    }
    int64_t stride[3];
    gopt_dims_strides((int64_t[]){2, 3, 4}, 3, stride);
    assert_true(stride[0] == 12 && stride[1] == 4 && stride[2] == 1);
}

static void tensors_describe_themselves(void **state)
{
    (void)state;
    char buf[64];
    gopt_tensor t = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {2, 3}}, other = t;
    assert_string_equal(gopt_tensor_describe(buf, sizeof buf, &t), "float32[2,3]");
    assert_string_equal(gopt_tensor_describe(buf, 9, &t), "float32[");
    assert_int_equal(gopt_tensor_bytes(&t), 24);
    assert_true(gopt_dims_equal(&t, &other));
    other.dim[1] = 4;
    assert_false(gopt_dims_equal(&t, &other));
    t.rank = 0;
    assert_string_equal(gopt_tensor_describe(buf, sizeof buf, &t), "float32[]");
    assert_int_equal(gopt_tensor_count(&t), 1);
}

/* All codes of a narrow float: NaN apart, every one is what its own value is stored as. */
static void narrow_floats_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(floats); i++) {
        int bits = gopt_dtype_bits(floats[i]);
        for (uint32_t code = 0; bits <= 16 && code < 1U << bits; code++) {
            uint16_t in = (uint16_t)code, out = 0;
            double v;
            gopt_dtype_load(floats[i], &in, 0, 1, &v);
            gopt_dtype_store(floats[i], &out, 0, 1, &v);
            bool infinite = isinf(v) && bits <= 8; /* saturates when stored */
            assert_true(isnan(v) || infinite || in == out);
        }
    }
}

/* Between two neighbours of a narrow float: the nearer one, halfway the even code. */
static void narrow_floats_round_to_nearest_even(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(floats); i++) {
        gopt_dtype d = floats[i];
        int bits = gopt_dtype_bits(d);
        for (uint32_t code = 0; bits <= 16 && d != GOPT_DTYPE_F8E8M0 && code + 1 < 1U << (bits - 1); code++) {
            uint16_t pair[2] = {(uint16_t)code, (uint16_t)(code + 1)};
            double low, high;
            gopt_dtype_load(d, &pair[0], 0, 1, &low);
            gopt_dtype_load(d, &pair[1], 0, 1, &high);
            if (!isfinite(low) || !isfinite(high))
                continue;
            double middle = low + (high - low) / 2;
            assert_true(gopt_dtype_round(d, middle) == (code % 2 ? high : low));
            assert_true(gopt_dtype_round(d, nextafter(middle, high)) == high);
            assert_true(gopt_dtype_round(d, nextafter(middle, low)) == low);
            assert_true(gopt_dtype_round(d, -middle) == (code % 2 ? -high : -low));
        }
    }
}

static void floats_at_their_limits(void **state)
{
    (void)state;
    static const struct {
        gopt_dtype d;
        double v, want;
    } cases[] = {
        {GOPT_DTYPE_F16, 65519.99, 65504},
        {GOPT_DTYPE_F16, 65520, INFINITY},
        {GOPT_DTYPE_F16, 0x1p-25, 0},
        {GOPT_DTYPE_F16, 0x1.8p-25, 0x1p-24},
        {GOPT_DTYPE_BF16, 3.39e38, 3.3895314e38},
        {GOPT_DTYPE_BF16, 1e39, INFINITY},
        {GOPT_DTYPE_F8E4M3FN, 1e9, 448},
        {GOPT_DTYPE_F8E4M3FN, -INFINITY, -448},
        {GOPT_DTYPE_F8E4M3FN, 464, 448},
        {GOPT_DTYPE_F8E4M3FNUZ, 1e9, 240},
        {GOPT_DTYPE_F8E5M2, INFINITY, 57344},
        {GOPT_DTYPE_F8E5M2, 1e-9, 0},
        {GOPT_DTYPE_F8E5M2FNUZ, -1e300, -57344},
        {GOPT_DTYPE_F4E2M1, 100, 6},
        {GOPT_DTYPE_F4E2M1, -0.3, -0.5},
        {GOPT_DTYPE_F8E8M0, 1.1, 2},
        {GOPT_DTYPE_F8E8M0, 0, 0x1p-127},
        {GOPT_DTYPE_F8E8M0, 0.124, 0.125},
        {GOPT_DTYPE_F8E8M0, 3e38, 0x1p127},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        double got = gopt_dtype_round(cases[i].d, cases[i].v);
        assert_true(got == cases[i].want || fabs(got / cases[i].want - 1) < 1e-7);
    }
    for (int i = 0; i < GOPT_COUNT(floats); i++)
        assert_true(floats[i] == GOPT_DTYPE_F4E2M1 || isnan(gopt_dtype_round(floats[i], NAN)));
    assert_false(signbit(gopt_dtype_round(GOPT_DTYPE_F8E4M3FNUZ, -0.0)));
    assert_true(signbit(gopt_dtype_round(GOPT_DTYPE_F4E2M1, -0.0)));
}

static void without_saturation_too_large_is_infinite_or_nan(void **state)
{
    (void)state;
    static const struct {
        gopt_dtype d;
        uint8_t code, negative;
    } cases[] = {{GOPT_DTYPE_F8E4M3FN, 0x7f, 0xff},
                 {GOPT_DTYPE_F8E4M3FNUZ, 0x80, 0x80},
                 {GOPT_DTYPE_F8E5M2, 0x7c, 0xfc},
                 {GOPT_DTYPE_F8E5M2FNUZ, 0x80, 0x80}};
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        assert_int_equal(gopt_f32_to_small(cases[i].d, 1e6f, false), cases[i].code);
        assert_int_equal(gopt_f32_to_small(cases[i].d, -INFINITY, false), cases[i].negative);
        assert_true(gopt_small_to_f32(cases[i].d, gopt_f32_to_small(cases[i].d, 1.5f, false)) == 1.5f);
    }
    assert_true(isinf(gopt_small_to_f32(GOPT_DTYPE_F8E5M2, 0x7c)) && isnan(gopt_small_to_f32(GOPT_DTYPE_F8E5M2, 0x7e)));
}

/* To float16 through float32 would round twice here. */
static void doubles_round_once(void **state)
{
    (void)state;
    double half_ulp_and_more = 1 + 0x1p-11 + 0x1p-40;
    assert_true(gopt_dtype_round(GOPT_DTYPE_F16, half_ulp_and_more) == 1 + 0x1p-10);
    assert_true(gopt_dtype_round(GOPT_DTYPE_F16, -half_ulp_and_more) == -1 - 0x1p-10);
    assert_true(gopt_dtype_round(GOPT_DTYPE_F16, 1 + 0x1p-11 - 0x1p-40) == 1);
    assert_true(gopt_dtype_round(GOPT_DTYPE_BF16, 1 + 0x1p-8 + 0x1p-45) == 1 + 0x1p-7);
    assert_true(gopt_dtype_round(GOPT_DTYPE_F32, 0.1) == (double)0.1f);
}

static void integers_wrap_when_stored(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 1, -1, 7, 8, -8, -9, 255, 256, -129, 65536, INT32_MAX, INT64_MIN, INT64_MAX};
    for (int i = 0; i < GOPT_COUNT(ints); i++)
        for (int k = 0; k < GOPT_COUNT(values); k++) {
            unsigned char data[32] = {0};
            int64_t got, bits = gopt_dtype_bits(ints[i]);
            gopt_tensor t = {.dtype = ints[i], .rank = 1, .dim = {3}, .data = data};
            gopt_tensor_set_int(&t, 1, values[k]);
            got = gopt_tensor_get_int(&t, 1);
            assert_true(bits == 64 || (got ^ values[k]) % ((int64_t)1 << bits) == 0);
            assert_int_equal(got, gopt_dtype_wrap(ints[i], values[k]));
            bool has_sign = gopt_dtype_is_signed(ints[i]);
            assert_true(bits == 64 || (got >= (has_sign ? -(1LL << (bits - 1)) : 0) && got < 1LL << (bits - has_sign)));
            assert_true(gopt_tensor_get(&t, 1) == (ints[i] == GOPT_DTYPE_U64 ? (double)(uint64_t)got : (double)got));
            assert_true(gopt_tensor_get_int(&t, 0) == 0 && gopt_tensor_get_int(&t, 2) == 0);
        }
}

static void floats_become_integers_by_truncation(void **state)
{
    (void)state;
    static const struct {
        gopt_dtype d;
        double v;
        int64_t want;
    } cases[] = {
        {GOPT_DTYPE_I32, 2.9, 2},
        {GOPT_DTYPE_I32, -2.9, -2},
        {GOPT_DTYPE_I4, -9, 7},
        {GOPT_DTYPE_U4, -9, 7},
        {GOPT_DTYPE_I2, 3, -1},
        {GOPT_DTYPE_U8, 300, 44},
        {GOPT_DTYPE_I64, 0x1p63, INT64_MIN},
        {GOPT_DTYPE_U64, 0x1p63, INT64_MIN},
        {GOPT_DTYPE_I8, NAN, 0},
        {GOPT_DTYPE_I8, INFINITY, 0},
        {GOPT_DTYPE_I32, 0x1p65, 0},
        {GOPT_DTYPE_BOOL, 0.1, 1},
        {GOPT_DTYPE_BOOL, NAN, 1},
        {GOPT_DTYPE_U16, -1, 65535},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++)
        assert_int_equal(gopt_dtype_trunc(cases[i].d, cases[i].v), cases[i].want);
    float f[] = {-3.75f, 0.5f};
    gopt_tensor t = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {2}, .data = f};
    assert_int_equal(gopt_tensor_get_int(&t, 0), -3);
    gopt_tensor_set_int(&t, 1, (1LL << 60) + (1LL << 36) + 1); /* halfway and a little: up, when rounded once */
    assert_true(f[1] == 0x1.000002p60f);
}

/* Arrays from any offset are their elements, in every type. */
static void arrays_are_their_elements(void **state)
{
    (void)state;
    enum { N = 29 };
    for (int d = 1; d < GOPT_DTYPE_COUNT; d++) {
        unsigned char data[16 * N] = {0}, again[16 * N] = {0};
        double v[N], w[N];
        int64_t n[N];
        gopt_tensor t = {.dtype = (gopt_dtype)d, .rank = 1, .dim = {N}, .data = data};
        for (int i = 0; i < N; i++)
            gopt_tensor_set_int(&t, i, i % 3);
        for (int first = 0; first < 5; first++) {
            gopt_dtype_load(t.dtype, data, first, N - first, v);
            gopt_dtype_load_int(t.dtype, data, first, N - first, n);
            for (int i = first; i < N; i++) {
                assert_true(v[i - first] == gopt_tensor_get(&t, i));
                assert_int_equal(n[i - first], gopt_tensor_get_int(&t, i));
            }
        }
        gopt_dtype_load(t.dtype, data, 0, N, v);
        gopt_dtype_store(t.dtype, again, 0, 3, v);
        gopt_dtype_store(t.dtype, again, 3, N - 3, v + 3);
        assert_memory_equal(data, again, sizeof data);
        gopt_dtype_load(t.dtype, again, 0, N, w);
        assert_memory_equal(v, w, sizeof v);
    }
}

static void a_new_tensor_is_zeroed_and_aligned(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_tensor *t = gopt_tensor_new(&a, GOPT_DTYPE_F32, 2, (int64_t[]){5, 7});
    assert_non_null(t);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    for (int i = 0; i < 35; i++)
        assert_true(gopt_tensor_get(t, i) == 0);
    assert_non_null(gopt_tensor_new(&a, GOPT_DTYPE_I4, 1, (int64_t[]){0})->data);
    assert_false(a.failed);
    assert_null(gopt_tensor_new(&a, GOPT_DTYPE_F32, 1, (int64_t[]){-1}));
    assert_true(a.failed);
    gopt_arena_fini(&a);
    assert_null(gopt_tensor_new(&a, GOPT_DTYPE_F32, 1, (int64_t[]){1LL << 62}));
    gopt_arena_fini(&a);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    (void)ctx;
    gopt_tensor *t = gopt_tensor_new(&a, GOPT_DTYPE_F64, 1, (int64_t[]){100000});
    assert_int_equal(a.failed, t == NULL);
    gopt_arena_fini(&a);
    return t ? GOPT_OK : gopt_oom(e);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(make, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes_of_types),
        cmocka_unit_test(counts_refuse_what_overflows),
        cmocka_unit_test(shapes_broadcast),
        cmocka_unit_test(tensors_describe_themselves),
        cmocka_unit_test(narrow_floats_round_trip),
        cmocka_unit_test(narrow_floats_round_to_nearest_even),
        cmocka_unit_test(floats_at_their_limits),
        cmocka_unit_test(without_saturation_too_large_is_infinite_or_nan),
        cmocka_unit_test(doubles_round_once),
        cmocka_unit_test(integers_wrap_when_stored),
        cmocka_unit_test(floats_become_integers_by_truncation),
        cmocka_unit_test(arrays_are_their_elements),
        cmocka_unit_test(a_new_tensor_is_zeroed_and_aligned),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
