/* name_map.c: a hash table with names as keys. */
#include "name_map.h"

#include <string.h>

#include "base/hash.h"

/* Where the name is or belongs. */
static gopt_name_slot *slot_of(const gopt_name_map *m, const char *name)
{
    size_t mask = m->size - 1, at = gopt_hash_bytes(name, strlen(name)).lo & mask;
    while (m->at[at].name && strcmp(m->at[at].name, name))
        at = (at + 1) & mask;
    return &m->at[at];
}

static bool grow(gopt_name_map *m)
{
    enum { FIRST_SIZE = 64 };
    gopt_name_map old = *m;
    m->size = old.size ? 2 * old.size : FIRST_SIZE;
    m->at = gopt_calloc(m->size, sizeof *m->at);
    if (!m->at) {
        *m = old;
        return false;
    }
    for (size_t i = 0; i < old.size; i++)
        if (old.at[i].name)
            *slot_of(m, old.at[i].name) = old.at[i];
    gopt_free(old.at);
    return true;
}

bool gopt_name_map_add(gopt_name_map *m, const char *name, void *what)
{
    if (2 * m->n >= m->size && !grow(m)) {
        m->failed = true;
        return false;
    }
    gopt_name_slot *slot = slot_of(m, name);
    if (slot->name)
        return false;
    *slot = (gopt_name_slot){.name = name, .what = what};
    m->n++;
    return true;
}

void *gopt_name_map_find(const gopt_name_map *m, const char *name)
{
    return m->size ? slot_of(m, name)->what : NULL;
}

void gopt_name_map_fini(gopt_name_map *m)
{
    gopt_free(m->at);
    *m = (gopt_name_map){0};
}
