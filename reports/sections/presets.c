/* presets.c: what the named presets cost for how many requests. */
#include <math.h>

#include "section.h"

static bool fits(const gopt_page *p)
{
    return p->c->n_presets > 1;
}

static void write_best(gopt_table *t, const gopt_finding_preset *s)
{
    if (isnan(s->best_from))
        gopt_table_text(t, GOPT_TONE_MUTED, "never");
    else if (isnan(s->best_to))
        gopt_table_text(t, GOPT_TONE_GOOD, "from %.0f requests on", ceil(s->best_from));
    else
        gopt_table_text(t, GOPT_TONE_GOOD, "%.0f to %.0f requests", ceil(s->best_from), ceil(s->best_to) - 1);
}

static void write(const gopt_page *p)
{
    static const double requests[] = {1, 100, 10000, 1000000};
    static const gopt_column columns[] = {
        {.title = "preset", .kind = GOPT_COLUMN_TEXT},         {.title = "trial", .kind = GOPT_COLUMN_TEXT},
        {.title = "compile", .kind = GOPT_COLUMN_TIME},        {.title = "latency", .kind = GOPT_COLUMN_TIME},
        {.title = "1 request", .kind = GOPT_COLUMN_TIME},      {.title = "100", .kind = GOPT_COLUMN_TIME},
        {.title = "10 000", .kind = GOPT_COLUMN_TIME},         {.title = "1 000 000", .kind = GOPT_COLUMN_TIME},
        {.title = "least wall time", .kind = GOPT_COLUMN_TEXT}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->c->n_presets; i++) {
        const gopt_finding_preset *s = &p->c->presets[i];
        gopt_table_text(t, GOPT_TONE_PLAIN, "%s", s->name);
        gopt_page_trial(t, p->c, s->trial);
        gopt_table_figure(t, s->compile_ns, GOPT_TONE_PLAIN);
        gopt_table_figure(t, s->run_ns, GOPT_TONE_PLAIN);
        for (int k = 0; k < GOPT_COUNT(requests); k++)
            gopt_table_figure(t, s->compile_ns + requests[k] * s->run_ns, GOPT_TONE_PLAIN);
        write_best(t, s);
    }
    gopt_table_end(t);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "Wall time of n requests: T_compile + n T_run, of trials that were measured here; the part of "
        "T_compile that the compile cache saves is left out. Latency is what decisions count: by the median, and for "
        "a trial that was not in the final (see the front) by the low end of its speedup.");
}

const gopt_section gopt_section_presets = {
    .title = "Presets by wall time", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
