/* What cmake --install puts in place is enough to build and run the program of the README, shared and static. */
#include "support/test.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cli.h"

#define X(name) extern const gopt_command gopt_command_##name;
#include "commands.def"
#undef X

static gopt_process_result shell(const char *script)
{
    gopt_process_result r;
    gopt_err e = {0};
    const char *argv[] = {"sh", "-c", script, NULL};
    assert_ok(gopt_process_run(&r, argv, 100 * GOPT_NS_PER_S, &e), &e);
    return r;
}

static void succeeds(const char *script)
{
    gopt_process_result r = shell(script);
    if (r.exit_code)
        print_error("%s\n%s\n", script, gopt_text_str(&r.output));
    assert_int_equal(r.exit_code, 0);
    gopt_text_fini(&r.output);
}

/* The caller frees. */
static char *read_readme(void)
{
    gopt_mapping m;
    gopt_err e = {0};
    assert_ok(gopt_file_map(&m, "README.md", &e), &e);
    char *readme = strndup((const char *)m.data, m.bytes);
    gopt_file_unmap(&m);
    return readme;
}

/* The first C in the README, as it is. */
static void write_program(const char *path)
{
    static const char fence[] = "\n```c\n";
    gopt_err e = {0};
    char *readme = read_readme(), *body = strstr(readme, fence), *end;
    assert_non_null(body);
    body += strlen(fence);
    end = strstr(body, "```");
    assert_non_null(end);
    *end = 0;
    assert_ok(gopt_file_write_text(path, body, &e), &e);
    free(readme);
}

static void prints(const char *script, int code, const char *wanted)
{
    gopt_process_result r = shell(script);
    if (r.exit_code != code || !strstr(gopt_text_str(&r.output), wanted))
        print_error("%s\n%s\n", script, gopt_text_str(&r.output));
    assert_int_equal(r.exit_code, code);
    assert_non_null(strstr(gopt_text_str(&r.output), wanted));
    gopt_text_fini(&r.output);
}

/* Installed programs, library and pkg-config file in `dir`/inst, with a bundle of the sample model beside them. */
static void install(const char *dir, const char *bin)
{
    char script[4 * PATH_MAX];
    snprintf(script, sizeof script,
             "cmake --install '%s/..' --prefix '%s/inst' 2>&1 && cd '%s' && GOPT_CACHE_DIR=$PWD/cache && "
             "export GOPT_CACHE_DIR && inst/bin/gopt sample-model s.onnx && "
             "inst/bin/gopt compile s.onnx -o s.gopt --pipeline none",
             bin, dir, dir);
    succeeds(script);
}

static void the_program_of_the_readme_serves(void **state)
{
    static const char *const ways[] = {
        "-Wl,-rpath,$(pkg-config --variable=libdir gopt) $(pkg-config --cflags --libs gopt)",
        "-Wl,-Bstatic $(pkg-config --cflags --libs gopt) -Wl,-Bdynamic $(pkg-config --static --libs gopt | "
        "sed 's/-lgopt//')",
    };
    char path[PATH_MAX], script[4 * PATH_MAX];
    const char *dir = *state, *bin = getenv("GOPT_BIN"), *flags = getenv("GOPT_LDFLAGS");
    if (!bin || !gopt_process_find("pkg-config", path, sizeof path) || !gopt_process_find("cc", path, sizeof path)) {
        print_message("needs pkg-config, cc and a build to install\n");
        skip();
    }
    write_program(test_path(path, dir, "app.c"));
    install(dir, bin);
    for (int i = 0; i < GOPT_COUNT(ways); i++) {
        snprintf(script, sizeof script,
                 "cd '%s' && PKG_CONFIG_PATH=$(dirname $(find $PWD/inst -name gopt.pc)) && export PKG_CONFIG_PATH && "
                 "test $(pkg-config --cflags gopt | wc -w) = 1 && " /* its own folder and nothing of what it links */
                 "cc -Wall -Wextra -Werror %s -o app%d app.c %s",
                 dir, flags ? flags : "", i, ways[i]);
        succeeds(script);
        snprintf(script, sizeof script, "cd '%s' && ./app%d s.gopt", dir, i);
        prints(script, 0, "float32[1,...] that begins with ");
        snprintf(script, sizeof script, "cd '%s' && ./app%d", dir, i);
        prints(script, 1, "sample.gopt/manifest.yaml");
    }
}

static void the_readme_lists_every_command(void **state)
{
    static const gopt_command *const commands[] = {
#define X(name) &gopt_command_##name,
#include "commands.def"
#undef X
    };
    char *readme = read_readme(), row[64];
    (void)state;
    for (int i = 0; i < GOPT_COUNT(commands); i++) {
        snprintf(row, sizeof row, "\n| `gopt %s ", commands[i]->name);
        if (!strstr(readme, row))
            fail_msg("gopt %s", commands[i]->name);
    }
    free(readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_readme_lists_every_command),
        cmocka_unit_test_setup_teardown(the_program_of_the_readme_serves, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
