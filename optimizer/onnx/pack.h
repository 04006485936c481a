/* pack.h: tensors and models into protobuf's encoding. */
#ifndef GOPT_ONNX_PACK_H
#define GOPT_ONNX_PACK_H

#include <onnx.pb-c.h>

#include "tensor.h"

/* A TensorProto in the arena that borrows t's data as raw_data. EUNSUP for strings. */
gopt_status gopt_onnx_tensor_proto(Onnx__TensorProto **out, const gopt_tensor *t, const char *name, gopt_arena *a,
                                   gopt_err *e);
/* Writes a message to a file, whole or not at all. */
gopt_status gopt_onnx_write(const ProtobufCMessage *m, const char *path, gopt_err *e);

#endif
