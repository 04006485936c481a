/* onnx: tensors and models written to files and read again. */
#include "support/test.h"

#include <math.h>

#include "base/file.h"
#include "import.h"

/* A tensor whose bytes are all different kinds of values. */
static gopt_tensor *filled(gopt_arena *a, gopt_dtype d, int rank, const int64_t *dim)
{
    gopt_tensor *t = gopt_tensor_new(a, d, rank, dim);
    assert_non_null(t);
    for (size_t i = 0; i < gopt_tensor_bytes(t); i++)
        ((unsigned char *)t->data)[i] = d == GOPT_DTYPE_BOOL ? i % 2 : (unsigned char)(i * 37 + 1);
    return t;
}

static void round_trip(const char *dir, const char *file, gopt_dtype d)
{
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor back;
    const char *name = NULL;
    static const int64_t dim[] = {2, 3, 2};
    for (int rank = 0; rank <= 3; rank++) {
        gopt_tensor *t = filled(&a, d, rank, dim);
        assert_ok(gopt_tensor_write(t, "some name", test_path(path, dir, file), &e), &e);
        assert_ok(gopt_tensor_read(&back, path, &name, &a, &e), &e);
        assert_int_equal(back.dtype, d);
        assert_true(gopt_dims_equal(&back, t));
        assert_memory_equal(back.data, t->data, gopt_tensor_bytes(t));
        assert_string_equal(name, strstr(file, ".pb") ? "some name" : "");
    }
    gopt_arena_fini(&a);
}

static void every_type_comes_back(void **state)
{
    for (int d = GOPT_DTYPE_NONE + 1; d < GOPT_DTYPE_COUNT; d++)
        if (gopt_dtype_bits((gopt_dtype)d) > 0)
            round_trip(*state, "t.pb", (gopt_dtype)d);
    static const gopt_dtype numpy[] = {GOPT_DTYPE_F32, GOPT_DTYPE_F64,  GOPT_DTYPE_F16, GOPT_DTYPE_I8,  GOPT_DTYPE_I16,
                                       GOPT_DTYPE_I32, GOPT_DTYPE_I64,  GOPT_DTYPE_U8,  GOPT_DTYPE_U16, GOPT_DTYPE_U32,
                                       GOPT_DTYPE_U64, GOPT_DTYPE_BOOL, GOPT_DTYPE_C64, GOPT_DTYPE_C128};
    for (int i = 0; i < GOPT_COUNT(numpy); i++)
        round_trip(*state, "t.npy", numpy[i]);
}

static void empty_tensors_come_back(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor back, *t = gopt_tensor_new(&a, GOPT_DTYPE_F32, 2, (int64_t[]){0, 3});
    static const char *const files[] = {"t.pb", "t.npy"};
    for (int i = 0; i < 2; i++) {
        assert_ok(gopt_tensor_write(t, NULL, test_path(path, *state, files[i]), &e), &e);
        assert_ok(gopt_tensor_read(&back, path, NULL, &a, &e), &e);
        assert_int_equal(back.rank, 2);
        assert_int_equal(back.dim[0], 0);
        assert_int_equal(back.dim[1], 3);
    }
    gopt_arena_fini(&a);
}

static void write_npy(const char *path, int version, const char *header, const void *data, size_t bytes)
{
    gopt_err e = {0};
    char head[16] = "\x93NUMPY";
    size_t n = strlen(header), field = version == 1 ? 2 : 4;
    head[6] = (char)version;
    for (size_t i = 0; i < field; i++)
        head[8 + i] = (char)(n >> (8 * i) & 0xff);
    gopt_piece pieces[] = {{head, 8 + field}, {header, n}, {data, bytes}};
    assert_ok(gopt_file_write(path, pieces, 3, &e), &e);
}

static void numpy_writes_several_forms(void **state)
{
    static const struct {
        int version;
        const char *header;
    } rows[] = {
        {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }      \n"},
        {2, "{\"shape\": (2,3), \"fortran_order\": False, \"descr\": \"<i2\"}\n"},
        {3, "{'fortran_order':False,'shape':( 2 , 3 ),'descr':'=i2'}"},
        {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 3L)}\n"},
    };
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor t;
    const int16_t data[] = {1, 2, 3, 4, 5, 6};
    test_path(path, *state, "t.npy");
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        write_npy(path, rows[i].version, rows[i].header, data, sizeof data);
        assert_ok(gopt_tensor_read(&t, path, NULL, &a, &e), &e);
        assert_int_equal(t.dtype, GOPT_DTYPE_I16);
        assert_true(t.rank == 2 && t.dim[0] == 2 && t.dim[1] == 3);
        assert_memory_equal(t.data, data, sizeof data);
    }
    write_npy(path, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", data, sizeof data);
    assert_ok(gopt_tensor_read(&t, path, NULL, &a, &e), &e);
    static const int16_t rows_first[] = {1, 3, 5, 2, 4, 6};
    assert_memory_equal(t.data, rows_first, sizeof rows_first);
    gopt_arena_fini(&a);
}

static void refused(const char *path, gopt_status want, const char *message)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor t;
    gopt_status s = gopt_tensor_read(&t, path, NULL, &a, &e);
    if (!strstr(e.msg, message) || strncmp(e.msg, path, strlen(path)) != 0)
        fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
    assert_int_equal(s, want);
    gopt_arena_fini(&a);
}

static void broken_arrays_are_refused(void **state)
{
    static const struct {
        const char *header, *message;
        gopt_status status;
    } rows[] = {
        {"{'descr': '>i2', 'fortran_order': False, 'shape': (1,)}", "arrays of type >i2", GOPT_EUNSUP},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "arrays of type |O", GOPT_EUNSUP},
        {"{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}", "arrays of records", GOPT_EUNSUP},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", "2 bytes of data, 4 expected", GOPT_EINPUT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (-1,)}", "not a list of numbers", GOPT_EINPUT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (1", "not a list of numbers", GOPT_EINPUT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (9223372036854775807,9)}", "overflow", GOPT_EINPUT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1)}", "more than 12", GOPT_EUNSUP},
        {"{'descr': '<i2', 'shape': (1,)}", "no fortran_order", GOPT_EINPUT},
        {"{'descr': '<i2'}", "no shape", GOPT_EINPUT},
        {"{}", "no descr", GOPT_EINPUT},
    };
    char path[4096];
    gopt_err e = {0};
    test_path(path, *state, "t.npy");
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        write_npy(path, 1, rows[i].header, "\1\0", 2);
        refused(path, rows[i].status, rows[i].message);
    }
    write_npy(path, 4, "{}", "", 0);
    refused(path, GOPT_EINPUT, "unknown version");
    assert_ok(gopt_file_write_text(path, "\x93NUM", &e), &e);
    refused(path, GOPT_EINPUT, "it does not begin like one");
    assert_ok(gopt_file_write_text(path, "\x93NUMPY\x01\x01\xff\xff{}", &e), &e);
    refused(path, GOPT_EINPUT, "the header does not end");
    refused(test_path(path, *state, "absent.pb"), GOPT_EIO, "No such file");
}

static void broken_messages_are_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor *t = gopt_tensor_new(&a, GOPT_DTYPE_F32, 1, (int64_t[]){2});
    assert_ok(gopt_tensor_write(t, "w", test_path(path, *state, "t.pb"), &e), &e);
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    char *copy = malloc(m.bytes);
    memcpy(copy, m.data, m.bytes);
    size_t bytes = m.bytes;
    gopt_file_unmap(&m);
    for (size_t n = 0; n < bytes; n++) {
        gopt_tensor back;
        FILE *f = fopen(path, "wb");
        fwrite(copy, 1, n, f);
        fclose(f);
        assert_int_equal(gopt_tensor_read(&back, path, NULL, &a, &e), GOPT_EINPUT);
    }
    free(copy);
    /* dims 1, float32, data_location external, location "x" */
    static const char external[] = "\x08\x01\x10\x01\x6a\x0d\x0a\x08location\x12\x01x\x70\x01";
    assert_ok(gopt_file_write(path, &(gopt_piece){external, sizeof external - 1}, 1, &e), &e);
    refused(path, GOPT_EUNSUP, "external data outside a model");
    gopt_tensor bf16 = {.dtype = GOPT_DTYPE_BF16};
    assert_int_equal(gopt_tensor_write(&bf16, "", test_path(path, *state, "t.npy"), &e), GOPT_EUNSUP);
    gopt_arena_fini(&a);
}

/* ---- models ---- */

static void the_sample_comes_back(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g, *back;
    gopt_arena a = {0};
    gopt_tensor got, want;
    assert_ok(gopt_model_sample(&g, &e), &e);
    assert_ok(gopt_graph_check(g, &e), &e);
    assert_ok(gopt_model_export(g, test_path(path, *state, "sample.onnx"), &e), &e);
    assert_ok(gopt_model_import(&back, path, NULL, &e), &e);
    assert_ok(gopt_graph_check(back, &e), &e);
    assert_int_equal(gopt_graph_count(back), gopt_graph_count(g));
    assert_string_equal(back->outputs[0]->name, "y");
    gopt_tensor *x = gopt_tensor_new(&a, GOPT_DTYPE_F32, 3, (int64_t[]){1, 64, 128});
    for (int64_t i = 0; i < gopt_tensor_count(x); i++)
        gopt_tensor_set(x, i, sin((double)i));
    const gopt_tensor *in[] = {x};
    assert_ok(gopt_graph_eval(g, in, &want, &a, 0, &e), &e);
    assert_ok(gopt_graph_eval(back, in, &got, &a, 0, &e), &e);
    assert_memory_equal(got.data, want.data, gopt_tensor_bytes(&want));
    gopt_graph_free(g);
    gopt_graph_free(back);
    gopt_arena_fini(&a);
}

/* A graph y = op(x, axes), x being float32[batch+1,4]. */
static gopt_graph *reduction(const char *op, bool constant_axes)
{
    gopt_err e = {0};
    gopt_graph *g;
    assert_ok(gopt_graph_new(&g, &e), &e);
    gopt_fact f = {.dtype = GOPT_DTYPE_F32, .rank = 2}, list = {.dtype = GOPT_DTYPE_I64, .rank = 1};
    f.dim[0] = gopt_dim_add(g->family->dims, gopt_dim_symbol(g->family->dims, "batch"), gopt_dim_of(1));
    f.dim[1] = gopt_dim_of(4);
    list.dim[0] = gopt_dim_of(1);
    gopt_tensor *axes = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_I64, 1, (int64_t[]){1});
    gopt_tensor_set_int(axes, 0, 1);
    gopt_value *in[] = {gopt_graph_input(g, "x", &f), NULL};
    in[1] = constant_axes ? gopt_graph_constant(g, "axes", axes) : gopt_graph_input(g, "axes", &list);
    gopt_node *n = gopt_graph_node(g, "n", gopt_op_find("", op), (gopt_attrs){0}, in, 2, 1, NULL, NULL, 0);
    n->out[0]->name = "y";
    gopt_graph_output(g, n->out[0]);
    assert_ok(gopt_graph_infer(g, &e), &e);
    return g;
}

static void newer_forms_are_written_as_older_ones(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g = reduction("ReduceMean", true), *back;
    gopt_text t = {0};
    assert_ok(gopt_model_export(g, test_path(path, *state, "m.onnx"), &e), &e);
    gopt_graph_free(g);
    assert_ok(gopt_model_import(&back, path, NULL, &e), &e);
    gopt_graph_print(back, &t);
    assert_string_equal(gopt_text_str(&t), "input x float32[\"batch + 1\",4]\n"
                                           "const n/axes int64[1] {1}\n"
                                           "n: y float32[\"batch + 1\",1] = ReduceMean(x, n/axes)\n"
                                           "output y\n");
    gopt_text_fini(&t);
    gopt_graph_free(back);
    g = reduction("ReduceMean", false);
    assert_int_equal(gopt_model_export(g, path, &e), GOPT_EUNSUP);
    assert_non_null(strstr(e.msg, "node n (ReduceMean): axes that are computed need a newer opset than 17"));
    gopt_graph_free(g);
}

static gopt_status sample_once(void *path, gopt_err *e)
{
    gopt_graph *g;
    gopt_status s = gopt_model_sample(&g, e);
    if (!s)
        s = gopt_model_export(g, path, e);
    gopt_graph_free(g);
    return s;
}

static gopt_status read_once(void *path, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_tensor t;
    const char *name;
    gopt_status s = gopt_tensor_read(&t, path, &name, &a, e);
    if (!s)
        s = gopt_tensor_write(&t, name, path, e);
    gopt_arena_fini(&a);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    char path[4096];
    gopt_err e = {0};
    float v = 1;
    gopt_tensor t = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {1}, .data = &v};
    test_every_oom(sample_once, test_path(path, *state, "m.onnx"));
    assert_ok(gopt_tensor_write(&t, "t", test_path(path, *state, "t.pb"), &e), &e);
    test_every_oom(read_once, path);
    assert_ok(gopt_tensor_write(&t, "t", test_path(path, *state, "t.npy"), &e), &e);
    test_every_oom(read_once, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_comes_back, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(empty_tensors_come_back, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(numpy_writes_several_forms, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(broken_arrays_are_refused, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(broken_messages_are_refused, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(the_sample_comes_back, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(newer_forms_are_written_as_older_ones, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_survived, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
