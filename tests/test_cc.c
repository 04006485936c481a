/* test_cc.c: the system's compiler: jobs side by side, its complaints, its absence, its time limit, nothing left
 * behind.
 *
 * The compiler is looked up once per process: what needs another one happens in a child, before this process looks. */
#include "build/cc.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/dynlib.h"
#include "base/file.h"
#include "support/child.h"
#include "support/test.h"

static const int64_t LIMIT_NS = 60 * GOPT_NS_PER_S;

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    if (!d)
        return -1;
    for (const struct dirent *one; (one = readdir(d));)
        n += one->d_name[0] != '.';
    closedir(d);
    return n;
}

/* ---- other compilers ---- */

typedef struct attempt {
    const char *compiler, *dir, *says;
    gopt_status status;
    int64_t limit_ns;
} attempt;

static int try_compiler(void *ctx)
{
    const attempt *a = ctx;
    gopt_err e = {0};
    gopt_cc_job jobs[2] = {{.source = "int one;", .level = 1}, {.source = "int two;", .level = 1}};
    setenv("GOPT_CC", a->compiler, 1);
    gopt_status s = gopt_cc_run(jobs, 2, 2, a->dir, a->limit_ns, &e);
    bool as_wanted = s == a->status && strstr(e.msg, a->says) && !jobs[0].elf && !jobs[1].elf;
    if (!as_wanted)
        print_error("%s: \"%s\" (%s)\n", a->compiler, e.msg, gopt_status_text(s));
    return !as_wanted || entries(a->dir) > 0;
}

static void an_absent_compiler_is_said(void **state)
{
    char scratch[4096];
    attempt a = {.compiler = "no-such-compiler", .dir = test_path(scratch, *state, "s"), .status = GOPT_ENODEV};
    a.says = "GOPT_CC";
    a.limit_ns = LIMIT_NS;
    assert_int_equal(test_in_child(try_compiler, &a), 0);
}

static void write_compiler(char *path, const char *dir, const char *does)
{
    char text[512];
    gopt_err e = {0};
    snprintf(text, sizeof text, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo fake 1.0; exit; fi\n%s\n", does);
    assert_ok(gopt_file_write_text(test_path(path, dir, "fake-cc"), text, &e), &e);
    assert_int_equal(chmod(path, 0700), 0);
}

static void a_compiler_over_its_time_is_ended(void **state)
{
    char path[4096], scratch[4096];
    int64_t begin = gopt_now();
    write_compiler(path, *state, "sleep 30");
    attempt a = {.compiler = path, .dir = test_path(scratch, *state, "s"), .status = GOPT_ELIMIT, .says = "time limit"};
    a.limit_ns = GOPT_NS_PER_S / 5;
    assert_int_equal(test_in_child(try_compiler, &a), 0);
    a.limit_ns = -1;
    a.says = "no time left";
    assert_int_equal(test_in_child(try_compiler, &a), 0);
    assert_true(gopt_now() - begin < 10 * GOPT_NS_PER_S);
}

static void a_compiler_that_makes_nothing_is_an_error(void **state)
{
    char path[4096], scratch[4096];
    write_compiler(path, *state, "exit 0");
    attempt a = {.compiler = path, .dir = test_path(scratch, *state, "s"), .status = GOPT_EIO, .says = "0.so"};
    a.limit_ns = LIMIT_NS;
    assert_int_equal(test_in_child(try_compiler, &a), 0);
    write_compiler(path, *state, "echo internal compiler error; exit 4");
    a.status = GOPT_EBUG;
    a.says = "internal compiler error";
    assert_int_equal(test_in_child(try_compiler, &a), 0);
}

static int identity_names_the_compiler(void *ctx)
{
    setenv("GOPT_CC", ctx, 1);
    return strncmp(gopt_cc_find()->identity, "fake 1.0; ", 10) != 0 || strcmp(gopt_cc_find()->path, ctx) != 0;
}

static void the_identity_is_the_first_line_of_the_version(void **state)
{
    char path[4096];
    write_compiler(path, *state, "exit 1");
    assert_int_equal(test_in_child(identity_names_the_compiler, path), 0);
    write_compiler(path, *state, "exit 1");
}

/* ---- the real one ---- */

/* What a function of the compiled object returns; -1 when it has none of that name. */
static int call(const gopt_cc_job *j, const char *symbol)
{
    gopt_err e = {0};
    gopt_dynlib *lib;
    assert_ok(gopt_dynlib_memory(&lib, j->elf, j->bytes, &e), &e);
    int (*f)(void) = NULL;
    *(void **)&f = gopt_dynlib_find(lib, symbol);
    int v = f ? f() : -1;
    gopt_dynlib_close(lib);
    return v;
}

static void jobs_are_compiled_side_by_side(void **state)
{
    char scratch[4096];
    gopt_err e = {0};
    gopt_cc_job jobs[3] = {{.source = "int first(void) { return 11; }", .level = 0},
                           {.source = "int second(void) { return 22; }", .level = 2},
                           {.source = "int third(void) { return 33; }", .level = 3}};
    if (!gopt_cc_find()->path[0])
        skip();
    test_path(scratch, *state, "deep/er");
    assert_ok(gopt_cc_run(jobs, 3, 2, scratch, LIMIT_NS, &e), &e);
    assert_int_equal(call(&jobs[0], "first"), 11);
    assert_int_equal(call(&jobs[1], "second"), 22);
    assert_int_equal(call(&jobs[2], "third"), 33);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(jobs[i].status, GOPT_OK);
        assert_true(jobs[i].ns > 0 && jobs[i].peak_bytes > 1 << 20);
        gopt_free(jobs[i].elf);
    }
    assert_int_equal(entries(scratch), 0);
}

static void a_complaint_of_the_compiler_is_passed_on(void **state)
{
    gopt_err e = {0};
    gopt_cc_job jobs[2] = {{.source = "int f(void) { return 1; }", .level = 1},
                           {.source = "int g(void) { return undeclared_thing; }", .level = 1}};
    if (!gopt_cc_find()->path[0])
        skip();
    assert_int_equal(gopt_cc_run(jobs, 2, 1, *state, LIMIT_NS, &e), GOPT_EBUG);
    assert_non_null(strstr(e.msg, "failed on generated code"));
    assert_non_null(strstr(e.msg, "undeclared_thing"));
    assert_int_equal(jobs[0].status, GOPT_OK);
    assert_int_equal(jobs[1].status, GOPT_EBUG);
    assert_non_null(jobs[0].elf);
    assert_null(jobs[1].elf);
    gopt_free(jobs[0].elf);
    assert_int_equal(entries(*state), 0);
}

static void a_folder_that_cannot_be_is_an_error(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_cc_job job = {.source = "int one;"};
    if (!gopt_cc_find()->path[0])
        skip();
    assert_ok(gopt_file_write_text(test_path(path, *state, "file"), "", &e), &e);
    assert_int_equal(gopt_cc_run(&job, 1, 1, path, LIMIT_NS, &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, path));
}

static gopt_status compile_one(void *ctx, gopt_err *e)
{
    gopt_cc_job job = {.source = "int one;", .level = 1};
    gopt_status s = gopt_cc_run(&job, 1, 1, ctx, LIMIT_NS, e);
    gopt_free(job.elf);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    if (!gopt_cc_find()->path[0])
        skip();
    assert_true(test_every_oom(compile_one, *state) > 0);
    assert_int_equal(entries(*state), 0);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(an_absent_compiler_is_said),
        D(a_compiler_over_its_time_is_ended),
        D(a_compiler_that_makes_nothing_is_an_error),
        D(the_identity_is_the_first_line_of_the_version),
        D(jobs_are_compiled_side_by_side),
        D(a_complaint_of_the_compiler_is_passed_on),
        D(a_folder_that_cannot_be_is_an_error),
        D(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
