/* expr_text.c: expressions as text and back. */
#include "expr.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ---- */

typedef struct printer {
    const gopt_expr *x;
    gopt_text *t;
    int uses[GOPT_EXPR_LIMIT];
    int name[GOPT_EXPR_LIMIT]; /* number of what is named, -1 before it is */
    int names;
} printer;

/* The fewest digits that read back as the same double, always recognizable as a float. */
static void print_float(double v, gopt_text *t)
{
    char buf[40];
    if (!isfinite(v)) {
        gopt_text_put(t, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    gopt_text_put(t, buf);
    if (!strpbrk(buf, ".e"))
        gopt_text_put(t, ".0");
}

static void print_constant(const gopt_instr *in, gopt_text *t)
{
    gopt_text_put(t, "const(");
    if (in->class == GOPT_CLASS_FLOAT)
        print_float(in->f, t);
    else if (in->class == GOPT_CLASS_BOOL)
        gopt_text_put(t, in->i ? "true" : "false");
    else if (in->class == GOPT_CLASS_INT)
        gopt_text_add(t, "%lld", (long long)in->i);
    else
        gopt_text_add(t, "%lluu", (unsigned long long)in->i);
    gopt_text_put(t, ")");
}

static void print_leaf(const gopt_instr *in, gopt_text *t)
{
    bool constant = in->code == GOPT_EXPR_CONST;
    if (constant)
        print_constant(in, t);
    else if (in->code == GOPT_EXPR_ACC)
        gopt_text_put(t, "acc");
    else
        gopt_text_add(t, "in%lld", (long long)in->i);
    if (in->dtype != (constant ? GOPT_DTYPE_NONE : GOPT_DTYPE_F32))
        gopt_text_add(t, ":%s", gopt_dtype_name(in->dtype));
}

static void print(printer *p, int k)
{
    const gopt_instr *in = &p->x->at[k];
    if (gopt_expr_code_args(in->code) == 0) {
        print_leaf(in, p->t);
        return;
    }
    if (p->name[k] >= 0) {
        gopt_text_add(p->t, "t%d", p->name[k]);
        return;
    }
    if (p->uses[k] > 1)
        gopt_text_add(p->t, "t%d=", p->name[k] = p->names++);
    gopt_text_add(p->t, "%s(", gopt_expr_code_text(in->code));
    for (int j = 0; j < 3 && in->arg[j] >= 0; j++) {
        gopt_text_put(p->t, j ? ", " : "");
        print(p, in->arg[j]);
    }
    if (in->code == GOPT_EXPR_CAST)
        gopt_text_add(p->t, ", %s", gopt_dtype_name(in->dtype));
    gopt_text_put(p->t, ")");
}

void gopt_expr_print(const gopt_expr *x, gopt_text *t)
{
    printer p = {.x = x, .t = t};
    bool live[GOPT_EXPR_LIMIT];
    if (x->result < 0)
        return;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++) {
        p.name[k] = -1;
        for (int j = 0; live[k] && j < 3; j++)
            if (x->at[k].arg[j] >= 0)
                p.uses[x->at[k].arg[j]]++;
    }
    print(&p, x->result);
}

/* ---- parsing ---- */

typedef struct parser {
    gopt_expr *x;
    const char *p;
    int named[GOPT_EXPR_LIMIT];
    int names, depth;
    gopt_err *e;
} parser;

static gopt_status parse(parser *s, int *out);

static gopt_status bad(const parser *s, const char *what)
{
    return gopt_fail(s->e, GOPT_EINPUT, "expression: %s at \"%.20s\"", what, s->p);
}

static bool accept(parser *s, char c)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
    if (*s->p != c)
        return false;
    s->p++;
    return true;
}

/* Letters and digits into word, cut off at its size. */
static void read_word(parser *s, char *word, size_t size)
{
    size_t n = 0;
    while (isspace((unsigned char)*s->p))
        s->p++;
    for (; isalnum((unsigned char)*s->p); s->p++)
        if (n + 1 < size)
            word[n++] = *s->p;
    word[n] = '\0';
}

static gopt_status parse_dtype(parser *s, gopt_dtype *out)
{
    char word[24];
    read_word(s, word, sizeof word);
    *out = gopt_dtype_find(word);
    bool number = gopt_dtype_is_float(*out) || gopt_dtype_is_int(*out) || *out == GOPT_DTYPE_BOOL;
    return number ? GOPT_OK : bad(s, "no type of numbers");
}

/* ":dtype" where there is one. */
static gopt_status parse_suffix(parser *s, gopt_dtype *out)
{
    return accept(s, ':') ? parse_dtype(s, out) : GOPT_OK;
}

/* The number in "in12" or "t12"; false when the rest of the word is not one below the limit. */
static bool parse_index(const char *digits, int *out)
{
    char *end;
    if (!isdigit((unsigned char)*digits))
        return false;
    long v = strtol(digits, &end, 10);
    *out = (int)v;
    return !*end && v >= 0 && v < INT32_MAX;
}

static int number(gopt_expr *x, const char *start, char **end)
{
    long long v = strtoll(start, end, 10);
    if (*end > start && **end == ')')
        return gopt_expr_int(x, GOPT_CLASS_INT, v);
    if (*end > start && **end == 'u') {
        unsigned long long u = strtoull(start, end, 10);
        ++*end;
        return gopt_expr_int(x, GOPT_CLASS_UINT, (int64_t)u);
    }
    return gopt_expr_float(x, strtod(start, end));
}

static gopt_status parse_constant(parser *s, int *out)
{
    gopt_dtype d = GOPT_DTYPE_NONE;
    char *end;
    int truth = !strncmp(s->p, "true)", 5) ? 1 : !strncmp(s->p, "false)", 6) ? 0 : -1;
    if (truth >= 0) {
        *out = gopt_expr_int(s->x, GOPT_CLASS_BOOL, truth);
        s->p += truth ? 4 : 5;
    } else {
        *out = number(s->x, s->p, &end);
        if (end == s->p)
            return bad(s, "no number");
        s->p = end;
    }
    if (!accept(s, ')'))
        return bad(s, "')' expected");
    GOPT_TRY(parse_suffix(s, &d));
    if (d != GOPT_DTYPE_NONE)
        *out = gopt_expr_cast(s->x, *out, d);
    return GOPT_OK;
}

static gopt_status parse_call(parser *s, gopt_expr_code code, int *out)
{
    int arg[3] = {-1, -1, -1}, args = gopt_expr_code_args(code);
    gopt_dtype d;
    for (int k = 0; k < args; k++) {
        if (k && !accept(s, ','))
            return bad(s, "',' expected");
        GOPT_TRY(parse(s, &arg[k]));
    }
    if (code == GOPT_EXPR_CAST) {
        if (!accept(s, ','))
            return bad(s, "',' expected");
        GOPT_TRY(parse_dtype(s, &d));
        *out = gopt_expr_cast(s->x, arg[0], d);
    } else {
        *out = args == 1   ? gopt_expr_op1(s->x, code, arg[0])
               : args == 2 ? gopt_expr_op2(s->x, code, arg[0], arg[1])
                           : gopt_expr_op3(s->x, code, arg[0], arg[1], arg[2]);
    }
    return accept(s, ')') ? GOPT_OK : bad(s, "')' expected");
}

/* The code of this name that has operands; false when there is none. */
static bool find_code(const char *word, gopt_expr_code *out)
{
    for (int k = 0; k < GOPT_EXPR_CODE_COUNT; k++)
        if (gopt_expr_code_args((gopt_expr_code)k) && !strcmp(gopt_expr_code_text((gopt_expr_code)k), word)) {
            *out = (gopt_expr_code)k;
            return true;
        }
    return false;
}

/* "t0" stands for what was named so, "t0=..." names the next one. */
static gopt_status parse_named(parser *s, int index, int *out)
{
    bool definition = accept(s, '=');
    if (!definition && index < s->names) {
        *out = s->named[index];
        return GOPT_OK;
    }
    if (!definition || index != s->names || s->names == GOPT_EXPR_LIMIT)
        return bad(s, "name used before it is defined, or defined twice");
    s->names++;
    s->named[index] = -1;
    GOPT_TRY(parse(s, out));
    s->named[index] = *out;
    return GOPT_OK;
}

static gopt_status parse_leaf(parser *s, const char *word, int *out)
{
    gopt_dtype d = GOPT_DTYPE_F32;
    int index = 0;
    if (!strcmp(word, "acc")) {
        GOPT_TRY(parse_suffix(s, &d));
        *out = gopt_expr_acc(s->x, d);
    } else if (!strncmp(word, "in", 2) && parse_index(word + 2, &index)) {
        GOPT_TRY(parse_suffix(s, &d));
        *out = gopt_expr_load(s->x, index, d);
    } else if (*word == 't' && parse_index(word + 1, &index)) {
        return parse_named(s, index, out);
    } else {
        return bad(s, "no operand");
    }
    return GOPT_OK;
}

static gopt_status parse(parser *s, int *out)
{
    char word[24];
    gopt_expr_code code;
    if (s->depth++ > GOPT_EXPR_LIMIT)
        return bad(s, "nested too deeply");
    read_word(s, word, sizeof word);
    gopt_status r;
    if (!strcmp(word, "const"))
        r = accept(s, '(') ? parse_constant(s, out) : bad(s, "'(' expected");
    else if (find_code(word, &code))
        r = accept(s, '(') ? parse_call(s, code, out) : bad(s, "'(' expected");
    else
        r = parse_leaf(s, word, out);
    s->depth--;
    if (r == GOPT_OK && *out < 0)
        return s->x->arena->failed ? gopt_oom(s->e) : bad(s, "too long, or a name within itself");
    return r;
}

gopt_status gopt_expr_parse(gopt_expr *out, gopt_arena *a, const char *text, gopt_err *e)
{
    *out = gopt_expr_new(a);
    parser s = {.x = out, .p = text, .e = e};
    int result = -1;
    GOPT_TRY(parse(&s, &result));
    accept(&s, ' ');
    if (*s.p)
        return bad(&s, "end expected");
    out->result = result;
    return GOPT_OK;
}
