/* test_layout.c: propagate_layout and convolutions: which ones get their channels last depends on what kernels predict
 * for this machine; what they compute does not. */
#include <string.h>

#include "base/cpu.h"
#include "inputs.h"
#include "pass.h"
#include "support/graphs.h"
#include "support/test.h"
#include "verify.h"

typedef struct example {
    const char *what, *text;
    int nhwc, transposes; /* afterwards, where kernels can be made for the shape */
} example;

static const example examples[] = {
    {"a chain on a small image: one reorder at each end",
     "input x float32[1,64,7,7]\nconst w float32[64,64,3,3] random(1)\nconst v float32[96,64,1,1] random(2)\n"
     "const b float32[96] random(3)\nconst k float32[64,1,1] random(4)\n"
     "n1: a float32[1,64,7,7] = Conv(x, w) {pads=[1,1,1,1]}\n"
     "n2: c float32[1,64,7,7] = Add(a, k)\n"
     "n3: d float32[1,96,7,7] = Conv(c, v, b) {kernel_shape=[1,1]}\n"
     "n4: y float32[1,96,7,7] = Relu(d)\noutput y\n",
     2, 2},
    {"what is added along the way comes along",
     "input x float32[2,64,7,7]\nconst w float32[64,64,3,3] random(1)\nconst v float32[64,64,3,3] random(2)\n"
     "n1: a float32[2,64,7,7] = Conv(x, w) {auto_pad=\"SAME_UPPER\"}\n"
     "n2: c float32[2,64,7,7] = Relu(a)\n"
     "n3: d float32[2,64,7,7] = Conv(c, v) {pads=[1,1,1,1]}\n"
     "n4: y float32[2,64,7,7] = Add(d, c)\noutput y\n",
     2, 2},
    {"one weight, two readers",
     "input x float32[1,64,7,7]\nconst w float32[64,64,3,3] random(1)\n"
     "n1: a float32[1,64,7,7] = Conv(x, w) {pads=[1,1,1,1]}\n"
     "n2: y float32[1,64,7,7] = Conv(a, w) {pads=[2,2,2,2],dilations=[2,2]}\noutput y\n",
     2, 2},
    {"poolings on the way, and a mean that leaves nothing to reorder at the end",
     "input x float32[1,64,14,14]\nconst w float32[64,64,3,3] random(1)\nconst v float32[64,64,3,3] random(2)\n"
     "n1: a float32[1,64,14,14] = Conv(x, w) {pads=[1,1,1,1]}\n"
     "n2: c float32[1,64,7,7] = MaxPool(a) {kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]}\n"
     "n3: d float32[1,64,7,7] = Conv(c, v) {pads=[1,1,1,1]}\n"
     "n4: f float32[1,64,5,5] = AveragePool(d) {kernel_shape=[3,3]}\n"
     "n5: y float32[1,64,1,1] = GlobalAveragePool(f)\noutput y\n",
     2, 1},
    {"windows far apart along one axis",
     "input x float32[1,1,9000]\nconst w float32[36,1,256] random(1)\n"
     "n1: a float32[1,36,137] = Conv(x, w) {strides=[64]}\n"
     "n2: y float32[1,137,36] = Transpose(a) {perm=[0,2,1]}\noutput y\n",
     1, 0},
    {"the order is there already: groups stay as they are",
     "input x float32[1,7,7,64]\nconst w float32[64,1,3,3] random(1)\n"
     "n1: a float32[1,64,7,7] = Transpose(x) {perm=[0,3,1,2]}\n"
     "n2: c float32[1,64,7,7] = Conv(a, w) {pads=[1,1,1,1],group=64}\n"
     "n3: y float32[1,7,7,64] = Transpose(c) {perm=[0,2,3,1]}\noutput y\n",
     0, 2},
    {"of an unknown size nothing is predicted",
     "input x float32[n,64,7,7]\nconst w float32[64,64,3,3] random(1)\n"
     "n1: y float32[n,64,7,7] = Conv(x, w) {pads=[1,1,1,1]}\noutput y\n",
     0, 0},
    {"filters that are computed",
     "input x float32[1,64,7,7]\ninput w float32[64,64,3,3]\n"
     "n1: y float32[1,64,7,7] = Conv(x, w) {pads=[1,1,1,1]}\noutput y\n",
     0, 0},
    {"float16",
     "input x float16[1,64,7,7]\nconst w float16[64,64,3,3] random(1)\n"
     "n1: y float16[1,64,7,7] = Conv(x, w) {pads=[1,1,1,1]}\noutput y\n",
     0, 0},
    {"an image that fills tiles in either layout",
     "input x float32[1,16,64,64]\nconst w float32[16,16,3,3] random(1)\n"
     "n1: y float32[1,16,62,62] = Conv(x, w)\noutput y\n",
     0, 0},
};

static int count(const gopt_graph *g, const char *op)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        n += !g->nodes[i]->dead && !strcmp(g->nodes[i]->op->name, op);
    return n;
}

static void bind(gopt_graph *g)
{
    const char *name;
    int64_t two = 2;
    gopt_err e = {0};
    if (gopt_graph_symbols(g, &name, 1))
        assert_ok(gopt_graph_bind(g, &name, &two, 1, &e), &e);
}

static void compare(const example *x, gopt_graph *after)
{
    gopt_graph *before = test_graph(x->text);
    const gopt_tensor *const *in;
    gopt_tensor want, got;
    gopt_arena a = {0};
    gopt_err e = {0};
    bind(before);
    bind(after);
    assert_ok(gopt_inputs_make(&in, before, GOPT_INPUT_RANDOM, 1, &a, &e), &e);
    assert_ok(gopt_graph_eval(before, in, &want, &a, 0, &e), &e);
    assert_ok(gopt_graph_eval(after, in, &got, &a, 0, &e), &e);
    assert_ok(gopt_verify_tensor(&got, &want, (gopt_tolerance){.rel = 1e-6, .abs = 1e-6}, NULL, &e), &e);
    gopt_arena_fini(&a);
    gopt_graph_free(before);
}

static void convolutions_have_the_layout_that_is_cheaper(void **state)
{
    (void)state;
    const gopt_pass *pass = gopt_passes[gopt_pass_find("propagate_layout")];
    for (int i = 0; i < GOPT_COUNT(examples); i++) {
        gopt_graph *g = test_graph(examples[i].text);
        gopt_pass_record record;
        gopt_arena a = {0};
        gopt_err e = {0};
        assert_ok(gopt_pass_apply(pass, NULL, g, 0, &a, &record, &e), &e);
        if (gopt_cpu_isa() >= GOPT_ISA_AVX2 &&
            (count(g, "ConvNhwc") != examples[i].nhwc || count(g, "Transpose") != examples[i].transposes))
            fail_msg("%s: %d ConvNhwc, %d Transpose", examples[i].what, count(g, "ConvNhwc"), count(g, "Transpose"));
        compare(&examples[i], g);
        gopt_arena_fini(&a);
        gopt_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_have_the_layout_that_is_cheaper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
