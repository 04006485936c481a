/* Statuses and messages. Neither allocates: out of memory must be reportable. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gopt_version.h"

static const char *const status_texts[GOPT_STATUS_COUNT] = {
#define GOPT_X_TEXT(name, text) [GOPT_##name] = text,
    GOPT_STATUSES(GOPT_X_TEXT)
#undef GOPT_X_TEXT
};

const char *gopt_status_text(gopt_status s)
{
    return (unsigned)s < GOPT_STATUS_COUNT ? status_texts[s] : "unknown status";
}

const char *gopt_commit(void)
{
    return GOPT_COMMIT;
}

const char *gopt_version(void)
{
    return GOPT_VERSION " (" GOPT_COMMIT ")";
}

gopt_status gopt_fail(gopt_err *e, gopt_status s, const char *fmt, ...)
{
    if (!e)
        return s;
    gopt_err made; /* apart from *e: an argument may be its old message */
    va_list args;
    va_start(args, fmt);
    vsnprintf(made.msg, sizeof(made.msg), fmt, args);
    va_end(args);
    *e = made;
    return s;
}

/* Too long for the buffer: the context is cut, never the cause. */
static void prefix(gopt_err *e, char *context, size_t n)
{
    size_t size = sizeof(e->msg), cause = strlen(e->msg);
    size_t room = cause + 3 < size ? size - cause - 3 : 0; /* for the context, beside ": " and the terminator */
    if (n > room) {
        n = room;
        for (size_t i = n; i > 0 && n - i < 3; i--)
            context[i - 1] = '.';
    }
    if (n == 0)
        return;
    memmove(e->msg + n + 2, e->msg, cause + 1);
    memcpy(e->msg, context, n);
    memcpy(e->msg + n, ": ", 2);
}

gopt_status gopt_within(gopt_err *e, gopt_status s, const char *fmt, ...)
{
    if (!e)
        return s;
    char context[sizeof(e->msg)];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(context, sizeof(context), fmt, args);
    va_end(args);
    if (n > 0)
        prefix(e, context, GOPT_MIN((size_t)n, sizeof(context) - 1));
    return s;
}

gopt_status gopt_oom(gopt_err *e)
{
    return gopt_fail(e, GOPT_ENOMEM, "%s", "out of memory");
}
