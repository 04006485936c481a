/* stacked.c: stacked bars. The names of the parts stand above in their colours instead of in a legend. */
#include "stacked.h"

#include <math.h>

#include "clean.h"

static const char *const colours[GOPT_STACKED_PARTS] = {"#2f81f7", "#2da44e", "#d4a72c",
                                                        "#d9622b", "#a475f9", "#8c959f"};

int gopt_stacked_height(int bars)
{
    return 135 + 50 * bars;
}

/* Blocks: the parts, then the bars' names and totals. */
void gopt_stacked_write_data(gopt_text *out, const gopt_stacked *s, const gopt_finding_cluster *c)
{
    gopt_text_add(out, "# row\tfrom_%s\tto_%s\tcolour\tpart\n", s->unit, s->unit);
    for (int i = 0; i < s->n_bars; i++) {
        double at = 0;
        for (int k = 0; k < s->n_parts; k++) {
            double end = at + s->value[i][k] / s->scale;
            gopt_text_add(out, "%d\t%.9g\t%.9g\t%ld\t", -i, at, end, gopt_figure_rgb(colours[k]));
            gopt_put_field(out, s->part[k]);
            gopt_text_put(out, "\n");
            at = end;
        }
    }
    gopt_text_add(out, "\n\n# row\tend_%s\ttrial\ttotal\n", s->unit);
    for (int i = 0; i < s->n_bars; i++) {
        char total[32];
        double end = 0;
        for (int k = 0; k < s->n_parts; k++)
            end += s->value[i][k] / s->scale;
        gopt_text_add(out, "%d\t%.9g\t%s: %d\t%s\n", -i, end, gopt_finding_role_name(c, s->trial[i]), s->trial[i],
                      s->print(total, s->total[i]));
    }
}

void gopt_stacked_write_script(gopt_text *out, const gopt_stacked *s, const char *axis)
{
    double at = 1.8;
    for (int k = 0; k < s->n_parts; k++) {
        gopt_text_put(out, "set label ");
        gopt_put_gnuplot(out, s->part[k]);
        gopt_text_add(out, " at screen 0, screen 1 left offset character %.1f,-3.2 textcolor rgb '%s'\n", at,
                      colours[k]);
        at += 0.8 * gopt_clean_width(s->part[k]) + 2;
    }
    gopt_text_add(out, "set tmargin 5\nset yrange [-%d + 0.4:0.6]\nset xrange [0:*]\n", s->n_bars);
    gopt_text_add(out, "set xlabel '%s, %s' textcolor rgb ink\n", axis, s->unit);
    gopt_text_put(out,
                  "set ytics scale 0\nset grid noytics\nset offsets 0, graph 0.12, 0, 0\n"
                  "plot data index 0 using ($2 + $3)/2:1:2:3:($1 - 0.3):($1 + 0.3):4 with boxxyerror "
                  "fillstyle solid noborder linecolor rgb variable, \\\n"
                  "     data index 1 using 2:1:4:ytic(3) with labels left offset character 1,0 textcolor rgb ink\n");
}
