/* einsum_parse.c: reads "ij,jk->ik". Label numbers follow the order of an implicit output: first the axes of the
 * ellipsis, then A to Z, then a to z. */
#include "ref/einsum_parse.h"

#include <string.h>

typedef struct parser {
    const char *at;
    int ellipsis;                 /* axes that an ellipsis stands for: the most of any operand */
    int uses[GOPT_EINSUM_LABELS]; /* axes of operands that have the label */
    bool has_ellipsis;
} parser;

static int letter(char c)
{
    if (c >= 'A' && c <= 'Z')
        return GOPT_RANK_MAX + c - 'A';
    return c >= 'a' && c <= 'z' ? GOPT_RANK_MAX + 26 + c - 'a' : -1;
}

static void skip_spaces(parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

/* The end of a term: a comma, an arrow or the end of the text. */
static bool at_end(parser *p)
{
    skip_spaces(p);
    return *p->at == 0 || *p->at == ',' || (p->at[0] == '-' && p->at[1] == '>');
}

static gopt_status add_label(gopt_einsum_term *t, int label, gopt_err *e)
{
    if (t->rank == GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute equation: a term has more than %d axes", GOPT_RANK_MAX);
    t->label[t->rank++] = label;
    return GOPT_OK;
}

/* The last `n` of the axes that the ellipsis stands for. */
static gopt_status add_ellipsis(gopt_einsum_term *t, int n, gopt_err *e)
{
    for (int i = 0; i < n; i++)
        GOPT_TRY(add_label(t, GOPT_RANK_MAX - n + i, e));
    return GOPT_OK;
}

static int count_letters(const char *s)
{
    int n = 0;
    for (; *s && *s != ',' && *s != '-'; s++)
        n += letter(*s) >= 0;
    return n;
}

/* One term; an ellipsis in it stands for `ellipsis` axes. */
static gopt_status parse_term(parser *p, gopt_einsum_term *t, int ellipsis, gopt_err *e)
{
    bool seen = false;
    while (!at_end(p)) {
        if (!strncmp(p->at, "...", 3) && !seen) {
            GOPT_TRY(add_ellipsis(t, ellipsis, e));
            seen = true;
            p->at += 3;
            continue;
        }
        int label = letter(*p->at);
        if (label < 0)
            return gopt_fail(e, GOPT_EINPUT, "attribute equation: unexpected '%c'", *p->at);
        GOPT_TRY(add_label(t, label, e));
        p->at++;
    }
    p->has_ellipsis = seen;
    return GOPT_OK;
}

static gopt_status parse_operand(parser *p, gopt_einsum_term *t, int i, int rank, gopt_err *e)
{
    int ellipsis = rank - count_letters(p->at);
    GOPT_TRY(parse_term(p, t, ellipsis > 0 ? ellipsis : 0, e));
    if (t->rank != rank)
        return gopt_fail(e, GOPT_EINPUT, "operand %d has rank %d, its term in the equation %d", i, rank, t->rank);
    if (p->has_ellipsis)
        p->ellipsis = GOPT_MAX(p->ellipsis, ellipsis);
    for (int d = 0; d < rank; d++)
        p->uses[t->label[d]]++;
    return GOPT_OK;
}

/* Labels that occur once, in the order of their numbers, behind the ellipsis. */
static gopt_status implicit_output(const parser *p, gopt_einsum_term *t, gopt_err *e)
{
    GOPT_TRY(add_ellipsis(t, p->ellipsis, e));
    for (int l = GOPT_RANK_MAX; l < GOPT_EINSUM_LABELS; l++)
        if (p->uses[l] == 1)
            GOPT_TRY(add_label(t, l, e));
    return GOPT_OK;
}

static gopt_status explicit_output(parser *p, gopt_einsum_term *t, gopt_err *e)
{
    GOPT_TRY(parse_term(p, t, p->ellipsis, e));
    if (*p->at)
        return gopt_fail(e, GOPT_EINPUT, "attribute equation: unexpected text behind the output: \"%s\"", p->at);
    for (int d = 0; d < t->rank; d++) {
        if (p->uses[t->label[d]] == 0)
            return gopt_fail(e, GOPT_EINPUT, "attribute equation: an output axis occurs in no operand");
        for (int k = 0; k < d; k++)
            if (t->label[k] == t->label[d])
                return gopt_fail(e, GOPT_EINPUT, "attribute equation: an axis occurs twice in the output");
    }
    return GOPT_OK;
}

gopt_status gopt_einsum_parse(gopt_einsum *q, gopt_arena *a, const char *equation, int n, const int *rank, gopt_err *e)
{
    parser p = {.at = equation};
    *q = (gopt_einsum){.n = n, .in = GOPT_NEW(a, gopt_einsum_term, n)};
    if (!q->in)
        return gopt_oom(e);
    for (int i = 0; i < n; i++) {
        if (i > 0 && *p.at++ != ',')
            return gopt_fail(e, GOPT_EINPUT, "attribute equation: %d terms for %d operands", i, n);
        GOPT_TRY(parse_operand(&p, &q->in[i], i, rank[i], e));
    }
    if (*p.at == ',')
        return gopt_fail(e, GOPT_EINPUT, "attribute equation: more than %d terms for %d operands", n, n);
    if (*p.at == 0)
        return implicit_output(&p, &q->out, e);
    p.at += 2;
    return explicit_output(&p, &q->out, e);
}
