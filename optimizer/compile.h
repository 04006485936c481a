/* compile.h: graph + configuration -> plan, every stage timed. */
#ifndef GOPT_COMPILE_H
#define GOPT_COMPILE_H

#include "config.h"
#include "plan.h"

/* clang-format off */
#define GOPT_STAGES(X)                                                                                                 \
    X(import)                                                                                                          \
    X(shape_inference)                                                                                                 \
    X(passes) X(kernel_selection) X(code_generation) X(code_compilation) X(weight_packing) X(memory_planning)          \
        X(serialization) X(cache_lookup)
/* clang-format on */
#define GOPT_X_STAGE(n) GOPT_STAGE_##n,
typedef enum gopt_stage { GOPT_STAGES(GOPT_X_STAGE) GOPT_STAGE_COUNT } gopt_stage;
#undef GOPT_X_STAGE
extern const char *const gopt_stage_names[GOPT_STAGE_COUNT];

typedef struct gopt_compile_log {
    gopt_arena arena;                   /* of the records; gopt_compile_log_fini frees it */
    int64_t stage_ns[GOPT_STAGE_COUNT]; /* code found in the cache counts the time its compilation once took */
    int64_t saved_ns;                   /* how much of that the cache saved this time */
    bool cached;                        /* some code came from the cache */
    int64_t compiler_peak_bytes;        /* largest resident set of a compiler process */
    gopt_pass_record *records;          /* in the order the passes ran */
    int n_records;
    int kernels_native, kernels_generated, kernels_reference; /* steps by how they run */
    /* Activations, the bodies' too: what the arenas take; the most that is alive at one step, which no placement can go
     * below; what they would take without sharing. */
    size_t arena_bytes, arena_bound, arena_total;
    bool no_compiler; /* code generation was wanted and no compiler was found: precompiled instead */
} gopt_compile_log;

/* After every pass, when set (gopt trace): graph as it stands. A failure ends the compilation. */
typedef gopt_status gopt_compile_watch(void *ctx, const gopt_graph *g, const gopt_pass_record *r, gopt_err *e);

struct gopt_cache_key;
/* For every generated function, when set (gopt cache why): was it in the cache? `step` is the first that it is for.
 * Then once with key NULL, before the missing ones are compiled. A failure ends the compilation. */
typedef gopt_status gopt_compile_lookup(void *ctx, const struct gopt_cache_key *key, const gopt_step *step, bool found,
                                        gopt_err *e);

typedef struct gopt_compile_options {
    gopt_target target;
    const char *cache_dir;   /* NULL: no cache */
    const char *scratch_dir; /* where the compiler works; left as it was */
    int64_t deadline;        /* gopt_now(); 0: none. ELIMIT when passed */
    gopt_compile_watch *watch;
    void *watch_ctx;
    gopt_compile_lookup *lookup;
    void *lookup_ctx;
} gopt_compile_options;

/* Consumes g (frees it, or hands its constants' backing to the plan) whatever the outcome, and with it the elements of
 * its constants: of those that only packed forms are read, the memory is given back. All inputs' shapes must be bound.
 * The log is zeroed first and is valid also on failure. */
gopt_status gopt_compile(gopt_plan **out, gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                         gopt_compile_log *log, gopt_err *e);
void gopt_compile_log_fini(gopt_compile_log *log);
/* Sum of all stages. */
int64_t gopt_compile_total(const gopt_compile_log *log);

/* $GOPT_CACHE_DIR, else $XDG_CACHE_HOME/gopt, else ~/.cache/gopt; into buf. */
const char *gopt_cache_dir(char *buf, size_t size);

#endif
