/* Allocation and arenas. Arena memory is never reused before the arena ends, so blocks come zeroed from calloc: a large
 * object costs no pages until it is touched. */
#include "base/arena.h"

#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    ALIGN_SMALL = 16,
    ALIGN_LARGE = 64, /* a cache line and the widest vector */
    FIRST_BLOCK = 4096,
    LARGEST_BLOCK = 1 << 20 /* grown to by doubling; larger objects get a block of their own */
};

#ifdef __SANITIZE_ADDRESS__
enum { REDZONE = ALIGN_SMALL }; /* kept poisoned between objects, so that running over one is seen */
#else
enum { REDZONE = 0 };
#endif

struct gopt_block {
    struct gopt_block *next;
    size_t size; /* as taken from the system */
    uintptr_t at, end;
};

long gopt_alloc_fail_at = -1;
_Thread_local unsigned gopt_alloc_failures;

static bool must_fail(void)
{
    if (__atomic_load_n(&gopt_alloc_fail_at, __ATOMIC_RELAXED) < 0)
        return false;
    return __atomic_fetch_sub(&gopt_alloc_fail_at, 1, __ATOMIC_RELAXED) == 0;
}

static void *counted(void *p)
{
    gopt_alloc_failures += !p;
    return p;
}

void *gopt_malloc(size_t bytes)
{
    return counted(must_fail() ? NULL : malloc(bytes ? bytes : 1));
}

void *gopt_calloc(size_t n, size_t size)
{
    return counted(must_fail() ? NULL : calloc(n ? n : 1, size ? size : 1));
}

void *gopt_realloc(void *p, size_t bytes)
{
    return counted(must_fail() ? NULL : realloc(p, bytes ? bytes : 1));
}

void *gopt_aligned(size_t align, size_t bytes)
{
    void *p = NULL;
    if (must_fail() || posix_memalign(&p, GOPT_MAX(align, sizeof(void *)), bytes ? bytes : 1))
        return counted(NULL);
    return p;
}

void gopt_free(void *p)
{
    free(p);
}

static uintptr_t align_up(uintptr_t at, size_t align)
{
    return (at + align - 1) & ~(uintptr_t)(align - 1);
}

/* A block with room for `bytes` at any alignment. One made for a large object goes below the top, whose rest stays in
 * use. */
static struct gopt_block *add_block(gopt_arena *a, size_t bytes)
{
    size_t head = sizeof(struct gopt_block) + ALIGN_LARGE;
    size_t usual = a->top ? GOPT_MIN(2 * a->top->size, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
    size_t size = GOPT_MAX(usual, bytes + head);
    struct gopt_block *b = gopt_calloc(1, size);
    if (!b)
        return NULL;
    struct gopt_block **place = a->top && size > usual ? &a->top->next : &a->top;
    *b = (struct gopt_block){.next = *place, .size = size, .at = (uintptr_t)(b + 1), .end = (uintptr_t)b + size};
    ASAN_POISON_MEMORY_REGION(b + 1, size - sizeof(*b));
    return *place = b;
}

void *gopt_arena_take(gopt_arena *a, size_t n, size_t size)
{
    size_t bytes, align = size >= ALIGN_LARGE ? ALIGN_LARGE : ALIGN_SMALL;
    if (a->failed)
        return NULL;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2) {
        a->failed = true;
        return NULL;
    }
    struct gopt_block *b = a->top;
    if (!b || align_up(b->at, align) > b->end || b->end - align_up(b->at, align) < bytes)
        b = add_block(a, bytes);
    if (!b) {
        a->failed = true;
        return NULL;
    }
    uintptr_t at = align_up(b->at, align);
    b->at = GOPT_MIN(at + bytes + REDZONE, b->end);
    ASAN_UNPOISON_MEMORY_REGION((void *)at, bytes);
    return (void *)at;
}

void *gopt_arena_grow(gopt_arena *a, void *old, size_t have, size_t *cap, size_t need, size_t size)
{
    enum { FIRST_CAPACITY = 8 };
    if (old && need <= *cap)
        return old;
    size_t wanted = GOPT_MAX(need, *cap > SIZE_MAX / 2 ? SIZE_MAX : GOPT_MAX(2 * *cap, (size_t)FIRST_CAPACITY));
    void *grown = gopt_arena_take(a, wanted, size);
    if (!grown)
        return NULL;
    if (old && have)
        memcpy(grown, old, have * size);
    *cap = wanted;
    return grown;
}

char *gopt_arena_strn(gopt_arena *a, const char *s, size_t n)
{
    char *copy = n < SIZE_MAX ? gopt_arena_take(a, n + 1, 1) : NULL;
    if (copy && n)
        memcpy(copy, s, n);
    return copy;
}

char *gopt_arena_str(gopt_arena *a, const char *s)
{
    return gopt_arena_strn(a, s, strlen(s));
}

char *gopt_arena_printf(gopt_arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *s = n < 0 ? NULL : gopt_arena_take(a, (size_t)n + 1, 1);
    if (s)
        vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    if (!s)
        a->failed = true;
    return s;
}

void *gopt_arena_copy(gopt_arena *a, const void *src, size_t n, size_t size)
{
    void *copy = gopt_arena_take(a, n, size);
    if (copy && n && size)
        memcpy(copy, src, n * size);
    return copy;
}

size_t gopt_arena_bytes(const gopt_arena *a)
{
    size_t sum = 0;
    for (const struct gopt_block *b = a->top; b; b = b->next)
        sum += b->size;
    return sum;
}

void gopt_arena_fini(gopt_arena *a)
{
    for (struct gopt_block *b = a->top, *next; b; b = next) {
        next = b->next;
        gopt_free(b);
    }
    *a = (gopt_arena){0};
}
