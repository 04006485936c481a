/* pairs.c: passes that help or hinder each other, the strongest evidence first. */
#include <math.h>

#include "section.h"

static bool is_evident(const gopt_finding_pair *p)
{
    return p->eta.verdict == GOPT_FINDING_BETTER || p->eta.verdict == GOPT_FINDING_WORSE;
}

static double strength(const gopt_finding_pair *p)
{
    return p->eta.value > 0 ? fabs(log(p->eta.value)) + (is_evident(p) ? 1e3 : 0) : -1;
}

static void write_row(gopt_table *t, const gopt_finding_cluster *c, const gopt_finding_pair *pair)
{
    const gopt_finding_trial *both = gopt_finding_trial_find(c, pair->trial);
    const char *name = gopt_finding_eta_name(pair->eta.verdict);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", pair->first);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", pair->second);
    gopt_page_ratio(t, &pair->eta);
    gopt_page_verdict(t, pair->eta.verdict, pair->eta.verdict == GOPT_FINDING_TIE ? "no evidence" : name);
    gopt_page_ratio(t, both ? &both->speedup : &gopt_finding_ratio_unknown);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%d", pair->trial);
}

static bool fits(const gopt_page *p)
{
    return p->c->n_pairs > 0;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {
        {.title = "first", .kind = GOPT_COLUMN_TEXT},    {.title = "second", .kind = GOPT_COLUMN_TEXT},
        {.title = "eta", .kind = GOPT_COLUMN_RATIO},     {.title = "evidence", .kind = GOPT_COLUMN_TEXT},
        {.title = "speedup", .kind = GOPT_COLUMN_RATIO}, {.title = "trial", .kind = GOPT_COLUMN_TEXT}};
    const gopt_finding_pair *pairs = p->c->pairs;
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    bool *done = GOPT_NEW(&p->d->arena, bool, p->c->n_pairs);
    for (int n = 0; done && n < p->c->n_pairs; n++) {
        int next = -1;
        for (int i = 0; i < p->c->n_pairs; i++)
            if (!done[i] && (next < 0 || strength(&pairs[i]) > strength(&pairs[next])))
                next = i;
        done[next] = true;
        write_row(t, p->c, &pairs[next]);
    }
    gopt_table_end(t);
    for (int i = 0; i < p->c->n_pairs; i++)
        if (is_evident(&pairs[i]) && pairs[i].why)
            gopt_document_add(p->d, GOPT_BLOCK_TEXT, gopt_page_tone(pairs[i].eta.verdict), "%s of %s and %s: %s.",
                              pairs[i].eta.verdict == GOPT_FINDING_BETTER ? "Synergy" : "Conflict", pairs[i].first,
                              pairs[i].second, pairs[i].why);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "eta = S_ab / (S_a S_b): above 1 the two gain by being together, below 1 they get in each other's "
        "way. There is no evidence while the interval holds 1, while eta is not beyond the noise, or where so many "
        "pairs compared at once show as much by chance (false discovery rate 5 %%). The first runs before the second; "
        "a "
        "pair "
        "stands here both ways round when the order makes another plan.");
    gopt_page_figure(p, "synergy");
}

const gopt_section gopt_section_pairs = {
    .title = "Pairs of passes", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
