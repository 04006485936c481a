/* compile_stages.c: where the time to compile goes: the five longest stages, the rest together. */
#include <string.h>

#include "stacked.h"

enum { NAMED = GOPT_STACKED_PARTS - 1 };

static double stage_time(const gopt_finding_trial *t, const char *stage)
{
    for (int i = 0; i < t->compile.n_stages; i++)
        if (!strcmp(t->compile.stages[i].name, stage) && t->compile.stages[i].ns != GOPT_UNKNOWN)
            return (double)t->compile.stages[i].ns;
    return 0;
}

static double stage_sum(const gopt_finding_trial *const *trial, int n, const char *stage)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += stage_time(trial[i], stage);
    return sum;
}

static bool is_named(const gopt_stacked *s, const char *stage)
{
    for (int k = 0; k < s->n_parts; k++)
        if (!strcmp(s->part[k], stage))
            return true;
    return false;
}

/* The stage that takes longest of those not named yet; NULL when none takes any time. */
static const char *longest(const gopt_stacked *s, const gopt_finding_trial *const *trial, int n)
{
    const char *found = NULL;
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < trial[i]->compile.n_stages; k++) {
            const char *stage = trial[i]->compile.stages[k].name;
            double sum = stage_sum(trial, n, stage);
            if (sum > most && !is_named(s, stage)) {
                found = stage;
                most = sum;
            }
        }
    return found;
}

static void set_unit(gopt_stacked *s)
{
    double most = 0;
    for (int i = 0; i < s->n_bars; i++)
        most = GOPT_MAX(most, s->total[i]);
    s->unit = most >= 1e9 ? "s" : "ms";
    s->scale = most >= 1e9 ? 1e9 : 1e6;
}

static void fill_bar(gopt_stacked *s, const gopt_finding_trial *t)
{
    double rest = (double)t->compile.total, *value = s->value[s->n_bars];
    for (int k = 0; k < s->n_parts; k++) {
        value[k] = stage_time(t, s->part[k]);
        rest -= value[k];
    }
    value[s->n_parts] = GOPT_MAX(rest, 0.0);
    s->total[s->n_bars] = (double)t->compile.total;
    s->trial[s->n_bars++] = t->id;
}

static gopt_stacked stack(const gopt_finding_cluster *c)
{
    const gopt_finding_trial *trial[GOPT_STACKED_BARS];
    int n = gopt_finding_roles(c, trial);
    gopt_stacked s = {.print = gopt_text_ns};
    for (const char *stage; s.n_parts < NAMED && (stage = longest(&s, trial, n));)
        s.part[s.n_parts++] = stage;
    for (int i = 0; i < n; i++)
        if (trial[i]->compile.total > 0)
            fill_bar(&s, trial[i]);
    s.part[s.n_parts++] = "other stages";
    set_unit(&s);
    return s;
}

static bool fits(const gopt_finding_cluster *c)
{
    gopt_stacked s = stack(c);
    return s.n_bars > 0 && s.n_parts > 1;
}

static int height(const gopt_finding_cluster *c)
{
    return gopt_stacked_height(stack(c).n_bars);
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    const gopt_finding_trial *t = gopt_finding_trial_find(c, c->chosen_trial);
    gopt_stacked empty = {0};
    char buf[32];
    const char *stage = gopt_finding_trial_is_ok(t) ? longest(&empty, &t, 1) : NULL;
    (void)f;
    if (stage && t->compile.total > 0)
        gopt_text_add(out, "Compiling the choice takes %s, %.0f %% of it %s",
                      gopt_text_ns(buf, (double)t->compile.total),
                      100 * stage_time(t, stage) / (double)t->compile.total, stage);
    else
        gopt_text_put(out, "Time to compile");
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    gopt_stacked s = stack(c);
    (void)f;
    gopt_stacked_write_data(out, &s, c);
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    gopt_stacked s = stack(c);
    (void)f;
    gopt_stacked_write_script(out, &s, "time to compile");
}

const gopt_figure gopt_figure_compile_stages = {
    .name = "compile_stages",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
