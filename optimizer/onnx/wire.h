/* wire.h: protobuf messages checked and slimmed before protobuf-c sees them.
 *
 * protobuf-c recurses once per nested message and copies every byte of a tensor. So a file is first read field by field
 * with the schema's descriptors: lengths, wire types, nesting depth and the number of messages are checked, and a copy
 * is made in which every TensorProto.raw_data is replaced by a gopt_wire_ref, the place of its bytes in the file.
 * protobuf-c unpacks that copy, which is small; weights stay where they are mapped. */
#ifndef GOPT_ONNX_WIRE_H
#define GOPT_ONNX_WIRE_H

#include <onnx.pb-c.h>

#include "base/arena.h"
#include "base/file.h"

/* What raw_data holds after unpacking. */
typedef struct gopt_wire_ref {
    uint64_t offset, bytes; /* in the file */
} gopt_wire_ref;

/* Fields that ONNX got after the oldest schema that this is built with arrive under these numbers as unknown fields,
 * whatever the schema. */
enum {
    GOPT_WIRE_MOVED = 100000,
    GOPT_WIRE_OVERLOAD = GOPT_WIRE_MOVED + 8,            /* NodeProto: string */
    GOPT_WIRE_FUNCTION_ATTRIBUTE = GOPT_WIRE_MOVED + 11, /* FunctionProto: AttributeProto, a parameter with a default */
    GOPT_WIRE_FUNCTION_OVERLOAD = GOPT_WIRE_MOVED + 13   /* FunctionProto: string */
};

/* Unpacks a message of the kind d. The message lives in the arena (nothing else frees it); file must outlive it only
 * where a gopt_wire_ref is followed. EINPUT saying what is wrong at which byte. */
gopt_status gopt_wire_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *d, const gopt_mapping *file,
                             gopt_arena *a, gopt_err *e);
/* A moved field of m (the first when there are several, from field index *next on, which is advanced): a text, NULL
 * when there is none, or the unpacked message. */
const char *gopt_wire_text(const ProtobufCMessage *m, unsigned number, gopt_arena *a);
gopt_status gopt_wire_next(ProtobufCMessage **out, const ProtobufCMessage *m, unsigned number,
                           const ProtobufCMessageDescriptor *d, size_t *next, gopt_arena *a, gopt_err *e);

#endif
