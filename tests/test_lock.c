/* test_lock.c: a folder has one writer; a lock ends with its holder, however that ends. */
#include "lock.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static void a_second_writer_is_refused(void **state)
{
    gopt_err e = {0};
    gopt_lock first, second;
    assert_ok(gopt_lock_take(&first, *state, &e), &e);
    assert_true(first.held);
    assert_int_equal(gopt_lock_take(&second, *state, &e), GOPT_EIO);
    assert_false(second.held);
    assert_non_null(strstr(e.msg, "another job"));
    assert_non_null(strstr(e.msg, *state));
    gopt_lock_release(&second);
    gopt_lock_release(&first);
    assert_ok(gopt_lock_take(&second, *state, &e), &e);
    assert_true(second.held);
    gopt_lock_release(&second);
}

static void a_killed_holder_leaves_nothing(void **state)
{
    gopt_err e = {0};
    gopt_lock l;
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (gopt_lock_take(&l, *state, &e) || !l.held || write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_ok(gopt_lock_take(&l, *state, &e), &e);
    assert_true(l.held);
    gopt_lock_release(&l);
    close(ready[0]);
    assert_int_equal(rmdir(*state), 0); /* no file in it */
    assert_int_equal(mkdir(*state, 0700), 0);
}

static void a_folder_that_cannot_be_opened_has_no_lock(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_lock l;
    assert_ok(gopt_lock_take(&l, "no-such-folder", &e), &e);
    assert_false(l.held);
    gopt_lock_release(&l);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {D(a_second_writer_is_refused), D(a_killed_holder_leaves_nothing),
                                       cmocka_unit_test(a_folder_that_cannot_be_opened_has_no_lock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
