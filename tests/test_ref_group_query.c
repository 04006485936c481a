/* GroupQueryAttention of com.microsoft: what ONNX Runtime 1.32 makes of the same inputs; refusals. */
#include "support/ref_case.h"

#define F32 GOPT_DTYPE_F32
#define I32 GOPT_DTYPE_I32
#define I64 GOPT_DTYPE_I64

/* One call. Inputs are those of ref_varied. */
typedef struct call {
    const char *name;
    int64_t batch, length, past, heads, shared, size;
    int64_t half;       /* columns of the caches of 8 rows; 0: no rotary embedding */
    bool packed, empty; /* empty: a past of no keys is there */
    bool bias, sink;
    double keys[2], positions[2]; /* keys: of each sequence, past + length when zero; positions: none when zero */
    struct {
        const char *name;
        double v;
    } attr, more;
    double y[44], key[44]; /* every third element of output and present_key, the latter where rotary has turned it */
} call;

static const call calls[] = {
    {.name = "prompt",
     .batch = 1,
     .length = 3,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .empty = true,
     .y = {0.03125, -0.5, 0.96875, -0.8125, 0.65625, 0.125, 0.08307747, -0.4481725, -0.4543068, 0.3092614, 0.4831932,
           -0.2751566, -0.3891858, 0.2846138, 0.3064066, -0.2248434}},
    {.name = "decode",
     .batch = 1,
     .length = 1,
     .past = 3,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .y = {-0.02145473, -0.2079854, 0.6004874, -0.1492162, -0.1993825, 0.1939646}},
    {.name = "packed prompt",
     .batch = 1,
     .length = 3,
     .past = 0,
     .heads = 4,
     .shared = 2,
     .size = 8,
     .packed = true,
     .y = {0.84375,  0.3125,   -0.21875, 0,        -0.53125, 0.9375,  0.40625, -0.125,   0.09375, -0.4375, -0.96875,
           0,        -0.53125, 0.9375,   -0.84375, 0.625,    0.09375, -0.4375, -0.96875, -0.75,   0.71875, 0.1875,
           -0.84375, 0.625,    0.84375,  0.3125,   -0.21875, -0.75,   0.71875, 0.1875,   0.40625, -0.125}},
    {.name = "packed prompt, rotary",
     .batch = 1,
     .length = 2,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .packed = true,
     .y = {0.84375, 0.3125,   -0.21875, -0.75,   0.71875, 0.1875,    -0.84375, 0.625,    0.09375, -0.4375, -0.96875,
           0,       -0.53125, 0.9375,   0.40625, -0.125,  0.8437501, 0.3125,   -0.21875, -0.75,   0.71875, 0.1875},
     .key = {-0.04785156, -0.2636719, 0.02050781, 1.054688, 0.7783203, 0.1308594, -0.4833984, -0.4492188, 0.1806641,
             -0.5917969, -0.2353516}},
    {.name = "packed decode, rotary",
     .batch = 1,
     .length = 1,
     .past = 2,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .packed = true,
     .y = {0.2606063, 0.3830117, -0.1482383, -0.6794883, 0.1356064, 0.2580117, -0.7788978, 0.1020126, 0.1586021,
           -0.3726479, -0.178013},
     .key = {0.375, -0.15625, -0.6875, 0.78125, 0.25, -0.28125, -0.8125, 0.65625, 0.125, -0.40625, -0.9375, 0.484375,
             1.018555, 0.3652344, 0.5419922, 0.02734375}},
    {.name = "rotary of a part",
     .batch = 1,
     .length = 2,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 32,
     .half = 8,
     .y = {0.03125,     -0.5,       0.96875,   0.4375,     -0.09375,   -0.625,     0.84375,    0.3125,    -0.21875,
           -0.75,       0.71875,    -0.8125,   0.65625,    0.125,      -0.40625,   -0.9375,    0.53125,   0,
           -0.53125,    0.9375,     0.40625,   -0.125,     0.07041641, 0.08583359, -0.4454164, 0.4766664, -0.05458359,
           -0.03916641, -0.5704164, 0.3516664, -0.1795836, -0.1641664, -0.6131238, 0.1443738,  0.3243762, -0.2068738,
           0.5506238,   0.01937379, 0.1993762, -0.3318738, 0.4256238,  -0.1056262, 0.07437623},
     .key = {-0.009765625, 0.8369141, 0.3085938, -0.5478516, 0.06054688, 0.1103516,  0.5,      -0.03125,
             -0.5625,      0.90625,   0.375,     0.4287109,  0.2753906,  -0.6904297, 0.171875, -0.6298828,
             -0.8125,      0.65625,   0.125,     -0.40625,   -0.9375,    0.53125}},
    {.name = "interleaved rotary",
     .batch = 1,
     .length = 1,
     .past = 2,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .attr = {"rotary_interleaved", 1},
     .y = {-0.09075293, 0.04506232, 0.4133148, -0.1179352, -0.2157529, -0.07993768, -0.4349934, -0.1131478, -0.1055684,
           -0.02874344, 0.2931022},
     .key = {0.375, -0.15625, -0.6875, 0.78125, 0.25, -0.28125, -0.8125, 0.65625, 0.125, -0.40625, -0.9375, 0.02539062,
             0.6572266, 0.1005859, -0.1757812, -0.3789062}},
    {.name = "lengths apart, rotary",
     .batch = 2,
     .length = 1,
     .past = 3,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .keys = {3, 4},
     .y = {0.04926679, 0.08639006, 0.2626405, -0.2686096, -0.07573322, -0.03860993, -0.3328289, -0.177365,
           -0.1524971, 0.07342113, 0.228885,  -0.1770656, -0.3241283,  0.3542553,   0.2291844,  -0.3020656,
           0.1547509,  0.11273,    -0.41852,  0.05624209, 0.02975095,  -0.01226997},
     .key = {0.375,    -0.15625, -0.6875,    0.78125,     0.25,      -0.28125,  -0.8125,    0.65625, 0.125,
             -0.40625, -0.9375,  -0.4775391, -0.06835938, 0.5908203, -0.421875, -0.1767578, 0,       0,
             0,        0,        0,          0,           0.1875,    -0.34375,  -0.875,     0.59375, 0.0625,
             -0.46875, -1,       0.46875,    -0.0625,     -0.59375,  0.875,     0.34375,    -0.1875, -0.71875,
             0.75,     0.21875,  -0.0546875, -0.2705078,  0.2519531, 1.114258,  -0.5195312}},
    {.name = "chunk, window, soft cap",
     .batch = 1,
     .length = 3,
     .past = 2,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .attr = {"local_window_size", 2},
     .more = {"softcap", 0.5},
     .y = {-0.0002351543, -0.5314851, 0.9372647, -0.8435792, 0.6251708, 0.09392084, 0.06852841, -0.4627216, -0.4342965,
           0.2759109, 0.5032035, -0.07341405, -0.6046641, 0.2265234, 0.2418254, -0.2894245}},
    {.name = "scale, smooth softmax",
     .batch = 1,
     .length = 3,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .attr = {"scale", 0.75},
     .more = {"smooth_softmax", 1},
     .y = {0.01960921, -0.3137474, 0.6078856, -0.218203, 0.1762409, 0.0335697, 0.1256961, -0.2302231, -0.4356667,
           0.375603, 0.297955, -0.2640794, -0.5728039, 0.4280587, 0.292185, -0.1722129}},
    {.name = "sink",
     .batch = 1,
     .length = 1,
     .past = 3,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .sink = true,
     .y = {-0.01936111, -0.1876896, 0.5418901, -0.1185478, -0.1584033, 0.154099}},
    {.name = "addend",
     .batch = 1,
     .length = 3,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .bias = true,
     .y = {0.03125, -0.5, 0.96875, -0.8125, 0.65625, 0.125, 0.2039435, -0.3273065, -0.2996894, 0.05156573, 0.6378106,
           -0.1006289, -0.3762876, 0.1014873, 0.4280175, -0.1032325}},
    {.name = "both directions",
     .batch = 1,
     .length = 3,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 8,
     .attr = {"causal", 0},
     .y = {-0.1119534, 0.030638, 0.3875981, -0.1692967, -0.2625981, 0.09436201, 0.3834161, -0.1478339, -0.2587215,
           0.2478879, 0.2818753, -0.2751566, -0.3891857, 0.2846138, 0.3064066, -0.2248434}},
    {.name = "positions of a prompt",
     .batch = 1,
     .length = 2,
     .past = 0,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .positions = {2, 7},
     .y = {0.03125,  -0.5,      0.96875,   0.4375,     -0.09375,   -0.625,    0.34375,    -0.1875,
           -0.71875, 0.75,      0.21875,   -0.5082284, -0.2565648, 0.4292715, -0.1019784, -0.6332284,
           0.209057, -0.322193, 0.4353289, 0.615307,   0.08405702, -0.447193},
     .key = {-0.6347656, 0.2119141, -0.5664062, -0.2666016, -0.6269531, -0.4833984, -0.0546875, -0.2705078, 0.2519531,
             1.114258, -0.5195312}},
    {.name = "positions of a decode",
     .batch = 1,
     .length = 1,
     .past = 2,
     .heads = 2,
     .shared = 1,
     .size = 16,
     .half = 8,
     .positions = {1},
     .y = {-0.02999554, 0.1132109, 0.2885884, -0.2426616, -0.1549955, -0.01178908, -0.206721, -0.2950217, -0.1867997,
           0.199529, 0.1112283},
     .key = {0.375, -0.15625, -0.6875, 0.78125, 0.25, -0.28125, -0.8125, 0.65625, 0.125, -0.40625, -0.9375, 0.08496094,
             -0.1308594, -0.3466797, 0.515625, 1.026367}},
};

static void set_attribute(ref_case *c, const char *name, double v)
{
    bool real = name && (!strcmp(name, "softcap") || !strcmp(name, "scale"));
    if (real)
        ref_float(c, name, v);
    else if (name)
        ref_int(c, name, (int64_t)v);
}

static void add_numbers(ref_case *c, const call *k)
{
    double all = (double)(k->past + k->length), keys[2] = {all - 1, all - 1};
    for (int b = 0; b < 2 && k->keys[0] > 0; b++)
        keys[b] = k->keys[b] - 1;
    ref_constant(c, I32, DIMS(k->batch), 2, keys);
    ref_constant(c, I32, DIMS(1), 1, &all);
}

static void add_varied(ref_case *c, bool there, int rank, const int64_t *dim)
{
    if (there)
        ref_varied(c, F32, rank, dim);
    else
        ref_absent(c);
}

static ref_case begin(const call *k)
{
    ref_case c = ref_begin("com.microsoft:GroupQueryAttention");
    int64_t parts = k->packed ? k->heads + 2 * k->shared : k->heads, b = k->batch, s = k->length;
    ref_varied(&c, F32, DIMS(b, s, parts * k->size));
    for (int i = 0; i < 2; i++)
        add_varied(&c, !k->packed, DIMS(b, s, k->shared * k->size));
    for (int i = 0; i < 2; i++)
        add_varied(&c, k->past || k->empty, DIMS(b, k->shared, k->past, k->size));
    add_numbers(&c, k);
    for (int i = 0; i < 2; i++)
        add_varied(&c, k->half, DIMS(8, k->half));
    if (k->positions[0] > 0)
        ref_input(&c, I64, DIMS(b, s), (int)s, k->positions);
    else
        ref_absent(&c);
    add_varied(&c, k->bias, DIMS(1, k->heads, s, k->past + s));
    add_varied(&c, k->sink, DIMS(k->heads));
    ref_int(&c, "num_heads", k->heads);
    ref_int(&c, "kv_num_heads", k->shared);
    ref_int(&c, "do_rotary", k->half > 0);
    set_attribute(&c, k->attr.name, k->attr.v);
    set_attribute(&c, k->more.name, k->more.v);
    return c;
}

static void expect_third(const call *k, const ref_case *c, int out, const double *want)
{
    for (int64_t i = 0; i < gopt_tensor_count(&c->out[out]); i += 3) {
        double got = ref_at(c, out, i);
        if (!(got - want[i / 3] < 1e-6 && want[i / 3] - got < 1e-6))
            fail_msg("%s: output %d, element %lld: %.9g, expected %.9g", k->name, out, (long long)i, got, want[i / 3]);
    }
}

static void calls_give_what_onnx_runtime_gives(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(calls); i++) {
        const call *k = &calls[i];
        ref_case c = begin(k);
        assert_ok(ref_run(&c, 3), &c.e);
        assert_int_equal(gopt_tensor_count(&c.out[0]), k->batch * k->length * k->heads * k->size);
        assert_int_equal(gopt_tensor_count(&c.out[1]), k->batch * (k->past + k->length) * k->shared * k->size);
        expect_third(k, &c, 0, k->y);
        if (k->half)
            expect_third(k, &c, 1, k->key);
        ref_end(&c);
    }
}

/* Two sequences, the first with fewer keys: sizes of 1. */
static ref_case ragged(void)
{
    ref_case c = ref_begin("com.microsoft:GroupQueryAttention");
    ref_input(&c, F32, DIMS(2, 1, 1), 0, NULL);
    ref_input(&c, F32, DIMS(2, 1, 1), VALUES(1, 2));
    ref_input(&c, F32, DIMS(2, 1, 1), VALUES(8, 9));
    ref_input(&c, F32, DIMS(2, 1, 2, 1), VALUES(3, 99, 4, 5));
    ref_input(&c, F32, DIMS(2, 1, 2, 1), VALUES(2, 99, 0, 3));
    ref_input(&c, I32, DIMS(2), VALUES(1, 2));
    ref_input(&c, I32, SCALAR, VALUES(3));
    ref_int(&c, "num_heads", 1);
    ref_int(&c, "kv_num_heads", 1);
    return c;
}

static void new_keys_follow_the_old_ones(void **state)
{
    (void)state;
    ref_case c = ragged();
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 1, 1), 1e-6, VALUES(5, 4));
    ref_expect(&c, 1, F32, DIMS(2, 1, 3, 1), 0, VALUES(3, 1, 0, 4, 5, 2));
    ref_expect(&c, 2, F32, DIMS(2, 1, 3, 1), 0, VALUES(2, 8, 0, 0, 3, 9));
    ref_end(&c);
}

static void expect_refusal(ref_case c, gopt_status want, const char *word)
{
    ref_expect_error(&c, want, word);
    ref_end(&c);
}

static ref_case lengths(double first, double second, double total)
{
    ref_case c = ragged();
    gopt_tensor_set(c.in[5], 0, first - 1);
    gopt_tensor_set(c.in[5], 1, second - 1);
    gopt_tensor_set(c.in[6], 0, total);
    return c;
}

static void lengths_that_cannot_be(void **state)
{
    (void)state;
    expect_refusal(lengths(2, 2, 2), GOPT_EUNSUP, "a buffer that past and present share");
    expect_refusal(lengths(2, 3, 4), GOPT_EINPUT, "total_sequence_length is 4");
    expect_refusal(lengths(2, 4, 3), GOPT_EINPUT, "4 keys of sequence 1");
    expect_refusal(lengths(0, 3, 3), GOPT_EINPUT, "0 keys of sequence 0");
    expect_refusal(lengths(1, 2, 3), GOPT_EINPUT, "no sequence has the 3 keys");
}

static ref_case without(int input)
{
    ref_case c = ragged();
    c.in[input] = NULL;
    return c;
}

static ref_case with(int input, int rank, const int64_t *dim)
{
    ref_case c = ragged();
    while (c.n_in < input)
        ref_absent(&c);
    ref_varied(&c, input == 9 ? I64 : F32, rank, dim);
    return c;
}

static ref_case with_int(const char *name, int64_t v)
{
    ref_case c = ragged();
    if (!strcmp(name, "num_heads"))
        c.n_attr = 0;
    ref_int(&c, name, v);
    return c;
}

static void inputs_that_do_not_fit(void **state)
{
    (void)state;
    expect_refusal(without(2), GOPT_EINPUT, "key and value go together");
    expect_refusal(without(4), GOPT_EINPUT, "past_key and past_value go together");
    expect_refusal(without(5), GOPT_EINPUT, "seqlens_k and total_sequence_length");
    expect_refusal(with(7, DIMS(4, 1)), GOPT_EINPUT, "cos_cache and sin_cache go together");
    expect_refusal(with_int("do_rotary", 1), GOPT_EINPUT, "needs cos_cache");
    expect_refusal(with_int("num_heads", 2), GOPT_EINPUT, "kv_num_heads");
    expect_refusal(with(10, DIMS(1, 1, 1, 2)), GOPT_EINPUT, "attention_bias");
    expect_refusal(with(11, DIMS(2)), GOPT_EINPUT, "head_sink");
    expect_refusal(with(9, DIMS(2, 2)), GOPT_EINPUT, "position_ids");
    ref_case heads = ragged(), past = ragged();
    heads.attr[0].i = 2;
    expect_refusal(heads, GOPT_EINPUT, "1 elements do not divide into 2 heads");
    past.in[4]->dim[2] = 1;
    expect_refusal(past, GOPT_EINPUT, "lengths of the past");
}

static ref_case rotated(int64_t rows, int64_t half)
{
    call k = {.batch = 1, .length = 2, .heads = 1, .shared = 1, .size = 2, .half = 1};
    ref_case c = begin(&k);
    for (int i = 7; i < 9; i++) {
        c.in[i]->dim[0] = rows;
        c.in[i]->dim[1] = half;
    }
    return c;
}

static void caches_that_do_not_fit(void **state)
{
    (void)state;
    ref_case sizes = rotated(4, 1);
    expect_refusal(rotated(1, 1), GOPT_EINPUT, "position 1 is outside the caches of 1 rows");
    expect_refusal(rotated(2, 2), GOPT_EINPUT, "turns 4 elements of a head of 2");
    sizes.in[8]->dim[0] = 2;
    expect_refusal(sizes, GOPT_EINPUT, "shapes of cos_cache and sin_cache");
}

static void what_is_not_supported(void **state)
{
    static const char *const inputs[] = {"k_scale", "v_scale", "q_norm_weight", "k_norm_weight"};
    static const char *const attributes[] = {"sliding_window_cache", "qk_output", "kv_cache_bit_width"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(inputs); i++)
        expect_refusal(with(12 + i, DIMS(1)), GOPT_EUNSUP, inputs[i]);
    for (int i = 0; i < GOPT_COUNT(attributes); i++)
        expect_refusal(with_int(attributes[i], 1), GOPT_EUNSUP, attributes[i]);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case c = ragged(), r = rotated(2, 1);
    ref_expect_oom_safe(&c, 3);
    ref_expect_oom_safe(&r, 3);
    ref_end(&c);
    ref_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_give_what_onnx_runtime_gives),
        cmocka_unit_test(new_keys_follow_the_old_ones),
        cmocka_unit_test(lengths_that_cannot_be),
        cmocka_unit_test(inputs_that_do_not_fit),
        cmocka_unit_test(caches_that_do_not_fit),
        cmocka_unit_test(what_is_not_supported),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
