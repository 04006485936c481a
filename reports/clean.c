/* clean.c: texts of unknown origin, made safe for the place where they will stand. */
#include "clean.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, its character in *c; 0 when there is none. */
static int decode(const unsigned char *s, uint32_t *c)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (n <= 1) {
        *c = s[0];
        return n;
    }
    *c = s[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    return s[0] >= 0xf8 || *c < smallest[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* C0 and C1 controls, line and paragraph separators, marks and overrides of direction, noncharacters. */
static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

static void clean(char *s, bool line)
{
    char *to = s;
    uint32_t c;
    for (const char *from = s; *from;) {
        int n = decode((const unsigned char *)from, &c);
        if (n == 0 || (line && is_unsafe(c)))
            *to++ = line && n == 1 && strchr("\t\n\r", (int)c) ? ' ' : '?';
        else {
            memmove(to, from, (size_t)n);
            to += n;
        }
        from += n ? n : 1;
    }
    *to = '\0';
}

void gopt_clean_utf8(char *s)
{
    clean(s, false);
}

void gopt_clean_line(char *s)
{
    clean(s, true);
}

int gopt_clean_width(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}

void gopt_put_html(gopt_text *t, const char *s)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (*s) {
        size_t n = strcspn(s, special);
        gopt_text_putn(t, s, n);
        s += n;
        if (*s)
            gopt_text_put(t, entity[strchr(special, *s++) - special]);
    }
}

/* Between single quotes gnuplot substitutes nothing; a quote is doubled. */
void gopt_put_gnuplot(gopt_text *t, const char *s)
{
    gopt_text_put(t, "'");
    for (; *s; s++)
        gopt_text_putn(t, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
    gopt_text_put(t, "'");
}

/* gnuplot takes double quotes off and '#' for the start of a comment. */
void gopt_put_field(gopt_text *t, const char *s)
{
    for (; *s; s++)
        gopt_text_putn(t, *s == '"' ? "'" : *s == '#' ? "*" : s, 1);
}
