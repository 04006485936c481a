/* dlopen. An object from memory goes through an anonymous file, so that nothing is left on disk whatever happens. */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

struct gopt_dynlib {
    void *handle;
    int fd; /* of the anonymous file, else -1. Kept open: the loader takes a reused number for the object it knows */
};

static gopt_status load(gopt_dynlib **out, const char *path, int fd, gopt_status on_failure, gopt_err *e)
{
    gopt_dynlib *d = gopt_malloc(sizeof(*d));
    if (!d)
        return gopt_oom(e);
    *d = (gopt_dynlib){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), .fd = fd};
    if (!d->handle) {
        const char *why = dlerror();
        gopt_free(d);
        return gopt_fail(e, on_failure, "%s", why ? why : "cannot be loaded");
    }
    *out = d;
    return GOPT_OK;
}

gopt_status gopt_dynlib_open(gopt_dynlib **out, const char *path, gopt_err *e)
{
    *out = NULL;
    return load(out, path, -1, GOPT_ENODEV, e);
}

/* The loader maps what the headers promise and would die beyond the end of an object that was cut short. */
static bool is_whole(const unsigned char *elf, size_t bytes)
{
    Elf64_Ehdr h;
    Elf64_Phdr segment;
    if (bytes < sizeof h)
        return false;
    memcpy(&h, elf, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_phentsize != sizeof segment || h.e_phoff > bytes || h.e_phnum > (bytes - h.e_phoff) / sizeof segment)
        return false;
    for (size_t i = 0; i < h.e_phnum; i++) {
        memcpy(&segment, elf + h.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset)
            return false;
    }
    return true;
}

gopt_status gopt_dynlib_memory(gopt_dynlib **out, const void *elf, size_t bytes, gopt_err *e)
{
    char path[64];
    *out = NULL;
    if (!is_whole(elf, bytes))
        return gopt_fail(e, GOPT_EINPUT, "%zu bytes that are no whole shared object", bytes);
    int fd = memfd_create("gopt", MFD_CLOEXEC);
    if (fd < 0)
        return gopt_fail(e, GOPT_EIO, "shared object in memory: %s", strerror(errno));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    gopt_status s = gopt_fd_write(fd, elf, bytes)
                        ? load(out, path, fd, GOPT_EINPUT, e)
                        : gopt_fail(e, GOPT_EIO, "shared object in memory: %s", strerror(errno));
    if (s)
        close(fd);
    return s;
}

void gopt_dynlib_close(gopt_dynlib *d)
{
    if (!d)
        return;
    dlclose(d->handle);
    if (d->fd >= 0)
        close(d->fd);
    gopt_free(d);
}

void *gopt_dynlib_find(gopt_dynlib *d, const char *symbol)
{
    return dlsym(d->handle, symbol);
}
