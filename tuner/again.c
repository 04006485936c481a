/* again.c: deciding again from what was measured. */
#include "again.h"

#include <math.h>
#include <stdio.h>

#include "decide.h"
#include "publish.h"
#include "report.h"

static void keep_or(double *now, double changed)
{
    if (!isnan(changed))
        *now = changed;
}

static void apply(gopt_goal *g, const gopt_goal_change *c)
{
    if (c->objective != GOPT_OBJECTIVE_COUNT)
        g->objective = c->objective;
    keep_or(&g->alpha, c->alpha);
    keep_or(&g->requests, c->requests);
    keep_or(&g->max_memory, c->max_memory);
    keep_or(&g->max_compile_ns, c->max_compile_ns);
    keep_or(&g->max_latency_ns, c->max_latency_ns);
}

static gopt_status write_manifest(const gopt_findings *f, const gopt_study *s, const char *dir, gopt_text *summary,
                                  gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    if (c->chosen_trial < 0 || c->default_trial < 0)
        return gopt_fail(e, GOPT_EINPUT, "%s: nothing was timed yet; run gopt-tune", dir);
    if (s->trials[c->chosen_trial].bundle && s->trials[c->default_trial].bundle)
        return gopt_publish_manifest(f, s, dir, e);
    gopt_text_add(
        summary,
        "trial %d was not compiled to a bundle: manifest.yaml stays as it was; gopt-tune with the same goal makes "
        "one\n",
        c->chosen_trial);
    return GOPT_OK;
}

gopt_status gopt_decide_again(const char *out_dir, const gopt_goal_change *change, gopt_text *summary, gopt_err *e)
{
    char path[1200];
    gopt_study *s;
    gopt_goal goal;
    gopt_findings *f = NULL;
    snprintf(path, sizeof path, "%s/study.db", out_dir);
    GOPT_TRY(gopt_study_read(&s, path, e));
    gopt_status status = gopt_decide_goal(&goal, s, e);
    if (!status) {
        apply(&goal, change);
        status = gopt_decide(&f, s, &goal, e);
    }
    if (!status)
        status = write_manifest(f, s, out_dir, summary, e);
    if (!status)
        status = gopt_report_write(f, out_dir, e);
    if (!status)
        gopt_publish_summary(f, out_dir, summary);
    if (!status && f->clusters[0].unmet)
        status = gopt_fail(e, GOPT_EDIFF, "%s: no candidate keeps the constraints", out_dir);
    gopt_findings_free(f);
    gopt_study_close(s);
    return status;
}
