/* dataset.h: a folder test_data_set_K beside a model: input_K.pb, output_K.pb, as ONNX's own tests have them. */
#ifndef GOPT_DATASET_H
#define GOPT_DATASET_H

#include "graph.h"

typedef struct gopt_dataset {
    const gopt_tensor **in; /* by graph input; all there */
    gopt_tensor *expected;
    int *output; /* which graph output expected[i] is */
    int n_expected;
} gopt_dataset;

/* Matched by tensor name where the files carry names that the graph knows, else by position. A file for what is a
 * constant of the graph (an initializer that may be overridden) is left out. All lies in the arena. */
gopt_status gopt_dataset_read(gopt_dataset *out, const char *folder, const gopt_graph *g, gopt_arena *a, gopt_err *e);

/* Names of the folders test_data_set_* in a case's folder, by number; returns their count, -1 and a->failed without
 * memory. */
int gopt_dataset_list(const char *case_folder, const char *const **names, gopt_arena *a);

#endif
