/* cache_key.h: what a compiled function's place in the cache depends on, field by field, so that a miss can be
 * explained. Beside a unit lies UNIT.keys: for each of its functions one line with the kernel and one per field. */
#ifndef GOPT_BUILD_CACHE_KEY_H
#define GOPT_BUILD_CACHE_KEY_H

#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"

/* clang-format off */
#define GOPT_CACHE_FIELDS(X)                                                                                           \
    X(code, "the function's text: operators, shapes, kernel, knobs")                                                   \
    X(headers, "what generated code begins with: another gopt")                                                        \
    X(level, "the compiler's optimization level: knob codegen.opt_level")                                                  \
    X(compiler, "the C compiler")                                                                                      \
    X(processor, "the processor and its instruction set")
/* clang-format on */
#define GOPT_X_FIELD(name, doc) GOPT_CACHE_FIELD_##name,
typedef enum gopt_cache_field { GOPT_CACHE_FIELDS(GOPT_X_FIELD) GOPT_CACHE_FIELD_COUNT } gopt_cache_field;
#undef GOPT_X_FIELD
extern const char *const gopt_cache_field_names[GOPT_CACHE_FIELD_COUNT],
    *const gopt_cache_field_docs[GOPT_CACHE_FIELD_COUNT];

typedef struct gopt_cache_key {
    char field[GOPT_CACHE_FIELD_COUNT][128]; /* long texts as hashes */
} gopt_cache_key;

/* For a function of this text (without its symbol), compiled at -O`level` by the compiler there is. */
gopt_status gopt_cache_key_make(gopt_cache_key *out, const char *text, int level, gopt_err *e);
gopt_hash gopt_cache_key_hash(const gopt_cache_key *k);
void gopt_cache_key_print(const gopt_cache_key *k, const char *kernel, gopt_text *t);
/* Writes the printed keys of a unit's functions. */
gopt_status gopt_cache_keys_write(const char *dir, gopt_hash unit, const gopt_text *printed, gopt_err *e);
/* Calls fn for every key in the file, with the kernel that it was written for; one that is damaged ends it. */
typedef void gopt_cache_key_seen(void *ctx, const gopt_cache_key *k, const char *kernel);
void gopt_cache_keys_read(const char *path, gopt_cache_key_seen *fn, void *ctx);

#endif
