/* inputs.h: inputs to verify and time a model with, made from what the graph says it can take. */
#ifndef GOPT_INPUTS_H
#define GOPT_INPUTS_H

#include "graph.h"

typedef enum gopt_input_case {
    GOPT_INPUT_RANDOM, /* floats normal (0, 1), integers over their whole valid range */
    GOPT_INPUT_ZEROS,  /* all zero */
    GOPT_INPUT_LARGE,  /* floats of 16 times the spread */
    GOPT_INPUT_TINY,   /* floats below the smallest normal one of their type */
    GOPT_INPUT_NAN,    /* as random, some floats are not a number */
    GOPT_INPUT_INF,    /* as random, some floats are infinite, of either sign */
    GOPT_INPUT_CASES
} gopt_input_case;
const char *gopt_input_case_name(gopt_input_case c);
/* Whether the model has inputs that this case says something about: all but random and zeros are about floats. */
bool gopt_input_case_applies(gopt_input_case c, const gopt_graph *g);
/* Whether inputs of this case tell more than random ones: it applies, and what is no number is not turned into an
 * integer, which no rule says how. */
bool gopt_input_case_fits(gopt_input_case c, const gopt_graph *g);

/* One tensor per input of the bound main graph, data in the arena. Integers are kept within what the nodes that they
 * reach can take: the table of a Gather or Scatter, the depth of a OneHot, the constants they are compared with; else
 * bytes use their range and all others are 0 or 1. */
gopt_status gopt_inputs_make(const gopt_tensor *const **out, const gopt_graph *g, gopt_input_case c, uint64_t seed,
                             gopt_arena *a, gopt_err *e);

/* A value for every symbol that `names` lack: batch-like ones 1, spatial ones 224, the total of past and new
 * sequence lengths their sum, all others `length`. Fills values[i] for names[i]; returns the number of symbols (at most
 * max). */
int gopt_inputs_shape(const gopt_graph *g, const char **names, int64_t *values, int max, int64_t length);

#endif
