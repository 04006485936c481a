/* arena.h: memory. One arena per long-lived object; it fails once, stickily, and is freed once. */
#ifndef GOPT_BASE_ARENA_H
#define GOPT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* Every allocation of the product goes through these. free() them with gopt_free. Memory is not zeroed by
 * gopt_malloc/gopt_realloc. Tests make the n-th allocation from now fail: gopt_alloc_fail_at = n (0 is the next
 * one, below 0 is never). */
extern long gopt_alloc_fail_at;
/* Allocations of this thread that failed: whether a bare "no" had that reason. */
extern _Thread_local unsigned gopt_alloc_failures;
void *gopt_malloc(size_t bytes);
void *gopt_calloc(size_t n, size_t size);
void *gopt_realloc(void *p, size_t bytes);
void *gopt_aligned(size_t align, size_t bytes); /* align a power of two; gopt_free frees it */
void gopt_free(void *p);

struct gopt_block;
typedef struct gopt_arena {
    struct gopt_block *top;
    bool failed; /* sticky: set by the first allocation that could not be made */
} gopt_arena;    /* {0} is an empty arena; not thread-safe */

/* n objects of the given size, zeroed, aligned to 64 bytes when size >= 64, else to 16; n * size is checked. NULL and
 * a->failed on failure. n == 0 gives a valid pointer. */
void *gopt_arena_take(gopt_arena *a, size_t n, size_t size);
/* Array growth: returns an array of at least `need` elements that holds the first `have` ones of `old` (capacity in
 * *cap, updated). The old one stays in the arena until its end. NULL and a->failed on failure. */
void *gopt_arena_grow(gopt_arena *a, void *old, size_t have, size_t *cap, size_t need, size_t size);
char *gopt_arena_str(gopt_arena *a, const char *s);
char *gopt_arena_strn(gopt_arena *a, const char *s, size_t n);
char *gopt_arena_printf(gopt_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *gopt_arena_copy(gopt_arena *a, const void *src, size_t n, size_t size);
size_t gopt_arena_bytes(const gopt_arena *a); /* taken from the system */
/* Frees every object in it, once; the arena is empty and usable again. */
void gopt_arena_fini(gopt_arena *a);

#define GOPT_NEW(a, T, n) ((T *)gopt_arena_take((a), (size_t)(n), sizeof(T)))

#endif
