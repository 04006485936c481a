#include "ref/channels_last.h"

#include <string.h>

void gopt_channels_first(gopt_fact *out, const gopt_fact *in, int first, int second)
{
    int at = 2;
    *out = *in;
    out->dim[0] = in->dim[first];
    out->dim[1] = in->dim[second];
    for (int d = 0; d < in->rank; d++)
        if (d != first && d != second)
            out->dim[at++] = in->dim[d];
}

void gopt_channels_last(gopt_fact *f)
{
    gopt_dim channels = f->dim[1];
    memmove(f->dim + 1, f->dim + 2, (size_t)(f->rank - 2) * sizeof channels);
    f->dim[f->rank - 1] = channels;
}

int64_t gopt_channels_last_cell(const gopt_window *w, int64_t at, int64_t tap)
{
    int64_t flat = 0, step = 1;
    for (int d = w->n - 1; d >= 0; d--) {
        int64_t i = at % w->out[d] * w->stride[d] - w->pad[d] + tap % w->kernel[d] * w->dilation[d];
        if (i < 0 || i >= w->in[d])
            return -1;
        flat += i * step;
        step *= w->in[d];
        at /= w->out[d];
        tap /= w->kernel[d];
    }
    return flat;
}
