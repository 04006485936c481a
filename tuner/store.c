/* store.c: DIR/code/UNIT.so, UNIT.keys, FUNCTION.fn; DIR/scratch/PID. */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "build/cache.h"
#include "build/cache_key.h"

/* Files that nobody has written to for so long belong to nobody that lives. */
static const double ABANDONED_S = 3600;

/* "HASH.ENDING": the hash's digits into hex. */
static bool is_named(const char *file, const char *ending, char hex[33])
{
    if (strspn(file, "0123456789abcdef") != 32 || strcmp(file + 32, ending) != 0)
        return false;
    memcpy(hex, file, 32);
    hex[32] = 0;
    return true;
}

static bool look(const char *dir, const char *file, struct stat *st, double *age_s)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    if (stat(path, st))
        return false;
    *age_s = difftime(time(NULL), GOPT_MAX(st->st_mtime, st->st_atime));
    return true;
}

/* Calls fn for every file of a folder; false from fn ends it. */
static void each_file(const char *dir, bool (*fn)(void *ctx, const char *file), void *ctx)
{
    DIR *d = opendir(dir);
    for (const struct dirent *f; d && (f = readdir(d));)
        if (f->d_name[0] != '.' && !fn(ctx, f->d_name))
            break;
    if (d)
        closedir(d);
}

typedef struct listing {
    gopt_store *store;
    const char *cache_dir;
    size_t cap;
} listing;

static bool add_unit(void *ctx, const char *file)
{
    listing *l = ctx;
    gopt_store *s = l->store;
    struct stat st;
    char hex[33];
    double age;
    if (!is_named(file, ".so", hex) || !look(s->dir, file, &st, &age))
        return true;
    gopt_store_unit *grown =
        gopt_arena_grow(&s->arena, s->units, (size_t)s->n, &l->cap, (size_t)s->n + 1, sizeof *grown);
    if (!grown)
        return false;
    s->units = grown;
    s->units[s->n++] =
        (gopt_store_unit){.name = gopt_arena_str(&s->arena, hex), .bytes = (double)st.st_size, .age_s = age};
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const gopt_store_unit *)a)->name, ((const gopt_store_unit *)b)->name);
}

static int by_age(const void *a, const void *b)
{
    const gopt_store_unit *x = a, *y = b;
    return x->age_s != y->age_s ? (x->age_s < y->age_s) - (x->age_s > y->age_s) : by_name(a, b);
}

static gopt_hash hash_of(const char hex[33])
{
    gopt_hash h = {0};
    sscanf(hex, "%16" SCNx64 "%16" SCNx64, &h.hi, &h.lo);
    return h;
}

/* The unit that a function's entry names; NULL when the entry is damaged or the unit is gone. Units are sorted by name.
 */
static gopt_store_unit *unit_of(const listing *l, const char hex[33], gopt_cache_entry *entry)
{
    char name[33];
    if (!gopt_cache_find(l->cache_dir, hash_of(hex), entry) || !l->store->n)
        return NULL;
    gopt_store_unit wanted = {.name = gopt_hash_hex(name, entry->unit)};
    return bsearch(&wanted, l->store->units, (size_t)l->store->n, sizeof wanted, by_name);
}

static bool add_function(void *ctx, const char *file)
{
    const listing *l = ctx;
    struct stat st;
    char hex[33];
    double age;
    gopt_cache_entry entry;
    gopt_store_unit *u = is_named(file, ".fn", hex) ? unit_of(l, hex, &entry) : NULL;
    if (!u || !look(l->store->dir, file, &st, &age))
        return true;
    u->functions++;
    u->compile_ns += (double)entry.ns;
    u->bytes += (double)st.st_size;
    u->age_s = GOPT_MIN(u->age_s, age);
    return true;
}

typedef struct noting {
    gopt_arena *arena;
    gopt_store_unit *unit;
    size_t cap;
} noting;

static void note_use(void *ctx, const gopt_cache_key *key, const char *kernel)
{
    noting *x = ctx;
    gopt_store_unit *u = x->unit;
    (void)key;
    for (int i = 0; i < u->n_uses; i++)
        if (!strcmp(u->uses[i].kernel, kernel)) {
            u->uses[i].functions++;
            return;
        }
    gopt_store_use *grown =
        gopt_arena_grow(x->arena, u->uses, (size_t)u->n_uses, &x->cap, (size_t)u->n_uses + 1, sizeof *grown);
    const char *copy = gopt_arena_str(x->arena, kernel);
    if (!grown || !copy)
        return;
    u->uses = grown;
    u->uses[u->n_uses++] = (gopt_store_use){.kernel = copy, .functions = 1};
}

static void note_uses(gopt_store *s)
{
    char path[PATH_MAX];
    for (int i = 0; i < s->n; i++) {
        noting x = {.arena = &s->arena, .unit = &s->units[i]};
        snprintf(path, sizeof path, "%s/%s.keys", s->dir, s->units[i].name);
        gopt_cache_keys_read(path, note_use, &x);
    }
}

gopt_status gopt_store_read(gopt_store *s, const char *cache_dir, gopt_err *e)
{
    listing l = {.store = s, .cache_dir = cache_dir};
    *s = (gopt_store){0};
    s->dir = gopt_arena_printf(&s->arena, "%s/code", cache_dir);
    if (s->dir)
        each_file(s->dir, add_unit, &l);
    if (s->arena.failed)
        return gopt_oom(e);
    if (s->n)
        qsort(s->units, (size_t)s->n, sizeof *s->units, by_name);
    each_file(s->dir, add_function, &l);
    if (s->n)
        qsort(s->units, (size_t)s->n, sizeof *s->units, by_age);
    for (int i = 0; i < s->n; i++)
        s->bytes += s->units[i].bytes;
    note_uses(s);
    return s->arena.failed ? gopt_oom(e) : GOPT_OK;
}

void gopt_store_fini(gopt_store *s)
{
    gopt_arena_fini(&s->arena);
    *s = (gopt_store){0};
}

/* ---- collecting ---- */

typedef struct collection {
    listing list;
    gopt_status status;
    gopt_err *e;
    double freed;
} collection;

static void unlink_file(collection *c, const char *dir, const char *file)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    double bytes = stat(path, &st) ? 0 : (double)st.st_size;
    if (unlink(path) == 0)
        c->freed += bytes;
    else if (errno != ENOENT && !c->status)
        c->status = gopt_fail(c->e, GOPT_EIO, "%s: %s", path, strerror(errno));
}

static void remove_unit(collection *c, const gopt_store_unit *u)
{
    static const char *const endings[] = {".so", ".keys"};
    char file[48];
    for (int i = 0; i < GOPT_COUNT(endings); i++) {
        snprintf(file, sizeof file, "%.32s%s", u->name, endings[i]);
        unlink_file(c, c->list.store->dir, file);
    }
}

/* Entries without a unit, and files that were being written by a process that was killed. */
static bool sweep(void *ctx, const char *file)
{
    collection *c = ctx;
    struct stat st;
    gopt_cache_entry entry;
    char hex[33];
    double age;
    if (is_named(file, ".fn", hex) && !unit_of(&c->list, hex, &entry))
        unlink_file(c, c->list.store->dir, file);
    else if (strstr(file, ".tmp-") && look(c->list.store->dir, file, &st, &age) && age > ABANDONED_S)
        unlink_file(c, c->list.store->dir, file);
    return !c->status;
}

typedef struct sweeping {
    const char *dir;
    gopt_status status;
    gopt_err *e;
} sweeping;

/* A scratch folder carries the number of the process that works in it, or is abandoned. */
static bool sweep_scratch(void *ctx, const char *file)
{
    sweeping *c = ctx;
    char path[PATH_MAX];
    struct stat st;
    double age;
    char *end;
    long pid = strtol(file, &end, 10);
    bool dead =
        !*end && pid > 0 ? kill((pid_t)pid, 0) && errno == ESRCH : look(c->dir, file, &st, &age) && age > ABANDONED_S;
    if (dead && (size_t)snprintf(path, sizeof path, "%s/%s", c->dir, file) < sizeof path)
        c->status = gopt_dir_remove(path, c->e);
    return !c->status;
}

gopt_status gopt_store_sweep(const char *cache_dir, gopt_err *e)
{
    char scratch[PATH_MAX];
    sweeping c = {.dir = scratch, .e = e};
    if ((size_t)snprintf(scratch, sizeof scratch, "%s/scratch", cache_dir) < sizeof scratch)
        each_file(scratch, sweep_scratch, &c);
    return c.status;
}

gopt_status gopt_store_collect(gopt_store *s, const char *cache_dir, double older_s, double max_bytes, double *freed,
                               int *removed, gopt_err *e)
{
    collection c = {.list = {.store = s, .cache_dir = cache_dir}, .e = e};
    int n = 0;
    double left = s->bytes;
    while (n < s->n && !c.status && (s->units[n].age_s >= older_s || left > max_bytes)) {
        left -= s->units[n].bytes;
        remove_unit(&c, &s->units[n++]);
    }
    s->units += n;
    s->n -= n;
    s->bytes = left;
    if (s->n)
        qsort(s->units, (size_t)s->n, sizeof *s->units, by_name);
    if (!c.status)
        each_file(s->dir, sweep, &c);
    if (!c.status)
        c.status = gopt_store_sweep(cache_dir, e);
    *freed = c.freed;
    *removed = n;
    return c.status;
}
