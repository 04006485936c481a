/* onnx: where the data of tensors come from. */
#include "support/onnx.h"

#include <unistd.h>

#include "base/file.h"

/* An aligned tensor stays in the mapped file; the same one elsewhere is copied. */
static void data_are_borrowed_where_they_are_aligned(void **state)
{
    enum { ELEMENTS = 1 << 18 };
    test_onnx *m = *state;
    int borrowed = 0;
    for (int shift = 0; shift < 4; shift++) {
        test_onnx_begin(m, 17);
        test_onnx_output(m, m->graph, "w");
        m->model.producer_name = gopt_arena_strn(&m->arena, "abc", (size_t)shift);
        Onnx__TensorProto *t = test_onnx_initializer(m, m->graph, "float32 w[0] =");
        int64_t n = ELEMENTS;
        t->dims = &n;
        t->raw_data.len = ELEMENTS * sizeof(float);
        t->raw_data.data = gopt_arena_take(&m->arena, ELEMENTS, sizeof(float));
        ((float *)(void *)t->raw_data.data)[ELEMENTS - 1] = 3;
        gopt_graph *g = test_onnx_load(m);
        const gopt_tensor *w = g->outputs[0]->fact.constant;
        assert_true(gopt_tensor_get(w, ELEMENTS - 1) == 3);
        assert_int_equal((uintptr_t)w->data % sizeof(float), 0);
        borrowed += gopt_arena_bytes(&g->family->arena) < t->raw_data.len;
        gopt_graph_free(g);
    }
    assert_int_equal(borrowed, 1);
}

/* ---- typed fields ---- */

static gopt_graph *one_constant(test_onnx *m, Onnx__TensorProto *t, gopt_dtype d, int64_t n)
{
    t->has_raw_data = false;
    t->data_type = (int32_t)d;
    t->dims[0] = n;
    m->graph->n_initializer = 1;
    return test_onnx_load(m);
}

static void small_types_lie_in_int32_data(void **state)
{
    static const struct {
        gopt_dtype dtype;
        int32_t entry[2];
        double value[2];
    } rows[] = {{GOPT_DTYPE_I32, {-5, 7}, {-5, 7}},           {GOPT_DTYPE_I16, {-5, 7}, {-5, 7}},
                {GOPT_DTYPE_U16, {65535, 7}, {65535, 7}},     {GOPT_DTYPE_I8, {-5, 7}, {-5, 7}},
                {GOPT_DTYPE_U8, {255, 7}, {255, 7}},          {GOPT_DTYPE_BOOL, {2, 0}, {1, 0}},
                {GOPT_DTYPE_F16, {0x3c00, 0xc000}, {1, -2}},  {GOPT_DTYPE_BF16, {0x3f80, 0xc000}, {1, -2}},
                {GOPT_DTYPE_F8E4M3FN, {0x38, 0xc0}, {1, -2}}, {GOPT_DTYPE_U4, {0x2f, 0}, {15, 2}},
                {GOPT_DTYPE_I4, {0x2f, 0}, {-1, 2}},          {GOPT_DTYPE_U2, {0x0b, 0}, {3, 2}}};
    test_onnx *m = *state;
    test_onnx_begin(m, 25);
    test_onnx_output(m, m->graph, "w");
    Onnx__TensorProto *t = test_onnx_initializer(m, m->graph, "int32 w[1] = 0");
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        int32_t entry[2] = {rows[i].entry[0], rows[i].entry[1]};
        t->int32_data = entry;
        t->n_int32_data = gopt_dtype_bits(rows[i].dtype) < 8 ? 1 : 2;
        gopt_graph *g = one_constant(m, t, rows[i].dtype, 2);
        for (int k = 0; k < 2; k++)
            if (gopt_tensor_get(g->outputs[0]->fact.constant, k) != rows[i].value[k])
                fail_msg("%s: %g", gopt_dtype_name(rows[i].dtype), gopt_tensor_get(g->outputs[0]->fact.constant, k));
        gopt_graph_free(g);
    }
}

static void large_types_have_fields_of_their_own(void **state)
{
    test_onnx *m = *state;
    float f[] = {1.5F, -2};
    double d[] = {1.5, -2};
    int64_t i[] = {INT64_MIN, 3};
    uint64_t u[] = {4294967295u, 3};
    test_onnx_begin(m, 17);
    test_onnx_output(m, m->graph, "w");
    Onnx__TensorProto *t = test_onnx_initializer(m, m->graph, "float32 w[1] = 0");
    t->float_data = f;
    t->n_float_data = 2;
    gopt_graph *g = one_constant(m, t, GOPT_DTYPE_F32, 2);
    assert_true(gopt_tensor_get(g->outputs[0]->fact.constant, 0) == 1.5);
    gopt_graph_free(g);
    g = one_constant(m, t, GOPT_DTYPE_C64, 1);
    assert_memory_equal(g->outputs[0]->fact.constant->data, f, sizeof f);
    gopt_graph_free(g);
    t->n_float_data = 0;
    t->double_data = d;
    t->n_double_data = 2;
    g = one_constant(m, t, GOPT_DTYPE_F64, 2);
    assert_memory_equal(g->outputs[0]->fact.constant->data, d, sizeof d);
    gopt_graph_free(g);
    t->n_double_data = 0;
    t->int64_data = i;
    t->n_int64_data = 2;
    g = one_constant(m, t, GOPT_DTYPE_I64, 2);
    assert_memory_equal(g->outputs[0]->fact.constant->data, i, sizeof i);
    gopt_graph_free(g);
    t->n_int64_data = 0;
    t->uint64_data = u;
    t->n_uint64_data = 2;
    g = one_constant(m, t, GOPT_DTYPE_U32, 2);
    assert_int_equal(gopt_tensor_get_int(g->outputs[0]->fact.constant, 0), 4294967295);
    gopt_graph_free(g);
}

/* ---- external data ---- */

static void external(test_onnx *m, Onnx__TensorProto *t, const char *location, const char *offset)
{
    Onnx__StringStringEntryProto *entries = GOPT_NEW(&m->arena, Onnx__StringStringEntryProto, 2);
    Onnx__StringStringEntryProto **at = GOPT_NEW(&m->arena, Onnx__StringStringEntryProto *, 2);
    const char *pairs[2][2] = {{"location", location}, {"offset", offset}};
    for (int i = 0; i < 2; i++) {
        onnx__string_string_entry_proto__init(&entries[i]);
        entries[i].key = gopt_arena_str(&m->arena, pairs[i][0]);
        entries[i].value = gopt_arena_str(&m->arena, pairs[i][1]);
        at[i] = &entries[i];
    }
    t->has_raw_data = false;
    t->external_data = at;
    t->n_external_data = 2;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static void data_lie_beside_the_model(void **state)
{
    test_onnx *m = *state;
    char path[4096];
    float data[] = {1, 2, 3, 4};
    gopt_err e = {0};
    gopt_piece piece = {data, sizeof data};
    assert_ok(gopt_dir_make(test_path(path, m->dir, "sub"), &e), &e);
    assert_ok(gopt_file_write(test_path(path, m->dir, "sub/weights"), &piece, 1, &e), &e);
    test_onnx_begin(m, 17);
    test_onnx_output(m, m->graph, "v");
    test_onnx_output(m, m->graph, "w");
    external(m, test_onnx_initializer(m, m->graph, "float32 v[2] = 0 0"), "sub/weights", "8");
    external(m, test_onnx_initializer(m, m->graph, "float32 w[2] = 0 0"), "./sub//weights", "4");
    test_onnx_becomes(m, "const v float32[2] {3,4}\nconst w float32[2] {2,3}\noutput v\noutput w\n");
}

static void files_may_be_larger_than_4_gib(void **state)
{
    test_onnx *m = *state;
    char path[4096];
    FILE *f = fopen(test_path(path, m->dir, "weights"), "wb");
    float v = 7;
    assert_int_equal(fseeko(f, 5000000000, SEEK_SET), 0); /* the file has a hole */
    assert_int_equal(fwrite(&v, sizeof v, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    test_onnx_begin(m, 17);
    test_onnx_output(m, m->graph, "w");
    external(m, test_onnx_initializer(m, m->graph, "float32 w[1] = 0"), "weights", "5000000000");
    test_onnx_becomes(m, "const w float32[1] {7}\noutput w\n");
}

static void links_are_not_followed(void **state)
{
    test_onnx *m = *state;
    char path[4096], link_path[4096];
    gopt_err e = {0};
    gopt_piece piece = {"0123", 4};
    assert_ok(gopt_dir_make(test_path(path, m->dir, "sub"), &e), &e);
    assert_int_equal(symlink("sub", test_path(link_path, m->dir, "folder")), 0);
    assert_ok(gopt_file_write(test_path(path, m->dir, "sub/real"), &piece, 1, &e), &e);
    assert_int_equal(symlink("sub/real", test_path(link_path, m->dir, "link")), 0);
    static const char *const rows[][2] = {{"sub/real", NULL},
                                          {"link", "\"link\": links are not followed"},
                                          {"folder/real", "\"folder/real\": "},
                                          {"sub/real/x", "Not a directory"},
                                          {"sub", "not a regular file"},
                                          {"sub/../sub/real", "it leads out of the model's folder"},
                                          {"/dev/zero", "an absolute path"},
                                          {"", "no location"}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        test_onnx_begin(m, 17);
        test_onnx_output(m, m->graph, "w");
        external(m, test_onnx_initializer(m, m->graph, "float32 w[1] = 0"), rows[i][0], "0");
        if (rows[i][1])
            test_onnx_refused(m, GOPT_EINPUT, rows[i][1]);
        else
            gopt_graph_free(test_onnx_load(m));
    }
    assert_int_equal(link(path, test_path(link_path, m->dir, "second")), 0);
    external(m, m->graph->initializer[0], "sub/real", "0");
    test_onnx_refused(m, GOPT_EINPUT, "hard links");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(data_are_borrowed_where_they_are_aligned, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(small_types_lie_in_int32_data, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(large_types_have_fields_of_their_own, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(data_lie_beside_the_model, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(files_may_be_larger_than_4_gib, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(links_are_not_followed, test_onnx_setup, test_onnx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
