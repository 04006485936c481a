/* subject.c: looking at the first bytes. */
#include "subject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool holds(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return gopt_file_exists(path);
}

static gopt_status find_folder(gopt_subject *out, const char *path, gopt_err *e)
{
    *out = holds(path, "model.onnx") ? GOPT_SUBJECT_CASES : GOPT_SUBJECT_OUT;
    if (*out == GOPT_SUBJECT_OUT && !holds(path, "study.db") && !holds(path, "manifest.yaml"))
        return gopt_fail(e, GOPT_EINPUT, "%s: a folder with neither model.onnx nor results of gopt-tune in it", path);
    return GOPT_OK;
}

static gopt_subject by_content(const char *head, size_t n)
{
    static const struct {
        const char *magic;
        gopt_subject kind;
    } known[] = {{"GOPTBNDL", GOPT_SUBJECT_BUNDLE},
                 {"gopt_manifest:", GOPT_SUBJECT_MANIFEST},
                 {"SQLite format 3", GOPT_SUBJECT_STUDY}};
    for (int i = 0; i < GOPT_COUNT(known); i++)
        if (n >= strlen(known[i].magic) && !memcmp(head, known[i].magic, strlen(known[i].magic)))
            return known[i].kind;
    return GOPT_SUBJECT_MODEL;
}

gopt_status gopt_subject_find(gopt_subject *out, const char *path, gopt_err *e)
{
    struct stat st;
    char head[32];
    if (stat(path, &st))
        return gopt_fail(e, GOPT_EINPUT, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return find_folder(out, path, e);
    if (!S_ISREG(st.st_mode))
        return gopt_fail(e, GOPT_EINPUT, "%s: not a regular file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return gopt_fail(e, GOPT_EINPUT, "%s: %s", path, strerror(cause));
    *out = by_content(head, (size_t)n);
    return GOPT_OK;
}

gopt_status gopt_subject_resolve(gopt_subject *out, char *path, size_t size, const char *given, gopt_err *e)
{
    GOPT_TRY(gopt_subject_find(out, given, e));
    const char *in_it = "";
    if (*out == GOPT_SUBJECT_CASES)
        in_it = "/model.onnx";
    else if (*out == GOPT_SUBJECT_OUT)
        in_it = holds(given, "manifest.yaml") ? "/manifest.yaml" : "/study.db";
    snprintf(path, size, "%s%s", given, in_it);
    return *in_it ? gopt_subject_find(out, path, e) : GOPT_OK;
}

gopt_status gopt_subject_model(char *path, size_t size, const char *given, gopt_err *e)
{
    static const char *const names[] = {
        [GOPT_SUBJECT_MANIFEST] = "a manifest", [GOPT_SUBJECT_BUNDLE] = "a bundle", [GOPT_SUBJECT_STUDY] = "a study"};
    gopt_subject kind;
    GOPT_TRY(gopt_subject_resolve(&kind, path, size, given, e));
    return kind == GOPT_SUBJECT_MODEL ? GOPT_OK
                                      : gopt_fail(e, GOPT_EINPUT, "%s: %s, an ONNX model expected", path, names[kind]);
}
