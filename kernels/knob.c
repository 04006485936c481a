/* knob.c: walking, checking and naming the values of a knob. */
#include "knob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t choices(const gopt_knob *k)
{
    int64_t n = 0;
    while (k->choices[n])
        n++;
    return n;
}

static int64_t step(const gopt_knob *k)
{
    return k->step ? k->step : 1;
}

int64_t gopt_knob_count(const gopt_knob *k)
{
    int64_t n = 1;
    switch (k->kind) {
    case GOPT_KNOB_BOOL:
        return 2;
    case GOPT_KNOB_LINEAR:
        return (k->hi - k->lo) / step(k) + 1;
    case GOPT_KNOB_POW2:
        for (int64_t v = k->lo; v <= k->hi / 2; v *= 2)
            n++;
        return n;
    case GOPT_KNOB_CHOICE:
        return choices(k);
    }
    return 0;
}

int64_t gopt_knob_value(const gopt_knob *k, int64_t i)
{
    if (k->kind == GOPT_KNOB_LINEAR)
        return k->lo + i * step(k);
    return k->kind == GOPT_KNOB_POW2 ? k->lo << i : i;
}

bool gopt_knob_valid(const gopt_knob *k, int64_t v)
{
    for (int64_t i = 0, n = gopt_knob_count(k); k->kind == GOPT_KNOB_POW2 && i < n; i++)
        if (gopt_knob_value(k, i) == v)
            return true;
    if (k->kind == GOPT_KNOB_LINEAR)
        return v >= k->lo && v <= k->hi && (v - k->lo) % step(k) == 0;
    return k->kind != GOPT_KNOB_POW2 && v >= 0 && v < gopt_knob_count(k);
}

void gopt_knob_print(const gopt_knob *k, int64_t v, gopt_text *t)
{
    if (k->kind == GOPT_KNOB_BOOL)
        gopt_text_put(t, v ? "on" : "off");
    else if (k->kind == GOPT_KNOB_CHOICE && gopt_knob_valid(k, v))
        gopt_text_put(t, k->choices[v]);
    else
        gopt_text_add(t, "%" PRId64, v);
}

/* "on or off", "16, 32 ... 256", "by_size, first_fit". */
static void print_allowed(const gopt_knob *k, gopt_text *t)
{
    int64_t n = gopt_knob_count(k);
    if (k->kind == GOPT_KNOB_BOOL) {
        gopt_text_put(t, "on or off");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        bool skip = k->kind != GOPT_KNOB_CHOICE && n > 6 && i > 1 && i < n - 1;
        if (skip)
            i = n - 1;
        gopt_text_put(t, skip ? " ... " : i ? ", " : "");
        gopt_knob_print(k, gopt_knob_value(k, i), t);
    }
}

static gopt_status refuse(const gopt_knob *k, const char *text, gopt_err *e)
{
    gopt_text allowed = {0};
    print_allowed(k, &allowed);
    gopt_status s =
        allowed.failed ? gopt_oom(e) : gopt_fail(e, GOPT_EUSAGE, "%s: \"%s\" is none of %s", k->name, text, allowed.s);
    gopt_text_fini(&allowed);
    return s;
}

static bool parse_number(const char *text, int64_t *v)
{
    char *end;
    errno = 0;
    *v = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

static bool parse_word(const gopt_knob *k, const char *text, int64_t *v)
{
    static const char *const truth[] = {"off", "on", "false", "true"};
    for (int i = 0; k->kind == GOPT_KNOB_BOOL && i < GOPT_COUNT(truth); i++)
        if (!strcmp(text, truth[i])) {
            *v = i & 1;
            return true;
        }
    for (int64_t i = 0; k->kind == GOPT_KNOB_CHOICE && k->choices[i]; i++)
        if (!strcmp(text, k->choices[i])) {
            *v = i;
            return true;
        }
    return false;
}

gopt_status gopt_knob_parse(const gopt_knob *k, const char *text, int64_t *v, gopt_err *e)
{
    int64_t found;
    bool number = k->kind != GOPT_KNOB_CHOICE && parse_number(text, &found) && gopt_knob_valid(k, found);
    if (!number && !parse_word(k, text, &found))
        return refuse(k, text, e);
    *v = found;
    return GOPT_OK;
}
