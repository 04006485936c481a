/* memory.c: where the peak memory goes, before and after. */
#include "stacked.h"

static bool known(const gopt_finding_trial *t)
{
    const gopt_finding_memory *m = &t->memory;
    return m->peak > 0 && m->weights != GOPT_UNKNOWN && m->arena != GOPT_UNKNOWN && m->workspace != GOPT_UNKNOWN &&
           m->runtime != GOPT_UNKNOWN;
}

static gopt_stacked stack(const gopt_finding_cluster *c)
{
    const gopt_finding_trial *trial[GOPT_STACKED_BARS];
    int n = gopt_finding_roles(c, trial);
    gopt_stacked s = {.unit = "KiB",
                      .scale = 1024,
                      .print = gopt_text_bytes,
                      .part = {"weights", "arena", "workspace", "runtime"},
                      .n_parts = 4};
    for (int i = 0; i < n; i++) {
        const gopt_finding_memory *m = &trial[i]->memory;
        if (!known(trial[i]))
            continue;
        double part[] = {(double)m->weights, (double)m->arena, (double)m->workspace, (double)m->runtime};
        for (int k = 0; k < s.n_parts; k++)
            s.value[s.n_bars][k] = part[k];
        s.total[s.n_bars] = (double)m->peak;
        s.trial[s.n_bars++] = trial[i]->id;
        if (m->peak > 2 << 20) {
            s.unit = "MiB";
            s.scale = 1 << 20;
        }
    }
    return s;
}

static bool fits(const gopt_finding_cluster *c)
{
    return stack(c).n_bars > 0;
}

static int height(const gopt_finding_cluster *c)
{
    return gopt_stacked_height(stack(c).n_bars);
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    const gopt_finding_trial *t = gopt_finding_trial_find(c, c->chosen_trial);
    char buf[32];
    (void)f;
    if (!t || t->memory.peak == GOPT_UNKNOWN)
        gopt_text_put(out, "Peak memory");
    else if (t->memory.saving >= 0.0005 || t->memory.saving <= -0.0005)
        gopt_text_add(out, "The choice peaks at %s, %.1f %% %s than the baseline",
                      gopt_text_bytes(buf, (double)t->memory.peak), 100 * __builtin_fabs(t->memory.saving),
                      t->memory.saving > 0 ? "less" : "more");
    else
        gopt_text_add(out, "The choice peaks at %s", gopt_text_bytes(buf, (double)t->memory.peak));
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    gopt_stacked s = stack(c);
    (void)f;
    gopt_stacked_write_data(out, &s, c);
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    gopt_stacked s = stack(c);
    (void)f;
    gopt_stacked_write_script(out, &s, "peak memory");
}

const gopt_figure gopt_figure_memory = {
    .name = "memory",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
