/* traffic.c: what is asked of the model, and how the clusters cover it. */
#include <inttypes.h>
#include <math.h>

#include "section.h"

static void put_shape(gopt_text *t, const gopt_finding_shape *s)
{
    gopt_text_put(t, s->n_sizes ? "" : "fixed");
    for (int i = 0; i < s->n_sizes; i++)
        gopt_text_add(t, "%s%s=%" PRId64, i ? " " : "", s->sizes[i].dim, s->sizes[i].value);
}

static void write_cluster(const gopt_page *p, gopt_table *t, const gopt_finding_cluster *c)
{
    enum { SHAPES = 4 };
    gopt_text shapes = {0}, bounds = {0};
    for (int i = 0; i < GOPT_MIN(c->n_shapes, SHAPES); i++) {
        gopt_text_put(&shapes, i ? "; " : "");
        put_shape(&shapes, &c->shapes[i]);
    }
    if (c->n_shapes > SHAPES)
        gopt_text_add(&shapes, "; %d more", c->n_shapes - SHAPES);
    for (int i = 0; i < c->n_bounds; i++)
        gopt_text_add(&bounds, "%s%s %" PRId64 "..%" PRId64, i ? ", " : "", c->bounds[i].dim, c->bounds[i].lo,
                      c->bounds[i].hi);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", c->id ? c->id : "n/a");
    gopt_table_figure(t, c->weight, GOPT_TONE_PLAIN);
    gopt_page_trial(t, c, c->chosen_trial);
    gopt_text_put(&shapes, c->n_shapes ? "" : "fixed");
    gopt_text_put(&bounds, c->n_bounds ? "" : "any");
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", gopt_page_keep(p, &shapes));
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", gopt_page_keep(p, &bounds));
}

static void write_share(const gopt_page *p, const char *what, double share)
{
    if (isfinite(share))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s: %.1f %%.", what, 100 * share);
}

static bool fits(const gopt_page *p)
{
    return p->f->traffic.source || p->f->n_clusters > 1;
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "cluster", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "weight", .kind = GOPT_COLUMN_SHARE, .bar = true},
                                          {.title = "trial", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "shapes", .kind = GOPT_COLUMN_TEXT, .prose = true},
                                          {.title = "serves", .kind = GOPT_COLUMN_TEXT, .prose = true}};
    const gopt_finding_traffic *f = &p->f->traffic;
    char lifetime[32];
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->f->n_clusters; i++)
        write_cluster(p, t, &p->f->clusters[i]);
    gopt_table_end(t);
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Source: %s.", f->source ? f->source : "none was given");
    if (isfinite(f->rate_per_s))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Rate: %g requests per second.", f->rate_per_s);
    if (isfinite(f->lifetime_s))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Lifetime of one model version: %s.",
                          gopt_text_ns(lifetime, f->lifetime_s * 1e9));
    write_share(p, "Hit rate of the compile cache in deployment", f->hit_rate);
    write_share(p, "Requests covered by a cluster", f->coverage);
    write_share(p, "Work wasted by padding", f->padding_waste);
    write_share(p, "Requests served by the fallback", f->fallback_share);
}

const gopt_section gopt_section_traffic = {
    .title = "Traffic and clusters", .place = GOPT_SECTION_LAST, .fits = fits, .write = write};
