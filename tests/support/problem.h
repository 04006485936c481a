/* problem.h: one node with its data, written in a line: what the kernel tests run through kernels and reference. */
#ifndef GOPT_TEST_PROBLEM_H
#define GOPT_TEST_PROBLEM_H

#include "kernel.h"

typedef struct problem_text {
    const char *kernel; /* that must fit it */
    const char *op;     /* "Conv", "com.microsoft:FusedConv", "gopt:Pointwise" */
    const char *attrs;  /* "pads=1,1,1,1 alpha=0.5f mode='linear'": ints, floats, strings */
    const char *in;    /* "f32[2,3] f32[3,4]! i64[2]={0,1}! -": operands of the op; ! constant, - absent; [] a scalar */
    const char *extra; /* operands of post only, numbered after the others; NULL: none */
    const char *post;  /* as gopt_expr_parse reads it; NULL: none */
} problem_text;

typedef struct problem {
    gopt_arena arena;
    gopt_group group; /* operands marked constant point to their data */
    gopt_operand *in, *out;
    gopt_tensor *tensor; /* by operand; data NULL: absent */
    gopt_tensor *want;   /* by output: the reference's result, post applied */
    gopt_expr post;
} problem;

/* Fails the running test on a text it cannot read. Data are random from the seed. */
void problem_init(problem *p, const problem_text *text, unsigned seed);
void problem_fini(problem *p);

#endif
