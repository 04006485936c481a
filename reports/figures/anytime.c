/* anytime.c: the best latency known at every moment of the job: whether more budget would have paid. */
#include <math.h>

#include "clean.h"
#include "figure.h"

static bool fits(const gopt_finding_cluster *c)
{
    return c->n_anytime > 1;
}

static int height(const gopt_finding_cluster *c)
{
    (void)c;
    return 360;
}

/* The first moment from which on the best stayed within 2 % of the last. */
static const gopt_finding_moment *settled(const gopt_finding_cluster *c)
{
    const gopt_finding_moment *last = &c->anytime[c->n_anytime - 1], *found = last;
    for (int i = c->n_anytime - 1; i >= 0 && (double)c->anytime[i].median <= 1.02 * (double)last->median; i--)
        found = &c->anytime[i];
    return found;
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    char at[32], all[32];
    gopt_text_add(out, "After %s of %s nothing more than 2 %% better was found",
                  gopt_text_ns(at, settled(c)->elapsed_s * 1e9), gopt_text_ns(all, f->elapsed_s * 1e9));
}

static double end_of(const gopt_findings *f, const gopt_finding_cluster *c)
{
    return fmax(f->elapsed_s, c->anytime[c->n_anytime - 1].elapsed_s); /* a NAN counts for nothing */
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    const gopt_finding_moment *last = &c->anytime[c->n_anytime - 1];
    gopt_text_put(out, "# elapsed_s\tmedian_ms\ttrial\n");
    for (int i = 0; i < c->n_anytime; i++)
        gopt_text_add(out, "%.9g\t%.9g\t%d\n", c->anytime[i].elapsed_s, (double)c->anytime[i].median / 1e6,
                      c->anytime[i].trial);
    gopt_text_add(out, "%.9g\t%.9g\t%d\n", end_of(f, c), (double)last->median / 1e6, last->trial);
}

/* A level to compare with, named at its end. */
static void write_level(gopt_text *out, const gopt_finding_cluster *c, int id, const char *name)
{
    const gopt_finding_trial *t = gopt_finding_trial_find(c, id);
    if (!t || t->latency.median == GOPT_UNKNOWN)
        return;
    double ms = (double)t->latency.median / 1e6;
    gopt_text_add(
        out,
        "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead back linecolor rgb quiet dashtype 2\n"
        "set label '%s' at graph 1, first %.9g left offset character 0.8,0 textcolor rgb quiet\n",
        ms, ms, name, ms);
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    double lo = INFINITY, hi = 0;
    const gopt_finding_trial *baseline = gopt_finding_trial_find(c, c->baseline_trial);
    for (int i = 0; i < c->n_anytime; i++) {
        lo = fmin(lo, (double)c->anytime[i].median / 1e6);
        hi = fmax(hi, (double)c->anytime[i].median / 1e6);
    }
    if (baseline && baseline->latency.median != GOPT_UNKNOWN)
        hi = fmax(hi, (double)baseline->latency.median / 1e6);
    gopt_text_add(out, "set xrange [0:%.9g]\nset yrange [%.9g:%.9g]\nset rmargin 12\n", end_of(f, c), 0.85 * lo,
                  1.1 * hi);
    gopt_text_put(out, "set format y '%g'\nset xlabel 'time since the job began, s' textcolor rgb ink\n"
                       "set ylabel 'best median so far, ms' textcolor rgb ink\n");
    if (hi > 4 * lo)
        gopt_text_put(out, "set logscale y\n");
    write_level(out, c, c->baseline_trial, "baseline");
    if (c->default_trial != c->baseline_trial)
        write_level(out, c, c->default_trial, "default");
    gopt_text_put(out, "plot data using 1:2 with steps linewidth 2.5 linecolor rgb better, \\\n"
                       "     '' using 1:2 with points pointtype 7 pointsize 0.7 linecolor rgb better\n");
}

const gopt_figure gopt_figure_anytime = {
    .name = "anytime",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
