/* html_style.h: how the page looks. */
#ifndef GOPT_HTML_STYLE_H
#define GOPT_HTML_STYLE_H

#include "base/text.h"

void gopt_html_style(gopt_text *out); /* the <style> element */

#endif
