/* emitted.h: generated kernels for tests: many functions in one text, compiled by the system's compiler. */
#ifndef GOPT_TEST_EMITTED_H
#define GOPT_TEST_EMITTED_H

#include "base/dynlib.h"
#include "support/checkern.h"

typedef struct emitted {
    gopt_text text;
    int n;
    gopt_dynlib *lib;
} emitted;

/* Adds a function; its number. Fails the running test when the kernel cannot. */
int emitted_add(emitted *e, const checkern_case *c);
/* Compiles all for the level into dir, optimized by "-O1" or so. False: there is no compiler here. */
bool emitted_compile(emitted *e, gopt_isa isa, const char *compiler, const char *optimize, const char *dir);
void (*emitted_function(const emitted *e, int i))(const gopt_task *);
void emitted_fini(emitted *e);

#endif
