/* base/process: programs run to their end, to their limit, and not beyond our own. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/rss.h"

static const int64_t long_enough = 20 * GOPT_NS_PER_S;

static gopt_process_result shell(const char *script, int64_t limit_ns)
{
    gopt_err e = {0};
    gopt_process_result r;
    const char *argv[] = {"sh", "-c", script, NULL};
    assert_ok(gopt_process_run(&r, argv, limit_ns, &e), &e);
    return r;
}

static void output_and_exit_code_come_back(void **state)
{
    (void)state;
    gopt_process_result r = shell("echo out; echo err >&2; cat; exit 3", long_enough);
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.signal, 0);
    assert_false(r.timed_out);
    assert_string_equal(gopt_text_str(&r.output), "out\nerr\n");
    assert_true(r.wall_ns > 0 && r.wall_ns < long_enough);
    assert_true(r.peak_bytes > 0);
    gopt_text_fini(&r.output);
}

static void a_signal_is_told(void **state)
{
    (void)state;
    gopt_process_result r = shell("kill -SEGV $$", long_enough);
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGSEGV);
    assert_false(r.timed_out);
    gopt_text_fini(&r.output);
}

static void much_output_is_cut_and_never_blocks(void **state)
{
    (void)state;
    gopt_process_result r =
        shell("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "
              "0123456789012345678901234567890123456789012345678901234567890123456789; done; exit 5",
              long_enough);
    assert_int_equal(r.exit_code, 5);
    assert_int_equal(r.output.n, 64 << 10);
    gopt_text_fini(&r.output);
}

/* The process started as `sleep 300` in the background by script has ended, or does so soon. */
static void expect_gone(pid_t pid)
{
    assert_true(pid > 1);
    for (int i = 0; i < 2000 && kill(pid, 0) == 0; i++) {
        char path[64], text[512] = "";
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (fd >= 0)
            close(fd);
        if (n > 0 && strstr(text, ") Z ")) /* dead, and only its new parent is slow to take notice */
            return;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void the_limit_kills_the_whole_group(void **state)
{
    (void)state;
    gopt_process_result r = shell("trap '' TERM INT; sleep 300 & echo $!; sleep 300", GOPT_NS_PER_S / 3);
    assert_true(r.timed_out);
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGKILL);
    assert_true(r.wall_ns >= GOPT_NS_PER_S / 3 && r.wall_ns < 5 * GOPT_NS_PER_S);
    expect_gone(atoi(gopt_text_str(&r.output)));
    gopt_text_fini(&r.output);
    r = shell("sleep 300", -1);
    assert_true(r.timed_out);
    gopt_text_fini(&r.output);
}

static void what_a_program_leaves_behind_is_ended(void **state)
{
    (void)state;
    gopt_process_result r = shell("sleep 300 & echo $!", INT64_MAX);
    assert_int_equal(r.exit_code, 0);
    assert_true(r.wall_ns < 5 * GOPT_NS_PER_S);
    expect_gone(atoi(gopt_text_str(&r.output)));
    gopt_text_fini(&r.output);
}

static void our_death_ends_it_all(void **state)
{
    char pids[4096], script[8192];
    snprintf(script, sizeof(script), "sleep 300 & echo $! $$ > %s.new; mv %s.new %s; wait",
             test_path(pids, *state, "pids"), pids, pids);
    pid_t us = fork();
    if (us == 0) {
        shell(script, long_enough);
        _exit(0);
    }
    for (int i = 0; i < 2000 && !gopt_file_exists(pids); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    kill(us, SIGKILL);
    waitpid(us, NULL, 0);
    gopt_mapping m;
    gopt_err e = {0};
    int sleeper, shell_itself;
    assert_ok(gopt_file_map(&m, pids, &e), &e);
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)m.bytes, (const char *)m.data);
    gopt_file_unmap(&m);
    assert_int_equal(sscanf(text, "%d %d", &sleeper, &shell_itself), 2);
    expect_gone(sleeper);
    expect_gone(shell_itself);
}

static void signals_are_as_a_new_program_expects_them(void **state)
{
    (void)state;
    sigset_t pipe_only, before;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    gopt_process_result r = shell("kill -PIPE $$; echo alive", long_enough);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(r.signal, SIGPIPE);
    assert_string_equal(gopt_text_str(&r.output), "");
    gopt_text_fini(&r.output);
}

static void peak_memory_is_the_programs_own(void **state)
{
    (void)state;
    enum { OURS = 96 << 20 };
    char *ballast = gopt_malloc(OURS); /* a forked copy of us is larger than what it executes */
    memset(ballast, 1, OURS);
    assert_true(gopt_rss_now() > OURS);
    gopt_process_result r = shell("sleep 0.3", long_enough);
    assert_true(r.peak_bytes > 100 << 10);
    assert_true(r.peak_bytes < OURS / 2);
    gopt_text_fini(&r.output);
    gopt_free(ballast);
}

static void programs_are_found_on_the_path(void **state)
{
    char path[4096], here[4096], program[4096];
    gopt_err e = {0};
    assert_true(gopt_process_find("sh", path, sizeof(path)));
    assert_int_equal(path[0], '/');
    assert_true(gopt_process_find(path, here, sizeof(here)));
    assert_string_equal(path, here);
    assert_false(gopt_process_find("gopt-no-such-program", path, sizeof(path)));
    assert_false(gopt_process_find("", path, sizeof(path)));
    assert_false(gopt_process_find("sh", path, 4));
    assert_ok(gopt_file_write_text(test_path(program, *state, "tool"), "#!/bin/sh\n", &e), &e);
    assert_false(gopt_process_find(program, path, sizeof(path)));
    assert_int_equal(chmod(program, 0700), 0);
    assert_true(gopt_process_find(program, path, sizeof(path)));
    assert_false(gopt_process_find(*state, path, sizeof(path)));
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(*state), 0);
    assert_true(gopt_process_find("./tool", path, sizeof(path)));
    assert_int_equal(path[0], '/');
    assert_int_equal(chdir(here), 0);
}

static void what_cannot_be_run_is_said(void **state)
{
    char program[4096];
    gopt_err e = {0};
    gopt_process_result r;
    const char *absent[] = {"gopt-no-such-program", NULL};
    assert_int_equal(gopt_process_run(&r, absent, long_enough, &e), GOPT_ENODEV);
    assert_string_equal(e.msg, "gopt-no-such-program: no such program");
    assert_ok(gopt_file_write_text(test_path(program, *state, "odd"), "#!/no/such/shell\n", &e), &e);
    assert_int_equal(chmod(program, 0700), 0);
    const char *odd[] = {program, NULL};
    assert_int_equal(gopt_process_run(&r, odd, long_enough, &e), GOPT_ENODEV);
    assert_non_null(strstr(e.msg, "No such file"));
    assert_null(r.output.s);
}

static gopt_status echo(void *ctx, gopt_err *e)
{
    (void)ctx;
    gopt_process_result r;
    const char *argv[] = {"echo", "x", NULL};
    gopt_status s = gopt_process_run(&r, argv, long_enough, e);
    assert_true(s == GOPT_OK || r.output.s == NULL);
    gopt_text_fini(&r.output);
    return s;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void nothing_is_left_open_also_without_memory(void **state)
{
    (void)state;
    int before = open_files();
    assert_true(test_every_oom(echo, NULL) >= 1);
    assert_int_equal(open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child either */
}

static void *allocate_for_ever(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        gopt_free(gopt_malloc(100));
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return NULL;
}

static void other_threads_do_no_harm(void **state)
{
    (void)state;
    atomic_bool stop = false;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, allocate_for_ever, &stop), 0);
    for (int i = 0; i < 10; i++) {
        gopt_process_result r = shell("echo $((6*7))", long_enough);
        assert_string_equal(gopt_text_str(&r.output), "42\n");
        gopt_text_fini(&r.output);
    }
    atomic_store(&stop, true);
    pthread_join(other, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_setup, test_dir_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_code_come_back),
        cmocka_unit_test(a_signal_is_told),
        cmocka_unit_test(much_output_is_cut_and_never_blocks),
        cmocka_unit_test(the_limit_kills_the_whole_group),
        cmocka_unit_test(what_a_program_leaves_behind_is_ended),
        TEST(our_death_ends_it_all),
        cmocka_unit_test(signals_are_as_a_new_program_expects_them),
        cmocka_unit_test(peak_memory_is_the_programs_own),
        TEST(programs_are_found_on_the_path),
        TEST(what_cannot_be_run_is_said),
        cmocka_unit_test(nothing_is_left_open_also_without_memory),
        cmocka_unit_test(other_threads_do_no_harm),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
