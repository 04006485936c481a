/* steps.c: the default pipeline, pass after pass. */
#include "section.h"

static bool fits(const gopt_page *p)
{
    return p->c->n_steps > 0;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "pass", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "nodes before", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "after", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "change", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "kernels after", .kind = GOPT_COLUMN_COUNT, .optional = true},
                                          {.title = "arena after", .kind = GOPT_COLUMN_BYTES, .optional = true},
                                          {.title = "latency after", .kind = GOPT_COLUMN_TIME, .optional = true}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->c->n_steps; i++) {
        const gopt_finding_step *s = &p->c->steps[i];
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", s->pass);
        gopt_table_figure(t, gopt_known(s->nodes_before), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(s->nodes_after), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(s->nodes_after) - gopt_known(s->nodes_before), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(s->kernels_after), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(s->arena_after), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(s->latency), GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
}

const gopt_section gopt_section_steps = {
    .title = "The default pipeline, step by step", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
