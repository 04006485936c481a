/* manifest_fields.h: the keys of a manifest, one table for writer and reader. Lists (clusters, dims, pipeline, knobs)
 * are not in it: both sides walk them in code. */
#ifndef GOPT_MANIFEST_FIELDS_H
#define GOPT_MANIFEST_FIELDS_H

#include <stddef.h>

enum { GOPT_MANIFEST_VERSION = 1, GOPT_MANIFEST_HASH_DIGITS = 32 };

#define GOPT_MANIFEST_MAGIC "gopt_manifest" /* first key of the file, with the version */
#define GOPT_MANIFEST_SEAL "hash"           /* last key: of all bytes before its line */

typedef enum gopt_field_kind {
    GOPT_FIELD_TEXT,    /* const char *; NULL is null */
    GOPT_FIELD_INT,     /* int */
    GOPT_FIELD_THREADS, /* int, 0 to GOPT_POOL_MOST */
    GOPT_FIELD_LONG,    /* int64_t */
    GOPT_FIELD_NUMBER,  /* double; NAN is null */
    GOPT_FIELD_FIGURE,  /* gopt_manifest_figure: {value, lo, hi} */
} gopt_field_kind;

typedef struct gopt_field {
    const char *name;
    gopt_field_kind kind;
    size_t offset;
} gopt_field; /* tables end with {0} */

extern const gopt_field gopt_manifest_fields[], gopt_cluster_fields[], gopt_choice_fields[], gopt_dim_fields[];
extern const gopt_field gopt_figure_fields[];

#endif
