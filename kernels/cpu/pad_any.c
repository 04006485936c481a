/* pad_any: a tensor with elements added at, or taken from, the ends of its axes (Pad), in all its modes. */
#include <string.h>

#include "cpu/move.h"

typedef enum mode { CONSTANT, REFLECT, EDGE, WRAP, MODES } mode;

static const char *const mode_names[] = {"constant", "reflect", "edge", "wrap"};

typedef struct spec {
    gopt_producer producer;
    mode mode;
    int rank, given; /* axes of the data; of them in `axes` */
    int64_t in[GOPT_RANK_MAX], out[GOPT_RANK_MAX], stride[GOPT_RANK_MAX];
    bool value, axes, narrow; /* operands 2, 3 are there; 3 is int32 */
} spec;

static int mode_of(const gopt_group *g)
{
    const char *text = gopt_attr_string(g->attrs, "mode", "constant");
    int m = 0;
    while (m < MODES && strcmp(text, mode_names[m]))
        m++;
    return m;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "Pad") || !gopt_producer_fits(g, 0) || !gopt_group_has(g, 1) || mode_of(g) == MODES)
        return false;
    if (mode_of(g) != CONSTANT && gopt_operand_count(&g->in[0]) == 0)
        return false;
    if (gopt_group_has(g, 3) && g->in[3].dtype != GOPT_DTYPE_I64 && g->in[3].dtype != GOPT_DTYPE_I32)
        return false;
    return g->in[1].dtype == GOPT_DTYPE_I64 && gopt_group_in_is(g, 2, g->in[0].dtype) && g->in[0].rank >= 1;
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_producer_prepare(&s->producer, g, t);
    s->mode = (mode)mode_of(g);
    s->rank = g->in[0].rank;
    s->given = (int)(gopt_operand_count(&g->in[1]) / 2);
    s->value = gopt_group_has(g, 2);
    s->axes = gopt_group_has(g, 3);
    s->narrow = s->axes && g->in[3].dtype == GOPT_DTYPE_I32;
    gopt_dims_strides(g->in[0].dim, s->rank, s->stride);
    for (int i = 0; i < s->rank; i++) {
        s->in[i] = g->in[0].dim[i];
        s->out[i] = g->out[0].dim[i];
    }
}

/* Elements before the first one of every axis; below 0 where elements are taken away. */
static void read_pads(const spec *s, const gopt_task *t, int64_t *before)
{
    const int64_t *pads = t->in[1];
    memset(before, 0, (size_t)s->rank * sizeof *before);
    for (int i = 0; i < s->given; i++) {
        int64_t axis = !s->axes ? i : s->narrow ? ((const int32_t *)t->in[3])[i] : ((const int64_t *)t->in[3])[i];
        before[axis < 0 ? axis + s->rank : axis] = pads[i];
    }
}

/* The element of an axis of n that position i shows; -1: none. */
static int64_t source(mode m, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (m == CONSTANT)
        return -1;
    if (m == EDGE)
        return i < 0 ? 0 : n - 1;
    int64_t period = m == WRAP || n == 1 ? n : 2 * n - 2, k = i % period;
    k += k < 0 ? period : 0;
    return k < n ? k : period - k;
}

static void repeat(unsigned char *dst, const unsigned char *value, int64_t n, int bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + i * bytes, value, (size_t)bytes);
}

/* Elements [lo, hi) of a row whose source row is src; NULL: a row of padding. */
static void write_row(const spec *s, const unsigned char *src, const unsigned char *value, int64_t before,
                      unsigned char *dst, int64_t lo, int64_t hi)
{
    int64_t n = s->in[s->rank - 1], at = lo;
    int bytes = s->producer.bytes;
    while (at < hi) {
        int64_t i = at - before, run = GOPT_MIN(hi, before + n) - at;
        if (src && i >= 0 && run > 0) {
            memcpy(dst, src + i * bytes, (size_t)(run * bytes));
        } else {
            int64_t k = src ? source(s->mode, i, n) : -1;
            run = k >= 0 ? 1 : (src && i < 0 ? GOPT_MIN(hi, before) : hi) - at;
            repeat(dst, k >= 0 ? src + k * bytes : value, run, bytes);
        }
        dst += run * bytes;
        at += run;
    }
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    static const unsigned char zero[16];
    const spec *s = t->spec;
    const unsigned char *value = s->value ? t->in[2] : zero;
    int64_t before[GOPT_RANK_MAX], cols = s->out[s->rank - 1];
    unsigned char *d = dst;
    read_pads(s, t, before);
    while (lo < hi) {
        int64_t rest = lo / cols, col = lo % cols, n = GOPT_MIN(cols - col, hi - lo), at = 0;
        bool outside = false;
        for (int k = s->rank - 2; k >= 0; rest /= s->out[k], k--) {
            int64_t i = source(s->mode, rest % s->out[k] - before[k], s->in[k]);
            outside |= i < 0;
            at += i * s->stride[k];
        }
        const unsigned char *src = outside ? NULL : (const unsigned char *)t->in[0] + at * s->producer.bytes;
        write_row(s, src, value, before[s->rank - 1], d, col, col + n);
        d += n * s->producer.bytes;
        lo += n;
    }
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_pad_any = {
    .name = "pad_any",
    .doc = "elements added at the ends of axes",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
