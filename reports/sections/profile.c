/* profile.c: where the time of one inference goes, from traced runs of their own. */
#include <math.h>

#include "section.h"

enum { ROWS = 15 };

static void write_rest(gopt_table *t, const gopt_finding_profile *r)
{
    int64_t calls = 0, ns = 0;
    double share = 0;
    if (r->n_hotspots <= ROWS)
        return;
    for (int i = ROWS; i < r->n_hotspots; i++) {
        calls += r->hotspots[i].calls;
        ns += r->hotspots[i].ns;
        share += r->hotspots[i].share;
    }
    gopt_table_text(t, GOPT_TONE_MUTED, "%d more", r->n_hotspots - ROWS);
    gopt_table_text(t, GOPT_TONE_MUTED, " ");
    gopt_table_figure(t, (double)calls, GOPT_TONE_PLAIN);
    gopt_table_figure(t, (double)ns, GOPT_TONE_PLAIN);
    gopt_table_figure(t, share, GOPT_TONE_PLAIN);
}

static bool has_bodies(const gopt_finding_profile *r)
{
    for (int i = 0; i < r->n_hotspots; i++)
        if (r->hotspots[i].has_bodies)
            return true;
    return false;
}

/* Clock reads only add time: with less, the traced run was no slower for another reason. */
static const char *about_trace(double inflation, double beyond)
{
    if (inflation > beyond)
        return "; times and shares are those of the traced run, in which many short operators have too much.";
    if (inflation >= -beyond)
        return ", which is no more than noise: times and shares are those of the traced run and hold for both.";
    return ", although clock reads only add time: it was timed at another moment, when the machine was faster. The "
           "shares hold; the times compare with each other, not with latencies elsewhere.";
}

static void write_profile(const gopt_page *p, const gopt_finding_profile *r)
{
    static const gopt_column columns[] = {{.title = "operator", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "kernel", .kind = GOPT_COLUMN_TEXT, .optional = true},
                                          {.title = "calls", .kind = GOPT_COLUMN_COUNT},
                                          {.title = "time", .kind = GOPT_COLUMN_TIME},
                                          {.title = "share", .kind = GOPT_COLUMN_SHARE, .bar = true}};
    const char *role = gopt_finding_role_name(p->c, r->trial);
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Trial %d%s%s%s:", r->trial, *role ? " (" : "", role,
                      *role ? ")" : "");
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < GOPT_MIN(r->n_hotspots, ROWS); i++) {
        const gopt_finding_hotspot *h = &r->hotspots[i];
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", h->name ? h->name : "n/a");
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", h->kernel ? h->kernel : "n/a");
        gopt_table_figure(t, gopt_known(h->calls), GOPT_TONE_PLAIN);
        gopt_table_figure(t, gopt_known(h->ns), GOPT_TONE_PLAIN);
        gopt_table_figure(t, h->share, GOPT_TONE_PLAIN);
    }
    write_rest(t, r);
    gopt_table_end(t);
    if (has_bodies(r))
        gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                          "If, Loop and Scan run the steps of their bodies, compiled like all others: what the table "
                          "counts there as native and reference. A trace takes their time as one.");
    if (isfinite(r->inflation))
        gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                          "The traced run took %.3f times as long as one without clock reads%s", r->inflation,
                          about_trace(log(r->inflation), gopt_page_beyond(p)));
}

static bool is_traced(const gopt_page *p, int trial)
{
    for (int i = 0; i < p->c->n_profiles; i++)
        if (p->c->profiles[i].trial == trial)
            return true;
    return false;
}

static bool fits(const gopt_page *p)
{
    return p->c->n_profiles > 0;
}

static void write(const gopt_page *p)
{
    for (int i = 0; i < p->c->n_profiles; i++)
        write_profile(p, &p->c->profiles[i]);
    if (p->c->chosen_trial >= 0 && !is_traced(p, p->c->chosen_trial))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Trial %d (%s) was not traced.", p->c->chosen_trial,
                          gopt_finding_role_name(p->c, p->c->chosen_trial));
}

const gopt_section gopt_section_profile = {
    .title = "Where the time goes", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
