/* search.c: how the best came about in time. */
#include "section.h"

static bool fits(const gopt_page *p)
{
    return p->c->n_anytime > 0;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "after", .kind = GOPT_COLUMN_SECONDS},
                                          {.title = "best median so far", .kind = GOPT_COLUMN_TIME},
                                          {.title = "trial", .kind = GOPT_COLUMN_TEXT}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->c->n_anytime; i++) {
        const gopt_finding_moment *m = &p->c->anytime[i];
        gopt_table_figure(t, m->elapsed_s, GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(m->median), GOPT_TONE_PLAIN);
        gopt_page_trial(t, p->c, m->trial);
    }
    gopt_table_end(t);
    gopt_page_figure(p, "anytime");
}

const gopt_section gopt_section_search = {
    .title = "The search in time", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
