/* progress.c: one rewritten line on a terminal, plain lines elsewhere. */
#include "progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/utf8.h"

struct gopt_progress {
    bool terminal;
    double budget_s;
    int64_t begin, last;
    char stage[64];
    bool open; /* a rewritten line is on the screen */
};

static const int64_t PLAIN_EVERY = 5 * GOPT_NS_PER_S, TERMINAL_EVERY = GOPT_NS_PER_S / 10;

gopt_progress *gopt_progress_new(gopt_progress_mode mode, double budget_s)
{
    if (mode == GOPT_PROGRESS_NONE)
        return NULL;
    gopt_progress *p = gopt_calloc(1, sizeof *p);
    if (p) {
        p->terminal = mode == GOPT_PROGRESS_AUTO && isatty(STDERR_FILENO);
        p->budget_s = budget_s;
        p->begin = gopt_now();
    }
    return p;
}

static void close_line(gopt_progress *p)
{
    if (p->open)
        fputc('\n', stderr);
    p->open = false;
}

void gopt_progress_free(gopt_progress *p)
{
    if (p)
        close_line(p);
    gopt_free(p);
}

static double elapsed(const gopt_progress *p)
{
    return (double)(gopt_now() - p->begin) / (double)GOPT_NS_PER_S;
}

void gopt_progress_stage(gopt_progress *p, const char *stage)
{
    if (!p || !strcmp(p->stage, stage))
        return;
    snprintf(p->stage, sizeof p->stage, "%s", stage);
    p->last = 0;
    if (!p->terminal)
        fprintf(stderr, "[%6.1f s] %s\n", elapsed(p), stage);
}

static void draw_bar(char *out, double share)
{
    enum { WIDTH = 20 };
    int full = (int)(GOPT_MAX(0, GOPT_MIN(share, 1)) * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        out[i] = i < full ? '#' : '.';
    out[WIDTH] = 0;
}

void gopt_progress_update(gopt_progress *p, int done, int failed, double best, double lo, double hi)
{
    char text[160] = "no result yet", bar[32];
    if (!p || gopt_now() - p->last < (p->terminal ? TERMINAL_EVERY : PLAIN_EVERY))
        return;
    p->last = gopt_now();
    if (isfinite(best) && isfinite(lo))
        snprintf(text, sizeof text, "best of short races %.3fx [%.3f, %.3f]", best, lo, hi);
    else if (isfinite(best))
        snprintf(text, sizeof text, "best of short races %.3fx", best);
    double now = elapsed(p), left = GOPT_MAX(p->budget_s - now, 0);
    draw_bar(bar, now / p->budget_s);
    if (p->terminal) {
        fprintf(stderr, "\r\033[K[%s] %s | %d trials, %d failed | %s | %.0f s left", bar, p->stage, done, failed, text,
                left);
        p->open = true;
    } else {
        fprintf(stderr, "[%6.1f s] %s: %d trials, %d failed, %s, %.0f s left\n", now, p->stage, done, failed, text,
                left);
    }
    fflush(stderr);
}

void gopt_progress_note(gopt_progress *p, const char *fmt, ...)
{
    char line[1024]; /* names from a model may hold anything, also what a terminal would obey */
    va_list args;
    if (!p)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    close_line(p);
    fprintf(stderr, "[%6.1f s] %s\n", elapsed(p), gopt_utf8_clean(line));
}
