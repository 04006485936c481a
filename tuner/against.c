/* against.c: comparison with an earlier manifest. */
#include "against.h"

#include <math.h>
#include <string.h>

#include "manifest.h"
#include "stats.h"

static void say(gopt_findings *f, const char **lines, int *n, const char *text)
{
    if (text)
        lines[(*n)++] = text;
    f->verdict.details = lines;
    f->verdict.n_details = *n;
}

static void judge(gopt_findings *f, const gopt_manifest *old, const char *path, const char **lines)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    const gopt_finding_trial *t = gopt_finding_trial_find(c, c->chosen_trial);
    const gopt_manifest_choice *was = &old->clusters[0].chosen;
    gopt_estimate r = {.value = t->speedup.value / was->speedup.value,
                       .lo = t->speedup.lo / was->speedup.hi,
                       .hi = t->speedup.hi / was->speedup.lo};
    double floor =
        fmax(isfinite(f->noise.floor) ? f->noise.floor : 0, isfinite(old->noise_floor) ? old->noise_floor : 0);
    gopt_verdict v = gopt_verdict_of(&r, floor);
    int n = 0;
    f->verdict.against = gopt_arena_str(&f->arena, path);
    f->verdict.result = v == GOPT_VERDICT_WORSE ? "regression" : v == GOPT_VERDICT_BETTER ? "improvement" : "tie";
    say(f, lines, &n,
        gopt_arena_printf(&f->arena, "speedup over the baseline: %.3f now, %.3f then: ratio %.3f [%.3f, %.3f]",
                          t->speedup.value, was->speedup.value, r.value, r.lo, r.hi));
    if (was->peak_bytes > 0 && t->memory.peak > 0)
        say(f, lines, &n,
            gopt_arena_printf(&f->arena, "peak memory: %lld bytes now, %lld then", (long long)t->memory.peak,
                              (long long)was->peak_bytes));
    if (strcmp(old->device_fingerprint, f->device.fingerprint) != 0)
        say(f, lines, &n, gopt_arena_printf(&f->arena, "the machine is another one: %s then", old->device_name));
}

gopt_status gopt_against_judge(gopt_findings *f, const char *path, gopt_err *e)
{
    enum { LINES = 4 };
    gopt_manifest *old;
    GOPT_TRY(gopt_manifest_read(&old, path, e));
    const char **lines = GOPT_NEW(&f->arena, const char *, LINES);
    gopt_status s = lines ? GOPT_OK : gopt_oom(e);
    if (!s && (strcmp(old->model_sha256, f->model.sha256) != 0 || old->n_clusters < 1))
        s = gopt_fail(e, GOPT_EINPUT, "%s: is of another model (%s)", path, old->model_path);
    if (!s && f->clusters[0].chosen_trial >= 0)
        judge(f, old, path, lines);
    gopt_manifest_free(old);
    return s;
}
