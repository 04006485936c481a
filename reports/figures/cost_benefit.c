/* cost_benefit.c: what a configuration costs to compile against how fast it runs; colour is its peak memory. */
#include <math.h>

#include "clean.h"
#include "figure.h"

static bool shown(const gopt_finding_trial *t)
{
    return gopt_finding_trial_is_ok(t) && isfinite(t->speedup.value) && t->compile.total != GOPT_UNKNOWN &&
           t->memory.peak != GOPT_UNKNOWN;
}

static bool fits(const gopt_finding_cluster *c)
{
    int n = 0;
    for (int i = 0; i < c->n_trials; i++)
        n += shown(&c->trials[i]);
    return n >= 2;
}

static int height(const gopt_finding_cluster *c)
{
    (void)c;
    return 460;
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    char time[32];
    const gopt_finding_trial *t = gopt_finding_trial_find(c, c->chosen_trial);
    (void)f;
    if (t && shown(t))
        gopt_text_add(out, "The choice, trial %d, runs %.2f times as fast as the baseline for %s of compiling", t->id,
                      t->speedup.value, gopt_text_ns(time, (double)t->compile.total));
    else
        gopt_text_put(out, "Speedup over the baseline against the time to compile");
}

/* A logarithmic axis shows no zero. */
static double seconds(const gopt_finding_trial *t)
{
    return fmax((double)t->compile.total, 1e3) / 1e9;
}

static void write_row(gopt_text *out, const gopt_finding_trial *t)
{
    gopt_text_add(out, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%d\n", seconds(t), t->speedup.value, t->speedup.lo, t->speedup.hi,
                  (double)t->memory.peak / 1048576, t->id);
}

/* Baseline, default and choice get a ring. */
static bool has_role(const gopt_finding_cluster *c, const gopt_finding_trial *t)
{
    return *gopt_finding_role_name(c, t->id);
}

static bool in_block(const gopt_finding_cluster *c, const gopt_finding_trial *t, int block)
{
    return shown(t) && (block == 2 ? has_role(c, t) : gopt_finding_on_front(c, t->id) == block);
}

/* Blocks: trials beaten by others, the front, those with a name. */
static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    (void)f;
    for (int block = 0; block < 3; block++) {
        gopt_text_put(out, block ? "\n\n" : "");
        gopt_text_put(out, "# compile_s\tspeedup\tlo\thi\tpeak_MiB\ttrial\n");
        gopt_text_put(out, "NaN\tNaN\tNaN\tNaN\tNaN\t-1\n"); /* no block is empty */
        for (int i = 0; i < c->n_trials; i++)
            if (in_block(c, &c->trials[i], block))
                write_row(out, &c->trials[i]);
    }
}

typedef struct range {
    double lo, hi;
} range;

static range widen(range r, double v)
{
    return (range){fmin(r.lo, v), fmax(r.hi, v)};
}

/* A name beside the point: to its left where it stands in the right part of the picture. */
static void write_label(gopt_text *out, const gopt_finding_cluster *c, int id, const range *x, double raise)
{
    const gopt_finding_trial *t = gopt_finding_trial_find(c, id);
    if (!t || !shown(t))
        return;
    bool left = log(seconds(t) / x->lo) > 0.6 * log(x->hi / x->lo);
    gopt_text_add(out, "set label front '%s: %d' at %.9g,%.9g %s offset character %s,%g textcolor rgb ink\n",
                  gopt_finding_role_name(c, id), id, seconds(t), t->speedup.value, left ? "right" : "left",
                  left ? "-1.2" : "1.2", raise);
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    range x = {INFINITY, 0}, mib = {INFINITY, 0};
    (void)f;
    for (int i = 0; i < c->n_trials; i++)
        if (shown(&c->trials[i])) {
            x = widen(x, seconds(&c->trials[i]));
            mib = widen(mib, (double)c->trials[i].memory.peak / 1048576);
        }
    gopt_text_add(out, "set logscale x\nset xrange [%.9g:%.9g]\n", x.lo / 1.6, x.hi * 1.6);
    gopt_text_add(out, "set cbrange [%.9g:%.9g]\n", mib.lo * 0.98, mib.hi * 1.02 + 1e-6);
    gopt_text_put(out,
                  "set palette defined (0 '#2da44e', 1 '#d4a72c', 2 '#cf222e')\n"
                  "set colorbox user origin 0.9,0.2 size 0.018,0.55 noborder\nset rmargin at screen 0.86\n"
                  "set cbtics textcolor rgb ink scale 0\nset label 'peak, MiB' at screen 0.9,0.8 textcolor rgb quiet\n"
                  "set xlabel 'time to compile, s' textcolor rgb ink\n"
                  "set ylabel 'speedup over the baseline (95 % interval)' textcolor rgb ink\n"
                  "set label 'filled: the front; hollow: beaten on every objective' at screen 0, screen 1 left "
                  "offset character 1.8,-3 textcolor rgb quiet\n"
                  "set tmargin 5.5\nset format x '%g'\nset offsets graph 0, 0, 0.08, 0.08\n"
                  "set arrow from graph 0, first 1 to graph 1, first 1 nohead back linecolor rgb quiet dashtype 2\n");
    write_label(out, c, c->chosen_trial, &x, 0.8);
    if (c->default_trial != c->chosen_trial)
        write_label(out, c, c->default_trial, &x, -0.8);
    if (c->baseline_trial != c->chosen_trial && c->baseline_trial != c->default_trial)
        write_label(out, c, c->baseline_trial, &x, -0.8);
    gopt_text_put(
        out, "plot data index 0 using 1:2 with points pointtype 6 pointsize 0.6 linecolor rgb other, \\\n"
             "     data index 1 using 1:2:3:4:5 with yerrorbars pointtype 7 pointsize 1.1 linecolor palette, \\\n"
             "     data index 2 using 1:2 with points pointtype 6 pointsize 1.7 linewidth 1.5 linecolor rgb ink\n");
}

const gopt_figure gopt_figure_cost_benefit = {
    .name = "cost_benefit",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
