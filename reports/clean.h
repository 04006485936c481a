/* clean.h: making texts safe to show. Names come from models: they may hold anything. */
#ifndef GOPT_CLEAN_H
#define GOPT_CLEAN_H

#include "base/text.h"

/* In place, never longer: bytes that are no UTF-8 become '?'. For JSON, which escapes the rest itself. */
void gopt_clean_utf8(char *s);
/* Also what could move the cursor, hide or reorder text: control and direction characters become '?', white space ' '.
 */
void gopt_clean_line(char *s);
int gopt_clean_width(const char *s); /* characters of clean text */

/* Appends clean text, escaped for where it will stand. */
void gopt_put_html(gopt_text *t, const char *s);    /* content and quoted attributes */
void gopt_put_gnuplot(gopt_text *t, const char *s); /* in single quotes, which it adds */
void gopt_put_field(gopt_text *t, const char *s);   /* of a tab-separated file that gnuplot reads */

#endif
