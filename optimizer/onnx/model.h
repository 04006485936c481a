/* model.h: model files as protobuf messages, and where the data of tensors lie. */
#ifndef GOPT_ONNX_MODEL_H
#define GOPT_ONNX_MODEL_H

#include <onnx.pb-c.h>

#include "base/arena.h"
#include "base/file.h"

/* Files that stay mapped as long as tensors borrow from them: the model's own and those of external data. */
typedef struct gopt_onnx_backing {
    gopt_mapping *at; /* in the arena that the backing lies in */
    int n;
    size_t cap;
} gopt_onnx_backing;

/* Takes over the mapping, also on failure. */
gopt_status gopt_onnx_backing_add(gopt_onnx_backing *b, gopt_mapping m, gopt_arena *a, gopt_err *e);
void gopt_onnx_backing_fini(void *backing); /* unmaps; the form of gopt_family.backing_free */
void gopt_onnx_backing_drop(void *backing); /* the form of gopt_family.backing_drop */

/* Hexadecimal SHA-256 of a file. Its pages are handed back on the way: no more of them stay resident than before. */
void gopt_onnx_sha256(const gopt_mapping *m, char hex[65]);

#endif
