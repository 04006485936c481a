/* plan.h: a compiled model, ready to be run or written: values with their places, steps in order, constants, code. */
#ifndef GOPT_PLAN_H
#define GOPT_PLAN_H

#include "kernel.h"

typedef enum gopt_place {
    GOPT_PLACE_NONE,    /* absent or never materialized */
    GOPT_PLACE_INPUT,   /* bound by the caller */
    GOPT_PLACE_CONST,   /* data */
    GOPT_PLACE_ARENA,   /* at offset in the plan's arena */
    GOPT_PLACE_DYNAMIC, /* shape known only at run time: allocated when computed, freed after its last reader */
    GOPT_PLACE_OUTER,   /* value `outer` of the enclosing plan */
    GOPT_PLACE_ALIAS    /* the same memory as value `outer` of this plan (a view) */
} gopt_place;

typedef struct gopt_plan_value {
    const char *name; /* NULL for internal ones */
    gopt_dtype dtype;
    int rank;                   /* -1: unknown until run time */
    int64_t dim[GOPT_RANK_MAX]; /* -1: unknown until run time */
    gopt_place place;
    size_t offset;    /* ARENA */
    size_t bytes;     /* of a known shape */
    const void *data; /* CONST; 64-byte aligned when packed */
    int outer;
    int last_step; /* DYNAMIC: index of the last step that reads it; n_steps for outputs */
} gopt_plan_value;

typedef struct gopt_step {
    const char *name;          /* of the node; for traces */
    gopt_group group;          /* late steps: op, attrs, post and counts only */
    const gopt_kernel *kernel; /* NULL: late; chosen at run time for the real shapes, the reference when none fits */
    const int64_t *knob;
    const char *symbol; /* generated: function in code[code_index] */
    int code_index;
    int *in, *out; /* values; -1: absent */
    gopt_work work;
    struct gopt_plan **body; /* If, Loop, Scan */
    int n_bodies;
    const int *origin; /* imported nodes it does the work of */
    int n_origin;
    double cost_s;  /* predicted */
    bool pack_late; /* late steps: constant operands may be packed once, when the kernel is chosen */
} gopt_step;

typedef struct gopt_code {
    const void *elf; /* shared object */
    size_t bytes;
} gopt_code;

typedef struct gopt_plan {
    gopt_arena arena; /* the plan and all it points to, except backing */
    gopt_plan_value *values;
    int n_values;
    gopt_step *steps;
    int n_steps;
    int *inputs, *outputs; /* values */
    int n_inputs, n_outputs;
    size_t arena_bytes;     /* activations, 64-byte aligned offsets */
    size_t workspace_bytes; /* the largest of any step */
    size_t weight_bytes;    /* constants that steps read, each once; bodies included */
    gopt_code *code;
    int n_code;
    gopt_target target;       /* threads is the default of engines made from it */
    struct gopt_plan *parent; /* of a body */
    gopt_port *ports;         /* inputs then outputs as the model declared them (symbolic dims < 0); main plan only */
    void *backing;            /* what constants borrow: freed with the plan */
    void (*backing_free)(void *backing);
} gopt_plan;

void gopt_plan_free(gopt_plan *p); /* NULL is fine; bodies lie in the main plan's arena */

#endif
