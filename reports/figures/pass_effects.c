/* pass_effects.c: what every pass does alone, with its interval, the best on top. */
#include <math.h>

#include "clean.h"
#include "figure.h"

static bool known(const gopt_finding_single *s)
{
    return isfinite(s->speedup.value) && isfinite(s->speedup.lo) && isfinite(s->speedup.hi);
}

static int count(const gopt_finding_cluster *c)
{
    int n = 0;
    for (int i = 0; i < c->n_single; i++)
        n += known(&c->single[i]);
    return n;
}

static bool fits(const gopt_finding_cluster *c)
{
    return count(c) > 0;
}

static int height(const gopt_finding_cluster *c)
{
    return 130 + 26 * count(c);
}

/* The best of those that are more than chance; NULL when there is none. */
static const gopt_finding_single *best(const gopt_finding_cluster *c)
{
    const gopt_finding_single *found = NULL;
    for (int i = 0; i < c->n_single; i++)
        if (known(&c->single[i]) && c->single[i].speedup.verdict == GOPT_FINDING_BETTER &&
            (!found || c->single[i].speedup.value > found->speedup.value))
            found = &c->single[i];
    return found;
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    const gopt_finding_single *s = best(c);
    (void)f;
    if (s)
        gopt_text_add(out, "Alone, %s helps most: %.2f times as fast as the baseline", s->pass, s->speedup.value);
    else
        gopt_text_put(out, "Alone, no pass makes the baseline faster beyond the noise");
}

/* How many stand below the i-th: its row from the bottom. */
static int rank(const gopt_finding_cluster *c, int i)
{
    int below = 0;
    double v = c->single[i].speedup.value;
    for (int k = 0; k < c->n_single; k++) {
        double w = c->single[k].speedup.value;
        below += known(&c->single[k]) && (w < v || (w == v && k > i));
    }
    return below;
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    (void)f;
    gopt_text_put(out, "# row\tspeedup\tlo\thi\tcolour\tpass\n");
    for (int i = 0; i < c->n_single; i++) {
        const gopt_finding_ratio *r = &c->single[i].speedup;
        if (!known(&c->single[i]))
            continue;
        gopt_text_add(out, "%d\t%.9g\t%.9g\t%.9g\t%ld\t", rank(c, i), r->value, r->lo, r->hi,
                      gopt_figure_rgb(gopt_figure_verdict_colour(r->verdict)));
        gopt_put_field(out, c->single[i].pass);
        gopt_text_put(out, "\n");
    }
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    (void)f;
    gopt_text_add(out, "set yrange [-0.7:%d - 0.3]\nset rmargin 24\n", count(c));
    for (int i = 0; i < c->n_single; i++) {
        const gopt_finding_ratio *r = &c->single[i].speedup;
        if (known(&c->single[i]))
            gopt_text_add(out,
                          "set label '%.3f [%.3f, %.3f]' at graph 1, first %d left offset character 1.5,0 "
                          "textcolor rgb quiet\n",
                          r->value, r->lo, r->hi, rank(c, i));
    }
    gopt_text_put(out,
                  "set xlabel 'speedup over the baseline (95 % interval)' textcolor rgb ink\n"
                  "set ytics scale 0\nset grid noytics\nset offsets graph 0.03, graph 0.03, 0, 0\n"
                  "set arrow from first 1, graph 0 to first 1, graph 1 nohead back linecolor rgb quiet dashtype 2\n"
                  "plot data using 2:1:3:4:5:ytic(6) with xerrorbars pointtype 7 pointsize 0.9 linewidth 2 "
                  "linecolor rgb variable\n");
}

const gopt_figure gopt_figure_pass_effects = {
    .name = "pass_effects",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
