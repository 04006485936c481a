/* lower_attention.c: com.microsoft Attention, MultiHeadAttention and GroupQueryAttention become gopt Attention, which
 * has a kernel and reads heads where they lie. What they do besides is written out: the projection of Attention, the
 * bias of MultiHeadAttention, masks of integers, the one cache for keys and values, the rotary embedding of
 * GroupQueryAttention.
 *
 * Legal when all is float32 and of known shape, masks are lengths (b), or (b, keys), (b, queries, keys), and no buffer
 * is shared by past and present. unidirectional adds the lowest float to a score; done only where the last query sees
 * all keys anyway, and nothing else is added that could be as low.
 *
 * GroupQueryAttention may be in half precision. It looks only back, so without a past the lengths of sequences do not
 * matter. With one, all must be as long as the longest, so that new keys lie behind the old ones: that of a single
 * sequence is, or they are constant.
 */
#include <float.h>
#include <string.h>

#include "passes/attention_heads.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, ADDEND, PAST_K, PAST_V, PAST_LENGTH }; /* of MultiHeadAttention */
enum { PROJECTED_MASK = 3, PROJECTED_PAST, PROJECTED_ADDEND };               /* of Attention */
enum { GROUP_PAST_K = 3, GROUP_PAST_V, LENGTHS, TOTAL, COS, SIN, POSITIONS, GROUP_ADDEND, SINK }; /* of GroupQuery.. */

typedef struct form {
    gopt_node *n;
    gopt_value *q, *k, *v; /* rank 3 or 4 */
    gopt_value *mask, *addend, *past_k, *past_v;
    int64_t q_first, k_first, v_first;
    int64_t batch, heads, queries, past, keys, d, dv; /* keys: with those of the past */
    int64_t shared;                                   /* heads of keys and values */
    int64_t window;                                   /* keys that a query sees; 0: all */
    bool causal;
} form;

static gopt_value *input(const gopt_node *n, int k)
{
    return k < n->n_in ? n->in[k] : NULL;
}

static bool is_ms(const gopt_node *n, const char *name)
{
    return n->post.result < 0 && !strcmp(n->op->domain, "com.microsoft") && !strcmp(n->op->name, name);
}

/* All shapes, and elements of `type` but for the inputs of the bit set `integers`. */
static bool all_known(const gopt_node *n, unsigned integers, gopt_dtype type)
{
    int64_t dim[GOPT_RANK_MAX];
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] &&
            (!gopt_fact_static(&n->in[k]->fact, dim) || (!(integers >> k & 1) && n->in[k]->fact.dtype != type)))
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
    return fits && (!f->causal || (!f->addend && f->queries == f->keys - f->past));
}

/* ---- putting it together ---- */

static bool looks_back(const gopt_node *n)
{
    return gopt_attr_int(n->attrs, "unidirectional", 0) != 0;
}

static gopt_node *put(const form *f, int n_out)
{
    gopt_graph *g = f->n->graph;
    gopt_value *mask;
    double scale = gopt_attr_float(f->n->attrs, "scale", 0), cap = gopt_attr_float(f->n->attrs, "softcap", 0);
    if (!make_mask(f, &mask))
        return NULL;
    const struct {
        const char *name;
        int64_t value;
    } ints[] = {{"q_num_heads", f->heads}, {"kv_num_heads", f->shared}, {"head_size", f->d},
                {"v_head_size", f->dv},    {"q_first", f->q_first},     {"k_first", f->k_first},
                {"v_first", f->v_first},   {"is_causal", f->causal},    {"zero_rows", 1}};
    gopt_attrs attrs = {0};
    for (int i = 0; i < GOPT_COUNT(ints); i++)
        if (ints[i].value)
            attrs = gopt_rewrite_attr_int(g, attrs, ints[i].name, ints[i].value);
    if (f->window)
        attrs = gopt_rewrite_attr_int(g, attrs, "left_window_size", f->window - 1);
    if (looks_back(f->n))
        attrs = gopt_rewrite_attr_float(g, attrs, "hidden", -FLT_MAX);
    if (scale != 0)
        attrs = gopt_rewrite_attr_float(g, attrs, "scale", scale);
    if (cap > 0)
        attrs = gopt_rewrite_attr_float(g, attrs, "softcap", cap);
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

/* The node's outputs are those of gopt Attention. */
static gopt_status finish(const form *f, gopt_pass_run *r, gopt_err *e)
{
    gopt_node *n = f->n;
    int n_out = wants(n, 1) || wants(n, 2) ? 3 : 1;
    gopt_node *new = f->q && f->k && f->v ? put(f, n_out) : NULL;
    if (!new)
        return gopt_oom(e);
    for (int k = 0; k < n_out && k < n->n_out; k++)
        if (n->out[k])
            gopt_value_replace(n->out[k], new->out[k]);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
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
        !all_known(n, 1u << MASK, GOPT_DTYPE_F32) || n->n_in > PAST_LENGTH || !input(n, PAST_K) != !input(n, PAST_V) ||
        (f.k->fact.rank == 4 && input(n, PAST_K)))
        return GOPT_OK;
    f.addend = input(n, ADDEND);
    f.past_k = input(n, PAST_K);
    f.past_v = input(n, PAST_V);
    bool apart = f.k->fact.rank == 3;
    f.heads = f.shared = gopt_attr_int(n->attrs, "num_heads", 1);
    f.causal = looks_back(n);
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
    return finish(&f, r, e);
}

/* ---- GroupQueryAttention ---- */

static bool absent_from(const gopt_node *n, int k)
{
    for (; k < n->n_in; k++)
        if (n->in[k])
            return false;
    return true;
}

/* All sequences have all keys. */
static bool all_full(const form *f)
{
    const gopt_tensor *lengths = f->n->in[LENGTHS]->fact.constant;
    double total;
    if (!gopt_value_scalar(f->n->in[TOTAL], &total) || (int64_t)total != f->keys)
        return false;
    for (int64_t b = 0; lengths && b < f->batch; b++)
        if (gopt_tensor_get_int(lengths, b) + 1 != f->keys)
            return f->past == 0;
    return lengths || f->past == 0 || f->batch == 1;
}

static bool read_grouped(form *f)
{
    gopt_node *n = f->n;
    bool packed = !input(n, KEY);
    f->heads = gopt_attr_int(n->attrs, "num_heads", 1);
    f->shared = gopt_attr_int(n->attrs, "kv_num_heads", 1);
    f->batch = size(n->in[QUERY], 0);
    f->queries = size(n->in[QUERY], 1);
    f->d = f->dv = size(n->in[QUERY], 2) / (packed ? f->heads + 2 * f->shared : f->heads);
    f->past = input(n, GROUP_PAST_K) ? size(n->in[GROUP_PAST_K], 2) : 0;
    f->keys = f->past + f->queries;
    f->past_k = f->past ? n->in[GROUP_PAST_K] : NULL;
    f->past_v = f->past ? n->in[GROUP_PAST_V] : NULL;
    f->addend = input(n, GROUP_ADDEND);
    f->k_first = packed ? f->heads * f->d : 0;
    f->v_first = packed ? f->k_first + f->shared * f->d : 0;
    f->window = GOPT_MAX(gopt_attr_int(n->attrs, "local_window_size", -1), 0);
    f->causal = true;
    bool first_position = f->past == 0 && input(n, POSITIONS); /* from which the reference counts */
    return f->d > 0 && !first_position && all_full(f);
}

/* The rows of the caches, (batch, queries). */
static gopt_value *positions_of(const form *f)
{
    gopt_value *given = input(f->n, POSITIONS);
    int64_t dim[] = {f->batch, f->queries};
    if (given)
        return given;
    gopt_tensor *t = gopt_tensor_new(&f->n->graph->family->arena, GOPT_DTYPE_I64, 2, dim);
    for (int64_t i = 0; t && i < f->batch * f->queries; i++)
        gopt_tensor_set_int(t, i, f->past + i % f->queries);
    return t ? gopt_graph_constant(f->n->graph, NULL, t) : NULL;
}

/* v's rows of so many heads, turned by their position. */
static gopt_value *rotate(const form *f, gopt_value *v, int64_t heads)
{
    gopt_node *n = f->n;
    int64_t turned = 2 * size(n->in[COS], 1);
    gopt_value *positions = positions_of(f);
    gopt_attrs attrs = gopt_rewrite_attr_int(n->graph, (gopt_attrs){0}, "num_heads", heads);
    if (gopt_attr_int(n->attrs, "rotary_interleaved", 0))
        attrs = gopt_rewrite_attr_int(n->graph, attrs, "interleaved", 1);
    if (turned < f->d)
        attrs = gopt_rewrite_attr_int(n->graph, attrs, "rotary_embedding_dim", turned);
    gopt_value *in[] = {v, n->in[COS], n->in[SIN], positions};
    return positions ? gopt_heads_node(n, "RotaryEmbedding", attrs, in, 4) : NULL;
}

/* Queries and keys of packed rows, without the values. */
static gopt_value *without_values(const form *f)
{
    gopt_node *n = f->n;
    int64_t zero = 0, axis = 2;
    gopt_value *from = gopt_rewrite_ints(n->graph, &zero, 1), *to = gopt_rewrite_ints(n->graph, &f->v_first, 1);
    gopt_value *along = gopt_rewrite_ints(n->graph, &axis, 1);
    return from && to && along
               ? gopt_heads_node(n, "Slice", (gopt_attrs){0}, (gopt_value *[]){n->in[QUERY], from, to, along}, 4)
               : NULL;
}

static gopt_status lower_grouped(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    form f = {.n = n};
    gopt_dtype type = n->in[QUERY]->fact.dtype;
    if ((type != GOPT_DTYPE_F32 && !gopt_dtype_is_half(type)) ||
        !all_known(n, 1u << LENGTHS | 1u << TOTAL | 1u << POSITIONS, type) || !absent_from(n, SINK) ||
        gopt_attr_int(n->attrs, "smooth_softmax", 0) > 0 || !gopt_attr_int(n->attrs, "causal", 1) || !read_grouped(&f))
        return GOPT_OK;
    bool packed = !input(n, KEY), rotary = gopt_attr_int(n->attrs, "do_rotary", 0) != 0;
    f.q = n->in[QUERY];
    f.k = packed ? f.q : n->in[KEY];
    f.v = packed ? f.q : n->in[VALUE];
    if (packed && rotary) {
        f.q = without_values(&f);
        f.q = f.k = f.q ? rotate(&f, f.q, f.heads + f.shared) : NULL;
    } else if (rotary) {
        f.q = rotate(&f, f.q, f.heads);
        f.k = rotate(&f, f.k, f.shared);
    }
    return finish(&f, r, e);
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
    f->heads = f->shared = gopt_attr_int(n->attrs, "num_heads", 1);
    f->causal = looks_back(n);
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
    if (!all_known(n, 1u << PROJECTED_MASK, GOPT_DTYPE_F32) || n->n_in > PROJECTED_ADDEND + 1 || !read_projection(&f))
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
    if (is_ms(n, "GroupQueryAttention"))
        return lower_grouped(n, r, e);
    return is_ms(n, "Attention") ? lower_projected(n, r, e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, lower, e);
}

const gopt_pass gopt_pass_lower_attention = {
    .name = "lower_attention",
    .doc = "com.microsoft's attention operators become the one that reads heads where they lie",
    .revision = 3,
    .run = run,
};
