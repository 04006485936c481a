/* text.c: a document as plain text: paragraphs wrapped, columns aligned. */
#include <string.h>

#include "clean.h"
#include "document.h"

enum { LINE = 110 };

static void repeat(gopt_text *out, const char *s, int n)
{
    for (int i = 0; i < n; i++)
        gopt_text_put(out, s);
}

/* Words of s in lines of at most LINE characters, each after the indent. */
static void wrap(gopt_text *out, const char *s, const char *indent)
{
    int used = 0, margin = gopt_clean_width(indent);
    gopt_text_put(out, indent);
    while (*(s += strspn(s, " "))) {
        size_t n = strcspn(s, " ");
        int width = 0;
        for (size_t i = 0; i < n; i++)
            width += (s[i] & 0xc0) != 0x80;
        if (used && margin + used + 1 + width > LINE) {
            gopt_text_add(out, "\n%s", indent);
            used = 0;
        }
        gopt_text_put(out, used ? " " : "");
        gopt_text_putn(out, s, n);
        used += width + (used ? 1 : 0);
        s += n;
    }
    gopt_text_put(out, "\n");
}

static void underlined(gopt_text *out, const char *s, const char *with)
{
    gopt_text_add(out, "%s\n", s);
    repeat(out, with, gopt_clean_width(s));
    gopt_text_put(out, "\n");
}

/* The last cell of a line gets no trailing space. */
static void put_cell(gopt_text *out, const char *s, int width, bool right, bool last)
{
    int pad = width - gopt_clean_width(s);
    if (right)
        repeat(out, " ", pad);
    gopt_text_put(out, s);
    if (!right && !last)
        repeat(out, " ", pad);
    if (last) {
        while (out->n && out->s[out->n - 1] == ' ')
            out->s[--out->n] = '\0';
        gopt_text_put(out, "\n");
    } else
        gopt_text_put(out, "  ");
}

static void put_rule(gopt_text *out, const gopt_table *t)
{
    for (int i = 0; i < t->n_columns; i++) {
        repeat(out, "-", t->columns[i].width);
        gopt_text_put(out, i + 1 < t->n_columns ? "  " : "\n");
    }
}

static void put_table(gopt_text *out, const gopt_table *t)
{
    for (int row = -1; row < t->n_cells / t->n_columns; row++) {
        for (int i = 0; i < t->n_columns; i++) {
            const gopt_column *c = &t->columns[i];
            put_cell(out, row < 0 ? c->title : t->cells[row * t->n_columns + i].text, c->width,
                     c->kind != GOPT_COLUMN_TEXT, i + 1 == t->n_columns);
        }
        if (row < 0)
            put_rule(out, t);
    }
}

static void put_block(gopt_text *out, const gopt_block *b)
{
    switch (b->kind) {
    case GOPT_BLOCK_TITLE:
        underlined(out, b->text, "=");
        break;
    case GOPT_BLOCK_HEADING:
        gopt_text_put(out, "\n");
        underlined(out, b->text, "-");
        break;
    case GOPT_BLOCK_SUBHEADING:
        gopt_text_add(out, "\n%s\n", b->text);
        break;
    case GOPT_BLOCK_LEAD:
    case GOPT_BLOCK_TEXT:
    case GOPT_BLOCK_NOTE:
        wrap(out, b->text, "");
        break;
    case GOPT_BLOCK_CODE:
        gopt_text_add(out, "    %s\n", b->text);
        break;
    case GOPT_BLOCK_LINK:
        gopt_text_add(out, "  %s\n", b->text);
        break;
    case GOPT_BLOCK_TABLE:
        put_table(out, b->table);
        break;
    case GOPT_BLOCK_FIGURE:
        gopt_text_add(out, "Figure: %s (plots/%s.svg)\n", b->drawing->title, b->drawing->stem);
        break;
    case GOPT_BLOCK_COUNT:
        break;
    }
}

/* Blocks that belong together stand without a blank line between them. */
static bool joins(gopt_block_kind above, gopt_block_kind below)
{
    switch (above) {
    case GOPT_BLOCK_HEADING:
    case GOPT_BLOCK_SUBHEADING:
        return true;
    case GOPT_BLOCK_TEXT:
        return below == GOPT_BLOCK_TEXT || below == GOPT_BLOCK_CODE || below == GOPT_BLOCK_LINK;
    case GOPT_BLOCK_LEAD:
    case GOPT_BLOCK_LINK:
    case GOPT_BLOCK_FIGURE:
        return above == below;
    default:
        return false;
    }
}

void gopt_document_text(const gopt_document *d, gopt_text *out)
{
    for (int i = 0; i < d->n_blocks; i++) {
        if (i && !joins(d->blocks[i - 1].kind, d->blocks[i].kind))
            gopt_text_put(out, "\n");
        put_block(out, &d->blocks[i]);
    }
}
