/* rejected.c: what was tried and did not count, by reason. */
#include <string.h>

#include "section.h"

enum { ROWS = 25, EXAMPLES = 6 };

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Which trial has the same plan makes no other reason. */
static bool is_copy(const gopt_finding_trial *t)
{
    static const char why[] = "same plan as trial ";
    return t->why && !strncmp(t->why, why, strlen(why));
}

static bool alike(const gopt_finding_trial *a, const gopt_finding_trial *b)
{
    return same(a->status, b->status) && (same(a->why, b->why) || (is_copy(a) && is_copy(b)));
}

/* The first of its kind stands for all of them. */
static bool is_first(const gopt_finding_cluster *c, int i)
{
    for (int k = 0; k < i; k++)
        if (alike(&c->trials[k], &c->trials[i]))
            return false;
    return !gopt_finding_trial_is_ok(&c->trials[i]);
}

static void write_row(const gopt_page *p, gopt_table *t, int first)
{
    const gopt_finding_trial *kind = &p->c->trials[first];
    gopt_text ids = {0};
    int n = 0;
    for (int i = first; i < p->c->n_trials; i++)
        if (alike(kind, &p->c->trials[i]) && n++ < EXAMPLES)
            gopt_text_add(&ids, "%s%d", n > 1 ? ", " : "", p->c->trials[i].id);
    gopt_text_put(&ids, n > EXAMPLES ? ", ..." : "");
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", kind->status ? kind->status : "n/a");
    gopt_table_figure(t, n, GOPT_TONE_PLAIN);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s",
                    is_copy(kind) ? "same plan as an earlier trial"
                    : kind->why   ? kind->why
                                  : "n/a");
    gopt_table_text(t, GOPT_TONE_MUTED, "%s", gopt_page_keep(p, &ids));
}

static void write_bans(const gopt_page *p)
{
    for (int i = 0; i < p->c->n_bans; i++) {
        const gopt_finding_ban *b = &p->c->bans[i];
        const gopt_finding_trial *t = gopt_finding_trial_find(p->c, b->trial);
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_BAD,
                          "Pass %s was found at fault by halving the pipeline (trial %d: %s) and was left out; all "
                          "other passes stay. To see it:",
                          b->pass, b->trial, t && t->why ? t->why : "no reason given");
        gopt_document_add(p->d, GOPT_BLOCK_CODE, GOPT_TONE_PLAIN, "%s", b->command);
    }
}

static bool fits(const gopt_page *p)
{
    for (int i = 0; i < p->c->n_trials; i++)
        if (!gopt_finding_trial_is_ok(&p->c->trials[i]))
            return true;
    return false;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "status", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "count", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "reason", .kind = GOPT_COLUMN_TEXT, .prose = true},
                                          {.title = "trials", .kind = GOPT_COLUMN_TEXT}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    int rows = 0;
    for (int i = 0; i < p->c->n_trials; i++)
        if (is_first(p->c, i) && rows++ < ROWS)
            write_row(p, t, i);
    gopt_table_end(t);
    write_bans(p);
    if (rows > ROWS)
        gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED, "%d more reasons are in findings.json.", rows - ROWS);
}

const gopt_section gopt_section_rejected = {
    .title = "Failed and pruned", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
