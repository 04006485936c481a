/* kernel.c: the list of kernels, choosing the default one, and the arithmetic of predictions. */
#include "kernel.h"

#include <string.h>

#include "cpu/simd.h"

#define X(name) extern const gopt_kernel gopt_kernel_##name;
#include "kernels.def"
#undef X

const gopt_kernel *const gopt_kernels[] = {
#define X(name) &gopt_kernel_##name,
#include "kernels.def"
#undef X
    NULL};

int gopt_kernel_count(void)
{
    return GOPT_COUNT(gopt_kernels) - 1;
}

int gopt_kernel_find(const char *name)
{
    for (int i = 0; gopt_kernels[i]; i++)
        if (!strcmp(gopt_kernels[i]->name, name))
            return i;
    return -1;
}

int gopt_kernel_knob_count(const gopt_kernel *k)
{
    int n = 0;
    while (k->knobs && k->knobs[n].name)
        n++;
    return n;
}

static bool fits_by_default(const gopt_kernel *k, const gopt_group *g, const gopt_target *t)
{
    int64_t knob[GOPT_KERNEL_KNOBS] = {0};
    for (int i = 0; i < gopt_kernel_knob_count(k); i++)
        knob[i] = k->knobs[i].init;
    return k->fits(g, knob, t);
}

const gopt_kernel *gopt_kernel_default(const gopt_group *g, const gopt_target *t)
{
    for (int i = 0; gopt_kernels[i]; i++)
        if (!gopt_kernels[i]->generated && fits_by_default(gopt_kernels[i], g, t))
            return gopt_kernels[i];
    return NULL;
}

gopt_status gopt_kernel_pack(const gopt_kernel *kernel, const gopt_group *g, const int64_t *knob, const gopt_target *t,
                             int k, void *dst, gopt_err *e)
{
    if (!kernel->widens || !gopt_dtype_is_half(g->in[k].dtype)) {
        kernel->pack(g, knob, t, k, dst);
        return GOPT_OK;
    }
    int64_t n = gopt_operand_count(&g->in[k]);
    gopt_operand *in = gopt_calloc((size_t)g->n_in, sizeof *in);
    float *v = gopt_calloc((size_t)GOPT_MAX(n, 1), sizeof *v);
    if (in && v) {
        memcpy(in, g->in, (size_t)g->n_in * sizeof *in);
        gopt_simd_for(t->isa)->half_widen(v, g->in[k].constant, n, g->in[k].dtype == GOPT_DTYPE_BF16);
        in[k].dtype = GOPT_DTYPE_F32;
        in[k].constant = v;
        gopt_group wide = *g;
        wide.in = in;
        kernel->pack(&wide, knob, t, k, dst);
    }
    gopt_status s = in && v ? GOPT_OK : gopt_oom(e);
    gopt_free(in);
    gopt_free(v);
    return s;
}

void gopt_target_host(gopt_target *t, int threads)
{
    static const double flops_per_cycle[GOPT_ISA_COUNT] = {
        [GOPT_ISA_BASE] = 8, [GOPT_ISA_AVX2] = 32, [GOPT_ISA_AVX512] = 64};
    static const double nominal_hz = 2.5e9, nominal_bytes_per_s = 1.5e10;
    *t = (gopt_target){.isa = gopt_cpu_isa(), .threads = threads};
    t->l1 = gopt_cpu_cache(1);
    t->l2 = gopt_cpu_cache(2);
    t->l3 = gopt_cpu_cache(3);
    t->flops_per_s = flops_per_cycle[t->isa] * nominal_hz;
    t->bytes_per_s = nominal_bytes_per_s;
}

int64_t gopt_operand_count(const gopt_operand *o)
{
    const int64_t too_many = INT64_MAX / 16; /* elements of 16 bytes */
    int64_t n = 1;
    for (int i = 0; i < o->rank; i++)
        if (__builtin_mul_overflow(n, o->dim[i], &n) || n > too_many)
            n = too_many;
    return o->dtype == GOPT_DTYPE_NONE ? 0 : n;
}

double gopt_group_bytes(const gopt_group *g)
{
    double bytes = 0;
    for (int i = 0; i < g->n_in; i++)
        bytes += (double)gopt_dtype_bytes(g->in[i].dtype, gopt_operand_count(&g->in[i]));
    for (int i = 0; i < g->n_out; i++)
        bytes += (double)gopt_dtype_bytes(g->out[i].dtype, gopt_operand_count(&g->out[i]));
    return bytes;
}

double gopt_roofline(const gopt_target *t, double flops, double bytes)
{
    double compute = flops / (GOPT_MAX(t->threads, 1) * t->flops_per_s), traffic = bytes / t->bytes_per_s;
    return GOPT_MAX(compute, traffic);
}
