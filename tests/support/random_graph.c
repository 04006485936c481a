/* Continuous functions only, so that rounding cannot decide. */
#include "support/random_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { NODES_MOST = 14, VALUES = 64 };

typedef struct value {
    char name[8];
    int rank;
    int64_t dim[4];
    bool read;
} value;

typedef struct generator {
    gopt_random r;
    gopt_text head, body; /* declarations go first */
    value v[VALUES];
    int n, constants;
} generator;

static int below(generator *g, int n)
{
    return gopt_random_below(&g->r, n);
}

static void put_type(gopt_text *t, const char *type, int rank, const int64_t *dim)
{
    gopt_text_add(t, "%s[", type);
    for (int d = 0; d < rank; d++)
        gopt_text_add(t, "%s%lld", d ? "," : "", (long long)dim[d]);
    gopt_text_put(t, "]");
}

/* A float constant; its number k is its name, "k<k>". */
static int constant(generator *g, int rank, const int64_t *dim)
{
    static const char *const scalars[] = {"0", "1", "2", "0.5", "-1", "-3", "1e-5"};
    int k = g->constants++;
    gopt_text_add(&g->head, "const k%d ", k);
    put_type(&g->head, "float32", rank, dim);
    if (rank == 0)
        gopt_text_add(&g->head, " {%s}\n", scalars[below(g, GOPT_COUNT(scalars))]);
    else
        gopt_text_add(&g->head, " random(%d)\n", below(g, 100));
    return k;
}

static int integers(generator *g, int n, const int64_t *at)
{
    int k = g->constants++;
    gopt_text_add(&g->head, "const k%d int64[%d] {", k, n);
    for (int i = 0; i < n; i++)
        gopt_text_add(&g->head, "%s%lld", i ? "," : "", (long long)at[i]);
    gopt_text_put(&g->head, "}\n");
    return k;
}

static int pick(generator *g)
{
    int recent = below(g, 3) ? GOPT_MAX(g->n - 4, 0) : 0; /* long chains, and now and then a far reader */
    int i = recent + below(g, g->n - recent);
    g->v[i].read = true;
    return i;
}

/* "n<i>: x<i> float32[..] = "; the caller writes the operator. */
static value *emit(generator *g, int rank, const int64_t *dim)
{
    value *v = &g->v[g->n];
    *v = (value){.rank = rank};
    snprintf(v->name, sizeof v->name, "x%d", g->n);
    for (int d = 0; d < rank; d++)
        v->dim[d] = dim[d];
    gopt_text_add(&g->body, "n%d: %s ", g->n++, v->name);
    put_type(&g->body, "float32", rank, dim);
    gopt_text_put(&g->body, " = ");
    return v;
}

static void unary(generator *g)
{
    static const char *const ops[] = {"Relu", "Neg", "Abs", "Tanh",     "Sigmoid",    "Erf",
                                      "Elu",  "Exp", "Sin", "Identity", "Reciprocal", "Softplus"};
    const value x = g->v[pick(g)];
    const char *op = ops[below(g, GOPT_COUNT(ops))];
    if (!strcmp(op, "Exp") || !strcmp(op, "Reciprocal")) /* of what may be anything: keep it in bounds first */
        op = "Sigmoid";
    emit(g, x.rank, x.dim);
    gopt_text_add(&g->body, "%s(%s)\n", op, x.name);
}

static int same_shape(generator *g, const value *x)
{
    int start = below(g, g->n);
    for (int i = 0; i < g->n; i++) {
        const value *y = &g->v[(start + i) % g->n];
        if (y->rank == x->rank && !memcmp(y->dim, x->dim, (size_t)x->rank * sizeof *x->dim))
            return (start + i) % g->n;
    }
    return -1;
}

static void binary(generator *g)
{
    static const char *const ops[] = {"Add", "Mul", "Sub", "Add", "Max", "Min", "Mul"};
    const value x = g->v[pick(g)];
    const char *op = ops[below(g, GOPT_COUNT(ops))];
    char other[16];
    int kind = below(g, 4), same = same_shape(g, &x);
    if (kind < 2 && same >= 0) {
        g->v[same].read = true;
        snprintf(other, sizeof other, "%s", g->v[same].name);
    } else if (kind == 2 && x.rank > 0) {
        snprintf(other, sizeof other, "k%d", constant(g, 1, &x.dim[x.rank - 1]));
    } else if (kind == 3 && x.rank == 4) {
        snprintf(other, sizeof other, "k%d", constant(g, 3, (int64_t[]){x.dim[1], 1, 1}));
    } else {
        snprintf(other, sizeof other, "k%d", constant(g, 0, NULL));
    }
    emit(g, x.rank, x.dim);
    bool first = below(g, 2);
    gopt_text_add(&g->body, "%s(%s, %s)\n", op, first ? x.name : other, first ? other : x.name);
}

/* Asks an input, which no pass changes: elsewhere the last bit may decide. */
static void where(generator *g)
{
    int i = g->n;
    const value asked = g->v[below(g, 2)], x = g->v[same_shape(g, &asked)];
    int limit = constant(g, 0, NULL), other = constant(g, 0, NULL);
    gopt_text_add(&g->body, "c%d: b%d ", i, i);
    put_type(&g->body, "bool", asked.rank, asked.dim);
    gopt_text_add(&g->body, " = Greater(%s, k%d)\n", asked.name, limit);
    emit(g, x.rank, x.dim);
    gopt_text_add(&g->body, "Where(b%d, %s, k%d)\n", i, x.name, other);
}

static void product(generator *g)
{
    const value x = g->v[pick(g)];
    int64_t dim[4], n = 1 + below(g, 6);
    if (x.rank < 2)
        return;
    memcpy(dim, x.dim, sizeof dim);
    dim[x.rank - 1] = n;
    if (x.rank == 2 && below(g, 2)) {
        bool turned = below(g, 2);
        int b = constant(g, 2, (int64_t[]){turned ? n : x.dim[1], turned ? x.dim[1] : n}), c = constant(g, 1, &n);
        emit(g, 2, dim);
        gopt_text_add(&g->body, "Gemm(%s, k%d, k%d) {transB=%d, alpha=%s}\n", x.name, b, c, turned,
                      below(g, 2) ? "1.0" : "0.5");
        return;
    }
    int b = constant(g, 2, (int64_t[]){x.dim[x.rank - 1], n});
    emit(g, x.rank, dim);
    gopt_text_add(&g->body, "MatMul(%s, k%d)\n", x.name, b);
}

static void transpose(generator *g)
{
    const value x = g->v[pick(g)];
    int perm[4] = {0, 1, 2, 3};
    int64_t dim[4] = {0};
    for (int i = x.rank - 1; i > 0; i--) {
        int k = below(g, i + 1), was = perm[i];
        perm[i] = perm[k];
        perm[k] = was;
    }
    for (int i = 0; i < x.rank; i++)
        dim[i] = x.dim[perm[i]];
    emit(g, x.rank, dim);
    gopt_text_add(&g->body, "Transpose(%s) {perm=[", x.name);
    for (int i = 0; i < x.rank; i++)
        gopt_text_add(&g->body, "%s%d", i ? "," : "", perm[i]);
    gopt_text_put(&g->body, "]}\n");
}

/* Joins two dimensions, or splits an even one. */
static void reshape(generator *g)
{
    const value x = g->v[pick(g)];
    int64_t dim[4];
    int rank = 0, at = x.rank > 1 ? below(g, x.rank - 1) : 0;
    bool splits = x.rank < 4 && x.dim[at] % 2 == 0 && below(g, 2);
    if (x.rank < 2)
        return;
    for (int d = 0; d < x.rank; d++)
        if (splits && d == at) {
            dim[rank++] = 2;
            dim[rank++] = x.dim[d] / 2;
        } else if (!splits && d == at + 1) {
            dim[rank - 1] *= x.dim[d];
        } else {
            dim[rank++] = x.dim[d];
        }
    int k = integers(g, rank, dim);
    emit(g, rank, dim);
    gopt_text_add(&g->body, "Reshape(%s, k%d)\n", x.name, k);
}

static void slice(generator *g)
{
    const value x = g->v[pick(g)];
    int64_t dim[4], axis = below(g, x.rank), first, step = 1 + below(g, 2);
    memcpy(dim, x.dim, sizeof dim);
    first = below(g, (int)dim[axis]);
    dim[axis] = (x.dim[axis] - first + step - 1) / step;
    int a = integers(g, 1, &first), b = integers(g, 1, (int64_t[]){1000}), c = integers(g, 1, &axis),
        d = integers(g, 1, &step);
    emit(g, x.rank, dim);
    gopt_text_add(&g->body, "Slice(%s, k%d, k%d, k%d, k%d)\n", x.name, a, b, c, d);
}

static void concat(generator *g)
{
    const value x = g->v[pick(g)];
    int other = same_shape(g, &x), axis = below(g, x.rank);
    int64_t dim[4];
    memcpy(dim, x.dim, sizeof dim);
    dim[axis] *= 2;
    if (dim[axis] > 24)
        return;
    g->v[other].read = true;
    const value y = g->v[other];
    emit(g, x.rank, dim);
    gopt_text_add(&g->body, "Concat(%s, %s) {axis=%d}\n", x.name, y.name, axis);
}

static void along_last(generator *g)
{
    const value x = g->v[pick(g)];
    int64_t dim[4];
    memcpy(dim, x.dim, sizeof dim);
    if (below(g, 2)) {
        emit(g, x.rank, dim);
        gopt_text_add(&g->body, "Softmax(%s) {axis=-1}\n", x.name);
        return;
    }
    dim[x.rank - 1] = 1;
    int last = integers(g, 1, (int64_t[]){-1});
    emit(g, x.rank, dim);
    gopt_text_add(&g->body, "ReduceMean(%s, k%d)\n", x.name, last);
}

/* A window of 3 with a border, or of 1. */
static void convolution(generator *g)
{
    const value x = g->v[pick(g)];
    int64_t size = below(g, 2) ? 3 : 1, filters = 1 + below(g, 6);
    int64_t dim[4] = {x.dim[0], filters, x.dim[2], x.dim[3]};
    if (x.rank != 4)
        return;
    int w = constant(g, 4, (int64_t[]){filters, x.dim[1], size, size}), b = constant(g, 1, &filters);
    int border = size == 3;
    emit(g, 4, dim);
    gopt_text_add(&g->body, "Conv(%s, k%d, k%d) {pads=[%d,%d,%d,%d]}\n", x.name, w, b, border, border, border, border);
}

static void normalization(generator *g)
{
    const value x = g->v[pick(g)];
    if (x.rank != 4)
        return;
    int k[4];
    for (int i = 0; i < 4; i++)
        k[i] = constant(g, 1, &x.dim[1]);
    gopt_text_add(&g->head, "const var%d float32[%lld] splat(0.7)\n", g->n, (long long)x.dim[1]);
    int i = g->n;
    emit(g, 4, x.dim);
    gopt_text_add(&g->body, "BatchNormalization(%s, k%d, k%d, k%d, var%d)\n", x.name, k[0], k[1], k[2], i);
}

static void window(generator *g)
{
    const value x = g->v[pick(g)];
    if (x.rank != 4 || x.dim[2] < 2 || x.dim[3] < 2)
        return;
    bool padded = below(g, 2);
    int64_t wide[4] = {x.dim[0], x.dim[1], x.dim[2] + 2, x.dim[3] + 2};
    value from = x;
    if (padded) {
        int p = integers(g, 8, (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1});
        from = *emit(g, 4, wide);
        gopt_text_add(&g->body, "Pad(%s, k%d)\n", x.name, p);
        g->v[g->n - 1].read = true;
    }
    int64_t dim[4] = {x.dim[0], x.dim[1], from.dim[2] - 1, from.dim[3] - 1};
    emit(g, 4, dim);
    gopt_text_add(&g->body, "%s(%s) {kernel_shape=[2,2]}\n", below(g, 2) ? "MaxPool" : "AveragePool", from.name);
}

/* x * (1 + erf(x / sqrt 2)) / 2, as exporters write it out. */
static void gelu(generator *g)
{
    const value x = g->v[pick(g)];
    gopt_text_add(&g->head,
                  "const r%d float32[] {1.4142135381698608}\nconst o%d float32[] {1}\nconst h%d float32[] {0.5}\n",
                  g->n, g->n, g->n);
    int i = g->n;
    const char *const steps[] = {"Div(%s, r%d)", "Erf(%s)", "Add(%s, o%d)", "Mul(%s, %s)", "Mul(%s, h%d)"};
    const char *from = x.name;
    for (int k = 0; k < GOPT_COUNT(steps); k++) {
        value *v = emit(g, x.rank, x.dim);
        v->read = k + 1 < GOPT_COUNT(steps);
        if (k == 1)
            gopt_text_add(&g->body, "Erf(%s)", from);
        else if (k == 3)
            gopt_text_add(&g->body, "Mul(%s, %s)", from, x.name);
        else
            gopt_text_add(&g->body, "%s(%s, %c%d)",
                          k == 0   ? "Div"
                          : k == 2 ? "Add"
                                   : "Mul",
                          from,
                          k == 0   ? 'r'
                          : k == 2 ? 'o'
                                   : 'h',
                          i);
        gopt_text_put(&g->body, "\n");
        from = v->name;
    }
}

static void (*const makers[])(generator *) = {unary,      unary,       binary,      binary,        binary, where,
                                              product,    product,     transpose,   reshape,       slice,  concat,
                                              along_last, convolution, convolution, normalization, window, gelu};

/* Every value that nobody reads is an output, and some that are read. */
gopt_random random_graph_write(uint64_t seed, gopt_text *out)
{
    generator made = {.n = 0}, *g = &made;
    gopt_random_seed(&g->r, seed);
    for (int i = 0; i < 2; i++) {
        value *v = &g->v[g->n];
        *v = (value){.rank = below(g, 2) ? 4 : 2 + below(g, 2)};
        snprintf(v->name, sizeof v->name, "x%d", g->n++);
        for (int d = 0; d < v->rank; d++)
            v->dim[d] = 1 + below(g, 6);
        gopt_text_add(&g->head, "input %s ", v->name);
        put_type(&g->head, "float32", v->rank, v->dim);
        gopt_text_put(&g->head, "\n");
    }
    int nodes = 2 + below(g, NODES_MOST - 1), outputs = 0;
    for (int i = 0; i < nodes && g->n < VALUES - 8; i++)
        makers[below(g, GOPT_COUNT(makers))](g);
    gopt_text_put(out, gopt_text_str(&g->head));
    gopt_text_put(out, gopt_text_str(&g->body));
    for (int i = g->n - 1; i >= 2 && outputs < RANDOM_GRAPH_OUTPUTS; i--)
        if (i == g->n - 1 || (!g->v[i].read && below(g, 4)) || below(g, 8) == 0) {
            gopt_text_add(out, "output %s\n", g->v[i].name);
            outputs++;
        }
    if (!outputs)
        gopt_text_put(out, "output x0\n");
    gopt_text_fini(&g->head);
    gopt_text_fini(&g->body);
    return g->r;
}
