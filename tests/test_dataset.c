/* test_dataset.c: data sets beside a model: which file is which input or output; shapes from tensors and from the
 * command line.
 */
#include "dataset.h"

#include "base/file.h"
#include "import.h"
#include "shape.h"
#include "support/graphs.h"
#include "support/test.h"

static const char text[] = "input x float32[n,2]\n"
                           "input y float32[n]\n"
                           "n1: a float32[n,2] = Neg(x)\n"
                           "n2: b float32[n] = Abs(y)\n"
                           "output a\n"
                           "output b\n";

/* A file with a tensor of this shape whose first element is `mark`. */
static void put(const char *dir, const char *file, const char *name, gopt_dtype d, int rank, const int64_t *dim,
                double mark)
{
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor *t = gopt_tensor_new(&a, d, rank, dim);
    assert_non_null(t);
    gopt_tensor_set(t, 0, mark);
    assert_ok(gopt_tensor_write(t, name, test_path(path, dir, file), &e), &e);
    gopt_arena_fini(&a);
}

static const int64_t of_x[] = {3, 2}, of_y[] = {3};

static void files_are_matched_by_name_where_they_have_one(void **state)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_dataset d;
    gopt_graph *g = test_graph(text);
    put(*state, "input_0.pb", "y", GOPT_DTYPE_F32, 1, of_y, 1);
    put(*state, "input_1.pb", "x", GOPT_DTYPE_F32, 2, of_x, 2);
    put(*state, "output_0.pb", "b", GOPT_DTYPE_F32, 1, of_y, 3);
    put(*state, "input_7.pb", "some_weight", GOPT_DTYPE_F32, 1, of_y, 4); /* an initializer, perhaps */
    put(*state, "input_.pb", "x", GOPT_DTYPE_F32, 1, of_y, 5);
    assert_ok(gopt_dataset_read(&d, *state, g, &a, &e), &e);
    assert_true(gopt_tensor_get(d.in[0], 0) == 2 && gopt_tensor_get(d.in[1], 0) == 1);
    assert_int_equal(d.n_expected, 1);
    assert_int_equal(d.output[0], 1);
    assert_true(gopt_tensor_get(&d.expected[0], 0) == 3);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static void files_without_names_are_matched_by_position(void **state)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_dataset d;
    gopt_graph *g = test_graph(text);
    put(*state, "input_1.pb", "", GOPT_DTYPE_F32, 1, of_y, 1);
    put(*state, "input_0.pb", "", GOPT_DTYPE_F32, 2, of_x, 2);
    put(*state, "output_1.pb", "", GOPT_DTYPE_F32, 1, of_y, 3);
    put(*state, "output_0.pb", "", GOPT_DTYPE_F32, 2, of_x, 4);
    assert_ok(gopt_dataset_read(&d, *state, g, &a, &e), &e);
    assert_true(gopt_tensor_get(d.in[0], 0) == 2 && gopt_tensor_get(d.in[1], 0) == 1);
    assert_int_equal(d.n_expected, 2);
    assert_true(d.output[0] == 0 && d.output[1] == 1);
    assert_true(gopt_tensor_get(&d.expected[1], 0) == 3);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static void what_does_not_fit_is_said(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_dataset d;
    gopt_graph *g = test_graph(text);
    assert_int_equal(gopt_dataset_read(&d, *state, g, &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "input \"x\": no input_K.pb"));
    put(*state, "input_0.pb", "x", GOPT_DTYPE_F32, 2, of_x, 1);
    put(*state, "input_1.pb", "y", GOPT_DTYPE_I64, 1, of_y, 1);
    assert_int_equal(gopt_dataset_read(&d, *state, g, &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "input \"y\": int64 given, float32 expected"));
    put(*state, "input_1.pb", "y", GOPT_DTYPE_F32, 1, of_y, 1);
    assert_int_equal(gopt_dataset_read(&d, *state, g, &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "no output_K.pb"));
    put(*state, "output_5.pb", "", GOPT_DTYPE_F32, 1, of_y, 1);
    assert_int_equal(gopt_dataset_read(&d, *state, g, &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "output_5.pb"));
    assert_ok(gopt_file_write_text(test_path(path, *state, "output_5.pb"), "damaged", &e), &e);
    assert_int_equal(gopt_dataset_read(&d, *state, g, &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "output_5.pb"));
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static void data_sets_are_listed_by_number(void **state)
{
    static const char *const folders[] = {"test_data_set_10", "test_data_set_2", "test_data_set_x", "test_data_set_0",
                                          "other"};
    char path[4096];
    gopt_err e = {0};
    gopt_arena a = {0};
    const char *const *names;
    for (int i = 0; i < GOPT_COUNT(folders); i++)
        assert_ok(gopt_dir_make(test_path(path, *state, folders[i]), &e), &e);
    assert_int_equal(gopt_dataset_list(*state, &names, &a), 3);
    assert_string_equal(names[0], "test_data_set_0");
    assert_string_equal(names[1], "test_data_set_2");
    assert_string_equal(names[2], "test_data_set_10");
    assert_int_equal(gopt_dataset_list("no-such-folder", &names, &a), 0);
    gopt_arena_fini(&a);
}

typedef struct made {
    const char *dir;
    gopt_graph *graph;
} made;

static gopt_status read_and_list(void *ctx, gopt_err *e)
{
    const made *m = ctx;
    gopt_arena a = {0};
    gopt_dataset d;
    const char *const *names;
    gopt_status s = gopt_dataset_read(&d, m->dir, m->graph, &a, e);
    if (!s && gopt_dataset_list(m->dir, &names, &a) < 0)
        s = gopt_oom(e);
    gopt_arena_fini(&a);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    made m = {.dir = *state, .graph = test_graph(text)};
    put(*state, "input_0.pb", "x", GOPT_DTYPE_F32, 2, of_x, 1);
    put(*state, "input_1.pb", "y", GOPT_DTYPE_F32, 1, of_y, 1);
    put(*state, "output_0.pb", "a", GOPT_DTYPE_F32, 2, of_x, 1);
    assert_true(test_every_oom(read_and_list, &m) > 0);
    gopt_graph_free(m.graph);
}

/* ---- shapes ---- */

static gopt_status bind_to(const gopt_tensor *x, const gopt_tensor *y, int64_t *n, gopt_err *e)
{
    gopt_graph *g = test_graph(text);
    gopt_status s = gopt_shape_bind_to(g, (const gopt_tensor *[]){x, y}, e);
    *n = s ? -1 : g->inputs[0]->fact.dim[0].k;
    gopt_graph_free(g);
    return s;
}

static void tensors_bind_the_symbols(void **state)
{
    (void)state;
    gopt_err e = {0};
    int64_t n;
    gopt_tensor x = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {5, 2}},
                y = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {5}};
    assert_ok(bind_to(&x, &y, &n, &e), &e);
    assert_int_equal(n, 5);
    y.dim[0] = 4;
    assert_int_equal(bind_to(&x, &y, &n, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "dimension \"n\" is 4 here and 5 elsewhere"));
    y.dim[0] = 5;
    x.dim[1] = 3;
    assert_int_equal(bind_to(&x, &y, &n, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "input \"x\": dimension 1 is 3, 2 expected"));
    y.rank = 2;
    assert_int_equal(bind_to(&x, &y, &n, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "rank"));
}

static void given_sizes_bind_the_symbols(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_text bound = {0};
    int made_up;
    gopt_shapes given = {.name = {"seq"}, .size = {7}, .n = 1};
    gopt_graph *g = test_graph("input x float32[batch,seq]\noutput x\n");
    assert_ok(gopt_shape_bind(g, &given, 32, &bound, &made_up, &e), &e);
    assert_string_equal(gopt_text_str(&bound), "batch=1,seq=7");
    assert_int_equal(made_up, 1);
    gopt_graph_free(g);
    gopt_text_fini(&bound);
    g = test_graph("input x float32[batch,seq]\noutput x\n");
    snprintf(given.name[0], sizeof given.name[0], "sequ");
    assert_int_equal(gopt_shape_bind(g, &given, 32, NULL, NULL, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean 'seq'?"));
    gopt_graph_free(g);
    g = test_graph("input x float32[2,3]\noutput x\n");
    assert_int_equal(gopt_shape_bind(g, &given, 32, NULL, NULL, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "no symbolic dimensions"));
    assert_ok(gopt_shape_bind(g, NULL, 32, NULL, NULL, &e), &e);
    gopt_graph_free(g);
}

typedef struct picky {
    int64_t fits;
    gopt_status otherwise;
    int made_up, tried;
} picky;

static gopt_status fits_one(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    picky *p = ctx;
    p->tried++;
    *made_up = p->made_up;
    return length == p->fits ? GOPT_OK : gopt_fail(e, p->otherwise, "%d is wrong", (int)length);
}

static void lengths_are_tried_until_one_fits(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_graph *g = test_graph("input x float32[batch,seq,width]\noutput x\n");
    gopt_shapes given = {.name = {"width"}, .size = {7}, .n = 1};
    picky p = {.fits = 512, .otherwise = GOPT_EINPUT, .made_up = 2};
    assert_ok(gopt_shape_search(g, &given, fits_one, &p, &e), &e);
    assert_int_equal(p.tried, 3);
    p = (picky){.fits = -1, .otherwise = GOPT_EUNSUP, .made_up = 2};
    assert_int_equal(gopt_shape_search(g, &given, fits_one, &p, &e), GOPT_EUNSUP);
    assert_int_equal(p.tried, GOPT_LENGTHS);
    assert_string_equal(e.msg, "32 is wrong; no size tried for seq fits: choose with --shape");
    p = (picky){.fits = -1, .otherwise = GOPT_EINPUT}; /* nothing was made up: nothing else to try */
    assert_int_equal(gopt_shape_search(g, NULL, fits_one, &p, &e), GOPT_EINPUT);
    assert_int_equal(p.tried, 1);
    assert_string_equal(e.msg, "32 is wrong");
    p = (picky){.fits = -1, .otherwise = GOPT_ELIMIT, .made_up = 3};
    assert_int_equal(gopt_shape_search(g, NULL, fits_one, &p, &e), GOPT_ELIMIT);
    assert_int_equal(p.tried, 1);
    gopt_graph_free(g);
}

static void all_sizes_can_be_asked_for(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_graph *g = test_graph("input x float32[batch,seq]\noutput x\n");
    gopt_shapes given = {.name = {"seq", "batch"}, .size = {7, 1}, .n = 1};
    assert_int_equal(gopt_shape_need_all(g, &given, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "the model has symbolic dimensions; say all of --shape batch=N,seq=N");
    given.n = 2;
    assert_ok(gopt_shape_need_all(g, &given, &e), &e);
    snprintf(given.name[0], sizeof given.name[0], "sequ");
    assert_int_equal(gopt_shape_need_all(g, &given, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean 'seq'?"));
    gopt_graph_free(g);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(files_are_matched_by_name_where_they_have_one),
        D(files_without_names_are_matched_by_position),
        D(what_does_not_fit_is_said),
        D(data_sets_are_listed_by_number),
        D(every_failed_allocation_is_survived),
        cmocka_unit_test(tensors_bind_the_symbols),
        cmocka_unit_test(given_sizes_bind_the_symbols),
        cmocka_unit_test(lengths_are_tried_until_one_fits),
        cmocka_unit_test(all_sizes_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
