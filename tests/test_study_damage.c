/* test_study_damage.c: a study that someone has written into is refused, never trusted. */
#include <sqlite3.h>

#include "base/file.h"
#include "support/made_study.h"
#include "support/test.h"

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static const struct {
    const char *sql, *says;
} damages[] = {
    {"update samples set round = -1 where seq = 3", "sample 2 makes no sense"},
    {"update samples set round = 2147483647 where seq = 3", "sample 2 makes no sense"},
    {"update samples set trial = 77 where seq = 3", "sample 2 makes no sense"},
    {"update samples set trial = -1 where seq = 3", "sample 2 makes no sense"},
    {"update samples set ns = 0 where seq = 1", "sample 0 makes no sense"},
    {"delete from trials where id = 0", "trial 0 is missing"},
    {"update trials set config = '{\"pass.nonsense\":true}' where id = 1", "pass.nonsense"},
    {"update trials set reply = 'damaged' where id = 1", "no JSON"},
    {"update trials set trace = '[' where id = 1", "no JSON"},
    {"drop table samples", "samples"},
};

static void damaged_rows_are_refused(void **state)
{
    char path[4096];
    test_path(path, *state, "study.db");
    for (int i = 0; i < GOPT_COUNT(damages); i++) {
        gopt_err e = {0};
        gopt_study *again;
        gopt_study_close(test_study_make(*state, NULL, NULL, 0, 3));
        change(path, damages[i].sql);
        gopt_status s = gopt_study_read(&again, path, &e);
        if (s == GOPT_OK || s == GOPT_EUSAGE || !strstr(e.msg, damages[i].says))
            fail_msg("%s: \"%s\"", damages[i].sql, e.msg);
        assert_null(again);
        assert_non_null(strstr(e.msg, "study.db"));
    }
}

static void what_is_no_database_is_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_study *s;
    assert_ok(gopt_file_write_text(test_path(path, *state, "study.db"), "this is not a database, only some text", &e),
              &e);
    assert_int_not_equal(gopt_study_read(&s, path, &e), GOPT_OK);
    assert_null(s);
}

/* What a round has together stays together, so that the last flagged is the last taken. */
static void samples_know_the_one_before(void **state)
{
    const double ms[] = {3};
    gopt_study *s = test_study_make(*state, ms, ms, 1, 4);
    int n = 0;
    for (int i = s->trials[0].last_sample; i >= 0; i = s->samples[i].before, n++)
        assert_int_equal(s->samples[i].trial, 0);
    assert_int_equal(n, 8);
    assert_int_equal(s->trials[2].last_sample, s->n_samples - 1);
    gopt_study_close(s);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {D(damaged_rows_are_refused), D(what_is_no_database_is_refused),
                                       D(samples_know_the_one_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
