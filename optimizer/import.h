/* import.h: model files to graphs, tensors to and from files, and a small writer of models. */
#ifndef GOPT_IMPORT_H
#define GOPT_IMPORT_H

#include "graph.h"

typedef struct gopt_model_info {
    char sha256[65];
    int64_t ir_version;
    int64_t opset; /* of ai.onnx */
    char producer[128];
    int nodes;               /* as in the file, bodies and functions' nodes included once */
    size_t parameters_bytes; /* initializers and Constants, those of bodies, too */
} gopt_model_info;

/* Reads an ONNX model, opset 7 and up, rewritten to the newest semantics, functions inlined, types inferred. Constants
 * borrow the mapped file where the encoding allows (raw_data, external data), so weights are in memory once. External
 * data must lie in the model's folder (no links, no ..). Errors are "PATH: node NAME (Op): cause". info may be NULL. */
gopt_status gopt_model_import(gopt_graph **out, const char *path, gopt_model_info *info, gopt_err *e);

/* A serialized TensorProto (*.pb) or numpy array (*.npy). The data lie in the arena. name (may be NULL) gets the
 * tensor's own name or "". */
gopt_status gopt_tensor_read(gopt_tensor *out, const char *path, const char **name, gopt_arena *a, gopt_err *e);
gopt_status gopt_tensor_write(const gopt_tensor *t, const char *name, const char *path, gopt_err *e); /* by extension */

/* Writes the main graph of g as an ONNX model of opset 17 (no bodies, no post): tests and the sample model. */
gopt_status gopt_model_export(const gopt_graph *g, const char *path, gopt_err *e);
/* The model of the quick start: attention block with bias adds, a duplicated scale, dead nodes, foldable constants. */
gopt_status gopt_model_sample(gopt_graph **out, gopt_err *e);

#endif
