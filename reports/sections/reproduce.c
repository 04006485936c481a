/* reproduce.c: how to see it for oneself. */
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "section.h"

/* Only to what is there: a link that leads nowhere helps nobody. */
static void write_link(const gopt_page *p, const char *file, bool written_now)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", p->out_dir ? p->out_dir : "", file);
    if (p->out_dir && (written_now || gopt_file_exists(path)))
        gopt_document_add(p->d, GOPT_BLOCK_LINK, GOPT_TONE_PLAIN, "%s", file);
}

static bool fits(const gopt_page *p)
{
    return p->out_dir || p->f->n_commands > 0;
}

static void write(const gopt_page *p)
{
    for (int i = 0; i < p->f->n_commands; i++) {
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s:", p->f->commands[i].purpose);
        gopt_document_add(p->d, GOPT_BLOCK_CODE, GOPT_TONE_PLAIN, "%s", p->f->commands[i].line);
    }
    if (p->out_dir)
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "Files beside this report:");
    write_link(p, "manifest.yaml", false);
    write_link(p, "findings.json", true);
    write_link(p, "report.txt", true);
    write_link(p, "report.html", true);
    write_link(p, "study.db", false);
    write_link(p, "bundles", false);
    write_link(p, "plots", true);
}

const gopt_section gopt_section_reproduce = {
    .title = "See for yourself", .place = GOPT_SECTION_LAST, .fits = fits, .write = write};
