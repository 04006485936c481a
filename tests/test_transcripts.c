/* Transcripts: tests/cli/NAME.t are command lines with what they must print and how they must end, each file in an
 * empty folder.
 *
 *     # a comment
 *     $ gopt inspect absent.onnx        a command for sh; gopt and gopt-tune are those of $GOPT_BIN
 *     output                            stdout, line by line
 *     ! gopt: absent.onnx: No such ...  stderr
 *     = 3                               exit code, when it is not 0
 *
 * "..." stands for any text within a line; alone on a line, for any lines up to the next that matches. */
#include "support/test.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static const char FOLDER[] = "tests/cli";

typedef struct lines {
    char *text; /* cut at the line breaks */
    const char **at;
    int n;
} lines;

static lines split(const char *s)
{
    lines l = {.text = strdup(s)};
    size_t most = 1;
    for (const char *p = s; *p; p++)
        most += *p == '\n';
    l.at = calloc(most, sizeof *l.at);
    for (char *p = l.text; *p;) {
        l.at[l.n++] = p;
        p += strcspn(p, "\n");
        if (*p)
            *p++ = 0;
    }
    return l;
}

static void lines_free(lines *l)
{
    free(l->text);
    free(l->at);
}

/* Whether the line is the pattern, "..." being anything. */
static bool is_match(const char *pattern, const char *line)
{
    const char *dots = strstr(pattern, "...");
    if (!dots)
        return !strcmp(pattern, line);
    size_t n = (size_t)(dots - pattern);
    if (strncmp(pattern, line, n) != 0)
        return false;
    for (const char *rest = line + n;; rest++) {
        if (is_match(dots + 3, rest))
            return true;
        if (!*rest)
            return false;
    }
}

static bool match_lines(const char *const *pattern, int n, const char *const *line, int m)
{
    if (n == 0)
        return m == 0;
    if (!strcmp(pattern[0], "..."))
        return match_lines(pattern + 1, n - 1, line, m) || (m > 0 && match_lines(pattern, n, line + 1, m - 1));
    return m > 0 && is_match(pattern[0], line[0]) && match_lines(pattern + 1, n - 1, line + 1, m - 1);
}

/* ---- one command ---- */

typedef struct step {
    const char *command;
    int line; /* in the file */
    const char *out[200], *err[20];
    int n_out, n_err, code;
} step;

static char *read_text(const char *dir, const char *name)
{
    char path[PATH_MAX];
    gopt_mapping m;
    gopt_err e = {0};
    assert_ok(gopt_file_map(&m, test_path(path, dir, name), &e), &e);
    char *s = strndup((const char *)m.data, m.bytes);
    gopt_file_unmap(&m);
    return s;
}

/* The command's own folder is dir/work; its home, cache and temporary folder lie beside it. */
static int run(const char *dir, const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        char path[PATH_MAX], search[2 * PATH_MAX];
        setenv("HOME", test_path(path, dir, "home"), 1);
        setenv("TMPDIR", test_path(path, dir, "tmp"), 1);
        setenv("XDG_CACHE_HOME", test_path(path, dir, "cache"), 1);
        unsetenv("GOPT_CACHE_DIR");
        snprintf(search, sizeof search, "%s:%s", getenv("GOPT_BIN"), getenv("PATH"));
        setenv("PATH", search, 1);
        if (!freopen(test_path(path, dir, "out"), "w", stdout) || !freopen(test_path(path, dir, "err"), "w", stderr) ||
            !freopen("/dev/null", "r", stdin) || chdir(test_path(path, dir, "work")))
            _exit(126);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(126);
    }
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool check(const char *file, const step *s, const char *dir)
{
    int code = run(dir, s->command);
    char *out_text = read_text(dir, "out"), *err_text = read_text(dir, "err");
    lines out = split(out_text), err = split(err_text);
    bool right =
        code == s->code && match_lines(s->out, s->n_out, out.at, out.n) && match_lines(s->err, s->n_err, err.at, err.n);
    if (!right) {
        print_error("%s:%d: $ %s\n--- it must print\n", file, s->line, s->command);
        for (int i = 0; i < s->n_out; i++)
            print_error("%s\n", s->out[i]);
        for (int i = 0; i < s->n_err; i++)
            print_error("! %s\n", s->err[i]);
        print_error("= %d\n--- it printed\n%s", s->code, out_text);
        for (int i = 0; i < err.n; i++)
            print_error("! %s\n", err.at[i]);
        print_error("= %d\n", code);
    }
    lines_free(&out);
    lines_free(&err);
    free(out_text);
    free(err_text);
    return right;
}

/* ---- one file ---- */

static void add_line(step *s, const char *line)
{
    if (!strncmp(line, "! ", 2)) {
        assert_true(s->n_err < GOPT_COUNT(s->err));
        s->err[s->n_err++] = line + 2;
    } else if (!strncmp(line, "= ", 2)) {
        s->code = atoi(line + 2);
    } else {
        assert_true(s->n_out < GOPT_COUNT(s->out));
        s->out[s->n_out++] = line;
    }
}

static int count_entries(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = 0;
    DIR *d = opendir(test_path(path, dir, name));
    for (const struct dirent *f; d && (f = readdir(d));)
        n += f->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void prepare(const char *dir)
{
    static const char *const folders[] = {"work", "home", "tmp", "cache"};
    char path[PATH_MAX];
    for (int i = 0; i < GOPT_COUNT(folders); i++)
        assert_int_equal(mkdir(test_path(path, dir, folders[i]), 0777), 0);
}

static void play(const char *file, const char *dir)
{
    char *text = read_text(FOLDER, file);
    lines l = split(text);
    int wrong = 0;
    step s = {0};
    prepare(dir);
    for (int i = 0; i <= l.n; i++) {
        bool begins = i < l.n && !strncmp(l.at[i], "$ ", 2);
        if ((begins || i == l.n) && s.command)
            wrong += !check(file, &s, dir);
        if (begins)
            s = (step){.command = l.at[i] + 2, .line = i + 1};
        else if (i < l.n && s.command && l.at[i][0] != '#' && l.at[i][0])
            add_line(&s, l.at[i]);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(count_entries(dir, "tmp"), 0);
    assert_int_equal(count_entries(dir, "home"), 0);
    lines_free(&l);
    free(text);
}

static char *current_dir; /* of the file being played */

static int set_up(void **state)
{
    const char *file = *state;
    int failed = test_dir_setup((void **)&current_dir);
    *state = (void *)(uintptr_t)file;
    return failed;
}

static int tear_down(void **state)
{
    (void)state;
    return test_dir_teardown((void **)&current_dir);
}

static void transcript(void **state)
{
    char path[PATH_MAX];
    const char *bin = getenv("GOPT_BIN");
    if (!bin || !gopt_file_exists(test_path(path, bin, "gopt"))) {
        print_message("no gopt in $GOPT_BIN\n");
        skip();
    }
    play(*state, current_dir);
}

int main(void)
{
    enum { FILES_MAX = 64 };
    struct CMUnitTest tests[FILES_MAX];
    struct dirent **found;
    size_t n = 0;
    int count = scandir(FOLDER, &found, NULL, alphasort);
    for (int i = 0; i < count && n < FILES_MAX; i++) {
        const char *name = found[i]->d_name, *ending = strrchr(name, '.');
        if (ending && !strcmp(ending, ".t"))
            tests[n++] = (struct CMUnitTest){name, transcript, set_up, tear_down, (void *)(uintptr_t)name};
    }
    int failed = n ? _cmocka_run_group_tests("transcripts", tests, n, NULL, NULL) : 1;
    for (int i = 0; i < count; i++)
        free(found[i]);
    free(found);
    return failed;
}
