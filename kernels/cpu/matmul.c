#include "cpu/matmul.h"

#include "base/file.h"
#include "cpu/group.h"

typedef struct view {
    const gopt_operand *t;
    int rank; /* of the batch */
    int64_t dim[GOPT_RANK_MAX], stride[GOPT_RANK_MAX];
    int64_t rows, cols, row, col;
} view;

/* batch_first: axes are rows, batch, columns (FusedMatMul's transBatch). */
static void view_of(view *v, const gopt_operand *t, bool left, bool transposed, bool batch_first)
{
    int64_t stride[GOPT_RANK_MAX];
    gopt_dims_strides(t->dim, t->rank, stride);
    *v = (view){.t = t, .rows = 1, .cols = 1, .row = 0, .col = 0};
    if (t->rank == 1) {
        v->rows = left ? 1 : t->dim[0];
        v->cols = left ? t->dim[0] : 1;
        v->row = left ? t->dim[0] : 1;
        v->col = 1;
        return;
    }
    int first = batch_first && t->rank > 2;
    v->rank = t->rank - 2;
    for (int i = 0; i < v->rank; i++) {
        v->dim[i] = t->dim[i + first];
        v->stride[i] = stride[i + first];
    }
    int row = first ? 0 : t->rank - 2, col = t->rank - 1;
    v->rows = t->dim[transposed ? col : row];
    v->cols = t->dim[transposed ? row : col];
    v->row = stride[transposed ? col : row];
    v->col = stride[transposed ? row : col];
}

/* Strides of one side's batch axes over all; true when they are all 0. */
static bool align(const view *v, gopt_matmul *mm, int64_t *stride)
{
    bool single = true;
    for (int i = 0; i < mm->rank; i++) {
        int own = i - (mm->rank - v->rank);
        stride[i] = own < 0 || v->dim[own] == 1 ? 0 : v->stride[own];
        single &= stride[i] == 0 || mm->dim[i] == 1;
    }
    return single;
}

/* Products that share b and whose rows of a follow one another are one taller product. */
static void merge_rows(gopt_matmul *mm)
{
    int64_t step = mm->m * mm->a_row;
    if (!mm->b_single || mm->a_col != 1)
        return;
    for (int i = mm->rank - 1; i >= 0; step *= mm->dim[i], i--)
        if (mm->dim[i] != 1 && mm->a_batch[i] != step)
            return;
    mm->m *= mm->batch;
    mm->batch = 1;
    mm->rank = 0;
    mm->a_single = true;
}

static bool bind(const gopt_group *g, gopt_matmul *mm, bool ta, bool tb, bool first_a, bool first_b)
{
    view a, b;
    int64_t batch[GOPT_RANK_MAX];
    if (g->in[0].rank < 1 || g->in[1].rank < 1)
        return false;
    view_of(&a, &g->in[0], true, ta, first_a);
    view_of(&b, &g->in[1], false, tb, first_b);
    if (a.cols != b.rows || !gopt_dims_broadcast(a.dim, a.rank, b.dim, b.rank, batch, &mm->rank))
        return false;
    mm->m = a.rows;
    mm->n = b.cols;
    mm->k = a.cols;
    mm->a_row = a.row;
    mm->a_col = a.col;
    mm->b_row = b.row;
    mm->b_col = b.col;
    mm->batch = 1;
    for (int i = 0; i < mm->rank; i++)
        mm->batch *= mm->dim[i] = batch[i];
    mm->a_single = align(&a, mm, mm->a_batch);
    mm->b_single = align(&b, mm, mm->b_batch);
    return true;
}

static bool bind_gemm(const gopt_group *g, gopt_matmul *mm)
{
    if (!bind(g, mm, gopt_attr_int(g->attrs, "transA", 0), gopt_attr_int(g->attrs, "transB", 0), false, false))
        return false;
    mm->alpha = (float)gopt_attr_float(g->attrs, "alpha", 1);
    if (!gopt_group_has(g, 2))
        return true;
    const gopt_operand *c = &g->in[2];
    mm->beta = (float)gopt_attr_float(g->attrs, "beta", 1);
    if (c->rank > 2)
        return false;
    int64_t cols = c->rank > 0 ? c->dim[c->rank - 1] : 1, rows = c->rank > 1 ? c->dim[0] : 1;
    mm->c_col = cols == 1 ? 0 : 1;
    mm->c_row = rows == 1 ? 0 : cols;
    return (cols == 1 || cols == mm->n) && (rows == 1 || rows == mm->m);
}

static bool all_float(const gopt_group *g)
{
    for (int k = 0; k < g->n_anchor; k++)
        if (!gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    return g->n_anchor >= 2 && g->n_out == 1 && gopt_group_has(g, 0) && gopt_group_has(g, 1) &&
           g->out[0].dtype == GOPT_DTYPE_F32;
}

bool gopt_matmul_of(const gopt_group *g, gopt_matmul *mm)
{
    *mm = (gopt_matmul){.alpha = 1};
    if (!g->op || !all_float(g))
        return false;
    bool fused = gopt_group_is(g, "com.microsoft", "FusedMatMul");
    if (gopt_group_is(g, "", "Gemm"))
        return bind_gemm(g, mm);
    if (!fused && !gopt_group_is(g, "", "MatMul"))
        return false;
    bool ta = fused && gopt_attr_int(g->attrs, "transA", 0), tb = fused && gopt_attr_int(g->attrs, "transB", 0);
    bool first_a = fused && gopt_attr_int(g->attrs, "transBatchA", 0);
    bool first_b = fused && gopt_attr_int(g->attrs, "transBatchB", 0);
    if (!bind(g, mm, ta, tb, first_a, first_b))
        return false;
    mm->alpha = fused ? (float)gopt_attr_float(g->attrs, "alpha", 1) : 1;
    merge_rows(mm);
    return true;
}

bool gopt_matmul_plain(const gopt_group *g, gopt_matmul *mm)
{
    *mm = (gopt_matmul){.alpha = 1};
    if (!bind(g, mm, false, false, false, false))
        return false;
    merge_rows(mm);
    return true;
}

static int64_t offset(const gopt_matmul *mm, const int64_t *stride, int64_t i)
{
    int64_t at = 0;
    for (int d = mm->rank - 1; d >= 0; i /= mm->dim[d], d--)
        at += i % mm->dim[d] * stride[d];
    return at;
}

int64_t gopt_matmul_a(const gopt_matmul *mm, int64_t i)
{
    return offset(mm, mm->a_batch, i);
}

int64_t gopt_matmul_b(const gopt_matmul *mm, int64_t i)
{
    return offset(mm, mm->b_batch, i);
}

double gopt_matmul_flops(const gopt_matmul *mm)
{
    return 2.0 * (double)mm->batch * (double)mm->m * (double)mm->n * (double)mm->k;
}

void gopt_matmul_pack_rows(const gopt_simd *simd, const gopt_task *t, const float *a, int64_t m, int64_t k, float *dst)
{
    gopt_packing p = {.src = a, .n = m, .k = k, .step = k, .depth = 1, .unit = simd->mr, .scale = 1, .dst = dst};
    gopt_share(gopt_ceil_div(m, simd->mr), 1, t->part, t->parts, &p.first, &p.last);
    simd->pack(&p);
}

void gopt_matmul_pack(const gopt_simd *simd, gopt_packing p, bool spent)
{
    enum { BYTES_AT_ONCE = 8 << 20 };
    bool drops = spent && p.depth == 1;
    int64_t tiles = p.last, tile = p.unit * p.step;
    int64_t some = drops ? GOPT_MAX(1, BYTES_AT_ONCE / GOPT_MAX(1, tile * (int64_t)sizeof(float))) : tiles;
    for (p.first = 0; p.first < tiles; p.first = p.last) {
        p.last = GOPT_MIN(tiles, p.first + some);
        simd->pack(&p);
        if (drops)
            gopt_pages_drop(p.src + p.first * tile,
                            (size_t)((GOPT_MIN(p.n, p.last * p.unit) - p.first * p.unit) * p.step) * sizeof(float));
    }
}
