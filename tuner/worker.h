/* worker.h: a candidate in a process of its own. The worker is forked from the job, so it has the imported model and
 * the reference outputs in (shared) memory; it speaks one JSON object per line on a pipe, and dies with its parent.
 *
 *   {"do":"prepare","config":{...}}   compile, load, verify   -> a reply as in study.h
 *   {"do":"open","path":"m.yaml"}     load through the deployment path, verify -> the same reply
 *   {"do":"warm","ns":N}              run for at most N ns, until steady -> {"status":"ok","runs":R,"ns":MEDIAN}
 *   {"do":"sample","min_ns":N,"repeats":R,"warm":B}
 *                                     one sample, of at least R inferences and N ns; B: after one that does not count
 * ->
 * {"status":"ok","ns":PER_INFERENCE,"repeats":R,"cpu_s":S,"waited_s":S} cpu_s: what it used, waited_s: its threads
 * stood in line for a processor
 *   {"do":"trace","runs":R}           ->
 * {"status":"ok","total":NS,"steps":[{"name","op","kernel","origin":[..],"ns"}..]}
 *   {"do":"bundle","path":"f.gopt"}   -> {"status":"ok","hash":"..","bytes":N}
 *
 * Any failure is {"status":"..","why":".."}. */
#ifndef GOPT_WORKER_H
#define GOPT_WORKER_H

#include "graph.h"
#include "inputs.h"
#include "study.h"
#include "verify.h"

/* What every worker of a job shares; lives until the last one is gone. */
typedef struct gopt_bench {
    const gopt_graph *graph;             /* imported and bound; a worker compiles its own copy-on-write image of it */
    int n_cases;                         /* verification inputs */
    gopt_input_case kind[8];             /* by case: what its inputs are */
    const gopt_tensor *const *inputs[8]; /* by case: one tensor per graph input */
    const gopt_tensor *expected[8];      /* by case: outputs of the reference */
    double rel, abs;                     /* tolerance; below 0: by dtype */
    const gopt_slack *slack[8];          /* by case and output; NULL: none */
    gopt_target target;
    const char *cache_dir, *scratch_dir;
    int64_t import_ns, infer_ns; /* what every compilation would pay again */
    size_t memory_limit;         /* bytes of address space of a worker; 0: none */
} gopt_bench;

typedef struct gopt_worker gopt_worker;

/* Forks. EIO when the system cannot. */
gopt_status gopt_worker_start(gopt_worker **out, const gopt_bench *b, gopt_err *e);
/* Sends one line, waits for the answer until gopt_now() == deadline. *reply is owned by the worker, valid until the
 * next call. A worker that crashed, hung (it is killed) or ran out of memory gives OK and a reply with that status made
 * up here. EINTR when *interrupted becomes true: the answer is still to come and is fetched by the next call with
 * request == NULL. */
gopt_status gopt_worker_ask(gopt_worker *w, const char *request, int64_t deadline, const volatile int *interrupted,
                            const char **reply, gopt_err *e);
bool gopt_worker_alive(const gopt_worker *w);
void gopt_worker_stop(gopt_worker *w); /* kills it and all it started, frees; NULL is fine */

/* The child's side (serve.c): serves requests from `in` to `out` until end of file, then closes both. The first
 * "prepare" or "open" may take the bench's graph. */
void gopt_worker_serve(const gopt_bench *b, int in, int out);

#endif
