/* test_cache.c: compiled functions by content: what is damaged, cut or someone else's counts as absent; writers side by
 * side do no harm. */
#include "build/cache.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/file.h"
#include "support/test.h"

static const gopt_hash name = {0x0123456789abcdef, 0xfedcba9876543210};

static void make_unit(unsigned char *elf, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        elf[i] = (unsigned char)(i * 7 + seed);
}

static void store(const char *dir, gopt_hash function, unsigned seed, gopt_cache_entry *entry)
{
    unsigned char elf[1000];
    gopt_err e = {0};
    make_unit(elf, sizeof elf, seed);
    *entry = (gopt_cache_entry){.ns = 1234567890123, .peak_bytes = 9876543210};
    assert_ok(gopt_cache_add_unit(dir, elf, sizeof elf, &entry->unit, &e), &e);
    assert_ok(gopt_cache_add(dir, function, entry, &e), &e);
}

static void path_of(char *path, const char *dir, gopt_hash h, const char *ending)
{
    char hex[33];
    snprintf(path, 4096, "%s/code/%s.%s", dir, gopt_hash_hex(hex, h), ending);
}

static void what_was_stored_is_found(void **state)
{
    void *elf;
    size_t bytes;
    unsigned char want[1000];
    gopt_cache_entry entry, found;
    assert_false(gopt_cache_find(*state, name, &found));
    store(*state, name, 1, &entry);
    assert_true(gopt_cache_find(*state, name, &found));
    assert_memory_equal(&entry, &found, sizeof entry);
    assert_true(gopt_cache_unit(*state, found.unit, &elf, &bytes));
    make_unit(want, sizeof want, 1);
    assert_int_equal(bytes, sizeof want);
    assert_memory_equal(elf, want, bytes);
    gopt_free(elf);
    gopt_hash other = {name.lo, name.hi};
    assert_false(gopt_cache_find(*state, other, &found));
    assert_false(gopt_cache_unit(*state, name, &elf, &bytes));
    assert_null(elf);
}

static void without_a_folder_there_is_nothing(void **state)
{
    (void)state;
    void *elf;
    size_t bytes;
    gopt_cache_entry found;
    assert_false(gopt_cache_find(NULL, name, &found));
    assert_false(gopt_cache_unit(NULL, name, &elf, &bytes));
    assert_null(elf);
}

/* Every byte changed, every length: never an entry other than the one that was stored. */
static void a_damaged_entry_counts_as_absent(void **state)
{
    char path[4096], line[256];
    gopt_err e = {0};
    gopt_mapping m;
    gopt_cache_entry entry, found;
    store(*state, name, 1, &entry);
    path_of(path, *state, name, "fn");
    assert_ok(gopt_file_map(&m, path, &e), &e);
    size_t n = m.bytes;
    assert_true(n < sizeof line - 1);
    memcpy(line, m.data, n);
    gopt_file_unmap(&m);
    for (size_t i = 0; i < n; i++) {
        line[i] ^= 1;
        assert_ok(gopt_file_write(path, &(gopt_piece){line, n}, 1, &e), &e);
        assert_false(gopt_cache_find(*state, name, &found));
        line[i] ^= 1;
        assert_ok(gopt_file_write(path, &(gopt_piece){line, i}, 1, &e), &e);
        assert_false(gopt_cache_find(*state, name, &found));
    }
    line[n] = '\n';
    assert_ok(gopt_file_write(path, &(gopt_piece){line, n + 1}, 1, &e), &e);
    assert_false(gopt_cache_find(*state, name, &found));
    assert_ok(gopt_file_write(path, &(gopt_piece){line, n}, 1, &e), &e);
    assert_true(gopt_cache_find(*state, name, &found));
}

static void another_functions_entry_is_not_taken(void **state)
{
    char path[4096], other_path[4096];
    gopt_cache_entry entry, found;
    gopt_hash other = {1, 2};
    store(*state, name, 1, &entry);
    path_of(path, *state, name, "fn");
    path_of(other_path, *state, other, "fn");
    assert_int_equal(rename(path, other_path), 0);
    assert_false(gopt_cache_find(*state, other, &found));
}

static void a_damaged_unit_counts_as_absent(void **state)
{
    char path[4096];
    gopt_err e = {0};
    void *elf;
    size_t bytes;
    unsigned char data[1000];
    gopt_cache_entry entry;
    store(*state, name, 1, &entry);
    path_of(path, *state, entry.unit, "so");
    make_unit(data, sizeof data, 1);
    data[500] ^= 0x10;
    assert_ok(gopt_file_write(path, &(gopt_piece){data, sizeof data}, 1, &e), &e);
    assert_false(gopt_cache_unit(*state, entry.unit, &elf, &bytes));
    assert_null(elf);
    data[500] ^= 0x10;
    assert_ok(gopt_file_write(path, &(gopt_piece){data, 999}, 1, &e), &e);
    assert_false(gopt_cache_unit(*state, entry.unit, &elf, &bytes));
    assert_ok(gopt_file_write(path, NULL, 0, &e), &e);
    assert_false(gopt_cache_unit(*state, entry.unit, &elf, &bytes));
    store(*state, name, 1, &entry); /* compiled again, it is there again */
    assert_true(gopt_cache_unit(*state, entry.unit, &elf, &bytes));
    gopt_free(elf);
}

/* ---- several at once ---- */

enum { WRITERS = 4, ROUNDS = 20, FUNCTIONS = 5 };

typedef struct shared {
    const char *dir;
    atomic_int wrong;
} shared;

/* Everyone writes the same functions in units of its own; whoever reads sees some writer's whole entry. */
static void *write_and_read(void *ctx)
{
    shared *s = ctx;
    static atomic_int next;
    int me = atomic_fetch_add(&next, 1);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char elf[1000];
        gopt_hash function = {7, (uint64_t)(round % FUNCTIONS)};
        gopt_cache_entry entry = {.ns = me, .peak_bytes = me}, found;
        void *back;
        size_t bytes;
        make_unit(elf, sizeof elf, (unsigned)me);
        bool stored = !gopt_cache_add_unit(s->dir, elf, sizeof elf, &entry.unit, NULL) &&
                      !gopt_cache_add(s->dir, function, &entry, NULL);
        bool sound = stored && gopt_cache_find(s->dir, function, &found) && found.ns == found.peak_bytes &&
                     gopt_cache_unit(s->dir, found.unit, &back, &bytes);
        if (sound) {
            make_unit(elf, sizeof elf, (unsigned)found.ns);
            sound = bytes == sizeof elf && !memcmp(elf, back, bytes);
            gopt_free(back);
        }
        s->wrong += !sound;
    }
    return NULL;
}

static void writers_side_by_side_do_no_harm(void **state)
{
    shared s = {.dir = *state};
    pthread_t writer[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writer[i], NULL, write_and_read, &s), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writer[i], NULL);
    assert_int_equal(s.wrong, 0);
}

/* ---- folders that cannot be written ---- */

static void a_folder_that_cannot_be_written_is_an_error(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_cache_entry entry = {0};
    assert_ok(gopt_file_write_text(test_path(path, *state, "file"), "", &e), &e);
    assert_int_equal(gopt_cache_add(path, name, &entry, &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, path));
    assert_int_equal(gopt_cache_add_unit(path, "x", 1, &entry.unit, &e), GOPT_EIO);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(what_was_stored_is_found),
        cmocka_unit_test(without_a_folder_there_is_nothing),
        D(a_damaged_entry_counts_as_absent),
        D(another_functions_entry_is_not_taken),
        D(a_damaged_unit_counts_as_absent),
        D(writers_side_by_side_do_no_harm),
        D(a_folder_that_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
