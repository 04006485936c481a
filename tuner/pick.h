/* pick.h: one configuration from the command line: --pipeline, --preset, --set, --threads, the same for every command.
 */
#ifndef GOPT_PICK_H
#define GOPT_PICK_H

#include "cli.h"
#include "config.h"

typedef struct gopt_pick {
    const char *pipeline; /* "none", "default", or passes separated by commas; NULL: not given */
    const char *preset;   /* NULL: not given */
    gopt_words set;       /* "knob=value" */
    int threads;          /* 0: all processors there are */
} gopt_pick;

/* Rows of an option table whose options struct has a gopt_pick called `member`. */
#define GOPT_PICK_PIPELINE(T, member)                                                                                  \
    {                                                                                                                  \
        "--pipeline", 0, "none|default|PASS,..", gopt_parse_text, offsetof(T, member.pipeline),                        \
            "no pass, all passes, or just these (gopt-tune --list passes)"                                             \
    }
#define GOPT_PICK_PRESET(T, member)                                                                                    \
    {                                                                                                                  \
        "--preset", 0, "NAME|FILE", gopt_parse_text, offsetof(T, member.preset),                                       \
            "debug, reduce-overhead, max-autotune (default) or a YAML file"                                            \
    }
#define GOPT_PICK_SET(T, member)                                                                                       \
    {                                                                                                                  \
        "--set", 0, "KNOB=VALUE", gopt_parse_set, offsetof(T, member.set),                                             \
            "one knob, repeatable (gopt-tune --list knobs)"                                                            \
    }
#define GOPT_PICK_THREADS(T, member)                                                                                   \
    {                                                                                                                  \
        "--threads", 0, "N", gopt_parse_threads, offsetof(T, member.threads), "threads of one inference"               \
    }

/* Both say on stderr when there are not as many processors as threads. */
gopt_option_parse gopt_parse_threads; /* [int] 1 and up */
gopt_option_parse gopt_parse_set;     /* [gopt_words] */

gopt_status gopt_pick_config(gopt_config *out, const gopt_pick *p, gopt_err *e);

#endif
