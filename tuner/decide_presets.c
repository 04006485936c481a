/* decide_presets.c: the named presets that were measured, and for how many requests each is the best of them. */
#include <math.h>

#include "decide.h"

static const char *const names[] = {"debug", "reduce-overhead", "max-autotune"};

/* [from, to) of the requests for which p takes the least wall time of all; equal ones: the first. */
static void set_best(gopt_finding_preset *p, const gopt_finding_preset *all, int n)
{
    double from = 0, to = INFINITY;
    for (int i = 0; i < n; i++) {
        double dearer = p->compile_ns - all[i].compile_ns, gain = all[i].run_ns - p->run_ns;
        if (&all[i] == p)
            continue;
        if (gain > 0)
            from = GOPT_MAX(from, dearer / gain);
        else if (gain < 0)
            to = GOPT_MIN(to, dearer / gain);
        else if (dearer > 0 || (dearer == 0 && &all[i] < p))
            to = 0;
    }
    p->best_from = from < to ? from : NAN;
    p->best_to = from < to && isfinite(to) ? to : NAN;
}

gopt_status gopt_decide_presets(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    gopt_finding_preset *list = GOPT_NEW(&f->arena, gopt_finding_preset, GOPT_COUNT(names));
    int n = 0;
    if (!list)
        return gopt_oom(e);
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        const gopt_trial *t = gopt_effects_stand_in(a->study, gopt_preset_find(a->study, names[i]));
        const gopt_assessed *x = t ? gopt_assess_find(a, t->id) : NULL;
        if (x)
            list[n++] = (gopt_finding_preset){.name = names[i],
                                              .trial = x->trial,
                                              .compile_ns = x->compile_ns * (1 - a->goal.hit_rate),
                                              .run_ns = x->cautious_ns};
    }
    for (int i = 0; i < n; i++)
        set_best(&list[i], list, n);
    c->presets = list;
    c->n_presets = n;
    return GOPT_OK;
}
