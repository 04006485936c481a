/* non_max_suppression.c: NonMaxSuppression: for every class, boxes by falling score, unless they overlap a chosen one.
 */
#include <math.h>
#include <stdlib.h>

#include "ref/operand.h"

enum { BOXES, SCORES, MAX_BOXES, IOU, THRESHOLD };

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"boxes", "scores", "max_output_boxes_per_class", "iou_threshold",
                                        "score_threshold"};
    for (int i = BOXES; i <= THRESHOLD; i++)
        GOPT_TRY(gopt_ref_type(x, i, i == MAX_BOXES ? GOPT_REF_INDEX : GOPT_REF_FLOAT, names[i], e));
    GOPT_TRY(gopt_ref_rank(x, BOXES, 3, 3, "boxes", e));
    GOPT_TRY(gopt_ref_rank(x, SCORES, 3, 3, "scores", e));
    for (int i = MAX_BOXES; i <= THRESHOLD; i++)
        GOPT_TRY(gopt_ref_scalar(x, i, names[i], e));
    gopt_infer_set(x, 0, GOPT_DTYPE_I64, 2, (gopt_dim[]){GOPT_DIM_UNKNOWN, gopt_dim_of(3)});
    if (!gopt_ref_ranked(x, BOXES) || !gopt_ref_ranked(x, SCORES))
        return GOPT_OK;
    const gopt_dim *b = x->in[BOXES].dim, *s = x->in[SCORES].dim;
    GOPT_TRY(gopt_ref_equal(b[2], gopt_dim_of(4), "coordinates of a box", e));
    GOPT_TRY(gopt_ref_equal(b[0], s[0], "batch sizes of boxes and scores", e));
    return gopt_ref_equal(b[1], s[2], "numbers of boxes and scores", e);
}

typedef struct box {
    double y0, x0, y1, x1;
} box;

static box box_at(const double *v, bool centered)
{
    if (centered) /* x, y, width, height */
        return (box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return (box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3])};
}

static double overlap(box a, box b)
{
    double h = fmin(a.y1, b.y1) - fmax(a.y0, b.y0), w = fmin(a.x1, b.x1) - fmax(a.x0, b.x0);
    if (h <= 0 || w <= 0)
        return 0;
    double shared = h * w, sum = (a.y1 - a.y0) * (a.x1 - a.x0) + (b.y1 - b.y0) * (b.x1 - b.x0) - shared;
    return sum > 0 ? shared / sum : 0;
}

typedef struct candidate {
    double score;
    int64_t index;
} candidate;

static int compare(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->score != q->score)
        return p->score > q->score ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

typedef struct job {
    const double *boxes, *scores; /* of one batch, of one class */
    int64_t n, most;
    double iou, threshold;
    bool bounded; /* by the threshold */
    bool centered;
    candidate *candidates;
} job;

/* Boxes with their scores, best first; NaN is no score. */
static int64_t rank_boxes(const job *j)
{
    int64_t n = 0;
    for (int64_t i = 0; i < j->n; i++)
        if (!isnan(j->scores[i]) && (!j->bounded || j->scores[i] > j->threshold))
            j->candidates[n++] = (candidate){j->scores[i], i};
    qsort(j->candidates, (size_t)n, sizeof *j->candidates, compare);
    return n;
}

static bool overlaps(const job *j, box b, const int64_t *picked, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (overlap(b, box_at(j->boxes + 4 * picked[3 * k + 2], j->centered)) > j->iou)
            return true;
    return false;
}

/* Writes (batch, class, box) of every chosen box to `picked`, which has room for all. */
static gopt_status choose(const gopt_exec *x, const job *j, int64_t batch, int64_t class, int64_t *picked,
                          int64_t *count, gopt_err *e)
{
    int64_t n = rank_boxes(j);
    *count = 0;
    for (int64_t i = 0; i < n && *count < j->most; i++) {
        if ((i & 255) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
        if (overlaps(j, box_at(j->boxes + 4 * j->candidates[i].index, j->centered), picked, *count))
            continue;
        picked[3 * *count] = batch;
        picked[3 * *count + 1] = class;
        picked[3 * (*count)++ + 2] = j->candidates[i].index;
    }
    return GOPT_OK;
}

static gopt_status check(gopt_exec *x, gopt_err *e)
{
    if (!gopt_ref_in(x, BOXES) || !gopt_ref_in(x, SCORES))
        return gopt_fail(e, GOPT_EINPUT, "boxes and scores are required");
    if (!gopt_ref_out(x, 0))
        return gopt_fail(e, GOPT_EUSAGE, "nothing to compute: the output is not wanted");
    gopt_tensor *out = x->out[0];
    x->out[0] = NULL; /* its shape is not known before the work is done */
    gopt_status s = gopt_ref_begin_with(x, 0, e);
    x->out[0] = out;
    return s;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *boxes, *scores;
    GOPT_TRY(check(x, e));
    const int64_t *dim = x->in[SCORES]->dim;
    job j = {.n = dim[2],
             .iou = gopt_ref_number(x, IOU, 0),
             .threshold = gopt_ref_number(x, THRESHOLD, 0),
             .bounded = gopt_ref_in(x, THRESHOLD) != NULL,
             .centered = gopt_attr_int(x->attrs, "center_point_box", 0) != 0,
             .candidates = GOPT_NEW(x->scratch, candidate, dim[2])};
    const gopt_tensor *most = gopt_ref_in(x, MAX_BOXES);
    j.most = most && gopt_tensor_count(most) ? GOPT_MIN(GOPT_MAX(gopt_tensor_get_int(most, 0), 0), j.n) : 0;
    GOPT_TRY(gopt_ref_load(x, BOXES, &boxes, e));
    GOPT_TRY(gopt_ref_load(x, SCORES, &scores, e));
    int64_t count = 0, chosen, *picked = GOPT_NEW(x->scratch, int64_t, 3 * dim[0] * dim[1] * j.most);
    if (!picked || !j.candidates)
        return gopt_oom(e);
    for (int64_t i = 0; i < dim[0] * dim[1]; i++) {
        j.boxes = boxes + i / dim[1] * j.n * 4;
        j.scores = scores + i * j.n;
        GOPT_TRY(choose(x, &j, i / dim[1], i % dim[1], picked + 3 * count, &chosen, e));
        count += chosen;
    }
    GOPT_TRY(gopt_exec_out(x, 0, GOPT_DTYPE_I64, 2, (int64_t[]){count, 3}, e));
    for (int64_t i = 0; i < 3 * count; i++)
        gopt_tensor_set_int(x->out[0], i, picked[i]);
    return GOPT_OK;
}

const gopt_op gopt_op_NonMaxSuppression = {.name = "NonMaxSuppression",
                                           .domain = "",
                                           .in_min = 2,
                                           .in_max = 5,
                                           .out_min = 1,
                                           .out_max = 1,
                                           .infer = infer,
                                           .run = run};
