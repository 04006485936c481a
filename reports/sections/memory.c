/* memory.c: what is held while running. */
#include "section.h"

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {{.title = "trial", .kind = GOPT_COLUMN_TEXT},
                                          {.title = "peak", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "saving", .kind = GOPT_COLUMN_SHARE},
                                          {.title = "steady", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "weights", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "arena", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "workspace", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "runtime", .kind = GOPT_COLUMN_BYTES, .group = 1},
                                          {.title = "arena reuse", .kind = GOPT_COLUMN_RATIO, .optional = true},
                                          {.title = "fragmentation", .kind = GOPT_COLUMN_SHARE, .optional = true}};
    const gopt_finding_trial *role[GOPT_FINDING_ROLES];
    int n = gopt_finding_roles(p->c, role);
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < n; i++) {
        const gopt_finding_memory *m = &role[i]->memory;
        gopt_page_trial(t, p->c, role[i]->id);
        gopt_table_figure(t, gopt_known(m->peak), GOPT_TONE_PLAIN);
        gopt_table_figure(t, m->saving, GOPT_TONE_PLAIN);
        const int64_t part[] = {m->steady, m->weights, m->arena, m->workspace, m->runtime};
        for (int k = 0; k < GOPT_COUNT(part); k++)
            gopt_table_figure(t, gopt_known(part[k]), GOPT_TONE_PLAIN);
        gopt_table_figure(t, m->reuse, GOPT_TONE_PLAIN);
        gopt_table_figure(t, m->fragmentation, GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
    gopt_document_add(p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
                      "Saving = (M_base - M) / M_base of the peaks. Steady: after warm-up. Arena: activations; reuse: "
                      "what these would take apart over what they take; fragmentation: the share of the arena above "
                      "the most that is alive at one moment.");
    gopt_page_figure(p, "memory");
}

const gopt_section gopt_section_memory = {.title = "Memory", .place = GOPT_SECTION_CLUSTER, .write = write};
