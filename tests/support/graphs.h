/* graphs.h: graphs for tests, from their text form (optimizer/dump.h). */
#ifndef GOPT_TEST_GRAPHS_H
#define GOPT_TEST_GRAPHS_H

#include "graph.h"

gopt_graph *test_graph(const char *text); /* fails the test when it cannot be read */

#endif
