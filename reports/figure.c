/* figure.c: the list of figures, and drawing them. */
#include "figure.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "clean.h"

enum { WIDTH = 800, LIMIT_S = 10 /* for gnuplot, all figures together */ };

#define X(name) extern const gopt_figure gopt_figure_##name;
#include "figures.def"
#undef X

const gopt_figure *const gopt_figures[] = {
#define X(name) &gopt_figure_##name,
#include "figures.def"
#undef X
    NULL};

typedef struct artist {
    gopt_gallery *gallery;
    const gopt_findings *f;
    const char *plots;
    char program[PATH_MAX]; /* empty: there is none */
    int64_t deadline;
} artist;

const char *gopt_figure_verdict_colour(gopt_finding_verdict v)
{
    return v == GOPT_FINDING_BETTER  ? GOPT_FIGURE_BETTER
           : v == GOPT_FINDING_WORSE ? GOPT_FIGURE_WORSE
                                     : GOPT_FIGURE_OTHER;
}

long gopt_figure_rgb(const char *colour)
{
    return strtol(colour + 1, NULL, 16);
}

const gopt_drawing *gopt_gallery_find(const gopt_gallery *g, const char *figure, int cluster)
{
    for (int i = 0; i < g->n_drawings; i++)
        if (g->drawings[i].cluster == cluster && !strcmp(g->drawings[i].figure, figure))
            return &g->drawings[i];
    return NULL;
}

/* plots/STEM.EXTENSION into buf. */
static const char *path_of(char buf[PATH_MAX], const artist *a, const gopt_drawing *d, const char *extension)
{
    snprintf(buf, PATH_MAX, "%s/%s.%s", a->plots, d->stem, extension);
    return buf;
}

static gopt_status save(const artist *a, const gopt_drawing *d, const char *extension, gopt_text *t, gopt_err *e)
{
    char path[PATH_MAX];
    gopt_status s = t->failed ? gopt_oom(e) : gopt_file_write_text(path_of(path, a, d, extension), gopt_text_str(t), e);
    gopt_text_fini(t);
    return s;
}

static void write_preamble(gopt_text *t, const gopt_drawing *d, int height)
{
    gopt_text_add(t, "# Draw it again, from any folder: gnuplot PATH/%s.gp writes %s.svg beside it.\nreset\n", d->stem,
                  d->stem);
    gopt_text_add(t, "folder = exists('ARG0') ? ARG0[1:strlen(ARG0) - strlen('%s.gp')] : ''\n", d->stem);
    gopt_text_add(t, "data = folder.'%s.tsv'\n", d->stem);
    gopt_text_add(t, "set terminal svg size %d,%d dynamic name '%s' font 'sans-serif,13' noenhanced background '%s'\n",
                  WIDTH, height, d->stem, GOPT_FIGURE_GROUND);
    gopt_text_add(t, "set output exists('part') ? part : folder.'%s.svg'\n", d->stem);
    gopt_text_put(t, "set encoding utf8\nset datafile separator tab\nset datafile missing 'NaN'\n");
    gopt_text_add(t, "ink = '%s'; quiet = '%s'; grid = '%s'; better = '%s'; worse = '%s'; other = '%s'\n",
                  GOPT_FIGURE_INK, GOPT_FIGURE_QUIET, GOPT_FIGURE_GRID, GOPT_FIGURE_BETTER, GOPT_FIGURE_WORSE,
                  GOPT_FIGURE_OTHER);
    gopt_text_put(t, "set label ");
    gopt_put_gnuplot(t, d->title);
    gopt_text_put(t, " at screen 0, screen 1 left offset character 1.5,-1.4 font 'sans-serif,16' textcolor rgb ink\n"
                     "set tmargin 4\nset border 3 linecolor rgb quiet\nset tics nomirror textcolor rgb ink\n"
                     "unset key\nset grid linecolor rgb grid linetype 1 linewidth 0.5\n");
}

static gopt_status write_sources(const artist *a, const gopt_figure *fig, const gopt_drawing *d, gopt_err *e)
{
    const gopt_finding_cluster *c = &a->f->clusters[d->cluster];
    gopt_text data = {0}, script = {0};
    fig->write_data(&data, a->f, c);
    GOPT_TRY(save(a, d, "tsv", &data, e));
    write_preamble(&script, d, fig->height(c));
    fig->write_script(&script, a->f, c);
    return save(a, d, "gp", &script, e);
}

static gopt_status describe(const artist *a, const gopt_figure *fig, int cluster, gopt_drawing *d, gopt_err *e)
{
    gopt_arena *arena = &a->gallery->arena;
    gopt_text title = {0};
    char *copy;
    fig->write_title(&title, a->f, &a->f->clusters[cluster]);
    copy = title.failed ? NULL : gopt_arena_str(arena, gopt_text_str(&title));
    gopt_text_fini(&title);
    d->figure = fig->name;
    d->cluster = cluster;
    d->stem = a->f->n_clusters > 1 ? gopt_arena_printf(arena, "%s_%d", fig->name, cluster + 1) : fig->name;
    if (!copy || !d->stem)
        return gopt_oom(e);
    gopt_clean_line(copy);
    d->title = copy;
    return GOPT_OK;
}

/* The first problem is the one to tell. */
static gopt_status complain(artist *a, const char *stem, const char *what, gopt_err *e)
{
    gopt_gallery *g = a->gallery;
    if (g->problem)
        return GOPT_OK;
    char *line = gopt_arena_printf(&g->arena, "%s was not drawn: %s", stem, what);
    if (!line)
        return gopt_oom(e);
    gopt_clean_line(line);
    g->problem = line;
    return GOPT_OK;
}

/* Takes over the picture that gnuplot left in a file: whole, under its final name. */
static gopt_status adopt(artist *a, gopt_drawing *d, const char *part, gopt_err *e)
{
    char path[PATH_MAX];
    gopt_mapping m;
    GOPT_TRY(gopt_file_map(&m, part, e));
    char *svg = gopt_arena_strn(&a->gallery->arena, (const char *)m.data, m.bytes);
    gopt_file_unmap(&m);
    if (!svg)
        return gopt_oom(e);
    if (!strstr(svg, "</svg>"))
        return complain(a, d->stem, "gnuplot wrote no picture", e);
    GOPT_TRY(gopt_file_write_text(path_of(path, a, d, "svg"), svg, e));
    d->svg = svg;
    return GOPT_OK;
}

static gopt_status judge(artist *a, gopt_drawing *d, const char *part, const gopt_process_result *r, gopt_err *e)
{
    if (r->timed_out)
        return complain(a, d->stem, "gnuplot took too long", e);
    if (r->exit_code != 0 || !gopt_file_exists(part))
        return complain(a, d->stem, r->output.n ? r->output.s : "gnuplot failed", e);
    return adopt(a, d, part, e);
}

/* gnuplot runs in the folder, so that the script names its data as one would who draws it again. */
static gopt_status draw(artist *a, gopt_drawing *d, gopt_err *e)
{
    char part[PATH_MAX], script[96], assignment[128];
    snprintf(script, sizeof(script), "%s.gp", d->stem);
    snprintf(assignment, sizeof(assignment), "part = '%s.svg.part'", d->stem);
    path_of(part, a, d, "svg.part");
    const char *argv[] = {"/bin/sh",  "-c",     "cd \"$1\" && exec \"$2\" -d -e \"$3\" \"$4\"",
                          "sh",       a->plots, a->program,
                          assignment, script,   NULL};
    gopt_process_result r;
    gopt_status s = gopt_process_run(&r, argv, a->deadline - gopt_clock_monotonic(), e);
    if (s == GOPT_ENOMEM)
        return s;
    s = s ? complain(a, d->stem, "gnuplot could not be started", e) : judge(a, d, part, &r, e);
    gopt_text_fini(&r.output);
    unlink(part);
    return s;
}

static gopt_status add_figure(artist *a, const gopt_figure *fig, int cluster, gopt_err *e)
{
    gopt_drawing *d = &a->gallery->drawings[a->gallery->n_drawings];
    if (!fig->fits(&a->f->clusters[cluster]))
        return GOPT_OK;
    GOPT_TRY(describe(a, fig, cluster, d, e));
    GOPT_TRY(write_sources(a, fig, d, e));
    a->gallery->n_drawings++;
    return a->program[0] ? draw(a, d, e) : GOPT_OK;
}

/* Whether a file in the folder is one of a figure that was drawn now. */
static bool is_current(const gopt_gallery *g, const char *file)
{
    for (int i = 0; i < g->n_drawings; i++) {
        const gopt_drawing *d = &g->drawings[i];
        size_t n = strlen(d->stem);
        if (!strncmp(file, d->stem, n) &&
            (!strcmp(file + n, ".gp") || !strcmp(file + n, ".tsv") || (d->svg && !strcmp(file + n, ".svg"))))
            return true;
    }
    return false;
}

static bool is_of_a_figure(const char *file)
{
    for (int i = 0; gopt_figures[i]; i++) {
        size_t n = strlen(gopt_figures[i]->name);
        if (!strncmp(file, gopt_figures[i]->name, n) && (file[n] == '.' || file[n] == '_'))
            return true;
    }
    return false;
}

/* Of an earlier report, or of one that was killed: a figure that does not show these findings must not stay. */
static void remove_stale(const artist *a)
{
    DIR *folder = opendir(a->plots);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_of_a_figure(entry->d_name) && !is_current(a->gallery, entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

gopt_status gopt_gallery_draw(gopt_gallery *out, const gopt_findings *f, const char *plots, gopt_err *e)
{
    artist a = {.gallery = out, .f = f, .plots = plots};
    *out = (gopt_gallery){0};
    GOPT_TRY(gopt_dir_make(plots, e));
    out->drawings = GOPT_NEW(&out->arena, gopt_drawing, GOPT_COUNT(gopt_figures) * (size_t)f->n_clusters);
    if (!out->drawings)
        return gopt_oom(e);
    if (!gopt_process_find("gnuplot", a.program, sizeof(a.program)))
        out->problem =
            "The figures were not drawn: gnuplot is not installed. With it, `gnuplot plots/*.gp` draws them.";
    a.deadline = gopt_clock_monotonic() + LIMIT_S * GOPT_NS_PER_S;
    for (int c = 0; c < f->n_clusters; c++)
        for (int i = 0; gopt_figures[i]; i++)
            GOPT_TRY(add_figure(&a, gopt_figures[i], c, e));
    remove_stale(&a);
    return GOPT_OK;
}
