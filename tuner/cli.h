/* cli.h: commands and their options as tables: parsing, help, near misses, one line per error, exit codes. */
#ifndef GOPT_CLI_H
#define GOPT_CLI_H

#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

/* Reads the text of one option into its field; the message says what is allowed. */
typedef gopt_status gopt_option_parse(void *field, const char *text, gopt_err *e);

typedef struct gopt_option {
    const char *name;         /* "--budget" */
    char letter;              /* 'q' for -q; 0: none */
    const char *value;        /* "DURATION"; NULL: a flag, its field is a bool (with parse NULL) */
    gopt_option_parse *parse; /* of the value, or of "" for a flag that is not a bool */
    size_t offset;            /* of the field in the command's options */
    const char *help;         /* "what it does"; a line break begins a new line */
} gopt_option;                /* tables end with {0} */

typedef struct gopt_command {
    const char *name;     /* "bench"; the program's name where there are no commands */
    const char *operands; /* "MANIFEST|BUNDLE|MODEL ..." */
    int least, most;      /* how many */
    const char *doc;      /* one line */
    const char *more;     /* paragraphs and examples for --help, ends with a line break; may be NULL */
    const gopt_option *options;
    size_t size;                 /* of the struct the options' fields lie in */
    void (*init)(void *options); /* sets defaults into zeroed memory; NULL: all zero */
    /* Results go to stdout. GOPT_EDIFF with an empty message: said on stdout already. Operands are n texts. */
    gopt_status (*run)(void *options, const char *const *operand, int n, gopt_err *e);
} gopt_command;

/* Runs a program that is one command, or one of several; returns the exit code. --help and --version are understood
 * everywhere. `about` (may be NULL) begins the help of a program of several commands, `more` (may be NULL) ends it. */
int gopt_command_main(const gopt_command *c, const char *program, int argc, char **argv);
typedef struct gopt_program {
    const char *name, *about, *more;
    const gopt_command *const *commands; /* NULL at the end */
    const char *const *beside;           /* "NAME-word": programs that are no commands of it; NULL: none */
} gopt_program;
int gopt_program_main(const gopt_program *p, int argc, char **argv);

int gopt_exit_code(gopt_status s); /* interface.md */
/* The one line "gopt: CAUSE" on stderr, cleaned of what does not print; nothing when the message is empty. */
void gopt_error_print(const char *program, const gopt_err *e);

/* ---- parsers; the type of the field in brackets ---- */
gopt_option_parse gopt_parse_text;     /* [const char *] */
gopt_option_parse gopt_parse_count;    /* [int] 0 and up */
gopt_option_parse gopt_parse_seed;     /* [int64_t] 0 and up */
gopt_option_parse gopt_parse_number;   /* [double] 0 and up */
gopt_option_parse gopt_parse_duration; /* [double] seconds: "90s", "10m", "250us", "1h30m"; a bare number is seconds */
gopt_option_parse gopt_parse_bytes;    /* [double] "512M", "2G", "1.5GiB", bare bytes; units of 1024 */
gopt_option_parse gopt_parse_some_bytes;   /* [double] above 0 */
gopt_option_parse gopt_parse_max_bytes;    /* [double] above 0; "none": 0 */
gopt_option_parse gopt_parse_max_duration; /* [double] seconds above 0; "none": 0 */
gopt_option_parse gopt_parse_words;        /* [gopt_words] repeatable, one word each */
gopt_option_parse gopt_parse_counts;       /* [gopt_counts] "1,2,4": rising, no doubles */
gopt_option_parse gopt_parse_shapes;       /* [gopt_shapes] repeatable, "batch=1,seq=128" */
gopt_option_parse gopt_parse_raise;        /* [int] a flag that counts */

enum { GOPT_WORDS_MAX = 128, GOPT_COUNTS_MAX = 32, GOPT_SHAPES_MAX = 256 };

typedef struct gopt_words {
    const char *at[GOPT_WORDS_MAX];
    int n;
} gopt_words;

typedef struct gopt_counts {
    int at[GOPT_COUNTS_MAX];
    int n;
} gopt_counts;

typedef struct gopt_shapes { /* sizes of symbolic dimensions, in the order given */
    char name[GOPT_SHAPES_MAX][256];
    int64_t size[GOPT_SHAPES_MAX];
    int n;
} gopt_shapes;

/* "unknown WHAT 'text'; did you mean 'near'?" or "; one of a, b, c"; EUSAGE. */
gopt_status gopt_unknown(gopt_err *e, const char *what, const char *text, const char *const *known, int n);

#endif
