/* Operators that change shapes and move elements: hand-worked results, and what inference says before. */
#include "support/ref_row.h"

static const ref_row shapes[] = {
    {"Shape", NULL, "f32[2,0,3]", "i64[3] 2 0 3", false},
    {"Shape", "start=1", "s[2,1,3] a", "i64[2] 1 3", false},
    {"Shape", "start=-2 end=-1", "f32[2,5,3]", "i64[1] 5", false},
    {"Shape", "start=2 end=1", "f32[2,5,3]", "i64[0]", false},
    {"Shape", "start=-9 end=9", "f32[4]", "i64[1] 4", false},
    {"Size", NULL, "u8[2,3]", "i64[] 6", false},
    {"Size", NULL, "f32[]", "i64[] 1", false},
    {"Reshape", NULL, "f32[2,3] 1 2 3 4 5 6;i64[2]! 3 -1", "f32[3,2] 1 2 3 4 5 6", false},
    {"Reshape", NULL, "f32[2,3,4] 1;i64[3]! 0 -1 2", "f32[2,6,2] 1", false},
    {"Reshape", NULL, "f32[0,3,4];i64[2]! 0 -1", "f32[0,12]", false},
    {"Reshape", "allowzero=1", "f32[0,10];i64[2]! 3 0", "f32[3,0]", false},
    {"Reshape", NULL, "s[1] a;i64[0]!", "s[] a", false},
    {"Reshape", NULL, "int4[3] 1 -2 3;i64[2] 3 1", "int4[3,1] 1 -2 3", true},
    {"Flatten", NULL, "f32[2,3,4] 1", "f32[2,12] 1", false},
    {"Flatten", "axis=0", "f32[2,3] 1", "f32[1,6] 1", false},
    {"Flatten", "axis=-1", "f32[2,3,4] 1", "f32[6,4] 1", false},
    {"Flatten", "axis=3", "f32[2,3,4] 1", "f32[24,1] 1", false},
    {"Squeeze", NULL, "f32[1,3,1] 1 2 3", "f32[3] 1 2 3", true},
    {"Squeeze", NULL, "f32[1,3,1] 1 2 3;i64[1]! -1", "f32[1,3] 1 2 3", false},
    {"Squeeze", NULL, "f32[1,1] 5;i64[]! 0", "f32[1] 5", false},
    {"Unsqueeze", NULL, "f32[3] 1 2 3;i64[2]! 0 -1", "f32[1,3,1] 1 2 3", false},
    {"Unsqueeze", NULL, "f32[] 7;i64[]! 0", "f32[1] 7", false},
    {"Transpose", NULL, "f32[2,3] 1 2 3 4 5 6", "f32[3,2] 1 4 2 5 3 6", false},
    {"Transpose", "perm=[0,2,1]", "u8[1,2,2] 1 2 3 4", "u8[1,2,2] 1 3 2 4", false},
    {"Transpose", "perm=[1,0]", "uint4[3,3] 1 2 3 4 5 6 7 8 9", "uint4[3,3] 1 4 7 2 5 8 3 6 9", false},
    {"Transpose", NULL, "s[2,2] a b c d", "s[2,2] a c b d", false},
    {"Transpose", NULL, "f32[] 3", "f32[] 3", false},
    {"Expand", NULL, "f32[3,1] 1 2 3;i64[3]! 2 1 2", "f32[2,3,2] 1 1 2 2 3 3", true},
    {"Expand", NULL, "f32[2] 1 2;i64[1]! 1", "f32[2] 1 2", false},
    {"Expand", NULL, "f32[1] 1;i64[2]! 0 4", "f32[0,4]", true},
    {"Tile", NULL, "f32[2,2] 1 2 3 4;i64[2]! 1 2", "f32[2,4] 1 2 1 2 3 4 3 4", false},
    {"Tile", NULL, "i8[2,1] 1 2;i64[2]! 2 2", "i8[4,2] 1 1 2 2 1 1 2 2", false},
    {"Tile", NULL, "f32[2] 1 2;i64[1]! 0", "f32[0]", false},
    {"Tile", NULL, "f32[] 4;i64[0]!", "f32[] 4", false},
    {"DepthToSpace", "blocksize=2", "f32[1,4,1,2] 0 1 2 3 4 5 6 7", "f32[1,1,2,4] 0 2 1 3 4 6 5 7", false},
    {"DepthToSpace", "blocksize=2 mode='CRD'", "f32[1,8,1,1] 0 1 2 3 4 5 6 7", "f32[1,2,2,2] 0 1 2 3 4 5 6 7", false},
    {"DepthToSpace", "blocksize=2", "f32[1,8,1,1] 0 1 2 3 4 5 6 7", "f32[1,2,2,2] 0 2 4 6 1 3 5 7", false},
    {"SpaceToDepth", "blocksize=2", "f32[1,1,2,4] 0 2 1 3 4 6 5 7", "f32[1,4,1,2] 0 1 2 3 4 5 6 7", false},
};

static const ref_row slices[] = {
    {"Slice", NULL, "f32[2,4] 1 2 3 4 5 6 7 8;i64[2]! 1 0;i64[2]! 2 3;i64[2]! 0 1;i64[2]! 1 2", "f32[1,2] 5 7", false},
    {"Slice", NULL, "f32[2,4] 1 2 3 4 5 6 7 8;i64[2]! 0 1;i64[2]! -1 1000", "f32[1,3] 2 3 4", false},
    {"Slice", NULL, "i32[5] 0 1 2 3 4;i32[1]! -1;i32[1]! -2147483648;i32[1]! 0;i32[1]! -1", "i32[5] 4 3 2 1 0", false},
    {"Slice", NULL, "i32[5] 0 1 2 3 4;i64[1]! 4;i64[1]! 0;-;i64[1]! -2", "i32[2] 4 2", true},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1]! -2;i64[1]! 9223372036854775807", "f32[2] 3 4", false},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1]! -3;i64[1]! -1", "f32[2] 2 3", false},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1]! 3;i64[1]! 1", "f32[0]", false},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1]! 9;i64[1]! 12", "f32[0]", false},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1]! -9223372036854775808;i64[1]! 2", "f32[2] 1 2", false},
    {"Slice", NULL, "f32[3,2] 1 2 3 4 5 6;i64[1]! 0;i64[1]! 9;i64[1]! -2;i64[1]! 2", "f32[2,2] 1 2 5 6", false},
    {"Slice", NULL, "f32[0,3];i64[1]! -1;i64[1]! -9;i64[1]! 0;i64[1]! -1", "f32[0,3]", true},
    {"Slice", NULL, "uint2[5] 0 1 2 3 1;i64[1]! 1;i64[1]! 4", "uint2[3] 1 2 3", false},
    {"Slice", NULL, "f32[4] 1 2 3 4;i64[1] 1;i64[1] 3", "f32[2] 2 3", true},
    {"Split", NULL, "f32[4] 1 2 3 4", "f32[2] 1 2;f32[2] 3 4", false},
    {"Split", "num_outputs=3", "f32[7] 1 2 3 4 5 6 7", "f32[3] 1 2 3;f32[3] 4 5 6;f32[1] 7", false},
    {"Split", "axis=-1", "f32[2,3] 1 2 3 4 5 6;i64[2]! 2 1", "f32[2,2] 1 2 4 5;f32[2,1] 3 6", false},
    {"Split", NULL, "s[2] a b;i64[3]! 0 1 1", "s[0];s[1] a;s[1] b", false},
    {"Split", NULL, "f32[4] 1 2 3 4;i64[2] 1 3", "-;f32[3] 2 3 4", true},
    {"Concat", "axis=0", "f32[1,2] 1 2;f32[2,2] 3 4 5 6", "f32[3,2] 1 2 3 4 5 6", true},
    {"Concat", "axis=-1", "i8[2,1] 1 2;i8[2,2] 3 4 5 6;i8[2,0]", "i8[2,3] 1 3 4 2 5 6", true},
    {"Concat", "axis=0", "int4[1] -1;int4[2] 2 3", "int4[3] -1 2 3", false},
    {"Concat", "axis=0", "s[1] a;s[1] b", "s[2] a b", false},
    {"Trilu", NULL, "f32[2,3] 1 2 3 4 5 6", "f32[2,3] 1 2 3 0 5 6", false},
    {"Trilu", "upper=0", "f32[2,2,2] 1 2 3 4 5 6 7 8", "f32[2,2,2] 1 0 3 4 5 0 7 8", false},
    {"Trilu", NULL, "i64[2,3] 1 2 3 4 5 6;i64[] 1", "i64[2,3] 0 2 3 0 0 6", false},
    {"Trilu", "upper=0", "i64[2,3] 1 2 3 4 5 6;i64[] -1", "i64[2,3] 0 0 0 4 0 0", false},
    {"Trilu", "upper=0", "i64[2,2] 1 2 3 4;i64[] 9223372036854775807", "i64[2,2] 1 2 3 4", false},
    {"Trilu", NULL, "i64[2,2] 1 2 3 4;i64[] -9223372036854775808", "i64[2,2] 1 2 3 4", false},
    {"ReverseSequence", "time_axis=0 batch_axis=1", "f32[3,2] 1 2 3 4 5 6;i64[2] 3 2", "f32[3,2] 5 4 3 2 1 6", false},
    {"ReverseSequence", "time_axis=1 batch_axis=0", "f32[2,3] 1 2 3 4 5 6;i64[2] 1 3", "f32[2,3] 1 2 3 6 5 4", false},
    {"Compress", "axis=1", "f32[2,3] 1 2 3 4 5 6;b[2] 0 1", "f32[2,1] 2 5", true},
    {"Compress", NULL, "s[2,2] a b c d;b[3] 1 0 1", "s[2] a c", true},
};

static const ref_row pads[] = {
    {"Pad", NULL, "f32[2,2] 1 2 3 4;i64[4]! 0 1 1 0;f32[] 9", "f32[3,3] 9 1 2 9 3 4 9 9 9", false},
    {"Pad", NULL, "i32[2] 1 2;i64[2]! 1 1", "i32[4] 0 1 2 0", false},
    {"Pad", NULL, "s[1] a;i64[2]! 0 1;s[] z", "s[2] a z", false},
    {"Pad", NULL, "f32[4] 1 2 3 4;i64[2]! -1 -2", "f32[1] 2", false},
    {"Pad", NULL, "f32[3] 1 2 3;i64[2]! -5 4", "f32[2] 0 0", false},
    {"Pad", "mode='edge'", "f32[3] 1 2 3;i64[2]! 2 1", "f32[6] 1 1 1 2 3 3", false},
    {"Pad", "mode='reflect'", "f32[3] 1 2 3;i64[2]! 2 2", "f32[7] 3 2 1 2 3 2 1", false},
    {"Pad", "mode='reflect'", "f32[2] 1 2;i64[2]! 3 0", "f32[5] 2 1 2 1 2", false},
    {"Pad", "mode='reflect'", "f32[1] 1;i64[2]! 1 1", "f32[3] 1 1 1", false},
    {"Pad", "mode='wrap'", "f32[3] 1 2 3;i64[2]! 4 1", "f32[8] 3 1 2 3 1 2 3 1", false},
    {"Pad", "mode='edge'", "f32[4] 1 2 3 4;i64[2]! -1 2", "f32[5] 2 3 4 4 4", false},
    {"Pad", NULL, "f32[1,2] 1 2;i64[2]! 1 0;-;i64[1]! -1", "f32[1,3] 0 1 2", false},
    {"Pad", NULL, "f32[2] 1 2;i64[2] 1 0", "f32[3] 0 1 2", true},
};

static const ref_row picks[] = {
    {"Gather", NULL, "f32[3,2] 1 2 3 4 5 6;i64[2] 2 -3", "f32[2,2] 5 6 1 2", false},
    {"Gather", "axis=1", "f32[2,3] 1 2 3 4 5 6;i32[1,2] 0 2", "f32[2,1,2] 1 3 4 6", false},
    {"Gather", NULL, "s[2] a b;i64[] 1", "s[] b", false},
    {"Gather", "axis=1", "f32[2,2] 1 2 3 4;i64[0]", "f32[2,0]", false},
    {"GatherElements", "axis=1", "f32[2,2] 1 2 3 4;i64[2,2] 0 0 1 0", "f32[2,2] 1 1 4 3", true},
    {"GatherElements", NULL, "i8[3,3] 1 2 3 4 5 6 7 8 9;i64[1,2] -1 1", "i8[1,2] 7 5", true},
    {"GatherND", NULL, "f32[2,2] 0 1 2 3;i64[2,2]! 0 0 1 1", "f32[2] 0 3", false},
    {"GatherND", NULL, "f32[2,2] 0 1 2 3;i64[2,1]! 1 0", "f32[2,2] 2 3 0 1", false},
    {"GatherND", "batch_dims=1", "f32[2,2,2] 0 1 2 3 4 5 6 7;i64[2,1]! 1 0", "f32[2,2] 2 3 4 5", true},
    {"ScatterElements", "axis=1", "f32[1,5] 1 2 3 4 5;i64[1,2] 1 -2;f32[1,2] 1.5 2.5", "f32[1,5] 1 1.5 3 2.5 5", false},
    {"Scatter", NULL, "s[3] a b c;i32[1] 1;s[1] z", "s[3] a z c", false},
    {"ScatterElements", "reduction='add'", "f16[2] 1 2;i64[3] 0 0 1;f16[3] 1 1 1", "f16[2] 3 3", false},
    {"ScatterElements", "reduction='mul'", "i32[2] 3 4;i64[2] 1 1;i32[2] 2 5", "i32[2] 3 40", false},
    {"ScatterElements", "reduction='max'", "f32[2] 1 2;i64[2] 0 1;f32[2] nan 1", "f32[2] nan 2", false},
    {"ScatterElements", "reduction='min'", "u8[2] 200 4;i64[2] 0 1;u8[2] 100 9", "u8[2] 100 4", false},
    {"ScatterElements", "reduction='add'", "b[2] 0 0;i64[1] 1;b[1] 1", "b[2] 0 1", false},
    {"ScatterND", NULL, "f32[4] 1 2 3 4;i64[2,1]! 3 0;f32[2] 30 10", "f32[4] 10 2 3 30", false},
    {"ScatterND", NULL, "f32[2,2] 1 2 3 4;i64[1,1]! -1;f32[1,2] 8 9", "f32[2,2] 1 2 8 9", false},
    {"ScatterND", "reduction='add'", "i64[3] 1 2 3;i64[2,1]! 1 1;i64[2] 10 20", "i64[3] 1 32 3", false},
    {"NonZero", NULL, "f32[2,2] 0 0.5 nan 0", "i64[2,2] 0 1 1 0", true},
    {"NonZero", NULL, "b[] 1", "i64[0,1]", true},
    {"OneHot", NULL, "i64[3] 1 -1 7;i64[]! 3;f32[2]! 5 2", "f32[3,3] 5 2 5 5 5 2 5 5 5", false},
    {"OneHot", "axis=0", "f32[2] 1.0 0;f32[1]! 2;s[2]! n y", "s[2,2] n y y n", false},
    {"Unique", NULL, "i32[6] 2 1 1 3 4 3", "i32[4] 1 2 3 4;i64[4] 1 0 3 4;i64[6] 1 0 0 2 3 2;i64[4] 2 1 2 1", true},
    {"Unique", "sorted=0", "f32[5] 2 1 nan 1 nan", "f32[3] 2 1 nan;i64[3] 0 1 2;-;i64[3] 1 2 2", true},
    {"Unique", "axis=0", "u8[3,2] 1 0 1 0 0 9", "u8[2,2] 0 9 1 0;i64[2] 2 0;i64[3] 1 1 0;i64[2] 1 2", true},
    {"Unique", "axis=1", "s[1,3] b a b", "s[1,2] a b", true},
    {"Unique", NULL, "f32[0]", "f32[0];i64[0];i64[0];i64[0]", true},
};

static const ref_row made[] = {
    {"ConstantOfShape", NULL, "i64[2]! 2 2", "f32[2,2] 0", false},
    {"ConstantOfShape", NULL, "i64[0]!", "f32[] 0", false},
    {"ConstantOfShape", NULL, "i64[1] 3", "f32[3] 0", true},
    {"Constant", "value_int=7", "", "i64[] 7", false},
    {"Constant", "value_ints=[1,2]", "", "i64[2] 1 2", false},
    {"Constant", "value_float=1.5", "", "f32[] 1.5", false},
    {"Constant", "value_string='hi'", "", "s[] hi", false},
    {"Range", NULL, "i64[]! 10;i64[]! 4;i64[]! -2", "i64[3] 10 8 6", false},
    {"Range", NULL, "f32[]! 1;f32[]! 2;f32[]! 0.25", "f32[4] 1 1.25 1.5 1.75", false},
    {"Range", NULL, "i32[]! 5;i32[]! 5;i32[]! 1", "i32[0]", false},
    {"Range", NULL, "i16[] 0;i16[] 3;i16[] 2", "i16[2] 0 2", true},
    {"EyeLike", "k=1 dtype=6", "f32[2,3] 0", "i32[2,3] 0 1 0 0 0 1", false},
    {"EyeLike", "k=-5", "f64[2,2] 3", "f64[2,2] 0", false},
    {"CumSum", NULL, "f32[2,2] 1 2 3 4;i64[]! 0", "f32[2,2] 1 2 4 6", false},
    {"CumSum", "exclusive=1", "i32[3] 1 2 3;i32[]! 0", "i32[3] 0 1 3", false},
    {"CumSum", "exclusive=1 reverse=1", "f64[3] 1 2 3;i64[1]! -1", "f64[3] 5 3 0", false},
    {"CumSum", "reverse=1", "i8[3] 100 100 1;i64[]! 0", "i8[3] -55 101 1", false},
    {"Dropout", NULL, "f32[2] 1 2;f32[]! 0.9", "f32[2] 1 2;b[2] 1 1", false},
    {"Dropout", NULL, "f32[2] 1 2;f32[]! 0;b[]! 1", "f32[2] 1 2;b[2] 1 1", false},
    {"Dropout", NULL, "f32[4] 1;f32[]! 0.6;b[]! 1", "f32[4] 0 2.5 2.5 0;b[4] 0 1 1 0", false},
};

static void check_shapes(void **state)
{
    (void)state;
    ref_rows_check(shapes, GOPT_COUNT(shapes));
}

static void check_slices(void **state)
{
    (void)state;
    ref_rows_check(slices, GOPT_COUNT(slices));
}

static void check_pads(void **state)
{
    (void)state;
    ref_rows_check(pads, GOPT_COUNT(pads));
}

static void check_picks(void **state)
{
    (void)state;
    ref_rows_check(picks, GOPT_COUNT(picks));
}

static void check_made(void **state)
{
    (void)state;
    ref_rows_check(made, GOPT_COUNT(made));
}

/* Attributes that rows cannot write: lists of floats and strings, tensors, complex elements. */
static void values_of_other_kinds(void **state)
{
    (void)state;
    ref_case floats = ref_begin("Constant"), strings = ref_begin("Constant"), fill = ref_begin("ConstantOfShape");
    ref_floats(&floats, "value_floats", VALUES(0.5, 2));
    assert_ok(ref_run(&floats, 1), &floats.e);
    ref_expect(&floats, 0, GOPT_DTYPE_F32, DIMS(2), 0, VALUES(0.5, 2));
    ref_strings(&strings, "value_strings", 2, (const char *const[]){"a", "b"});
    assert_ok(ref_run(&strings, 1), &strings.e);
    assert_string_equal(((char **)strings.out[0].data)[1], "b");
    ref_constant(&fill, GOPT_DTYPE_I64, DIMS(1), VALUES(3));
    gopt_tensor *one = gopt_tensor_new(&fill.arena, GOPT_DTYPE_I8, 1, (int64_t[]){1});
    gopt_tensor_set_int(one, 0, -4);
    fill.attr[fill.n_attr++] = (gopt_attr){.name = "value", .kind = GOPT_ATTR_TENSOR, .tensor = one};
    assert_ok(ref_run(&fill, 1), &fill.e);
    ref_expect(&fill, 0, GOPT_DTYPE_I8, DIMS(3), 0, VALUES(-4, -4, -4));
    ref_end(&floats);
    ref_end(&strings);
    ref_end(&fill);
}

static void complex_numbers_move_as_they_are(void **state)
{
    (void)state;
    ref_case c = ref_begin("Transpose");
    gopt_tensor *t = ref_input(&c, GOPT_DTYPE_C128, DIMS(1, 2), 0, NULL);
    memcpy(t->data, (double[]){1, 2, 3, 4}, 4 * sizeof(double));
    assert_ok(ref_run(&c, 1), &c.e);
    assert_memory_equal(c.out[0].data, t->data, 4 * sizeof(double));
    ref_end(&c);
}

static void memory_may_be_short(void **state)
{
    (void)state;
    static const ref_row *const tables[] = {shapes, slices, pads, picks, made};
    for (int i = 0; i < GOPT_COUNT(tables); i++)
        for (int k = 0; k < 10; k++) {
            ref_case c = ref_row_case(tables[i][k].op, tables[i][k].attrs, tables[i][k].in);
            ref_expect_oom_safe(&c, 1);
            ref_end(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_shapes),
        cmocka_unit_test(check_slices),
        cmocka_unit_test(check_pads),
        cmocka_unit_test(check_picks),
        cmocka_unit_test(check_made),
        cmocka_unit_test(values_of_other_kinds),
        cmocka_unit_test(complex_numbers_move_as_they_are),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
