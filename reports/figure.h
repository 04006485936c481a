/* figure.h: what can be drawn of a cluster. A figure is one file under figures/ that ends in a gopt_figure, registered
 * by one line of figures.def. gnuplot draws it when there is one; its script and data are kept beside the picture. */
#ifndef GOPT_FIGURE_H
#define GOPT_FIGURE_H

#include "document.h"
#include "findings.h"

/* The colours that a page may replace by its own; all others read on light and dark ground. */
#define GOPT_FIGURE_INK "#1f2328"
#define GOPT_FIGURE_QUIET "#6e7781"
#define GOPT_FIGURE_GRID "#d8dee4"
#define GOPT_FIGURE_GROUND "#ffffff"
/* Of data. */
#define GOPT_FIGURE_BETTER "#2f81f7"
#define GOPT_FIGURE_WORSE "#d9622b"
#define GOPT_FIGURE_OTHER "#8c959f"

typedef struct gopt_figure {
    const char *name; /* of its files */
    /* Whether the cluster has what it shows. */
    bool (*fits)(const gopt_finding_cluster *c);
    /* Pixels, of a picture 800 wide. */
    int (*height)(const gopt_finding_cluster *c);
    /* One sentence that gives away the answer. */
    void (*write_title)(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c);
    /* Tab-separated, blocks apart by two empty lines; texts through gopt_put_field. */
    void (*write_data)(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c);
    /* gnuplot commands after the common ones, which set terminal, output, title, separator and the variables data (name
     * of the data file), ink, quiet, grid, better, worse, other (colours); texts through gopt_put_gnuplot. */
    void (*write_script)(gopt_text *out, const gopt_findings *f, const gopt_finding_cluster *c);
} gopt_figure;

extern const gopt_figure *const gopt_figures[]; /* NULL-terminated */

/* All that was drawn. */
typedef struct gopt_gallery {
    gopt_arena arena;
    gopt_drawing *drawings;
    int n_drawings;
    const char *problem; /* one line on why pictures are missing; NULL when none is */
} gopt_gallery;          /* {0} is empty; gopt_arena_fini(&g->arena) frees it, whatever the outcome */

/* Writes into the folder `plots` every figure that fits a cluster, and removes what earlier figures left there. That
 * gnuplot is missing or fails is no error: see problem. */
gopt_status gopt_gallery_draw(gopt_gallery *out, const gopt_findings *f, const char *plots, gopt_err *e);
const gopt_drawing *gopt_gallery_find(const gopt_gallery *g, const char *figure, int cluster); /* NULL: not there */

/* For figures. Colours as numbers, for `linecolor rgb variable`. */
const char *gopt_figure_verdict_colour(gopt_finding_verdict v);
long gopt_figure_rgb(const char *colour);

#endif
