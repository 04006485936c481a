/* The command line: words to options, texts to values, help, one line per error. */
#include "support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "cli.h"

typedef struct options {
    const char *text;
    int count, verbose;
    double seconds, bytes;
    bool flag, quiet;
    gopt_words words;
    gopt_counts threads;
    gopt_shapes shapes;
} options;

static options last; /* what run() was called with */
static const char *operands[4];
static int n_operands;
static gopt_status result;
static const char *message;

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    last = *(const options *)o;
    n_operands = n;
    for (int i = 0; i < n; i++)
        operands[i] = operand[i];
    printf("ran\n");
    return result ? gopt_fail(e, result, "%s", message) : GOPT_OK;
}

static void init(void *o)
{
    ((options *)o)->seconds = 600;
}

#define FIELD(member) offsetof(options, member)
static const gopt_option rows[] = {
    {"--text", 't', "NAME", gopt_parse_text, FIELD(text), "a text"},
    {"--count", 0, "N", gopt_parse_count, FIELD(count), "a number\nof things"},
    {"--budget", 0, "DURATION", gopt_parse_duration, FIELD(seconds), "wall clock"},
    {"--max-memory-of-all-things", 0, "SIZE", gopt_parse_bytes, FIELD(bytes), "a long name"},
    {"--flag", 0, NULL, NULL, FIELD(flag), "a flag"},
    {"--quiet", 'q', NULL, NULL, FIELD(quiet), "less"},
    {"--verbose", 'v', NULL, gopt_parse_raise, FIELD(verbose), "more"},
    {"--word", 0, "WORD", gopt_parse_words, FIELD(words), "words"},
    {"--threads", 0, "LIST", gopt_parse_counts, FIELD(threads), "counts"},
    {"--shape", 0, "NAME=V,..", gopt_parse_shapes, FIELD(shapes), "sizes"},
    {0}};
static const gopt_command command = {.name = "try",
                                     .operands = "FILE ...",
                                     .least = 1,
                                     .most = 3,
                                     .doc = "Tries things.",
                                     .more = "Example:\n  prog try x\n",
                                     .options = rows,
                                     .size = sizeof(options),
                                     .init = init,
                                     .run = run};
static const gopt_command other = {.name = "inspect", .operands = "", .doc = "Looks.", .run = run};
static const gopt_command *const commands[] = {&command, &other, NULL};
static const gopt_program program = {.name = "prog", .about = "About.\n", .more = "More.\n", .commands = commands};

typedef struct outcome {
    int code;
    char out[4096], err[1024];
} outcome;

static int redirect(int fd, FILE *to)
{
    int kept = dup(fd);
    assert_true(kept >= 0 && dup2(fileno(to), fd) == fd);
    return kept;
}

static void restore(int fd, int kept, FILE *from, char *buf, size_t size)
{
    assert_true(dup2(kept, fd) == fd);
    close(kept);
    rewind(from);
    buf[fread(buf, 1, size - 1, from)] = 0;
    fclose(from);
}

/* Calls the program, or a command that is one of its own, with the words of a line, separated by single blanks. */
static outcome call_as(const gopt_command *alone, const char *line)
{
    static char words[512]; /* the options keep parts of it */
    char *argv[32] = {"prog"};
    int argc = 1;
    outcome o = {0};
    FILE *out = tmpfile(), *err = tmpfile();
    snprintf(words, sizeof words, "%s", line);
    for (char *p = strtok(words, " "); p; p = strtok(NULL, " "))
        argv[argc++] = p;
    fflush(stdout);
    int kept_out = redirect(1, out), kept_err = redirect(2, err);
    o.code = alone ? gopt_command_main(alone, "prog", argc, argv) : gopt_program_main(&program, argc, argv);
    fflush(stdout);
    restore(1, kept_out, out, o.out, sizeof o.out);
    restore(2, kept_err, err, o.err, sizeof o.err);
    return o;
}

static outcome call(const char *line)
{
    return call_as(NULL, line);
}

static void runs(const char *line)
{
    outcome o = call(line);
    if (o.code)
        fail_msg("%s: %d, %s", line, o.code, o.err);
    assert_string_equal(o.out, "ran\n");
    assert_string_equal(o.err, "");
}

static void fails(const char *line, int code, const char *err)
{
    outcome o = call(line);
    assert_string_equal(o.err, err);
    assert_int_equal(o.code, code);
}

static int reset(void **state)
{
    (void)state;
    result = GOPT_OK;
    message = "";
    last = (options){0};
    return 0;
}

static void options_and_operands_in_any_order(void **state)
{
    (void)state;
    runs("try a --text=x -v b -vq --count 3 -- --flag");
    assert_string_equal(last.text, "x");
    assert_int_equal(last.count, 3);
    assert_int_equal(last.verbose, 2);
    assert_true(last.quiet && !last.flag);
    assert_true(last.seconds == 600);
    assert_int_equal(n_operands, 3);
    assert_string_equal(operands[1], "b");
    assert_string_equal(operands[2], "--flag");
    runs("try a -ty --flag");
    assert_string_equal(last.text, "y");
    runs("try - -t -");
    assert_string_equal(last.text, "-");
    assert_string_equal(operands[0], "-");
}

static void values(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } durations[] = {{"90s", 90}, {"10m", 600},  {"2h", 7200},          {"250ms", 0.25},  {"1h30m", 5400},
                     {"40", 40},  {"0.5s", 0.5}, {"1.5m", 90},          {"2min", 120},    {"1d", 86400},
                     {"0", 0},    {".5h", 1800}, {"250us", 250 * 1e-6}, {"3NS", 3 * 1e-9}};
    static const struct {
        const char *text;
        double bytes;
    } sizes[] = {{"512M", 536870912.0}, {"2G", 2147483648.0}, {"1.5KiB", 1536}, {"7", 7}, {"1t", 1099511627776.0}};
    char line[80];
    (void)state;
    for (int i = 0; i < GOPT_COUNT(durations); i++) {
        snprintf(line, sizeof line, "try a --budget %s", durations[i].text);
        runs(line);
        assert_true(last.seconds == durations[i].seconds);
    }
    for (int i = 0; i < GOPT_COUNT(sizes); i++) {
        snprintf(line, sizeof line, "try a --max-memory-of-all-things %s", sizes[i].text);
        runs(line);
        assert_true(last.bytes == sizes[i].bytes);
    }
}

static void lists(void **state)
{
    (void)state;
    runs("try a --word x=1 --word y --threads 4,1,2,4 --shape batch=1,seq=128 --shape a=b=3");
    assert_int_equal(last.words.n, 2);
    assert_string_equal(last.words.at[1], "y");
    assert_int_equal(last.threads.n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(last.threads.at[i], 1 << i);
    assert_int_equal(last.shapes.n, 3);
    assert_string_equal(last.shapes.name[1], "seq");
    assert_int_equal(last.shapes.size[1], 128);
    assert_string_equal(last.shapes.name[2], "a=b");
}

static void wrong_values_say_what_is_right(void **state)
{
    static const char *const durations[] = {"x", "10x", "-1s", "1s2", "s", "1e999s", "0x10", "10 m", "inf", "nan"};
    char line[80], err[200];
    (void)state;
    fails("try a --budget=1e99", 2, "prog: --budget: '1e99': at most a year is supported\n");
    for (int i = 0; i < GOPT_COUNT(durations); i++) {
        if (strchr(durations[i], ' '))
            continue;
        snprintf(line, sizeof line, "try a --budget=%s", durations[i]);
        snprintf(
            err, sizeof err,
            "prog: --budget: '%s': a duration expected: numbers with ns, us, ms, s, m, h or d, such as 90s, 1h30m\n",
            durations[i]);
        fails(line, 2, err);
    }
    fails("try a --count x", 2, "prog: --count: 'x': a whole number expected\n");
    fails("try a --count -1", 2, "prog: --count: '-1': out of range, 0 to 2147483647 allowed\n");
    fails("try a --count 99999999999999999999", 2,
          "prog: --count: '99999999999999999999': out of range, 0 to 2147483647 allowed\n");
    fails("try a --threads 1,,2", 2, "prog: --threads: '': a whole number expected\n");
    fails("try a --threads 0", 2, "prog: --threads: '0': out of range, 1 to 4096 allowed\n");
    fails("try a --shape batch", 2, "prog: --shape: 'batch': NAME=SIZE expected, such as batch=1,seq=128\n");
    fails("try a --shape b=1,b=2", 2, "prog: --shape: b is given twice\n");
    fails("try a --max-memory-of-all-things 5X", 2,
          "prog: --max-memory-of-all-things: '5X': a size expected, such as 512M or 2G\n");
    fails("try a --text=", 2, "prog: --text: is empty\n");
}

static void wrong_words_say_what_was_meant(void **state)
{
    (void)state;
    fails("", 2, "prog: a command is missing; see prog --help\n");
    fails("inspekt", 2, "prog: unknown command 'inspekt'; did you mean 'inspect'?\n");
    fails("frobnicate", 2, "prog: unknown command 'frobnicate'; one of try, inspect\n");
    fails("help frobnicate", 2, "prog: unknown command 'frobnicate'; one of try, inspect\n");
    fails("try a --cuont 1", 2, "prog: --cuont: unknown option; did you mean --count?\n");
    fails("try a --hepl", 2, "prog: --hepl: unknown option; did you mean --help?\n");
    fails("try a --frobnicate", 2, "prog: --frobnicate: unknown option; see --help\n");
    fails("try a -x", 2, "prog: -x: unknown option; see --help\n");
    fails("try a --count", 2, "prog: --count: its value is missing: --count N\n");
    fails("try a --flag=1", 2, "prog: --flag: takes no value\n");
    fails("try", 2, "prog: try: FILE ... is missing; see --help\n");
    fails("try a b c d", 2, "prog: try: unexpected 'd'; FILE ... expected\n");
    fails("inspect x", 2, "prog: inspect: unexpected 'x'; no operand expected\n");
    static const gopt_command alone = {.name = "prog", .operands = "FILE", .least = 1, .most = 1, .run = run};
    assert_string_equal(call_as(&alone, "a b").err, "prog: unexpected 'b'; FILE expected\n");
    assert_string_equal(call_as(&alone, "").err, "prog: FILE is missing; see --help\n");
}

static void statuses_become_exit_codes(void **state)
{
    static const struct {
        gopt_status s;
        int code;
    } codes[] = {{GOPT_EDIFF, 1}, {GOPT_EUSAGE, 2}, {GOPT_EINPUT, 3}, {GOPT_EUNSUP, 3}, {GOPT_ENODEV, 4},
                 {GOPT_EIO, 4},   {GOPT_ENOMEM, 4}, {GOPT_ELIMIT, 4}, {GOPT_EINTR, 5},  {GOPT_EBUG, 70}};
    (void)state;
    message = "dir/a: wrong";
    for (int i = 0; i < GOPT_COUNT(codes); i++) {
        result = codes[i].s;
        fails("try dir/a", codes[i].code, "prog: dir/a: wrong\n");
    }
    result = GOPT_EDIFF;
    message = "";
    fails("try dir/a", 1, ""); /* said on stdout already */
}

static void an_error_names_the_file_and_prints_in_one_line(void **state)
{
    (void)state;
    result = GOPT_EINPUT;
    message = "node \x1B[2J\n\xFF: bad";
    fails("try dir/net.onnx", 3, "prog: dir/net.onnx: node ?[2J??: bad\n");
    message = "net.onnx: bad";
    fails("try dir/net.onnx", 3, "prog: net.onnx: bad\n");
}

static void help_teaches(void **state)
{
    outcome o = call("try --help");
    (void)state;
    assert_int_equal(o.code, 0);
    assert_string_equal(o.out, "usage: prog try [options] FILE ...\n\n"
                               "Tries things.\n\n"
                               "  -t, --text NAME        a text\n"
                               "      --count N          a number\n"
                               "                         of things\n"
                               "      --budget DURATION  wall clock\n"
                               "      --max-memory-of-all-things SIZE\n"
                               "                         a long name\n"
                               "      --flag             a flag\n"
                               "  -q, --quiet            less\n"
                               "  -v, --verbose          more\n"
                               "      --word WORD        words\n"
                               "      --threads LIST     counts\n"
                               "      --shape NAME=V,..  sizes\n"
                               "  -h, --help             this text\n\n"
                               "Example:\n  prog try x\n");
    assert_string_equal(call("help try").out, o.out);
    assert_string_equal(call("try --count x -h").err, "prog: --count: 'x': a whole number expected\n");
    o = call("--help");
    assert_string_equal(o.out, "usage: prog COMMAND [options] ...\n\nAbout.\n\n"
                               "  try      Tries things.\n"
                               "  inspect  Looks.\n\n"
                               "prog COMMAND --help tells more of each, with examples.\n\nMore.\n");
    o = call("--version");
    assert_int_equal(strncmp(o.out, "prog ", 5), 0);
    assert_string_equal(call("try --version").out, o.out);
}

#define T(f) cmocka_unit_test_setup(f, reset)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(options_and_operands_in_any_order),
        T(values),
        T(lists),
        T(wrong_values_say_what_is_right),
        T(wrong_words_say_what_was_meant),
        T(statuses_become_exit_codes),
        T(an_error_names_the_file_and_prints_in_one_line),
        T(help_teaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
