/* Pointwise operators: hand-worked values, types, broadcasting, attributes, and what they refuse. */
#include "support/ref_row.h"

#include <math.h>

typedef struct function { /* of one float32 */
    const char *op, *attrs;
    double (*f)(double);
} function;

static double reciprocal(double v)
{
    return 1 / v;
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double relu(double v)
{
    return v > 0 ? v : 0;
}

static double leaky(double v)
{
    return v < 0 ? 0.01f * v : v;
}

static double elu(double v)
{
    return v < 0 ? 2 * (exp(v) - 1) : v;
}

static double selu(double v)
{
    return 1.05070102214813232421875 * (v > 0 ? v : 1.67326319217681884765625 * (exp(v) - 1));
}

static double celu(double v)
{
    return fmax(0, v) + fmin(0, 2 * (exp(v / 2) - 1));
}

static double hard_sigmoid(double v)
{
    return fmax(0, fmin(1, 0.2f * v + 0.5));
}

static double hard_swish(double v)
{
    return v * fmax(0, fmin(1, v / 6 + 0.5));
}

static double mish(double v)
{
    return v * tanh(log(1 + exp(v)));
}

static double softplus(double v)
{
    return log(1 + exp(v));
}

static double softsign(double v)
{
    return v / (1 + fabs(v));
}

static double swish(double v)
{
    return v / (1 + exp(-2 * v));
}

static double quick_gelu(double v)
{
    return v / (1 + exp(-1.702f * v));
}

static double thresholded(double v)
{
    return v > 1 ? v : 0;
}

static double gelu(double v)
{
    return 0.5 * v * (1 + erf(v / sqrt(2)));
}

static double gelu_tanh(double v)
{
    return 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
}

static double sign(double v)
{
    return (v > 0) - (v < 0);
}

static const function functions[] = {
    {"Abs", NULL, fabs},
    {"Atan", NULL, atan},
    {"Asinh", NULL, asinh},
    {"Ceil", NULL, ceil},
    {"Celu", "alpha=2.0", celu},
    {"Cos", NULL, cos},
    {"Cosh", NULL, cosh},
    {"Elu", "alpha=2.0", elu},
    {"Erf", NULL, erf},
    {"Exp", NULL, exp},
    {"Floor", NULL, floor},
    {"Gelu", NULL, gelu},
    {"Gelu", "approximate='tanh'", gelu_tanh},
    {"HardSigmoid", NULL, hard_sigmoid},
    {"HardSwish", NULL, hard_swish},
    {"LeakyRelu", NULL, leaky},
    {"Mish", NULL, mish},
    {"Reciprocal", NULL, reciprocal},
    {"Relu", NULL, relu},
    {"Round", NULL, rint},
    {"Selu", NULL, selu},
    {"Sigmoid", NULL, sigmoid},
    {"Sign", NULL, sign},
    {"Sin", NULL, sin},
    {"Sinh", NULL, sinh},
    {"Softplus", NULL, softplus},
    {"Softsign", NULL, softsign},
    {"Swish", "alpha=2.0", swish},
    {"Tan", NULL, tan},
    {"Tanh", NULL, tanh},
    {"ThresholdedRelu", NULL, thresholded},
    {"com.microsoft:Gelu", NULL, gelu},
    {"com.microsoft:FastGelu", NULL, gelu_tanh},
    {"com.microsoft:QuickGelu", NULL, quick_gelu},
};

static void functions_of_a_float(void **state)
{
    (void)state;
    static const double at[] = {-3.5, -1.25, -0.5, 0.5, 1.0, 1.5, 2.75};
    for (int i = 0; i < GOPT_COUNT(functions); i++) {
        double want[GOPT_COUNT(at)];
        ref_case c = ref_row_case(functions[i].op, functions[i].attrs, "f32[7] -3.5 -1.25 -0.5 0.5 1 1.5 2.75");
        for (int k = 0; k < GOPT_COUNT(at); k++)
            want[k] = functions[i].f(at[k]);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, GOPT_DTYPE_F32, DIMS(7), 2e-6, GOPT_COUNT(at), want);
        ref_end(&c);
    }
}

static const ref_row rows[] = {
    /* domains other than all reals */
    {"Acos", NULL, "f32[3] -1 0 1", "f32[3] 3.14159265 1.57079633 0", false},
    {"Asin", NULL, "f32[3] -1 0 1", "f32[3] -1.57079633 0 1.57079633", false},
    {"Acosh", NULL, "f32[2] 1 2", "f32[2] 0 1.3169579", false},
    {"Atanh", NULL, "f32[3] -0.5 0 1", "f32[3] -0.54930614 0 inf", false},
    {"Log", NULL, "f64[4] 1 2.718281828459045 0 -1", "f64[4] 0 1 -inf nan", false},
    {"Sqrt", NULL, "f16[3] 4 2.25 -1", "f16[3] 2 1.5 nan", false},
    /* halves go to the even neighbour, NaN and infinities stay */
    {"Round", NULL, "f32[6] 0.5 1.5 -2.5 2.7 nan -inf", "f32[6] 0 2 -2 3 nan -inf", false},
    {"Relu", NULL, "f32[3] nan -inf inf", "f32[3] nan 0 inf", false},
    {"Softplus", NULL, "f32[3] 1000 -1000 0", "f32[3] 1000 0 0.69314718", false},
    {"Sigmoid", NULL, "f32[3] 1000 -1000 0", "f32[3] 1 0 0.5", false},
    {"HardSwish", NULL, "f32[3] 10 -10 3", "f32[3] 10 -0 3", false},
    /* types */
    {"Abs", NULL, "i8[3] -128 -1 5", "i8[3] -128 1 5", false},
    {"Neg", NULL, "i32[2] 5 -7", "i32[2] -5 7", false},
    {"Sign", NULL, "u16[2] 0 9", "u16[2] 0 1", false},
    {"Relu", NULL, "i32[2] -5 5", "i32[2] 0 5", false},
    {"Erf", NULL, "i32[2] 0 3", "i32[2] 0 0", false},
    {"Add", NULL, "u8[2] 250 1;u8[2] 10 1", "u8[2] 4 2", true},
    {"Sub", NULL, "i64[2] 9007199254740993 1;i64[1] 1", "i64[2] 9007199254740992 0", true},
    {"Mul", NULL, "i16[2,1] 300 2;i16[2] 300 -1", "i16[2,2] 24464 -300 600 -2", true},
    {"Div", NULL, "i32[4] 7 -7 7 5;i32[4] 2 2 -2 0", "i32[4] 3 -3 -3 0", true},
    {"Div", NULL, "f32[2] 1 -1;f32[] 0", "f32[2] inf -inf", true},
    {"Add", NULL, "bf16[1] 1;bf16[1] 0.0078125", "bf16[1] 1.0078125", true},
    {"Add", NULL, "f16[1] 60000;f16[1] 60000", "f16[1] inf", true},
    {"Pow", NULL, "f32[3] 2 9 -2;f32[3] 3 0.5 3", "f32[3] 8 3 -8", true},
    {"Pow", NULL, "i32[3] 2 3 -2;f32[3] 3 2 3", "i32[3] 8 9 -8", true},
    {"Pow", NULL, "f32[2] 2 3;i64[2] 3 -1", "f32[2] 8 0.33333333", true},
    {"Mod", NULL, "i64[4] -5 5 -5 5;i64[4] 3 3 -3 -3", "i64[4] 1 2 -2 -1", true},
    {"Mod", "fmod=1", "f32[3] -4.5 4.5 5;f32[3] 2 -2 0", "f32[3] -0.5 0.5 nan", true},
    {"Mod", "fmod=1", "i32[2] -5 5;i32[2] 3 -3", "i32[2] -2 2", true},
    {"BitShift", "direction='LEFT'", "u8[3] 16 1 255;u8[3] 1 7 1", "u8[3] 32 128 254", true},
    {"BitShift", "direction='RIGHT'", "u32[2] 16 4294967295;u32[2] 2 31", "u32[2] 4 1", true},
    {"BitwiseAnd", NULL, "u8[1] 12;u8[1] 10", "u8[1] 8", true},
    {"BitwiseOr", NULL, "i32[1] 12;i32[1] 10", "i32[1] 14", true},
    {"BitwiseXor", NULL, "i32[1] 12;i32[1] 10", "i32[1] 6", true},
    {"BitwiseNot", NULL, "i8[2] 0 5", "i8[2] -1 -6", false},
    {"And", NULL, "b[2,1] 1 0;b[2] 1 0", "b[2,2] 1 0 0 0", true},
    {"Or", NULL, "b[2] 1 0;b[2] 0 0", "b[2] 1 0", true},
    {"Xor", NULL, "b[2] 1 0;b[2] 1 1", "b[2] 0 1", true},
    {"Not", NULL, "b[2] 1 0", "b[2] 0 1", false},
    {"Equal", NULL, "f32[3] 1 nan -0;f32[3] 1 nan 0", "b[3] 1 0 1", true},
    {"Equal", NULL, "b[2] 1 0;b[2] 1 1", "b[2] 1 0", true},
    {"Equal", NULL, "u64[1] 18446744073709551615;u64[1] 18446744073709551614", "b[1] 0", true},
    {"Equal", NULL, "s[2,1] a b;s[2] a b", "b[2,2] 1 0 0 1", true},
    {"Less", NULL, "u64[1] 18446744073709551615;u64[1] 1", "b[1] 0", true},
    {"LessOrEqual", NULL, "i32[3] 1 2 3;i32[1] 2", "b[3] 1 1 0", true},
    {"Greater", NULL, "f32[3] 1 nan 3;f32[] 2", "b[3] 0 0 1", true},
    {"GreaterOrEqual", NULL, "f64[3] 1 2 3;f64[] 2", "b[3] 0 1 1", true},
    {"IsNaN", NULL, "f16[3] nan inf 1", "b[3] 1 0 0", false},
    {"IsInf", NULL, "f32[3] inf -inf nan", "b[3] 1 1 0", false},
    {"IsInf", "detect_negative=0", "f32[3] inf -inf nan", "b[3] 1 0 0", false},
    {"IsInf", "detect_positive=0", "f32[3] inf -inf nan", "b[3] 0 1 0", false},
    {"IsInf", "detect_positive=0 detect_negative=0", "f32[3] inf -inf nan", "b[3] 0", false},
    /* any number of operands */
    {"Max", NULL, "i32[2] 1 5;i32[2] 3 4;i32[1] 2", "i32[2] 3 5", true},
    {"Max", NULL, "f32[2] 1 nan;f32[2] nan 2", "f32[2] nan nan", true},
    {"Min", NULL, "u8[3] 1 200 3", "u8[3] 1 200 3", false},
    {"Min", NULL, "f32[2] 1 -inf;f32[2] 0 2", "f32[2] 0 -inf", true},
    {"Sum", NULL, "f32[2] 1 2;f32[2] 10 20;f32[2] 100 200", "f32[2] 111 222", true},
    {"Mean", NULL, "f32[2] 1 2;f32[2] 2 4;f32[2] 6 0", "f32[2] 3 2", true},
    /* operands that may be missing */
    {"Clip", NULL, "f32[3] -5 0 5;f32[] -1;f32[] 1", "f32[3] -1 0 1", true},
    {"Clip", NULL, "f32[3] -5 0 5;-;f32[] 1", "f32[3] -5 0 1", true},
    {"Clip", NULL, "i8[3] -5 0 5;i8[] -2", "i8[3] -2 0 5", true},
    {"Clip", NULL, "f32[2] 0 9;f32[] 5;f32[] 1", "f32[2] 1 1", true},
    {"Clip", NULL, "i32[2] -7 7", "i32[2] -7 7", false},
    {"com.microsoft:FastGelu", NULL, "f32[2] 0 1;f32[2] 1 0", "f32[2] 0.84119199 0.84119199", true},
    {"com.microsoft:BiasGelu", NULL, "f32[1,2] 0 1;f32[2] 1 0", "f32[1,2] 0.84134475 0.84134475", true},
    {"PRelu", NULL, "f32[2,2] -1 2 -3 4;f32[2] 0.5 0.25", "f32[2,2] -0.5 2 -1.5 4", true},
    {"PRelu", NULL, "i32[2] -4 4;i32[] 3", "i32[2] -12 4", true},
    {"Shrink", "lambd=1.5 bias=1.0", "f32[5] -2 -1.5 0 1.5 2", "f32[5] -1 0 0 0 1", false},
    {"Shrink", "lambd=1.5 bias=1.5", "i8[3] -2 1 5", "i8[3] 0 0 3", false},
    {"Where", NULL, "b[2,1] 1 0;i64[2] 1 2;i64[] 9", "i64[2,2] 1 2 9 9", true},
    {"Where", NULL, "b[2] 1 0;s[2] a b;s[1] c", "s[2] a c", true},
    {"Identity", NULL, "s[2] a b", "s[2] a b", false},
    {"Identity", NULL, "int4[3] -8 7 1", "int4[3] -8 7 1", false},
};

static void values_by_hand(void **state)
{
    (void)state;
    ref_rows_check(rows, GOPT_COUNT(rows));
}

static const ref_row casts[] = {
    {"Cast", "to=7", "f32[4] 1.9 -1.9 0 -0.5", "i64[4] 1 -1 0 0", false},
    {"Cast", "to=3", "i32[2] 200 -129", "i8[2] -56 127", false},
    {"Cast", "to=9", "f32[4] 0 -0 0.5 nan", "b[4] 0 0 1 1", false},
    {"Cast", "to=1", "b[2] 1 0", "f32[2] 1 0", false},
    {"Cast", "to=10", "f32[3] 1 65536 1e-9", "f16[3] 1 inf 0", false},
    {"Cast", "to=12", "u64[1] 18446744073709551615", "u32[1] 4294967295", false},
    {"Cast", "to=1", "i64[1] 16777217", "f32[1] 16777216", false},
    {"Cast", "to=22", "f32[3] 7 -8 3.7", "int4[3] 7 -8 3", false},
    {"Cast", "to=17", "f32[3] 1000 -1000 1.0625", "float8e4m3fn[3] 448 -448 1", false},
    {"Cast", "to=17 saturate=0", "f32[3] 1000 -1000 2", "float8e4m3fn[3] nan nan 2", false},
    {"Cast", "to=20 saturate=0", "f16[2] inf 57344", "float8e5m2fnuz[2] nan 57344", false},
    {"Cast", "to=24 round_mode='down'", "f32[3] 3 4 0.75", "float8e8m0[3] 2 4 0.5", false},
    {"Cast", "to=24 round_mode='nearest'", "f32[3] 3 2.5 4", "float8e8m0[3] 4 2 4", false},
    {"Cast", "to=24", "f32[3] 3 2.5 4", "float8e8m0[3] 4 4 4", false},
    {"Cast", "to=1", "s[5] 3.5 -1e2 INF -inf NaN", "f32[5] 3.5 -100 inf -inf nan", false},
    {"Cast", "to=7", "s[2] 9007199254740993 -2.5", "i64[2] 9007199254740993 -2", false},
    {"CastLike", NULL, "f32[2,2] 1.5 2.5 3.5 4.5;i32[3] 0", "i32[2,2] 1 2 3 4", false},
    {"CastLike", "saturate=0", "f32[1] 1000;float8e4m3fn[1] 0", "float8e4m3fn[1] nan", false},
};

static void casts_round_truncate_and_wrap(void **state)
{
    (void)state;
    ref_rows_check(casts, GOPT_COUNT(casts));
}

static const ref_bad bad[] = {
    {"Add", NULL, "f32[2] 1;i64[2] 1", GOPT_EUNSUP, "inputs"},
    {"Add", NULL, "f32[2] 1;f32[3] 1", GOPT_EINPUT, "broadcast"},
    {"Add", NULL, "b[2] 1;b[2] 1", GOPT_EUNSUP, "inputs"},
    {"And", NULL, "i32[2] 1;i32[2] 1", GOPT_EUNSUP, "inputs"},
    {"Exp", NULL, "i32[2] 1", GOPT_EUNSUP, "inputs"},
    {"Neg", NULL, "u8[2] 1", GOPT_EUNSUP, "inputs"},
    {"Neg", NULL, "s[2] a", GOPT_EUNSUP, "string"},
    {"BitShift", "direction='UP'", "u8[1] 1;u8[1] 1", GOPT_EUNSUP, "attributes"},
    {"BitwiseAnd", NULL, "f32[1] 1;f32[1] 1", GOPT_EUNSUP, "inputs"},
    {"Gelu", "approximate='fast'", "f32[1] 1", GOPT_EUNSUP, "attributes"},
    {"Clip", NULL, "f32[1] 1;i32[] 0", GOPT_EUNSUP, "inputs"},
    {"PRelu", NULL, "f32[2] 1;f32[2,2] 1", GOPT_EINPUT, "slope"},
    {"PRelu", NULL, "f32[2] 1;f32[3] 1", GOPT_EINPUT, "slope"},
    {"Where", NULL, "f32[1] 1;f32[1] 1;f32[1] 1", GOPT_EUNSUP, "inputs"},
    {"Where", NULL, "b[1] 1;s[1] a;i32[1] 1", GOPT_EINPUT, "types"},
    {"Where", NULL, "b[3] 1;s[2] a;s[1] b", GOPT_EINPUT, "broadcast"},
    {"Equal", NULL, "s[1] a;i32[1] 1", GOPT_EUNSUP, "string"},
    {"Cast", "to=99", "f32[1] 1", GOPT_EINPUT, "attribute to"},
    {"Cast", NULL, "f32[1] 1", GOPT_EINPUT, "attribute to"},
    {"Cast", "to=8", "f32[1] 1", GOPT_EUNSUP, "casting"},
    {"Cast", "to=1", "s[1] one", GOPT_EINPUT, "no number"},
    {"Cast", "to=7", "s[1] 12x", GOPT_EINPUT, "no number"},
    {"CastLike", NULL, "f32[1] 1;s[1] a", GOPT_EUNSUP, "casting"},
    {"CastLike", NULL, "f32[1] 1", GOPT_EINPUT, "missing"},
    {"Add", NULL, "f32[1] 1", GOPT_EINPUT, "input 1 is missing"},
    {"Clip", NULL, "-;f32[1] 1", GOPT_EINPUT, "input 0 is missing"},
};

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    ref_bad_check(bad, GOPT_COUNT(bad));
}

static void memory_may_be_short(void **state)
{
    (void)state;
    static const ref_row some[] = {
        {"Mish", NULL, "f32[300] 1 2", NULL, false},           {"Cast", "to=1", "s[2] 1 2", NULL, false},
        {"CastLike", NULL, "f32[2] 1 2;i8[1] 0", NULL, false}, {"Where", NULL, "b[2] 1 0;s[2] a b;s[1] c", NULL, false},
        {"PRelu", NULL, "f32[2] -1 2;f32[] 3", NULL, false},
    };
    for (int i = 0; i < GOPT_COUNT(some); i++) {
        ref_case c = ref_row_case(some[i].op, some[i].attrs, some[i].in);
        ref_expect_oom_safe(&c, 1);
        ref_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_a_float),          cmocka_unit_test(values_by_hand),
        cmocka_unit_test(casts_round_truncate_and_wrap), cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
