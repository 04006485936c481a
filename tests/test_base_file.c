/* base/file: whole files written or not at all, folders made and removed. */
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void expect(const char *path, const char *content)
{
    gopt_err e = {0};
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    assert_int_equal(m.bytes, strlen(content));
    assert_memory_equal(m.data, content, m.bytes);
    gopt_file_unmap(&m);
    assert_null(m.data);
}

static void a_file_is_written_and_mapped(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_piece pieces[] = {{"one ", 4}, {NULL, 0}, {"two", 3}};
    assert_ok(gopt_file_write(test_path(path, *state, "f"), pieces, 3, &e), &e);
    expect(path, "one two");
    assert_ok(gopt_file_write_text(path, "replaced", &e), &e);
    expect(path, "replaced");
    assert_ok(gopt_file_write_text(path, "", &e), &e);
    expect(path, "");
    assert_int_equal(entries(*state), 1);
}

static void new_files_follow_the_umask(void **state)
{
    char path[4096];
    struct stat st;
    gopt_err e = {0};
    mode_t before = umask(027);
    assert_ok(gopt_file_write_text(test_path(path, *state, "f"), "x", &e), &e);
    umask(before);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_link_stays_a_link(void **state)
{
    char real[4096], link[4096];
    struct stat st;
    gopt_err e = {0};
    assert_ok(gopt_file_write_text(test_path(real, *state, "real"), "old", &e), &e);
    assert_int_equal(symlink("real", test_path(link, *state, "link")), 0);
    assert_ok(gopt_file_write_text(link, "new", &e), &e);
    expect(real, "new");
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void expect_refused(gopt_status want, gopt_status s, const gopt_err *e, const char *path, const char *why)
{
    assert_int_equal(s, want);
    assert_memory_equal(e->msg, path, strlen(path));
    if (!strstr(e->msg, why))
        fail_msg("\"%s\" does not say \"%s\"", e->msg, why);
}

static void what_is_no_file_is_refused(void **state)
{
    char path[4096];
    gopt_mapping m;
    gopt_err e = {0};
    expect_refused(GOPT_EIO, gopt_file_map(&m, test_path(path, *state, "absent"), &e), &e, path, "No such file");
    assert_null(m.data);
    expect_refused(GOPT_EINPUT, gopt_file_map(&m, *state, &e), &e, *state, "not a regular file");
    assert_int_equal(mkfifo(test_path(path, *state, "pipe"), 0600), 0);
    expect_refused(GOPT_EINPUT, gopt_file_map(&m, path, &e), &e, path, "not a regular file");
    expect_refused(GOPT_EIO, gopt_file_write_text(path, "x", &e), &e, path, "not a regular file");
    expect_refused(GOPT_EIO, gopt_file_write_text(*state, "x", &e), &e, *state, "not a regular file");
    expect_refused(GOPT_EIO, gopt_file_write_text(test_path(path, *state, "no/f"), "x", &e), &e, path,
                   "no does not exist");
    expect_refused(GOPT_EIO, gopt_file_write_text("absent/f", "x", &e), &e, "absent/f", "the folder absent does not");
    expect_refused(GOPT_EIO, gopt_file_write_text("", "x", &e), &e, "", "No such file");
    assert_int_equal(entries(*state), 1);
}

static void a_folder_that_may_not_be_written_stays_as_it_is(void **state)
{
    char path[4096];
    gopt_err e = {0};
    if (geteuid() == 0) {
        expect_refused(GOPT_EIO, gopt_file_write_text("/proc/gopt", "x", &e), &e, "/proc/gopt", ": ");
        return;
    }
    assert_int_equal(chmod(*state, 0500), 0);
    expect_refused(GOPT_EIO, gopt_file_write_text(test_path(path, *state, "f"), "x", &e), &e, path,
                   "Permission denied");
    assert_int_equal(entries(*state), 0);
    assert_int_equal(chmod(*state, 0700), 0);
}

/* A limit on file sizes stands for a full disk. */
static void nothing_is_left_of_a_write_that_fails(void **state)
{
    char path[4096];
    gopt_err e = {0};
    static const char block[8192];
    struct rlimit before, small;
    assert_ok(gopt_file_write_text(test_path(path, *state, "f"), "old", &e), &e);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    gopt_status s = gopt_file_write(path, &(gopt_piece){block, sizeof(block)}, 1, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_refused(GOPT_EIO, s, &e, path, "File too large");
    expect(path, "old");
    assert_int_equal(entries(*state), 1);
}

static void folders_are_made_with_parents(void **state)
{
    char path[4096], file[4096];
    gopt_err e = {0};
    assert_ok(gopt_dir_make(test_path(path, *state, "a/b//c/"), &e), &e);
    assert_ok(gopt_dir_make(path, &e), &e);
    assert_true(gopt_file_exists(test_path(file, *state, "a/b/c")));
    assert_ok(gopt_file_write_text(test_path(file, *state, "f"), "", &e), &e);
    expect_refused(GOPT_EIO, gopt_dir_make(file, &e), &e, file, "Not a directory");
    expect_refused(GOPT_EIO, gopt_dir_make(test_path(path, *state, "f/g"), &e), &e, file, "Not a directory");
    expect_refused(GOPT_EIO, gopt_dir_make("", &e), &e, "", "No such file");
}

static void a_folder_is_removed_but_not_what_links_in_it_name(void **state)
{
    char path[4096], keep[4096], link[4096];
    gopt_err e = {0};
    assert_ok(gopt_dir_make(test_path(path, *state, "gone/sub"), &e), &e);
    assert_ok(gopt_dir_make(test_path(keep, *state, "keep"), &e), &e);
    assert_ok(gopt_file_write_text(test_path(path, *state, "keep/f"), "", &e), &e);
    assert_ok(gopt_file_write_text(test_path(path, *state, "gone/sub/f"), "", &e), &e);
    assert_int_equal(symlink(keep, test_path(link, *state, "gone/sub/link")), 0);
    assert_ok(gopt_dir_remove(test_path(path, *state, "gone"), &e), &e);
    assert_false(gopt_file_exists(path));
    assert_int_equal(entries(keep), 1);
    assert_ok(gopt_dir_remove(path, &e), &e);
}

static void bytes_that_cannot_be_written_are_reported(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    assert_false(gopt_fd_write(fd, "x", 1));
    assert_true(gopt_fd_write(fd, NULL, 0));
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_setup, test_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_written_and_mapped),
        TEST(new_files_follow_the_umask),
        TEST(a_link_stays_a_link),
        TEST(what_is_no_file_is_refused),
        TEST(a_folder_that_may_not_be_written_stays_as_it_is),
        TEST(nothing_is_left_of_a_write_that_fails),
        TEST(folders_are_made_with_parents),
        TEST(a_folder_is_removed_but_not_what_links_in_it_name),
        TEST(bytes_that_cannot_be_written_are_reported),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
