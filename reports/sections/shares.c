/* shares.c: what each pass has of the whole gain. */
#include <math.h>

#include "section.h"

static bool fits(const gopt_page *p)
{
    return p->c->attribution.n_shares > 0;
}

static void write_verdict(gopt_table *t, gopt_finding_verdict v)
{
    if (v == GOPT_FINDING_BETTER)
        gopt_table_text(t, GOPT_TONE_GOOD, "helps");
    else if (v == GOPT_FINDING_WORSE)
        gopt_table_text(t, GOPT_TONE_BAD, "in the way");
    else
        gopt_page_verdict(t, v, v == GOPT_FINDING_TIE ? "none" : NULL);
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "pass", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "factor", .kind = GOPT_COLUMN_RATIO},
                                          {.title = "effect", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "of the gain", .kind = GOPT_COLUMN_SHARE, .bar = true}};
    const gopt_finding_attribution *a = &p->c->attribution;
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < a->n_shares; i++) {
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", a->shares[i].pass ? a->shares[i].pass : "all others");
        gopt_page_ratio(t, &a->shares[i].gain);
        write_verdict(t, a->shares[i].gain.verdict);
        gopt_table_figure(t, a->shares[i].share, GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
    gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                      "The factors multiply to %.3f, the speedup of the default (trial %d). Each is a Shapley value: "
                      "what the pass brings when passes are added one by one, averaged over %lld of %lld orders that "
                      "were measured through.",
                      a->total, a->trial, (long long)a->orders, (long long)a->all_orders);
}

const gopt_section gopt_section_shares = {
    .title = "What each pass has of the gain", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
