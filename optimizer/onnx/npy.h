/* npy.h: numpy's format for one array. */
#ifndef GOPT_ONNX_NPY_H
#define GOPT_ONNX_NPY_H

#include "base/file.h"
#include "tensor.h"

/* Data go into the arena, in row-major order whatever the file's is. */
gopt_status gopt_npy_read(gopt_tensor *out, const gopt_mapping *file, gopt_arena *a, gopt_err *e);
gopt_status gopt_npy_write(const gopt_tensor *t, const char *path, gopt_err *e);

#endif
