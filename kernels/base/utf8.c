/* Deciding what may be printed, character by character. */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

static bool is_printable(uint32_t c)
{
    bool surrogate = c >= 0xD800 && c <= 0xDFFF, separator = c == 0x2028 || c == 0x2029;
    return c != 0x7F && !surrogate && !separator && c != 0xFFFE && c != 0xFFFF && c <= 0x10FFFF;
}

size_t gopt_utf8_length(const char *text)
{
    /* What the first byte of a sequence of 1, 2, 3, 4 bytes looks like, and the least character that needs so many; of
     * two bytes the first 32 are control characters. */
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0x20}, {0xE0, 0xC0, 0xA0}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    const unsigned char *s = (const unsigned char *)text;
    size_t more = 0;
    while (more < (size_t)GOPT_COUNT(forms) && (*s & forms[more].mask) != forms[more].lead)
        more++;
    if (more == (size_t)GOPT_COUNT(forms))
        return 0;
    uint32_t c = *s & (uint32_t)(unsigned char)~forms[more].mask;
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    return c >= forms[more].least && is_printable(c) ? more + 1 : 0;
}

char *gopt_utf8_clean(char *s)
{
    for (char *p = s; *p;) {
        size_t n = gopt_utf8_length(p);
        if (n == 0)
            *p = '?';
        p += n ? n : 1;
    }
    return s;
}

void gopt_utf8_put(gopt_text *t, const char *s)
{
    size_t begin = t->n;
    gopt_text_put(t, s ? s : "-");
    if (!t->failed)
        gopt_utf8_clean(t->s + begin);
}
