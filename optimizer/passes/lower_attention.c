/* lower_attention.c: com.microsoft Attention and MultiHeadAttention become gopt Attention, which has a kernel and reads
 * heads where they lie. What they do besides is written out: the projection of Attention, the bias of
 * MultiHeadAttention, masks of integers, the one cache for keys and values.
 *
 * Legal when all is float32 and of known shape, masks are lengths (b), or (b, keys), (b, queries, keys), and no buffer
 * is shared by past and present. unidirectional adds the lowest float to a score: e to the power of that less the
 * largest score is 0, as with -inf; done only where the last query sees all keys anyway, and nothing else can be -inf.
 */
#include <string.h>

#include "passes/attention_heads.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, ADDEND, PAST_K, PAST_V, PAST_LENGTH }; /* of MultiHeadAttention */
enum { PROJECTED_MASK = 3, PROJECTED_PAST, PROJECTED_ADDEND };               /* of Attention */

typedef struct form {
    gopt_node *n;
    gopt_value *q, *k, *v; /* rank 3 or 4 */
    gopt_value *mask, *addend, *past_k, *past_v;
    int64_t q_first, k_first, v_first;
    int64_t batch, heads, queries, past, keys, d, dv; /* keys: with those of the past */
} form;

static gopt_value *input(const gopt_node *n, int k)
{
    return k < n->n_in ? n->in[k] : NULL;
}

static bool is_ms(const gopt_node *n, const char *name)
{
    return n->post.result < 0 && !strcmp(n->op->domain, "com.microsoft") && !strcmp(n->op->name, name);
}

static bool all_known(const gopt_node *n, int mask)
{
    int64_t dim[GOPT_RANK_MAX];
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] &&
            (!gopt_fact_static(&n->in[k]->fact, dim) || (k != mask && n->in[k]->fact.dtype != GOPT_DTYPE_F32)))
            return false;
    return true;
}

static int64_t size(const gopt_value *v, int d)
{
    return v->fact.dim[d].k;
}

/* ---- masks ---- */

static gopt_value *number(gopt_node *before, double v)
{
    return gopt_rewrite_constant(before->graph, GOPT_DTYPE_F32, 0, NULL, &v);
}

/* Which keys may be seen, (b, keys) or (b, queries, keys). */
static gopt_value *visible(const form *f)
{
    gopt_node *n = f->n;
    gopt_dtype type = f->mask->fact.dtype;
    double zero = 0;
    if (f->mask->fact.rank > 1) {
        gopt_value *none = gopt_rewrite_constant(n->graph, type, 0, NULL, &zero);
        return none ? gopt_heads_node(n, "Greater", (gopt_attrs){0}, (gopt_value *[]){f->mask, none}, 2) : NULL;
    }
    gopt_tensor *t = gopt_tensor_new(&n->graph->family->arena, type, 1, &f->keys);
    for (int64_t i = 0; t && i < f->keys; i++)
        gopt_tensor_set(t, i, (double)i);
    gopt_value *number_of_key = t ? gopt_graph_constant(n->graph, NULL, t) : NULL;
    gopt_value *length = gopt_heads_reshape(f->mask, (int64_t[]){f->batch, 1}, 2, n);
    return number_of_key && length
               ? gopt_heads_node(n, "Less", (gopt_attrs){0}, (gopt_value *[]){number_of_key, length}, 2)
               : NULL;
}

/* All that is added to the scores; false without memory. */
static bool make_mask(const form *f, gopt_value **mask)
{
    gopt_node *n = f->n;
    *mask = f->addend;
    if (!f->mask)
        return true;
    gopt_value *see = visible(f), *zero = number(n, 0);
    gopt_value *filter = number(n, gopt_attr_float(n->attrs, "mask_filter_value", -10000));
    int64_t rows = f->mask->fact.rank == 3 ? f->queries : 1;
    if (!see || !zero || !filter)
        return false;
    gopt_value *v = gopt_heads_node(n, "Where", (gopt_attrs){0}, (gopt_value *[]){see, zero, filter}, 3);
    v = v ? gopt_heads_reshape(v, (int64_t[]){f->batch, 1, rows, f->keys}, 4, n) : NULL;
    if (v && f->addend)
        v = gopt_heads_node(n, "Add", (gopt_attrs){0}, (gopt_value *[]){v, f->addend}, 2);
    *mask = v;
    return v;
}

static bool is_usable_mask(const form *f)
{
    const gopt_value *m = f->mask;
    int r = m ? m->fact.rank : 0;
    if (m && m->fact.dtype != GOPT_DTYPE_I32 && m->fact.dtype != GOPT_DTYPE_I64)
        return false;
    bool fits = !m || (r <= 3 && size(m, 0) == f->batch && (r == 1 || size(m, r - 1) == f->keys));
    bool causal = gopt_attr_int(f->n->attrs, "unidirectional", 0) != 0;
    return fits && (!causal || (!f->addend && f->queries == f->keys - f->past));
}

/* ---- putting it together ---- */

static gopt_node *put(const form *f, int n_out)
{
    gopt_graph *g = f->n->graph;
    gopt_value *mask;
    double scale = gopt_attr_float(f->n->attrs, "scale", 0);
    if (!make_mask(f, &mask))
        return NULL;
    const struct {
        const char *name;
        int64_t value;
    } ints[] = {{"q_num_heads", f->heads},
                {"kv_num_heads", f->heads},
                {"head_size", f->d},
                {"v_head_size", f->dv},
                {"q_first", f->q_first},
                {"k_first", f->k_first},
                {"v_first", f->v_first},
                {"is_causal", gopt_attr_int(f->n->attrs, "unidirectional", 0)},
                {"zero_rows", f->addend != NULL}};
    gopt_attrs attrs = {0};
    for (int i = 0; i < GOPT_COUNT(ints); i++)
        if (ints[i].value)
            attrs = gopt_rewrite_attr_int(g, attrs, ints[i].name, ints[i].value);
    if (scale != 0)
        attrs = gopt_rewrite_attr_float(g, attrs, "scale", scale);
    gopt_value *in[] = {f->q, f->k, f->v, mask, f->past_k, f->past_v};
    int n_in = f->past_k ? 6 : mask ? 4 : 3;
    gopt_node *from = f->n;
    gopt_node *n = gopt_graph_node(g, NULL, gopt_op_find("gopt", "Attention"), attrs, in, n_in, n_out, f->n, &from, 1);
    return n && !gopt_node_infer(n, NULL) ? n : NULL;
}

static bool wants(const gopt_node *n, int k)
{
    return k < n->n_out && n->out[k] && (n->out[k]->n_users || n->out[k]->n_results);
}

/* ---- MultiHeadAttention ---- */

/* Columns [first, first + columns) of the bias. */
static gopt_value *part_of_bias(gopt_node *n, int64_t first, int64_t columns)
{
    gopt_value *bias = n->in[BIAS];
    if (gopt_value_is_const(bias)) {
        gopt_tensor *t = gopt_tensor_new(&n->graph->family->arena, GOPT_DTYPE_F32, 1, &columns);
        if (t)
            memcpy(t->data, (const float *)bias->fact.constant->data + first, (size_t)columns * sizeof(float));
        return t ? gopt_graph_constant(n->graph, NULL, t) : NULL;
    }
    int64_t last = first + columns;
    gopt_value *from = gopt_rewrite_ints(n->graph, &first, 1), *to = gopt_rewrite_ints(n->graph, &last, 1);
    return from && to ? gopt_heads_node(n, "Slice", (gopt_attrs){0}, (gopt_value *[]){bias, from, to}, 3) : NULL;
}

static gopt_value *with_bias(gopt_node *n, gopt_value *v, int64_t first, int64_t columns)
{
    if (!input(n, BIAS) || v->fact.rank == 4)
        return v;
    gopt_value *part = part_of_bias(n, first, columns);
    return part ? gopt_heads_node(n, "Add", (gopt_attrs){0}, (gopt_value *[]){v, part}, 2) : NULL;
}

static gopt_status lower_apart(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    form f = {.n = n, .q = input(n, QUERY), .k = input(n, KEY), .v = input(n, VALUE), .mask = input(n, MASK)};
    if (!f.q || !f.k || !f.v || f.q->fact.rank != 3 || f.k->fact.rank != f.v->fact.rank || f.k->fact.rank > 4 ||
        !all_known(n, MASK) || n->n_in > PAST_LENGTH || !input(n, PAST_K) != !input(n, PAST_V) ||
        (f.k->fact.rank == 4 && input(n, PAST_K)))
        return GOPT_OK;
    f.addend = input(n, ADDEND);
    f.past_k = input(n, PAST_K);
    f.past_v = input(n, PAST_V);
    bool apart = f.k->fact.rank == 3;
    f.heads = gopt_attr_int(n->attrs, "num_heads", 1);
    f.batch = size(f.q, 0);
    f.queries = size(f.q, 1);
    f.d = size(f.q, 2) / f.heads;
    f.dv = apart ? size(f.v, 2) / f.heads : size(f.v, 3);
    f.past = f.past_k ? size(f.past_k, 2) : 0;
    f.keys = f.past + size(f.k, apart ? 1 : 2);
    if (f.d < 1 || f.dv < 1 || !is_usable_mask(&f))
        return GOPT_OK;
    int64_t hidden = f.heads * f.d;
    f.q = with_bias(n, f.q, 0, hidden);
    f.k = with_bias(n, f.k, hidden, hidden);
    f.v = with_bias(n, f.v, 2 * hidden, f.heads * f.dv);
    int n_out = wants(n, 1) || wants(n, 2) ? 3 : 1;
    gopt_node *new = f.q &&f.k &&f.v ? put(&f, n_out) : NULL;
    if (!new)
        return gopt_oom(e);
    for (int k = 0; k < n_out && k < n->n_out; k++)
        if (n->out[k])
            gopt_value_replace(n->out[k], new->out[k]);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
}

/* ---- Attention ---- */

static bool put_present(const form *f, gopt_node *new)
{
    gopt_value *half[2];
    for (int i = 0; i < 2; i++) {
        int64_t dim[] = {1, f->batch, f->heads, f->keys, i ? f->dv : f->d};
        half[i] = gopt_heads_reshape(new->out[1 + i], dim, 5, f->n);
        if (!half[i])
            return false;
    }
    gopt_attrs axis = gopt_rewrite_attr_int(f->n->graph, (gopt_attrs){0}, "axis", 0);
    gopt_value *both = gopt_heads_node(f->n, "Concat", axis, half, 2);
    if (both)
        gopt_value_replace(f->n->out[1], both);
    return both;
}

static gopt_value *project(gopt_node *n)
{
    gopt_value *x = gopt_heads_node(n, "MatMul", (gopt_attrs){0}, n->in, 2), *bias = input(n, 2);
    return x && bias ? gopt_heads_node(n, "Add", (gopt_attrs){0}, (gopt_value *[]){x, bias}, 2) : x;
}

static bool read_projection(form *f)
{
    gopt_node *n = f->n;
    int64_t sizes;
    const int64_t *given = gopt_attr_ints(n->attrs, "qkv_hidden_sizes", &sizes);
    int64_t hidden = given ? given[0] : size(n->in[1], 1) / 3;
    f->heads = gopt_attr_int(n->attrs, "num_heads", 1);
    f->batch = size(n->in[0], 0);
    f->queries = size(n->in[0], 1);
    f->d = hidden / f->heads;
    f->dv = (given ? given[2] : hidden) / f->heads;
    f->k_first = hidden;
    f->v_first = 2 * hidden;
    f->mask = input(n, PROJECTED_MASK);
    f->addend = input(n, PROJECTED_ADDEND);
    f->past = input(n, PROJECTED_PAST) ? size(n->in[PROJECTED_PAST], 3) : 0;
    f->keys = f->past + f->queries;
    return f->d > 0 && f->dv > 0 && is_usable_mask(f);
}

static gopt_status lower_projected(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    form f = {.n = n};
    if (!all_known(n, PROJECTED_MASK) || n->n_in > PROJECTED_ADDEND + 1 || !read_projection(&f))
        return GOPT_OK;
    f.past_k = f.past_v = input(n, PROJECTED_PAST);
    f.q = f.k = f.v = project(n);
    gopt_node *new = f.q ? put(&f, wants(n, 1) ? 3 : 1) : NULL;
    if (!new || (wants(n, 1) && !put_present(&f, new)))
        return gopt_oom(e);
    gopt_value_replace(n->out[0], new->out[0]);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
}

static gopt_status lower(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    if (is_ms(n, "MultiHeadAttention"))
        return lower_apart(n, r, e);
    return is_ms(n, "Attention") ? lower_projected(n, r, e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, lower, e);
}

const gopt_pass gopt_pass_lower_attention = {
    .name = "lower_attention",
    .doc = "com.microsoft's attention operators become the one that reads heads where they lie",
    .revision = 1,
    .run = run,
};
