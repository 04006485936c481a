/* passes.c: what every pass does alone and what is lost without it. */
#include <math.h>
#include <string.h>

#include "section.h"

static const gopt_finding_left_out *without(const gopt_finding_cluster *c, const char *pass)
{
    for (int i = 0; i < c->n_left_out; i++)
        if (!strcmp(c->left_out[i].pass, pass))
            return &c->left_out[i];
    return NULL;
}

static bool is_single(const gopt_finding_cluster *c, const char *pass)
{
    for (int i = 0; i < c->n_single; i++)
        if (!strcmp(c->single[i].pass, pass))
            return true;
    return false;
}

/* What compiles to the same plan was not timed again: the ratio is 1 by definition. */
static bool is_same_plan(const gopt_finding_ratio *r)
{
    return fabs(r->value - 1) <= 0 && r->hi - r->lo <= 0;
}

/* The verdict is on leaving the pass out; a reader asks about the pass. */
static void write_left_out(const gopt_page *p, gopt_table *t, const gopt_finding_left_out *l)
{
    gopt_finding_verdict v = l ? l->slowdown.verdict : GOPT_FINDING_UNKNOWN;
    if (l && is_same_plan(&l->slowdown)) {
        gopt_table_text(t, GOPT_TONE_MUTED, "same plan");
        gopt_table_text(t, GOPT_TONE_MUTED, "without effect");
        return;
    }
    gopt_page_ratio(t, l ? &l->slowdown : &gopt_finding_ratio_unknown);
    if (v == GOPT_FINDING_WORSE)
        gopt_table_text(t, GOPT_TONE_GOOD, "needed");
    else if (v == GOPT_FINDING_BETTER)
        gopt_table_text(t, GOPT_TONE_BAD, "in the way");
    else
        gopt_page_verdict(t, v, l ? gopt_page_tie(p, &l->slowdown) : NULL);
}

static void write_single(const gopt_page *p, gopt_table *t, const gopt_finding_single *s)
{
    const gopt_finding_trial *baseline = gopt_finding_trial_find(p->c, p->c->baseline_trial);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", s->pass);
    if (is_same_plan(&s->speedup))
        gopt_table_text(t, GOPT_TONE_MUTED, "same plan");
    else
        gopt_page_ratio(t, &s->speedup);
    gopt_page_verdict(t, s->speedup.verdict, gopt_page_tie(p, &s->speedup));
    write_left_out(p, t, without(p->c, s->pass));
    gopt_table_figure(t, s->memory_saving, GOPT_TONE_PLAIN);
    gopt_table_figure(t, gopt_known(s->compile) - (baseline ? gopt_known(baseline->compile.total) : NAN),
                      GOPT_TONE_PLAIN);
}

static bool fits(const gopt_page *p)
{
    return p->c->n_single + p->c->n_left_out > 0;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "pass", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "alone: speedup", .kind = GOPT_COLUMN_RATIO},
                                          {.title = "verdict", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "left out: slowdown", .kind = GOPT_COLUMN_RATIO},
                                          {.title = "the pass is", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "memory saved", .kind = GOPT_COLUMN_SHARE},
                                          {.title = "more compiling", .kind = GOPT_COLUMN_TIME}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->c->n_single; i++)
        write_single(p, t, &p->c->single[i]);
    for (int i = 0; i < p->c->n_left_out; i++)
        if (!is_single(p->c, p->c->left_out[i].pass)) {
            gopt_finding_single none = {p->c->left_out[i].pass,
                                        -1,
                                        gopt_finding_ratio_unknown,
                                        NAN,
                                        GOPT_UNKNOWN,
                                        NAN,
                                        NAN,
                                        NAN,
                                        NAN,
                                        false,
                                        NULL};
            write_single(p, t, &none);
        }
    gopt_table_end(t);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Alone: baseline with only this pass, against the baseline. Left out: default without it, against "
        "the default: above 1 the default needs it, below 1 it is in the way. %s",
        gopt_page_tie_note);
    gopt_page_figure(p, "pass_effects");
}

const gopt_section gopt_section_passes = {
    .title = "Passes, one at a time", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
