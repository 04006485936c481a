/* runner.h: a model, manifest or bundle made ready to run in this process. */
#ifndef GOPT_RUNNER_H
#define GOPT_RUNNER_H

#include <limits.h>

#include "deploy.h"
#include "graph.h"
#include "pick.h"
#include "rounds.h"
#include "workplace.h"

typedef struct gopt_runner {
    gopt_engine *engine;
    const gopt_port *inputs, *outputs;
    int n_inputs, n_outputs, threads;
    char shape[256];                /* "batch=1,seq=32" of a model with symbolic dimensions, else empty */
    bool made_up;                   /* sizes in it that nobody gave */
    const gopt_tensor *const *made; /* inputs, when they were made up: gopt_runner_open_made */
    const char *source;             /* what they were made from, for people */
    bool blind;                     /* made without the model: it may refuse their values */
    char serves[96];                /* "chosen, bundles/trial-7.gopt" of a manifest, else empty */
    char sha256[65];                /* of the model that it is or was made from; empty: unknown */
    char content[33];               /* hash of the bundle that serves for a manifest, else empty */
    gopt_arena arena;
    gopt_plan *own;      /* compiled here; NULL: opened through gopt.h */
    char path[PATH_MAX]; /* what is opened so */
    gopt_model *model;
    gopt_session *session;
} gopt_runner;

/* What a model is compiled with; manifests and bundles are as they are. */
typedef struct gopt_runner_options {
    const gopt_pick *pick; /* threads count for manifests and bundles, too */
    const gopt_shapes *shapes;
    const gopt_workplace *place;
    const char *model; /* what a bundle was made from, to make inputs; NULL: unknown */
    uint64_t seed;
} gopt_runner_options;

/* EUSAGE when something was given that says how to compile, and none of the paths is a model: what is compiled is
 * fixed.
 */
gopt_status gopt_runner_check(const gopt_pick *pick, const gopt_shapes *shapes, const char *const *path, int n,
                              gopt_err *e);
/* Opens path and makes up and binds inputs: from the model where it can be found, else from types and shapes alone. */
gopt_status gopt_runner_open_made(gopt_runner *r, const char *path, const gopt_runner_options *o, gopt_err *e);
/* Opens path for inputs that are given: n tensors, by name[i] of the model's inputs (NULL: by position). Binds them.
 * EUSAGE when one is missing or unknown. They must outlive the runner. */
gopt_status gopt_runner_open_for(gopt_runner *r, const char *path, const gopt_runner_options *o,
                                 const gopt_tensor *tensor, const char *const *name, int n, gopt_err *e);
/* ---- of one that was opened with made-up inputs ---- */
/* One run, that tells whether the inputs can be taken. */
gopt_status gopt_runner_try(gopt_runner *r, gopt_err *e);
/* Binds the inputs of another one, which must live as long; false, and nothing is changed, where they do not fit. */
bool gopt_runner_share(gopt_runner *r, const gopt_runner *from);
/* What was compiled here goes into a bundle at path and is opened from there, as what is deployed is. */
gopt_status gopt_runner_deploy(gopt_runner *r, const char *path, gopt_err *e);
/* Opens what is deployed anew: plan, engine and threads lie elsewhere then, the inputs do not. */
gopt_status gopt_runner_reopen(gopt_runner *r, gopt_err *e);
void gopt_runner_shut(gopt_runner *r); /* until it is opened anew */
/* Lanes to time: one runner as it is, or two that are deployed, opened anew whenever that is asked for. Borrows the
 * list. */
gopt_lane_source gopt_runner_lanes(gopt_runner *const *list, int n);
/* Whether both open bundles of one content: deployed, opened as bundles or through manifests. */
bool gopt_runner_same(const gopt_runner *x, const gopt_runner *y);
void gopt_runner_close(gopt_runner *r); /* also after a failed open */

#endif
