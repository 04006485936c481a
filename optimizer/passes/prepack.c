/* prepack.c: a decision for the compiler. */
#include "pass.h"

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    g->family->decisions.prepack = true;
    r->changed++;
    return GOPT_OK;
}

const gopt_pass gopt_pass_prepack = {
    .name = "prepack",
    .doc = "constant operands are laid out for their kernels at compile time",
    .revision = 1,
    .decides = true,
    .run = run,
};
