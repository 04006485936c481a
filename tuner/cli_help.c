/* cli_help.c: usage, options in two columns, examples. */
#include "cli_help.h"

#include <string.h>

enum { WIDEST = 26 }; /* a longer option pushes its help to the next line */

/* "-q, --quiet", "    --budget DURATION" */
static void describe(char *buf, size_t size, const gopt_option *o)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(buf, size, "%s%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
}

static void print_option(const gopt_option *o, int width, FILE *out)
{
    char left[96];
    describe(left, sizeof left, o);
    bool apart = (int)strlen(left) > width;
    fprintf(out, "  %-*s%s", apart ? 0 : width, left, apart ? "\n" : "");
    for (const char *line = o->help; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "%*s%.*s\n", line == o->help && !apart ? 2 : width + 4, "", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

void gopt_help_command(const gopt_command *c, const char *program, FILE *out)
{
    static const gopt_option help = {.name = "--help", .letter = 'h', .help = "this text"};
    char left[96];
    int width = 10;
    bool alone = !strcmp(c->name, program);
    for (const gopt_option *o = c->options; o && o->name; o++) {
        describe(left, sizeof left, o);
        if ((int)strlen(left) <= WIDEST)
            width = GOPT_MAX(width, (int)strlen(left));
    }
    fprintf(out, "usage: %s%s%s [options] %s\n\n%s\n\n", program, alone ? "" : " ", alone ? "" : c->name, c->operands,
            c->doc);
    for (const gopt_option *o = c->options; o && o->name; o++)
        print_option(o, width, out);
    print_option(&help, width, out);
    if (c->more)
        fprintf(out, "\n%s", c->more);
}

void gopt_help_program(const gopt_program *p, FILE *out)
{
    int width = 0;
    for (int i = 0; p->commands[i]; i++)
        width = GOPT_MAX(width, (int)strlen(p->commands[i]->name));
    fprintf(out, "usage: %s COMMAND [options] ...\n\n%s%s", p->name, p->about ? p->about : "", p->about ? "\n" : "");
    for (int i = 0; p->commands[i]; i++)
        fprintf(out, "  %-*s  %s\n", width, p->commands[i]->name, p->commands[i]->doc);
    fprintf(out, "\n%s COMMAND --help tells more of each, with examples.\n", p->name);
    if (p->more)
        fprintf(out, "\n%s", p->more);
}
