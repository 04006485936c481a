/* setup.c: model, machine and settings. */
#include <inttypes.h>

#include "section.h"

static void put_fact(gopt_table *t, const char *name, const char *value)
{
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", name);
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", value && *value ? value : "n/a");
}

static void put_facts(const gopt_page *p, gopt_table *t, const gopt_finding_fact *facts, int n)
{
    for (int i = 0; i < n; i++) {
        gopt_text value = {0};
        gopt_fact_print(&value, &facts[i]);
        put_fact(t, facts[i].name, gopt_page_keep(p, &value));
    }
}

static void put_count(gopt_text *t, const char *name, int64_t v)
{
    if (v != GOPT_UNKNOWN)
        gopt_text_add(t, "%s%" PRId64 " %s", t->n ? ", " : "", v, name);
}

static void write_model(const gopt_page *p, gopt_table *t)
{
    const gopt_finding_model *m = &p->f->model;
    gopt_text size = {0}, coverage = {0}, operators = {0};
    char bytes[32];
    put_count(&size, "nodes", m->nodes);
    gopt_text_add(&size, "%sparameters %s", size.n ? ", " : "",
                  gopt_text_bytes(bytes, gopt_known(m->parameters_bytes)));
    put_count(&coverage, "native", m->native);
    put_count(&coverage, "reference", m->reference);
    put_count(&coverage, "unsupported", m->unsupported);
    for (int i = 0; i < m->n_operators; i++)
        gopt_text_add(&operators, "%s%s %" PRId64, i ? ", " : "", m->operators[i].name, m->operators[i].count);
    put_fact(t, "model", m->path);
    put_fact(t, "sha256", m->sha256);
    put_fact(t, "size", gopt_page_keep(p, &size));
    put_fact(t, "kernels of the default", gopt_page_keep(p, &coverage));
    put_fact(t, "operators", gopt_page_keep(p, &operators));
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "what", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "value", .kind = GOPT_COLUMN_TEXT, .prose = true}};
    const gopt_findings *f = p->f;
    char alpha[32], requests[32];
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    write_model(p, t);
    put_fact(t, "device", f->device.name);
    put_fact(t, "kind", f->device.kind);
    put_fact(t, "fingerprint", f->device.fingerprint);
    put_facts(p, t, f->device.facts, f->device.n_facts);
    put_fact(t, "objective", f->settings.objective);
    put_fact(t, "alpha", gopt_page_number(alpha, f->settings.alpha));
    put_fact(t, "requests", gopt_page_number(requests, f->settings.requests));
    put_facts(p, t, f->settings.more, f->settings.n_more);
    put_fact(t, "gopt", f->tool_version);
    put_fact(t, "commit", f->tool_commit);
    gopt_table_end(t);
}

const gopt_section gopt_section_setup = {
    .title = "Model, machine, settings", .place = GOPT_SECTION_LAST, .write = write};
