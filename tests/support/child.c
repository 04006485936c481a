#include "support/child.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

int test_in_child(int (*f)(void *ctx), void *ctx)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        exit(f(ctx)); /* not _exit: the lines it covered are written at the exit */
    assert_true(pid > 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
