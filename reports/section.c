/* section.c: the list of sections, and what they share. */
#include "section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define X(name) extern const gopt_section gopt_section_##name;
#include "sections.def"
#undef X

const gopt_section *const gopt_sections[] = {
#define X(name) &gopt_section_##name,
#include "sections.def"
#undef X
    NULL};

static void write_place(gopt_page *p, gopt_section_place place)
{
    bool nested = place == GOPT_SECTION_CLUSTER && p->f->n_clusters > 1;
    for (int i = 0; gopt_sections[i]; i++) {
        const gopt_section *s = gopt_sections[i];
        if (s->place != place || (s->fits && !s->fits(p)))
            continue;
        if (s->title)
            gopt_document_add(p->d, nested ? GOPT_BLOCK_SUBHEADING : GOPT_BLOCK_HEADING, GOPT_TONE_PLAIN, "%s",
                              s->title);
        s->write(p);
    }
}

gopt_status gopt_report_compose(gopt_document *d, const gopt_findings *f, const gopt_gallery *gallery,
                                const char *out_dir, gopt_err *e)
{
    gopt_page p = {.d = d, .f = f, .gallery = gallery, .out_dir = out_dir};
    write_place(&p, GOPT_SECTION_FIRST);
    for (int i = 0; i < f->n_clusters; i++) {
        p.c = &f->clusters[i];
        p.cluster = i;
        if (f->n_clusters > 1)
            gopt_document_add(d, GOPT_BLOCK_HEADING, GOPT_TONE_PLAIN, "Cluster %s", p.c->id ? p.c->id : "n/a");
        write_place(&p, GOPT_SECTION_CLUSTER);
    }
    p.c = NULL;
    write_place(&p, GOPT_SECTION_LAST);
    return d->arena.failed ? gopt_oom(e) : GOPT_OK;
}

void gopt_page_figure(const gopt_page *p, const char *figure)
{
    gopt_document_figure(p->d, gopt_gallery_find(p->gallery, figure, p->cluster));
}

const char *gopt_page_keep(const gopt_page *p, gopt_text *t)
{
    char *s = t->failed ? NULL : gopt_arena_str(&p->d->arena, gopt_text_str(t));
    gopt_text_fini(t);
    p->d->arena.failed |= !s;
    return s ? s : "";
}

void gopt_page_trial(gopt_table *t, const gopt_finding_cluster *c, int id)
{
    const char *role = gopt_finding_role_name(c, id);
    if (id < 0)
        gopt_table_text(t, GOPT_TONE_MUTED, "n/a");
    else if (*role)
        gopt_table_text(t, GOPT_TONE_PLAIN, "%d (%s)", id, role);
    else
        gopt_table_text(t, GOPT_TONE_PLAIN, "%d", id);
}

void gopt_page_threads(gopt_table *t, const gopt_finding_trial *trial)
{
    const gopt_finding_fact *threads = gopt_fact_find(trial, "engine.threads");
    gopt_table_figure(t, threads && threads->kind == GOPT_FINDING_NUMBER ? threads->number : NAN, GOPT_TONE_PLAIN);
}

gopt_tone gopt_page_tone(gopt_finding_verdict v)
{
    return v == GOPT_FINDING_BETTER ? GOPT_TONE_GOOD : v == GOPT_FINDING_WORSE ? GOPT_TONE_BAD : GOPT_TONE_PLAIN;
}

void gopt_page_ratio(gopt_table *t, const gopt_finding_ratio *r)
{
    gopt_table_interval(t, r->value, r->lo, r->hi, GOPT_TONE_PLAIN);
}

void gopt_page_verdict(gopt_table *t, gopt_finding_verdict v, const char *name)
{
    if (name)
        gopt_table_text(t, gopt_page_tone(v), "%s", name);
    else
        gopt_table_text(t, GOPT_TONE_MUTED, "n/a");
}

double gopt_page_beyond(const gopt_page *p)
{
    return fmax(0.01, isfinite(p->f->noise.floor) ? 2 * p->f->noise.floor : 0);
}

const char *gopt_page_tie(const gopt_page *p, const gopt_finding_ratio *r)
{
    if (r->verdict != GOPT_FINDING_TIE || (r->lo <= 1 && r->hi >= 1))
        return gopt_finding_verdict_name(r->verdict);
    return fabs(log(r->value)) > gopt_page_beyond(p) ? "tie (FDR)" : "tie (noise)";
}

const char gopt_page_tie_note[] = "Ties whose own interval excludes 1 say why: \"tie (noise)\" is not beyond what "
                                  "counts above the noise floor, \"tie "
                                  "(FDR)\" is as much as many comparisons at once show by chance: verdicts hold at a "
                                  "false discovery rate of 5 % over "
                                  "all rows (Benjamini-Hochberg).";

double gopt_known(int64_t v)
{
    return v == GOPT_UNKNOWN ? NAN : (double)v;
}

const char *gopt_page_number(char buf[32], double v)
{
    if (isnan(v))
        return "n/a";
    snprintf(buf, 32, "%.6g", v);
    return buf;
}

void gopt_fact_print(gopt_text *out, const gopt_finding_fact *f)
{
    if (f->kind == GOPT_FINDING_TEXT)
        gopt_text_put(out, f->text ? f->text : "n/a");
    else if (f->kind == GOPT_FINDING_SWITCH)
        gopt_text_put(out, f->number != 0 ? "on" : "off");
    else if (isnan(f->number))
        gopt_text_put(out, "n/a");
    else
        gopt_text_add(out, "%.15g", f->number);
}

const gopt_finding_fact *gopt_fact_find(const gopt_finding_trial *t, const char *name)
{
    for (int i = 0; i < t->n_config; i++)
        if (!strcmp(t->config[i].name, name))
            return &t->config[i];
    return NULL;
}

bool gopt_fact_equal(const gopt_finding_fact *a, const gopt_finding_fact *b)
{
    if (!a || !b || a->kind != b->kind)
        return a == b;
    if (a->kind == GOPT_FINDING_TEXT)
        return a->text && b->text ? !strcmp(a->text, b->text) : a->text == b->text;
    return a->number == b->number;
}

static bool has_pass(const gopt_finding_trial *t, const char *pass)
{
    for (int i = 0; i < t->n_pipeline; i++)
        if (!strcmp(t->pipeline[i], pass))
            return true;
    return false;
}

/* "without a, b": the passes of x that y does not have. Returns their number. */
static int put_passes(gopt_text *out, const char *word, const gopt_finding_trial *x, const gopt_finding_trial *y,
                      int most)
{
    int n = 0;
    for (int i = 0; i < x->n_pipeline; i++) {
        if (has_pass(y, x->pipeline[i]) || n++ >= most)
            continue;
        gopt_text_add(out, "%s%s", n > 1 ? ", " : word, x->pipeline[i]);
    }
    if (n > most)
        gopt_text_add(out, " and %d more", n - most);
    return n;
}

/* A setting that one of them does not list has its initial value there. */
static int put_settings(gopt_text *out, const char *word, const gopt_finding_trial *t, const gopt_finding_trial *from,
                        int most)
{
    int n = 0;
    for (int i = 0; i < t->n_config + from->n_config; i++) {
        bool own = i < t->n_config;
        const gopt_finding_fact *f = own ? &t->config[i] : &from->config[i - t->n_config];
        const gopt_finding_fact *other = gopt_fact_find(own ? from : t, f->name);
        bool is_pass = has_pass(t, f->name) || has_pass(from, f->name); /* said before */
        if (is_pass || (own ? gopt_fact_equal(f, other) : other != NULL) || n++ >= most)
            continue;
        gopt_text_add(out, "%s%s ", n > 1 ? ", " : word, f->name);
        if (own)
            gopt_fact_print(out, f);
        else
            gopt_text_put(out, "initial");
    }
    if (n > most)
        gopt_text_add(out, " and %d more", n - most);
    return n;
}

void gopt_page_difference(gopt_text *out, const gopt_finding_trial *t, const gopt_finding_trial *from, int most)
{
    int without = put_passes(out, "without ", from, t, most);
    int with = put_passes(out, without ? "; with " : "with ", t, from, most);
    int settings = put_settings(out, without + with ? "; " : "", t, from, most);
    if (without + with + settings == 0)
        gopt_text_put(out, "nothing");
}
