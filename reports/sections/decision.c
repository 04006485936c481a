/* decision.c: the answer, in one sentence for every cluster. */
#include <math.h>
#include <string.h>

#include "section.h"

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "model";
}

static void put_ratio(gopt_text *t, const gopt_finding_ratio *r)
{
    gopt_text_add(t, "%.3f", r->value);
    if (isfinite(r->lo) && isfinite(r->hi))
        gopt_text_add(t, " [%.3f, %.3f]", r->lo, r->hi);
}

static void put_choice(gopt_text *t, const gopt_finding_cluster *c)
{
    if (c->what_if)
        gopt_text_add(t, "As a what-if, trial %d would be chosen", c->chosen_trial);
    else if (c->chosen_trial == c->baseline_trial)
        gopt_text_add(t, "Deploy without optimization (trial %d)", c->chosen_trial);
    else if (c->chosen_trial == c->default_trial)
        gopt_text_add(t, "Keep the default (trial %d)", c->chosen_trial);
    else
        gopt_text_add(t, "Deploy trial %d", c->chosen_trial);
}

static void put_speed(gopt_text *t, const gopt_finding_cluster *c, const gopt_finding_trial *chosen)
{
    bool said = c->chosen_trial != c->baseline_trial && isfinite(chosen->speedup.value);
    if (said) {
        gopt_text_put(t, ": ");
        put_ratio(t, &chosen->speedup);
        gopt_text_put(t, " times as fast as the baseline");
    }
    if (c->chosen_trial == c->default_trial || !isfinite(c->over_default.value))
        return;
    gopt_text_put(t, said ? " and " : ": ");
    put_ratio(t, &c->over_default);
    gopt_text_put(t, " times as fast as the default");
}

static void put_memory(gopt_text *t, const gopt_finding_memory *m)
{
    char buf[32];
    if (m->peak == GOPT_UNKNOWN)
        return;
    gopt_text_add(t, "; peak memory %s", gopt_text_bytes(buf, (double)m->peak));
    if (fabs(m->saving) >= 0.0005)
        gopt_text_add(t, ", %.1f %% %s the baseline's", 100 * fabs(m->saving), m->saving > 0 ? "below" : "above");
}

/* Requests until the compilation has paid, and how long they take to come. */
static void put_cost(gopt_text *t, const gopt_findings *f, const gopt_finding_trial *chosen)
{
    char buf[32];
    if (chosen->compile.total == GOPT_UNKNOWN)
        return;
    gopt_text_add(t, "; compiling takes %s", gopt_text_ns(buf, (double)chosen->compile.total));
    if (isnan(chosen->break_even_requests)) {
        gopt_text_put(t, ", which running does not earn back");
        return;
    }
    gopt_text_add(t, ", earned back after %.0f requests%s", ceil(chosen->break_even_requests),
                  chosen->speedup.lo > 1 ? "" : " by the median, by its interval perhaps never");
    if (f->traffic.rate_per_s > 0)
        gopt_text_add(t, " (%s of the given traffic)",
                      gopt_text_ns(buf, chosen->break_even_requests / f->traffic.rate_per_s * 1e9));
}

static void put_name(gopt_text *t, const gopt_findings *f, const gopt_finding_cluster *c)
{
    if (f->n_clusters < 2)
        return;
    gopt_text_add(t, "Cluster %s", c->id ? c->id : "n/a");
    if (isfinite(c->weight))
        gopt_text_add(t, " (%.1f %% of the traffic)", 100 * c->weight);
    gopt_text_put(t, ": ");
}

/* A reader of the report must not take it for what a deployment runs. */
static void write_what_if(const gopt_page *p, const gopt_finding_cluster *c)
{
    gopt_text served = {0};
    gopt_text_put(&served, " and serves ");
    if (c->served_trial >= 0)
        gopt_text_add(&served, "trial %d", c->served_trial);
    else
        gopt_text_put(&served, "nothing");
    if (c->served_breaks)
        gopt_text_add(&served, ", which breaks a constraint (%s)", c->served_breaks);
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_BAD,
                      "manifest.yaml stays as it was%s, for what would be deployed lacks a bundle.%s",
                      gopt_page_keep(p, &served),
                      c->remedy ? " This tunes for it, and spends the whole budget again:" : "");
    if (c->remedy)
        gopt_document_add(p->d, GOPT_BLOCK_CODE, GOPT_TONE_PLAIN, "%s", c->remedy);
}

static void write_decision(const gopt_page *p, const gopt_finding_cluster *c)
{
    gopt_text t = {0};
    const gopt_finding_trial *chosen = gopt_finding_trial_find(c, c->chosen_trial);
    put_name(&t, p->f, c);
    if (chosen) {
        put_choice(&t, c);
        put_speed(&t, c, chosen);
        put_memory(&t, &chosen->memory);
        put_cost(&t, p->f, chosen);
    } else
        gopt_text_put(&t, "Nothing was chosen");
    gopt_document_add(p->d, GOPT_BLOCK_LEAD, GOPT_TONE_PLAIN, "%s.%s", gopt_page_keep(p, &t),
                      chosen && p->f->noise.unquiet
                          ? " Trust it little: it was measured on a disturbed machine; rerun when that is quiet."
                          : "");
    if (c->what_if)
        write_what_if(p, c);
}

static void write(const gopt_page *p)
{
    const char *device = p->f->device.name ? p->f->device.name : "an unknown machine";
    gopt_document_add(p->d, GOPT_BLOCK_TITLE, GOPT_TONE_PLAIN, "%s on %s", file_name(p->f->model.path), device);
    for (int i = 0; i < p->f->n_clusters; i++)
        write_decision(p, &p->f->clusters[i]);
}

const gopt_section gopt_section_decision = {.place = GOPT_SECTION_FIRST, .write = write};
