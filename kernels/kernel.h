/* kernel.h: what a kernel is. A group (operator with its pointwise epilogue, all shapes known) is run by one kernel; a
 * kernel says which groups it fits, what it would cost, how it wants constants laid out, and either runs precompiled or
 * emits C. One file per kernel under cpu/, ending in its descriptor; kernels.def lists them, first fit is the default.
 */
#ifndef GOPT_KERNEL_H
#define GOPT_KERNEL_H

#include "base/cpu.h"
#include "expr.h"
#include "knob.h"
#include "op.h"

typedef struct gopt_operand {
    gopt_dtype dtype; /* NONE: absent */
    int rank;
    int64_t dim[GOPT_RANK_MAX];
    const void *constant; /* the elements when known at compile time, dense row-major, else NULL; of a packed operand
                             prepare() and run() find them only up to 4096 bytes */
    bool packed;          /* at run time the kernel gets what its pack() wrote instead */
    bool spent;           /* nobody reads the elements after pack(), which may drop them as it goes (base/file.h) */
} gopt_operand;

typedef struct gopt_group {
    const gopt_op *op; /* the anchor; gopt.Pointwise: none, post is all there is and reads in[0..n_in) */
    gopt_attrs attrs;
    int n_in, n_anchor, n_out; /* in[n_anchor..n_in) are read by post only */
    const gopt_operand *in;
    const gopt_operand *out; /* out[0] is what post yields; the anchor's own result has the same shape */
    const gopt_expr *post;   /* NULL: none */
} gopt_group;

/* What the engine will run on, as far as kernels care. */
typedef struct gopt_target {
    gopt_isa isa;
    int threads;
    size_t l1, l2, l3;  /* bytes of cache */
    double flops_per_s; /* of one thread, for cost(): roofline */
    double bytes_per_s;
} gopt_target;

void gopt_target_host(gopt_target *t, int threads); /* this machine, nominal roofline figures */

/* One call of a kernel: phase `phase` of `phases`, part `part` of `parts`. All parts of a phase end before the next
 * begins. Generated code declares the same structure by hand: keep optimizer/build/emit.c in step. */
typedef struct gopt_task {
    const void *const *in;
    void *const *out;
    void *workspace;  /* shared by all parts, 64-byte aligned, contents undefined at phase 0 */
    const void *spec; /* what prepare() computed */
    int part, parts, phase;
} gopt_task;

typedef struct gopt_work {
    int parts;        /* how many parts may run at once; 1: too little work to split */
    int phases;       /* >= 1 */
    size_t workspace; /* bytes */
} gopt_work;

#define GOPT_KERNEL_KNOBS 16 /* of one kernel at most */

typedef struct gopt_kernel {
    const char *name; /* "<op>_<dtype>[_<variant>]" */
    const char *doc;
    int revision;           /* raise when its results or layouts change */
    const gopt_knob *knobs; /* NULL: none */
    bool generated;         /* emits C; false: run is precompiled */
    bool rival; /* one of several ways for the same groups: a setting kernel.NAME says whether it may be chosen */
    bool (*fits)(const gopt_group *g, const int64_t *knob, const gopt_target *t);
    /* Seconds on one call by roofline: operations and bytes against the target's figures. */
    double (*cost)(const gopt_group *g, const int64_t *knob, const gopt_target *t);
    gopt_work (*work)(const gopt_group *g, const int64_t *knob, const gopt_target *t);
    /* Layout of constant operand k: bytes of the packed form, 0: used as it is. NULL: never packs. Runs
     * single-threaded. */
    size_t (*packed_bytes)(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k);
    void (*pack)(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst);
    bool in_place; /* out[0] may lie over an operand of the same type and shape: elements depend on their own only */
    bool widens;   /* pack() is given float16 and bfloat16 constants as float32 */
    /* Precompiled: spec_bytes of private constants (geometry, function pointers of the ISA level), computed once per
     * engine into zeroed memory; may use g->post (alive as long as the engine). */
    size_t spec_bytes;
    void (*prepare)(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *spec);
    void (*run)(const gopt_task *t);
    /* Generated: appends a function `void SYMBOL(const gopt_task *t)` to src (see emit.h for the prelude). */
    gopt_status (*emit)(const gopt_group *g, const int64_t *knob, const gopt_target *t, const char *symbol,
                        gopt_text *src, gopt_err *e);
} gopt_kernel;

extern const gopt_kernel *const gopt_kernels[]; /* all, NULL at the end */
int gopt_kernel_count(void);
int gopt_kernel_find(const char *name); /* index, -1 when unknown */
int gopt_kernel_knob_count(const gopt_kernel *k);
/* First precompiled kernel that fits with default knob values; NULL: only the reference can run it. */
const gopt_kernel *gopt_kernel_default(const gopt_group *g, const gopt_target *t);

/* Constant operand k as k's pack() lays it out, into dst; ENOMEM. */
gopt_status gopt_kernel_pack(const gopt_kernel *kernel, const gopt_group *g, const int64_t *knob, const gopt_target *t,
                             int k, void *dst, gopt_err *e);

/* For kernels: elements of an operand; bytes of all operands and outputs. */
int64_t gopt_operand_count(const gopt_operand *o);
double gopt_group_bytes(const gopt_group *g);
/* Roofline: max(flops / (threads * flops_per_s), bytes / bytes_per_s). */
double gopt_roofline(const gopt_target *t, double flops, double bytes);

#endif
