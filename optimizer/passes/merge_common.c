/* merge_common.c: computes once what is computed twice, and keeps equal constants once.
 *
 * Two nodes are merged when operator, attributes, post and operands are equal (operands of a commuting operator in
 * either order), the one that stays comes first and lies in the same graph or an enclosing one, and it has every output
 * that the other one's readers want. Random operators and control flow stay. Constants are equal bit by bit. An output
 * of the main graph keeps a node of its own when both nodes compute one. */
#include <string.h>

#include "base/hash.h"
#include "passes/rewrite.h"

typedef struct entry {
    uint64_t hash;
    gopt_node *node; /* one of the two */
    gopt_value *constant;
    int below; /* entry that has the same slot, -1 */
} entry;

/* What is visible where the walk stands: entries are added in order and leave in reverse, at the end of their body. */
typedef struct table {
    entry *at;
    int n;
    size_t cap;
    int *slot; /* latest entry by hash, -1 */
    size_t mask;
    unsigned char *met; /* constants by value id */
    gopt_arena arena;
} table;

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static int add(table *t, entry new)
{
    entry *at = gopt_arena_grow(&t->arena, t->at, (size_t)t->n, &t->cap, (size_t)t->n + 1, sizeof *at);
    if (!at)
        return -1;
    t->at = at;
    new.below = t->slot[new.hash & t->mask];
    at[t->n] = new;
    t->slot[new.hash & t->mask] = t->n;
    return t->n++;
}

static void leave(table *t, int n)
{
    while (t->n > n) {
        const entry *top = &t->at[--t->n];
        t->slot[top->hash & t->mask] = top->below;
    }
}

/* ---- constants ---- */

static uint64_t hash_constant(const gopt_tensor *v)
{
    enum { SAMPLE = 4096 }; /* bytes: enough to tell most apart; candidates are compared in full */
    size_t bytes = gopt_tensor_bytes(v);
    gopt_hash h = gopt_hash_bytes(v->data, GOPT_MIN(bytes, (size_t)SAMPLE));
    return mix(mix(h.lo, bytes), (uint64_t)v->dtype * 64 + (uint64_t)v->rank);
}

static bool equal_constants(const gopt_tensor *a, const gopt_tensor *b)
{
    size_t bytes = gopt_tensor_bytes(a);
    return a->dtype == b->dtype && gopt_dims_equal(a, b) && gopt_dtype_bits(a->dtype) > 0 &&
           (a->data == b->data || bytes == 0 || !memcmp(a->data, b->data, bytes));
}

/* Constants have no place in the order: the one that stays may as well belong to the main graph. */
static void make_visible(gopt_value *v)
{
    while (v->graph->parent)
        v->graph = v->graph->parent;
}

static bool merge_constant(table *t, gopt_value *v, gopt_pass_run *r)
{
    if (!gopt_value_is_const(v) || t->met[v->id])
        return true;
    t->met[v->id] = 1;
    uint64_t h = hash_constant(v->fact.constant);
    for (int i = t->slot[h & t->mask]; i >= 0; i = t->at[i].below) {
        gopt_value *same = t->at[i].hash == h ? t->at[i].constant : NULL;
        if (!same || !equal_constants(same->fact.constant, v->fact.constant))
            continue;
        if (!gopt_value_can_replace(v, same))
            return true;
        make_visible(same);
        gopt_value_replace(v, same);
        r->changed++;
        return true;
    }
    return add(t, (entry){.hash = h, .constant = v}) >= 0;
}

/* ---- nodes ---- */

static bool commutes(const gopt_node *n)
{
    return (n->op->traits & GOPT_TRAIT_COMMUTES) && n->n_anchor == 2;
}

static int id_of(const gopt_value *v)
{
    return v ? v->id : -1;
}

static uint64_t hash_node(const gopt_node *n)
{
    uint64_t h = mix((uint64_t)(uintptr_t)n->op, (uint64_t)n->attrs.n * 4096 + (uint64_t)n->n_in);
    if (commutes(n)) {
        uint64_t a = (uint64_t)id_of(n->in[0]), b = (uint64_t)id_of(n->in[1]);
        h = mix(h, a + b);
        h = mix(h, a ^ b);
    }
    for (int k = commutes(n) ? 2 : 0; k < n->n_in; k++)
        h = mix(h, (uint64_t)id_of(n->in[k]));
    return mix(h, (uint64_t)(n->post.result + 1));
}

static bool equal_operands(const gopt_node *a, const gopt_node *b)
{
    int first = 0;
    if (commutes(a)) {
        bool crossed = a->in[0] == b->in[1] && a->in[1] == b->in[0];
        if (!crossed && (a->in[0] != b->in[0] || a->in[1] != b->in[1]))
            return false;
        first = 2;
    }
    for (int k = first; k < a->n_in; k++)
        if (a->in[k] != b->in[k])
            return false;
    return true;
}

static bool equal_nodes(const gopt_node *a, const gopt_node *b)
{
    return a->op == b->op && a->n_in == b->n_in && a->n_anchor == b->n_anchor && a->n_out == b->n_out &&
           equal_operands(a, b) && gopt_attrs_equal(a->attrs, b->attrs) && gopt_expr_equal(&a->post, &b->post);
}

/* a computes all that readers of b want, and outputs of the model keep their names. */
static bool can_stand_for(const gopt_node *a, const gopt_node *b)
{
    for (int k = 0; k < a->n_out; k++)
        if (b->out[k] && (!a->out[k] || !gopt_value_can_replace(b->out[k], a->out[k])))
            return false;
    return true;
}

/* Of equal nodes only the first is kept in the table. */
static bool merge_node(table *t, gopt_node *n, gopt_pass_run *r)
{
    if (n->n_bodies || n->op->traits & (GOPT_TRAIT_RANDOM | GOPT_TRAIT_CONTROL))
        return true;
    uint64_t h = hash_node(n);
    for (int i = t->slot[h & t->mask]; i >= 0; i = t->at[i].below) {
        gopt_node *same = t->at[i].hash == h ? t->at[i].node : NULL;
        if (!same || !equal_nodes(same, n))
            continue;
        if (!can_stand_for(same, n))
            return true;
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k])
                gopt_value_replace(n->out[k], same->out[k]);
        gopt_node_remove(n);
        r->changed++;
        return true;
    }
    return add(t, (entry){.hash = h, .node = n}) >= 0;
}

static bool merge_constants(table *t, const gopt_graph *g, gopt_pass_run *r)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        for (int k = 0; k < n->n_in; k++)
            if (!merge_constant(t, n->in[k], r))
                return false;
        for (int b = 0; b < n->n_bodies; b++)
            if (!merge_constants(t, n->body[b], r))
                return false;
    }
    return true;
}

static bool merge_nodes(table *t, const gopt_graph *g, gopt_pass_run *r)
{
    int outer = t->n;
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        if (!merge_node(t, n, r))
            return false;
        for (int b = 0; b < n->n_bodies; b++)
            if (!merge_nodes(t, n->body[b], r))
                return false;
    }
    leave(t, outer);
    return true;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    size_t ids = (size_t)g->family->next_id, slots = 64;
    while (slots < ids)
        slots *= 2;
    table t = {.mask = slots - 1};
    t.slot = GOPT_NEW(&t.arena, int, slots);
    t.met = GOPT_NEW(&t.arena, unsigned char, ids);
    if (t.slot)
        memset(t.slot, -1, slots * sizeof *t.slot);
    bool ok = t.slot && t.met && merge_constants(&t, g, r) && merge_nodes(&t, g, r);
    gopt_arena_fini(&t.arena);
    return ok ? GOPT_OK : gopt_oom(e);
}

const gopt_pass gopt_pass_merge_common = {
    .name = "merge_common",
    .doc = "compute once what is computed twice, keep equal constants once",
    .revision = 1,
    .run = run,
};
