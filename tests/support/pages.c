#include "support/pages.h"

#include "section.h"
#include "support/test.h"

gopt_status test_render(test_pages *out, const gopt_findings *f, gopt_err *e)
{
    static const gopt_gallery nothing_drawn;
    gopt_document d = {0};
    *out = (test_pages){0};
    gopt_status s = gopt_report_compose(&d, f, &nothing_drawn, NULL, e);
    if (!s) {
        gopt_document_text(&d, &out->text);
        gopt_document_html(&d, &out->html);
    }
    gopt_arena_fini(&d.arena);
    return !s && (out->text.failed || out->html.failed) ? gopt_oom(e) : s;
}

test_pages test_rendered(const gopt_findings *f)
{
    test_pages p;
    gopt_err e = {0};
    assert_ok(test_render(&p, f, &e), &e);
    return p;
}

void test_pages_fini(test_pages *p)
{
    gopt_text_fini(&p->text);
    gopt_text_fini(&p->html);
}

void test_assert_says(const gopt_text *t, const char *what)
{
    if (!strstr(t->s, what))
        fail_msg("not found: %s", what);
}

void test_assert_never_says(const gopt_text *t, const char *what)
{
    const char *found = strstr(t->s, what);
    if (found)
        fail_msg("found: %.60s", found);
}
