/* tensor_proto.h: TensorProto and SparseTensorProto to tensors. */
#ifndef GOPT_ONNX_TENSOR_PROTO_H
#define GOPT_ONNX_TENSOR_PROTO_H

#include "onnx/external.h"
#include "tensor.h"

typedef struct gopt_onnx_source {
    const gopt_mapping *file; /* what gopt_wire_ref refers to */
    gopt_onnx_folder *folder; /* NULL: no external data */
    gopt_arena *arena;        /* for tensors and for data that cannot be borrowed */
} gopt_onnx_source;

/* The tensor of p in the arena. Its data are borrowed from a mapped file when they lie there as they are needed and are
 * aligned for their type; else copied, and the pages they came from are dropped. */
gopt_status gopt_onnx_tensor(const gopt_tensor **out, const Onnx__TensorProto *p, const gopt_onnx_source *src,
                             gopt_err *e);
/* The same as a dense tensor. */
gopt_status gopt_onnx_sparse_tensor(const gopt_tensor **out, const Onnx__SparseTensorProto *p,
                                    const gopt_onnx_source *src, gopt_err *e);

#endif
