/* dataset.c: which file is which input or output. */
#include "dataset.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

/* One file of a data set. */
typedef struct entry {
    int index; /* K of input_K.pb */
    const char *file;
    const char *name; /* its tensor's own; "" where it has none */
    gopt_tensor tensor;
} entry;

typedef struct listing {
    entry *at;
    size_t n, cap;
} listing;

/* K of "PREFIXK SUFFIX"; -1 when the name is not of that form. */
static int number_of(const char *name, const char *prefix, const char *suffix)
{
    size_t n = strlen(prefix);
    char *end;
    if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
        return -1;
    long k = strtol(name + n, &end, 10);
    return !strcmp(end, suffix) && k >= 0 && k < INT_MAX ? (int)k : -1;
}

static int by_index(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Files of a folder that are called PREFIXkSUFFIX, by k. Silently none when the folder cannot be read. */
static void list_files(listing *l, const char *folder, const char *prefix, const char *suffix, gopt_arena *a)
{
    DIR *d = opendir(folder);
    for (const struct dirent *f; d && (f = readdir(d));) {
        int k = number_of(f->d_name, prefix, suffix);
        entry *grown = k < 0 ? NULL : gopt_arena_grow(a, l->at, l->n, &l->cap, l->n + 1, sizeof *grown);
        if (!grown)
            continue;
        l->at = grown;
        l->at[l->n++] = (entry){.index = k, .file = gopt_arena_str(a, f->d_name)};
    }
    if (d)
        closedir(d);
    if (l->n)
        qsort(l->at, l->n, sizeof *l->at, by_index);
}

static gopt_status read_files(listing *l, const char *folder, const char *prefix, gopt_arena *a, gopt_err *e)
{
    char path[PATH_MAX];
    list_files(l, folder, prefix, ".pb", a);
    for (size_t i = 0; !a->failed && i < l->n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, l->at[i].file);
        GOPT_TRY(gopt_tensor_read(&l->at[i].tensor, path, &l->at[i].name, a, e));
    }
    return a->failed ? gopt_oom(e) : GOPT_OK;
}

static int find(gopt_value *const *values, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(values[i]->name, name))
            return i;
    return -1;
}

/* place[i]: which of the values entry i belongs to, -1: none. Position counts only where no name is known. */
static void match(const listing *l, gopt_value *const *values, int n, int *place)
{
    bool named = false;
    for (size_t i = 0; i < l->n; i++) {
        place[i] = l->at[i].name[0] ? find(values, n, l->at[i].name) : -1;
        named = named || place[i] >= 0;
    }
    for (size_t i = 0; i < l->n; i++)
        if (place[i] < 0 && (!named || !l->at[i].name[0]) && l->at[i].index < n)
            place[i] = l->at[i].index;
}

static gopt_status match_inputs(gopt_dataset *out, const listing *l, const gopt_graph *g, gopt_arena *a, gopt_err *e)
{
    int *place = GOPT_NEW(a, int, l->n);
    out->in = GOPT_NEW(a, const gopt_tensor *, g->n_inputs);
    if (!place || !out->in)
        return gopt_oom(e);
    match(l, g->inputs, g->n_inputs, place);
    for (size_t i = 0; i < l->n; i++)
        if (place[i] >= 0)
            out->in[place[i]] = &l->at[i].tensor;
    for (int i = 0; i < g->n_inputs; i++) {
        if (!out->in[i])
            return gopt_fail(e, GOPT_EINPUT, "input \"%s\": no input_K.pb has this name or position",
                             g->inputs[i]->name);
        if (out->in[i]->dtype != g->inputs[i]->fact.dtype)
            return gopt_fail(e, GOPT_EINPUT, "input \"%s\": %s given, %s expected", g->inputs[i]->name,
                             gopt_dtype_name(out->in[i]->dtype), gopt_dtype_name(g->inputs[i]->fact.dtype));
    }
    return GOPT_OK;
}

static gopt_status match_outputs(gopt_dataset *out, const listing *l, const gopt_graph *g, gopt_arena *a, gopt_err *e)
{
    out->output = GOPT_NEW(a, int, l->n);
    out->expected = GOPT_NEW(a, gopt_tensor, l->n);
    if (!out->output || !out->expected)
        return gopt_oom(e);
    match(l, g->outputs, g->n_outputs, out->output);
    for (size_t i = 0; i < l->n; i++) {
        if (out->output[i] < 0)
            return gopt_fail(e, GOPT_EINPUT, "%s: the model has no such output", l->at[i].file);
        out->expected[i] = l->at[i].tensor;
    }
    out->n_expected = (int)l->n;
    return l->n ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "there is no output_K.pb");
}

gopt_status gopt_dataset_read(gopt_dataset *out, const char *folder, const gopt_graph *g, gopt_arena *a, gopt_err *e)
{
    listing inputs = {0}, outputs = {0};
    *out = (gopt_dataset){0};
    gopt_status s = read_files(&inputs, folder, "input_", a, e);
    if (!s)
        s = read_files(&outputs, folder, "output_", a, e);
    if (s)
        return s;
    s = match_inputs(out, &inputs, g, a, e);
    if (!s)
        s = match_outputs(out, &outputs, g, a, e);
    return s ? gopt_within(e, s, "%s", folder) : GOPT_OK;
}

int gopt_dataset_list(const char *case_folder, const char *const **names, gopt_arena *a)
{
    listing l = {0};
    list_files(&l, case_folder, "test_data_set_", "", a);
    const char **list = GOPT_NEW(a, const char *, l.n);
    for (size_t i = 0; list && i < l.n; i++)
        list[i] = l.at[i].file;
    *names = list;
    return a->failed ? -1 : (int)l.n;
}
