/* npy.c: numpy arrays, versions 1 to 3 of the format: magic, length of a header, the header (a Python dict as text),
 * data. */
#include "onnx/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";

enum { MAGIC_BYTES = sizeof magic - 1, HEADER_MAX = 1 << 16, ALIGNMENT = 64 };

static const struct {
    gopt_dtype dtype;
    const char *descr; /* without the byte order */
} types[] = {
    {GOPT_DTYPE_F32, "f4"}, {GOPT_DTYPE_F64, "f8"},   {GOPT_DTYPE_F16, "f2"}, {GOPT_DTYPE_I8, "i1"},
    {GOPT_DTYPE_I16, "i2"}, {GOPT_DTYPE_I32, "i4"},   {GOPT_DTYPE_I64, "i8"}, {GOPT_DTYPE_U8, "u1"},
    {GOPT_DTYPE_U16, "u2"}, {GOPT_DTYPE_U32, "u4"},   {GOPT_DTYPE_U64, "u8"}, {GOPT_DTYPE_BOOL, "b1"},
    {GOPT_DTYPE_C64, "c8"}, {GOPT_DTYPE_C128, "c16"},
};

typedef struct header {
    char text[HEADER_MAX];
    size_t data; /* where the data begin */
    bool fortran;
} header;

static gopt_status malformed(gopt_err *e, const char *what)
{
    return gopt_fail(e, GOPT_EINPUT, "not a numpy array: %s", what);
}

/* The header's text, terminated. */
static gopt_status read_text(header *h, const gopt_mapping *file, gopt_err *e)
{
    const unsigned char *p = file->data;
    if (file->bytes < MAGIC_BYTES + 4 || memcmp(p, magic, MAGIC_BYTES) != 0)
        return malformed(e, "it does not begin like one");
    int version = p[MAGIC_BYTES];
    size_t field = version == 1 ? 2 : 4, length = 0, at = MAGIC_BYTES + 2;
    if (version < 1 || version > 3 || file->bytes < at + field)
        return malformed(e, "unknown version");
    for (size_t i = 0; i < field; i++)
        length |= (size_t)p[at + i] << (8 * i);
    at += field;
    if (length >= HEADER_MAX || length > file->bytes - at)
        return malformed(e, "the header does not end");
    memcpy(h->text, p + at, length);
    h->text[length] = '\0';
    h->data = at + length;
    return GOPT_OK;
}

/* What follows 'key': in the header; NULL when it is absent. */
static const char *value_of(const header *h, const char *key)
{
    const char *p = strstr(h->text, key);
    if (!p || p == h->text || (p[-1] != '\'' && p[-1] != '"') || p[strlen(key)] != p[-1])
        return NULL;
    p += strlen(key) + 1;
    p += strspn(p, " ");
    return *p == ':' ? p + 1 + strspn(p + 1, " ") : NULL;
}

static gopt_status read_dtype(const header *h, gopt_tensor *t, gopt_err *e)
{
    const char *p = value_of(h, "descr");
    if (!p || (*p != '\'' && *p != '"'))
        return p ? gopt_fail(e, GOPT_EUNSUP, "arrays of records are not supported") : malformed(e, "no descr");
    size_t n = strcspn(p + 1, p[0] == '"' ? "\"" : "'");
    char order = p[1];
    if (n > 1 && strchr("<|=", order))
        for (int i = 0; i < GOPT_COUNT(types); i++)
            if (n - 1 == strlen(types[i].descr) && !strncmp(p + 2, types[i].descr, n - 1))
                t->dtype = types[i].dtype;
    if (t->dtype == GOPT_DTYPE_NONE)
        return gopt_fail(e, GOPT_EUNSUP, "arrays of type %.*s are not supported", (int)GOPT_MIN(n, (size_t)20), p + 1);
    return GOPT_OK;
}

static gopt_status read_shape(const header *h, gopt_tensor *t, gopt_err *e)
{
    const char *p = value_of(h, "shape");
    int64_t count;
    if (!p || *p++ != '(')
        return malformed(e, "no shape");
    for (p += strspn(p, " "); *p != ')'; p += strspn(p, " ,")) {
        char *end;
        if (*p < '0' || *p > '9')
            return malformed(e, "the shape is not a list of numbers");
        if (t->rank == GOPT_RANK_MAX)
            return gopt_fail(e, GOPT_EUNSUP, "more than %d dimensions", GOPT_RANK_MAX);
        t->dim[t->rank++] = strtoll(p, &end, 10);
        p = end + (*end == 'L');
    }
    return gopt_dims_count(t->dim, t->rank, &count) ? GOPT_OK : malformed(e, "its dimensions overflow");
}

static gopt_status read_header(header *h, gopt_tensor *t, const gopt_mapping *file, gopt_err *e)
{
    GOPT_TRY(read_text(h, file, e));
    GOPT_TRY(read_dtype(h, t, e));
    GOPT_TRY(read_shape(h, t, e));
    const char *fortran = value_of(h, "fortran_order");
    if (!fortran)
        return malformed(e, "no fortran_order");
    h->fortran = !strncmp(fortran, "True", 4);
    return GOPT_OK;
}

/* Column-major to row-major. */
static void transpose(const gopt_tensor *t, const unsigned char *from)
{
    size_t bytes = (size_t)gopt_dtype_bits(t->dtype) / 8;
    int64_t index[GOPT_RANK_MAX] = {0}, stride[GOPT_RANK_MAX], step = 1, count = gopt_tensor_count(t);
    for (int d = 0; d < t->rank; d++) {
        stride[d] = step;
        step *= t->dim[d];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++)
            at += index[d] * stride[d];
        memcpy((char *)t->data + (size_t)i * bytes, from + (size_t)at * bytes, bytes);
        for (int d = t->rank - 1; d >= 0 && ++index[d] == t->dim[d]; d--)
            index[d] = 0;
    }
}

static gopt_status read_data(const header *h, gopt_tensor *t, const gopt_mapping *file, gopt_arena *a, gopt_err *e)
{
    size_t bytes = gopt_tensor_bytes(t);
    if (bytes != file->bytes - h->data)
        return gopt_fail(e, GOPT_EINPUT, "%zu bytes of data, %zu expected", file->bytes - h->data, bytes);
    gopt_tensor *made = gopt_tensor_new(a, t->dtype, t->rank, t->dim);
    if (!made)
        return gopt_oom(e);
    t->data = made->data;
    if (h->fortran)
        transpose(t, file->data + h->data);
    else
        memcpy(t->data, file->data + h->data, bytes);
    return GOPT_OK;
}

gopt_status gopt_npy_read(gopt_tensor *out, const gopt_mapping *file, gopt_arena *a, gopt_err *e)
{
    header *h = gopt_malloc(sizeof *h);
    gopt_tensor t = {0};
    if (!h)
        return gopt_oom(e);
    gopt_status s = read_header(h, &t, file, e);
    if (!s)
        s = read_data(h, &t, file, a, e);
    gopt_free(h);
    if (!s)
        *out = t;
    return s;
}

static const char *descr_of(gopt_dtype d)
{
    for (int i = 0; i < GOPT_COUNT(types); i++)
        if (types[i].dtype == d)
            return types[i].descr;
    return NULL;
}

gopt_status gopt_npy_write(const gopt_tensor *t, const char *path, gopt_err *e)
{
    char text[512] = "", head[640];
    const char *descr = descr_of(t->dtype);
    int at = 0;
    if (!descr)
        return gopt_fail(e, GOPT_EUNSUP, "%s: numpy has no type %s; .pb files do", path, gopt_dtype_name(t->dtype));
    at = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                  gopt_dtype_bits(t->dtype) == 8 ? '|' : '<', descr);
    for (int d = 0; d < t->rank; d++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%lld,", (long long)t->dim[d]);
    snprintf(text + at, sizeof text - (size_t)at, "), }");
    size_t fixed = MAGIC_BYTES + 4, length = strlen(text) + 1;
    length = (fixed + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - fixed;
    memcpy(head, magic, MAGIC_BYTES);
    memcpy(head + MAGIC_BYTES, (char[]){1, 0, (char)(length & 0xff), (char)(length >> 8)}, 4);
    snprintf(head + fixed, sizeof head - fixed, "%-*s\n", (int)length - 1, text);
    gopt_piece pieces[] = {{.data = head, .bytes = fixed + length}, {.data = t->data, .bytes = gopt_tensor_bytes(t)}};
    return gopt_file_write(path, pieces, 2, e);
}
