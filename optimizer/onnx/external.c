/* external.c: see external.h. */
#include "onnx/external.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} place;

static gopt_status number(const char *text, const char *key, uint64_t *out, gopt_err *e)
{
    enum { DIGITS = 19 }; /* all of them fit */
    size_t n = strspn(text, "0123456789");
    *out = 0;
    if (n == 0 || text[n] || n > DIGITS)
        return gopt_fail(e, GOPT_EINPUT, "external data: %s \"%.40s\" is not a number of bytes", key, text);
    for (; *text; text++)
        *out = *out * 10 + (uint64_t)(*text - '0');
    return GOPT_OK;
}

static gopt_status read_place(place *p, const Onnx__TensorProto *t, gopt_err *e)
{
    bool has_offset = false;
    *p = (place){0};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
        bool twice = false;
        if (!key || !value)
            continue;
        if (!strcmp(key, "location")) {
            twice = p->location;
            p->location = value;
        } else if (!strcmp(key, "offset")) {
            twice = has_offset;
            has_offset = true;
            GOPT_TRY(number(value, key, &p->offset, e));
        } else if (!strcmp(key, "length")) {
            twice = p->has_length;
            p->has_length = true;
            GOPT_TRY(number(value, key, &p->length, e));
        }
        if (twice)
            return gopt_fail(e, GOPT_EINPUT, "external data: %s is given twice", key);
    }
    return p->location && *p->location ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "external data: no location");
}

static gopt_status refused(const char *location, const char *why, gopt_err *e)
{
    return gopt_fail(e, GOPT_EINPUT, "external data \"%.120s\": %s", location, why);
}

/* The next component of a relative path into name; the rest of the path. */
static const char *component(const char *path, char name[NAME_MAX + 1])
{
    size_t n = strcspn(path, "/");
    if (n > NAME_MAX)
        return NULL;
    memcpy(name, path, n);
    name[n] = '\0';
    return path + n + strspn(path + n, "/");
}

static int open_folder_of(const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    size_t n = !slash ? 0 : slash == file ? 1 : (size_t)(slash - file);
    if (n >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, file, n);
    folder[n] = '\0';
    return open(n ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opens what location names, below the folder at; closes the folder. */
static int open_below(int at, const char *location)
{
    char name[NAME_MAX + 1];
    while (at >= 0 && *location) {
        const char *rest = component(location, name);
        int flags = rest && *rest ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
        int next = -1;
        errno = ENAMETOOLONG;
        if (rest)
            next = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
        int cause = errno;
        close(at);
        errno = cause;
        at = next;
        location = rest ? rest : "";
    }
    return at;
}

static gopt_status check_path(const char *location, gopt_err *e)
{
    char name[NAME_MAX + 1];
    if (*location == '/')
        return refused(location, "an absolute path", e);
    for (const char *p = location; p && *p;) {
        p = component(p, name);
        if (p && !strcmp(name, ".."))
            return refused(location, "it leads out of the model's folder", e);
    }
    return GOPT_OK;
}

static gopt_status map(gopt_mapping *out, int fd, const char *location, gopt_err *e)
{
    static const uint8_t nothing[1];
    struct stat st;
    if (fstat(fd, &st))
        return refused(location, strerror(errno), e);
    if (!S_ISREG(st.st_mode))
        return refused(location, "not a regular file", e);
    if (st.st_nlink != 1)
        return refused(location, "a file with several names (hard links) is not read", e);
    *out = (gopt_mapping){.data = nothing};
    if (st.st_size == 0)
        return GOPT_OK;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return refused(location, strerror(errno), e);
    *out = (gopt_mapping){.data = p, .bytes = (size_t)st.st_size};
    return GOPT_OK;
}

static gopt_status map_location(gopt_mapping *out, const char *model, const char *location, gopt_err *e)
{
    GOPT_TRY(check_path(location, e));
    int fd = open_below(open_folder_of(model), location);
    if (fd < 0)
        return refused(location, errno == ELOOP ? "links are not followed" : strerror(errno), e);
    gopt_status s = map(out, fd, location, e);
    close(fd);
    return s;
}

/* The mapped file of a location; tensors share them. */
static gopt_status file_of(const gopt_mapping **out, gopt_onnx_folder *f, const char *location, gopt_err *e)
{
    for (int i = f->n - 1; i >= 0; i--)
        if (!strcmp(f->files[i].location, location)) {
            *out = &f->files[i].map;
            return GOPT_OK;
        }
    gopt_onnx_external_file *files =
        gopt_arena_grow(f->arena, f->files, (size_t)f->n, &f->cap, (size_t)f->n + 1, sizeof *files);
    char *name = gopt_arena_str(f->arena, location);
    if (!files || !name)
        return gopt_oom(e);
    f->files = files;
    files[f->n].location = name;
    GOPT_TRY(map_location(&files[f->n].map, f->model, location, e));
    GOPT_TRY(gopt_onnx_backing_add(f->backing, files[f->n].map, f->arena, e));
    *out = &files[f->n++].map;
    return GOPT_OK;
}

gopt_status gopt_onnx_external(const uint8_t **out, gopt_onnx_folder *f, const Onnx__TensorProto *t, size_t bytes,
                               gopt_err *e)
{
    const gopt_mapping *m = NULL;
    place p;
    if (!f)
        return gopt_fail(e, GOPT_EUNSUP, "external data outside a model");
    GOPT_TRY(read_place(&p, t, e));
    if (p.has_length && p.length != bytes)
        return gopt_fail(e, GOPT_EINPUT, "external data: a length of %llu bytes, %zu expected",
                         (unsigned long long)p.length, bytes);
    GOPT_TRY(file_of(&m, f, p.location, e));
    if (p.offset > m->bytes || bytes > m->bytes - p.offset)
        return gopt_fail(e, GOPT_EINPUT, "external data \"%.120s\": %zu bytes at %llu, but the file ends at %zu",
                         p.location, bytes, (unsigned long long)p.offset, m->bytes);
    *out = m->data + p.offset;
    return GOPT_OK;
}
