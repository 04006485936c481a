#include "cpu/winograd.h"

static const double g4[6][3] = {{0.25, 0, 0},
                                {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                {0, 0, 1}};
static const double g2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

const double *gopt_winograd_row(int m, int i)
{
    return m == 2 ? g2[i] : g4[i];
}

void gopt_winograd_filter(int m, const float *filter, float *u)
{
    int e = m + 2;
    for (int i = 0; i < e; i++) {
        const double *g = gopt_winograd_row(m, i);
        double row[3];
        for (int x = 0; x < 3; x++)
            row[x] = g[0] * (double)filter[x] + g[1] * (double)filter[3 + x] + g[2] * (double)filter[6 + x];
        for (int j = 0; j < e; j++) {
            const double *h = gopt_winograd_row(m, j);
            u[i * e + j] = (float)(h[0] * row[0] + h[1] * row[1] + h[2] * row[2]);
        }
    }
}
