/* table.c: figures become texts: one unit and one number of digits for a whole column, so that they compare by eye. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clean.h"
#include "document.h"

typedef struct unit {
    const char *name;
    double size;
} unit;

static const unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const unit sizes[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};

/* How a column's numbers are printed. */
typedef struct style {
    double factor;
    int digits;         /* after the point; below 0: %.4g */
    const char *name;   /* of the unit, or NULL */
    int value, bound;   /* widths of the numbers and of the interval's ends */
    bool has_intervals; /* in any row */
} style;

static double least(double so_far, double v)
{
    v = fabs(v);
    return isfinite(v) && v > 0 && v < so_far ? v : so_far;
}

static double most(double so_far, double v)
{
    v = fabs(v);
    return isfinite(v) && v > so_far ? v : so_far;
}

static bool has_interval(const gopt_cell *c)
{
    return isfinite(c->lo) && isfinite(c->hi);
}

/* What the figures of a column, or of a group of columns, span. */
typedef struct span {
    double lo, hi; /* of what is not 0; lo is infinite where there is nothing */
    bool known;    /* any figure */
    int intervals; /* whose ends are close together: they get one digit more */
} span;

static void add_column(span *s, const style *st, const gopt_table *t, int column)
{
    for (int k = column; k < t->n_cells; k += t->n_columns) {
        const gopt_cell *c = &t->cells[k];
        s->lo = least(least(least(s->lo, c->value * st->factor), c->lo * st->factor), c->hi * st->factor);
        s->hi = most(most(s->hi, c->value * st->factor), c->hi * st->factor);
        s->known |= isfinite(c->value);
        s->intervals |= has_interval(c);
    }
}

/* The largest unit in which the smallest figure is at least a tenth; larger where the largest would get too long. */
static void choose_unit(style *s, const unit *u, const gopt_table *t, int column)
{
    span own = {.lo = INFINITY}, all = {.lo = INFINITY};
    int i = 0, group = t->columns[column].group;
    add_column(&own, s, t, column);
    for (int k = 0; k < t->n_columns; k++)
        if (k == column || (group && t->columns[k].group == group))
            add_column(&all, s, t, k);
    while (u[i + 1].name && isfinite(all.lo) && (all.lo / u[i + 1].size >= 0.1 || all.hi / u[i].size >= 99999.5))
        i++;
    double smallest = own.lo / u[i].size;
    s->factor /= u[i].size;
    s->name = all.known ? u[i].name : NULL;
    s->digits = i == 0 ? 0 : (smallest >= 100 ? 0 : smallest >= 10 ? 1 : smallest >= 1 ? 2 : 3) + own.intervals;
}

static style style_of(const gopt_table *t, int column)
{
    style s = {.factor = 1, .digits = 3};
    switch (t->columns[column].kind) {
    case GOPT_COLUMN_TEXT:
    case GOPT_COLUMN_NUMBER:
        s.digits = -1;
        break;
    case GOPT_COLUMN_COUNT:
        s.digits = 0;
        break;
    case GOPT_COLUMN_RATIO:
        break;
    case GOPT_COLUMN_SHARE:
        s = (style){.factor = 100, .digits = 1, .name = "%"};
        break;
    case GOPT_COLUMN_SECONDS:
        s.factor = 1e9;
        choose_unit(&s, times, t, column);
        break;
    case GOPT_COLUMN_TIME:
        choose_unit(&s, times, t, column);
        break;
    case GOPT_COLUMN_BYTES:
        choose_unit(&s, sizes, t, column);
        break;
    }
    return s;
}

/* v as text, padded to width. */
static int print(char buf[64], const style *s, double v, int width)
{
    v *= s->factor;
    if (!isfinite(v))
        return snprintf(buf, 64, "%*s", width, isnan(v) ? "n/a" : v > 0 ? "inf" : "-inf");
    if (s->digits < 0)
        return snprintf(buf, 64, "%*.4g", width, v);
    double half = 0.5 * pow(10, -s->digits);
    return snprintf(buf, 64, "%*.*f", width, s->digits, fabs(v) < half ? 0.0 : v); /* no -0.0 */
}

static void measure(style *s, const gopt_table *t, int column)
{
    char buf[64];
    for (int k = column; k < t->n_cells; k += t->n_columns) {
        const gopt_cell *c = &t->cells[k];
        if (c->text || isnan(c->value))
            continue;
        s->value = GOPT_MAX(s->value, print(buf, s, c->value, 0));
        if (!has_interval(c))
            continue;
        s->has_intervals = true;
        s->bound = GOPT_MAX(s->bound, GOPT_MAX(print(buf, s, c->lo, 0), print(buf, s, c->hi, 0)));
    }
}

/* "1.234 [1.201, 1.270]"; where only other rows have an interval, its room stays empty. */
static void format(gopt_arena *a, gopt_cell *c, const style *s)
{
    char value[64], lo[64], hi[64];
    if (c->text)
        return;
    if (isnan(c->value)) {
        c->text = "n/a";
        c->tone = GOPT_TONE_MUTED;
        return;
    }
    print(value, s, c->value, s->value);
    if (has_interval(c)) {
        print(lo, s, c->lo, s->bound);
        print(hi, s, c->hi, s->bound);
        c->text = gopt_arena_printf(a, "%s [%s, %s]", value, lo, hi);
    } else
        c->text = gopt_arena_printf(a, "%s%*s", value, s->has_intervals ? 2 * s->bound + 5 : 0, "");
}

static bool says_nothing(const gopt_table *t, int column)
{
    for (int k = column; k < t->n_cells; k += t->n_columns)
        if (t->cells[k].text ? strcmp(t->cells[k].text, "n/a") != 0 : !isnan(t->cells[k].value))
            return false;
    return true;
}

static void drop_column(gopt_table *t, int column)
{
    int to = 0;
    for (int k = 0; k < t->n_cells; k++)
        if (k % t->n_columns != column)
            t->cells[to++] = t->cells[k];
    t->n_cells = to;
    for (int i = column; i + 1 < t->n_columns; i++)
        t->columns[i] = t->columns[i + 1];
    t->n_columns--;
}

static void set_width(gopt_table *t, int column)
{
    int width = gopt_clean_width(t->columns[column].title);
    for (int k = column; k < t->n_cells; k += t->n_columns)
        width = GOPT_MAX(width, gopt_clean_width(t->cells[k].text));
    t->columns[column].width = width;
}

void gopt_table_format(gopt_table *t)
{
    gopt_arena *a = &t->document->arena;
    for (int i = t->n_columns - 1; i >= 0; i--)
        if (t->columns[i].optional && says_nothing(t, i))
            drop_column(t, i);
    for (int i = 0; i < t->n_columns; i++) {
        style s = style_of(t, i);
        measure(&s, t, i);
        for (int k = i; k < t->n_cells; k += t->n_columns)
            format(a, &t->cells[k], &s);
        if (s.name)
            t->columns[i].title = gopt_arena_printf(a, "%s, %s", t->columns[i].title, s.name);
        if (!a->failed)
            set_width(t, i);
    }
}
