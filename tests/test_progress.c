/* test_progress.c: what a job tells while it runs: plain lines where there is no terminal, one rewritten line where
 * there is. */
#include "progress.h"

#include <math.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/test.h"

static int64_t now;

static int64_t made_up_time(void)
{
    return now;
}

static void pass_time(double seconds)
{
    now += (int64_t)(seconds * (double)GOPT_NS_PER_S);
}

/* Standard error goes to `to` until restore(); the rest of the test must not fail before. */
static int redirect(int to)
{
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(to, STDERR_FILENO);
    return saved;
}

static void restore(int saved)
{
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void tell(gopt_progress_mode mode)
{
    now = 100 * GOPT_NS_PER_S;
    gopt_clock_source = made_up_time;
    gopt_progress *p = gopt_progress_new(mode, 100);
    gopt_progress_stage(p, "baseline");
    gopt_progress_stage(p, "baseline"); /* no news */
    gopt_progress_update(p, 1, 0, NAN, NAN, NAN);
    pass_time(1);
    gopt_progress_update(p, 2, 0, 1.5, NAN, NAN);
    pass_time(24);
    gopt_progress_update(p, 3, 1, 1.5, 1.25, 1.75);
    gopt_progress_note(p, "pass %s is banned", "fold\033const");
    pass_time(5);
    gopt_progress_stage(p, "search");
    pass_time(200);
    gopt_progress_update(p, 4, 1, 2, NAN, NAN);
    gopt_progress_free(p);
    gopt_clock_source = gopt_clock_monotonic;
}

static void capture_plain(char *out, size_t size, gopt_progress_mode mode)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int saved = redirect(fileno(file));
    tell(mode);
    restore(saved);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = 0;
    fclose(file);
}

static const char plain[] =
    "[   0.0 s] baseline\n"
    "[   0.0 s] baseline: 1 trials, 0 failed, no result yet, 100 s left\n"
    "[  25.0 s] baseline: 3 trials, 1 failed, best of short races 1.500x [1.250, 1.750], 75 s left\n"
    "[  25.0 s] pass fold?const is banned\n"
    "[  30.0 s] search\n"
    "[ 230.0 s] search: 4 trials, 1 failed, best of short races 2.000x, 0 s left\n";

static void plain_lines_come_now_and_then(void **state)
{
    (void)state;
    char text[4096];
    capture_plain(text, sizeof text, GOPT_PROGRESS_PLAIN);
    assert_string_equal(text, plain);
    capture_plain(text, sizeof text, GOPT_PROGRESS_AUTO); /* a file is no terminal */
    assert_string_equal(text, plain);
}

static void none_says_nothing(void **state)
{
    (void)state;
    char text[4096];
    assert_null(gopt_progress_new(GOPT_PROGRESS_NONE, 10));
    capture_plain(text, sizeof text, GOPT_PROGRESS_NONE);
    assert_string_equal(text, "");
}

/* What is written to a terminal comes out at its other end a little later. */
static void read_until(int fd, const char *last, char *out, size_t size)
{
    enum { PATIENCE_MS = 5000 };
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t n = 0;
    out[0] = 0;
    while (!strstr(out, last) && n + 1 < size && poll(&p, 1, PATIENCE_MS) > 0) {
        ssize_t k = read(fd, out + n, size - 1 - n);
        if (k <= 0)
            break;
        out[n += (size_t)k] = 0;
    }
}

static void a_terminal_gets_one_line_that_is_rewritten(void **state)
{
    (void)state;
    char text[4096];
    int terminal, program;
    if (openpty(&terminal, &program, NULL, NULL, NULL))
        skip();
    int saved = redirect(program);
    tell(GOPT_PROGRESS_AUTO);
    restore(saved);
    read_until(terminal, "| 0 s left\r\n", text, sizeof text);
    assert_non_null(strstr(text, "\r\033[K[.....")); /* nothing done at first */
    assert_non_null(strstr(text, "] baseline | 2 trials, 0 failed | best of short races 1.500x | 99 s left"));
    assert_non_null(strstr(
        text, "[#####...............] baseline | 3 trials, 1 failed | best of short races 1.500x [1.250, 1.750]"));
    assert_non_null(strstr(text, "left\r\n[  25.0 s] pass fold?const is banned\r\n")); /* a note ends the line */
    assert_non_null(
        strstr(text, "[####################] search | 4 trials, 1 failed | best of short races 2.000x | 0 s left\r\n"));
    close(terminal);
    close(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines_come_now_and_then),
        cmocka_unit_test(none_says_nothing),
        cmocka_unit_test(a_terminal_gets_one_line_that_is_rewritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
