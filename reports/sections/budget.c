/* budget.c: what the job's time went into. */
#include "section.h"

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "part", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "time", .kind = GOPT_COLUMN_SECONDS},
                                          {.title = "share", .kind = GOPT_COLUMN_SHARE, .bar = true}};
    const gopt_finding_accounting *a = &p->f->accounting;
    const struct {
        const char *name;
        double s;
    } part[] = {{"compiling candidates", a->compile},
                {"verifying them", a->verify},
                {"measuring", a->measure},
                {"searching", a->search},
                {"other", a->other},
                {"all", p->f->elapsed_s}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < GOPT_COUNT(part); i++) {
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", part[i].name);
        gopt_table_figure(t, part[i].s, GOPT_TONE_PLAIN);
        gopt_table_figure(t, part[i].s / p->f->elapsed_s, GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
}

const gopt_section gopt_section_budget = {.title = "The budget", .place = GOPT_SECTION_LAST, .write = write};
