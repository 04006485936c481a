/* test_isolated.c: tensors come back from another process, and so does every way in which it can fail. */
#include "isolated.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/sanitizer.h"
#include "support/test.h"

static const int64_t LONG_NS = 20 * GOPT_NS_PER_S;

/* Three outputs: of odd size, empty, and of another type; the first in memory that dies with the process. */
static gopt_status make_three(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    const int *base = ctx;
    assert_int_equal(n_out, 3);
    const gopt_dtype types[] = {GOPT_DTYPE_U8, GOPT_DTYPE_F32, GOPT_DTYPE_I64};
    const int64_t dims[][2] = {{3, 7}, {0, 5}, {2, 2}};
    for (int i = 0; i < 3; i++) {
        gopt_tensor *t = gopt_tensor_new(a, types[i], 2, dims[i]);
        if (!t)
            return gopt_oom(e);
        for (int64_t k = 0; k < gopt_tensor_count(t); k++)
            gopt_tensor_set_int(t, k, *base * (i + 1) + k);
        out[i] = *t;
    }
    return GOPT_OK;
}

static void several_outputs_come_back(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_isolated keep;
    gopt_tensor out[3];
    int base = 10;
    assert_ok(gopt_isolated_run(&keep, make_three, &base, out, 3, LONG_NS, 0, NULL, &e), &e);
    assert_true(keep.ns > 0 && keep.ns < LONG_NS);
    assert_int_equal(out[0].dtype, GOPT_DTYPE_U8);
    assert_int_equal(out[0].dim[1], 7);
    for (int64_t k = 0; k < 21; k++)
        assert_int_equal(gopt_tensor_get_int(&out[0], k), 10 + k);
    assert_int_equal(gopt_tensor_count(&out[1]), 0);
    assert_int_equal(out[1].dim[1], 5);
    for (int64_t k = 0; k < 4; k++)
        assert_int_equal(gopt_tensor_get_int(&out[2], k), 30 + k);
    gopt_tensor_set_int(&out[0], 0, 99); /* ours to write */
    gopt_isolated_fini(&keep);
    assert_null(keep.memory);
    gopt_isolated_fini(&keep);
}

static gopt_status make_nothing(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)out, (void)n_out, (void)a, (void)e;
    return GOPT_OK;
}

static void no_output_is_fine(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_isolated keep;
    assert_ok(gopt_isolated_run(&keep, make_nothing, NULL, NULL, 0, LONG_NS, 0, NULL, &e), &e);
    assert_null(keep.memory);
    gopt_isolated_fini(&keep);
}

static gopt_status refuse(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)out, (void)n_out, (void)a;
    return gopt_fail(e, GOPT_EINPUT, "node n1 (Add): 100%% wrong");
}

static gopt_status crash(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)out, (void)n_out, (void)a, (void)e;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return GOPT_OK;
}

static gopt_status leave(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)out, (void)n_out, (void)a, (void)e;
    _exit(7);
}

static gopt_status hang(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)out, (void)n_out, (void)a, (void)e;
    while (pause())
        ;
    return GOPT_OK;
}

static gopt_status give_strings(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)n_out, (void)a, (void)e;
    static const char *text[] = {"a"};
    out[0] = (gopt_tensor){.dtype = GOPT_DTYPE_STRING, .rank = 0, .data = text};
    return GOPT_OK;
}

static gopt_status eat(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    (void)ctx, (void)n_out;
    gopt_tensor *t = gopt_tensor_new(a, GOPT_DTYPE_U8, 1, (const int64_t[]){(int64_t)1 << 40});
    if (!t)
        return gopt_oom(e);
    out[0] = *t;
    return GOPT_OK;
}

static const struct {
    gopt_isolated_fn *run;
    gopt_status status;
    int64_t limit_ns;
    const char *says;
} failures[] = {
    {refuse, GOPT_EINPUT, 20 * GOPT_NS_PER_S, "node n1 (Add): 100% wrong"},
    {crash, GOPT_EBUG, 20 * GOPT_NS_PER_S, "signal 11"},
    {leave, GOPT_EBUG, 20 * GOPT_NS_PER_S, "exit code 7"},
    {hang, GOPT_ELIMIT, GOPT_NS_PER_S / 10, "time limit of 0.1 s"},
    {hang, GOPT_ELIMIT, 0, "time limit"},
    {give_strings, GOPT_EUNSUP, 20 * GOPT_NS_PER_S, "strings"},
};

static void every_failure_is_an_error_here(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(failures); i++) {
        gopt_err e = {0};
        gopt_isolated keep;
        gopt_tensor out[1];
        int64_t begin = gopt_now();
        gopt_status s = gopt_isolated_run(&keep, failures[i].run, NULL, out, 1, failures[i].limit_ns, 0, NULL, &e);
        if (s != failures[i].status || !strstr(e.msg, failures[i].says))
            fail_msg("row %d: \"%s\" (%s)", i, e.msg, gopt_status_text(s));
        assert_null(keep.memory);
        assert_true(gopt_now() - begin < 10 * GOPT_NS_PER_S);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
    }
}

static volatile int interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void an_interruption_ends_it(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_isolated keep;
    gopt_tensor out[1];
    int64_t begin = gopt_now();
    signal(SIGALRM, interrupt);
    alarm(1);
    assert_int_equal(gopt_isolated_run(&keep, hang, NULL, out, 1, LONG_NS, 0, &interrupted, &e), GOPT_EINTR);
    assert_true(gopt_now() - begin < 10 * GOPT_NS_PER_S);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
    signal(SIGALRM, SIG_DFL);
}

static void memory_is_limited(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_isolated keep;
    gopt_tensor out[1];
    if (TEST_SANITIZED)
        skip();
    assert_int_equal(gopt_isolated_run(&keep, eat, NULL, out, 1, LONG_NS, (size_t)1 << 30, NULL, &e), GOPT_ENOMEM);
    assert_non_null(strstr(e.msg, "out of memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_outputs_come_back),
        cmocka_unit_test(no_output_is_fine),
        cmocka_unit_test(every_failure_is_an_error_here),
        cmocka_unit_test(an_interruption_ends_it),
        cmocka_unit_test(memory_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
