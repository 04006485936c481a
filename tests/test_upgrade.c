/* onnx: nodes of older opsets mean today what they meant then. */
#include "support/onnx.h"

typedef struct row {
    int64_t opset;
    const char *node;
    const char *inputs[4]; /* besides x */
    const char *becomes;   /* without the inputs */
} row;

static const char *const x4 = "float32 x[2,3,4,5]";

static void check(test_onnx *m, const char *x, const row *r)
{
    gopt_text all = {0};
    test_onnx_begin(m, r->opset);
    test_onnx_input(m, m->graph, x);
    for (int i = 0; i < GOPT_COUNT(r->inputs) && r->inputs[i]; i++)
        test_onnx_input(m, m->graph, r->inputs[i]);
    Onnx__NodeProto *n = test_onnx_node(m, m->graph, r->node);
    for (size_t k = 0; k < n->n_output; k++)
        test_onnx_output(m, m->graph, n->output[k]);
    gopt_graph *g = test_onnx_load(m);
    gopt_graph_print(g, &all);
    const char *text = gopt_text_str(&all), *body = text;
    while (!strncmp(body, "input ", 6))
        body = strchr(body, '\n') + 1;
    size_t length = (size_t)(strstr(body, "output ") - body);
    if (length != strlen(r->becomes) || strncmp(body, r->becomes, length) != 0)
        fail_msg("opset %lld: %s\nbecomes\n%.*sinstead of\n%s", (long long)r->opset, r->node, (int)length, body,
                 r->becomes);
    gopt_text_fini(&all);
    gopt_graph_free(g);
}

static void check_all(void **state, const char *x, const row *rows, int n)
{
    for (int i = 0; i < n; i++)
        check(*state, x, &rows[i]);
}

static void axes_are_operands(void **state)
{
    static const row rows[] = {
        {17,
         "n: y = ReduceMax(x) axes=[1,-1] keepdims=0",
         {NULL},
         "const n/axes int64[2] {1,-1}\nn: y float32[2,4] = ReduceMax(x, n/axes) {keepdims=0}\n"},
        {17, "n: y = ReduceMax(x)", {NULL}, "n: y float32[1,1,1,1] = ReduceMax(x)\n"},
        {12,
         "n: y = ReduceSum(x) axes=[0]",
         {NULL},
         "const n/axes int64[1] {0}\nn: y float32[1,3,4,5] = ReduceSum(x, n/axes)\n"},
        {11,
         "n: y = Unsqueeze(x) axes=[0,5]",
         {NULL},
         "const n/axes int64[2] {0,5}\nn: y float32[1,2,3,4,5,1] = Unsqueeze(x, n/axes)\n"},
        {7,
         "n: y = Squeeze(v) axes=[1]",
         {"float32 v[2,1]"},
         "const n/axes int64[1] {1}\nn: y float32[2] = Squeeze(v, n/axes)\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
}

static void attributes_became_operands(void **state)
{
    static const row rows[] = {
        {9,
         "n: y = Slice(x) starts=[1,0] ends=[3,2] axes=[1,3]",
         {NULL},
         "const n/starts int64[2] {1,0}\nconst n/ends int64[2] {3,2}\nconst n/axes int64[2] {1,3}\n"
         "n: y float32[2,2,4,2] = Slice(x, n/starts, n/ends, n/axes)\n"},
        {9,
         "n: y = Slice(x) starts=[1] ends=[2]",
         {NULL},
         "const n/starts int64[1] {1}\nconst n/ends int64[1] {2}\n"
         "n: y float32[1,3,4,5] = Slice(x, n/starts, n/ends)\n"},
        {12,
         "n: y, z = Split(x) axis=1 split=[1,2]",
         {NULL},
         "const n/split int64[2] {1,2}\nn: y float32[2,1,4,5], z float32[2,2,4,5] = Split(x, n/split) {axis=1}\n"},
        {7,
         "n: y, z = Split(x) axis=2",
         {NULL},
         "n: y float32[2,3,2,5], z float32[2,3,2,5] = Split(x) {axis=2, num_outputs=2}\n"},
        {17, "n: y, z = Split(x, s)", {"int64 s[2]"}, "n: y float32[?,3,4,5], z float32[?,3,4,5] = Split(x, s)\n"},
        {10,
         "n: y = Clip(x) max=6.0",
         {NULL},
         "const n/max float32[] {6}\nn: y float32[2,3,4,5] = Clip(x, _, n/max)\n"},
        {6,
         "n: y = Clip(h) min=0.5 max=2.0",
         {"float16 h[2]"},
         "const n/min float16[] {0.5}\nconst n/max float16[] {2}\nn: y float16[2] = Clip(h, n/min, n/max)\n"},
        {10,
         "n: y = Pad(x) pads=[0,0,1,1,0,0,2,2] value=0.5",
         {NULL},
         "const n/pads int64[8] {0,0,1,1,0,0,2,2}\nconst n/value float32[] {0.5}\n"
         "n: y float32[2,3,7,8] = Pad(x, n/pads, n/value)\n"},
        {7,
         "n: y = Pad(x) pads=[0,0,1,1,0,0,1,1] mode=\"reflect\"",
         {NULL},
         "const n/pads int64[8] {0,0,1,1,0,0,1,1}\nn: y float32[2,3,6,7] = Pad(x, n/pads) {mode=\"reflect\"}\n"},
        {9,
         "n: y, z = TopK(x) k=2 axis=-1",
         {NULL},
         "const n/k int64[1] {2}\nn: y float32[2,3,4,2], z int64[2,3,4,2] = TopK(x, n/k) {axis=-1}\n"},
        {4,
         "n: y = Reshape(x) shape=[6,20]",
         {NULL},
         "const n/shape int64[2] {6,20}\nn: y float32[6,20] = Reshape(x, n/shape)\n"},
        {9, "n: y = Dropout(x) ratio=0.5", {NULL}, "n: y float32[2,3,4,5] = Dropout(x)\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
}

static void upsampling_is_resizing(void **state)
{
    static const row rows[] = {
        {8,
         "n: y = Upsample(x) scales=[1.0,1.0,2.0,2.0] mode=\"nearest\"",
         {NULL},
         "const n/scales float32[4] {1,1,2,2}\n"
         "n: y float32[2,3,8,10] = Resize(x, _, n/scales) "
         "{mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}\n"},
        {9,
         "n: y = Upsample(x, s) mode=\"linear\"",
         {"float32 s[4]"},
         "n: y float32[?,?,?,?] = Resize(x, _, s) "
         "{mode=\"linear\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}\n"},
        {1,
         "n: y = Upsample(x) height_scale=2.0 width_scale=3.0 mode=\"bilinear\"",
         {NULL},
         "const n/scales float32[4] {1,1,2,3}\n"
         "n: y float32[2,3,8,15] = Resize(x, _, n/scales) "
         "{mode=\"linear\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}\n"},
        {10,
         "n: y = Resize(x, s)",
         {"float32 s[4]"},
         "n: y float32[?,?,?,?] = Resize(x, _, s) "
         "{coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"}\n"},
        {11,
         "n: y = Resize(x, , s) coordinate_transformation_mode=\"tf_half_pixel_for_nn\" nearest_mode=\"floor\"",
         {"float32 s[4]"},
         "n: y float32[?,?,?,?] = Resize(x, _, s) "
         "{coordinate_transformation_mode=\"half_pixel\", nearest_mode=\"round_prefer_ceil\"}\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
}

static void meanings_changed(void **state)
{
    static const row rows[] = {
        {12, "n: y = Softmax(x)", {NULL}, "n: y float32[2,3,4,5] = Softmax(x) {axis=1, coerce_2d=1}\n"},
        {7, "n: y = LogSoftmax(x) axis=2", {NULL}, "n: y float32[2,3,4,5] = LogSoftmax(x) {axis=2, coerce_2d=1}\n"},
        {13, "n: y = Hardmax(x)", {NULL}, "n: y float32[2,3,4,5] = Hardmax(x)\n"},
        {3, "n: y = Concat(x, x)", {NULL}, "n: y float32[2,6,4,5] = Concat(x, x) {axis=1}\n"},
        {5, "n: y = Cast(x) to=\"INT64\"", {NULL}, "n: y int64[2,3,4,5] = Cast(x) {to=7}\n"},
        {5, "n: y = Relu(x) consumed_inputs=[0]", {NULL}, "n: y float32[2,3,4,5] = Relu(x)\n"},
        {9,
         "n: y = Scatter(x, i, u)",
         {"int64 i[1,1,1,1]", "float32 u[1,1,1,1]"},
         "n: y float32[2,3,4,5] = ScatterElements(x, i, u)\n"},
        {6,
         "n: y = Gemm(a, b, c) broadcast=1",
         {"float32 a[2,3]", "float32 b[3,4]", "float32 c[4]"},
         "n: y float32[2,4] = Gemm(a, b, c)\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
}

static void shapes_were_laid_to_an_axis(void **state)
{
    static const row rows[] = {
        {6,
         "n: y = Add(x, b) broadcast=1 axis=1",
         {"float32 b[3,4]"},
         "const n/axes int64[1] {2}\nn/Unsqueeze: ~1 float32[3,4,1] = Unsqueeze(b, n/axes)\n"
         "n: y float32[2,3,4,5] = Add(x, ~1)\n"},
        {6, "n: y = Mul(x, b) broadcast=1", {"float32 b[4,5]"}, "n: y float32[2,3,4,5] = Mul(x, b)\n"},
        {6,
         "n: y = PRelu(x, b)",
         {"float32 b[3]"},
         "const n/axes int64[2] {1,2}\nn/Unsqueeze: ~1 float32[3,1,1] = Unsqueeze(b, n/axes)\n"
         "n: y float32[2,3,4,5] = PRelu(x, ~1)\n"},
        {6, "n: y = PRelu(x, b)", {"float32 b[1]"}, "n: y float32[2,3,4,5] = PRelu(x, b)\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
}

static void norms_were_different(void **state)
{
    static const row rows[] = {
        {8,
         "n: y = BatchNormalization(x, c, c, c, c) spatial=1",
         {"float32 c[3]"},
         "n: y float32[2,3,4,5] = BatchNormalization(x, c, c, c, c)\n"},
        {6,
         "n: y, m = BatchNormalization(x, c, c, d, c) is_test=1",
         {"float32 c[3]", "float32 d[3]"},
         "n/Identity: m float32[3] = Identity(d)\nn: y float32[2,3,4,5] = BatchNormalization(x, c, c, d, c)\n"},
        {8,
         "n: y = BatchNormalization(x, s, b, m, v) spatial=0 epsilon=0.5",
         {"float32 s[3,4,5]", "float32 b[3,4,5]", "float32 m[3,4,5]", "float32 v[3,4,5]"},
         "const n/epsilon float32[] {0.5}\n"
         "n/Add: ~1 float32[3,4,5] = Add(v, n/epsilon)\n"
         "n/Sqrt: ~2 float32[3,4,5] = Sqrt(~1)\n"
         "n/Sub: ~3 float32[2,3,4,5] = Sub(x, m)\n"
         "n/Div: ~4 float32[2,3,4,5] = Div(~3, ~2)\n"
         "n/Mul: ~5 float32[2,3,4,5] = Mul(~4, s)\n"
         "n: y float32[2,3,4,5] = Add(~5, b)\n"},
    };
    check_all(state, x4, rows, GOPT_COUNT(rows));
    static const row group = {20,
                              "n: y = GroupNormalization(x, c, c) num_groups=2",
                              {"float32 c[2]"},
                              "const n/groups int64[2] {2,1}\n"
                              "const n/repeats int64[2] {1,2}\n"
                              "const n/channels int64[1] {4}\n"
                              "const n/groups_12 int64[2] {2,1}\n"
                              "const n/repeats_15 int64[2] {1,2}\n"
                              "const n/channels_18 int64[1] {4}\n"
                              "n/Reshape: ~1 float32[2,1] = Reshape(c, n/groups)\n"
                              "n/Expand: ~2 float32[2,2] = Expand(~1, n/repeats)\n"
                              "n/Reshape_10: ~3 float32[4] = Reshape(~2, n/channels)\n"
                              "n/Reshape_13: ~4 float32[2,1] = Reshape(c, n/groups_12)\n"
                              "n/Expand_16: ~5 float32[2,2] = Expand(~4, n/repeats_15)\n"
                              "n/Reshape_19: ~6 float32[4] = Reshape(~5, n/channels_18)\n"
                              "n: y float32[1,4,3] = GroupNormalization(x, ~3, ~6) {num_groups=2}\n"};
    check(*state, "float32 x[1,4,3]", &group);
}

static void what_cannot_be_rewritten_is_refused(void **state)
{
    static const struct {
        int64_t opset;
        const char *node, *message;
        gopt_status status;
    } rows[] = {
        {6, "n: y = BatchNormalization(x, c, c, c, c)", "is_test = 0: training is not supported", GOPT_EUNSUP},
        {6, "n: y = Add(x, u) broadcast=1 axis=1", "it cannot be read without the rank of input 1", GOPT_EUNSUP},
        {6, "n: y = Add(x, c) broadcast=1 axis=4", "attribute axis: 4 does not go with ranks 4 and 1", GOPT_EINPUT},
        {9, "n: y = Slice(x) starts=[0]", "attribute ends is missing", GOPT_EINPUT},
        {8, "n: y = Upsample(x)", "attribute scales is missing", GOPT_EINPUT},
        {5, "n: y = Cast(x) to=\"FLOAT8\"", "attribute to: unknown type \"FLOAT8\"", GOPT_EINPUT},
        {20, "n: y = GroupNormalization(x, c, c) num_groups=2", "attribute num_groups: 2 does not divide 3 channels",
         GOPT_EINPUT},
        {11, "n: y = Resize(x, , f) coordinate_transformation_mode=\"tf_half_pixel_for_nn\"",
         "tf_half_pixel_for_nn is supported with mode nearest and nearest_mode floor", GOPT_EUNSUP},
    };
    test_onnx *m = *state;
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        test_onnx_begin(m, rows[i].opset);
        test_onnx_input(m, m->graph, x4);
        test_onnx_input(m, m->graph, "float32 c[3]");
        test_onnx_input(m, m->graph, "float32 f[4]");
        test_onnx_input(m, m->graph, "float32 u");
        test_onnx_output(m, m->graph, "y");
        test_onnx_node(m, m->graph, rows[i].node);
        test_onnx_refused(m, rows[i].status, rows[i].message);
    }
}

/* Scan of opset 8 sums over a sequence, for every element of a batch. */
static void scans_had_a_batch(void **state)
{
    test_onnx *m = *state;
    gopt_err e = {0};
    gopt_arena a = {0};
    test_onnx_begin(m, 8);
    test_onnx_input(m, m->graph, "float32 s[2,1]");
    test_onnx_input(m, m->graph, "float32 x[2,3,1]");
    test_onnx_output(m, m->graph, "last");
    test_onnx_output(m, m->graph, "sums");
    Onnx__NodeProto *n = test_onnx_node(m, m->graph, "n: last, sums = Scan(, s, x) num_scan_inputs=1 directions=[1]");
    Onnx__GraphProto *body = test_onnx_body(m, n, "body");
    test_onnx_input(m, body, "float32 sum[1]");
    test_onnx_input(m, body, "float32 next[1]");
    test_onnx_output(m, body, "float32 out[1]");
    test_onnx_output(m, body, "float32 copy[1]");
    test_onnx_node(m, body, "a: out = Add(sum, next)");
    test_onnx_node(m, body, "c: copy = Identity(out)");
    gopt_graph *g = test_onnx_load(m);
    gopt_tensor *in[] = {gopt_tensor_new(&a, GOPT_DTYPE_F32, 2, (int64_t[]){2, 1}),
                         gopt_tensor_new(&a, GOPT_DTYPE_F32, 3, (int64_t[]){2, 3, 1})};
    gopt_tensor out[2];
    for (int i = 0; i < 6; i++)
        gopt_tensor_set(in[1], i, i + 1);
    gopt_tensor_set(in[0], 1, 100);
    assert_ok(gopt_graph_eval(g, (const gopt_tensor *const[]){in[0], in[1]}, out, &a, 0, &e), &e);
    static const double sums[] = {3, 5, 6, 106, 111, 115}; /* backwards, stored in the order of computing */
    assert_true(gopt_tensor_get(&out[0], 0) == 6 && gopt_tensor_get(&out[0], 1) == 115);
    assert_int_equal(out[1].dim[0], 2);
    assert_int_equal(out[1].dim[1], 3);
    for (int i = 0; i < 6; i++)
        assert_true(gopt_tensor_get(&out[1], i) == sums[i]);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(axes_are_operands, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(attributes_became_operands, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(upsampling_is_resizing, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(meanings_changed, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(shapes_were_laid_to_an_axis, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(norms_were_different, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_rewritten_is_refused, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(scans_had_a_batch, test_onnx_setup, test_onnx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
