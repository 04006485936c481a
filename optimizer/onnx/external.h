/* external.h: tensor data beside the model.
 *
 * A location is followed only downwards from the model's folder, one component at a time, through no link; the file
 * must be regular and have no second name (a hard link could be another user's file). So a model cannot make a program
 * that has more rights than its author read anything but its own weights. */
#ifndef GOPT_ONNX_EXTERNAL_H
#define GOPT_ONNX_EXTERNAL_H

#include "onnx/model.h"

typedef struct gopt_onnx_external_file {
    const char *location;
    gopt_mapping map; /* owned by the backing */
} gopt_onnx_external_file;

typedef struct gopt_onnx_folder {
    const char *model; /* path of the model file */
    gopt_onnx_external_file *files;
    int n;
    size_t cap;
    gopt_onnx_backing *backing; /* what is mapped is added here */
    gopt_arena *arena;          /* that of the backing */
} gopt_onnx_folder;

/* Data of a tensor that needs `bytes` of them, somewhere in a mapped file. */
gopt_status gopt_onnx_external(const uint8_t **out, gopt_onnx_folder *f, const Onnx__TensorProto *t, size_t bytes,
                               gopt_err *e);

#endif
