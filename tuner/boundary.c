/* boundary.c: the passes of a trial, the choice, at the borders of the shapes that the model takes: every symbolic size
 * at 1, and at one more than was tuned for, which divides by nothing that the other did. Kernels are precompiled ones:
 * those made for a shape are verified with it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "case.h"
#include "job.h"

typedef struct boundaries {
    gopt_job *job;
    gopt_graph *graph; /* not bound */
    gopt_config config;
    int trial;
    gopt_shapes tuned;
    int64_t end;
    int passed, refused, left_out;
    gopt_text shapes; /* of those that passed */
} boundaries;

/* "seq=1"; what differs is told as it is found. */
static gopt_status check(boundaries *b, int which, int64_t size, gopt_err *e)
{
    const gopt_job *j = b->job;
    gopt_shapes shapes = b->tuned;
    gopt_case_result result;
    gopt_err why = {0};
    double left = (double)(b->end - gopt_now()) / (double)GOPT_NS_PER_S;
    if (size == b->tuned.size[which])
        return GOPT_OK;
    if (left <= 0 || gopt_job_interrupted) {
        b->left_out++;
        return GOPT_OK;
    }
    shapes.size[which] = size;
    gopt_case c = {.graph = b->graph,
                   .config = &b->config,
                   .shapes = &shapes,
                   .cache_dir = j->bench.cache_dir,
                   .scratch_dir = j->scratch_dir,
                   .tolerance = j->options->tolerance,
                   .timeout_s = left,
                   .seed = (uint64_t)j->options->seed};
    gopt_case_run(&result, &c, &why);
    if (result.status == GOPT_EDIFF && !result.random)
        return gopt_fail(e, GOPT_EDIFF, "%s=%lld: %.300s", shapes.name[which], (long long)size, why.msg);
    if (result.status == GOPT_OK)
        gopt_text_add(&b->shapes, "%s%s=%lld", b->passed++ ? ", " : "", shapes.name[which], (long long)size);
    else if (result.status == GOPT_ELIMIT)
        b->left_out++;
    else
        b->refused++;
    return GOPT_OK;
}

static gopt_status check_all(boundaries *b, gopt_err *e)
{
    for (int i = 0; i < b->tuned.n; i++) {
        GOPT_TRY(check(b, i, 1, e));
        GOPT_TRY(check(b, i, b->tuned.size[i] + 1, e));
    }
    return GOPT_OK;
}

static void tell(const boundaries *b, gopt_text *out)
{
    gopt_text_add(out, "the passes of trial %d were also verified at other shapes: ", b->trial);
    gopt_text_put(out, b->passed ? gopt_text_str(&b->shapes) : "none");
    if (b->refused)
        gopt_text_add(out, "; %d other%s the model itself refuses", b->refused, b->refused == 1 ? "" : "s");
    if (b->left_out)
        gopt_text_add(out, "; for %d there was no time", b->left_out);
}

gopt_status gopt_job_check_boundaries(gopt_job *j, int trial, int64_t deadline, gopt_err *e)
{
    boundaries b = {.job = j, .end = deadline};
    gopt_err why = {0};
    if (!gopt_text_str(&j->shapes)[0])
        return GOPT_OK;
    gopt_progress_stage(j->progress, "other shapes");
    if (gopt_parse_shapes(&b.tuned, gopt_text_str(&j->shapes), NULL)) {
        gopt_text_put(&j->boundaries, "no other shapes were verified: a dimension's name is none for --shape");
        return j->boundaries.failed ? gopt_oom(e) : GOPT_OK;
    }
    GOPT_TRY(gopt_model_import(&b.graph, j->options->model, NULL, e));
    int64_t begin = gopt_now();
    b.trial = trial;
    b.config = j->study->trials[trial].config;
    gopt_config_switch_pass(&b.config, gopt_passes[gopt_pass_find("codegen")], false);
    if (check_all(&b, &why)) {
        gopt_text_add(&j->boundaries,
                      "the choice computes something else at another shape, %s: tell us, and do not use "
                      "it there",
                      why.msg);
        gopt_progress_note(j->progress, "%s", gopt_text_str(&j->boundaries));
    } else {
        tell(&b, &j->boundaries);
    }
    j->spent.verify += (double)(gopt_now() - begin) / 1e9;
    gopt_graph_free(b.graph);
    gopt_text_fini(&b.shapes);
    return j->boundaries.failed ? gopt_oom(e) : GOPT_OK;
}
