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

/* What compiles to the plan that it is compared with was not timed again: there is no ratio. */
static void write_same_plan(gopt_table *t)
{
    gopt_table_text(t, GOPT_TONE_MUTED, "same plan");
    gopt_table_text(t, GOPT_TONE_MUTED, "without effect");
}

static const gopt_finding_step *step_of(const gopt_finding_cluster *c, const char *pass)
{
    for (int i = 0; i < c->n_steps; i++)
        if (!strcmp(c->steps[i].pass, pass))
            return &c->steps[i];
    return NULL;
}

/* Why nothing is known of the default without the pass. */
static const char *no_left_out(const gopt_finding_cluster *c, const char *pass)
{
    const gopt_finding_step *s = step_of(c, pass);
    return c->n_steps && !s ? "not in default" : s && s->idle ? "nothing to do" : "not timed";
}

/* The verdict is on leaving the pass out; a reader asks about the pass. */
static void write_left_out(const gopt_page *p, gopt_table *t, const char *pass)
{
    const gopt_finding_left_out *l = without(p->c, pass);
    gopt_finding_verdict v = l ? l->slowdown.verdict : GOPT_FINDING_UNKNOWN;
    if (l && l->trial == p->c->default_trial) {
        write_same_plan(t);
        return;
    }
    if (l)
        gopt_page_ratio(t, &l->slowdown);
    else
        gopt_table_text(t, GOPT_TONE_MUTED, "%s", no_left_out(p->c, pass));
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
    bool same = s->trial >= 0 && s->trial == p->c->baseline_trial;
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", s->pass);
    if (same) {
        write_same_plan(t);
    } else {
        if (s->trial < 0)
            gopt_table_text(t, GOPT_TONE_MUTED, "not timed");
        else
            gopt_page_ratio(t, &s->speedup);
        gopt_page_verdict(t, s->speedup.verdict, gopt_page_tie(p, &s->speedup));
    }
    write_left_out(p, t, s->pass);
    gopt_table_figure(t, s->memory_saving, GOPT_TONE_PLAIN);
    gopt_table_figure(t, same ? NAN : gopt_known(s->compile) - (baseline ? gopt_known(baseline->compile.total) : NAN),
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
            gopt_finding_single none = {.pass = p->c->left_out[i].pass,
                                        .trial = -1,
                                        .speedup = gopt_finding_ratio_unknown,
                                        .memory_saving = NAN,
                                        .compile = GOPT_UNKNOWN};
            write_single(p, t, &none);
        }
    gopt_table_end(t);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Alone: baseline with only this pass, against the baseline. Left out: default without it, against "
        "the default: above 1 the default needs it, below 1 it is in the way. Same plan: it changes nothing there, so "
        "that "
        "nothing was timed. Nothing to do: the default runs the pass, which finds no work. Not timed: it failed, or "
        "the "
        "budget ended before. %s",
        gopt_page_tie_note);
    gopt_page_figure(p, "pass_effects");
}

const gopt_section gopt_section_passes = {
    .title = "Passes, one at a time", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
