/* op: the registry, what operators' files share, and pointwise inference. Pointwise execution: test_pointwise.c. */
#include "support/test.h"

#include <limits.h>

#include "op.h"

static void every_operator_is_found_by_its_name(void **state)
{
    (void)state;
    for (int k = 0; gopt_ops[k]; k++) {
        const gopt_op *op = gopt_ops[k];
        assert_ptr_equal(gopt_op_find(op->domain, op->name), op); /* also: no two of one name */
        if (!*op->domain)
            assert_ptr_equal(gopt_op_find("ai.onnx", op->name), op);
        assert_null(gopt_op_find("no.such.domain", op->name));
    }
    assert_null(gopt_op_find("", "NoSuchOperator"));
    assert_null(gopt_op_find("", ""));
}

static void every_operator_is_complete(void **state)
{
    (void)state;
    for (int k = 0; gopt_ops[k]; k++) {
        const gopt_op *op = gopt_ops[k];
        assert_true(op->infer && op->run && op->name[0]);
        assert_true(op->in_min >= 0 && op->in_min <= op->in_max && op->out_min >= 0 && op->out_min <= op->out_max);
        assert_int_equal((op->traits & GOPT_TRAIT_POINTWISE) != 0, op->expr != NULL);
        assert_true(!(op->traits & GOPT_TRAIT_POINTWISE) || op->out_max == 1);
    }
}

static void axes_count_from_either_end(void **state)
{
    (void)state;
    gopt_err e = {0};
    int axis = -1;
    assert_ok(gopt_axis(-1, 4, &axis, &e), &e);
    assert_int_equal(axis, 3);
    assert_ok(gopt_axis(0, 4, &axis, &e), &e);
    assert_int_equal(axis, 0);
    assert_int_equal(gopt_axis(4, 4, &axis, &e), GOPT_EINPUT);
    assert_string_equal(e.msg, "axis 4 is outside [-4, 4)");
    assert_int_equal(gopt_axis(-5, 4, &axis, &e), GOPT_EINPUT);
    assert_int_equal(gopt_axis(0, 0, &axis, &e), GOPT_EINPUT);
}

static gopt_status alloc(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    static float data[64];
    (void)e;
    *x->out[k] = (gopt_tensor){.dtype = d, .rank = rank, .data = data};
    memcpy(x->out[k]->dim, dim, (size_t)rank * sizeof *dim);
    return GOPT_OK;
}

static void outputs_are_made_or_checked(void **state)
{
    (void)state;
    gopt_err e = {0};
    float data[6];
    gopt_tensor planned = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {2, 3}, .data = data}, open = {0};
    gopt_tensor *out[] = {&planned, &open, NULL};
    gopt_exec x = {.n_out = 3, .out = out};
    int64_t dim[] = {2, 3};
    assert_ok(gopt_exec_out(&x, 0, GOPT_DTYPE_F32, 2, dim, &e), &e);
    assert_ok(gopt_exec_out(&x, 2, GOPT_DTYPE_F32, 2, dim, &e), &e); /* not wanted */
    assert_int_equal(gopt_exec_out(&x, 0, GOPT_DTYPE_F64, 2, dim, &e), GOPT_EINPUT);
    assert_string_equal(e.msg, "output 0 is float64[2,3], but float32[2,3] was planned");
    assert_int_equal(gopt_exec_out(&x, 0, GOPT_DTYPE_F32, 1, dim, &e), GOPT_EINPUT);
    assert_int_equal(gopt_exec_out(&x, 1, GOPT_DTYPE_F32, 2, dim, &e), GOPT_EBUG);
    x.alloc = alloc;
    assert_ok(gopt_exec_out(&x, 1, GOPT_DTYPE_F32, 2, dim, &e), &e);
    assert_int_equal(open.dim[1], 3);
}

/* ---- inference ---- */

typedef struct fixture {
    gopt_arena arena;
    gopt_dims *dims;
    gopt_fact in[4], out[2];
    gopt_infer x;
    gopt_err e;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.out = {{.rank = -1}, {.rank = -1}}};
    f.dims = gopt_dims_new(&f.arena);
    f.x = (gopt_infer){.dims = f.dims, .arena = &f.arena, .n_in = 2, .n_out = 1, .in = f.in, .out = f.out};
    *state = &f;
    return f.dims == NULL;
}

static int teardown(void **state)
{
    fixture *f = *state;
    gopt_arena_fini(&f->arena);
    return 0;
}

static gopt_fact fact(fixture *f, gopt_dtype d, const char *shape)
{
    char text[64], *save = NULL;
    gopt_fact r = {.dtype = d};
    snprintf(text, sizeof text, "%s", shape);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        r.dim[r.rank++] = gopt_dim_parse(f->dims, word);
    return r;
}

/* An int64 vector of these elements. */
static gopt_fact ints(fixture *f, const char *elements)
{
    gopt_fact r = fact(f, GOPT_DTYPE_I64, elements);
    gopt_dim *content = gopt_arena_copy(&f->arena, r.dim, (size_t)r.rank, sizeof *content);
    r.dim[0] = gopt_dim_of(r.rank);
    r.content = content;
    r.rank = 1;
    return r;
}

static const char *print(const fixture *f, const gopt_dim *d, int n)
{
    static char buf[200];
    char one[50];
    buf[0] = '\0';
    for (int i = 0; d && i < n; i++)
        snprintf(buf + strlen(buf), sizeof buf - strlen(buf), "%s%s", i ? " " : "",
                 gopt_dim_print(f->dims, d[i], one, sizeof one));
    return d ? buf : NULL;
}

static void shapes_of_facts_broadcast(void **state)
{
    fixture *f = *state;
    static const char *const cases[][3] = {
        {"2 3", "3", "2 3"},         {"batch 1", "1 seq", "batch seq"},
        {"batch", "batch", "batch"}, {"batch 4", "4", "batch 4"},
        {"batch", "4", "4"},         {"batch", "seq", "?"},
        {"? 3", "5 1", "5 3"},       {"", "a b", "a b"},
        {"2*a", "a+a", "2*a"},       {"0", "1", "0"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        gopt_fact a = fact(f, GOPT_DTYPE_F32, cases[i][0]), b = fact(f, GOPT_DTYPE_F32, cases[i][1]);
        assert_ok(gopt_infer_broadcast(&f->x, &a, &b, &a, &f->e), &f->e);
        assert_string_equal(print(f, a.dim, a.rank), cases[i][2]);
    }
    gopt_fact a = fact(f, GOPT_DTYPE_F32, "batch 3"), b = fact(f, GOPT_DTYPE_F32, "2"), none = {.rank = -1};
    assert_int_equal(gopt_infer_broadcast(&f->x, &a, &b, &b, &f->e), GOPT_EINPUT);
    assert_string_equal(f->e.msg, "shapes [batch,3] and [2] do not broadcast");
    assert_ok(gopt_infer_broadcast(&f->x, &a, &none, &b, &f->e), &f->e);
    assert_int_equal(b.rank, -1);
}

static void facts_of_tensors(void **state)
{
    fixture *f = *state;
    int32_t data[] = {4, -5};
    int64_t dim[GOPT_RANK_MAX], n;
    gopt_tensor t = {.dtype = GOPT_DTYPE_I32, .rank = 1, .dim = {2}, .data = data};
    gopt_fact_of_tensor(&f->in[0], &t, &f->arena);
    assert_true(gopt_fact_static(&f->in[0], dim) && dim[0] == 2);
    assert_string_equal(print(f, gopt_infer_ints(&f->x, 0, &n), 2), "4 -5");
    assert_int_equal(n, 2);
    f->in[0].content = NULL; /* from the constant then */
    assert_string_equal(print(f, gopt_infer_ints(&f->x, 0, &n), 2), "4 -5");
    t.dtype = GOPT_DTYPE_F32;
    gopt_fact_of_tensor(&f->in[1], &t, &f->arena);
    assert_null(f->in[1].content);
    assert_null(gopt_infer_ints(&f->x, 1, &n));
    assert_int_equal(n, 0);
    assert_ptr_equal(f->in[1].constant, &t);
    assert_false(gopt_fact_static(&(gopt_fact){.rank = -1}, dim));
    f->in[0] = fact(f, GOPT_DTYPE_F32, "batch 3");
    assert_false(gopt_fact_static(&f->in[0], dim));
}

static void contents_must_be_known_to_be_used(void **state)
{
    fixture *f = *state;
    int64_t n;
    f->in[0] = ints(f, "batch 3");
    assert_string_equal(print(f, gopt_infer_ints(&f->x, 0, &n), 2), "batch 3");
    f->in[0] = ints(f, "batch ?");
    assert_null(gopt_infer_ints(&f->x, 0, &n));
    assert_null(gopt_infer_ints(&f->x, 5, &n));
    assert_false(gopt_infer_has(&f->x, 5) || gopt_infer_has(&f->x, 1));
    gopt_infer_like(&f->x, 0, 0);
    assert_null(f->out[0].content);
    gopt_infer_content(&f->x, 0, f->in[0].content, GOPT_CONTENT_MAX + 1);
    assert_null(f->out[0].content);
    gopt_infer_content(&f->x, 0, f->in[0].content, 2);
    assert_string_equal(print(f, f->out[0].content, 2), "batch ?");
}

static gopt_expr_code code; /* of the operator under test */
static gopt_dtype target;   /* of a cast */

static int expr(gopt_expr *x, gopt_attrs attrs, const int *arg, int n)
{
    (void)attrs;
    if (code == GOPT_EXPR_CAST)
        return gopt_expr_cast(x, arg[0], target);
    if (code == GOPT_EXPR_SELECT)
        return gopt_expr_op3(x, code, arg[0], arg[1], arg[2]);
    return n == 1 ? gopt_expr_op1(x, code, arg[0]) : gopt_expr_op2(x, code, arg[0], arg[1]);
}

static const gopt_op any = {
    .name = "Any", .domain = "", .in_min = 1, .in_max = 3, .out_min = 1, .out_max = 1, .expr = expr};

static const char *infer(fixture *f, gopt_expr_code c, int n)
{
    code = c;
    f->x.op = &any;
    f->x.n_in = n;
    assert_ok(gopt_pointwise_infer(&f->x, &f->e), &f->e);
    int64_t dim[GOPT_RANK_MAX], count = 0;
    if (gopt_fact_static(&f->out[0], dim))
        gopt_dims_count(dim, f->out[0].rank, &count);
    return print(f, f->out[0].content, (int)count);
}

static void types_and_shapes_are_inferred(void **state)
{
    fixture *f = *state;
    f->in[0] = fact(f, GOPT_DTYPE_F16, "batch 1 8");
    f->in[1] = fact(f, GOPT_DTYPE_F16, "seq 1");
    assert_null(infer(f, GOPT_EXPR_ADD, 2));
    assert_int_equal(f->out[0].dtype, GOPT_DTYPE_F16);
    assert_string_equal(print(f, f->out[0].dim, f->out[0].rank), "batch seq 8");
    infer(f, GOPT_EXPR_LT, 2);
    assert_int_equal(f->out[0].dtype, GOPT_DTYPE_BOOL);
    f->in[1].rank = -1;
    infer(f, GOPT_EXPR_MUL, 2);
    assert_int_equal(f->out[0].rank, -1);
    assert_int_equal(f->out[0].dtype, GOPT_DTYPE_F16);
    f->in[1] = fact(f, GOPT_DTYPE_STRING, "1");
    code = GOPT_EXPR_EQ;
    assert_int_equal(gopt_pointwise_infer(&f->x, &f->e), GOPT_EUNSUP);
    assert_string_equal(f->e.msg, "input 1 is string");
    f->in[0] = (gopt_fact){0};
    f->out[0] = (gopt_fact){.rank = -1};
    infer(f, GOPT_EXPR_ADD, 2); /* nothing known of the first: nothing said of the result */
    assert_int_equal(f->out[0].dtype, GOPT_DTYPE_NONE);
}

static void contents_go_through_arithmetic(void **state)
{
    fixture *f = *state;
    static const struct {
        gopt_expr_code code;
        const char *a, *b, *want;
    } cases[] = {
        {GOPT_EXPR_ADD, "batch 3", "1", "batch+1 4"},
        {GOPT_EXPR_SUB, "seq", "seq", "0"},
        {GOPT_EXPR_MUL, "batch seq", "2 seq", "2*batch seq*seq"},
        {GOPT_EXPR_DIV, "seq 7 -7", "2", "seq/2 3 -3"},
        {GOPT_EXPR_MOD, "h -7", "4", "h%4 1"},
        {GOPT_EXPR_FMOD, "h 7", "4", "h%4 3"},
        {GOPT_EXPR_MIN, "h 3", "h+1 2", "h 2"},
        {GOPT_EXPR_MAX, "h 3", "0", "h 3"},
        {GOPT_EXPR_EQ, "seq -1 h h+1", "-1 -1 h h", "0 1 1 0"},
        {GOPT_EXPR_NE, "seq", "-1", "1"},
        {GOPT_EXPR_LT, "-1 h", "seq 5", "1 ?"},
        {GOPT_EXPR_GE, "h+1 2", "1 3", "1 0"},
        {GOPT_EXPR_DIV, "h", "0", NULL},
        {GOPT_EXPR_ADD, "h ?", "1 1", "h+1 ?"},
        {GOPT_EXPR_ADD, "a b", "1 2", "a+1 b+2"},
        {GOPT_EXPR_BITAND, "a b", "1 2", NULL},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        f->in[0] = ints(f, cases[i].a);
        f->in[1] = ints(f, cases[i].b);
        const char *got = infer(f, cases[i].code, 2);
        if (!cases[i].want) {
            assert_null(got);
            continue;
        }
        assert_non_null(got);
        char text[200];
        snprintf(text, sizeof text, "%s", got);
        int n = 0;
        gopt_fact want = fact(f, GOPT_DTYPE_I64, cases[i].want);
        for (; n < want.rank; n++)
            assert_true(gopt_dim_equal(f->out[0].content[n], want.dim[n]) || !gopt_dim_is_known(want.dim[n]));
        assert_int_equal(f->out[0].dim[0].k, n);
        for (int k = 0; k < n; k++)
            assert_int_equal(gopt_dim_is_known(want.dim[k]), gopt_dim_is_known(f->out[0].content[k]));
    }
}

static void contents_go_through_casts_tests_and_choices(void **state)
{
    fixture *f = *state;
    f->in[0] = ints(f, "h 300");
    target = GOPT_DTYPE_U8;
    assert_string_equal(infer(f, GOPT_EXPR_CAST, 1), "h 44");
    target = GOPT_DTYPE_F32;
    assert_string_equal(infer(f, GOPT_EXPR_CAST, 1), "h 300");
    f->in[0] = f->out[0]; /* a float with known integers goes on */
    float two = 2;
    gopt_tensor t = {.dtype = GOPT_DTYPE_F32, .data = &two};
    gopt_fact_of_tensor(&f->in[1], &t, &f->arena);
    assert_string_equal(infer(f, GOPT_EXPR_MUL, 2), "2*h 600");
    f->in[0] = f->out[0];
    assert_string_equal(infer(f, GOPT_EXPR_DIV, 2), "h 300");
    assert_string_equal(infer(f, GOPT_EXPR_FLOOR, 1), "2*h 600");
    two = 0.5f;
    assert_null(infer(f, GOPT_EXPR_ADD, 2));
    f->in[0] = ints(f, "h -3");
    assert_string_equal(infer(f, GOPT_EXPR_NEG, 1), "-h 3");
    assert_string_equal(infer(f, GOPT_EXPR_ABS, 1), "h 3");
    f->in[0] = ints(f, "1 0 seq");
    f->in[0].dtype = GOPT_DTYPE_BOOL;
    f->in[1] = ints(f, "a b 1");
    f->in[2] = ints(f, "c d 1");
    assert_string_equal(infer(f, GOPT_EXPR_SELECT, 3), "a d 1");
    assert_string_equal(infer(f, GOPT_EXPR_NOT, 1), "0 1 ?");
    target = GOPT_DTYPE_BOOL;
    f->in[0] = ints(f, "0 h+1 h");
    assert_string_equal(infer(f, GOPT_EXPR_CAST, 1), "0 1 ?");
}

static gopt_status infer_once(void *ctx, gopt_err *e)
{
    (void)ctx;
    gopt_arena a = {0};
    gopt_dim content[] = {gopt_dim_of(3), gopt_dim_of(4)};
    gopt_fact in[2] = {{.dtype = GOPT_DTYPE_I64, .rank = 1, .dim = {{.k = 2}}, .content = content}}, out = {.rank = -1};
    in[1] = in[0];
    code = GOPT_EXPR_ADD;
    gopt_infer x = {.op = &any, .arena = &a, .n_in = 2, .n_out = 1, .in = in, .out = &out};
    gopt_status s = gopt_pointwise_infer(&x, e);
    if (!s && !out.content)
        s = gopt_oom(e); /* without memory there may also be no content */
    gopt_arena_fini(&a);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(infer_once, NULL) > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_found_by_its_name),
        cmocka_unit_test(every_operator_is_complete),
        cmocka_unit_test(axes_count_from_either_end),
        cmocka_unit_test(outputs_are_made_or_checked),
        TEST(shapes_of_facts_broadcast),
        TEST(facts_of_tensors),
        TEST(contents_must_be_known_to_be_used),
        TEST(types_and_shapes_are_inferred),
        TEST(contents_go_through_arithmetic),
        TEST(contents_go_through_casts_tests_and_choices),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
