/* reuse_memory.c: a decision for the compiler: which planner lets activations share memory. */
#include "memory.h"
#include "pass.h"

enum { PLANNER, IN_PLACE };

static const char *const planners[] = {"best", "by_size", "by_lifetime", "by_area", NULL};

static const gopt_knob knobs[] = {
    [PLANNER] = {.name = "planner",
                 .kind = GOPT_KNOB_CHOICE,
                 .hi = 3,
                 .choices = planners,
                 .doc = "order in which values get places"},
    [IN_PLACE] = {.name = "in_place",
                  .kind = GOPT_KNOB_BOOL,
                  .hi = 1,
                  .init = 1,
                  .doc = "pointwise results overwrite an operand that nobody reads later"},
    {0}};

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    g->family->decisions.reuse = GOPT_PLANNER_BEST + (int)r->knob[PLANNER];
    g->family->decisions.in_place = r->knob[IN_PLACE] != 0;
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
