/* choice.c: the choice beside default and baseline, why it was chosen, and how it differs. */
#include <math.h>

#include "section.h"

static void write_row(gopt_table *t, const gopt_finding_cluster *c, const gopt_finding_trial *trial)
{
    const gopt_finding_latency *l = &trial->latency;
    gopt_page_trial(t, c, trial->id);
    gopt_page_threads(t, trial);
    gopt_table_interval(t, gopt_known(l->median), gopt_known(l->lo), gopt_known(l->hi), GOPT_TONE_PLAIN);
    gopt_table_figure(t, l->mean, GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(l->p90), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(l->p95), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(l->p99), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(l->samples), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(l->repeats), GOPT_TONE_PLAIN);
    gopt_table_figure(t, trial->throughput_per_s, GOPT_TONE_PLAIN);
}

/* What the figures are, and of what; why there are no percentiles. */
static void write_latency_note(const gopt_page *p, const gopt_finding_trial *const *trial, int n)
{
    bool means = false;
    for (int i = 0; i < n; i++)
        means |= trial[i]->latency.repeats > 1;
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Median latency: the baseline's median divided by the paired speedup, which is the trial's at the usual speed "
        "of "
        "the machine during this job; it is not the plain median of the trial's own samples. Its interval covers what "
        "differs within this job, between its rounds and the heats of its final, and neither other days nor other "
        "sessions: those may differ by 15 %% and more, and gopt check --measure allows for that. Mean and percentiles "
        "are those of the trial's own samples, scaled to that median; a sample is the mean of so many inferences "
        "in a row.%s",
        means ? " p90, p95 and p99 are n/a where that is more than one: means of several have no percentiles of "
                "requests. Tune with --objective p99, which times every inference alone; add --fresh where the job was "
                "begun without it."
              : "");
}

static void write_latency(const gopt_page *p, const gopt_finding_trial *const *trial, int n)
{
    static const gopt_column columns[] = {{.title = "trial", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "threads", .kind = GOPT_COLUMN_COUNT, .optional = true},
                                          {.title = "median latency", .kind = GOPT_COLUMN_TIME, .group = 1},
                                          {.title = "mean", .kind = GOPT_COLUMN_TIME, .group = 1},
                                          {.title = "p90", .kind = GOPT_COLUMN_TIME, .group = 1},
                                          {.title = "p95", .kind = GOPT_COLUMN_TIME, .group = 1},
                                          {.title = "p99", .kind = GOPT_COLUMN_TIME, .group = 1},
                                          {.title = "own samples", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "inferences each", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "runs per s", .kind = GOPT_COLUMN_NUMBER}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < n; i++)
        write_row(t, p->c, trial[i]);
    gopt_table_end(t);
    write_latency_note(p, trial, n);
}

static void write_differences(const gopt_page *p, const gopt_finding_trial *chosen, const gopt_finding_trial *from)
{
    gopt_text t = {0};
    gopt_page_difference(&t, chosen, from, 1000);
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Differs from the default by: %s.",
                      gopt_page_keep(p, &t));
}

static void write_pipeline(const gopt_page *p, const gopt_finding_trial *chosen)
{
    gopt_text t = {0};
    if (chosen->n_pipeline == 0)
        gopt_text_put(&t, "no passes");
    for (int i = 0; i < chosen->n_pipeline; i++)
        gopt_text_add(&t, "%s%s", i ? ", " : "", chosen->pipeline[i]);
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Pipeline: %s.", gopt_page_keep(p, &t));
}

static void write_constraints(const gopt_page *p)
{
    const gopt_finding_settings *s = &p->f->settings;
    char memory[32], compile[32], latency[32];
    if (s->max_memory == GOPT_UNKNOWN && s->max_compile == GOPT_UNKNOWN && s->max_latency == GOPT_UNKNOWN)
        return;
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
                      "Constraints in force: memory %s, time to compile %s, latency %s.",
                      s->max_memory == GOPT_UNKNOWN ? "none" : gopt_text_bytes(memory, (double)s->max_memory),
                      s->max_compile == GOPT_UNKNOWN ? "none" : gopt_text_ns(compile, (double)s->max_compile),
                      s->max_latency == GOPT_UNKNOWN ? "none" : gopt_text_ns(latency, (double)s->max_latency));
}

static bool fits(const gopt_page *p)
{
    return gopt_finding_trial_find(p->c, p->c->chosen_trial) != NULL;
}

static void write(const gopt_page *p)
{
    const gopt_finding_trial *role[GOPT_FINDING_ROLES], *chosen = gopt_finding_trial_find(p->c, p->c->chosen_trial);
    const gopt_finding_trial *by_default = gopt_finding_trial_find(p->c, p->c->default_trial);
    char absolute[32], relative[32];
    write_latency(p, role, gopt_finding_roles(p->c, role));
    if (p->c->reason)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Why: %s.", p->c->reason);
    write_constraints(p);
    write_pipeline(p, chosen);
    if (by_default && by_default != chosen)
        write_differences(p, chosen, by_default);
    if (isfinite(chosen->max_rel) || isfinite(chosen->max_abs))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
                          "Largest error against the reference: absolute %s, relative %s.",
                          gopt_page_number(absolute, chosen->max_abs), gopt_page_number(relative, chosen->max_rel));
}

const gopt_section gopt_section_choice = {
    .title = "The choice", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
