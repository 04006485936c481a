/* gemm.c: the product of packed matrices: tiles of C held in registers over the whole depth. */
#include "cpu/simd/parts.h"

typedef struct tile {
    const float *a, *b;
    float *c;
    int64_t k, b_row, c_row;
    const int64_t *b_offset;
    int spare; /* columns of the last vector that are not there */
    bool accumulate;
} tile;

static inline __attribute__((always_inline)) void store(const tile *t, float *c, vf v)
{
    v_store(c, t->accumulate ? v_load(c) + v : v);
}

static __attribute__((noinline)) void store_part(const tile *t, int rows, int column, const float *part)
{
    int n = GOPT_VW - t->spare;
    for (int i = 0; i < rows; i++, part += GOPT_VW) {
        float *c = t->c + i * t->c_row + column;
        for (int j = 0; j < n; j++)
            c[j] = t->accumulate ? c[j] + part[j] : part[j];
    }
}

/* Keeps a vector in its register: gcc would fold the load into every product. */
static inline __attribute__((always_inline)) void pin(vf *v)
{
#if defined(__x86_64__)
    __asm__("" : "+v"(*v));
#elif defined(__aarch64__)
    __asm__("" : "+w"(*v));
#else
    (void)v;
#endif
}

static inline __attribute__((always_inline)) void compute(const tile *t, const int rows, const int nv,
                                                          const bool offsets)
{
    vf acc[GOPT_MR][GOPT_NV];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < nv; j++) acc[i][j] = (vf){0};
    const float *a = t->a, *row = t->b;
    for (int64_t p = 0; p < t->k; p++) {
        const float *b = offsets ? t->b + t->b_offset[p] : row;
        vf bv[GOPT_NV];
        UNROLL for (int j = 0; j < nv; j++)
        {
            bv[j] = v_load(b + j * GOPT_VW);
            pin(&bv[j]);
        }
        UNROLL for (int i = 0; i < rows; i++)
        {
            vf av = v_splat(a[i]);
            UNROLL for (int j = 0; j < nv; j++) acc[i][j] += av * bv[j];
        }
        a += GOPT_MR;
        row += t->b_row;
    }
    int whole = t->spare ? nv - 1 : nv;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < nv; j++) if (j < whole)
        store(t, t->c + i * t->c_row + j * GOPT_VW, acc[i][j]);
    if (t->spare) {
        float part[GOPT_MR * GOPT_VW];
        UNROLL for (int i = 0; i < rows; i++) v_store(part + i * GOPT_VW, acc[i][nv - 1]);
        store_part(t, rows, (nv - 1) * GOPT_VW, part);
    }
}

/* One function per number of rows and kind: gcc gives up allocating registers well in one that holds them all. */
#define ROWS(n)                                                                                                        \
    static __attribute__((noinline)) void rows##n(const tile *t, int nv)                                               \
    {                                                                                                                  \
        nv == 1 ? compute(t, n, 1, false) : nv == 2 ? compute(t, n, 2, false) : compute(t, n, GOPT_NV, false);         \
    }                                                                                                                  \
    static __attribute__((noinline)) void offset##n(const tile *t, int nv)                                             \
    {                                                                                                                  \
        nv == 1 ? compute(t, n, 1, true) : nv == 2 ? compute(t, n, 2, true) : compute(t, n, GOPT_NV, true);            \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
#if GOPT_MR == 8
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
#endif
#undef ROWS

static void (*const by_rows[][2])(const tile *, int) = {
    {rows1, offset1}, {rows2, offset2}, {rows3, offset3}, {rows4, offset4},
#if GOPT_MR == 8
    {rows5, offset5}, {rows6, offset6}, {rows7, offset7}, {rows8, offset8},
#endif
};

/* A panel of b stays in the first cache while the tiles of a pass by. */
void GOPT_LEVEL(gopt_gemm)(const gopt_gemm *g)
{
    for (int64_t j = 0, panel = 0; j < g->n; j += GOPT_NR, panel++) {
        int64_t cols = g->n - j < GOPT_NR ? g->n - j : GOPT_NR;
        int nv = (int)((cols + GOPT_VW - 1) / GOPT_VW);
        tile t = {.b = g->b + panel * g->b_panel, .k = g->k, .b_row = g->b_row, .c_row = g->c_row};
        t.b_offset = g->b_offset;
        t.spare = (int)(nv * GOPT_VW - cols);
        t.accumulate = g->accumulate;
        for (int64_t i = 0, n = 0; i < g->m; i += GOPT_MR, n++) {
            t.a = g->a + n * g->a_tile;
            t.c = g->c + i * g->c_row + j;
            int64_t rows = g->m - i < GOPT_MR ? g->m - i : GOPT_MR;
            by_rows[rows - 1][g->b_offset ? 1 : 0](&t, nv);
        }
    }
}
