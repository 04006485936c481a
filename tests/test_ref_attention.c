/* Attention in all its forms: hand-worked weights, masks, windows, caches, heads; rotary embedding; linear attention.
 */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I32 GOPT_DTYPE_I32
#define I64 GOPT_DTYPE_I64
#define BOOL GOPT_DTYPE_BOOL

/* One head, equal scores: the result is the mean of the values that a query may see. */
static ref_case even(int queries, int keys)
{
    ref_case c = ref_begin("Attention");
    ref_input(&c, F32, DIMS(1, 1, queries, 2), 0, NULL);
    ref_input(&c, F32, DIMS(1, 1, keys, 2), VALUES(1, 1));
    ref_input(&c, F32, DIMS(1, 1, keys, 1), VALUES(1, 2, 4, 8));
    return c;
}

static void scores_weigh_values(void **state)
{
    (void)state;
    ref_case c = ref_begin("Attention");
    ref_input(&c, F32, DIMS(1, 1, 1, 4), VALUES(1, 0, 0, 0));
    ref_input(&c, F32, DIMS(1, 1, 2, 4), VALUES(2, 9, 9, 9, 0, 9, 9, 9));
    ref_input(&c, F32, DIMS(1, 1, 2, 1), VALUES(10, 20));
    assert_ok(ref_run(&c, 1), &c.e);
    double w = exp(1) / (exp(1) + 1); /* 2 / sqrt(4) against 0 */
    ref_expect(&c, 0, F32, DIMS(1, 1, 1, 1), 1e-6, VALUES(10 * w + 20 * (1 - w)));
    ref_end(&c);
}

static void every_stage_can_be_seen(void **state)
{
    double capped = 2 * tanh(0.5), w = exp(capped + 1) / (exp(capped + 1) + 1);
    double want[][2] = {{1, 0}, {capped, 0}, {capped + 1, 0}, {w, 1 - w}};
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        ref_case c = ref_begin("Attention");
        ref_input(&c, F32, DIMS(1, 1, 1, 1), VALUES(1));
        ref_input(&c, F32, DIMS(1, 1, 2, 1), VALUES(1, 0));
        ref_input(&c, F32, DIMS(1, 1, 2, 1), VALUES(1, 0));
        ref_constant(&c, F32, DIMS(1, 2), VALUES(1, 0));
        ref_float(&c, "softcap", 2);
        ref_int(&c, "qk_matmul_output_mode", mode);
        ref_outputs(&c, 4);
        c.out_at[1] = c.out_at[2] = NULL;
        assert_ok(ref_run_wanted(&c), &c.e);
        ref_expect(&c, 3, F32, DIMS(1, 1, 1, 2), 1e-6, 2, want[mode]);
        ref_end(&c);
    }
}

static void causal_queries_see_the_past(void **state)
{
    (void)state;
    ref_case c = even(2, 2);
    ref_absent(&c);
    ref_input(&c, F32, DIMS(1, 1, 1, 2), VALUES(1));
    ref_input(&c, F32, DIMS(1, 1, 1, 1), VALUES(7));
    ref_int(&c, "is_causal", 1);
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2, 1), 1e-6, VALUES(4, 10.0 / 3));
    ref_expect(&c, 1, F32, DIMS(1, 1, 3, 2), 0, VALUES(1, 1, 1, 1, 1, 1));
    ref_expect(&c, 2, F32, DIMS(1, 1, 3, 1), 0, VALUES(7, 1, 2));
    ref_end(&c);
}

static void windows_bound_both_sides(void **state)
{
    (void)state;
    ref_case c = even(4, 4);
    ref_int(&c, "left_window_size", 1);
    ref_int(&c, "right_window_size", 0);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 4, 1), 1e-6, VALUES(1, 1.5, 3, 6));
    ref_end(&c);
}

static void masks_hide_and_short_masks_hide_the_rest(void **state)
{
    (void)state;
    ref_case c = even(2, 4);
    ref_constant(&c, BOOL, DIMS(2, 3), VALUES(1, 0, 1, 0, 0, 0)); /* the second query sees nothing */
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2, 1), 1e-6, VALUES(2.5, 0));
    ref_end(&c);
}

static void padding_moves_the_causal_frontier(void **state)
{
    (void)state;
    ref_case c = even(2, 4);
    for (int i = 0; i < 3; i++)
        ref_absent(&c);
    ref_constant(&c, I64, DIMS(1), VALUES(3));
    ref_int(&c, "is_causal", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2, 1), 1e-6, VALUES(1.5, 7.0 / 3));
    ref_end(&c);
}

static void heads_may_lie_in_the_last_axis_and_share_keys(void **state)
{
    (void)state;
    ref_case c = ref_begin("Attention");
    ref_input(&c, F32, DIMS(1, 2, 4), 0, NULL); /* 4 heads of one element */
    ref_input(&c, F32, DIMS(1, 1, 2), VALUES(1, 1));
    ref_input(&c, F32, DIMS(1, 1, 4), VALUES(1, 2, 3, 4)); /* 2 heads of two elements */
    ref_int(&c, "q_num_heads", 4);
    ref_int(&c, "kv_num_heads", 2);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 8), 1e-6, VALUES(1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4));
    ref_end(&c);
}

static void rotation_by_halves_or_neighbours(void **state)
{
    static const double want[][6] = {{-3, -4, 1, 2, 5, 6}, {-2, 1, -4, 3, 5, 6}};
    (void)state;
    for (int i = 0; i < 2; i++) { /* a quarter turn of the first four elements */
        ref_case c = ref_begin("RotaryEmbedding");
        ref_input(&c, F32, DIMS(1, 1, 1, 6), VALUES(1, 2, 3, 4, 5, 6));
        ref_constant(&c, F32, DIMS(2, 2), VALUES(1, 1, 0, 0));
        ref_constant(&c, F32, DIMS(2, 2), VALUES(0, 0, 1, 1));
        ref_constant(&c, I64, DIMS(1, 1), VALUES(1));
        ref_int(&c, "rotary_embedding_dim", 4);
        ref_int(&c, "interleaved", i);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 1, 1, 6), 0, 6, want[i]);
        gopt_tensor_set_int(c.in[3], 0, 2);
        ref_expect_error(&c, GOPT_EINPUT, "position 2");
        ref_end(&c);
    }
}

static void linear_attention_keeps_a_state(void **state)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    /* Keys 1 and 1, values 2 and 4, decay log(1/2), beta 1/2, queries 1. */
    static const double want[][2] = {{2, 6}, {2, 5}, {1, 2.5}, {1, 2.25}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(rules); i++) {
        ref_case c = ref_begin("LinearAttention");
        for (int k = 0; k < 2; k++)
            ref_input(&c, F32, DIMS(1, 2, 1), VALUES(1));
        ref_input(&c, F32, DIMS(1, 2, 1), VALUES(2, 4));
        ref_absent(&c);
        ref_input(&c, F32, DIMS(1, 2, 1), VALUES(-0.69314718056));
        ref_input(&c, F32, DIMS(1, 2, 1), VALUES(0.5));
        ref_string(&c, "update_rule", rules[i]);
        ref_int(&c, "q_num_heads", 1);
        ref_int(&c, "kv_num_heads", 1);
        assert_ok(ref_run(&c, 2), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 2, 1), 1e-6, 2, want[i]);
        ref_expect(&c, 1, F32, DIMS(1, 1, 1, 1), 1e-6, 1, &want[i][1]);
        ref_end(&c);
    }
}

static void causal_convolution_carries_its_state(void **state)
{
    (void)state;
    ref_case c = ref_begin("CausalConvWithState");
    ref_input(&c, F32, DIMS(1, 1, 2), VALUES(3, 4));
    ref_constant(&c, F32, DIMS(1, 1, 3), VALUES(1, 10, 100));
    ref_absent(&c);
    ref_input(&c, F32, DIMS(1, 1, 2), VALUES(1, 2));
    assert_ok(ref_run(&c, 2), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2), 0, VALUES(321, 432));
    ref_expect(&c, 1, F32, DIMS(1, 1, 2), 0, VALUES(3, 4));
    ref_end(&c);
}

/* ---- com.microsoft ---- */

/* Two tokens; queries are zero, keys do not matter, the value is the input. */
static ref_case projected(void)
{
    ref_case c = ref_begin("com.microsoft:Attention");
    ref_input(&c, F32, DIMS(1, 2, 1), VALUES(3, 5));
    ref_constant(&c, F32, DIMS(1, 3), VALUES(0, 1, 1));
    ref_constant(&c, F32, DIMS(3), VALUES(0, 0, 10));
    ref_int(&c, "num_heads", 1);
    return c;
}

static void fused_attention_projects_and_masks(void **state)
{
    (void)state;
    ref_case plain = projected(), causal = projected(), lengths = projected();
    assert_ok(ref_run(&plain, 1), &plain.e);
    ref_expect(&plain, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(14, 14));
    ref_int(&causal, "unidirectional", 1);
    assert_ok(ref_run(&causal, 1), &causal.e);
    ref_expect(&causal, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(13, 14));
    ref_constant(&lengths, I32, DIMS(1), VALUES(1));
    assert_ok(ref_run(&lengths, 1), &lengths.e);
    ref_expect(&lengths, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(13, 13));
    ref_end(&plain);
    ref_end(&causal);
    ref_end(&lengths);
}

static void fused_attention_has_one_cache(void **state)
{
    (void)state;
    ref_case c = projected();
    ref_constant(&c, I32, DIMS(1, 3), VALUES(1, 0, 1));
    ref_input(&c, F32, DIMS(2, 1, 1, 1, 1), VALUES(7, 20));
    assert_ok(ref_run(&c, 2), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(17.5, 17.5));
    ref_expect(&c, 1, F32, DIMS(2, 1, 1, 3, 1), 0, VALUES(7, 3, 5, 20, 13, 15));
    ref_end(&c);
}

static void multi_head_attention_unpacks(void **state)
{
    (void)state;
    ref_case apart = ref_begin("com.microsoft:MultiHeadAttention");
    ref_case packed = ref_begin("com.microsoft:MultiHeadAttention");
    ref_input(&apart, F32, DIMS(1, 1, 2), 0, NULL);
    ref_input(&apart, F32, DIMS(1, 2, 2), VALUES(1));
    ref_input(&apart, F32, DIMS(1, 2, 2), VALUES(1, 2, 3, 4));
    ref_constant(&apart, F32, DIMS(6), VALUES(0, 0, 0, 0, 10, 20));
    ref_int(&apart, "num_heads", 2);
    assert_ok(ref_run(&apart, 3), &apart.e);
    ref_expect(&apart, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(12, 23));
    ref_expect(&apart, 2, F32, DIMS(1, 2, 2, 1), 0, VALUES(11, 13, 22, 24));
    ref_input(&packed, F32, DIMS(1, 2, 1, 3, 1), VALUES(0, 1, 5, 0, 1, 7));
    ref_int(&packed, "num_heads", 1);
    assert_ok(ref_run(&packed, 1), &packed.e);
    ref_expect(&packed, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(6, 6));
    ref_end(&apart);
    ref_end(&packed);
}

/* Two beams of one head; queries are zero. The buffer has room for four, one is there. */
static ref_case decoder(double past, double beam)
{
    ref_case c = ref_begin("com.microsoft:DecoderMaskedMultiHeadAttention");
    ref_input(&c, F32, DIMS(2, 1, 1), 0, NULL);
    ref_input(&c, F32, DIMS(2, 1, 1), VALUES(1));
    ref_input(&c, F32, DIMS(2, 1, 1), VALUES(4, 8));
    ref_absent(&c);
    ref_absent(&c);
    ref_varied(&c, F32, DIMS(2, 1, 4, 1));
    ref_input(&c, F32, DIMS(2, 1, 4, 1), VALUES(10, 0, 0, 0, 20, 0, 0, 0));
    ref_constant(&c, I32, DIMS(1), VALUES(past));
    ref_constant(&c, I32, DIMS(1), VALUES(2));
    ref_input(&c, I32, DIMS(1, 2, 4), VALUES(beam));
    ref_input(&c, F32, DIMS(3), VALUES(0, 0, 2));
    ref_int(&c, "num_heads", 1);
    ref_int(&c, "past_present_share_buffer", 1);
    return c;
}

static void decoders_append_to_their_buffer(void **state)
{
    (void)state;
    ref_case c = decoder(1, 1), cross = ref_begin("com.microsoft:DecoderMaskedMultiHeadAttention");
    c.loose = true;
    assert_ok(ref_run(&c, 4), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 1, 1), 1e-6, VALUES(13, 15));
    ref_expect(&c, 2, F32, DIMS(2, 1, 4, 1), 0, VALUES(10, 6, 0, 0, 20, 10, 0, 0));
    ref_expect(&c, 3, F32, DIMS(2, 1, 1, 2), 0, VALUES(0, 0, 0, 0));
    ref_input(&cross, F32, DIMS(1, 1, 2), VALUES(1, 0));
    ref_input(&cross, F32, DIMS(1, 2, 2, 1), VALUES(3, 3));
    ref_input(&cross, F32, DIMS(1, 2, 2, 1), VALUES(1, 3, 5, 7));
    ref_int(&cross, "num_heads", 2);
    ref_outputs(&cross, 4);
    cross.out_at[1] = cross.out_at[2] = NULL;
    assert_ok(ref_run_wanted(&cross), &cross.e);
    ref_expect(&cross, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(2, 6));
    ref_expect(&cross, 3, F32, DIMS(1, 2, 1, 2), 1e-6, VALUES(3, 3, 0, 0));
    ref_end(&c);
    ref_end(&cross);
}

static void decoders_that_cannot_be(void **state)
{
    (void)state;
    ref_case full = decoder(4, 0), beam = decoder(1, 2), queries = decoder(1, 0), apart = decoder(1, 0);
    ref_case bare = ref_begin("com.microsoft:DecoderMaskedMultiHeadAttention");
    ref_expect_error(&full, GOPT_EINPUT, "no room");
    ref_expect_error(&beam, GOPT_EINPUT, "beam 2 of 2");
    queries.in[0]->dim[0] = 1;
    queries.in[0]->dim[1] = 2;
    ref_expect_error(&queries, GOPT_EINPUT, "queries");
    apart.n_attr--;
    ref_expect_error(&apart, GOPT_EUNSUP, "share");
    for (int k = 0; k < 3; k++)
        ref_varied(&bare, F32, DIMS(1, 1, 2));
    ref_expect_error(&bare, GOPT_EINPUT, "num_heads");
    ref_int(&bare, "num_heads", 2);
    ref_expect_error(&bare, GOPT_EUNSUP, "without a buffer");
    ref_end(&full);
    ref_end(&beam);
    ref_end(&queries);
    ref_end(&apart);
    ref_end(&bare);
}

static void narrow_weights_are_unpacked(void **state)
{
    (void)state;
    ref_case c = ref_begin("com.microsoft:MatMulNBits");
    ref_input(&c, F32, DIMS(1, 3), VALUES(1, 10, 100));
    ref_constant(&c, GOPT_DTYPE_U8, DIMS(2, 2, 1), VALUES(0x98, 0x0a, 0x21, 0x03)); /* low nibble first */
    ref_constant(&c, F32, DIMS(4), VALUES(1, 1, 2, 1));
    ref_constant(&c, GOPT_DTYPE_U8, DIMS(2), VALUES(0x88, 0x00));
    ref_int(&c, "N", 2);
    ref_int(&c, "K", 3);
    ref_int(&c, "block_size", 2);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2), 0, VALUES(210, 342));
    ref_end(&c);
}

/* ---- gopt ---- */

/* Two heads of size 1 out of one product: equal scores, one query, two keys. */
static ref_case strided(void)
{
    ref_case c = ref_begin("gopt:Attention");
    ref_input(&c, F32, DIMS(1, 1, 2), 0, NULL);
    ref_input(&c, F32, DIMS(1, 2, 2), VALUES(1));
    ref_input(&c, F32, DIMS(1, 2, 5), VALUES(99, 99, 99, 1, 10, 99, 99, 99, 3, 30));
    ref_int(&c, "q_num_heads", 2);
    ref_int(&c, "kv_num_heads", 2);
    ref_int(&c, "head_size", 1);
    ref_int(&c, "v_head_size", 1);
    ref_int(&c, "v_first", 3);
    return c;
}

static void heads_are_read_where_they_lie(void **state)
{
    (void)state;
    ref_case plain = strided(), filled = strided(), none = strided(), past = strided();
    assert_ok(ref_run(&plain, 3), &plain.e);
    ref_expect(&plain, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(2, 20));
    ref_expect(&plain, 2, F32, DIMS(1, 2, 2, 1), 0, VALUES(1, 3, 10, 30));
    for (int k = 0; k < 3; k++)
        ref_absent(&filled);
    ref_input(&filled, BOOL, DIMS(2, 1, 2), VALUES(1, 1, 1, 0));
    ref_float(&filled, "fill", -1000);
    assert_ok(ref_run(&filled, 1), &filled.e);
    ref_expect(&filled, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(2, 10));
    ref_input(&none, F32, DIMS(2), VALUES(-INFINITY));
    assert_ok(ref_run(&none, 1), &none.e);
    ref_expect(&none, 0, F32, DIMS(1, 1, 2), 0, VALUES(NAN, NAN));
    ref_int(&none, "zero_rows", 1);
    assert_ok(ref_run(&none, 1), &none.e);
    ref_expect(&none, 0, F32, DIMS(1, 1, 2), 0, VALUES(0, 0));
    ref_absent(&past);
    ref_input(&past, F32, DIMS(1, 2, 1, 1), VALUES(1));
    ref_input(&past, F32, DIMS(1, 2, 1, 1), VALUES(5, 50));
    ref_int(&past, "is_causal", 1);
    assert_ok(ref_run(&past, 1), &past.e);
    ref_expect(&past, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(3, 30));
    ref_int(&past, "left_window_size", 0);
    assert_ok(ref_run(&past, 1), &past.e);
    ref_expect(&past, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(1, 10));
    ref_case cache = strided();
    ref_absent(&cache);
    for (int k = 0; k < 2; k++)
        ref_input(&cache, F32, DIMS(2, 1, 2, 1, 1), VALUES(1, 1, 5, 50));
    ref_int(&cache, "is_causal", 1);
    assert_ok(ref_run(&cache, 1), &cache.e);
    ref_expect(&cache, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(3, 30));
    ref_end(&cache);
    ref_end(&plain);
    ref_end(&filled);
    ref_end(&none);
    ref_end(&past);
}

static void heads_that_are_not_there(void **state)
{
    (void)state;
    ref_case room = strided(), heads = ref_begin("gopt:Attention"), mask = strided(), past = strided();
    ref_int(&room, "k_first", 1);
    ref_expect_error(&room, GOPT_EINPUT, "no room");
    for (int k = 0; k < 3; k++)
        ref_varied(&heads, F32, DIMS(1, 2, 6));
    ref_expect_error(&heads, GOPT_EINPUT, "q_num_heads");
    ref_int(&heads, "q_num_heads", 3);
    ref_int(&heads, "kv_num_heads", 2);
    ref_int(&heads, "head_size", 2);
    ref_int(&heads, "v_head_size", 3);
    ref_expect_error(&heads, GOPT_EINPUT, "evenly");
    ref_varied(&mask, F32, DIMS(1, 3));
    ref_expect_error(&mask, GOPT_EINPUT, "mask");
    ref_absent(&past);
    ref_varied(&past, F32, DIMS(1, 2, 1, 1));
    ref_expect_error(&past, GOPT_EINPUT, "go together");
    ref_end(&room);
    ref_end(&heads);
    ref_end(&mask);
    ref_end(&past);
}

/* ---- refusals ---- */

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    ref_case heads = ref_begin("Attention"), past = even(1, 1), mask = even(1, 2), fused = projected();
    ref_varied(&heads, F32, DIMS(1, 3, 2, 2));
    ref_varied(&heads, F32, DIMS(1, 2, 2, 2));
    ref_varied(&heads, F32, DIMS(1, 2, 2, 2));
    ref_expect_error(&heads, GOPT_EINPUT, "evenly");
    ref_absent(&past);
    ref_varied(&past, F32, DIMS(1, 1, 1, 2));
    ref_expect_error(&past, GOPT_EINPUT, "go together");
    ref_varied(&mask, F32, DIMS(1, 3));
    ref_expect_error(&mask, GOPT_EINPUT, "attn_mask");
    ref_varied(&fused, I32, DIMS(1, 3));
    ref_expect_error(&fused, GOPT_EINPUT, "mask");
    ref_end(&heads);
    ref_end(&past);
    ref_end(&mask);
    ref_end(&fused);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case c = even(2, 2), m = projected(), o = strided(), d = decoder(1, 1);
    ref_expect_oom_safe(&d, 4);
    ref_end(&d);
    ref_expect_oom_safe(&c, 4);
    ref_expect_oom_safe(&m, 2);
    ref_expect_oom_safe(&o, 3);
    ref_end(&o);
    ref_end(&c);
    ref_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_weigh_values),
        cmocka_unit_test(heads_are_read_where_they_lie),
        cmocka_unit_test(heads_that_are_not_there),
        cmocka_unit_test(every_stage_can_be_seen),
        cmocka_unit_test(causal_queries_see_the_past),
        cmocka_unit_test(windows_bound_both_sides),
        cmocka_unit_test(masks_hide_and_short_masks_hide_the_rest),
        cmocka_unit_test(padding_moves_the_causal_frontier),
        cmocka_unit_test(heads_may_lie_in_the_last_axis_and_share_keys),
        cmocka_unit_test(rotation_by_halves_or_neighbours),
        cmocka_unit_test(linear_attention_keeps_a_state),
        cmocka_unit_test(causal_convolution_carries_its_state),
        cmocka_unit_test(fused_attention_projects_and_masks),
        cmocka_unit_test(fused_attention_has_one_cache),
        cmocka_unit_test(multi_head_attention_unpacks),
        cmocka_unit_test(decoders_append_to_their_buffer),
        cmocka_unit_test(decoders_that_cannot_be),
        cmocka_unit_test(narrow_weights_are_unpacked),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
