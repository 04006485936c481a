/* Operators that move elements, given what makes no sense: wrong axes, indices, shapes and attributes, sizes that
 * overflow, and no time. */
#include "support/ref_row.h"

#include "base/clock.h"

static const ref_bad bad[] = {
    {"Reshape", NULL, "f32[6] 1;i64[2] 4 -1", GOPT_EINPUT, "do not divide"},
    {"Reshape", NULL, "f32[6] 1;i64[2] 5 1", GOPT_EINPUT, "cannot become 5"},
    {"Reshape", NULL, "f32[6] 1;i64[2] -1 -1", GOPT_EINPUT, "both -1"},
    {"Reshape", NULL, "f32[6] 1;i64[2] -2 3", GOPT_EINPUT, "is -2"},
    {"Reshape", NULL, "f32[6] 1;i64[2] 6 0", GOPT_EINPUT, "dimension 1 is 0"},
    {"Reshape", NULL, "f32[0];i64[2] 0 -1", GOPT_OK, ""},
    {"Reshape", "allowzero=1", "f32[0];i64[2] 0 -1", GOPT_EINPUT, "allowzero"},
    {"Reshape", NULL, "f32[1] 1;i64[13] 1", GOPT_EUNSUP, "13 dimensions"},
    {"Reshape", NULL, "f32[16] 1;i64[2] 4611686018427387904 4", GOPT_EINPUT, "too large"},
    {"Reshape", NULL, "f32[6] 1;f32[2] 2 3", GOPT_EINPUT, "input shape"},
    {"Reshape", NULL, "f32[6] 1;i64[1,2] 2 3", GOPT_EINPUT, "rank 2"},
    {"Reshape", NULL, "f32[6] 1", GOPT_EINPUT, "missing"},
    {"Flatten", "axis=3", "f32[2,2] 1", GOPT_EINPUT, "attribute axis"},
    {"Squeeze", NULL, "f32[2,1] 1;i64[1] 0", GOPT_EINPUT, "is 2, not 1"},
    {"Squeeze", NULL, "f32[2,1] 1;i64[1] 2", GOPT_EINPUT, "outside [-2, 2)"},
    {"Unsqueeze", NULL, "f32[2] 1;i64[2] 0 0", GOPT_EINPUT, "comes twice"},
    {"Unsqueeze", NULL, "f32[2] 1;i64[1] 2", GOPT_EINPUT, "outside [-2, 2)"},
    {"Unsqueeze", NULL, "f32[2] 1;i64[12] 0", GOPT_EUNSUP, "13 dimensions"},
    {"Transpose", "perm=[0,0]", "f32[2,2] 1", GOPT_EINPUT, "comes twice"},
    {"Transpose", "perm=[0]", "f32[2,2] 1", GOPT_EINPUT, "2 expected"},
    {"Transpose", "perm=[0,2]", "f32[2,2] 1", GOPT_EINPUT, "outside"},
    {"Transpose", "perm=[-1,0]", "f32[2,2] 1", GOPT_EINPUT, "outside"},
    {"Concat", "axis=2", "f32[2,2] 1;f32[2,2] 1", GOPT_EINPUT, "attribute axis"},
    {"Concat", "axis=0", "f32[2,2] 1;f32[2,3] 1", GOPT_EINPUT, "dimension 1"},
    {"Concat", "axis=0", "f32[2] 1;f32[2,1] 1", GOPT_EINPUT, "rank 2"},
    {"Concat", "axis=0", "f32[2] 1;i32[2] 1", GOPT_EINPUT, "types"},
    {"Concat", "axis=0", "f32[2] 1;-", GOPT_EINPUT, "input 1 is missing"},
    {"Concat", "axis=0", "f32[] 1;f32[] 1", GOPT_EINPUT, "axis 0"},
    {"Split", NULL, "f32[4] 1;i64[1] 3", GOPT_EINPUT, "input split"},
    {"Split", NULL, "f32[4] 1;i64[1] -4", GOPT_EINPUT, "size -4"},
    {"Split", NULL, "f32[4] 1;i64[2] 2 2", GOPT_EINPUT, "input split"},
    {"Split", "num_outputs=2", "f32[4] 1", GOPT_EINPUT, "num_outputs"},
    {"Split", "axis=1", "f32[4] 1", GOPT_EINPUT, "attribute axis"},
    {"Slice", NULL, "f32[4] 1;i64[1] 0;i64[1] 2;i64[1] 0;i64[1] 0", GOPT_EINPUT, "step"},
    {"Slice", NULL, "f32[4] 1;i64[1] 0;i64[1] 2;i64[1] 1", GOPT_EINPUT, "input axes"},
    {"Slice", NULL, "f32[4] 1;i64[2] 0;i64[2] 2;i64[2] 0", GOPT_EINPUT, "comes twice"},
    {"Slice", NULL, "f32[4] 1;i64[1] 0;i64[2] 2", GOPT_EINPUT, "input ends"},
    {"Slice", NULL, "f32[4] 1;i64[2] 0;i64[2] 2", GOPT_EINPUT, "input axes"},
    {"Slice", NULL, "f32[4] 1;f32[1] 0;i64[1] 2", GOPT_EINPUT, "input starts"},
    {"Gather", NULL, "f32[3] 1;i64[1] 3", GOPT_EINPUT, "index 3 is outside [-3, 3)"},
    {"Gather", NULL, "f32[3] 1;i64[1] -4", GOPT_EINPUT, "index -4"},
    {"Gather", NULL, "f32[0,2];i64[1] 0", GOPT_EINPUT, "index 0"},
    {"Gather", NULL, "f32[] 1;i64[1] 0", GOPT_EINPUT, "attribute axis"},
    {"Gather", NULL, "f32[3] 1;f32[1] 0", GOPT_EINPUT, "indices"},
    {"Gather", NULL, "f32[1,1,1,1,1,1,1] 1;i64[1,1,1,1,1,1,1] 0", GOPT_EUNSUP, "13 dimensions"},
    {"GatherElements", NULL, "f32[2,2] 1;i64[2] 0", GOPT_EINPUT, "rank 1"},
    {"GatherElements", NULL, "f32[2,2] 1;i64[1,3] 0", GOPT_EINPUT, "dimension 1 has 3"},
    {"GatherElements", NULL, "f32[2,2] 1;i64[1,2] 2", GOPT_EINPUT, "index 2"},
    {"GatherND", NULL, "f32[2,2] 1;i64[1,3] 0", GOPT_EINPUT, "tuples of 3"},
    {"GatherND", NULL, "f32[2,2] 1;i64[1,0]", GOPT_EINPUT, "tuples of 0"},
    {"GatherND", NULL, "f32[2,2] 1;i64[1,2] 0 2", GOPT_EINPUT, "index 2"},
    {"GatherND", "batch_dims=2", "f32[2,2] 1;i64[2,2] 0", GOPT_EINPUT, "batch_dims"},
    {"GatherND", "batch_dims=1", "f32[2,2] 1;i64[3,1] 0", GOPT_EINPUT, "batch dimensions"},
    {"ScatterElements", NULL, "f32[2] 1;i64[1] 2;f32[1] 1", GOPT_EINPUT, "index 2"},
    {"ScatterElements", NULL, "f32[2] 1;i64[1] 0;f32[2] 1", GOPT_EINPUT, "input updates"},
    {"ScatterElements", NULL, "f32[2] 1;i64[1] 0;i32[1] 1", GOPT_EINPUT, "types"},
    {"ScatterElements", "reduction='avg'", "f32[2] 1;i64[1] 0;f32[1] 1", GOPT_EINPUT, "\"avg\""},
    {"ScatterElements", "reduction='add'", "s[2] a;i64[1] 0;s[1] b", GOPT_EINPUT, "string"},
    {"ScatterND", NULL, "f32[2] 1;i64[1,1] 2;f32[1] 1", GOPT_EINPUT, "index 2"},
    {"ScatterND", NULL, "f32[2,2] 1;i64[1,1] 0;f32[1] 1", GOPT_EINPUT, "updates"},
    {"ScatterND", NULL, "f32[2,2] 1;i64[1,1] 0;f32[1,3] 1", GOPT_EINPUT, "dimension 1"},
    {"Expand", NULL, "f32[2] 1;i64[1] 3", GOPT_EINPUT, "broadcast"},
    {"Expand", NULL, "f32[2] 1;i64[1] -1", GOPT_EINPUT, "is -1"},
    {"Expand", NULL, "f32[1] 1;i64[2] 4611686018427387904 4", GOPT_EINPUT, "too large"},
    {"Tile", NULL, "f32[2] 1;i64[2] 1", GOPT_EINPUT, "input repeats"},
    {"Tile", NULL, "f32[2] 1;i64[1] -1", GOPT_EINPUT, "-1 times"},
    {"Tile", NULL, "f32[2] 1;i64[1] 9223372036854775807", GOPT_EINPUT, "too large"},
    {"Pad", NULL, "f32[2] 1;i64[3] 1", GOPT_EINPUT, "2 expected"},
    {"Pad", NULL, "f32[2] 1;i64[2] -2 -1", GOPT_EINPUT, "-1 elements"},
    {"Pad", NULL, "f32[5] 1;i64[2] -9223372036854775808 9223372036854775807", GOPT_EINPUT, "too large"},
    {"Pad", "mode='mirror'", "f32[2] 1;i64[2] 1", GOPT_EINPUT, "\"mirror\""},
    {"Pad", "mode='reflect'", "f32[0];i64[2] 1", GOPT_EINPUT, "no elements"},
    {"Pad", "mode='edge'", "f32[2] 1;i64[2] -2 1", GOPT_EINPUT, "no elements"},
    {"Pad", NULL, "f32[2] 1;i64[2] 1;i32[] 1", GOPT_EINPUT, "types"},
    {"Pad", NULL, "f32[2] 1;i64[2] 1;f32[2] 1", GOPT_EINPUT, "constant_value"},
    {"Pad", NULL, "f32[2] 1;i64[4] 1;-;i64[2] 0 -1", GOPT_EINPUT, "comes twice"},
    {"ConstantOfShape", NULL, "i64[1] -1", GOPT_EINPUT, "is -1"},
    {"ConstantOfShape", NULL, "i64[2] 4611686018427387904 4", GOPT_EINPUT, "too large"},
    {"ConstantOfShape", NULL, "i64[13] 1", GOPT_EUNSUP, "13 dimensions"},
    {"Constant", NULL, "", GOPT_EINPUT, "no attribute"},
    {"Constant", "sparse_value=1", "", GOPT_EUNSUP, "sparse_value"},
    {"Range", NULL, "i64[] 0;i64[] 5;i64[] 0", GOPT_EINPUT, "delta"},
    {"Range", NULL, "f32[] 0;f32[] inf;f32[] 1", GOPT_EINPUT, "no range"},
    {"Range", NULL, "f32[] 0;f32[] nan;f32[] 1", GOPT_EINPUT, "no range"},
    {"Range", NULL, "i64[] -9223372036854775807;i64[] 9223372036854775807;i64[] 1", GOPT_EINPUT, "does not follow"},
    {"Range", NULL, "i64[2] 0;i64[] 5;i64[] 1", GOPT_EINPUT, "start"},
    {"Range", NULL, "i64[] 0;i32[] 5;i64[] 1", GOPT_EINPUT, "types"},
    {"OneHot", NULL, "i64[2] 0;i64[] -1;f32[2] 0 1", GOPT_EINPUT, "depth"},
    {"OneHot", NULL, "i64[2] 0;i64[] 3;f32[3] 0 1 1", GOPT_EINPUT, "values"},
    {"OneHot", "axis=2", "i64[2] 0;i64[] 3;f32[2] 0 1", GOPT_EINPUT, "attribute axis"},
    {"OneHot", NULL, "i64[2] 0;i64[2] 3;f32[2] 0 1", GOPT_EINPUT, "depth"},
    {"NonZero", NULL, "s[2] a", GOPT_EINPUT, "string"},
    {"Trilu", NULL, "f32[3] 1", GOPT_EINPUT, "rank 1"},
    {"Trilu", NULL, "f32[2,2] 1;i64[2] 1", GOPT_EINPUT, "input k"},
    {"EyeLike", NULL, "f32[2] 1", GOPT_EINPUT, "rank 1"},
    {"EyeLike", "dtype=8", "f32[2,2] 1", GOPT_EINPUT, "attribute dtype"},
    {"EyeLike", "dtype=4294967297", "f32[2,2] 1", GOPT_EINPUT, "attribute dtype"},
    {"DepthToSpace", "blocksize=2", "f32[1,3,1,1] 1", GOPT_EINPUT, "do not divide"},
    {"DepthToSpace", "blocksize=0", "f32[1,4,1,1] 1", GOPT_EINPUT, "blocksize"},
    {"DepthToSpace", "blocksize=9223372036854775807", "f32[1,4,1,1] 1", GOPT_EINPUT, "does not follow"},
    {"DepthToSpace", "blocksize=2 mode='RCD'", "f32[1,4,1,1] 1", GOPT_EINPUT, "\"RCD\""},
    {"DepthToSpace", "blocksize=2", "f32[4,1,1] 1", GOPT_EINPUT, "rank 3"},
    {"SpaceToDepth", "blocksize=2", "f32[1,1,3,2] 1", GOPT_EINPUT, "do not divide"},
    {"SpaceToDepth", NULL, "f32[1,1,2,2] 1", GOPT_EINPUT, "blocksize"},
    {"ReverseSequence", NULL, "f32[2,2] 1;i64[2] 3 1", GOPT_EINPUT, "3 of 2"},
    {"ReverseSequence", NULL, "f32[2,2] 1;i64[3] 1", GOPT_EINPUT, "sequence_lens"},
    {"ReverseSequence", "time_axis=1", "f32[2,2] 1;i64[2] 1", GOPT_EINPUT, "batch_axis"},
    {"Compress", "axis=1", "f32[2] 1;b[1] 1", GOPT_EINPUT, "attribute axis"},
    {"Compress", NULL, "f32[2] 1;i64[1] 1", GOPT_EINPUT, "condition"},
    {"Unique", "axis=1", "f32[2] 1", GOPT_EINPUT, "attribute axis"},
    {"CumSum", NULL, "f32[2] 1;i64[] 1", GOPT_EINPUT, "input axis"},
    {"CumSum", NULL, "f32[2] 1;i64[2] 0", GOPT_EINPUT, "input axis"},
    {"CumSum", NULL, "b[2] 1;i64[] 0", GOPT_EINPUT, "input x"},
    {"Dropout", NULL, "f32[2] 1;f32[] 1;b[] 1", GOPT_EINPUT, "ratio"},
    {"Dropout", NULL, "f32[2] 1;f32[] nan;b[] 1", GOPT_EINPUT, "ratio"},
};

static void nonsense_is_refused(void **state)
{
    (void)state;
    ref_bad_check(bad, GOPT_COUNT(bad));
}

/* No element, but dimensions over which a careless loop would never end. */
static const ref_row empty[] = {
    {"Gather", NULL, "f32[1099511627776,2,0];i64[1]! 0", "f32[1,2,0]", false},
    {"Gather", "axis=1", "f32[1099511627776,2,0];i64[1]! 0", "f32[1099511627776,1,0]", false},
    {"Concat", "axis=1", "u8[1099511627776,0];u8[1099511627776,0]", "u8[1099511627776,0]", true},
    {"Split", "axis=1", "u8[1099511627776,0]", "u8[1099511627776,0];u8[1099511627776,0]", false},
    {"Transpose", NULL, "u8[1099511627776,0]", "u8[0,1099511627776]", false},
    {"Tile", NULL, "u8[1099511627776,0];i64[2]! 1 9", "u8[1099511627776,0]", false},
    {"Pad", NULL, "u8[1099511627776,0];i64[4]! 0", "u8[1099511627776,0]", false},
    {"Trilu", NULL, "u8[1099511627776,0]", "u8[1099511627776,0]", false},
    {"EyeLike", NULL, "u8[1099511627776,0]", "u8[1099511627776,0]", false},
    {"CumSum", NULL, "f32[1099511627776,1,0];i64[]! 1", "f32[1099511627776,1,0]", false},
    {"ReverseSequence", NULL, "u8[0,1,1099511627776];i64[1]! 0", "u8[0,1,1099511627776]", false},
    {"OneHot", NULL, "i64[1099511627776,0];i64[]! 1;u8[2] 0 1", "u8[1099511627776,0,1]", false},
    {"Compress", "axis=1", "u8[1099511627776,3,0];b[2] 1 0", "u8[1099511627776,1,0]", true},
    {"SpaceToDepth", "blocksize=1", "u8[0,1099511627776,1,1]", "u8[0,1099511627776,1,1]", false},
};

static void empty_tensors_take_no_time(void **state)
{
    (void)state;
    ref_rows_check(empty, GOPT_COUNT(empty));
}

/* Whoever gave a time limit that has passed gets ELIMIT, soon. */
static const char *const slow[][3] = {
    {"Transpose", NULL, "u8[2000,2000] 1"},
    {"Gather", NULL, "u8[2,100] 1;i64[30000] 1"},
    {"Tile", NULL, "u8[1000,1] 1;i64[2] 100 10"},
    {"Pad", NULL, "u8[1000] 1;i64[2] 100000 0"},
    {"ConstantOfShape", NULL, "i64[2] 1000 1000"},
    {"Range", NULL, "i64[] 0;i64[] 1000000;i64[] 1"},
    {"CumSum", NULL, "f32[1000,100] 1;i64[] 1"},
    {"GatherElements", NULL, "u8[9] 1;i64[100000] 1"},
    {"NonZero", NULL, "u8[100000] 1"},
};

static void no_time_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(slow); i++) {
        ref_case c = ref_row_case(slow[i][0], slow[i][1], slow[i][2]);
        c.deadline = gopt_now() - 1;
        ref_expect_error(&c, GOPT_ELIMIT, "time");
        ref_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(empty_tensors_take_no_time),
        cmocka_unit_test(no_time_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
