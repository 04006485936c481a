/* lower.c: graph to plan. Values get numbers, view nodes become aliases, every other node becomes a step with the first
 * kernel that the configuration allows. A step is late when a shape is known only at run time or no kernel fits: the
 * engine then chooses for the real shapes, with the reference as the last resort. */
#include "lower.h"

#include <string.h>

#include "build/cc.h"

/* One graph being lowered. */
typedef struct lowering {
    const gopt_graph *graph;
    const gopt_config *config;
    const gopt_compile_options *options;
    gopt_arena *arena; /* of the main plan */
    gopt_plan *plan;
    int *map; /* value id -> plan value, -1 */
    size_t cap_values, cap_steps;
    int step; /* the one being built: reading a value makes it live up to here */
    struct lowering *outer;
} lowering;

static gopt_status lower_graph(lowering *l, gopt_err *e);

static int new_value(lowering *l, const gopt_plan_value *v)
{
    gopt_plan *p = l->plan;
    gopt_plan_value *grown = gopt_arena_grow(l->arena, p->values, (size_t)p->n_values, &l->cap_values,
                                             (size_t)p->n_values + 1, sizeof *grown);
    if (!grown)
        return -1;
    p->values = grown;
    p->values[p->n_values] = *v;
    return p->n_values++;
}

static bool is_static(const gopt_fact *f)
{
    int64_t dim[GOPT_RANK_MAX];
    return gopt_fact_static(f, dim);
}

static void set_shape(gopt_plan_value *v, const gopt_fact *f)
{
    v->dtype = f->dtype;
    v->rank = f->rank;
    if (gopt_fact_static(f, v->dim)) {
        gopt_tensor t = {.dtype = v->dtype, .rank = v->rank};
        memcpy(t.dim, v->dim, sizeof t.dim);
        v->bytes = gopt_tensor_bytes(&t);
        return;
    }
    for (int i = 0; i < f->rank; i++)
        v->dim[i] = gopt_dim_is_const(f->dim[i]) ? f->dim[i].k : -1;
}

/* The memory that a value really lies in. */
static int root_of(const gopt_plan *p, int v)
{
    while (p->values[v].place == GOPT_PLACE_ALIAS)
        v = p->values[v].outer;
    return v;
}

static void read_at(lowering *l, int v)
{
    gopt_plan_value *root = &l->plan->values[root_of(l->plan, v)];
    root->last_step = GOPT_MAX(root->last_step, l->step);
}

static int value_of(lowering *l, const gopt_value *v);

/* A value of an enclosing graph: it must live as long as the enclosing step runs. */
static int outer_value(lowering *l, const gopt_value *v)
{
    int outer = value_of(l->outer, v);
    if (outer < 0)
        return -1;
    read_at(l->outer, outer);
    gopt_plan_value made = l->outer->plan->values[outer];
    made.place = GOPT_PLACE_OUTER;
    made.outer = outer;
    made.last_step = 0;
    return new_value(l, &made);
}

static int value_of(lowering *l, const gopt_value *v)
{
    if (l->map[v->id] >= 0)
        return l->map[v->id];
    int made;
    if (v->graph != l->graph && !v->fact.constant && l->outer) {
        made = outer_value(l, v);
    } else {
        gopt_plan_value p = {.name = v->name, .place = GOPT_PLACE_ARENA};
        set_shape(&p, &v->fact);
        if (v->fact.constant) {
            p.place = GOPT_PLACE_CONST;
            p.data = v->fact.constant->data;
        } else if (v->is_input) {
            p.place = GOPT_PLACE_INPUT;
        } else if (!is_static(&v->fact)) {
            p.place = GOPT_PLACE_DYNAMIC;
        }
        made = new_value(l, &p);
    }
    l->map[v->id] = made;
    return made;
}

static bool can_alias(const lowering *l, const gopt_node *n)
{
    if (!l->graph->family->decisions.alias_views || !(n->op->traits & GOPT_TRAIT_VIEW) || n->post.result >= 0)
        return false;
    for (int i = 1; i < n->n_out; i++)
        if (n->out[i])
            return false;
    return n->in[0] && n->out[0] && is_static(&n->in[0]->fact) && is_static(&n->out[0]->fact) &&
           n->in[0]->fact.dtype == n->out[0]->fact.dtype;
}

static gopt_status lower_alias(lowering *l, const gopt_node *n, gopt_err *e)
{
    int root = value_of(l, n->in[0]);
    if (root < 0)
        return gopt_oom(e);
    gopt_plan_value v = {.name = n->out[0]->name, .place = GOPT_PLACE_ALIAS, .outer = root_of(l->plan, root)};
    set_shape(&v, &n->out[0]->fact);
    int made = new_value(l, &v);
    l->map[n->out[0]->id] = made;
    return made < 0 ? gopt_oom(e) : GOPT_OK;
}

static void set_operand(gopt_operand *o, const gopt_plan_value *v)
{
    o->dtype = v->dtype;
    o->rank = v->rank;
    memcpy(o->dim, v->dim, sizeof o->dim);
    o->constant = v->place == GOPT_PLACE_CONST ? v->data : NULL;
}

static gopt_operand *operands_of(lowering *l, gopt_value *const *values, int n, int *index, bool *known)
{
    gopt_operand *o = GOPT_NEW(l->arena, gopt_operand, n);
    for (int i = 0; o && i < n; i++) {
        index[i] = -1;
        if (!values[i])
            continue;
        if ((index[i] = value_of(l, values[i])) < 0)
            return NULL;
        set_operand(&o[i], &l->plan->values[index[i]]);
        *known = *known && is_static(&values[i]->fact);
    }
    return o;
}

/* Whether it is wanted and possible. */
static bool may_generate(const gopt_graph *g, const gopt_group *group)
{
    const gopt_decisions *d = &g->family->decisions;
    bool pointwise = (group->op->traits & GOPT_TRAIT_POINTWISE) || group->n_anchor == 0;
    return d->generate && d->generate_knob[pointwise ? 0 : 1] && gopt_cc_find()->path[0];
}

static const gopt_kernel *first_fit(const gopt_group *g, const gopt_config *c, const gopt_target *t, bool generated)
{
    for (int i = 0; gopt_kernels[i]; i++) {
        const gopt_kernel *k = gopt_kernels[i];
        if (k->generated == generated && gopt_config_kernel_on(c, k) && k->fits(g, gopt_config_kernel_knobs(c, k), t))
            return k;
    }
    return NULL;
}

/* Where kernels may be generated, one that is made for the group comes before all that are not. */
static const gopt_kernel *select(const gopt_group *g, const gopt_config *c, const gopt_target *t, bool generate)
{
    const gopt_kernel *made = generate ? first_fit(g, c, t, true) : NULL;
    return made ? made : first_fit(g, c, t, false);
}

static void choose_kernel(lowering *l, gopt_step *s)
{
    const gopt_target *t = &l->options->target;
    const gopt_kernel *k = select(&s->group, l->config, t, may_generate(l->graph, &s->group));
    s->kernel = k;
    if (!k)
        return;
    s->knob = gopt_arena_copy(l->arena, gopt_config_kernel_knobs(l->config, k), (size_t)gopt_kernel_knob_count(k),
                              sizeof *s->knob);
    s->cost_s = s->knob && k->cost ? k->cost(&s->group, s->knob, t) : 0;
}

static gopt_status lower_bodies(lowering *l, const gopt_node *n, gopt_step *s, gopt_err *e)
{
    s->n_bodies = n->n_bodies;
    s->body = GOPT_NEW(l->arena, gopt_plan *, n->n_bodies);
    for (int i = 0; s->body && i < n->n_bodies; i++) {
        lowering inner = {
            .graph = n->body[i], .config = l->config, .options = l->options, .arena = l->arena, .outer = l};
        GOPT_TRY(lower_graph(&inner, e));
        s->body[i] = inner.plan;
        s->body[i]->parent = l->plan;
    }
    return l->arena->failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status lower_node(lowering *l, const gopt_node *n, gopt_err *e)
{
    gopt_plan *p = l->plan;
    gopt_step *s = &p->steps[p->n_steps];
    bool known = n->n_bodies == 0;
    l->step = p->n_steps;
    s->name = n->name;
    s->in = GOPT_NEW(l->arena, int, n->n_in);
    s->out = GOPT_NEW(l->arena, int, n->n_out);
    if (l->arena->failed)
        return gopt_oom(e);
    s->group =
        (gopt_group){.op = n->op, .attrs = n->attrs, .n_in = n->n_in, .n_anchor = n->n_anchor, .n_out = n->n_out};
    s->group.post = n->post.result >= 0 ? &n->post : NULL;
    s->group.in = operands_of(l, n->in, n->n_in, s->in, &known);
    s->group.out = operands_of(l, n->out, n->n_out, s->out, &known);
    if (!s->group.in || !s->group.out)
        return gopt_oom(e);
    for (int i = 0; i < n->n_in; i++)
        if (s->in[i] >= 0)
            read_at(l, s->in[i]);
    for (int i = 0; i < n->n_out; i++)
        if (s->out[i] >= 0)
            read_at(l, s->out[i]);
    s->origin = n->origin;
    s->n_origin = n->n_origin;
    s->pack_late = l->graph->family->decisions.prepack;
    if (known)
        choose_kernel(l, s);
    GOPT_TRY(lower_bodies(l, n, s, e));
    p->n_steps++;
    return l->arena->failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status lower_ends(lowering *l, gopt_err *e)
{
    gopt_plan *p = l->plan;
    const gopt_graph *g = l->graph;
    l->step = p->n_steps;
    for (int i = 0; i < g->n_outputs; i++) {
        int v = value_of(l, g->outputs[i]);
        if (v < 0)
            return gopt_oom(e);
        p->outputs[i] = v;
        read_at(l, v);
    }
    return GOPT_OK;
}

static gopt_status lower_graph(lowering *l, gopt_err *e)
{
    const gopt_graph *g = l->graph;
    if (!l->plan)
        l->plan = GOPT_NEW(l->arena, gopt_plan, 1);
    l->map = GOPT_NEW(l->arena, int, g->family->next_id);
    if (l->arena->failed)
        return gopt_oom(e);
    gopt_plan *p = l->plan;
    memset(l->map, -1, (size_t)g->family->next_id * sizeof *l->map);
    p->target = l->options->target;
    p->steps = GOPT_NEW(l->arena, gopt_step, g->n_nodes);
    p->inputs = GOPT_NEW(l->arena, int, g->n_inputs);
    p->outputs = GOPT_NEW(l->arena, int, g->n_outputs);
    if (l->arena->failed)
        return gopt_oom(e);
    p->n_inputs = g->n_inputs;
    p->n_outputs = g->n_outputs;
    for (int i = 0; i < g->n_inputs; i++)
        if ((p->inputs[i] = value_of(l, g->inputs[i])) < 0)
            return gopt_oom(e);
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        gopt_status s = can_alias(l, n) ? lower_alias(l, n, e) : lower_node(l, n, e);
        if (s)
            return gopt_within(e, s, "node %s (%s)", n->name, n->op->name);
    }
    return lower_ends(l, e);
}

static gopt_status make_ports(gopt_plan *p, const gopt_graph *g, gopt_err *e)
{
    p->ports = GOPT_NEW(&p->arena, gopt_port, g->n_inputs + g->n_outputs);
    if (!p->ports)
        return gopt_oom(e);
    for (int i = 0; i < g->n_inputs + g->n_outputs; i++) {
        const gopt_value *v = i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs];
        p->ports[i] = (gopt_port){.name = v->name, .dtype = v->fact.dtype, .rank = v->fact.rank};
        for (int d = 0; d < v->fact.rank; d++)
            p->ports[i].dim[d] = gopt_dim_is_const(v->fact.dim[d]) ? v->fact.dim[d].k : -1;
    }
    return GOPT_OK;
}

gopt_status gopt_lower(gopt_plan **out, const gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                       gopt_err *e)
{
    *out = NULL;
    gopt_plan *p = gopt_calloc(1, sizeof *p);
    if (!p)
        return gopt_oom(e);
    lowering l = {.graph = g, .config = c, .options = o, .arena = &p->arena, .plan = p};
    gopt_status s = lower_graph(&l, e);
    if (!s)
        s = make_ports(p, g, e);
    if (s) {
        gopt_plan_free(p);
        return s;
    }
    *out = p;
    return GOPT_OK;
}
