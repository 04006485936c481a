/* Whole files and folders. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static gopt_status failed(gopt_err *e, const char *path)
{
    return gopt_fail(e, GOPT_EIO, "%s: %s", path, strerror(errno));
}

static gopt_status map(gopt_mapping *out, int fd, const char *path, gopt_err *e)
{
    static const unsigned char nothing[1];
    struct stat st;
    if (fstat(fd, &st))
        return failed(e, path);
    if (!S_ISREG(st.st_mode))
        return gopt_fail(e, GOPT_EINPUT, "%s: not a regular file", path);
    if (st.st_size == 0) {
        *out = (gopt_mapping){.data = nothing, .bytes = 0};
        return GOPT_OK;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return failed(e, path);
    *out = (gopt_mapping){.data = p, .bytes = (size_t)st.st_size};
    return GOPT_OK;
}

gopt_status gopt_file_map(gopt_mapping *out, const char *path, gopt_err *e)
{
    *out = (gopt_mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block before it is refused */
    if (fd < 0)
        return failed(e, path);
    gopt_status s = map(out, fd, path, e);
    close(fd);
    return s;
}

void gopt_file_unmap(gopt_mapping *m)
{
    if (m->bytes)
        munmap((void *)(uintptr_t)m->data, m->bytes);
    *m = (gopt_mapping){0};
}

void gopt_pages_drop(const void *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)data + page - 1) / page * page, to = ((uintptr_t)data + bytes) / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

bool gopt_fd_write(int fd, const void *p, size_t bytes)
{
    for (const char *at = p; bytes > 0;) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Creates a new file beside target and puts its name into temp. A file of the same name can only be one that a killed
 * process with our id left behind. */
static int create_beside(const char *target, char temp[PATH_MAX])
{
    static unsigned counter;
    for (int tries = 0; tries < 1000; tries++) {
        unsigned n = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        if (snprintf(temp, PATH_MAX, "%s.tmp-%ld-%u", target, (long)getpid(), n) >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* The folder that path lies in. */
static void find_parent(char parent[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(parent, PATH_MAX, "%.*s", n ? (int)n : 1, n ? path : ".");
}

/* Why no file could be created there. */
static gopt_status not_created(const char *target, const char *path, gopt_err *e)
{
    char parent[PATH_MAX];
    if (errno != ENOENT)
        return failed(e, path);
    find_parent(parent, target);
    return gopt_fail(e, GOPT_EIO, "%s: the folder %s does not exist", path, parent);
}

/* The rename lasts only when the folder is written too. */
static gopt_status sync_parent(const char *target, gopt_err *e)
{
    char parent[PATH_MAX];
    find_parent(parent, target);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? GOPT_OK : failed(e, target); /* a folder that may be written but not read */
    gopt_status s = fsync(fd) && errno != EINVAL ? failed(e, target) : GOPT_OK; /* EINVAL: cannot be synced there */
    close(fd);
    return s;
}

static gopt_status fill(int fd, const gopt_piece *pieces, int n, const char *path, gopt_err *e)
{
    gopt_status s = GOPT_OK;
    for (int i = 0; i < n && !s; i++)
        if (!gopt_fd_write(fd, pieces[i].data, pieces[i].bytes))
            s = failed(e, path);
    if (!s && fsync(fd))
        s = failed(e, path);
    if (close(fd) && !s)
        s = failed(e, path);
    return s;
}

/* What a rename may replace: nothing, or a regular file; a link is followed so that it stays one. */
static gopt_status resolve(char target[PATH_MAX], const char *path, gopt_err *e)
{
    struct stat st;
    if (stat(path, &st)) {
        if (errno != ENOENT)
            return failed(e, path);
        if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return failed(e, path);
        }
        return GOPT_OK;
    }
    if (!S_ISREG(st.st_mode))
        return gopt_fail(e, GOPT_EIO, "%s: exists and is not a regular file", path);
    return realpath(path, target) ? GOPT_OK : failed(e, path);
}

gopt_status gopt_file_write(const char *path, const gopt_piece *pieces, int n, gopt_err *e)
{
    char target[PATH_MAX], temp[PATH_MAX];
    GOPT_TRY(resolve(target, path, e));
    int fd = create_beside(target, temp);
    if (fd < 0)
        return not_created(target, path, e);
    gopt_status s = fill(fd, pieces, n, path, e);
    if (!s && rename(temp, target))
        s = failed(e, path);
    if (s) {
        unlink(temp);
        return s;
    }
    return sync_parent(target, e);
}

gopt_status gopt_file_write_text(const char *path, const char *text, gopt_err *e)
{
    return gopt_file_write(path, &(gopt_piece){.data = text, .bytes = strlen(text)}, 1, e);
}

static gopt_status make_one(const char *path, gopt_err *e)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return GOPT_OK;
    int cause = errno; /* on a read-only file system mkdir fails even where the folder exists */
    if (stat(path, &st) == 0)
        cause = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    errno = cause;
    return cause ? failed(e, path) : GOPT_OK;
}

gopt_status gopt_dir_make(const char *path, gopt_err *e)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof(part), "%s", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return failed(e, path);
    }
    for (char *p = part; (p = strchr(p + 1, '/'));) {
        *p = '\0';
        GOPT_TRY(make_one(part, e));
        *p = '/';
    }
    return make_one(part, e);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *level)
{
    (void)st, (void)type, (void)level;
    return remove(path) && errno != ENOENT ? -1 : 0; /* someone else may remove it at the same time */
}

gopt_status gopt_dir_remove(const char *path, gopt_err *e)
{
    enum { OPEN_FOLDERS = 16 };
    if (nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return GOPT_OK;
    return failed(e, path);
}

bool gopt_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
