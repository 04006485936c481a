/* report.c: from findings to files. */
#include "report.h"

#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "section.h"

static gopt_status path_in(char buf[PATH_MAX], const char *dir, const char *name, gopt_err *e)
{
    return snprintf(buf, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? GOPT_OK
                                                                  : gopt_fail(e, GOPT_EIO, "%s: path too long", dir);
}

static gopt_status write_shown(const gopt_document *d, void (*show)(const gopt_document *, gopt_text *),
                               const char *out_dir, const char *name, gopt_err *e)
{
    char path[PATH_MAX];
    gopt_text t = {0};
    GOPT_TRY(path_in(path, out_dir, name, e));
    show(d, &t);
    gopt_status s = t.failed ? gopt_oom(e) : gopt_file_write_text(path, gopt_text_str(&t), e);
    gopt_text_fini(&t);
    return s;
}

static gopt_status write_pages(const gopt_findings *f, const gopt_gallery *g, const char *out_dir, gopt_err *e)
{
    gopt_document d = {0};
    gopt_status s = gopt_report_compose(&d, f, g, out_dir, e);
    if (!s)
        s = write_shown(&d, gopt_document_text, out_dir, "report.txt", e);
    if (!s)
        s = write_shown(&d, gopt_document_html, out_dir, "report.html", e);
    gopt_arena_fini(&d.arena);
    return s;
}

gopt_status gopt_report_write(const gopt_findings *f, const char *out_dir, gopt_err *e)
{
    char plots[PATH_MAX], json[PATH_MAX];
    gopt_gallery g;
    GOPT_TRY(path_in(plots, out_dir, "plots", e));
    GOPT_TRY(path_in(json, out_dir, "findings.json", e));
    GOPT_TRY(gopt_dir_make(out_dir, e));
    GOPT_TRY(gopt_findings_write_json(f, json, e));
    gopt_status s = gopt_gallery_draw(&g, f, plots, e);
    if (!s)
        s = write_pages(f, &g, out_dir, e);
    gopt_arena_fini(&g.arena);
    return s;
}
