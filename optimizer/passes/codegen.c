/* codegen.c: a decision for the compiler: kernels may be generated for the shapes and expressions of this model. */
#include "pass.h"

/* Their order is that of gopt_decisions.generate_knob. */
static const gopt_knob knobs[] = {
    {.name = "pointwise", .kind = GOPT_KNOB_BOOL, .hi = 1, .init = 1, .doc = "generate pointwise groups"},
    {.name = "gemm", .kind = GOPT_KNOB_BOOL, .hi = 1, .init = 1, .doc = "generate groups with an anchor"},
    {.name = "opt_level", .kind = GOPT_KNOB_LINEAR, .lo = 1, .hi = 3, .init = 2, .doc = "the C compiler's -O level"},
    {0}};

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    gopt_decisions *d = &g->family->decisions;
    (void)e;
    d->generate = true;
    for (int i = 0; knobs[i].name; i++)
        d->generate_knob[i] = (int)r->knob[i];
    r->changed++;
    return GOPT_OK;
}

const gopt_pass gopt_pass_codegen = {
    .name = "codegen",
    .doc = "generate kernels for this model's shapes and expressions",
    .revision = 1,
    .knobs = knobs,
    .decides = true,
    .run = run,
};
