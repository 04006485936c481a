/* html.c: a document as one page that needs nothing else: style and figures are in it, links lead to files beside it.
 */
#include <math.h>
#include <string.h>

#include "clean.h"
#include "document.h"
#include "html_style.h"

typedef struct page {
    gopt_text *out;
    int headings; /* so far, for anchors */
    bool open;    /* a section */
} page;

static const char *const tone_class[] = {
    [GOPT_TONE_PLAIN] = "", [GOPT_TONE_GOOD] = "good", [GOPT_TONE_BAD] = "bad", [GOPT_TONE_MUTED] = "muted"};

static void element(gopt_text *out, const char *tag, gopt_tone tone, const char *s)
{
    gopt_text_add(out, *tone_class[tone] ? "<%s class=\"%s\">" : "<%s>", tag, tone_class[tone]);
    gopt_put_html(out, s);
    gopt_text_add(out, "</%s>\n", tag);
}

static void put_cell(gopt_text *out, const gopt_column *c, const gopt_cell *cell)
{
    const char *kind = c->prose ? "prose " : c->kind == GOPT_COLUMN_TEXT ? "" : "n ";
    gopt_text_add(out, "<td class=\"%s%s%s\"", kind, tone_class[cell->tone], c->bar ? " bar" : "");
    if (c->bar && cell->value > 0)
        gopt_text_add(out, " style=\"--w:%.1f%%\"", 100 * fmin(cell->value, 1));
    gopt_text_put(out, ">");
    gopt_put_html(out, cell->text);
    gopt_text_put(out, "</td>");
}

static void put_table(gopt_text *out, const gopt_table *t)
{
    gopt_text_put(out, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (int i = 0; i < t->n_columns; i++) {
        gopt_text_put(out, t->columns[i].kind == GOPT_COLUMN_TEXT ? "<th>" : "<th class=\"n\">");
        gopt_put_html(out, t->columns[i].title);
        gopt_text_put(out, "</th>");
    }
    gopt_text_put(out, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < t->n_cells; k += t->n_columns) {
        gopt_text_put(out, "<tr>");
        for (int i = 0; i < t->n_columns; i++)
            put_cell(out, &t->columns[i], &t->cells[k + i]);
        gopt_text_put(out, "</tr>\n");
    }
    gopt_text_put(out, "</tbody>\n</table></div>\n");
}

/* The picture without its XML head. Its names get a prefix: other pictures on the page use the same ones. */
static void put_svg(gopt_text *out, const char *svg, const char *prefix)
{
    static const char *const marks[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    svg = strstr(svg, "<svg");
    while (svg && *svg) {
        const char *next = svg + strlen(svg), *after = next;
        for (int i = 0; i < GOPT_COUNT(marks); i++) {
            const char *found = strstr(svg, marks[i]);
            if (found && found < next) {
                next = found;
                after = found + strlen(marks[i]);
            }
        }
        gopt_text_putn(out, svg, (size_t)(after - svg));
        if (next != after)
            gopt_text_add(out, "%s-", prefix);
        svg = after;
    }
}

static void put_figure(gopt_text *out, const gopt_drawing *d)
{
    gopt_text_put(out, "<figure role=\"img\" aria-label=\"");
    gopt_put_html(out, d->title);
    gopt_text_put(out, "\">\n");
    put_svg(out, d->svg, d->stem);
    gopt_text_add(out,
                  "<figcaption><a href=\"plots/%s.svg\">picture</a> <a href=\"plots/%s.tsv\">data</a> "
                  "<a href=\"plots/%s.gp\">script</a></figcaption>\n</figure>\n",
                  d->stem, d->stem, d->stem);
}

static void put_heading(page *p, const char *s)
{
    gopt_text_add(p->out, "%s<section id=\"s%d\">\n", p->open ? "</section>\n" : "", ++p->headings);
    element(p->out, "h2", GOPT_TONE_PLAIN, s);
    p->open = true;
}

static void put_link(gopt_text *out, const char *file)
{
    gopt_text_put(out, "<p class=\"link\"><a href=\"");
    gopt_put_html(out, file);
    gopt_text_put(out, "\">");
    gopt_put_html(out, file);
    gopt_text_put(out, "</a></p>\n");
}

static void put_block(page *p, const gopt_block *b)
{
    static const char *const tag[GOPT_BLOCK_COUNT] = {
        [GOPT_BLOCK_TITLE] = "h1", [GOPT_BLOCK_SUBHEADING] = "h3", [GOPT_BLOCK_TEXT] = "p", [GOPT_BLOCK_CODE] = "pre"};
    switch (b->kind) {
    case GOPT_BLOCK_HEADING:
        put_heading(p, b->text);
        break;
    case GOPT_BLOCK_LEAD:
        gopt_text_put(p->out, "<p class=\"lead\">");
        gopt_put_html(p->out, b->text);
        gopt_text_put(p->out, "</p>\n");
        break;
    case GOPT_BLOCK_NOTE:
        gopt_text_put(p->out, "<p class=\"note\">");
        gopt_put_html(p->out, b->text);
        gopt_text_put(p->out, "</p>\n");
        break;
    case GOPT_BLOCK_LINK:
        put_link(p->out, b->text);
        break;
    case GOPT_BLOCK_TABLE:
        put_table(p->out, b->table);
        break;
    case GOPT_BLOCK_FIGURE:
        put_figure(p->out, b->drawing);
        break;
    default:
        element(p->out, tag[b->kind], b->tone, b->text);
    }
}

/* Before the first heading: where everything is. */
static void put_contents(gopt_text *out, const gopt_document *d)
{
    int n = 0;
    gopt_text_put(out, "<nav>\n");
    for (int i = 0; i < d->n_blocks; i++)
        if (d->blocks[i].kind == GOPT_BLOCK_HEADING) {
            gopt_text_add(out, "<a href=\"#s%d\">", ++n);
            gopt_put_html(out, d->blocks[i].text);
            gopt_text_put(out, "</a>\n");
        }
    gopt_text_put(out, "</nav>\n");
}

static const char *title_of(const gopt_document *d)
{
    for (int i = 0; i < d->n_blocks; i++)
        if (d->blocks[i].kind == GOPT_BLOCK_TITLE)
            return d->blocks[i].text;
    return "gopt";
}

void gopt_document_html(const gopt_document *d, gopt_text *out)
{
    page p = {.out = out};
    gopt_text_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n");
    element(out, "title", GOPT_TONE_PLAIN, title_of(d));
    gopt_html_style(out);
    gopt_text_put(out, "</head>\n<body>\n<main>\n");
    for (int i = 0; i < d->n_blocks; i++) {
        if (d->blocks[i].kind == GOPT_BLOCK_HEADING && p.headings == 0)
            put_contents(out, d);
        put_block(&p, &d->blocks[i]);
    }
    gopt_text_put(out, p.open ? "</section>\n" : "");
    gopt_text_put(out, "</main>\n</body>\n</html>\n");
}
