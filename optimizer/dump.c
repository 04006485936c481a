/* dump.c: graphs as text. */
#include "dump.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

double gopt_dump_random(gopt_dtype d, int seed, int64_t i)
{
    uint64_t x = (uint64_t)i * 0x9E3779B97F4A7C15u + (uint64_t)(seed + 1) * 0xD1B54A32D192ED03u;
    x = (x ^ (x >> 32)) * 0xBF58476D1CE4E5B9u;
    x ^= x >> 29;
    if (d == GOPT_DTYPE_BOOL)
        return (double)(x % 2);
    return gopt_dtype_is_float(d) ? ((double)(x % 257) - 128) / 128 : (double)(x % 7);
}

bool gopt_dump_is_keyword(const char *name)
{
    static const char *const keywords[] = {"input", "const", "output", "body", "end", "_"};
    for (int i = 0; i < GOPT_COUNT(keywords); i++)
        if (!strcmp(name, keywords[i]))
            return true;
    return false;
}

bool gopt_dump_is_plain(const char *name)
{
    if (!*name)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_./~%-", *name))
            return false;
    return true;
}

static void put_quoted(gopt_text *t, const char *s)
{
    gopt_text_put(t, "\"");
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            gopt_text_add(t, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            gopt_text_add(t, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            gopt_text_putn(t, s, 1);
    gopt_text_put(t, "\"");
}

static void put_name(gopt_text *t, const char *name)
{
    if (gopt_dump_is_plain(name) && !gopt_dump_is_keyword(name))
        gopt_text_put(t, name);
    else
        put_quoted(t, name);
}

/* The fewest digits that read back as the same value of type d. */
static void put_float(gopt_text *t, gopt_dtype d, double v)
{
    char buf[40];
    if (!isfinite(v)) {
        gopt_text_put(t, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    snprintf(buf, sizeof buf, "%.0f", v);
    bool whole = fabs(v) < 1e6 && strtod(buf, NULL) == v;
    for (int digits = 1; !whole && digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        whole = gopt_dtype_round(d, strtod(buf, NULL)) == v;
    }
    gopt_text_put(t, buf);
}

/* An attribute's float shows that it is one. */
static void put_attr_float(gopt_text *t, double v)
{
    size_t at = t->n;
    put_float(t, GOPT_DTYPE_F64, v);
    if (!t->failed && !strpbrk(t->s + at, ".en"))
        gopt_text_put(t, ".0");
}

static void put_type(gopt_text *t, const gopt_dims *dims, const gopt_fact *f)
{
    char dim[256];
    gopt_text_put(t, gopt_dtype_name(f->dtype));
    if (f->rank < 0)
        return;
    gopt_text_put(t, "[");
    for (int i = 0; i < f->rank; i++) {
        gopt_dim_print(dims, f->dim[i], dim, sizeof dim);
        gopt_text_put(t, i ? "," : "");
        if (!gopt_dim_is_known(f->dim[i]) || (gopt_dump_is_plain(dim) && strcmp(dim, "?")))
            gopt_text_put(t, dim);
        else
            put_quoted(t, dim);
    }
    gopt_text_put(t, "]");
}

/* ---- elements ---- */

static bool has_numbers(gopt_dtype d)
{
    return gopt_dtype_is_float(d) || gopt_dtype_is_int(d) || d == GOPT_DTYPE_BOOL;
}

static void put_element(gopt_text *t, const gopt_tensor *v, int64_t i)
{
    if (gopt_dtype_is_float(v->dtype))
        put_float(t, v->dtype, gopt_tensor_get(v, i));
    else if (v->dtype == GOPT_DTYPE_U64)
        gopt_text_add(t, "%llu", (unsigned long long)gopt_tensor_get_int(v, i));
    else
        gopt_text_add(t, "%lld", (long long)gopt_tensor_get_int(v, i));
}

static bool same_bits(double a, double b)
{
    return !memcmp(&a, &b, sizeof a);
}

static bool is_random(const gopt_tensor *v, int64_t count, int seed)
{
    for (int64_t i = 0; i < count; i++)
        if (!same_bits(gopt_tensor_get(v, i), gopt_dump_random(v->dtype, seed, i)))
            return false;
    return true;
}

static bool is_splat(const gopt_tensor *v, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (!same_bits(gopt_tensor_get(v, i), gopt_tensor_get(v, 0)) ||
            gopt_tensor_get_int(v, i) != gopt_tensor_get_int(v, 0))
            return false;
    return true;
}

static void put_list(gopt_text *t, const gopt_tensor *v, int64_t count)
{
    gopt_text_put(t, "{");
    for (int64_t i = 0; i < count; i++) {
        gopt_text_put(t, i ? "," : "");
        put_element(t, v, i);
    }
    gopt_text_put(t, "}");
}

static void put_elements(gopt_text *t, const gopt_tensor *v)
{
    enum { SHORT = 8 }; /* lists up to here say more than a generator */
    char hex[33];
    int64_t count = gopt_tensor_count(v);
    bool numbers = has_numbers(v->dtype);
    if (numbers && count <= SHORT) {
        put_list(t, v, count);
        return;
    }
    for (int seed = 0; numbers && seed < GOPT_DUMP_SEEDS; seed++)
        if (is_random(v, count, seed)) {
            gopt_text_add(t, "random(%d)", seed);
            return;
        }
    if (numbers && is_splat(v, count)) {
        gopt_text_put(t, "splat(");
        put_element(t, v, 0);
        gopt_text_put(t, ")");
    } else if (numbers && count <= GOPT_DUMP_LIST_MAX) {
        put_list(t, v, count);
    } else {
        gopt_text_add(t, "hash(%s)", gopt_hash_hex(hex, gopt_hash_bytes(v->data, gopt_tensor_bytes(v))));
    }
}

static void put_tensor(gopt_text *t, const gopt_tensor *v)
{
    gopt_fact f = {.dtype = v->dtype, .rank = v->rank};
    for (int i = 0; i < v->rank; i++)
        f.dim[i] = gopt_dim_of(v->dim[i]);
    put_type(t, NULL, &f);
    gopt_text_put(t, " ");
    put_elements(t, v);
}

/* ---- attributes ---- */

static void put_attr(gopt_text *t, const gopt_attr *a)
{
    put_name(t, a->name);
    gopt_text_put(t, "=");
    switch (a->kind) {
    case GOPT_ATTR_INT:
        gopt_text_add(t, "%lld", (long long)a->i);
        return;
    case GOPT_ATTR_FLOAT:
        put_attr_float(t, a->f);
        return;
    case GOPT_ATTR_STRING:
        put_quoted(t, a->s);
        return;
    case GOPT_ATTR_TENSOR:
        gopt_text_put(t, "tensor ");
        put_tensor(t, a->tensor);
        return;
    default:
        break;
    }
    gopt_text_put(t, "[");
    for (int64_t i = 0; i < a->n; i++) {
        gopt_text_put(t, i ? "," : "");
        if (a->kind == GOPT_ATTR_INTS)
            gopt_text_add(t, "%lld", (long long)a->ints[i]);
        else if (a->kind == GOPT_ATTR_FLOATS)
            put_attr_float(t, a->floats[i]);
        else
            put_quoted(t, a->strings[i]);
    }
    gopt_text_put(t, "]");
}

static void put_attrs(gopt_text *t, gopt_attrs a)
{
    for (int i = 0; i < a.n; i++) {
        gopt_text_put(t, i ? ", " : " {");
        put_attr(t, &a.at[i]);
    }
    gopt_text_put(t, a.n ? "}" : "");
}

/* ---- graphs ---- */

static void print_graph(const gopt_graph *g, gopt_text *t, int indent, unsigned char *printed);

static void put_operand(gopt_text *t, const gopt_value *v)
{
    if (v)
        put_name(t, v->name);
    else
        gopt_text_put(t, "_");
}

static void print_node(const gopt_node *n, gopt_text *t, int indent, unsigned char *printed)
{
    gopt_text_add(t, "%*s", indent, "");
    put_name(t, n->name);
    for (int k = 0; k < n->n_out; k++) {
        gopt_text_put(t, k ? ", " : ": ");
        put_operand(t, n->out[k]);
        if (n->out[k]) {
            gopt_text_put(t, " ");
            put_type(t, n->graph->family->dims, &n->out[k]->fact);
        }
    }
    gopt_text_put(t, n->n_out ? " = " : ": = ");
    gopt_text_add(t, "%s%s%s(", n->op->domain, *n->op->domain ? "::" : "", n->op->name);
    for (int k = 0; k < n->n_in; k++) {
        gopt_text_put(t, k == n->n_anchor ? (k ? "; " : ";") : k ? ", " : "");
        put_operand(t, n->in[k]);
    }
    gopt_text_put(t, ")");
    put_attrs(t, n->attrs);
    if (n->post.result >= 0) {
        gopt_text_put(t, " post=");
        gopt_expr_print(&n->post, t);
    }
    gopt_text_put(t, "\n");
    for (int b = 0; b < n->n_bodies; b++) {
        gopt_text_add(t, "%*sbody ", indent + 2, "");
        put_name(t, n->body[b]->name);
        gopt_text_put(t, "\n");
        print_graph(n->body[b], t, indent + 4, printed);
        gopt_text_add(t, "%*send\n", indent + 2, "");
    }
}

static void print_constant(const gopt_graph *g, const gopt_value *v, gopt_text *t, int indent, unsigned char *printed)
{
    if (!gopt_value_is_const(v) || v->graph != g || printed[v->id])
        return;
    printed[v->id] = 1;
    gopt_text_add(t, "%*sconst ", indent, "");
    put_name(t, v->name);
    gopt_text_put(t, " ");
    put_tensor(t, v->fact.constant);
    gopt_text_put(t, "\n");
}

/* g's constants, in the order of their use in `in` and its bodies. */
static void print_constants(const gopt_graph *g, const gopt_graph *in, gopt_text *t, int indent, unsigned char *printed)
{
    for (int i = 0; i < in->n_nodes; i++) {
        const gopt_node *n = in->nodes[i];
        for (int k = 0; k < n->n_in; k++)
            print_constant(g, n->in[k], t, indent, printed);
        for (int b = 0; b < n->n_bodies; b++)
            print_constants(g, n->body[b], t, indent, printed);
    }
    for (int i = 0; i < in->n_outputs; i++)
        print_constant(g, in->outputs[i], t, indent, printed);
}

static void print_graph(const gopt_graph *g, gopt_text *t, int indent, unsigned char *printed)
{
    for (int i = 0; i < g->n_inputs; i++) {
        gopt_text_add(t, "%*sinput ", indent, "");
        put_name(t, g->inputs[i]->name);
        gopt_text_put(t, " ");
        put_type(t, g->family->dims, &g->inputs[i]->fact);
        gopt_text_put(t, "\n");
    }
    print_constants(g, g, t, indent, printed);
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->dead)
            print_node(g->nodes[i], t, indent, printed);
    for (int i = 0; i < g->n_outputs; i++) {
        gopt_text_add(t, "%*soutput ", indent, "");
        put_name(t, g->outputs[i]->name);
        gopt_text_put(t, "\n");
    }
}

void gopt_graph_print(const gopt_graph *g, gopt_text *t)
{
    unsigned char *printed = gopt_calloc((size_t)g->family->next_id, 1);
    if (printed)
        print_graph(g, t, 0, printed);
    else
        t->failed = true;
    gopt_free(printed);
}
