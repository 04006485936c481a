/* document.c: blocks and cells, as sections add them. */
#include "document.h"

#include <math.h>

#include "clean.h"

static char *keep(gopt_document *d, const char *fmt, va_list args)
{
    gopt_text t = {0};
    gopt_text_addv(&t, fmt, args);
    char *s = t.failed ? NULL : gopt_arena_str(&d->arena, gopt_text_str(&t));
    gopt_text_fini(&t);
    if (s)
        gopt_clean_line(s);
    else
        d->arena.failed = true;
    return s;
}

static void append(gopt_document *d, const gopt_block *b)
{
    gopt_block *grown = gopt_arena_grow(&d->arena, d->blocks, (size_t)d->n_blocks, &d->cap, (size_t)d->n_blocks + 1,
                                        sizeof(gopt_block));
    if (!grown)
        return;
    d->blocks = grown;
    d->blocks[d->n_blocks++] = *b;
}

void gopt_document_add(gopt_document *d, gopt_block_kind kind, gopt_tone tone, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    gopt_block b = {.kind = kind, .tone = tone, .text = keep(d, fmt, args)};
    va_end(args);
    if (b.text)
        append(d, &b);
}

void gopt_document_figure(gopt_document *d, const gopt_drawing *drawing)
{
    if (drawing && drawing->svg)
        append(d, &(gopt_block){.kind = GOPT_BLOCK_FIGURE, .drawing = drawing});
}

gopt_table *gopt_table_begin(gopt_document *d, const gopt_column *columns, int n)
{
    gopt_table *t = GOPT_NEW(&d->arena, gopt_table, 1);
    gopt_column *copy = gopt_arena_copy(&d->arena, columns, (size_t)n, sizeof(*columns));
    if (!t || !copy)
        return NULL;
    *t = (gopt_table){.document = d, .columns = copy, .n_columns = n};
    return t;
}

static void add_cell(gopt_table *t, const gopt_cell *c)
{
    gopt_cell *grown = gopt_arena_grow(&t->document->arena, t->cells, (size_t)t->n_cells, &t->cap,
                                       (size_t)t->n_cells + 1, sizeof(gopt_cell));
    if (!grown)
        return;
    t->cells = grown;
    t->cells[t->n_cells++] = *c;
}

void gopt_table_text(gopt_table *t, gopt_tone tone, const char *fmt, ...)
{
    if (!t)
        return;
    va_list args;
    va_start(args, fmt);
    gopt_cell c = {.text = keep(t->document, fmt, args), .value = NAN, .lo = NAN, .hi = NAN, .tone = tone};
    va_end(args);
    if (c.text)
        add_cell(t, &c);
}

void gopt_table_figure(gopt_table *t, double value, gopt_tone tone)
{
    gopt_table_interval(t, value, NAN, NAN, tone);
}

void gopt_table_interval(gopt_table *t, double value, double lo, double hi, gopt_tone tone)
{
    if (t)
        add_cell(t, &(gopt_cell){.value = value, .lo = lo, .hi = hi, .tone = tone});
}

void gopt_table_end(gopt_table *t)
{
    if (!t || t->n_cells == 0 || t->document->arena.failed)
        return;
    gopt_table_format(t);
    if (!t->document->arena.failed)
        append(t->document, &(gopt_block){.kind = GOPT_BLOCK_TABLE, .table = t});
}
