/* matmul_nbits: com.microsoft MatMulNBits: weights of 2, 4 or 8 bits in blocks of a row, made floats right before they
 * are multiplied. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/matmul.h"
#include "cpu/post.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
enum { DEPTH = 128, PANEL_MAX = 64 /* columns */ };

typedef struct spec {
    const gopt_simd *simd;
    gopt_post post;
    int64_t m, n, k, bits, block, blocks; /* blocks: of a row of weights */
    int64_t panels;
    bool zeros, float_zeros, bias;
} spec;

static bool shape_of(const gopt_group *g, spec *s)
{
    if (!gopt_group_is(g, "com.microsoft", "MatMulNBits") || gopt_group_has(g, GROUPS) || g->in[A].rank < 1)
        return false;
    s->n = gopt_attr_int(g->attrs, "N", 0);
    s->k = gopt_attr_int(g->attrs, "K", 0);
    s->bits = gopt_attr_int(g->attrs, "bits", 4);
    s->block = gopt_attr_int(g->attrs, "block_size", 0);
    bool sound = s->n > 0 && s->k > 0 && s->block > 0 && (s->bits == 2 || s->bits == 4 || s->bits == 8);
    if (!sound || g->in[A].dim[g->in[A].rank - 1] != s->k)
        return false;
    s->blocks = gopt_ceil_div(s->k, s->block);
    s->m = gopt_operand_count(&g->in[A]) / s->k;
    s->zeros = gopt_group_has(g, ZEROS);
    s->float_zeros = s->zeros && g->in[ZEROS].dtype == GOPT_DTYPE_F32;
    s->bias = gopt_group_has(g, BIAS);
    return true;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob, (void)t;
    if (!g->op || g->n_out != 1 || !shape_of(g, &s) || !gopt_post_fits(g, g->post))
        return false;
    bool zeros = !s.zeros || s.float_zeros || g->in[ZEROS].dtype == GOPT_DTYPE_U8;
    return zeros && g->in[A].dtype == GOPT_DTYPE_F32 && g->in[B].dtype == GOPT_DTYPE_U8 &&
           g->in[SCALES].dtype == GOPT_DTYPE_F32 && gopt_group_in_is(g, BIAS, GOPT_DTYPE_F32);
}

static double flops(const spec *s)
{
    return 2 * (double)s->m * (double)s->n * (double)s->k + 16 * (double)s->n * (double)s->k;
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob;
    shape_of(g, &s);
    return gopt_roofline(t, flops(&s), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    memset(s, 0, sizeof *s);
    shape_of(g, s);
    s->simd = gopt_simd_for(t->isa);
    s->panels = gopt_ceil_div(s->n, s->simd->nr);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    plan(&s, g, t);
    int64_t rows = gopt_ceil_div(s.m, s.simd->mr) * s.simd->mr;
    return (gopt_work){.parts = gopt_parts(t, flops(&s), gopt_group_bytes(g)),
                       .phases = 2,
                       .workspace = s.m == 1 ? 0 : (size_t)(rows * s.k) * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* Values [i, i + n) of packed bytes, low bits first. */
static void unpack(const uint8_t *bytes, int64_t bits, int64_t i, int64_t n, uint8_t *dst)
{
    int mask = (1 << bits) - 1;
    int64_t at = 0;
    if (bits == 4 && i % 2 == 0)
        for (const uint8_t *b = bytes + i / 2; at + 2 <= n; at += 2) {
            dst[at] = b[at / 2] & 15;
            dst[at + 1] = b[at / 2] >> 4;
        }
    for (; at < n; at++)
        dst[at] = (uint8_t)(bytes[(i + at) * bits / 8] >> ((i + at) * bits % 8) & mask);
}

static float zero_point(const spec *s, const gopt_task *t, int64_t row, int64_t block)
{
    uint8_t v;
    if (!s->zeros)
        return (float)(1 << (s->bits - 1));
    if (s->float_zeros)
        return ((const float *)t->in[ZEROS])[row * s->blocks + block];
    unpack((const uint8_t *)t->in[ZEROS] + row * gopt_ceil_div(s->blocks * s->bits, 8), s->bits, block, 1, &v);
    return v;
}

/* Weights [p, p + n), n <= DEPTH, of a row as floats. */
static void read_weights(const spec *s, const gopt_task *t, int64_t row, int64_t p, int64_t n, float *w)
{
    uint8_t q[DEPTH];
    unpack((const uint8_t *)t->in[B] + row * (s->blocks * s->block * s->bits / 8), s->bits, p, n, q);
    s->simd->from_integers(GOPT_DTYPE_U8, q, w, n);
    for (int64_t at = 0; at < n;) {
        int64_t block = (p + at) / s->block, length = GOPT_MIN(n - at, (block + 1) * s->block - p - at);
        float scale = ((const float *)t->in[SCALES])[row * s->blocks + block];
        s->simd->affine(w + at, w + at, length, zero_point(s, t, row, block), scale, 0);
        at += length;
    }
}

static void finish(const spec *s, const gopt_task *t, int64_t row, int64_t j, int64_t n)
{
    float *out = (float *)t->out[0] + row * s->n + j;
    if (s->bias)
        s->simd->add(out, out, (const float *)t->in[BIAS] + j, n);
    gopt_post_run(&s->post, t->in, out, out, row * s->n + j, n);
}

/* Columns [j, j + n) of the only row. */
static void run_row(const spec *s, const gopt_task *t, int64_t j, int64_t n)
{
    _Alignas(64) float w[DEPTH];
    for (int64_t c = 0; c < n; c++) {
        float sum = 0;
        for (int64_t p = 0; p < s->k; p += DEPTH) {
            int64_t length = GOPT_MIN(DEPTH, s->k - p);
            read_weights(s, t, j + c, p, length, w);
            sum += s->simd->dot(length, (const float *)t->in[A] + p, w);
        }
        ((float *)t->out[0])[j + c] = sum;
    }
    finish(s, t, 0, j, n);
}

static void run_panel(const spec *s, const gopt_task *t, int64_t j, int64_t n)
{
    _Alignas(64) float room[DEPTH * PANEL_MAX], rows[PANEL_MAX * DEPTH];
    int unit = s->simd->nr;
    gopt_gemm g = {.m = s->m, .n = n, .a_tile = s->k * s->simd->mr, .b = room, .b_panel = (int64_t)DEPTH * unit};
    g.b_row = unit;
    g.c = (float *)t->out[0] + j;
    g.c_row = s->n;
    memset(rows, 0, sizeof rows);
    for (int64_t p = 0; p < s->k; p += DEPTH) {
        g.k = GOPT_MIN(DEPTH, s->k - p);
        for (int64_t c = 0; c < n; c++)
            read_weights(s, t, j + c, p, g.k, rows + c * DEPTH);
        s->simd->transpose(room, unit, rows, DEPTH, g.k, unit);
        g.a = (const float *)t->workspace + p * s->simd->mr;
        g.accumulate = p > 0;
        s->simd->gemm(&g);
    }
    for (int64_t i = 0; i < s->m; i++)
        finish(s, t, i, j, n);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    if (t->phase == 0) {
        if (s->m != 1)
            gopt_matmul_pack_rows(s->simd, t, t->in[A], s->m, s->k, t->workspace);
        return;
    }
    gopt_share(s->panels, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t j = lo * s->simd->nr, n = GOPT_MIN(s->simd->nr, s->n - j);
        (s->m == 1 ? run_row : run_panel)(s, t, j, n);
    }
}

const gopt_kernel gopt_kernel_matmul_nbits = {
    .name = "matmul_nbits",
    .doc = "products with weights of 2, 4 or 8 bits in blocks",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
