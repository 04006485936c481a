/* shares.c: what each pass has of the whole gain. */
#include <math.h>
#include <string.h>

#include "section.h"

static bool fits(const gopt_page *p)
{
    return p->c->attribution.n_shares > 0;
}

/* Leaving the pass out of the whole default, better or worse, says the opposite of its share. */
static bool is_disputed(const gopt_page *p, const gopt_finding_share *s)
{
    for (int i = 0; s->pass && i < p->c->n_left_out; i++) {
        gopt_finding_verdict left_out = p->c->left_out[i].slowdown.verdict;
        if (strcmp(p->c->left_out[i].pass, s->pass) != 0)
            continue;
        return left_out == s->gain.verdict && (left_out == GOPT_FINDING_BETTER || left_out == GOPT_FINDING_WORSE);
    }
    return false;
}

static void write_verdict(const gopt_page *p, gopt_table *t, const gopt_finding_share *s)
{
    gopt_finding_verdict v = s->gain.verdict;
    if (is_disputed(p, s))
        gopt_table_text(t, GOPT_TONE_PLAIN, "disputed");
    else if (v == GOPT_FINDING_BETTER)
        gopt_table_text(t, GOPT_TONE_GOOD, "helps");
    else if (v == GOPT_FINDING_WORSE)
        gopt_table_text(t, GOPT_TONE_BAD, "in the way");
    else
        gopt_page_verdict(t, v, v == GOPT_FINDING_TIE ? gopt_page_tie(p, &s->gain) : NULL);
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
        write_verdict(p, t, &a->shares[i]);
        gopt_table_figure(t, a->shares[i].share, GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "The factors multiply to %.3f, the speedup of the default (trial %d). Each is a Shapley value: "
        "what the pass brings when passes are added one by one, averaged over %lld of %lld orders that "
        "were measured through. A factor whose interval excludes 1 and that is beyond the noise (%.1f %%) "
        "helps when it is above 1 and is in the way when it is below; disputed: the default without the pass has "
        "the opposite verdict. %s",
        a->total, a->trial, (long long)a->orders, (long long)a->all_orders, 100 * gopt_page_beyond(p),
        gopt_page_tie_note);
}

const gopt_section gopt_section_shares = {
    .title = "What each pass has of the gain", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
