/* json.c: safe values, one print. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"

void gopt_json_number(cJSON *o, const char *name, double v)
{
    cJSON_AddItemToObject(o, name, isfinite(v) ? cJSON_CreateNumber(v) : cJSON_CreateNull());
}

cJSON *gopt_json_string(const char *s)
{
    size_t n = s ? strlen(s) + 1 : 0;
    char *copy = s ? gopt_malloc(n) : NULL;
    cJSON *item = s ? NULL : cJSON_CreateNull();
    if (copy) {
        memcpy(copy, s, n);
        item = cJSON_CreateString(gopt_utf8_clean(copy));
    }
    gopt_free(copy);
    return item;
}

void gopt_json_text(cJSON *o, const char *name, const char *s)
{
    cJSON_AddItemToObject(o, name, gopt_json_string(s));
}

gopt_status gopt_json_print(cJSON *root, gopt_err *e)
{
    char *text = root ? cJSON_Print(root) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text ? GOPT_OK : gopt_oom(e);
}
