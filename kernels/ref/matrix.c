/* matrix.c: batched matrix products. Operands are converted to double panel by panel, so that large weights need no
 * second copy. */
#include "ref/matrix.h"

#include <string.h>

#include "ref/multiply.h"

enum { PANEL_M = 64, PANEL_N = 512, PANEL_K = 128 };

/* perm[i] is the tensor's axis that the view has in place i. */
static void view_axes(gopt_matrix_view v, int rank, int *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (v.batch_first && rank > 2) {
        for (int i = 0; i < rank - 2; i++)
            perm[i] = i + 1;
        perm[rank - 2] = 0;
    }
    if (v.transposed && rank > 1) {
        int last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
}

/* The operand as a batch of matrices: batch axes in `batch`, its rows and columns. */
static void view_fact(const gopt_fact *f, gopt_matrix_view v, bool left, gopt_fact *batch, gopt_dim *rows,
                      gopt_dim *cols)
{
    int perm[GOPT_RANK_MAX];
    *batch = (gopt_fact){.dtype = f->dtype};
    if (f->rank == 1) {
        *rows = left ? gopt_dim_of(1) : f->dim[0];
        *cols = left ? f->dim[0] : gopt_dim_of(1);
        return;
    }
    view_axes(v, f->rank, perm);
    batch->rank = f->rank - 2;
    for (int i = 0; i < batch->rank; i++)
        batch->dim[i] = f->dim[perm[i]];
    *rows = f->dim[perm[f->rank - 2]];
    *cols = f->dim[perm[f->rank - 1]];
}

gopt_status gopt_matmul_infer(gopt_infer *x, gopt_matrix_view a, gopt_matrix_view b, gopt_dtype out, gopt_err *e)
{
    GOPT_TRY(gopt_ref_rank(x, a.input, 1, GOPT_RANK_MAX, "A", e));
    GOPT_TRY(gopt_ref_rank(x, b.input, 1, GOPT_RANK_MAX, "B", e));
    gopt_ref_infer_type(x, 0, out);
    if (!gopt_ref_ranked(x, a.input) || !gopt_ref_ranked(x, b.input))
        return GOPT_OK;
    const gopt_fact *fa = &x->in[a.input], *fb = &x->in[b.input];
    gopt_fact batch_a, batch_b, batch = {.rank = -1};
    gopt_dim m, n, k, inner;
    view_fact(fa, a, true, &batch_a, &m, &k);
    view_fact(fb, b, false, &batch_b, &inner, &n);
    GOPT_TRY(gopt_ref_equal(k, inner, "inner dimensions of A and B", e));
    gopt_status s = gopt_infer_broadcast(x, &batch_a, &batch_b, &batch, e);
    if (s)
        return gopt_within(e, s, "batch axes of A and B");
    int rank = batch.rank;
    if (fa->rank > 1)
        batch.dim[rank++] = m;
    if (fb->rank > 1)
        batch.dim[rank++] = n;
    gopt_infer_set(x, 0, out, rank, batch.dim);
    return GOPT_OK;
}

/* Batch axes of the operand (dim, stride), its rows and columns. */
static int view_tensor(const gopt_tensor *t, gopt_matrix_view v, bool left, gopt_matrix *m, int64_t *dim,
                       int64_t *stride, int64_t *rows, int64_t *cols)
{
    int perm[GOPT_RANK_MAX];
    int64_t dense[GOPT_RANK_MAX];
    m->t = t;
    if (t->rank == 1) {
        *rows = left ? 1 : t->dim[0];
        *cols = left ? t->dim[0] : 1;
        m->row = *cols;
        m->col = 1;
        return 0;
    }
    view_axes(v, t->rank, perm);
    gopt_dims_strides(t->dim, t->rank, dense);
    for (int i = 0; i < t->rank - 2; i++) {
        dim[i] = t->dim[perm[i]];
        stride[i] = dense[perm[i]];
    }
    *rows = t->dim[perm[t->rank - 2]];
    *cols = t->dim[perm[t->rank - 1]];
    m->row = dense[perm[t->rank - 2]];
    m->col = dense[perm[t->rank - 1]];
    return t->rank - 2;
}

static void align(const int64_t *dim, const int64_t *stride, int rank, const gopt_matmul *mm, int64_t *out)
{
    memset(out, 0, (size_t)mm->rank * sizeof *out);
    for (int i = 0; i < rank; i++)
        if (dim[i] != 1)
            out[mm->rank - rank + i] = stride[i];
}

void gopt_matmul_bind(const gopt_exec *x, gopt_matrix_view a, gopt_matrix_view b, gopt_matmul *mm)
{
    int64_t dim_a[GOPT_RANK_MAX], dim_b[GOPT_RANK_MAX], stride_a[GOPT_RANK_MAX], stride_b[GOPT_RANK_MAX], inner;
    *mm = (gopt_matmul){0};
    int ra = view_tensor(x->in[a.input], a, true, &mm->a, dim_a, stride_a, &mm->m, &mm->k);
    int rb = view_tensor(x->in[b.input], b, false, &mm->b, dim_b, stride_b, &inner, &mm->n);
    gopt_dims_broadcast(dim_a, ra, dim_b, rb, mm->dim, &mm->rank);
    align(dim_a, stride_a, ra, mm, mm->a.batch);
    align(dim_b, stride_b, rb, mm, mm->b.batch);
}

gopt_status gopt_matmul_infer_quant(gopt_infer *x, gopt_matrix_view v, bool left, int q, const char *name, gopt_err *e)
{
    if (!gopt_ref_ranked(x, q) || !gopt_ref_ranked(x, v.input))
        return GOPT_OK;
    const gopt_fact *f = &x->in[v.input], *quant = &x->in[q];
    int kept = left ? f->rank - 2 : f->rank - 1; /* the axis with values of its own */
    if (quant->rank <= 1) {
        gopt_dim n = quant->rank == 1 ? quant->dim[0] : gopt_dim_of(1);
        if (gopt_dim_is_const(n) && n.k == 1)
            return GOPT_OK;
        gopt_status s = gopt_ref_equal(n, kept < 0 ? gopt_dim_of(1) : f->dim[kept], "length", e);
        return s ? gopt_within(e, s, "input %s", name) : GOPT_OK;
    }
    if (quant->rank != f->rank)
        return gopt_fail(e, GOPT_EINPUT, "input %s: rank %d, 0, 1 or %d expected", name, quant->rank, f->rank);
    for (int d = 0; d < f->rank; d++) {
        bool inner = d == (left ? f->rank - 1 : f->rank - 2);
        gopt_dim n = quant->dim[d];
        if (gopt_dim_is_const(n) && n.k == 1)
            continue;
        gopt_status s = gopt_ref_equal(n, inner ? gopt_dim_of(1) : f->dim[d], "shape", e);
        if (s)
            return gopt_within(e, s, "input %s", name);
    }
    return GOPT_OK;
}

gopt_status gopt_matmul_bind_quant(gopt_exec *x, const gopt_matmul *mm, bool left, int q, gopt_matrix_quant *out,
                                   gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, q);
    double *v;
    GOPT_TRY(gopt_ref_load(x, q, &v, e));
    *out = (gopt_matrix_quant){.v = v};
    if (!t || gopt_tensor_count(t) == 1)
        return GOPT_OK;
    int64_t dense[GOPT_RANK_MAX];
    gopt_dims_strides(t->dim, t->rank, dense);
    if (t->rank == 1) {
        *(left ? &out->row : &out->col) = 1;
        return GOPT_OK;
    }
    out->row = t->dim[t->rank - 2] == 1 ? 0 : dense[t->rank - 2];
    out->col = t->dim[t->rank - 1] == 1 ? 0 : dense[t->rank - 1];
    align(t->dim, dense, t->rank - 2, mm, out->batch);
    return GOPT_OK;
}

double gopt_matrix_quant_at(const gopt_matrix_quant *q, const int64_t *index, int rank, int64_t row, int64_t col)
{
    int64_t at = row * q->row + col * q->col;
    for (int i = 0; i < rank; i++)
        at += index[i] * q->batch[i];
    return q->v[at];
}

/* ---- running ---- */

/* One matrix of the batch. */
typedef struct slice {
    const gopt_matrix *m;
    int64_t first, zero_first;
} slice;

static slice slice_at(const gopt_matrix *m, const int64_t *index, int rank)
{
    slice s = {.m = m};
    for (int i = 0; i < rank; i++) {
        s.first += index[i] * m->batch[i];
        s.zero_first += index[i] * m->zero.batch[i];
    }
    return s;
}

/* dst[rows x cols] = elements from (r, c) on; tmp holds a column. */
static void fetch(const slice *s, int64_t r, int64_t rows, int64_t c, int64_t cols, double *dst, double *tmp)
{
    const gopt_matrix *m = s->m;
    int64_t at = s->first + r * m->row + c * m->col;
    if (m->col == 1)
        for (int64_t i = 0; i < rows; i++)
            gopt_dtype_load(m->t->dtype, m->t->data, at + i * m->row, cols, dst + i * cols);
    else if (m->row == 1)
        for (int64_t j = 0; j < cols; j++) {
            gopt_dtype_load(m->t->dtype, m->t->data, at + j * m->col, rows, tmp);
            for (int64_t i = 0; i < rows; i++)
                dst[i * cols + j] = tmp[i];
        }
    else
        for (int64_t i = 0; i < rows * cols; i++)
            dst[i] = gopt_tensor_get(m->t, at + i / cols * m->row + i % cols * m->col);
    if (!m->zero.v)
        return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            dst[i * cols + j] -= m->zero.v[s->zero_first + (r + i) * m->zero.row + (c + j) * m->zero.col];
}

typedef struct work {
    double *a, *b, *tmp;
} work;

static gopt_status multiply(gopt_exec *x, const gopt_matmul *mm, const slice *a, const slice *b, const work *w,
                            double *y, gopt_err *e)
{
    for (int64_t n = 0; n < mm->n; n += PANEL_N)
        for (int64_t k = 0; k < mm->k; k += PANEL_K) {
            int64_t nn = GOPT_MIN(PANEL_N, mm->n - n), kk = GOPT_MIN(PANEL_K, mm->k - k);
            fetch(b, k, kk, n, nn, w->b, w->tmp);
            for (int64_t m = 0; m < mm->m; m += PANEL_M) {
                int64_t rows = GOPT_MIN(PANEL_M, mm->m - m);
                fetch(a, m, rows, k, kk, w->a, w->tmp);
                gopt_ref_multiply(rows, nn, kk, w->a, kk, w->b, nn, y + m * mm->n + n, mm->n);
                GOPT_TRY(gopt_ref_tick(x, e));
            }
        }
    return GOPT_OK;
}

gopt_status gopt_matmul_run(gopt_exec *x, const gopt_matmul *mm, double *y, gopt_err *e)
{
    work w;
    GOPT_TRY(gopt_ref_buffer(x, PANEL_M * PANEL_K, &w.a, e));
    GOPT_TRY(gopt_ref_buffer(x, PANEL_K * PANEL_N, &w.b, e));
    GOPT_TRY(gopt_ref_buffer(x, PANEL_K, &w.tmp, e));
    int64_t index[GOPT_RANK_MAX] = {0};
    memset(y, 0, (size_t)(gopt_ref_count(mm->dim, mm->rank) * mm->m * mm->n) * sizeof *y);
    if (gopt_ref_count(mm->dim, mm->rank) == 0)
        return GOPT_OK;
    do {
        slice a = slice_at(&mm->a, index, mm->rank), b = slice_at(&mm->b, index, mm->rank);
        GOPT_TRY(multiply(x, mm, &a, &b, &w, y, e));
        y += mm->m * mm->n;
    } while (gopt_ref_next(index, mm->dim, mm->rank));
    return GOPT_OK;
}

static uint64_t dot_int(const gopt_matmul *mm, const slice *a, const slice *b, int64_t i, int64_t j)
{
    uint64_t sum = 0;
    for (int64_t p = 0; p < mm->k; p++)
        sum += (uint64_t)gopt_tensor_get_int(a->m->t, a->first + i * a->m->row + p * a->m->col) *
               (uint64_t)gopt_tensor_get_int(b->m->t, b->first + p * b->m->row + j * b->m->col);
    return sum;
}

gopt_status gopt_matmul_run_int(gopt_exec *x, const gopt_matmul *mm, uint64_t *y, gopt_err *e)
{
    int64_t index[GOPT_RANK_MAX] = {0};
    if (gopt_ref_count(mm->dim, mm->rank) == 0)
        return GOPT_OK;
    do {
        slice a = slice_at(&mm->a, index, mm->rank), b = slice_at(&mm->b, index, mm->rank);
        for (int64_t i = 0; i < mm->m; i++, y += mm->n) {
            for (int64_t j = 0; j < mm->n; j++)
                y[j] = dot_int(mm, &a, &b, i, j);
            GOPT_TRY(gopt_ref_tick(x, e));
        }
    } while (gopt_ref_next(index, mm->dim, mm->rank));
    return GOPT_OK;
}
