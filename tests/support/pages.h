/* pages.h: a report as text and HTML, and what it must and must not say. */
#ifndef GOPT_TEST_PAGES_H
#define GOPT_TEST_PAGES_H

#include "base/text.h"
#include "findings.h"

typedef struct test_pages {
    gopt_text text, html;
} test_pages;

gopt_status test_render(test_pages *out, const gopt_findings *f, gopt_err *e); /* ENOMEM at most */
test_pages test_rendered(const gopt_findings *f);
void test_pages_fini(test_pages *p);
void test_assert_says(const gopt_text *t, const char *what);
void test_assert_never_says(const gopt_text *t, const char *what);

#endif
