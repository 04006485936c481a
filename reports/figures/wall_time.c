/* wall_time.c: what a request costs when n of them share one compilation, T_wall(n) / n = T_compile / n + T_run. The
 * curves cross where those of T_wall(n) do, but stay apart enough to be told from each other. */
#include <math.h>
#include <stdlib.h>

#include "clean.h"
#include "figure.h"

enum { CURVES_MAX = 8, POINTS = 120 };

typedef struct curve {
    const gopt_finding_trial *trial;
    double compile, run; /* ns; the compile time that counts */
    const char *colour;
    double label; /* height of its name */
} curve;

typedef struct curves {
    curve at[CURVES_MAX];
    int n;
    double most_requests, lo, hi; /* ends of the axes */
} curves;

static void add(curves *s, const gopt_finding_cluster *c, int id, double missed)
{
    static const char *const more[] = {"#d4a72c", "#a475f9", "#d9622b", "#bf3989", "#1b9aaa"};
    const gopt_finding_trial *t = gopt_finding_trial_find(c, id);
    int others = 0;
    if (!gopt_finding_trial_is_ok(t) || t->latency.median <= 0 || t->compile.total < 0 || s->n == CURVES_MAX)
        return;
    for (int i = 0; i < s->n; i++) {
        if (s->at[i].trial == t)
            return;
        others += !*gopt_finding_role_name(c, s->at[i].trial->id);
    }
    const char *colour = id == c->chosen_trial     ? GOPT_FIGURE_BETTER
                         : id == c->default_trial  ? "#2da44e"
                         : id == c->baseline_trial ? GOPT_FIGURE_OTHER
                                                   : more[others % GOPT_COUNT(more)];
    s->at[s->n++] = (curve){t, missed * (double)t->compile.total, (double)t->latency.median, colour, 0};
}

static double cost(const curve *k, double requests)
{
    return k->compile / requests + k->run;
}

static int by_run_time(const void *a, const void *b)
{
    double x = ((const curve *)a)->run, y = ((const curve *)b)->run;
    return (x > y) - (x < y);
}

/* Names stand where the curves end, apart enough to be read. */
static void place_labels(curves *s)
{
    double gap = pow(s->hi / s->lo, 0.055), at = 0;
    for (int i = 0; i < s->n; i++)
        at = s->at[i].label = fmax(cost(&s->at[i], s->most_requests), at * gap);
}

static curves collect(const gopt_findings *f, const gopt_finding_cluster *c)
{
    curves s = {.most_requests = 1e3, .lo = INFINITY};
    double missed = 1 - (isfinite(f->traffic.hit_rate) ? f->traffic.hit_rate : 0), slowest = 0;
    add(&s, c, c->chosen_trial, missed);
    add(&s, c, c->default_trial, missed);
    add(&s, c, c->baseline_trial, missed);
    for (int i = 0; i < c->n_requests; i++)
        add(&s, c, c->requests[i].trial, missed);
    qsort(s.at, (size_t)s.n, sizeof(curve), by_run_time);
    for (int i = 0; i < c->n_requests; i++)
        s.most_requests = fmax(s.most_requests, 20 * c->requests[i].from);
    for (int i = 0; i < s.n; i++) {
        s.lo = fmin(s.lo, s.at[i].run);
        slowest = fmax(slowest, s.at[i].run);
    }
    s.lo *= 0.8;
    s.hi = 6 * slowest;
    place_labels(&s);
    return s;
}

static bool fits(const gopt_finding_cluster *c)
{
    static const gopt_findings no_traffic = {.traffic = {.hit_rate = NAN}};
    return c->n_requests > 0 && collect(&no_traffic, c).n > 1;
}

static int height(const gopt_finding_cluster *c)
{
    (void)c;
    return 460;
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    const gopt_finding_regime *last = &c->requests[c->n_requests - 1];
    (void)f;
    if (c->n_requests == 1) {
        gopt_text_add(out, "However many requests one compilation serves, trial %d costs least", last->trial);
        return;
    }
    const gopt_finding_trial *winner = gopt_finding_trial_find(c, last->trial);
    const gopt_finding_trial *before = gopt_finding_trial_find(c, last[-1].trial);
    gopt_text_add(out, "From %.0f requests on, trial %d costs least", ceil(last->from), last->trial);
    if (winner && before && winner->latency.hi >= before->latency.lo)
        gopt_text_add(out, ", but not told apart from trial %d by latency", before->id);
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    curves s = collect(f, c);
    gopt_text_put(out, "# requests");
    for (int i = 0; i < s.n; i++)
        gopt_text_add(out, "\ttrial_%d_ms", s.at[i].trial->id);
    gopt_text_put(out, "\n");
    for (int k = 0; k <= POINTS; k++) {
        double requests = pow(s.most_requests, (double)k / POINTS);
        gopt_text_add(out, "%.9g", requests);
        for (int i = 0; i < s.n; i++)
            gopt_text_add(out, "\t%.9g", cost(&s.at[i], requests) / 1e6);
        gopt_text_put(out, "\n");
    }
}

static const char *colour_of(const curves *s, int trial)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i].trial->id == trial)
            return s->at[i].colour;
    return GOPT_FIGURE_OTHER;
}

/* A strip along the axis in the colours of who wins there. */
static void write_winners(gopt_text *out, const curves *s, const gopt_finding_cluster *c)
{
    for (int i = 0; i < c->n_requests; i++) {
        const gopt_finding_regime *r = &c->requests[i];
        double from = fmax(r->from, 1), to = isfinite(r->to) ? r->to : s->most_requests;
        if (to <= from)
            continue;
        gopt_text_add(
            out,
            "set object rectangle from first %.9g, graph 0 to first %.9g, graph 0.05 front fillcolor rgb '%s' "
            "fillstyle solid noborder\n",
            from, to, colour_of(s, r->trial));
        if (i > 0)
            gopt_text_add(out,
                          "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead back linecolor rgb quiet "
                          "dashtype 3\n",
                          from, from);
        if (log(to / from) > 0.05 * log(s->most_requests))
            gopt_text_add(out, "set label '%d' at first %.9g, graph 0.025 center front textcolor rgb '#fffffe'\n",
                          r->trial, sqrt(from * to));
    }
}

/* 1, 2 and 5 of every decade: logarithmic axes that span little would else have one number. */
static void write_tics(gopt_text *out, double lo, double hi)
{
    const char *comma = "";
    gopt_text_put(out, "set ytics (");
    for (int decade = (int)floor(log10(lo)); decade <= log10(hi); decade++)
        for (int i = 0; i < 3; i++) {
            static const int of[] = {1, 2, 5};
            double at = of[i] * pow(10, decade);
            if (at < lo || at > hi)
                continue;
            gopt_text_add(out, "%s%.6g", comma, at);
            comma = ", ";
        }
    gopt_text_put(out, ")\n");
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    curves s = collect(f, c);
    gopt_text_add(out, "set logscale xy\nset xrange [1:%.9g]\nset yrange [%.9g:%.9g]\n", s.most_requests, s.lo / 1e6,
                  s.hi / 1e6);
    gopt_text_put(out, "set rmargin 22\nset format x '%.0s%c'\nset grid noxtics\n"
                       "set xlabel 'requests that share one compilation; the strip names the trial that wins' "
                       "textcolor rgb ink\n"
                       "set ylabel 'time per request with its part of compiling, ms' textcolor rgb ink\n");
    write_tics(out, s.lo / 1e6, s.hi / 1e6);
    write_winners(out, &s, c);
    for (int i = 0; i < s.n; i++) {
        const char *role = gopt_finding_role_name(c, s.at[i].trial->id);
        gopt_text_add(out,
                      "set label '%s%s%d' at first %.9g, first %.9g left offset character 0.8,0 textcolor rgb '%s'\n",
                      *role ? role : "trial", *role ? ": " : " ", s.at[i].trial->id, s.most_requests,
                      s.at[i].label / 1e6, s.at[i].colour);
    }
    gopt_text_put(out, "plot ");
    for (int i = 0; i < s.n; i++)
        gopt_text_add(out, "%sdata using 1:%d with lines linewidth %s linecolor rgb '%s'", i ? ", \\\n     " : "",
                      i + 2, s.at[i].trial->id == c->chosen_trial ? "3" : "1.5", s.at[i].colour);
    gopt_text_put(out, "\n");
}

const gopt_figure gopt_figure_wall_time = {
    .name = "wall_time",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
