/* dormant.c: passes that find nothing to do in the default because another took it before them. Alone they rewrite
 * something, so they may conflict with the one that came first. */
#include <string.h>

#include "base/clock.h"
#include "effects.h"
#include "job.h"

static const double PASS_LIMIT_S = 2;        /* one that takes longer is not worth a try */
static const char DORMANT_KEY[] = "dormant"; /* in the study: names, each with a comma after it */

typedef struct attempt {
    const gopt_pass *pass;
    const gopt_config *config;
    const gopt_graph *graph;
} attempt;

/* In a process of its own, which may take the graph. */
static gopt_status count_rewrites(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    const attempt *t = ctx;
    gopt_pass_record record;
    gopt_tensor *count = gopt_tensor_new(a, GOPT_DTYPE_I64, 0, NULL);
    (void)n_out;
    if (!count)
        return gopt_oom(e);
    GOPT_TRY(gopt_pass_apply(t->pass, gopt_config_pass_knobs(t->config, t->pass), (gopt_graph *)(uintptr_t)t->graph, 0,
                             a, &record, e));
    gopt_tensor_set_int(count, 0, record.changed);
    *out = *count;
    return GOPT_OK;
}

static bool rewrites_alone(gopt_job *j, const gopt_config *c, const gopt_pass *p)
{
    attempt t = {.pass = p, .config = c, .graph = j->graph};
    gopt_isolated keep;
    gopt_tensor out;
    if (gopt_isolated_run(&keep, count_rewrites, &t, &out, 1, (int64_t)(PASS_LIMIT_S * 1e9), j->bench.memory_limit,
                          &gopt_job_interrupted, NULL))
        return false;
    bool some = gopt_tensor_get_int(&out, 0) > 0;
    gopt_isolated_fini(&keep);
    return some;
}

static bool contains(const int *list, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

gopt_status gopt_job_find_dormant(gopt_job *j, gopt_err *e)
{
    const gopt_trial *standard = gopt_effects_default(j->study);
    int active[GOPT_SETTINGS_MAX], n = standard ? gopt_effects_active(standard, active) : 0;
    gopt_text names = {0};
    int64_t begin = gopt_now();
    if (!standard || gopt_study_get(j->study, DORMANT_KEY))
        return GOPT_OK;
    for (int i = 0; gopt_passes[i]; i++)
        if (gopt_config_pass_on(&standard->config, gopt_passes[i]) && !contains(active, n, i) &&
            rewrites_alone(j, &standard->config, gopt_passes[i]))
            gopt_text_add(&names, "%s,", gopt_passes[i]->name);
    gopt_status s = names.failed ? gopt_oom(e) : gopt_study_set(j->study, DORMANT_KEY, gopt_text_str(&names), e);
    gopt_text_fini(&names);
    j->spent.search += (double)(gopt_now() - begin) / 1e9;
    return s;
}

int gopt_effects_dormant(gopt_study *s, int *pass)
{
    const char *names = gopt_study_get(s, DORMANT_KEY);
    int n = 0;
    for (int i = 0; names && gopt_passes[i]; i++) {
        size_t length = strlen(gopt_passes[i]->name);
        for (const char *at = names; *at; at += strcspn(at, ",") + 1)
            if (!strncmp(at, gopt_passes[i]->name, length) && at[length] == ',')
                pass[n++] = i;
    }
    return n;
}
