/* compile.c: what compiling costs, stage by stage. */
#include <math.h>
#include <string.h>

#include "section.h"

static const gopt_finding_stage *stage_of(const gopt_finding_trial *t, const char *name)
{
    for (int i = 0; i < t->compile.n_stages; i++)
        if (!strcmp(t->compile.stages[i].name, name))
            return &t->compile.stages[i];
    return NULL;
}

static void write_row(gopt_table *t, const gopt_finding_trial *const *role, int n, const char *stage)
{
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", stage);
    for (int i = 0; i < n; i++) {
        const gopt_finding_stage *s = stage_of(role[i], stage);
        gopt_table_figure(t, s ? gopt_known(s->ns) : NAN, GOPT_TONE_PLAIN);
    }
}

/* Stages in the order of the first trial that has them. */
static void write_stages(gopt_table *t, const gopt_finding_trial *const *role, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < role[i]->compile.n_stages; k++) {
            const char *stage = role[i]->compile.stages[k].name;
            bool seen = false;
            for (int before = 0; before < i; before++)
                seen |= stage_of(role[before], stage) != NULL;
            if (!seen)
                write_row(t, role, n, stage);
        }
}

static void write_peaks(const gopt_page *p, const gopt_finding_trial *const *role, int n)
{
    gopt_text t = {0};
    bool cached = false;
    for (int i = 0; i < n; i++) {
        char buf[32];
        gopt_text_add(&t, "%s %s %s", i ? "," : "", gopt_finding_role_name(p->c, role[i]->id),
                      gopt_text_bytes(buf, gopt_known(role[i]->compile.peak_memory)));
        cached |= role[i]->compile.cached;
    }
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Peak memory of compiling:%s.", gopt_page_keep(p, &t));
    if (cached)
        gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                          "Some code came from the compile cache; counted is what it took when it was compiled.");
}

static void write(const gopt_page *p)
{
    const gopt_finding_trial *role[GOPT_FINDING_ROLES];
    gopt_column columns[1 + GOPT_FINDING_ROLES] = {{.title = "stage", .kind = GOPT_COLUMN_TEXT}};
    int n = gopt_finding_roles(p->c, role);
    for (int i = 0; i < n; i++)
        columns[1 + i] =
            (gopt_column){.title = gopt_finding_role_name(p->c, role[i]->id), .kind = GOPT_COLUMN_TIME, .group = 1};
    gopt_table *t = gopt_table_begin(p->d, columns, 1 + n);
    write_stages(t, role, n);
    gopt_table_text(t, GOPT_TONE_PLAIN, "total");
    for (int i = 0; i < n; i++)
        gopt_table_figure(t, gopt_known(role[i]->compile.total), GOPT_TONE_PLAIN);
    gopt_table_end(t);
    write_peaks(p, role, n);
    gopt_page_figure(p, "compile_stages");
}

const gopt_section gopt_section_compile = {.title = "Compiling", .place = GOPT_SECTION_CLUSTER, .write = write};
