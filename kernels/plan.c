/* plan.c: the end of a plan. */
#include "plan.h"

void gopt_plan_free(gopt_plan *p)
{
    if (!p)
        return;
    if (p->backing_free)
        p->backing_free(p->backing);
    gopt_arena_fini(&p->arena);
    gopt_free(p);
}
