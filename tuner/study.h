/* study.h: every trial of one tuning job, durable and resumable: OUT/study.db, SQLite in WAL mode.
 *
 * The database is written as things happen (one transaction per sample, so that kill -9 loses at most the sample being
 * taken); what is read back on resume is exactly what a job that never stopped would have in memory. */
#ifndef GOPT_STUDY_H
#define GOPT_STUDY_H

#include "compile.h"
#include "engine.h"

#define GOPT_TRIAL_STATUSES(X)                                                                                         \
    X(ok) X(pruned) X(compile_failed) X(run_failed) X(wrong) X(crashed) X(timed_out) X(out_of_memory)
#define GOPT_X_TRIAL(n) GOPT_TRIAL_##n,
typedef enum gopt_trial_status { GOPT_TRIAL_STATUSES(GOPT_X_TRIAL) GOPT_TRIAL_STATUS_COUNT } gopt_trial_status;
#undef GOPT_X_TRIAL
const char *gopt_trial_status_name(gopt_trial_status s);

typedef enum gopt_trial_role { /* why a trial was made */
                               GOPT_ROLE_BASELINE,
                               GOPT_ROLE_DEFAULT,
                               GOPT_ROLE_SINGLE,        /* baseline + pass a */
                               GOPT_ROLE_LEAVE_ONE_OUT, /* default - pass a */
                               GOPT_ROLE_PAIR,          /* baseline + passes a and b, which run in this order */
                               GOPT_ROLE_COALITION,     /* default - some passes: what the gain is due to */
                               GOPT_ROLE_PRESET,        /* another preset, for comparison */
                               GOPT_ROLE_SEARCH,        /* proposed by a sampler */
                               GOPT_ROLE_COUNT
} gopt_trial_role;
const char *gopt_trial_role_name(gopt_trial_role r);

/* What one pass did in a trial's compilation. */
typedef struct gopt_trial_pass {
    const char *pass;
    int changed, nodes_before, nodes_after;
    int64_t ns;
} gopt_trial_pass;

/* One step of a traced run. The kernel of an If, Loop or Scan begins with GOPT_TRACE_BODIES and says what is in them.
 */
#define GOPT_TRACE_BODIES "bodies: "
typedef struct gopt_trial_step {
    const char *name, *op, *kernel;
    int *origin;
    int n_origin;
    int64_t ns; /* median over the traced runs */
} gopt_trial_step;

/* What a worker said of a configuration it prepared. -1: unknown. Strings and arrays lie in the study's arena. */
typedef struct gopt_reply {
    gopt_trial_status status;
    const char *why;       /* NULL when ok */
    const char *plan_hash; /* equal plans have equal hashes */
    int64_t stage_ns[GOPT_STAGE_COUNT], compile_ns, compile_peak;
    bool cached;
    int native, generated, reference; /* steps by kind of kernel */
    gopt_memory memory;
    size_t arena_bound, arena_total; /* as in gopt_compile_log; 0: unknown */
    double max_abs, max_rel;         /* error against the reference */
    int64_t verify_ns;
    double predicted_s; /* sum of the kernels' cost models */
    gopt_trial_pass *passes;
    int n_passes;
    unsigned char *
        *touched; /* by entry of passes: by origin id, 1 when the pass touched that node; NULL unless asked for */
    int n_origins;
} gopt_reply;

typedef struct gopt_trial {
    int id; /* from 0: baseline, 1: default */
    gopt_trial_role role;
    int pass_a, pass_b; /* indices of passes, -1 */
    gopt_config config;
    gopt_reply reply;
    gopt_trial_step *steps; /* of a traced run; NULL when it was not traced */
    int n_steps;
    double traced_ns;   /* total of the traced run */
    const char *bundle; /* file name below OUT/bundles, NULL */
    double elapsed_s;   /* when its reply came, since the job's first start */
    int last_sample;    /* index of its newest sample, -1: none; the others by gopt_sample.before */
} gopt_trial;

typedef enum gopt_sample_stage { GOPT_SAMPLE_RACE, GOPT_SAMPLE_FINAL } gopt_sample_stage;
typedef struct gopt_sample {
    int trial, round; /* round: unique in the study */
    gopt_sample_stage stage;
    double ns;    /* one inference */
    int repeats;  /* inferences that were timed together */
    bool flagged; /* the machine was disturbed in this round */
    int before;   /* index of the trial's sample before this one, -1: none */
} gopt_sample;

typedef struct gopt_ban { /* a pass that was found at fault */
    int pass, trial;      /* trial: the shortest pipeline that failed, with the pass at its end */
    const char *command;  /* shows the failure */
} gopt_ban;

typedef struct gopt_study {
    gopt_arena arena;
    struct sqlite3 *db;
    const char *path; /* as given */
    gopt_trial *trials;
    int n_trials;
    size_t cap_trials;
    gopt_sample *samples; /* those of one round stand together */
    int n_samples;
    size_t cap_samples;
    gopt_ban *bans;
    int n_bans;
    size_t cap_bans;
    int next_round;
    int run;             /* number of this run, from 1 */
    double spent_before; /* seconds of earlier runs */
} gopt_study;

/* Identity of a job: continuing needs the same one. */
typedef struct gopt_study_identity {
    const char *model_sha256, *shapes, *tool, *device; /* shapes: canonical text */
    int64_t seed;
} gopt_study_identity;

/* Opens or makes path. fresh: removes what is there. read_only: for reports. EUSAGE with the reason when it belongs to
 * another model, shape or version; EIO when it cannot be written. */
gopt_status gopt_study_open(gopt_study **out, const char *path, const gopt_study_identity *id, bool fresh, gopt_err *e);
gopt_status gopt_study_read(gopt_study **out, const char *path, gopt_err *e);
void gopt_study_close(gopt_study *s); /* NULL is fine */
/* A value by key (settings of the job, for reports); NULL when absent. The text lies in the arena. */
const char *gopt_study_get(gopt_study *s, const char *key);
gopt_status gopt_study_set(gopt_study *s, const char *key, const char *value, gopt_err *e);
/* Stores a finished trial (reply given as the worker's JSON line, parsed into trial->reply) and appends it; ids count
 * up. */
gopt_status gopt_study_add_trial(gopt_study *s, gopt_trial *t, const char *reply_json, gopt_err *e);
gopt_status gopt_study_set_trace(gopt_study *s, int trial, const char *trace_json, gopt_err *e);
gopt_status gopt_study_set_bundle(gopt_study *s, int trial, const char *file, gopt_err *e);
gopt_status gopt_study_set_status(gopt_study *s, int trial, gopt_trial_status status, const char *why, gopt_err *e);
gopt_status gopt_study_add_sample(gopt_study *s, const gopt_sample *sample, gopt_err *e);
/* The machine was disturbed during this round: its samples are marked, never removed. */
gopt_status gopt_study_flag_round(gopt_study *s, int round, gopt_err *e);
gopt_status gopt_study_ban(gopt_study *s, int pass, int trial, const char *command, gopt_err *e); /* once a pass */
bool gopt_study_is_banned(const gopt_study *s, int pass);
gopt_status gopt_study_end_run(gopt_study *s, double elapsed_s, const char *stopped, gopt_err *e);

/* reply.c: JSON of the worker protocol, both ways. */
gopt_status gopt_reply_parse(gopt_reply *out, const char *json, gopt_arena *a, gopt_err *e);
gopt_status gopt_trace_parse(gopt_trial *t, const char *json, gopt_arena *a, gopt_err *e);
/* {"pass.fuse_chain": true, ...}: every setting that differs from the baseline and all switches. Caller frees with
 * free(). */
char *gopt_config_json(const gopt_config *c);
gopt_status gopt_config_from_json(gopt_config *out, const char *json, gopt_err *e);

#endif
