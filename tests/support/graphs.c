#include "support/graphs.h"

#include "support/test.h"

gopt_graph *test_graph(const char *text)
{
    gopt_err e = {0};
    gopt_graph *g = NULL;
    assert_ok(gopt_graph_read(&g, text, &e), &e);
    return g;
}
