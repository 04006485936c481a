/* random_graph.h: small random graphs as the text that gopt_graph_read() takes. */
#ifndef GOPT_TEST_RANDOM_GRAPH_H
#define GOPT_TEST_RANDOM_GRAPH_H

#include "base/text.h"
#include "stats.h"

enum { RANDOM_GRAPH_OUTPUTS = 8 }; /* at most */

/* Appends the graph of a seed to out: two float32 inputs x0 and x1, up to 14 nodes. Returns the generator behind it,
 * for further draws. */
gopt_random random_graph_write(uint64_t seed, gopt_text *out);

#endif
