/* tensor_io.c: tensors in files of their own. */
#include <string.h>

#include "base/utf8.h"
#include "import.h"
#include "onnx/npy.h"
#include "onnx/pack.h"
#include "onnx/tensor_proto.h"
#include "onnx/wire.h"

static bool is_npy(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".npy");
}

/* Data that were borrowed go into the arena: the file does not stay mapped. */
static gopt_status own(gopt_tensor *out, const gopt_tensor *t, const gopt_mapping *file, gopt_arena *a, gopt_err *e)
{
    uintptr_t data = (uintptr_t)t->data, begin = (uintptr_t)file->data;
    *out = *t;
    if (data < begin || data > begin + file->bytes)
        return GOPT_OK;
    out->data = gopt_arena_copy(a, t->data, 1, gopt_tensor_bytes(t));
    return out->data ? GOPT_OK : gopt_oom(e);
}

static gopt_status read_pb(gopt_tensor *out, const gopt_mapping *file, const char **name, gopt_arena *a,
                           gopt_arena *scratch, gopt_err *e)
{
    ProtobufCMessage *m;
    const gopt_tensor *t = NULL;
    gopt_onnx_source source = {.file = file, .arena = a};
    GOPT_TRY(gopt_wire_unpack(&m, &onnx__tensor_proto__descriptor, file, scratch, e));
    const Onnx__TensorProto *p = (const Onnx__TensorProto *)m;
    GOPT_TRY(gopt_onnx_tensor(&t, p, &source, e));
    GOPT_TRY(own(out, t, file, a, e));
    if (name && !(*name = gopt_arena_str(a, p->name ? p->name : "")))
        return gopt_oom(e);
    return GOPT_OK;
}

gopt_status gopt_tensor_read(gopt_tensor *out, const char *path, const char **name, gopt_arena *a, gopt_err *e)
{
    gopt_mapping file;
    gopt_arena scratch = {0};
    gopt_tensor t = {0};
    if (name)
        *name = "";
    GOPT_TRY(gopt_file_map(&file, path, e));
    gopt_status s = is_npy(path) ? gopt_npy_read(&t, &file, a, e) : read_pb(&t, &file, name, a, &scratch, e);
    gopt_arena_fini(&scratch);
    gopt_file_unmap(&file);
    if (!s)
        *out = t;
    if (s)
        gopt_within(e, s, "%s", path);
    if (s && e)
        gopt_utf8_clean(e->msg);
    return s;
}

gopt_status gopt_tensor_write(const gopt_tensor *t, const char *name, const char *path, gopt_err *e)
{
    gopt_arena scratch = {0};
    Onnx__TensorProto *p;
    if (is_npy(path))
        return gopt_npy_write(t, path, e);
    gopt_status s = gopt_onnx_tensor_proto(&p, t, name, &scratch, e);
    s = s ? gopt_within(e, s, "%s", path) : gopt_onnx_write(&p->base, path, e);
    gopt_arena_fini(&scratch);
    return s;
}
