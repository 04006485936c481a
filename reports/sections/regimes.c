/* regimes.c: for which alpha and which number of requests another trial would be the choice. */
#include <math.h>

#include "section.h"

/* There are only whole requests. */
static double whole(double v, gopt_column_kind kind)
{
    return kind == GOPT_COLUMN_COUNT ? ceil(v) : v;
}

static void write_end(gopt_table *t, double v, gopt_column_kind kind)
{
    if (isfinite(v))
        gopt_table_figure(t, whole(v, kind), GOPT_TONE_PLAIN);
    else
        gopt_table_text(t, GOPT_TONE_PLAIN, "any");
}

static void write_regime(const gopt_page *p, const gopt_column *columns, const gopt_finding_regime *r, int n)
{
    gopt_table *t = gopt_table_begin(p->d, columns, 4);
    for (int i = 0; i < n; i++) {
        const gopt_finding_trial *winner = gopt_finding_trial_find(p->c, r[i].trial);
        gopt_table_figure(t, whole(r[i].from, columns[0].kind), GOPT_TONE_PLAIN);
        write_end(t, r[i].to, columns[1].kind);
        gopt_page_trial(t, p->c, r[i].trial);
        gopt_page_ratio(t, winner ? &winner->speedup : &gopt_finding_ratio_unknown);
    }
    gopt_table_end(t);
}

static bool fits(const gopt_page *p)
{
    return p->c->n_alpha + p->c->n_requests > 0;
}

static void write(const gopt_page *p)
{
    static const gopt_column alpha[] = {{.title = "alpha from", .kind = GOPT_COLUMN_NUMBER},
                                        {.title = "to below", .kind = GOPT_COLUMN_NUMBER},
                                        {.title = "highest utility", .kind = GOPT_COLUMN_TEXT},
                                        {.title = "speedup", .kind = GOPT_COLUMN_RATIO}};
    static const gopt_column requests[] = {{.title = "requests from", .kind = GOPT_COLUMN_COUNT},
                                           {.title = "to below", .kind = GOPT_COLUMN_COUNT},
                                           {.title = "least wall time", .kind = GOPT_COLUMN_TEXT},
                                           {.title = "speedup", .kind = GOPT_COLUMN_RATIO}};
    char now[32];
    write_regime(p, alpha, p->c->alpha, p->c->n_alpha);
    write_regime(p, requests, p->c->requests, p->c->n_requests);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "By medians, and for a trial that was not in the final (see the front) by the low end of its "
        "speedup: neighbours may be within the noise of each other. Utility U = S / (1 + alpha T_compile / T_run), "
        "here alpha = %s. Wall time T_wall(n) = T_compile + n "
        "T_run. Where the compile cache hits with rate h, (1 - h) T_compile counts.",
        gopt_page_number(now, p->f->settings.alpha));
    gopt_page_figure(p, "wall_time");
}

const gopt_section gopt_section_regimes = {
    .title = "When another would win", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
