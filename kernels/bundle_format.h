/* bundle_format.h: what writer and reader of bundles share.
 *
 * File: header | plan as JSON, padded | blobs (constants, code), each at a multiple of 64 bytes of the file. JSON
 * refers to a blob as [offset, bytes], the offset counted from the start of the blobs. Integers beyond 2^53 are written
 * as strings. */
#ifndef GOPT_BUNDLE_FORMAT_H
#define GOPT_BUNDLE_FORMAT_H

#include <stdint.h>

#include "base/hash.h"

enum {
    GOPT_BUNDLE_ALIGN = 64,
    GOPT_BUNDLE_VERSION = 1,
    GOPT_BUNDLE_SMALL =
        4096 /* bytes of a packed operand whose elements are kept too: scales and sizes that prepare() reads */
};

typedef struct gopt_bundle_header {
    char magic[8];            /* GOPT_BUNDLE_MAGIC */
    uint32_t version, endian; /* endian: 0x01020304 as this machine writes it */
    uint64_t json_bytes, total_bytes;
    gopt_hash content; /* of all that follows the header */
    char pad[16];
} gopt_bundle_header;

#define GOPT_BUNDLE_MAGIC "GOPTBNDL"
#define GOPT_BUNDLE_ENDIAN 0x01020304u
_Static_assert(sizeof(gopt_bundle_header) == GOPT_BUNDLE_ALIGN, "blobs keep their alignment");

#endif
