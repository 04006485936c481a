/* pass.c: the registry of passes, and running one. */
#include "pass.h"

#include <string.h>

#include "base/clock.h"

#ifndef GOPT_PASSES_DEF /* a test compiles this file with a list of its own: tests/planted_passes.def */
#define GOPT_PASSES_DEF "passes.def"
#endif

#define X(name) extern const gopt_pass gopt_pass_##name;
#include GOPT_PASSES_DEF
#undef X

#define X(name) &gopt_pass_##name,
const gopt_pass *const gopt_passes[] = {
#include GOPT_PASSES_DEF
    NULL};
#undef X

int gopt_pass_count(void)
{
    return GOPT_COUNT(gopt_passes) - 1;
}

int gopt_pass_find(const char *name)
{
    for (int i = 0; gopt_passes[i]; i++)
        if (!strcmp(gopt_passes[i]->name, name))
            return i;
    return -1;
}

static gopt_status run(const gopt_pass *p, gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    GOPT_TRY(p->run(g, r, e));
    if (g->family->arena.failed)
        return gopt_oom(e);
    gopt_graph_compact(g);
    gopt_status s = gopt_graph_sort(g, e);
    if (s == GOPT_EINPUT)
        return GOPT_EBUG; /* a cycle that the pass made */
    GOPT_TRY(s);
    return gopt_graph_check(g, e);
}

gopt_status gopt_pass_apply(const gopt_pass *p, const int64_t *knob, gopt_graph *g, int64_t deadline, gopt_arena *a,
                            gopt_pass_record *record, gopt_err *e)
{
    gopt_family *f = g->family;
    gopt_pass_run r = {.knob = knob, .deadline = deadline};
    *record = (gopt_pass_record){.pass = p, .nodes_before = gopt_graph_count(g)};
    record->touched = GOPT_NEW(a, unsigned char, f->imported_nodes);
    if (!record->touched)
        return gopt_oom(e);
    gopt_graph_touched_clear(f);
    int64_t begin = gopt_now();
    gopt_status s = run(p, g, &r, e);
    record->ns = gopt_now() - begin;
    record->changed = r.changed;
    record->nodes_after = gopt_graph_count(g);
    if (f->touched)
        memcpy(record->touched, f->touched, (size_t)GOPT_MIN(f->n_touched, f->imported_nodes));
    return s ? gopt_within(e, s, "pass %s", p->name) : GOPT_OK;
}
