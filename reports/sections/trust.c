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
        gopt_text_add(&t, "; what was measured waited for a processor for %.1f %% of the time", 100 * n->waited);
    if (isfinite(n->steal))
        gopt_text_add(&t, "; the hypervisor took %.1f %%", 100 * n->steal);
    if (isfinite(n->spread))
        gopt_text_add(&t, "; the baseline's own time spread by %.0f %% from 10th to 90th percentile", 100 * n->spread);
    return gopt_page_keep(p, &t);
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
    if (isnan(n->floor))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, tone,
                          "Noise: not known, it was timed too seldom; take no difference for granted.");
    else
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
                          "Noise: the floor is %.2f %%, what the baseline differs from itself by; differences up to "
                          "%.1f %% count as ties.",
                          100 * n->floor, 100 * fmax(0.01, 2 * n->floor));
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
        "Course: %s of %s, stopped: %s; %d trials, of which %d ran, %d were pruned and %d failed; seed %lld.",
        gopt_text_ns(elapsed, p->f->elapsed_s * 1e9), gopt_text_ns(budget, p->f->budget_s * 1e9),
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
    gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                      "Brackets hold 95 %% intervals. Speedup S = T_base / T from paired rounds; better and worse only "
                      "beyond the noise. n/a: not known, or more than the samples can support.");
}

const gopt_section gopt_section_trust = {.place = GOPT_SECTION_FIRST, .write = write};
