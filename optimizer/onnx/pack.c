/* pack.c: see pack.h. */
#include "onnx/pack.h"

#include "base/file.h"

gopt_status gopt_onnx_tensor_proto(Onnx__TensorProto **out, const gopt_tensor *t, const char *name, gopt_arena *a,
                                   gopt_err *e)
{
    Onnx__TensorProto *p = GOPT_NEW(a, Onnx__TensorProto, 1);
    *out = NULL;
    if (gopt_dtype_bits(t->dtype) == 0)
        return gopt_fail(e, GOPT_EUNSUP, "tensors of type %s are not supported", gopt_dtype_name(t->dtype));
    if (!p)
        return gopt_oom(e);
    onnx__tensor_proto__init(p);
    p->n_dims = (size_t)t->rank;
    p->dims = gopt_arena_copy(a, t->dim, (size_t)t->rank, sizeof *t->dim);
    p->has_data_type = true;
    p->data_type = (int32_t)t->dtype;
    p->name = gopt_arena_str(a, name ? name : "");
    p->has_raw_data = true;
    p->raw_data = (ProtobufCBinaryData){.len = gopt_tensor_bytes(t), .data = t->data};
    if (!p->dims || !p->name)
        return gopt_oom(e);
    *out = p;
    return GOPT_OK;
}

gopt_status gopt_onnx_write(const ProtobufCMessage *m, const char *path, gopt_err *e)
{
    size_t bytes = protobuf_c_message_get_packed_size(m);
    uint8_t *packed = bytes <= INT32_MAX ? gopt_malloc(bytes) : NULL;
    if (bytes > INT32_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "%s: more than 2 GiB, which this format cannot hold", path);
    if (!packed)
        return gopt_oom(e);
    protobuf_c_message_pack(m, packed);
    gopt_status s = gopt_file_write(path, &(gopt_piece){.data = packed, .bytes = bytes}, 1, e);
    gopt_free(packed);
    return s;
}
