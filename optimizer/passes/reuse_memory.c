/* reuse_memory.c: a decision for the compiler: which planner lets activations share memory. */
#include "memory.h"
#include "pass.h"

static const char *const planners[] = {"by_size", "by_lifetime", NULL};

static const gopt_knob knobs[] = {{.name = "planner",
                                   .kind = GOPT_KNOB_CHOICE,
                                   .hi = 1,
                                   .choices = planners,
                                   .doc = "order in which values get places"},
                                  {0}};

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    g->family->decisions.reuse = GOPT_PLANNER_BY_SIZE + (int)r->knob[0];
    r->changed++;
    return GOPT_OK;
}

const gopt_pass gopt_pass_reuse_memory = {
    .name = "reuse_memory",
    .doc = "activations whose lives do not overlap share memory",
    .revision = 1,
    .knobs = knobs,
    .decides = true,
    .run = run,
};
