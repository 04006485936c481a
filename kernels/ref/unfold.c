/* unfold.c: the walk over (channel, tap, position) that unfolding and folding share. It goes by runs: positions that
 * differ only in the last coordinate, whose image cells lie at one distance. */
#include "ref/unfold.h"

#include <string.h>

#include "ref/operand.h"

int64_t gopt_unfold_block(int64_t size, int64_t depth)
{
    return GOPT_MIN(size, depth > 1 << 16 ? 16 : 256);
}

/* Positions [at, at + n) of a column row; position j of [lo, hi) within the run lies at image cell first + j * stride.
 */
typedef struct run {
    int64_t at, n, first, lo, hi, stride;
} run;

typedef struct walk {
    const gopt_unfold *u;
    const int64_t *tap;
    int64_t at, o[GOPT_WINDOW_MAX]; /* the next position, and its coordinates */
} walk;

static walk walk_row(const gopt_unfold *u, const int64_t *tap)
{
    walk k = {.u = u, .tap = tap};
    int64_t rest = u->first;
    for (int a = u->w->n - 1; a >= 0; a--) {
        k.o[a] = rest % u->w->out[a];
        rest /= u->w->out[a];
    }
    return k;
}

/* Where the run's positions lie in the image; nowhere when an outer coordinate is in the padding. */
static void find_cells(const walk *k, run *r)
{
    const gopt_window *w = k->u->w;
    int last = w->n - 1;
    for (int a = 0; a < last; a++) {
        int64_t i = k->o[a] * w->stride[a] - w->pad[a] + k->tap[a] * w->dilation[a];
        if (i < 0 || i >= w->in[a])
            return;
        r->first = (r->first + i) * w->in[a + 1];
    }
    int64_t start = k->o[last] * r->stride - w->pad[last] + k->tap[last] * w->dilation[last], size = w->in[last];
    r->lo = start < 0 ? (-start + r->stride - 1) / r->stride : 0;
    r->hi = size > start ? (size - start + r->stride - 1) / r->stride : 0;
    r->hi = GOPT_MIN(r->hi, r->n);
    r->first += start;
}

static bool next_run(walk *k, run *r)
{
    const gopt_window *w = k->u->w;
    int last = w->n - 1;
    if (k->at == k->u->n)
        return false;
    *r = (run){.at = k->at, .n = GOPT_MIN(k->u->n - k->at, w->out[last] - k->o[last]), .stride = w->stride[last]};
    find_cells(k, r);
    k->at += r->n;
    k->o[last] += r->n - 1;
    gopt_ref_next(k->o, w->out, w->n);
    return true;
}

static void read_row(walk k, const double *plane, double *column)
{
    run r;
    memset(column, 0, (size_t)k.u->n * sizeof *column);
    while (next_run(&k, &r))
        for (int64_t j = r.lo; j < r.hi; j++)
            column[r.at + j] = plane[r.first + j * r.stride];
}

static void add_row(walk k, const double *column, double *plane)
{
    run r;
    while (next_run(&k, &r))
        for (int64_t j = r.lo; j < r.hi; j++)
            plane[r.first + j * r.stride] += column[r.at + j];
}

void gopt_unfold_read(const gopt_unfold *u, const double *image, int64_t channels, double *columns)
{
    int64_t size = gopt_ref_count(u->w->in, u->w->n);
    for (int64_t c = 0; c < channels; c++) {
        int64_t tap[GOPT_WINDOW_MAX] = {0};
        do {
            read_row(walk_row(u, tap), image + c * size, columns);
            columns += u->n;
        } while (gopt_ref_next(tap, u->w->kernel, u->w->n));
    }
}

void gopt_unfold_add(const gopt_unfold *u, const double *columns, int64_t channels, double *image)
{
    int64_t size = gopt_ref_count(u->w->in, u->w->n);
    for (int64_t c = 0; c < channels; c++) {
        int64_t tap[GOPT_WINDOW_MAX] = {0};
        do {
            add_row(walk_row(u, tap), columns, image + c * size);
            columns += u->n;
        } while (gopt_ref_next(tap, u->w->kernel, u->w->n));
    }
}
