/* test.h: what the test programs share, on top of cmocka. */
#ifndef GOPT_TEST_H
#define GOPT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

/* Setup and teardown of a test that writes files: *state is the path of an empty folder, removed afterwards.
 *     cmocka_unit_test_setup_teardown(writes_a_file, test_dir_setup, test_dir_teardown) */
int test_dir_setup(void **state);
int test_dir_teardown(void **state);
/* "dir/name" into buf of 4096 bytes, returned. */
char *test_path(char *buf, const char *dir, const char *name);

/* Path of something in the folder of shared test data ($GOPT_SHARED), in static storage until the next call. Where it
 * is not there, says that `cases` cases are skipped and skips the test. */
const char *test_shared(const char *name, int cases);

/* Makes the first allocation of make() fail, then the second, and so on until it succeeds. make() must return
 * GOPT_ENOMEM with a message, or GOPT_OK after it has freed what it made. Returns how many allocations could fail. */
long test_every_oom(gopt_status (*make)(void *ctx, gopt_err *e), void *ctx);

#define assert_ok(call, e) test_ok_at((call), (e), __FILE__, __LINE__) /* fails with the message */
void test_ok_at(gopt_status s, const gopt_err *e, const char *file, int line);

#endif
