/* text.h: building strings. Failure is sticky and asked once at the end. */
#ifndef GOPT_BASE_TEXT_H
#define GOPT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gopt_text {
    char *s; /* NUL-terminated once something was added; NULL when empty */
    size_t n, cap;
    bool failed;
} gopt_text; /* {0} is empty */

void gopt_text_add(gopt_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void gopt_text_addv(gopt_text *t, const char *fmt, va_list args);
void gopt_text_put(gopt_text *t, const char *s);      /* s as it is */
void gopt_text_put_word(gopt_text *t, const char *s); /* s as one word of a shell: quoted where it must be */
void gopt_text_putn(gopt_text *t, const char *s, size_t n);
void gopt_text_fini(gopt_text *t);
const char *gopt_text_str(const gopt_text *t); /* "" when empty */

/* "1.23 ms", "45.6 us": a duration for people. "12.3 MiB": bytes for people. Written into buf of 32 bytes, returned. */
char *gopt_text_ns(char buf[32], double ns);
char *gopt_text_bytes(char buf[32], double bytes);
/* The candidate nearest to `word` by edit distance, or NULL when none is near; for "did you mean". */
const char *gopt_text_nearest(const char *word, const char *const *candidates, int n);

#endif
