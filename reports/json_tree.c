/* json_tree.c: values of findings as cJSON trees. */
#include "json_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clean.h"

/* Hands item to parent, an object when there is a key and an array otherwise. Returns it, or NULL after a failure. */
cJSON *gopt_tree_add(gopt_tree *b, cJSON *parent, const char *key, cJSON *item)
{
    bool ok = parent && item;
    if (ok)
        ok = key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item);
    if (!ok) {
        cJSON_Delete(item);
        b->failed = true;
        return NULL;
    }
    if (item->string)
        gopt_clean_utf8(item->string);
    return item;
}

cJSON *gopt_tree_object(gopt_tree *b, cJSON *parent, const char *key)
{
    return gopt_tree_add(b, parent, key, cJSON_CreateObject());
}

cJSON *gopt_tree_array(gopt_tree *b, cJSON *parent, const char *key)
{
    return gopt_tree_add(b, parent, key, cJSON_CreateArray());
}

void gopt_tree_text(gopt_tree *b, cJSON *parent, const char *key, const char *s)
{
    cJSON *item = gopt_tree_add(b, parent, key, s ? cJSON_CreateString(s) : cJSON_CreateNull());
    if (s && item)
        gopt_clean_utf8(item->valuestring);
}

/* The shortest digits that read back as v: cJSON itself would round to 15. */
void gopt_tree_number(gopt_tree *b, cJSON *parent, const char *key, double v)
{
    enum { DIGITS = 15, DIGITS_MAX = 17 };
    char text[40];
    int digits = DIGITS;
    do
        snprintf(text, sizeof(text), "%.*g", digits, v);
    while (digits++ < DIGITS_MAX && strtod(text, NULL) != v);
    gopt_tree_add(b, parent, key, isfinite(v) ? cJSON_CreateRaw(text) : cJSON_CreateNull());
}

/* Written as it is: cJSON would turn large ones into floating point. */
void gopt_tree_integer(gopt_tree *b, cJSON *parent, const char *key, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, v);
    gopt_tree_add(b, parent, key, cJSON_CreateRaw(digits));
}

void gopt_tree_known(gopt_tree *b, cJSON *parent, const char *key, int64_t v)
{
    if (v == GOPT_UNKNOWN)
        gopt_tree_add(b, parent, key, cJSON_CreateNull());
    else
        gopt_tree_integer(b, parent, key, v);
}

void gopt_tree_truth(gopt_tree *b, cJSON *parent, const char *key, bool v)
{
    gopt_tree_add(b, parent, key, cJSON_CreateBool(v));
}

void gopt_tree_texts(gopt_tree *b, cJSON *parent, const char *key, const char *const *s, int n)
{
    cJSON *list = gopt_tree_array(b, parent, key);
    for (int i = 0; i < n; i++)
        gopt_tree_text(b, list, NULL, s[i]);
}

void gopt_tree_facts(gopt_tree *b, cJSON *o, const gopt_finding_fact *f, int n)
{
    for (int i = 0; i < n; i++)
        if (f[i].kind == GOPT_FINDING_TEXT)
            gopt_tree_text(b, o, f[i].name, f[i].text);
        else if (f[i].kind == GOPT_FINDING_NUMBER)
            gopt_tree_number(b, o, f[i].name, f[i].number);
        else
            gopt_tree_truth(b, o, f[i].name, f[i].number != 0);
}

void gopt_tree_ratio(gopt_tree *b, cJSON *parent, const char *key, const gopt_finding_ratio *r, bool eta)
{
    cJSON *o = gopt_tree_object(b, parent, key);
    gopt_tree_number(b, o, "value", r->value);
    gopt_tree_number(b, o, "lo", r->lo);
    gopt_tree_number(b, o, "hi", r->hi);
    gopt_tree_text(b, o, "verdict", eta ? gopt_finding_eta_name(r->verdict) : gopt_finding_verdict_name(r->verdict));
}

/* A group of figures, null where nothing of it is known. */
cJSON *gopt_tree_group(gopt_tree *b, cJSON *parent, const char *key, int64_t first)
{
    if (first != GOPT_UNKNOWN)
        return gopt_tree_object(b, parent, key);
    gopt_tree_add(b, parent, key, cJSON_CreateNull());
    return NULL;
}
