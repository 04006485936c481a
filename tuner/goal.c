/* goal.c: objectives by name. */
#include "goal.h"

#include <string.h>

#include "base/text.h"

#define GOPT_X_OBJECTIVE(n, doc) [GOPT_OBJECTIVE_##n] = #n,
static const char *const names[GOPT_OBJECTIVE_COUNT] = {GOPT_OBJECTIVES(GOPT_X_OBJECTIVE)};
#undef GOPT_X_OBJECTIVE

const gopt_goal gopt_goal_default = {.objective = GOPT_OBJECTIVE_latency, .alpha = 0.001, .requests = 10000};

const char *gopt_objective_name(gopt_objective o)
{
    return names[o];
}

gopt_status gopt_objective_parse(gopt_objective *out, const char *name, gopt_err *e)
{
    for (int i = 0; i < GOPT_OBJECTIVE_COUNT; i++)
        if (!strcmp(names[i], name)) {
            *out = (gopt_objective)i;
            return GOPT_OK;
        }
    const char *near = gopt_text_nearest(name, names, GOPT_OBJECTIVE_COUNT);
    return gopt_fail(e, GOPT_EUSAGE,
                     "unknown objective '%s'%s%s%s; one of latency, p99, throughput, memory, compile, utility, wall",
                     name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}
