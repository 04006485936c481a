/* trust.c: the verdict, and whether to believe it. */
#include <math.h>
#include <string.h>

#include "section.h"

static void write_verdict(const gopt_page *p)
{
    const gopt_finding_decision *v = &p->f->verdict;
    const char *result = v->result ? v->result : "n/a";
    gopt_tone tone = !strcmp(result, "regression")    ? GOPT_TONE_BAD
                     : !strcmp(result, "improvement") ? GOPT_TONE_GOOD
                                                      : GOPT_TONE_PLAIN;
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, tone, "Verdict: %s%s%s%s.", result, v->against ? ", compared with " : "",
                      v->against ? v->against : "",
                      p->f->noise.unquiet ? "; measured on a disturbed machine: rerun when it is quiet" : "");
    for (int i = 0; i < v->n_details; i++)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s", v->details[i]);
}

/* "980 of 981 rounds disturbed; other processes took 43 % of the processors' time, ...". */
static const char *circumstances(const gopt_page *p)
{
    const gopt_finding_noise *n = &p->f->noise;
    gopt_text t = {0};
    if (n->rounds_flagged == GOPT_UNKNOWN)
        gopt_text_put(&t, "disturbed rounds not counted");
    else if (n->rounds > 0)
        gopt_text_add(&t, "%lld of %lld rounds disturbed", (long long)n->rounds_flagged, (long long)n->rounds);
    else
        gopt_text_add(&t, "%lld rounds disturbed", (long long)n->rounds_flagged);
    if (isfinite(n->others))
        gopt_text_add(&t, "; other processes took %.1f %% of the processors' time", 100 * n->others);
    if (isfinite(n->waited))
        gopt_text_add(&t,
                      "; what was measured waited for a processor for %.1f %% of the time, summed over its "
                      "threads",
                      100 * n->waited);
    if (isfinite(n->steal))
        gopt_text_add(&t, "; the hypervisor took %.1f %%", 100 * n->steal);
    if (isfinite(n->spread))
        gopt_text_add(&t, "; the baseline's own time spread by %.0f %% from 10th to 90th percentile", 100 * n->spread);
    return gopt_page_keep(p, &t);
}

static void put_limit(gopt_text *t, const char *what, double share, double limit)
{
    if (share > limit)
        gopt_text_add(t, "%s%s %.1f %%, the limit being %.0f %%", t->n ? "; " : "", what, 100 * share, 100 * limit);
}

/* What made the machine an unquiet one. */
static void write_limits(const gopt_page *p)
{
    const gopt_finding_noise *n = &p->f->noise;
    gopt_text t = {0};
    if (n->rounds > 0 && n->rounds_flagged != GOPT_UNKNOWN)
        put_limit(&t, "disturbed rounds", (double)n->rounds_flagged / (double)n->rounds, GOPT_UNQUIET_ROUNDS);
    put_limit(&t, "processors' time of other processes", n->others, GOPT_UNQUIET_OTHERS);
    put_limit(&t, "processors' time of the hypervisor", n->steal, GOPT_UNQUIET_STEAL);
    const char *beyond = gopt_page_keep(p, &t);
    if (n->unquiet && *beyond)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_BAD, "Why little: %s.", beyond);
}

/* The rule of the verdicts: a difference counts beyond 1 % and beyond twice the noise floor. */
static void write_noise(const gopt_page *p)
{
    const gopt_finding_noise *n = &p->f->noise;
    gopt_tone tone = n->unquiet ? GOPT_TONE_BAD : GOPT_TONE_PLAIN;
    const char *how = n->unquiet        ? "LITTLE, measured on a disturbed machine: rerun when it is quiet"
                      : isnan(n->floor) ? "unknown"
                                        : "the machine was quiet";
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, tone, "Trust: %s (%s).", how, circumstances(p));
    write_limits(p);
    if (isnan(n->floor))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, tone,
                          "Noise: not known, it was timed too seldom; take no difference for granted.");
    else
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
                          "Noise: the floor is %.2f %%, what the baseline differs from itself by; differences up to "
                          "%.1f %% count as ties.",
                          100 * n->floor, 100 * fmax(0.01, 2 * n->floor));
}

/* A job that was continued: its times and trials are those of all runs. */
static const char *in_runs(const gopt_page *p)
{
    gopt_text t = {0};
    for (int i = 0; i < p->f->settings.n_more; i++) {
        const gopt_finding_fact *fact = &p->f->settings.more[i];
        if (!strcmp(fact->name, "runs") && fact->kind == GOPT_FINDING_NUMBER && fact->number > 1)
            gopt_text_add(&t, " in %.0f runs", fact->number);
    }
    return gopt_page_keep(p, &t);
}

static void write_course(const gopt_page *p)
{
    char elapsed[32], budget[32];
    int trials = 0, ok = 0, pruned = 0;
    for (int i = 0; i < p->f->n_clusters; i++)
        for (int k = 0; k < p->f->clusters[i].n_trials; k++) {
            const gopt_finding_trial *t = &p->f->clusters[i].trials[k];
            trials++;
            ok += gopt_finding_trial_is_ok(t);
            pruned += t->status && !strcmp(t->status, "pruned");
        }
    gopt_document_add(
        p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
        "Course: %s of %s%s, stopped: %s; %d trials, of which %d ran, %d were pruned and %d failed; seed %lld.",
        gopt_text_ns(elapsed, p->f->elapsed_s * 1e9), gopt_text_ns(budget, p->f->budget_s * 1e9), in_runs(p),
        p->f->stopped ? p->f->stopped : "n/a", trials, ok, pruned, trials - ok - pruned, (long long)p->f->seed);
}

static void write(const gopt_page *p)
{
    write_verdict(p);
    write_noise(p);
    if (p->f->regime)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Measured: %s.", p->f->regime);
    write_course(p);
    for (int i = 0; i < p->f->n_notes; i++)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Note: %s", p->f->notes[i]);
    if (p->gallery->problem)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s", p->gallery->problem);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Brackets hold 95 %% intervals: of this job, its rounds and heats, not of other days or sessions. "
        "Speedup S = T_base / T from paired rounds; better and worse only beyond the noise. n/a: not known, "
        "or more than the samples can support. Round: everyone is timed once, in random order, the baseline "
        "twice. Race: the rounds in which a few new trials are timed. Final: the best of the races, the "
        "default and the baseline are opened as a deployment opens them and timed on fresh samples. Heat: "
        "one of the parts of the final, each with new processes where the budget allows. Trust is little "
        "beyond %.0f %% disturbed rounds, %.0f %% of the processors' time for other processes or %.0f %% for "
        "the hypervisor.",
        100 * GOPT_UNQUIET_ROUNDS, 100 * GOPT_UNQUIET_OTHERS, 100 * GOPT_UNQUIET_STEAL);
}

const gopt_section gopt_section_trust = {.place = GOPT_SECTION_FIRST, .write = write};
