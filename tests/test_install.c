/* What cmake --install puts in place is enough to build and start the program of the README, shared and static. */
#include "support/test.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

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

/* The C in the README, with what it takes for granted. */
static void write_program(const char *path)
{
    static const char fence[] = "```c\n";
    gopt_mapping m;
    gopt_err e = {0};
    gopt_text program = {0};
    assert_ok(gopt_file_map(&m, "README.md", &e), &e);
    char *readme = strndup((const char *)m.data, m.bytes), *body = strstr(readme, fence), *end;
    assert_non_null(body);
    body += strlen(fence);
    end = strstr(body, "```");
    assert_non_null(end);
    *end = 0;
    gopt_text_add(&program,
                  "#include <gopt.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                  "static void die(const char *why) { puts(why); exit(3); }\n"
                  "int main(void) {\ngopt_tensor image = {0};\n%s(void)scores;\n}\n",
                  body);
    assert_ok(gopt_file_write_text(path, gopt_text_str(&program), &e), &e);
    gopt_text_fini(&program);
    gopt_file_unmap(&m);
    free(readme);
}

/* It starts, and says what it misses. */
static void starts(const char *program)
{
    gopt_process_result r = shell(program);
    assert_int_equal(r.exit_code, 3);
    assert_non_null(strstr(gopt_text_str(&r.output), "out/manifest.yaml"));
    gopt_text_fini(&r.output);
}

static void the_program_of_the_readme_links(void **state)
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
    snprintf(script, sizeof script, "cmake --install '%s/..' --prefix '%s/inst' 2>&1", bin, dir);
    succeeds(script);
    for (int i = 0; i < GOPT_COUNT(ways); i++) {
        snprintf(script, sizeof script,
                 "cd '%s' && PKG_CONFIG_PATH=$(dirname $(find $PWD/inst -name gopt.pc)) && export PKG_CONFIG_PATH && "
                 "cc %s -o app%d app.c %s",
                 dir, flags ? flags : "", i, ways[i]);
        succeeds(script);
        snprintf(script, sizeof script, "cd '%s' && ./app%d", dir, i);
        starts(script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_program_of_the_readme_links, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
