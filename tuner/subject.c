/* subject.c: looking at the first bytes. */
#include "subject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
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

static bool begins_with(const char *text, size_t n, const char *what)
{
    return n >= strlen(what) && !memcmp(text, what, strlen(what));
}

/* Past a byte order mark, comments, empty lines and "---". */
static size_t yaml_begin(const char *head, size_t n)
{
    size_t at = begins_with(head, n, "\xEF\xBB\xBF") ? 3 : 0;
    while (at < n && (strchr("#\r\n", head[at]) || begins_with(head + at, n - at, "---"))) {
        const char *end = memchr(head + at, '\n', n - at);
        at = end ? (size_t)(end - head) + 1 : n;
    }
    return at;
}

static bool is_named_yaml(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (!strcasecmp(ending, ".yaml") || !strcasecmp(ending, ".yml"));
}

/* A manifest that was damaged where it begins is still no model: its reader says where it breaks. */
static gopt_subject by_content(const char *path, const char *head, size_t n)
{
    size_t at = yaml_begin(head, n);
    if (begins_with(head, n, "GOPTBNDL"))
        return GOPT_SUBJECT_BUNDLE;
    if (begins_with(head, n, "SQLite format 3"))
        return GOPT_SUBJECT_STUDY;
    bool manifest = begins_with(head + at, n - at, "gopt_manifest:") || is_named_yaml(path);
    return manifest ? GOPT_SUBJECT_MANIFEST : GOPT_SUBJECT_MODEL;
}

gopt_status gopt_subject_find(gopt_subject *out, const char *path, gopt_err *e)
{
    struct stat st;
    char head[1024];
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
    *out = by_content(path, head, (size_t)n);
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
