/* wire.c: one walk that measures, one that writes; both see the same fields in the same order. */
#include "onnx/wire.h"

#include <string.h>

enum {
    DEPTH_MAX = 128,        /* nested messages: 32 levels of If need about 100 */
    MESSAGES_MAX = 1 << 23, /* in one file: an empty one takes 2 bytes there, but over 100 unpacked */
    MERGES_MAX = 64,        /* singular messages given again, which protobuf merges at a cost each time */
    KEY_BYTES = 5,          /* of a field's key */
    VARINT_BYTES = 10
};

typedef enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 } wire_type;

typedef struct scan {
    const uint8_t *file; /* for positions in messages and references */
    size_t *size;        /* of the slim copy of every message, in the order the walk enters them */
    size_t n, cap;
    int merges;
    uint8_t *out; /* where the second walk writes */
    gopt_err *e;
} scan;

typedef struct field {
    uint32_t number;
    wire_type wire;
    const uint8_t *key, *at; /* where it begins, where its value begins */
    size_t bytes;            /* of the value; of the content where it has a length */
} field;

/* What the walk does with a field. */
typedef struct treatment {
    const ProtobufCMessageDescriptor *message; /* go into it */
    bool refer;                                /* write a reference instead of the content */
    uint32_t number;                           /* written instead of the field's own; 0: its own */
} treatment;

static const struct {
    const ProtobufCMessageDescriptor *in;
    uint32_t number, as;
    const ProtobufCMessageDescriptor *message; /* NULL: text */
} moved[] = {
    {&onnx__node_proto__descriptor, 8, GOPT_WIRE_OVERLOAD, NULL},
    {&onnx__function_proto__descriptor, 11, GOPT_WIRE_FUNCTION_ATTRIBUTE, &onnx__attribute_proto__descriptor},
    {&onnx__function_proto__descriptor, 13, GOPT_WIRE_FUNCTION_OVERLOAD, NULL},
};

static gopt_status malformed(const scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *at, const char *what)
{
    return gopt_fail(s->e, GOPT_EINPUT, "%sbyte %zu, in a %s: %s",
                     d == &onnx__model_proto__descriptor ? "not an ONNX model: " : "", (size_t)(at - s->file),
                     d->short_name, what);
}

/* Bytes read, 0 when there is no whole varint of at most `max` bytes. */
static size_t varint_read(const uint8_t *p, const uint8_t *end, size_t max, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < max && p + i < end; i++) {
        v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (!(p[i] & 0x80)) {
            *out = v;
            return i + 1;
        }
    }
    return 0;
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

static uint8_t *varint_write(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static gopt_status field_value(const scan *s, const ProtobufCMessageDescriptor *d, field *f, const uint8_t *end)
{
    uint64_t length = 0;
    size_t n;
    switch (f->wire) {
    case VARINT:
        f->bytes = varint_read(f->at, end, VARINT_BYTES, &length);
        return f->bytes ? GOPT_OK : malformed(s, d, f->at, "a number that does not end");
    case FIXED64:
    case FIXED32:
        f->bytes = f->wire == FIXED64 ? 8 : 4;
        return (size_t)(end - f->at) >= f->bytes ? GOPT_OK : malformed(s, d, f->at, "a number that is cut off");
    case BYTES:
        n = varint_read(f->at, end, VARINT_BYTES, &length);
        if (!n || length > (uint64_t)(end - f->at) - n)
            return malformed(s, d, f->at, "a length that runs past the end");
        f->at += n;
        f->bytes = (size_t)length;
        return GOPT_OK;
    }
    return malformed(s, d, f->key, "a field of a kind that ONNX does not use");
}

static gopt_status field_read(const scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p, const uint8_t *end,
                              field *f)
{
    uint64_t key = 0;
    size_t n = varint_read(p, end, KEY_BYTES, &key);
    if (!n || key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
        return malformed(s, d, p, "no field begins here");
    *f = (field){.number = (uint32_t)(key >> 3), .wire = (wire_type)(key & 7), .key = p, .at = p + n};
    return field_value(s, d, f, end);
}

static treatment treat(const ProtobufCMessageDescriptor *d, const field *f)
{
    if (f->wire != BYTES)
        return (treatment){0};
    for (int i = 0; i < GOPT_COUNT(moved); i++)
        if (moved[i].in == d && moved[i].number == f->number)
            return (treatment){.message = moved[i].message, .number = moved[i].as};
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(d, f->number);
    if (known && known->type == PROTOBUF_C_TYPE_MESSAGE)
        return (treatment){.message = known->descriptor};
    return (treatment){.refer = d == &onnx__tensor_proto__descriptor && known && !strcmp(known->name, "raw_data")};
}

/* What a field of the schema must fulfil; *seen: bit set of the singular messages met in this message. */
static gopt_status field_check(scan *s, const ProtobufCMessageDescriptor *d, const field *f, uint64_t *seen)
{
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(d, f->number);
    if (!known)
        return f->number > GOPT_WIRE_MOVED ? malformed(s, d, f->key, "a field that ONNX does not have") : GOPT_OK;
    bool text = known->type == PROTOBUF_C_TYPE_STRING, message = known->type == PROTOBUF_C_TYPE_MESSAGE;
    bool repeated = known->label == PROTOBUF_C_LABEL_REPEATED;
    bool long_form = text || message || known->type == PROTOBUF_C_TYPE_BYTES;
    if (long_form ? f->wire != BYTES : f->wire == BYTES && !repeated) /* repeated numbers may be packed */
        return malformed(s, d, f->key, "a field of the wrong wire type");
    if (text && memchr(f->at, 0, f->bytes))
        return malformed(s, d, f->at, "a text that holds a NUL byte");
    if (!message || repeated)
        return GOPT_OK;
    uint64_t bit = 1ull << ((unsigned)(known - d->fields) & 63);
    s->merges += (*seen & bit) != 0;
    *seen |= bit;
    return s->merges <= MERGES_MAX ? GOPT_OK : malformed(s, d, f->key, "a message given again and again");
}

static gopt_status reserve(scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p)
{
    if (s->n == MESSAGES_MAX)
        return malformed(s, d, p, "more messages than any model needs");
    if (s->n < s->cap)
        return GOPT_OK;
    size_t cap = s->cap ? 2 * s->cap : 1024;
    size_t *grown = gopt_realloc(s->size, cap * sizeof *grown);
    if (!grown)
        return gopt_oom(s->e);
    s->size = grown;
    s->cap = cap;
    return GOPT_OK;
}

/* First walk. */
static gopt_status measure(scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p, const uint8_t *end,
                           int depth)
{
    uint64_t seen = 0;
    size_t total = 0, own = s->n;
    field f;
    if (depth > DEPTH_MAX)
        return malformed(s, d, p, "messages nested too deeply");
    GOPT_TRY(reserve(s, d, p));
    s->n++;
    for (; p < end; p = f.at + f.bytes) {
        GOPT_TRY(field_read(s, d, p, end, &f));
        GOPT_TRY(field_check(s, d, &f, &seen));
        treatment t = treat(d, &f);
        size_t key = varint_size((uint64_t)(t.number ? t.number : f.number) << 3), content = f.bytes;
        if (t.message) {
            size_t inner = s->n;
            GOPT_TRY(measure(s, t.message, f.at, f.at + f.bytes, depth + 1));
            content = s->size[inner];
        }
        if (t.refer)
            content = sizeof(gopt_wire_ref);
        total += key + content + (f.wire == BYTES ? varint_size(content) : 0);
    }
    s->size[own] = total;
    return GOPT_OK;
}

/* Second walk; the first has seen all that can be wrong. */
static void write_message(scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p, const uint8_t *end)
{
    field f;
    for (s->n++; p < end && !field_read(s, d, p, end, &f); p = f.at + f.bytes) {
        treatment t = treat(d, &f);
        s->out = varint_write(s->out, (uint64_t)(t.number ? t.number : f.number) << 3 | f.wire);
        if (t.message) {
            s->out = varint_write(s->out, s->size[s->n]);
            write_message(s, t.message, f.at, f.at + f.bytes);
            continue;
        }
        gopt_wire_ref ref = {.offset = (uint64_t)(f.at - s->file), .bytes = f.bytes};
        const void *content = t.refer ? (const void *)&ref : f.at;
        size_t bytes = t.refer ? sizeof ref : f.bytes;
        if (f.wire == BYTES)
            s->out = varint_write(s->out, bytes);
        if (bytes)
            memcpy(s->out, content, bytes);
        s->out += bytes;
    }
}

/* ---- unpacking ---- */

static void *arena_alloc(void *arena, size_t size)
{
    return gopt_arena_take(arena, 1, size);
}

static void arena_free(void *arena, void *p)
{
    (void)arena, (void)p;
}

static gopt_status unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *d, const uint8_t *data,
                          size_t bytes, gopt_arena *a, gopt_err *e)
{
    ProtobufCAllocator allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = a};
    if (bytes > INT32_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "more than 2 GiB beside the raw data of tensors");
    *out = protobuf_c_message_unpack(d, &allocator, bytes, data);
    if (a->failed)
        return gopt_oom(e);
    return *out ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "not a %s in protobuf's encoding", d->short_name);
}

static gopt_status slim(scan *s, const ProtobufCMessageDescriptor *d, const gopt_mapping *file, gopt_err *e)
{
    GOPT_TRY(measure(s, d, file->data, file->data + file->bytes, 0));
    s->out = gopt_malloc(s->size[0]);
    if (!s->out)
        return gopt_oom(e);
    s->n = 0;
    write_message(s, d, file->data, file->data + file->bytes);
    s->out -= s->size[0];
    return GOPT_OK;
}

gopt_status gopt_wire_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *d, const gopt_mapping *file,
                             gopt_arena *a, gopt_err *e)
{
    scan s = {.file = file->data, .e = e};
    *out = NULL;
    gopt_status status = slim(&s, d, file, e);
    if (!status)
        status = unpack(out, d, s.out, s.size[0], a, e);
    gopt_free(s.out);
    gopt_free(s.size);
    return status;
}

/* The content of an unknown field that has a length. */
static bool unknown_content(const ProtobufCMessageUnknownField *u, const uint8_t **data, size_t *bytes)
{
    uint64_t length;
    size_t n = varint_read(u->data, u->data + u->len, VARINT_BYTES, &length);
    if (!n || u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    *data = u->data + n;
    *bytes = u->len - n;
    return true;
}

const char *gopt_wire_text(const ProtobufCMessage *m, unsigned number, gopt_arena *a)
{
    const uint8_t *data;
    size_t bytes;
    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == number && unknown_content(&m->unknown_fields[i], &data, &bytes))
            return gopt_arena_strn(a, (const char *)data, bytes);
    return NULL;
}

gopt_status gopt_wire_next(ProtobufCMessage **out, const ProtobufCMessage *m, unsigned number,
                           const ProtobufCMessageDescriptor *d, size_t *next, gopt_arena *a, gopt_err *e)
{
    const uint8_t *data;
    size_t bytes;
    for (*out = NULL; *next < m->n_unknown_fields;) {
        const ProtobufCMessageUnknownField *u = &m->unknown_fields[(*next)++];
        if (u->tag == number && unknown_content(u, &data, &bytes))
            return unpack(out, d, data, bytes, a, e);
    }
    return GOPT_OK;
}
