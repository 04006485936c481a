#include "cpu/emit_planes.h"

/* From where x is to hi. Of the last vector nothing past the last element is read. */
static void put_copy(const gopt_planes *p, gopt_text *t)
{
    if (p->stride_w == 1)
        gopt_text_put(t, "        for (; x + GOPT_VW <= hi; x += GOPT_VW)\n            v_store(d + x, v_load(s + x));\n"
                         "        if (x < hi)\n"
                         "            v_store_part(d + x, v_load_part(s + x, (int)(hi - x), 0), (int)(hi - x));\n");
    else if (p->stride_w == 2)
        gopt_text_put(t, "        for (; x + GOPT_VW < hi; x += GOPT_VW)\n"
                         "            v_store(d + x, v_even(v_load(s + 2 * x), v_load(s + 2 * x + GOPT_VW)));\n"
                         "        if (x < hi)\n"
                         "            v_store_part(d + x, v_load_even(s + 2 * x, (int)(hi - x)), (int)(hi - x));\n");
    else
        gopt_text_add(t, "        for (; x < hi; x++)\n            d[x] = s[x * %lld];\n", (long long)p->stride_w);
    gopt_text_put(t, "        x = hi;\n");
}

/* Rows of one plane: remainders y and x of the coordinates. */
static void put_plane(const gopt_planes *p, int y, int x, int64_t at, gopt_text *t)
{
    int64_t begin = x - p->pad_w, lo = begin < 0 ? (-begin + p->stride_w - 1) / p->stride_w : 0;
    int64_t hi = p->iw > begin ? (p->iw - begin + p->stride_w - 1) / p->stride_w : 0;
    hi = GOPT_MIN(hi, p->cols);
    lo = GOPT_MIN(lo, hi);
    gopt_text_add(t, "    for (int64_t row = 0; row < %lld; row++) {\n", (long long)p->rows);
    gopt_text_add(t, "        int64_t y = row * %lld + %lld, x = 0;\n", (long long)p->stride_h,
                  (long long)(y - p->pad_h));
    gopt_text_add(t, "        float *d = dst + %lld + row * %lld;\n", (long long)at, (long long)p->cols);
    gopt_text_add(t, "        const float *s = src + y * %lld + %lld;\n", (long long)p->iw, (long long)begin);
    gopt_text_add(t, "        int64_t lo = %lld, hi = y < 0 || y >= %lld ? lo : %lld;\n", (long long)lo,
                  (long long)p->ih, (long long)hi);
    gopt_text_put(t, "        for (; x < lo; x++)\n            d[x] = 0;\n");
    put_copy(p, t);
    gopt_text_add(t, "        for (; x < %lld; x++)\n            d[x] = 0;\n    }\n", (long long)p->cols);
}

void gopt_emit_planes_function(const gopt_planes *p, const char *name, gopt_text *t)
{
    int64_t at = 0;
    gopt_text_add(t, "static void %s(const float *src, float *dst)\n{\n", name);
    for (int i = 0; i < p->n_y; i++)
        for (int j = 0; j < p->n_x; j++, at += p->rows * p->cols)
            put_plane(p, p->y[i], p->x[j], at, t);
    gopt_text_add(t, "    for (int64_t i = %lld; i < %lld; i++)\n        dst[i] = 0;\n}\n", (long long)at,
                  (long long)p->size);
}
