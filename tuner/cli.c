/* cli.c: from words to a command's options and operands, and from its status to an exit code. */
#include "cli.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "cli_help.h"

int gopt_exit_code(gopt_status s)
{
    switch (s) {
    case GOPT_OK:
        return 0;
    case GOPT_EDIFF:
        return 1;
    case GOPT_EUSAGE:
        return 2;
    case GOPT_EINPUT:
    case GOPT_EUNSUP:
        return 3;
    case GOPT_ENODEV:
    case GOPT_EIO:
    case GOPT_ENOMEM:
    case GOPT_ELIMIT:
        return 4;
    case GOPT_EINTR:
        return 5;
    case GOPT_EBUG:
    case GOPT_STATUS_COUNT:
        break;
    }
    return 70;
}

void gopt_error_print(const char *program, const gopt_err *e)
{
    gopt_err shown = *e;
    if (e->msg[0])
        fprintf(stderr, "%s: %s\n", program, gopt_utf8_clean(shown.msg));
}

gopt_status gopt_unknown(gopt_err *e, const char *what, const char *text, const char *const *known, int n)
{
    const char *near = gopt_text_nearest(text, known, n);
    if (near)
        return gopt_fail(e, GOPT_EUSAGE, "unknown %s '%.80s'; did you mean '%s'?", what, text, near);
    gopt_text list = {0};
    for (int i = 0; i < n; i++)
        gopt_text_add(&list, "%s%s", i ? ", " : "", known[i]);
    gopt_status s = gopt_fail(e, GOPT_EUSAGE, "unknown %s '%.80s'; one of %.300s", what, text, gopt_text_str(&list));
    gopt_text_fini(&list);
    return s;
}

/* ---- words ---- */

/* One command line being read. */
typedef struct reading {
    const gopt_command *command;
    int argc, at; /* at: the next word */
    char **argv;
    void *options;
    const char **operand;
    int n_operands;
    bool wants_help, wants_version;
} reading;

static const gopt_option help_rows[] = {{.name = "--help", .letter = 'h'}, {.name = "--version"}, {0}};

static const gopt_option *find(const gopt_option *rows, const char *name, size_t n, char letter)
{
    for (const gopt_option *o = rows; o && o->name; o++)
        if (letter ? o->letter == letter : strlen(o->name) == n && !strncmp(o->name, name, n))
            return o;
    return NULL;
}

static gopt_status unknown_option(const reading *r, const char *name, gopt_err *e)
{
    const char *names[64];
    int n = 0;
    for (const gopt_option *o = r->command->options; o && o->name && n < GOPT_COUNT(names) - 2; o++)
        names[n++] = o->name;
    names[n++] = "--help";
    names[n++] = "--version";
    const char *near = gopt_text_nearest(name, names, n);
    return near ? gopt_fail(e, GOPT_EUSAGE, "%s: unknown option; did you mean %s?", name, near)
                : gopt_fail(e, GOPT_EUSAGE, "%s: unknown option; see --help", name);
}

static gopt_status set(const reading *r, const gopt_option *o, const char *value, gopt_err *e)
{
    void *field = (char *)r->options + o->offset;
    if (!o->parse) {
        *(bool *)field = true;
        return GOPT_OK;
    }
    gopt_status s = o->parse(field, value ? value : "", e);
    return s ? gopt_within(e, s, "%s", o->name) : GOPT_OK;
}

/* `given` is what followed the option in the same word; NULL: nothing. */
static gopt_status take(reading *r, const gopt_option *o, const char *given, gopt_err *e)
{
    if (!o->value && given)
        return gopt_fail(e, GOPT_EUSAGE, "%s: takes no value", o->name);
    if (o->value && !given) {
        if (r->at >= r->argc)
            return gopt_fail(e, GOPT_EUSAGE, "%s: its value is missing: %s %s", o->name, o->name, o->value);
        given = r->argv[r->at++];
    }
    return set(r, o, given, e);
}

/* One of the two that every command has. */
static bool take_help(reading *r, const gopt_option *o)
{
    r->wants_help = r->wants_help || o == &help_rows[0];
    r->wants_version = r->wants_version || o == &help_rows[1];
    return o != NULL;
}

static gopt_status read_long(reading *r, const char *word, gopt_err *e)
{
    size_t n = strcspn(word, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)GOPT_MIN(n, sizeof name - 1), word);
    const gopt_option *o = find(r->command->options, word, n, 0);
    if (o)
        return take(r, o, word[n] ? word + n + 1 : NULL, e);
    return take_help(r, find(help_rows, word, n, 0)) ? GOPT_OK : unknown_option(r, name, e);
}

/* -q, -qv, -o FILE, -oFILE. */
static gopt_status read_letters(reading *r, const char *word, gopt_err *e)
{
    for (const char *p = word + 1; *p; p++) {
        const gopt_option *o = find(r->command->options, NULL, 0, *p);
        if (!o && take_help(r, find(help_rows, NULL, 0, *p)))
            continue;
        if (!o)
            return unknown_option(r, word, e);
        if (o->value)
            return take(r, o, p[1] ? p + 1 : NULL, e);
        GOPT_TRY(take(r, o, NULL, e));
    }
    return GOPT_OK;
}

static gopt_status read_words(reading *r, gopt_err *e)
{
    bool only_operands = false;
    while (r->at < r->argc) {
        const char *word = r->argv[r->at++];
        if (only_operands || word[0] != '-' || !word[1])
            r->operand[r->n_operands++] = word;
        else if (!strcmp(word, "--"))
            only_operands = true;
        else
            GOPT_TRY(word[1] == '-' ? read_long(r, word, e) : read_letters(r, word, e));
        if (r->wants_help || r->wants_version)
            return GOPT_OK;
    }
    return GOPT_OK;
}

/* A command that is the whole program needs no second name. */
static gopt_status check_operands(const reading *r, const char *program, gopt_err *e)
{
    const gopt_command *c = r->command;
    gopt_status s = GOPT_OK;
    if (r->n_operands < c->least)
        s = gopt_fail(e, GOPT_EUSAGE, "%s is missing; see --help", c->operands);
    if (r->n_operands > c->most)
        s = gopt_fail(e, GOPT_EUSAGE, "unexpected '%.80s'; %s expected", r->operand[c->most],
                      c->most ? c->operands : "no operand");
    return s && strcmp(c->name, program) != 0 ? gopt_within(e, s, "%s", c->name) : s;
}

/* ---- running ---- */

/* Whoever gave one file must read its name in what is wrong with it. */
static void name_operand(const reading *r, gopt_status s, gopt_err *e)
{
    if (r->n_operands != 1 || (s != GOPT_EINPUT && s != GOPT_EUNSUP) || !e->msg[0])
        return;
    const char *path = r->operand[0], *slash = strrchr(path, '/');
    if (!strstr(e->msg, slash && slash[1] ? slash + 1 : path))
        gopt_fail(e, s, "%.200s: %.300s", path, e->msg);
}

static gopt_status perform(reading *r, const char *program, gopt_err *e)
{
    GOPT_TRY(read_words(r, e));
    if (r->wants_help || r->wants_version) {
        if (r->wants_help)
            gopt_help_command(r->command, program, stdout);
        else
            printf("%s %s\n", program, gopt_version());
        return GOPT_OK;
    }
    GOPT_TRY(check_operands(r, program, e));
    gopt_status s = r->command->run(r->options, r->operand, r->n_operands, e);
    name_operand(r, s, e);
    return s;
}

static int finish(const char *program, gopt_status s, gopt_err *e)
{
    if ((fflush(stdout) || ferror(stdout)) && !s)
        s = gopt_fail(e, GOPT_EIO, "standard output: cannot be written");
    if (s)
        gopt_error_print(program, e);
    return gopt_exit_code(s);
}

int gopt_command_main(const gopt_command *c, const char *program, int argc, char **argv)
{
    gopt_err e = {0};
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is then an error with a message */
    reading r = {.command = c, .argc = argc, .at = 1, .argv = argv};
    r.options = gopt_calloc(1, GOPT_MAX(c->size, (size_t)1));
    r.operand = gopt_calloc((size_t)argc + 1, sizeof *r.operand);
    if (r.options && c->init)
        c->init(r.options);
    gopt_status s = r.options && r.operand ? perform(&r, program, &e) : gopt_oom(&e);
    gopt_free(r.options);
    gopt_free(r.operand);
    return finish(program, s, &e);
}

static int unknown_command(const gopt_program *p, const char *word)
{
    const char *names[64];
    gopt_err e = {0};
    int n = 0;
    for (int i = 0; p->beside && p->beside[i]; i++)
        if (!strcmp(p->beside[i] + strlen(p->name) + 1, word))
            return finish(p->name,
                          gopt_fail(&e, GOPT_EUSAGE, "unknown command '%s'; it is a program: %s", word, p->beside[i]),
                          &e);
    for (int i = 0; p->commands[i] && n < GOPT_COUNT(names); i++)
        names[n++] = p->commands[i]->name;
    return finish(p->name, gopt_unknown(&e, word[0] == '-' ? "option" : "command", word, names, n), &e);
}

static const gopt_command *find_command(const gopt_program *p, const char *name)
{
    for (int i = 0; p->commands[i]; i++)
        if (!strcmp(p->commands[i]->name, name))
            return p->commands[i];
    return NULL;
}

int gopt_program_main(const gopt_program *p, int argc, char **argv)
{
    gopt_err e = {0};
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return finish(p->name, gopt_fail(&e, GOPT_EUSAGE, "a command is missing; see %s --help", p->name), &e);
    bool help = !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
    const gopt_command *c = find_command(p, help && argc > 2 ? argv[2] : word);
    if (help && (c || argc == 2)) {
        if (c)
            gopt_help_command(c, p->name, stdout);
        else
            gopt_help_program(p, stdout);
        return finish(p->name, GOPT_OK, &e);
    }
    if (!strcmp(word, "--version")) {
        printf("%s %s\n", p->name, gopt_version());
        return finish(p->name, GOPT_OK, &e);
    }
    return c ? gopt_command_main(c, p->name, argc - 1, argv + 1) : unknown_command(p, help ? argv[2] : word);
}
