/* recognize_attention.c: finds attention where exporters have written it out, and makes it gopt Attention, which reads
 * heads where they lie (kernels/ref/gopt_attention.c).
 *
 *     s = q k^T, times and divided by scalars, softcap * tanh(s / softcap)
 *     s = where(keep, s, fill), or s * keep for a constant keep of 0 and 1
 *     s = s + mask, s - mask, more than once
 *     p = softmax(s), where(isnan(p), 0, p)
 *     y = p v
 *
 * Every part but the products and the softmax may be missing. Scalars may also stand before the product; k^T, v and q
 * are followed through transposes, views, splits and slices, heads repeated for several of queries, and the
 * concatenation with those of the past; masks lose an Expand; transposes of y are undone. Legal when all is float32, or
 * all float16 or bfloat16 but the softmax, which may be cast to float32 and back, of known shape, nothing else reads
 * what lies between (concatenations apart, which become outputs), masks broadcast to the scores without enlarging them,
 * softmax runs along the last axis, and neither keys nor values are constant (those products are better off with packed
 * constants). Results differ by rounding. Half precision rounds every score after every step, which large scores
 * show, and so does the attention: there a graph is left alone whose steps are others, and factors of q and k stay. */
#include <math.h>
#include <string.h>

#include "passes/attention_match.h"
#include "passes/drop_identity.h"

/* ---- shapes ---- */

/* (batch, heads) of a value of the scores' rank: matrices alone are one head, a batch of them that many. */
static void leading(const gopt_attention_match *a, const int64_t *dim, gopt_heads_shape *s)
{
    s->batch = a->rank == 4 ? dim[0] : 1;
    s->heads = a->rank == 4 ? dim[1] : a->rank == 3 ? dim[0] : 1;
}

static bool read_shapes(gopt_attention_match *a)
{
    int64_t q[GOPT_RANK_MAX], k[GOPT_RANK_MAX], v[GOPT_RANK_MAX], y[GOPT_RANK_MAX];
    int r = a->rank;
    bool turned = gopt_attr_int(a->product->attrs, "transB", 0) != 0;
    if (!gopt_fact_static(&a->scores->fact, a->dim) || !gopt_fact_static(&a->product->in[0]->fact, q) ||
        !gopt_fact_static(&a->product->in[1]->fact, k) || a->last->in[1]->fact.rank != r ||
        !gopt_fact_static(&a->last->in[1]->fact, v) || !gopt_fact_static(&a->last->out[0]->fact, y))
        return false;
    for (int d = 0; d < r - 2; d++)
        if (q[d] != a->dim[d] || k[d] != a->dim[d] || v[d] != a->dim[d])
            return false;
    leading(a, a->dim, &a->q);
    a->k = a->v = a->q;
    a->q.length = a->dim[r - 2];
    a->k.length = a->v.length = a->dim[r - 1];
    a->q.size = a->k.size = q[r - 1];
    a->v.size = v[r - 1];
    for (int d = 0; d < r; d++)
        if (a->dim[d] < 1)
            return false;
    return a->q.size > 0 && a->v.size > 0 && k[turned ? r - 1 : r - 2] == a->k.size;
}

/* ---- the past ---- */

/* Keys (0) and values (1): what is new, and where there is one, what they are concatenated with. */
typedef struct side {
    gopt_node *concat;
    gopt_value *past, *now;
    bool turned;
    gopt_heads_shape shape; /* of what is new */
    int64_t past_length;
} side;

static void split_past(const gopt_attention_match *a, gopt_value *v, bool turned, gopt_heads_shape shape, side *s)
{
    static const int64_t turn[] = {0, 1, 3, 2};
    int64_t dim[GOPT_RANK_MAX];
    int axis;
    *s = (side){.now = gopt_heads_ungroup(v, &shape, &turned), .turned = turned};
    s->shape = shape;
    gopt_node *n = s->now->producer;
    bool turns = turned && gopt_heads_is_transpose(n, turn, 4);
    if (turns)
        n = n->in[0]->producer;
    if (!gopt_rewrite_is(n, "Concat") || n->graph != a->g || n->n_in != 2 || n->in[0]->fact.rank != 4 ||
        n->in[0]->fact.dtype != a->type || !gopt_fact_static(&n->in[0]->fact, dim) ||
        gopt_axis(gopt_attr_int(n->attrs, "axis", 0), 4, &axis, NULL) || axis != (turned && !turns ? 3 : 2))
        return;
    s->turned = turned && !turns;
    s->concat = n;
    s->past = n->in[0];
    s->now = n->in[1];
    s->past_length = dim[axis];
    s->shape.length -= dim[axis];
}

/* Whether v is computed, or may be, from what `from` computes. */
static bool depends(const gopt_value *v, const gopt_node *from, unsigned char *met, int depth)
{
    const gopt_node *n = v ? v->producer : NULL;
    if (!n || n->graph != from->graph || n->index < from->index)
        return false;
    if (n == from || depth == 0)
        return true;
    if (met[v->id])
        return false;
    met[v->id] = 1;
    for (int k = 0; k < n->n_in; k++)
        if (depends(n->in[k], from, met, depth - 1))
            return true;
    return n->n_bodies > 0; /* what a body reads is not followed */
}

/* The concatenations come out of the attention: nothing that goes in may depend on them. */
static gopt_status can_take_past(const gopt_attention_match *a, const side *s, bool *can, gopt_err *e)
{
    enum { DEPTH = 200 };
    *can = s[0].concat && s[1].concat && s[0].concat != s[1].concat && s[0].past_length == s[1].past_length &&
           s[0].shape.length > 0 && s[0].shape.heads == s[1].shape.heads;
    if (!*can)
        return GOPT_OK;
    const gopt_value *in[] = {a->product->in[0], a->keep,  a->mask[0], a->mask[1], a->mask[2],
                              s[0].past,         s[0].now, s[1].past,  s[1].now};
    size_t values = (size_t)a->g->family->next_id;
    unsigned char *met = gopt_calloc(values, 1);
    if (!met)
        return gopt_oom(e);
    for (int i = 0; i < 2; i++) {
        memset(met, 0, values);
        for (int k = 0; k < GOPT_COUNT(in); k++)
            *can &= !depends(in[k], s[i].concat, met, DEPTH);
    }
    gopt_free(met);
    return GOPT_OK;
}

static gopt_value *past_operand(const side *s, gopt_node *before)
{
    gopt_heads_shape shape = s->shape;
    shape.length = s->past_length;
    gopt_heads_found f = gopt_heads_find(s->past, shape, s->turned, false, false);
    f.v = f.columns ? s->past : f.v;
    f.turned = f.columns ? s->turned && shape.length > 1 : f.turned;
    f.columns = false;
    return gopt_heads_operand(&f, before);
}

/* What v is half `which` of, when that is a whole cache of keys and values. */
static gopt_value *cache_of(const gopt_attention_match *a, gopt_value *v, int which)
{
    const gopt_node *n = gopt_rewrite_producer(v, "Gather");
    double index;
    if (!n || n->graph != a->g || n->in[0]->fact.rank != 5 || gopt_attr_int(n->attrs, "axis", 0) ||
        !gopt_value_scalar(n->in[1], &index) || index != which || !gopt_dim_is_const(n->in[0]->fact.dim[0]) ||
        n->in[0]->fact.dim[0].k != 2 || v->fact.rank != 4)
        return NULL;
    return n->in[0];
}

/* Both from one cache: it is read in place. */
static void join_caches(const gopt_attention_match *a, gopt_value **keys, gopt_value **values)
{
    gopt_value *cache = cache_of(a, *keys, 0);
    if (cache && cache == cache_of(a, *values, 1))
        *keys = *values = cache;
}

/* ---- putting it together ---- */

typedef struct operands {
    gopt_value *in[7];
    gopt_attrs attrs;
} operands;

/* A constant mask, negated, or as one of bool. */
static gopt_value *constant_mask(const gopt_attention_match *a, const gopt_value *v, gopt_dtype d, bool invert)
{
    const gopt_tensor *from = v->fact.constant;
    gopt_tensor *t = gopt_tensor_new(&a->g->family->arena, d, from->rank, from->dim);
    for (int64_t i = 0; t && i < gopt_tensor_count(t); i++) {
        double x = gopt_tensor_get(from, i);
        gopt_tensor_set(t, i, d == GOPT_DTYPE_BOOL ? (x != 0) != invert : -x);
    }
    return t ? gopt_graph_constant(a->g, NULL, t) : NULL;
}

/* What an Expand, which broadcasting makes needless, has expanded. */
static gopt_value *unexpanded(const gopt_attention_match *a, gopt_value *v)
{
    gopt_node *n = gopt_rewrite_producer(v, "Expand");
    while (n && n->graph == a->g && n->in[0]->fact.rank > 0 &&
           gopt_rewrite_broadcasts(&n->in[0]->fact, &a->scores->fact)) {
        v = n->in[0];
        n = gopt_rewrite_producer(v, "Expand");
    }
    return v;
}

static gopt_value *sum_of_masks(const gopt_attention_match *a)
{
    gopt_value *sum = NULL;
    for (int i = 0; i < a->n_masks; i++) {
        gopt_value *v = unexpanded(a, a->mask[i]);
        if (a->minus[i] && gopt_value_is_const(v))
            v = constant_mask(a, v, a->type, false);
        else if (a->minus[i])
            v = gopt_heads_node(a->last, "Neg", (gopt_attrs){0}, &v, 1);
        if (v && i > 0)
            v = gopt_heads_node(a->last, "Add", (gopt_attrs){0}, (gopt_value *[]){v, sum}, 2);
        if (!v)
            return NULL;
        sum = v;
    }
    return sum;
}

static gopt_value *keep_operand(const gopt_attention_match *a)
{
    gopt_value *keep = unexpanded(a, a->keep);
    if (gopt_value_is_const(keep))
        return constant_mask(a, keep, GOPT_DTYPE_BOOL, a->inverted);
    return a->inverted ? gopt_heads_node(a->last, "Not", (gopt_attrs){0}, &keep, 1) : keep;
}

static bool make_masks(const gopt_attention_match *a, operands *o)
{
    o->in[3] = sum_of_masks(a);
    o->in[6] = a->keep ? keep_operand(a) : NULL;
    return (a->n_masks == 0 || o->in[3]) && (!a->keep || o->in[6]);
}

/* Where queries, keys and values lie; groups of heads only when all have the same. */
static void find_operands(const gopt_attention_match *a, const side *s, bool past, bool grouped, gopt_heads_found *f)
{
    bool scalable = !gopt_dtype_is_half(a->type);
    f[0] = gopt_heads_find(a->product->in[0], a->q, false, scalable, grouped);
    f[1] = gopt_heads_find(s[0].now, s[0].shape, s[0].turned, scalable && !past, grouped);
    f[2] = gopt_heads_find(s[1].now, s[1].shape, s[1].turned, false, grouped);
    if (grouped && (f[0].group != f[1].group || f[0].group != f[2].group || f[0].group == a->q.heads))
        find_operands(a, s, past, false, f);
}

/* A mask with a dimension for heads of all groups gets one for each. */
static bool regroup(const gopt_attention_match *a, int64_t group, gopt_value **mask)
{
    int64_t dim[GOPT_RANK_MAX];
    if (!*mask || group == a->q.heads || (*mask)->fact.rank != 3 || !gopt_fact_static(&(*mask)->fact, dim) ||
        dim[0] == 1)
        return true;
    *mask = gopt_heads_reshape(*mask, (int64_t[]){dim[0] / group, group, dim[1], dim[2]}, 4, a->last);
    return *mask;
}

static void make_scale(const gopt_attention_match *a, double of_operands, gopt_attrs *attrs)
{
    bool half = gopt_dtype_is_half(a->type);
    double inner = a->scale * a->alpha * of_operands; /* of the argument of tanh where there is a cap */
    double scale = a->softcap != 0 ? inner * a->softcap : inner;
    *attrs = gopt_rewrite_attr_float(a->g, *attrs, "scale", half ? a->alpha : scale);
    if (half && a->factors > 0)
        *attrs = gopt_rewrite_attr_float(a->g, *attrs, "factor", a->scale);
}

static void make_attributes(const gopt_attention_match *a, const side *s, const gopt_heads_found *f, gopt_attrs *attrs)
{
    bool grouped = f[0].group < a->q.heads;
    const struct {
        const char *name;
        int64_t value;
    } ints[] = {{"q_num_heads", grouped ? f[0].group : a->q.heads},
                {"kv_num_heads", grouped ? f[0].group : s[0].shape.heads},
                {"head_size", a->q.size},
                {"v_head_size", a->v.size},
                {"q_first", f[0].first},
                {"k_first", f[1].first},
                {"v_first", f[2].first},
                {"is_causal", a->causal},
                {"hidden_replaces", a->replaces},
                {"keep_scales", a->keep && a->keep_scales},
                {"zero_nan", a->zero_nan},
                {"rounds", a->type == GOPT_DTYPE_F16    ? 1
                           : a->type == GOPT_DTYPE_BF16 ? 2
                                                        : 0},
                {"length_first", grouped}};
    for (int i = 0; i < GOPT_COUNT(ints); i++)
        if (ints[i].value)
            *attrs = gopt_rewrite_attr_int(a->g, *attrs, ints[i].name, ints[i].value);
    make_scale(a, f[0].factor * f[1].factor, attrs);
    if (a->softcap != 0)
        *attrs = gopt_rewrite_attr_float(a->g, *attrs, "softcap", a->softcap);
    if (a->causal && a->hidden != -INFINITY)
        *attrs = gopt_rewrite_attr_float(a->g, *attrs, "hidden", a->hidden);
    if (a->keep && !a->keep_scales && a->fill != -INFINITY)
        *attrs = gopt_rewrite_attr_float(a->g, *attrs, "fill", a->fill);
}

static bool make_operands(const gopt_attention_match *a, const side *s, bool past, operands *o)
{
    gopt_heads_found f[3];
    find_operands(a, s, past, true, f);
    for (int i = 0; i < 3; i++)
        if (!(o->in[i] = gopt_heads_operand(&f[i], a->last)))
            return false;
    for (int i = 0; i < 2 && past; i++)
        if (!(o->in[4 + i] = past_operand(&s[i], a->last)))
            return false;
    if (past)
        join_caches(a, &o->in[4], &o->in[5]);
    make_attributes(a, s, f, &o->attrs);
    return make_masks(a, o) && regroup(a, f[0].group, &o->in[3]) && regroup(a, f[0].group, &o->in[6]);
}

/* The concatenation's readers get it from the attention. */
static bool hand_over(const side *s, gopt_node *by, int output, gopt_node *before)
{
    static const int64_t turn[] = {0, 1, 3, 2};
    gopt_value *old = s->concat->out[0], *v = by->out[output];
    for (int i = old->n_users - 1; i >= 0 && s->turned; i--)
        if (i < old->n_users && old->users[i]->graph == by->graph && gopt_heads_is_transpose(old->users[i], turn, 4))
            gopt_rewrite_bypass(old->users[i], v);
    if (old->n_users == 0 && old->n_results == 0)
        return true;
    if (s->turned)
        v = gopt_heads_transpose(v, turn, 4, before);
    if (v)
        gopt_value_replace(old, v);
    return v;
}

/* The transpose that alone reads y and brings heads side by side, else what computes y. */
static gopt_node *root_of(const gopt_attention_match *a)
{
    static const int64_t back[] = {0, 2, 1, 3}, back3[] = {1, 0, 2};
    gopt_node *n = gopt_rewrite_sole_reader(a->last->out[0]);
    bool beside = n && n->graph == a->g &&
                  (gopt_heads_is_transpose(n, back, 4) || (gopt_heads_is_transpose(n, back3, 3) && a->q.batch == 1));
    return beside ? n : a->last;
}

/* y (batch, queries, heads * size) in the place of root's output. */
static bool put_result(gopt_attention_match *a, gopt_node *root, gopt_value *y)
{
    static const int64_t turn[] = {0, 2, 1, 3};
    int64_t dim[GOPT_RANK_MAX];
    gopt_value *old = root->out[0];
    gopt_fact_static(&old->fact, dim);
    if (root == a->last && a->q.length > 1 && a->q.heads > 1) {
        y = gopt_heads_reshape(y, (int64_t[]){a->q.batch, a->q.length, a->q.heads, a->v.size}, 4, root);
        y = y ? gopt_heads_transpose(y, turn, 4, root) : NULL;
    }
    gopt_value *shape = y ? gopt_rewrite_ints(a->g, dim, old->fact.rank) : NULL;
    if (!shape || !gopt_match_replace(&a->match, root, gopt_op_find("", "Reshape"), (gopt_attrs){0},
                                      (gopt_value *[]){y, shape}, 2))
        return false;
    gopt_node *view = old->producer, *reader = gopt_rewrite_sole_reader(old);
    if (view && view->in[0]->producer && gopt_rewrite_same_shape(&view->in[0]->fact, &old->fact) &&
        gopt_rewrite_bypass(view, view->in[0]))
        return true;
    if (reader)
        gopt_drop_identity_reshape(reader);
    return true;
}

/* Keys and values without a past; repeated heads are used in place when both are. */
static void without_past(const gopt_attention_match *a, bool turned, side *s)
{
    gopt_heads_shape k = a->k, v = a->v;
    bool k_turned = turned, v_turned = false;
    gopt_value *key = gopt_heads_ungroup(a->product->in[1], &k, &k_turned);
    gopt_value *value = gopt_heads_ungroup(a->last->in[1], &v, &v_turned);
    bool shared = k.heads == v.heads;
    s[0] = (side){.now = key, .turned = k_turned, .shape = k};
    s[1] = (side){.now = value, .turned = v_turned, .shape = v};
    if (!shared) {
        s[0] = (side){.now = a->product->in[1], .turned = turned, .shape = a->k};
        s[1] = (side){.now = a->last->in[1], .shape = a->v};
    }
}

static gopt_status put(gopt_attention_match *a, gopt_pass_run *r, gopt_err *e)
{
    side s[2];
    operands o = {0};
    gopt_node *root = root_of(a);
    bool past, turned = !gopt_attr_int(a->product->attrs, "transB", 0);
    int n_in = GOPT_COUNT(o.in);
    gopt_match_add(&a->match, root);
    if (!gopt_match_closed(&a->match, root))
        return GOPT_OK;
    split_past(a, a->product->in[1], turned, a->k, &s[0]);
    split_past(a, a->last->in[1], false, a->v, &s[1]);
    GOPT_TRY(can_take_past(a, s, &past, e));
    if (!past)
        without_past(a, turned, s);
    gopt_attention_match_causal(a, past ? s[0].past_length : 0);
    if (!make_operands(a, s, past, &o))
        return gopt_oom(e);
    while (!o.in[n_in - 1])
        n_in--;
    gopt_node *n = gopt_graph_node(a->g, NULL, gopt_op_find("gopt", "Attention"), o.attrs, o.in, n_in, past ? 3 : 1,
                                   root, a->match.node, a->match.n);
    if (!n)
        return gopt_oom(e);
    GOPT_TRY(gopt_node_infer(n, e));
    if ((past && (!hand_over(&s[0], n, 1, root) || !hand_over(&s[1], n, 2, root))) || !put_result(a, root, n->out[0]))
        return gopt_oom(e);
    for (int i = 0; i < 2 && past; i++)
        gopt_rewrite_drop(s[i].concat);
    r->changed++;
    return GOPT_OK;
}

/* where(isnan(p), 0, p) behind the softmax, as PyTorch 2.5 writes it; NULL when there is none. */
static gopt_node *without_nan(gopt_attention_match *a, const gopt_value *p)
{
    double zero;
    if (p->n_users != 2 || p->n_results)
        return NULL;
    int k = gopt_rewrite_is(p->users[0], "IsNaN") ? 0 : 1;
    gopt_node *test = p->users[k], *where = p->users[1 - k];
    if (!gopt_rewrite_is(test, "IsNaN") || !gopt_rewrite_is(where, "Where") || where->in[0] != test->out[0] ||
        where->in[2] != p || !gopt_value_scalar(where->in[1], &zero) || zero != 0 ||
        !gopt_rewrite_same_shape(&where->out[0]->fact, &p->fact))
        return NULL;
    gopt_match_add(&a->match, test);
    gopt_match_add(&a->match, where);
    a->zero_nan = true;
    return where;
}

/* Weights of float32 as the values are. */
static const gopt_value *cast_back(gopt_attention_match *a, const gopt_value *p)
{
    gopt_node *cast = gopt_rewrite_sole_reader(p);
    if (!gopt_rewrite_is(cast, "Cast") || cast->out[0]->fact.dtype != a->type)
        return NULL;
    gopt_match_add(&a->match, cast);
    return cast->out[0];
}

/* From the softmax to the product with the values. */
static bool climb(gopt_attention_match *a, gopt_node *softmax)
{
    int axis;
    gopt_match_add(&a->match, softmax);
    gopt_node *where = without_nan(a, softmax->out[0]);
    const gopt_value *p = where ? where->out[0] : softmax->out[0];
    if (p->fact.dtype != a->type && !(p = cast_back(a, p)))
        return false;
    a->last = gopt_rewrite_sole_reader(p);
    if (a->rank < 2 || a->rank > 4 || gopt_axis(gopt_attr_int(softmax->attrs, "axis", -1), a->rank, &axis, NULL) ||
        axis != a->rank - 1 || !gopt_rewrite_is(a->last, "MatMul") || a->last->graph != a->g || a->last->in[0] != p ||
        a->last->in[1] == p)
        return false;
    gopt_match_add(&a->match, a->last);
    return true;
}

static gopt_status recognize(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    gopt_dtype d = n->out[0]->fact.dtype;
    if (!gopt_rewrite_is(n, "Softmax") || (d != GOPT_DTYPE_F32 && !gopt_dtype_is_half(d)))
        return GOPT_OK;
    gopt_attention_match a = {.g = n->graph, .scores = n->out[0], .type = d, .rank = n->out[0]->fact.rank, .scale = 1};
    if (!gopt_attention_match_scores(&a, n->in[0]) || !climb(&a, n) || !read_shapes(&a) ||
        gopt_value_is_const(a.product->in[1]) || gopt_value_is_const(a.last->in[1]))
        return GOPT_OK;
    return put(&a, r, e);
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, recognize, e);
}

const gopt_pass gopt_pass_recognize_attention = {
    .name = "recognize_attention",
    .doc = "find attention where it is written out; heads are read where they lie",
    .revision = 3,
    .run = run,
};
