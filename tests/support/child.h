/* child.h: doing something in another process: what is found once per process, what ends one. */
#ifndef GOPT_TEST_CHILD_H
#define GOPT_TEST_CHILD_H

/* Runs f(ctx) in a forked process and returns what it returned (0 to 125), or minus the signal that ended it. f must
 * not use cmocka's assertions: they would go on with the other tests there. */
int test_in_child(int (*f)(void *ctx), void *ctx);

#endif
