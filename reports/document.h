/* document.h: a report before it is HTML or text. Sections add blocks; text.c and html.c show the same blocks, so both
 * tell the same figures.
 *
 * All texts are copied and made safe to show. Failure of an allocation is sticky in the arena, asked for once at the
 * end. */
#ifndef GOPT_DOCUMENT_H
#define GOPT_DOCUMENT_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

typedef enum gopt_tone { GOPT_TONE_PLAIN, GOPT_TONE_GOOD, GOPT_TONE_BAD, GOPT_TONE_MUTED } gopt_tone;

typedef enum gopt_block_kind {
    GOPT_BLOCK_TITLE,
    GOPT_BLOCK_HEADING,
    GOPT_BLOCK_SUBHEADING,
    GOPT_BLOCK_LEAD, /* what must be read if nothing else is */
    GOPT_BLOCK_TEXT,
    GOPT_BLOCK_NOTE, /* how to read what stands above it */
    GOPT_BLOCK_CODE, /* one command */
    GOPT_BLOCK_LINK, /* to a file in OUT: text is its name */
    GOPT_BLOCK_TABLE,
    GOPT_BLOCK_FIGURE,
    GOPT_BLOCK_COUNT
} gopt_block_kind;

/* What a column's figures are; one unit for the whole column is chosen when the table is complete. */
typedef enum gopt_column_kind {
    GOPT_COLUMN_TEXT,
    GOPT_COLUMN_COUNT,
    GOPT_COLUMN_RATIO,
    GOPT_COLUMN_SHARE,   /* of 1, shown in percent */
    GOPT_COLUMN_TIME,    /* ns */
    GOPT_COLUMN_SECONDS, /* s */
    GOPT_COLUMN_BYTES,
    GOPT_COLUMN_NUMBER /* of any size */
} gopt_column_kind;

typedef struct gopt_column {
    const char *title;
    gopt_column_kind kind;
    bool optional; /* left out when it says n/a in every row */
    bool bar;      /* SHARE: drawn in HTML, too */
    int group;     /* columns of the same group share their unit; 0: none */
    bool prose;    /* TEXT: may be broken into lines where there is little room */
    int width;     /* characters of title and cells; set by gopt_table_format */
} gopt_column;

typedef struct gopt_cell {
    const char *text;     /* given, or made from the figures when the table is complete */
    double value, lo, hi; /* NAN: unknown; lo and hi NAN: without an interval */
    gopt_tone tone;
} gopt_cell;

typedef struct gopt_table {
    struct gopt_document *document;
    gopt_column *columns; /* titles with units */
    int n_columns;
    gopt_cell *cells; /* row after row */
    int n_cells;
    size_t cap;
} gopt_table;

/* A figure as it was drawn. */
typedef struct gopt_drawing {
    const char *figure; /* name in the registry */
    int cluster;        /* index */
    const char *stem;   /* of its files: plots/STEM.svg, .gp, .tsv */
    const char *title;  /* what it shows, with the answer */
    const char *svg;    /* content of the file; NULL when it could not be drawn */
} gopt_drawing;

typedef struct gopt_block {
    gopt_block_kind kind;
    gopt_tone tone;
    const char *text;
    const gopt_table *table;
    const gopt_drawing *drawing;
} gopt_block;

typedef struct gopt_document {
    gopt_arena arena;
    gopt_block *blocks;
    int n_blocks;
    size_t cap;
} gopt_document; /* {0} is empty; gopt_arena_fini(&d->arena) frees it */

void gopt_document_add(gopt_document *d, gopt_block_kind kind, gopt_tone tone, const char *fmt, ...) GOPT_PRINTF(4, 5);
void gopt_document_figure(gopt_document *d, const gopt_drawing *drawing); /* borrowed; NULL adds nothing */

/* A table is filled cell by cell, row after row, then ended, which adds it; one without rows adds nothing. NULL when
 * out of memory, which the other calls take for nothing to do. */
gopt_table *gopt_table_begin(gopt_document *d, const gopt_column *columns, int n);
void gopt_table_text(gopt_table *t, gopt_tone tone, const char *fmt, ...) GOPT_PRINTF(3, 4);
void gopt_table_figure(gopt_table *t, double value, gopt_tone tone);
void gopt_table_interval(gopt_table *t, double value, double lo, double hi, gopt_tone tone);
void gopt_table_end(gopt_table *t);
void gopt_table_format(gopt_table *t); /* table.c: what end does to figures, units, widths and optional columns */

/* The two ways to show it. out is appended to; ask out->failed. */
void gopt_document_text(const gopt_document *d, gopt_text *out);
void gopt_document_html(const gopt_document *d, gopt_text *out);

#endif
