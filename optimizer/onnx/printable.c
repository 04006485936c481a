/* printable.c: see printable.h. */
#include "onnx/printable.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence at s, 0 when there is none or it is a control character. */
static size_t sequence(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (*s < 0x80)
        return *s >= 0x20 && *s != 0x7f;
    size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    uint32_t code = *s & (0x7fu >> n);
    if (*s < 0xc2 || *s > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff, control = code < 0xa0, replacement = code == 0xfffd;
    return code < least[n] || code > 0x10ffff || surrogate || control || replacement ? 0 : n;
}

gopt_status gopt_onnx_printable(gopt_err *e, gopt_status s)
{
    gopt_err made = {0};
    size_t at = 0;
    if (!e)
        return s;
    for (const unsigned char *p = (const unsigned char *)e->msg; *p;) {
        size_t n = sequence(p);
        if (at + (n ? n : 4) >= sizeof made.msg)
            break;
        if (n)
            memcpy(made.msg + at, p, n);
        else
            snprintf(made.msg + at, 5, "\\x%02x", *p);
        at += n ? n : 4;
        p += n ? n : 1;
    }
    *e = made;
    return s;
}
