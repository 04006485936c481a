#include "cpu/move.h"

#include <string.h>

int gopt_element_bytes(gopt_dtype d)
{
    int bits = gopt_dtype_bits(d);
    return bits < 8 ? 0 : bits / 8;
}

void gopt_move_merge(gopt_move *m)
{
    int n = 0;
    for (int d = 0; d < m->rank; d++) {
        if (m->dim[d] == 1)
            continue;
        if (n > 0 && m->stride[n - 1] == m->stride[d] * m->dim[d]) {
            m->dim[n - 1] *= m->dim[d];
            m->stride[n - 1] = m->stride[d];
            continue;
        }
        m->dim[n] = m->dim[d];
        m->stride[n++] = m->stride[d];
    }
    if (n == 0) {
        m->dim[n] = 1;
        m->stride[n++] = 1;
    }
    m->rank = n;
}

typedef struct wide {
    uint64_t half[2];
} wide;

/* n elements that lie `stride` apart; strides in elements. */
static void copy_strided(void *dst, const void *src, int64_t stride, int64_t n, int bytes)
{
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i * stride];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)dst)[i] = ((const uint16_t *)src)[i * stride];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)dst)[i] = ((const uint32_t *)src)[i * stride];
        break;
    case 8:
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)dst)[i] = ((const uint64_t *)src)[i * stride];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            ((wide *)dst)[i] = ((const wide *)src)[i * stride];
        break;
    }
}

static void copy_run(void *dst, const unsigned char *src, int64_t stride, int64_t n, int bytes)
{
    if (stride == 1)
        memcpy(dst, src, (size_t)(n * bytes));
    else
        copy_strided(dst, src, stride, n, bytes);
}

/* Rows [0, rows) of `cols` elements, where a row's elements lie apart but rows follow one another: by squares, so that
 * every cache line is used whole while it is there. */
static void copy_crossed(const gopt_move *m, unsigned char *dst, const unsigned char *src, int64_t rows, int64_t cols)
{
    enum { SIDE = 16 };
    int64_t col = m->stride[m->rank - 1];
    if (m->bytes == 4 && rows >= 4) { /* whatever they are, they are moved as floats */
        m->simd->transpose((float *)(void *)dst, cols, (const float *)(const void *)src, col, rows, cols);
        return;
    }
    for (int64_t j = 0; j < cols; j += SIDE)
        for (int64_t i = 0; i < rows; i++)
            copy_strided(dst + (i * cols + j) * m->bytes, src + (i + j * col) * m->bytes, col, GOPT_MIN(SIDE, cols - j),
                         m->bytes);
}

void gopt_move_run(const gopt_move *m, const void *src, void *dst, int64_t lo, int64_t hi)
{
    int last = m->rank - 1;
    int64_t cols = m->dim[last], row = lo / cols, col = lo % cols;
    bool crossed = m->rank > 1 && m->stride[last - 1] == 1 && m->stride[last] != 1;
    unsigned char *d = dst;
    while (lo < hi) {
        int64_t at = m->at + col * m->stride[last], rest = row;
        for (int k = last - 1; k >= 0; rest /= m->dim[k], k--)
            at += rest % m->dim[k] * m->stride[k];
        const unsigned char *s = (const unsigned char *)src + at * m->bytes;
        int64_t rows = crossed && col == 0 ? GOPT_MIN((hi - lo) / cols, m->dim[last - 1] - row % m->dim[last - 1]) : 0;
        rows = GOPT_MIN(rows, m->bytes == 4 ? 64 : 64 / m->bytes);
        int64_t n = rows > 1 ? rows * cols : GOPT_MIN(cols - col, hi - lo);
        if (rows > 1)
            copy_crossed(m, d, s, rows, cols);
        else
            copy_run(d, s, m->stride[last], n, m->bytes);
        d += n * m->bytes;
        lo += n;
        row += rows > 1 ? rows : 1;
        col = 0;
    }
}

bool gopt_producer_fits(const gopt_group *g, int like)
{
    gopt_dtype d = g->in[like].dtype;
    if (g->n_out != 1 || like >= g->n_anchor || gopt_element_bytes(d) == 0 || g->out[0].dtype != d)
        return false;
    return !g->post || (d == GOPT_DTYPE_F32 && gopt_post_fits(g, g->post));
}

static double bytes_moved(const gopt_group *g)
{
    return 2.0 * (double)gopt_dtype_bytes(g->out[0].dtype, gopt_operand_count(&g->out[0]));
}

double gopt_producer_cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    double flops = 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
    return gopt_roofline(t, flops, bytes_moved(g));
}

gopt_work gopt_producer_work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    double flops = 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
    return (gopt_work){.parts = gopt_parts(t, flops, bytes_moved(g)), .phases = 1};
}

void gopt_producer_prepare(gopt_producer *p, const gopt_group *g, const gopt_target *t)
{
    p->count = gopt_operand_count(&g->out[0]);
    p->bytes = gopt_element_bytes(g->out[0].dtype);
    p->chunk = g->post ? 4096 : INT64_MAX;
    gopt_post_prepare(&p->post, g, g->post, gopt_simd_for(t->isa));
}

void gopt_producer_run(const gopt_producer *p, const gopt_task *t, gopt_produce *produce)
{
    int64_t lo, hi;
    gopt_share(p->count, 1024, t->part, t->parts, &lo, &hi);
    while (lo < hi) {
        int64_t n = GOPT_MIN(p->chunk, hi - lo);
        unsigned char *dst = (unsigned char *)t->out[0] + lo * p->bytes;
        produce(t, dst, lo, lo + n);
        if (p->post.active)
            gopt_post_run(&p->post, t->in, (float *)(void *)dst, (float *)(void *)dst, lo, n);
        lo += n;
    }
}
