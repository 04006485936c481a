/* model.c: mapped files and their hash. */
#include "onnx/model.h"

#include <nettle/sha2.h>
#include <stdio.h>

gopt_status gopt_onnx_backing_add(gopt_onnx_backing *b, gopt_mapping m, gopt_arena *a, gopt_err *e)
{
    gopt_mapping *at = gopt_arena_grow(a, b->at, (size_t)b->n, &b->cap, (size_t)b->n + 1, sizeof *at);
    if (!at) {
        gopt_file_unmap(&m);
        return gopt_oom(e);
    }
    b->at = at;
    at[b->n++] = m;
    return GOPT_OK;
}

void gopt_onnx_backing_fini(void *backing)
{
    gopt_onnx_backing *b = backing;
    for (int i = 0; i < b->n; i++)
        gopt_file_unmap(&b->at[i]);
    b->n = 0;
}

void gopt_onnx_backing_drop(void *backing)
{
    const gopt_onnx_backing *b = backing;
    for (int i = 0; i < b->n; i++)
        gopt_pages_drop(b->at[i].data, b->at[i].bytes);
}

void gopt_onnx_sha256(const gopt_mapping *m, char hex[65])
{
    enum { CHUNK = 4 << 20 };
    struct sha256_ctx ctx;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&ctx);
    for (size_t at = 0; at < m->bytes; at += CHUNK) {
        size_t n = GOPT_MIN(m->bytes - at, (size_t)CHUNK);
        sha256_update(&ctx, n, m->data + at);
        gopt_pages_drop(m->data + at, n);
    }
    sha256_digest(&ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
