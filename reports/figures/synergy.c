/* synergy.c: pairs of passes, in the order they ran; a field has colour only where there is evidence. */
#include <math.h>
#include <string.h>

#include "clean.h"
#include "figure.h"

static bool fits(const gopt_finding_cluster *c)
{
    for (int i = 0; i < c->n_pairs; i++)
        if (isfinite(c->pairs[i].eta.value))
            return true;
    return false;
}

static const char *name_of(const gopt_finding_cluster *c, int i, bool second)
{
    return second ? c->pairs[i].second : c->pairs[i].first;
}

/* Different passes among the first n pairs. */
static int distinct(const gopt_finding_cluster *c, int n, bool second)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = !strcmp(name_of(c, k, second), name_of(c, i, second));
        found += !seen;
    }
    return found;
}

/* Row or column of the i-th pair: passes in the order in which they come. */
static int place(const gopt_finding_cluster *c, int i, bool second)
{
    int k = 0;
    while (strcmp(name_of(c, k, second), name_of(c, i, second)) != 0)
        k++;
    return distinct(c, k, second);
}

static int places(const gopt_finding_cluster *c, bool second)
{
    return distinct(c, c->n_pairs, second);
}

enum { FEW = 5 /* columns, whose names stand nearly level */ };

static int longest_second(const gopt_finding_cluster *c)
{
    int longest = 0;
    for (int i = 0; i < c->n_pairs; i++)
        longest = GOPT_MAX(longest, gopt_clean_width(c->pairs[i].second));
    return longest;
}

static int height(const gopt_finding_cluster *c)
{
    int names = places(c, true) <= FEW ? 40 : 8 * longest_second(c);
    return 130 + names + 40 * places(c, false);
}

static void write_title(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    int synergies = 0, conflicts = 0;
    (void)f;
    for (int i = 0; i < c->n_pairs; i++) {
        synergies += c->pairs[i].eta.verdict == GOPT_FINDING_BETTER;
        conflicts += c->pairs[i].eta.verdict == GOPT_FINDING_WORSE;
    }
    if (synergies + conflicts)
        gopt_text_add(out, "Of %d pairs, %d gain and %d lose by being together", c->n_pairs, synergies, conflicts);
    else
        gopt_text_add(out, "None of %d pairs gains or loses by being together, as far as the noise lets see",
                      c->n_pairs);
}

static void write_data(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    (void)f;
    gopt_text_put(out, "# column\trow\tln_eta_if_evident\tlabel\tsecond\tfirst\n");
    for (int i = 0; i < c->n_pairs; i++) {
        const gopt_finding_ratio *eta = &c->pairs[i].eta;
        bool evident = eta->verdict == GOPT_FINDING_BETTER || eta->verdict == GOPT_FINDING_WORSE;
        if (!isfinite(eta->value))
            continue;
        gopt_text_add(out, "%d\t%d\t%.6g\t%.*f\t", place(c, i, true), -place(c, i, false),
                      evident ? log(eta->value) : 0.0, places(c, true) <= FEW ? 3 : 2, eta->value);
        gopt_put_field(out, c->pairs[i].second);
        gopt_text_put(out, "\t");
        gopt_put_field(out, c->pairs[i].first);
        gopt_text_put(out, "\n");
    }
}

static void write_script(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c)
{
    (void)f;
    double most = 0.02;
    for (int i = 0; i < c->n_pairs; i++)
        if (isfinite(c->pairs[i].eta.value) && c->pairs[i].eta.value > 0)
            most = fmax(most, fabs(log(c->pairs[i].eta.value)));
    gopt_text_add(out, "set xrange [-0.5:%d - 0.5]\nset yrange [-%d + 0.5:0.5]\nset cbrange [-%.6g:%.6g]\n",
                  places(c, true), places(c, false), most, most);
    gopt_text_add(out, "set xtics rotate by %d\n", places(c, true) <= FEW ? -20 : -80);
    gopt_text_put(out, "set palette defined (-1 '#f0883e', 0 '#d0d7de', 1 '#58a6ff')\nunset colorbox\n"
                       "set tmargin 5.5\nset border 0\nset tics scale 0\nunset grid\n"
                       "set xlabel 'ran second' textcolor rgb quiet\nset ylabel 'ran first' textcolor rgb quiet\n"
                       "set label 'blue: synergy, orange: conflict, grey: no evidence' at screen 0, screen 1 left "
                       "offset character 1.8,-3 textcolor rgb quiet\n"
                       "plot data using 1:2:(0.47):(0.44):3:xtic(5):ytic(6) with boxxyerror fillstyle solid noborder "
                       "fillcolor palette, \\\n"
                       "     '' using 1:2:4 with labels font 'sans-serif,11' textcolor rgb '#111111'\n");
}

const gopt_figure gopt_figure_synergy = {
    .name = "synergy",
    .fits = fits,
    .height = height,
    .write_title = write_title,
    .write_data = write_data,
    .write_script = write_script,
};
