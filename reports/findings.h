/* findings.h: everything that a tuning job found, as plain data. tuner/ fills it, everything here renders it.
 *
 * Times are nanoseconds and memory is bytes unless the name says otherwise. Unknown is NAN in a double, GOPT_UNKNOWN in
 * an int64_t and NULL in a text; it is null in findings.json and n/a in reports. A trial is named by its id, which is
 * unique in its cluster. Texts may come from the model and are not trusted: renderers escape them. */
#ifndef GOPT_FINDINGS_H
#define GOPT_FINDINGS_H

#include "base/arena.h"
#include "base/err.h"

#define GOPT_UNKNOWN INT64_C(-1)

typedef enum gopt_finding_verdict {
    GOPT_FINDING_UNKNOWN,
    GOPT_FINDING_TIE,    /* pairs: none */
    GOPT_FINDING_BETTER, /* pairs: synergy */
    GOPT_FINDING_WORSE   /* pairs: conflict */
} gopt_finding_verdict;

/* A ratio with its 95 % interval. */
typedef struct gopt_finding_ratio {
    double value, lo, hi;
    gopt_finding_verdict verdict;
} gopt_finding_ratio;

/* One named value: a knob, a property of the machine. */
typedef enum gopt_finding_kind { GOPT_FINDING_TEXT, GOPT_FINDING_NUMBER, GOPT_FINDING_SWITCH } gopt_finding_kind;
typedef struct gopt_finding_fact {
    const char *name;
    gopt_finding_kind kind;
    const char *text; /* TEXT */
    double number;    /* NUMBER, SWITCH: 0 or 1 */
} gopt_finding_fact;

typedef struct gopt_finding_latency {
    int64_t median, lo, hi; /* 95 % interval of the median */
    double mean;
    int64_t p90, p95, p99; /* unknown when the samples cannot support it */
    int64_t samples;
    int64_t repeats; /* the most inferences that one sample is the mean of; above 1 there are no percentiles */
    bool in_final;   /* timed again on fresh samples at the end; decisions count the low end of others' speedups */
} gopt_finding_latency;

typedef struct gopt_finding_memory {
    int64_t peak, steady, weights, arena, workspace, runtime;
    int64_t arena_bound;  /* the most that is alive at one step: no placement needs less */
    double saving;        /* (M_base - M) / M_base */
    double reuse;         /* of the arena: what the values in it would take apart, over what it takes */
    double fragmentation; /* the share of the arena above its bound */
} gopt_finding_memory;

typedef struct gopt_finding_stage {
    const char *name;
    int64_t ns;
} gopt_finding_stage;

typedef struct gopt_finding_compile {
    int64_t total, peak_memory;
    bool cached;
    const gopt_finding_stage *stages;
    int n_stages;
} gopt_finding_compile;

typedef struct gopt_finding_trial {
    int id;
    const char *status; /* "ok", "pruned", "compile_failed", ... as interface.md lists them */
    const char *why;    /* of a status other than ok */
    const char *role;   /* what it was tried for: "baseline", "default", "single", "search", ... */
    const char *const *pipeline;
    int n_pipeline;
    const gopt_finding_fact *config;
    int n_config;
    gopt_finding_latency latency;
    double throughput_per_s;
    gopt_finding_ratio speedup; /* T_base / T, paired */
    gopt_finding_memory memory;
    gopt_finding_compile compile;
    double break_even_requests; /* NAN: never */
    double utility;
    double max_abs, max_rel; /* error against the reference */
} gopt_finding_trial;

#define GOPT_REST_CHANGED 0.05 /* a rest_change up to this is none */

typedef struct gopt_finding_single { /* baseline + one pass */
    const char *pass;
    int trial;
    gopt_finding_ratio speedup;
    double memory_saving;
    int64_t compile;
    double share;            /* f: part of the baseline's time in the operators it touched */
    double operator_speedup; /* S_p */
    double amdahl_predicted, amdahl_ceiling;
    bool removed;           /* nothing is left of those operators: S_p is without bound, and the ceiling predicted */
    const char *bottleneck; /* what the time outside those operators does; NULL: not traced */
    double rest_change;     /* of that time from the baseline's trace to its own: 0.1 is 10 % longer */
} gopt_finding_single;

typedef struct gopt_finding_left_out { /* default - one pass */
    const char *pass;
    int trial;
    gopt_finding_ratio slowdown; /* T_without / T_default; the verdict is on leaving it out: worse = it is needed */
} gopt_finding_left_out;

typedef struct gopt_finding_pair {
    const char *first, *second; /* in the order they ran */
    int trial;
    gopt_finding_ratio eta;                                             /* S_ab / (S_a S_b) */
    const char *why;                                                    /* what one did to the other */
    int64_t first_alone, first_together, second_alone, second_together; /* rewrites they made */
} gopt_finding_pair;

typedef struct gopt_finding_share { /* what one pass has of the default's whole gain: its Shapley value */
    const char *pass;               /* NULL: all others together */
    gopt_finding_ratio gain;        /* factor; those of all passes multiply to the total */
    double share;                   /* of ln total */
} gopt_finding_share;

typedef struct gopt_finding_attribution {
    const gopt_finding_share *shares;
    int n_shares;               /* 0: it was not measured */
    int64_t orders, all_orders; /* in which the passes were added one by one, of how many there are */
    int trial;                  /* the default */
    double total;               /* its speedup */
} gopt_finding_attribution;

typedef struct gopt_finding_preset { /* a named starting point, as it was measured */
    const char *name;
    int trial;
    double compile_ns, run_ns; /* wall time of n requests: compile_ns + n run_ns; what the cache saves is left out */
    double best_from, best_to; /* requests for which it is the best of the presets; NAN: none, and best_to: no end */
} gopt_finding_preset;

typedef struct gopt_finding_ban { /* a pass that was found at fault and left out from then on */
    const char *pass;
    int trial;           /* the shortest pipeline that failed, the pass at its end */
    const char *command; /* shows the failure */
} gopt_finding_ban;

typedef struct gopt_finding_step { /* the default pipeline, pass after pass */
    const char *pass;
    int64_t nodes_before, nodes_after, kernels_after, arena_after, latency;
    bool idle; /* it found nothing to do */
} gopt_finding_step;

typedef struct gopt_finding_regime { /* `trial` wins from `from` to just before `to`; to is NAN when unbounded */
    double from, to;
    int trial;
} gopt_finding_regime;

typedef struct gopt_finding_moment { /* the best so far, from this moment on */
    double elapsed_s;
    int trial;
    int64_t median;
} gopt_finding_moment;

typedef struct gopt_finding_hotspot {
    const char *name;   /* operator */
    const char *kernel; /* may be unknown */
    int64_t calls, ns;  /* all calls of one inference together */
    double share;       /* of the traced time */
    bool has_bodies;    /* If, Loop, Scan: the time is that of the steps in them */
} gopt_finding_hotspot;

typedef struct gopt_finding_profile { /* a traced run, the longest first */
    int trial;
    const gopt_finding_hotspot *hotspots;
    int n_hotspots;
    double inflation; /* traced time / untraced median */
} gopt_finding_profile;

typedef struct gopt_finding_size {
    const char *dim;
    int64_t value;
} gopt_finding_size;

typedef struct gopt_finding_shape {
    const gopt_finding_size *sizes;
    int n_sizes;
} gopt_finding_shape;

typedef struct gopt_finding_bound {
    const char *dim;
    int64_t lo, hi;
} gopt_finding_bound;

typedef struct gopt_finding_cluster {
    const char *id;
    double weight;
    const gopt_finding_shape *shapes;
    const gopt_finding_bound *bounds;
    int n_shapes, n_bounds;
    int baseline_trial, default_trial, chosen_trial;
    int n_front;
    const int *front;                /* trials */
    const char *reason;              /* why the chosen one */
    bool unmet;                      /* no trial keeps the constraints */
    bool what_if;                    /* manifest.yaml stayed as it was, at another choice than this one */
    int served_trial;                /* then: what it serves; -1: not known */
    const char *served_breaks;       /* which constraints that breaks; NULL: none that is known */
    const char *remedy;              /* and the command that changes that; NULL: not known */
    gopt_finding_ratio over_default; /* T_default / T_chosen, paired */
    const gopt_finding_regime *alpha, *requests;
    int n_alpha, n_requests;
    gopt_finding_trial *trials;
    const gopt_finding_single *single;
    int n_trials, n_single;
    const gopt_finding_left_out *left_out;
    const gopt_finding_pair *pairs;
    int n_left_out, n_pairs;
    gopt_finding_attribution attribution;
    const gopt_finding_preset *presets;
    int n_presets;
    const gopt_finding_ban *bans;
    int n_bans;
    const gopt_finding_step *steps;
    const gopt_finding_moment *anytime; /* by time */
    int n_steps, n_anytime;
    const gopt_finding_profile *profiles; /* baseline first */
    int n_profiles;
} gopt_finding_cluster;

typedef struct gopt_finding_operator {
    const char *name;
    int64_t count;
} gopt_finding_operator;

typedef struct gopt_finding_model {
    const char *path, *sha256;
    int64_t nodes, parameters_bytes;
    const gopt_finding_operator *operators;
    int n_operators;
    int64_t native, reference, unsupported; /* coverage, in nodes */
} gopt_finding_model;

typedef struct gopt_finding_machine {
    const char *kind, *name, *fingerprint;
    const gopt_finding_fact *facts; /* cores, caches, compiler, ... */
    int n_facts;
} gopt_finding_machine;

typedef struct gopt_finding_settings { /* constraints unknown: none */
    const char *objective;
    double alpha, requests;
    int64_t max_memory, max_compile, max_latency;
    const gopt_finding_fact *more; /* preset, search, threads, tolerance, ... */
    int n_more;
} gopt_finding_settings;

/* Beyond one of these the machine was unquiet: shares of the rounds (design/measurement.md, 7), of all processors'
 * time. */
#define GOPT_UNQUIET_ROUNDS 0.2
#define GOPT_UNQUIET_OTHERS 0.1
#define GOPT_UNQUIET_STEAL 0.01

typedef struct gopt_finding_noise {
    double floor; /* on ln of a ratio */
    bool unquiet;
    int64_t rounds_flagged, rounds;
    double others, steal; /* share of all processors' time that other processes, the hypervisor took */
    double waited;        /* share of the rounds that what was measured stood in line for a processor */
    double spread;        /* of the baseline's samples: 90th over 10th percentile - 1 */
} gopt_finding_noise;

typedef struct gopt_finding_accounting { /* seconds; sums to elapsed_s */
    double compile, verify, measure, search, other;
} gopt_finding_accounting;

typedef struct gopt_finding_traffic {
    const char *source; /* NULL: none was given */
    double rate_per_s, lifetime_s, hit_rate, coverage, padding_waste, fallback_share;
} gopt_finding_traffic;

typedef struct gopt_finding_decision {
    const char *result;  /* "ok", "regression", "improvement", "tie", "kept_default" */
    const char *against; /* manifest compared with; NULL: none */
    const char *const *details;
    int n_details;
} gopt_finding_decision;

typedef struct gopt_finding_command { /* what a reader runs to see it for himself */
    const char *purpose, *line;
} gopt_finding_command;

typedef struct gopt_findings {
    gopt_arena arena; /* of all texts and arrays, except those that outlive the findings anyway */
    const char *tool_version, *tool_commit;
    int64_t seed;
    double budget_s, elapsed_s;
    const char *stopped; /* "budget", "converged", "exhausted", "interrupted" */
    gopt_finding_settings settings;
    gopt_finding_model model;
    gopt_finding_machine device;
    gopt_finding_noise noise;
    gopt_finding_accounting accounting;
    gopt_finding_traffic traffic;
    gopt_finding_cluster *clusters;
    int n_clusters;
    gopt_finding_decision verdict;
    const char *regime;        /* how latency was measured: "steady, warm caches, one session" */
    const char *const *health; /* lines on the machine while it measured */
    int n_health;
    const char *const *notes; /* lines on the job: what was assumed, what was not available */
    int n_notes;
    const gopt_finding_command *commands;
    int n_commands;
} gopt_findings;

/* All unknown and empty. *out is NULL unless OK. */
gopt_status gopt_findings_new(gopt_findings **out, gopt_err *e);
void gopt_findings_free(gopt_findings *f); /* NULL is fine */
/* n of them in the arena, all unknown; the ids of trials count from 0. NULL and arena.failed when out of memory. */
gopt_finding_cluster *gopt_findings_take_clusters(gopt_findings *f, int n);
gopt_finding_trial *gopt_findings_take_trials(gopt_findings *f, int n);

extern const gopt_finding_ratio gopt_finding_ratio_unknown;
gopt_finding_fact gopt_finding_fact_text(const char *name, const char *text); /* borrow both */
gopt_finding_fact gopt_finding_fact_number(const char *name, double number);
gopt_finding_fact gopt_finding_fact_switch(const char *name, bool on);

/* NULL when the cluster has no such trial. */
const gopt_finding_trial *gopt_finding_trial_find(const gopt_finding_cluster *c, int id);
bool gopt_finding_trial_is_ok(const gopt_finding_trial *t); /* false for NULL */
bool gopt_finding_on_front(const gopt_finding_cluster *c, int id);
/* Baseline, default and choice, each once and only those that ran; returns their number. */
enum { GOPT_FINDING_ROLES = 3 };
/* "good", "little", or "unknown" where the noise is not known: how far to trust what was measured. */
const char *gopt_finding_trust(const gopt_finding_noise *n);
int gopt_finding_roles(const gopt_finding_cluster *c, const gopt_finding_trial *out[GOPT_FINDING_ROLES]);
const char *gopt_finding_role_name(const gopt_finding_cluster *c, int id); /* "chosen", "chosen = default", ...; "" */
const char *gopt_finding_verdict_name(gopt_finding_verdict v);             /* "better", ...; NULL when unknown */
const char *gopt_finding_eta_name(gopt_finding_verdict v);                 /* "synergy", ...; NULL when unknown */

/* json.c: the schema gopt-findings/1 of interface.md, and more. *out is heap text, freed with gopt_free. */
gopt_status gopt_findings_json(char **out, const gopt_findings *f, gopt_err *e);
gopt_status gopt_findings_write_json(const gopt_findings *f, const char *path, gopt_err *e); /* atomically */

#endif
