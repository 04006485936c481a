/* amdahl.c: whether what a pass gains end to end is what its operators' speedup and share promise. */
#include <math.h>

#include "section.h"

static bool known(const gopt_finding_single *s)
{
    return isfinite(s->share);
}

static bool fits(const gopt_page *p)
{
    for (int i = 0; i < p->c->n_single; i++)
        if (known(&p->c->single[i]))
            return true;
    return false;
}

/* Which side of `expected` was measured, 0 for neither: as with verdicts, neither an interval that holds it nor a
 * difference that counts as a tie is one. */
static int side_of(const gopt_page *p, const gopt_finding_ratio *r, double expected)
{
    if (!(fabs(log(r->value / expected)) > gopt_page_beyond(p)))
        return 0;
    return r->lo > expected ? 1 : r->hi < expected ? -1 : 0;
}

/* A gain above the ceiling cannot come from the operators that the pass touched. */
static bool is_above(const gopt_page *p, const gopt_finding_single *s)
{
    return side_of(p, &s->speedup, s->amdahl_ceiling) > 0; /* false for what is unknown */
}

static bool differs(const gopt_page *p, const gopt_finding_single *s)
{
    return side_of(p, &s->speedup, s->amdahl_predicted) != 0;
}

static void write_agreement(const gopt_page *p, gopt_table *t, const gopt_finding_single *s)
{
    const gopt_finding_ratio *r = &s->speedup;
    int side = side_of(p, r, s->amdahl_predicted);
    if (is_above(p, s))
        gopt_table_text(t, GOPT_TONE_BAD, "above the ceiling");
    else if (!isfinite(r->lo) || !isfinite(r->hi) || isnan(s->amdahl_predicted))
        gopt_table_text(t, GOPT_TONE_MUTED, "n/a");
    else if (side)
        gopt_table_text(t, GOPT_TONE_PLAIN, side > 0 ? "more than predicted" : "less than predicted");
    else
        gopt_table_text(t, GOPT_TONE_GOOD, "as predicted");
}

/* Do the operators that the pass left alone deny what was measured? Less time in them does not make anything slower
 * than predicted, nor more time faster. */
static bool is_denied(const gopt_finding_single *s)
{
    bool slower = s->speedup.value < s->amdahl_predicted;
    return slower ? s->rest_change < -GOPT_REST_CHANGED : s->rest_change > GOPT_REST_CHANGED;
}

/* The ceiling supposes that the operators outside f take the time that they took before, and that f is exact. */
static void explain_above(const gopt_page *p, const gopt_finding_single *s)
{
    gopt_document_add(
        p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
        "%s: measured %.3f [%.3f, %.3f], above the ceiling %.3f that the operators it touched allow: others "
        "became faster with them (smaller tensors, warmer caches, fewer steps to start), or they had more "
        "of the time than the trace says, which was taken in another run%s%s.",
        s->pass, s->speedup.value, s->speedup.lo, s->speedup.hi, s->amdahl_ceiling,
        !s->bottleneck ? ""
        : is_denied(s) ? "; the traces do not explain it: in them "
                       : "; in the traces ",
        s->bottleneck ? s->bottleneck : "");
}

/* Predicted if what the pass left alone took as long in both traces, as the formula supposes: the machine was as fast.
 */
static double at_one_speed(const gopt_finding_single *s)
{
    return 1 / ((1 - s->share) + s->share / (s->operator_speedup * (1 + s->rest_change)));
}

/* Two traces are runs of their own, in which the machine may have had another speed. */
static void explain_denied(const gopt_page *p, const gopt_finding_single *s)
{
    gopt_text t = {0};
    if (isfinite(at_one_speed(s)))
        gopt_text_add(&t, ": at the speed that these operators show, %.3f is predicted", at_one_speed(s));
    gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN,
                      "%s: %.3f predicted, %.3f measured; the traces do not explain it: in them %s. They are runs of "
                      "their own, and the machine may have had another speed in each%s.",
                      s->pass, s->amdahl_predicted, s->speedup.value, s->bottleneck, gopt_page_keep(p, &t));
}

static void explain(const gopt_page *p, const gopt_finding_single *s)
{
    if (is_above(p, s))
        explain_above(p, s);
    else if (s->bottleneck && differs(p, s) && is_denied(s))
        explain_denied(p, s);
    else if (s->bottleneck && differs(p, s))
        gopt_document_add(p->d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s: %.3f predicted, %.3f measured: %s.", s->pass,
                          s->amdahl_predicted, s->speedup.value, s->bottleneck);
}

/* A trace does not look into what a control operator runs. */
static bool has_bodies(const gopt_page *p)
{
    for (int i = 0; i < p->c->n_profiles; i++)
        for (int k = 0; k < p->c->profiles[i].n_hotspots; k++)
            if (p->c->profiles[i].hotspots[k].has_bodies)
                return true;
    return false;
}

static void write_row(const gopt_page *p, gopt_table *t, const gopt_finding_single *s)
{
    gopt_table_text(t, GOPT_TONE_PLAIN, "%s", s->pass);
    gopt_table_figure(t, s->share, GOPT_TONE_PLAIN);
    if (s->removed)
        gopt_table_text(t, GOPT_TONE_PLAIN, "removed");
    else
        gopt_table_figure(t, s->operator_speedup, GOPT_TONE_PLAIN);
    gopt_table_figure(t, s->amdahl_predicted, GOPT_TONE_PLAIN);
    gopt_page_ratio(t, &s->speedup);
    gopt_table_figure(t, s->amdahl_ceiling, GOPT_TONE_PLAIN);
    write_agreement(p, t, s);
}

static void write(const gopt_page *p)
{
    static const gopt_column columns[] = {
        {.title = "pass", .kind = GOPT_COLUMN_TEXT},      {.title = "share f", .kind = GOPT_COLUMN_SHARE},
        {.title = "S_p", .kind = GOPT_COLUMN_RATIO},      {.title = "predicted", .kind = GOPT_COLUMN_RATIO},
        {.title = "measured", .kind = GOPT_COLUMN_RATIO}, {.title = "ceiling", .kind = GOPT_COLUMN_RATIO},
        {.title = "agreement", .kind = GOPT_COLUMN_TEXT}};
    gopt_table *t = gopt_table_begin(p->d, columns, GOPT_COUNT(columns));
    for (int i = 0; i < p->c->n_single; i++)
        if (known(&p->c->single[i]))
            write_row(p, t, &p->c->single[i]);
    gopt_table_end(t);
    for (int i = 0; i < p->c->n_single; i++)
        if (known(&p->c->single[i]))
            explain(p, &p->c->single[i]);
    gopt_document_add(
        p->d, GOPT_BLOCK_NOTE, GOPT_TONE_MUTED,
        "f: part of the baseline's time in the operators that the pass touched; S_p: their own speedup. "
        "Predicted 1 / ((1 - f) + f / S_p), ceiling 1 / (1 - f); measured is the speedup end to end. f and "
        "S_p come from traced runs, whose clock reads cost time. Agreement: as predicted where the interval of "
        "what was measured holds the prediction, or both differ by no more than the %.1f %% that count as a tie; "
        "beyond that more or less than predicted; above the ceiling where it is as far above that.%s",
        100 * gopt_page_beyond(p),
        has_bodies(p) ? " What a pass does in the bodies of If, Loop and Scan is not in f: a trace does not look into "
                        "them."
                      : "");
}

const gopt_section gopt_section_amdahl = {
    .title = "Amdahl check", .place = GOPT_SECTION_CLUSTER, .fits = fits, .write = write};
