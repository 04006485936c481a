/* utf8.h: text from outside (names in models, messages of other programs) made fit to print. */
#ifndef GOPT_BASE_UTF8_H
#define GOPT_BASE_UTF8_H

#include "base/text.h"

/* Bytes of the character at s; 0 when it is a control character, a line or paragraph separator, or no UTF-8. */
size_t gopt_utf8_length(const char *s);
/* In place: every byte that belongs to no such character becomes '?'. Returns s. */
char *gopt_utf8_clean(char *s);
/* Appends s, cleaned; NULL as "-". */
void gopt_utf8_put(gopt_text *t, const char *s);

#endif
