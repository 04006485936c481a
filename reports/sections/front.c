/* front.c: what no other trial beats in latency, memory and compile cost together, the fastest first. */
#include <math.h>
#include <stdlib.h>

#include "section.h"

enum { DIFFERENCES = 3 };

typedef struct member {
    const gopt_finding_trial *trial;
} member;

static int by_latency(const void *a, const void *b)
{
    int64_t x = ((const member *)a)->trial->latency.median, y = ((const member *)b)->trial->latency.median;
    return (x > y) - (x < y);
}

static bool wins(const gopt_finding_regime *r, int n, int trial)
{
    for (int i = 0; i < n; i++)
        if (r[i].trial == trial)
            return true;
    return false;
}

static bool is_shown(const gopt_finding_cluster *c, int trial)
{
    return gopt_finding_on_front(c, trial) || *gopt_finding_role_name(c, trial) || wins(c->alpha, c->n_alpha, trial) ||
           wins(c->requests, c->n_requests, trial);
}

/* Members; baseline and default to compare with; what other weights would choose. In the document's arena. */
static const member *collect(const gopt_page *p, int *n)
{
    member *members = GOPT_NEW(&p->d->arena, member, p->c->n_trials);
    *n = 0;
    for (int i = 0; members && i < p->c->n_trials; i++) {
        const gopt_finding_trial *t = &p->c->trials[i];
        if (gopt_finding_trial_is_ok(t) && is_shown(p->c, t->id))
            members[(*n)++].trial = t;
    }
    if (members)
        qsort(members, (size_t)*n, sizeof(*members), by_latency);
    return members;
}

static void write_difference(const gopt_page *p, gopt_table *t, const gopt_finding_trial *trial)
{
    const gopt_finding_trial *from = gopt_finding_trial_find(p->c, p->c->default_trial);
    gopt_text text = {0};
    if (from && from != trial && trial->id != p->c->baseline_trial)
        gopt_page_difference(&text, trial, from, DIFFERENCES);
    gopt_table_text(t, GOPT_TONE_MUTED, "%s", gopt_page_keep(p, &text));
}

/* U = S / (1 + alpha T_compile / T_run), T_run = T_base / S. */
static double utility(const gopt_page *p, const gopt_finding_trial *t, double speedup)
{
    const gopt_finding_trial *base = gopt_finding_trial_find(p->c, p->c->baseline_trial);
    double hit_rate = isfinite(p->f->traffic.hit_rate) ? p->f->traffic.hit_rate : 0;
    double compile = gopt_known(t->compile.total) * (1 - hit_rate);
    return speedup /
           (1 + p->f->settings.alpha * compile * speedup / gopt_known(base ? base->latency.median : GOPT_UNKNOWN));
}

static void write_final(const gopt_finding_cluster *c, gopt_table *t, const gopt_finding_trial *trial)
{
    const gopt_finding_trial *base = gopt_finding_trial_find(c, c->baseline_trial);
    if (base && base->latency.in_final)
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", trial->latency.in_final ? "yes" : "no");
    else
        gopt_table_text(t, GOPT_TONE_MUTED, "n/a"); /* there was none */
}

static void write_row(const gopt_page *p, gopt_table *t, const gopt_finding_trial *trial)
{
    bool on_front = gopt_finding_on_front(p->c, trial->id);
    gopt_page_trial(t, p->c, trial->id);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", on_front ? "yes" : "no");
    write_final(p->c, t, trial);
    gopt_page_threads(t, trial);
    gopt_page_ratio(t, &trial->speedup);
    gopt_page_verdict(t, trial->speedup.verdict, gopt_page_tie(p, &trial->speedup));
    gopt_table_figure(t, gopt_known(trial->latency.median), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(trial->memory.peak), GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(trial->compile.total), GOPT_TONE_PLAIN);
    if (trial->break_even_requests >= 0 && !(trial->speedup.lo > 1))
        gopt_table_text(t, GOPT_TONE_MUTED, "uncertain");
    else if (trial->break_even_requests >= 0)
        gopt_table_figure(t, ceil(trial->break_even_requests), GOPT_TONE_PLAIN);
    else
        gopt_table_text(t, GOPT_TONE_MUTED, "never");
    gopt_table_interval(t, trial->utility, utility(p, trial, trial->speedup.lo), utility(p, trial, trial->speedup.hi),
                        GOPT_TONE_PLAIN);
    write_difference(p, t, trial);
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {
        {.title = "trial", .kind = GOPT_COLUMN_TEXT},
        {.title = "front", .kind = GOPT_COLUMN_TEXT},
        {.title = "final", .kind = GOPT_COLUMN_TEXT, .optional = true},
        {.title = "threads", .kind = GOPT_COLUMN_COUNT, .optional = true},
        {.title = "speedup", .kind = GOPT_COLUMN_RATIO},
        {.title = "verdict", .kind = GOPT_COLUMN_TEXT},
        {.title = "median", .kind = GOPT_COLUMN_TIME},
        {.title = "peak", .kind = GOPT_COLUMN_BYTES},
        {.title = "compile", .kind = GOPT_COLUMN_TIME},
        {.title = "break-even", .kind = GOPT_COLUMN_COUNT},
        {.title = "utility", .kind = GOPT_COLUMN_RATIO},
        {.title = "differs from the default by", .kind = GOPT_COLUMN_TEXT, .prose = true}};
    char alpha[32];
    int n;
    const member *members = collect(p, &n);
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < n; i++)
        write_row(p, t, members[i].trial);
    gopt_table_end(t);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Left out: what one of these stands for, being no slower beyond the intervals, with no more "
        "memory (1 %%) and no more compiling (5 %%). Not on the front, but shown: baseline, default, what "
        "wins below under other weights. Final: timed again on fresh samples at the end. For a trial that "
        "was not, decisions count the low ends of speedup and utility. Break-even N = T_compile / (T_base - T_run) "
        "requests, uncertain where the interval of the speedup reaches 1. Utility U = S / (1 + "
        "alpha T_compile / T_run), "
        "alpha %s. %s",
        gopt_page_number(alpha, p->f->settings.alpha), gopt_page_tie_note);
    gopt_page_figure(p, "cost_benefit");
}

const gopt_section gopt_section_front = {.title = "The front", .place = GOPT_SECTION_CLUSTER, .write = write};
