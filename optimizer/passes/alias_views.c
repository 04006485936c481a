/* alias_views.c: a decision for the compiler. */
#include "pass.h"

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    g->family->decisions.alias_views = true;
    r->changed++;
    return GOPT_OK;
}

const gopt_pass gopt_pass_alias_views = {
    .name = "alias_views",
    .doc = "Reshape and its like move no data",
    .revision = 1,
    .decides = true,
    .run = run,
};
