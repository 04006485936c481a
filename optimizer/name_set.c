/* name_set.c: a hash set of names. */
#include "name_set.h"

#include <string.h>

#include "base/hash.h"

static bool place(gopt_name_set *s, const char *name)
{
    size_t mask = s->size - 1, at = gopt_hash_bytes(name, strlen(name)).lo & mask;
    for (; s->at[at]; at = (at + 1) & mask)
        if (!strcmp(s->at[at], name))
            return false;
    s->at[at] = name;
    return true;
}

static bool grow(gopt_name_set *s)
{
    enum { FIRST_SIZE = 64 };
    gopt_name_set old = *s;
    s->size = old.size ? 2 * old.size : FIRST_SIZE;
    s->at = gopt_calloc(s->size, sizeof *s->at);
    if (!s->at) {
        *s = old;
        return false;
    }
    for (size_t i = 0; i < old.size; i++)
        if (old.at[i])
            place(s, old.at[i]);
    gopt_free(old.at);
    return true;
}

bool gopt_name_set_add(gopt_name_set *s, const char *name)
{
    if (2 * s->n >= s->size && !grow(s)) {
        s->failed = true;
        return false;
    }
    if (!place(s, name))
        return false;
    s->n++;
    return true;
}

void gopt_name_set_fini(gopt_name_set *s)
{
    gopt_free(s->at);
    *s = (gopt_name_set){0};
}
