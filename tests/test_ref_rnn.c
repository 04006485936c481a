/* RNN, GRU, LSTM: equations against a direct computation, directions, lengths, layouts, activations. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I32 GOPT_DTYPE_I32

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

/* One sequence of 1, 2, 3 with one feature and one hidden unit, W = 1, R = 0.5. */
static void one_unit(ref_case *c, int gates, int dirs)
{
    ref_input(c, F32, DIMS(3, 1, 1), VALUES(1, 2, 3));
    ref_constant(c, F32, DIMS(dirs, gates, 1), VALUES(1));
    ref_constant(c, F32, DIMS(dirs, gates, 1), VALUES(0.5));
}

static void rnn_runs_forward_and_backward(void **state)
{
    (void)state;
    ref_case c = ref_begin("RNN");
    one_unit(&c, 1, 2);
    ref_string(&c, "direction", "bidirectional");
    assert_ok(ref_run(&c, 2), &c.e);
    double f1 = tanh(1), f2 = tanh(2 + 0.5 * f1), f3 = tanh(3 + 0.5 * f2);
    double b3 = tanh(3), b2 = tanh(2 + 0.5 * b3), b1 = tanh(1 + 0.5 * b2);
    ref_expect(&c, 0, F32, DIMS(3, 2, 1, 1), 1e-6, VALUES(f1, b1, f2, b2, f3, b3));
    ref_expect(&c, 1, F32, DIMS(2, 1, 1), 1e-6, VALUES(f3, b1));
    ref_end(&c);
}

static void short_sequences_end_early(void **state)
{
    static const char *const directions[] = {"forward", "reverse"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ref_case c = ref_begin("RNN");
        ref_input(&c, F32, DIMS(2, 2, 1), VALUES(1, 10, 2, 20)); /* the second sequence has one step */
        ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(1));
        ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(1));
        ref_absent(&c);
        ref_constant(&c, I32, DIMS(2), VALUES(2, 1));
        ref_string(&c, "direction", directions[i]);
        ref_strings(&c, "activations", 1, (const char *[]){"Affine"});
        assert_ok(ref_run(&c, 2), &c.e);
        if (i == 0)
            ref_expect(&c, 0, F32, DIMS(2, 1, 2, 1), 0, VALUES(1, 10, 3, 0));
        else
            ref_expect(&c, 0, F32, DIMS(2, 1, 2, 1), 0, VALUES(3, 10, 2, 0));
        ref_expect(&c, 1, F32, DIMS(1, 2, 1), 0, VALUES(3, 10));
        ref_end(&c);
    }
}

static void the_batch_may_come_first(void **state)
{
    (void)state;
    ref_case c = ref_begin("RNN");
    ref_input(&c, F32, DIMS(2, 3, 1), VALUES(1, 2, 3, 10, 20, 30)); /* two sequences */
    ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(1));
    ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(1));
    ref_absent(&c);
    ref_absent(&c);
    ref_input(&c, F32, DIMS(2, 1, 1), VALUES(100, 200));
    ref_int(&c, "layout", 1);
    ref_int(&c, "hidden_size", 1);
    ref_strings(&c, "activations", 1, (const char *[]){"Affine"});
    assert_ok(ref_run(&c, 2), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 3, 1, 1), 0, VALUES(101, 103, 106, 210, 230, 260));
    ref_expect(&c, 1, F32, DIMS(2, 1, 1), 0, VALUES(106, 260));
    ref_end(&c);
}

static void gru_resets_before_or_after(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++) {
        ref_case c = ref_begin("GRU");
        double h = 0.25;
        one_unit(&c, 3, 1);
        ref_constant(&c, F32, DIMS(1, 6), VALUES(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)); /* Wz Wr Wh Rz Rr Rh */
        ref_absent(&c);
        ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(h));
        ref_int(&c, "linear_before_reset", after);
        assert_ok(ref_run(&c, 2), &c.e);
        double want[3];
        for (int t = 0; t < 3; t++) {
            double x = t + 1, z = sigmoid(x + 0.5 * h + 0.5), r = sigmoid(x + 0.5 * h + 0.7);
            double n = after ? tanh(x + r * (0.5 * h + 0.6) + 0.3) : tanh(x + 0.5 * (r * h) + 0.6 + 0.3);
            want[t] = h = (1 - z) * n + z * h;
        }
        ref_expect(&c, 0, F32, DIMS(3, 1, 1, 1), 1e-6, 3, want);
        ref_expect(&c, 1, F32, DIMS(1, 1, 1), 1e-6, 1, &want[2]);
        ref_end(&c);
    }
}

static void lstm_follows_its_equations(void **state)
{
    (void)state;
    for (int couple = 0; couple < 2; couple++) {
        ref_case l = ref_begin("LSTM");
        double h = 0.25, c = -0.5, want[3];
        one_unit(&l, 4, 1);
        ref_constant(&l, F32, DIMS(1, 8), VALUES(0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0)); /* i o f c */
        ref_absent(&l);
        ref_constant(&l, F32, DIMS(1, 1, 1), VALUES(h));
        ref_constant(&l, F32, DIMS(1, 1, 1), VALUES(c));
        ref_constant(&l, F32, DIMS(1, 3), VALUES(0.7, 0.8, 0.9)); /* i o f */
        ref_int(&l, "input_forget", couple);
        assert_ok(ref_run(&l, 3), &l.e);
        for (int t = 0; t < 3; t++) {
            double x = t + 1 + 0.5 * h, i = sigmoid(x + 0.1 + 0.7 * c), f = sigmoid(x + 0.3 + 0.9 * c);
            c = (couple ? 1 - i : f) * c + i * tanh(x + 0.4);
            want[t] = h = sigmoid(x + 0.2 + 0.8 * c) * tanh(c);
        }
        ref_expect(&l, 0, F32, DIMS(3, 1, 1, 1), 1e-6, 3, want);
        ref_expect(&l, 1, F32, DIMS(1, 1, 1), 1e-6, 1, &h);
        ref_expect(&l, 2, F32, DIMS(1, 1, 1), 1e-6, 1, &c);
        ref_end(&l);
    }
}

static void only_the_last_state_may_be_wanted(void **state)
{
    (void)state;
    ref_case c = ref_begin("LSTM");
    one_unit(&c, 4, 1);
    ref_outputs(&c, 3);
    c.out_at[0] = NULL;
    c.out_at[1] = NULL;
    assert_ok(ref_run_wanted(&c), &c.e);
    assert_true(ref_at(&c, 2, 0) > 1);
    ref_end(&c);
}

static void gates_are_clipped(void **state)
{
    (void)state;
    ref_case c = ref_begin("RNN");
    one_unit(&c, 1, 1);
    ref_float(&c, "clip", 1.25);
    ref_strings(&c, "activations", 1, (const char *[]){"Affine"});
    ref_floats(&c, "activation_alpha", VALUES(2));
    ref_floats(&c, "activation_beta", VALUES(1));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(3, 1, 1, 1), 1e-6, VALUES(3, 3.5, 3.5));
    ref_end(&c);
}

typedef struct function {
    const char *name;
    double at_minus_one, at_two;
} function;

static void every_activation_is_known(void **state)
{
    static const function functions[] = {
        {"Relu", 0, 2},
        {"Tanh", -0.76159416, 0.96402758},
        {"Sigmoid", 0.26894142, 0.88079708},
        {"Affine", -1, 2},
        {"LeakyRelu", -0.01, 2},
        {"ThresholdedRelu", 0, 2},
        {"ScaledTanh", -0.76159416, 0.96402758},
        {"HardSigmoid", 0.3, 0.9},
        {"Elu", -0.63212056, 2},
        {"Softsign", -0.5, 0.66666667},
        {"Softplus", 0.31326169, 2.12692801},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(functions); i++) {
        ref_case c = ref_begin("RNN");
        ref_input(&c, F32, DIMS(1, 2, 1), VALUES(-1, 2));
        ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(1));
        ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(0));
        ref_strings(&c, "activations", 1, &functions[i].name);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 1, 2, 1), 1e-6, VALUES(functions[i].at_minus_one, functions[i].at_two));
        ref_end(&c);
    }
}

/* ---- refusals ---- */

static void wrong_nodes_are_refused(void **state)
{
    (void)state;
    ref_case d = ref_begin("RNN"), a = ref_begin("RNN"), n = ref_begin("GRU"), w = ref_begin("LSTM");
    ref_case l = ref_begin("RNN");
    one_unit(&d, 1, 1);
    ref_string(&d, "direction", "sideways");
    ref_expect_error(&d, GOPT_EINPUT, "sideways");
    one_unit(&a, 1, 1);
    ref_strings(&a, "activations", 1, (const char *[]){"Sine"});
    ref_expect_error(&a, GOPT_EINPUT, "Sine");
    one_unit(&n, 3, 1);
    ref_strings(&n, "activations", 1, (const char *[]){"Tanh"});
    ref_expect_error(&n, GOPT_EINPUT, "2 expected");
    one_unit(&w, 3, 1);
    ref_expect_error(&w, GOPT_EINPUT, "input W");
    one_unit(&l, 1, 1);
    ref_absent(&l);
    ref_constant(&l, I32, DIMS(1), VALUES(4));
    ref_expect_error(&l, GOPT_EINPUT, "sequence_lens");
    ref_end(&d);
    ref_end(&a);
    ref_end(&n);
    ref_end(&w);
    ref_end(&l);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case c = ref_begin("LSTM");
    one_unit(&c, 4, 1);
    ref_expect_oom_safe(&c, 3);
    ref_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rnn_runs_forward_and_backward),
        cmocka_unit_test(short_sequences_end_early),
        cmocka_unit_test(the_batch_may_come_first),
        cmocka_unit_test(gru_resets_before_or_after),
        cmocka_unit_test(lstm_follows_its_equations),
        cmocka_unit_test(only_the_last_state_may_be_wanted),
        cmocka_unit_test(gates_are_clipped),
        cmocka_unit_test(every_activation_is_known),
        cmocka_unit_test(wrong_nodes_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
