/* graph.h: the typed operator graph: values, nodes, bodies of control flow, and edits that keep them consistent.
 *
 * All graphs of a model (the main one and the bodies of If, Loop, Scan) live in one gopt_model_graph's arena. Values
 * are referred to by pointer; a body reads values of enclosing graphs directly. A node is also a group: its operator
 * (the anchor) followed by a pointwise expression `post`, so fusing is: extend `post`, append operands, drop a node. */
#ifndef GOPT_GRAPH_H
#define GOPT_GRAPH_H

#include "op.h"

typedef struct gopt_graph gopt_graph;
typedef struct gopt_node gopt_node;
typedef struct gopt_value gopt_value;

struct gopt_value {
    int id; /* unique in the model */
    const char *name;
    gopt_fact fact; /* fact.constant set: the value is a constant (an initializer or folded) */
    gopt_graph *graph;
    gopt_node *producer; /* NULL: graph input or constant */
    int output;          /* which output of the producer */
    gopt_node **users;   /* one entry per operand that reads it, in this graph or in bodies */
    int n_users;
    size_t cap_users;
    int n_results; /* how often it is an output of its graph (or of a body that hands it out) */
    bool is_input; /* of its graph */
};

struct gopt_node {
    int id;
    const char *name; /* unique in the model, made up where the file has none */
    const gopt_op *op;
    gopt_attrs attrs;
    gopt_graph *graph;
    gopt_value **in; /* NULL: absent. in[0..n_anchor) belong to op, the rest is read by post only */
    int n_in, n_anchor;
    size_t cap_in;
    gopt_value **out; /* NULL: not wanted */
    int n_out;
    gopt_graph **body;
    int n_bodies;
    gopt_expr post; /* post.result < 0: none. LOAD k reads in[k] (broadcast to the result), ACC is op's output 0 */
    int *origin;    /* imported nodes that this node does the work of, ascending */
    int n_origin;
    int index;       /* in graph->nodes; exact after gopt_graph_sort, of the right order also between edits */
    bool dead;       /* removed; gopt_graph_compact forgets it */
    gopt_node *link; /* for lists of whoever walks the graph; NULL between calls */
};

/* Decisions that passes leave for the compiler; all zero is the baseline. */
typedef struct gopt_decisions {
    int reuse;            /* arena planner (optimizer/memory.h); 0: none */
    bool in_place;        /* results may overwrite operands */
    bool alias_views;     /* Reshape and its like move no data */
    bool prepack;         /* constant operands are laid out as kernels want them at compile time */
    bool generate;        /* kernels may be generated */
    int generate_knob[8]; /* values of the codegen pass's knobs */
} gopt_decisions;

/* What the graphs of one model share. */
typedef struct gopt_family {
    gopt_arena arena;
    gopt_dims *dims;
    int next_id;       /* of values and nodes */
    int64_t next_name; /* made-up names are "~1", "~2", ... */
    int imported_nodes;
    const char **imported_name; /* by origin id: node name, then operator */
    const char **imported_op;
    unsigned char *touched; /* by origin id: some edit since the last gopt_graph_touched_clear changed it. NULL until
                               the first edit */
    int n_touched;
    gopt_decisions decisions;
    void *backing; /* what constants' data are borrowed from (mapped files); see import.h */
    void (*backing_free)(void *backing);
    void (*backing_drop)(void *backing); /* gives its memory back until it is read again */
} gopt_family;

struct gopt_graph {
    gopt_family *family;
    const char *name;
    gopt_graph *parent; /* NULL: the main graph */
    gopt_node **nodes;  /* in an order in which operands come first */
    int n_nodes;
    size_t cap_nodes;
    gopt_value **inputs, **outputs;
    int n_inputs, n_outputs;
    size_t cap_inputs, cap_outputs;
};

/* ---- life ---- */
gopt_status gopt_graph_new(gopt_graph **out, gopt_err *e); /* an empty main graph with a family of its own */
gopt_graph *gopt_graph_new_body(gopt_graph *parent);       /* NULL and family->arena.failed without memory */
void gopt_graph_free(gopt_graph *main_graph);              /* the whole family; NULL is fine */

/* ---- building; NULL and family->arena.failed without memory ---- */
gopt_value *gopt_graph_value(gopt_graph *g, const char *name); /* a new value; a NULL name is made up, unique */
gopt_value *gopt_graph_input(gopt_graph *g, const char *name, const gopt_fact *f);
gopt_value *gopt_graph_constant(gopt_graph *g, const char *name, const gopt_tensor *t); /* t must outlive the graph */
bool gopt_graph_output(gopt_graph *g, gopt_value *v);
/* A node at the end of g (or before `before`). n_out fresh values are made. Origins are the union of those of
 * from[0..n_from). */
gopt_node *gopt_graph_node(gopt_graph *g, const char *name, const gopt_op *op, gopt_attrs attrs, gopt_value *const *in,
                           int n_in, int n_out, gopt_node *before, gopt_node *const *from, int n_from);

/* ---- edits; they keep users, results and touched marks right ---- */
bool gopt_node_set_in(gopt_node *n, int k, gopt_value *v); /* v may be NULL */
int gopt_node_add_in(gopt_node *n, gopt_value *v); /* appends an operand for post; its index, -1 without memory */
/* Everywhere: operands, outputs of graphs. An output of the main graph keeps its name: `by` takes it over. */
void gopt_value_replace(gopt_value *old, gopt_value *by);
/* Whether that is possible: false when old is an output of the main graph and `by` already has a name that users know
 * (an input or another output) or is a constant or another graph's. */
bool gopt_value_can_replace(const gopt_value *old, const gopt_value *by);
void gopt_node_remove(gopt_node *n); /* its outputs must have no readers */
/* Makes n take over m's output 0 and origins (fusion): every reader of m's output reads n's output 0 from then on,
 * keeps m's value's name where that is a graph output; m is removed. */
bool gopt_node_absorb(gopt_node *n, gopt_node *m);
bool gopt_node_add_origins(gopt_node *n, const gopt_node *m); /* n does m's work, too */
/* A node of another operator takes old's place, name and outputs; its origins are those of old and of from[0..n_from).
 * old is removed. NULL without memory. */
gopt_node *gopt_node_replace(gopt_node *old, const gopt_op *op, gopt_attrs attrs, gopt_value *const *in, int n_in,
                             gopt_node *const *from, int n_from);
/* Moves the nodes of n's body b before n; what the body would hand out goes to the readers of n's outputs; n is
 * removed. The body must have no inputs. Where an output's name cannot be kept an Identity stands in. */
bool gopt_node_inline(gopt_node *n, int b);
void gopt_graph_compact(gopt_graph *g);                  /* forgets dead nodes; bodies too */
gopt_status gopt_graph_sort(gopt_graph *g, gopt_err *e); /* stable topological order; EINPUT on a cycle; bodies too */
void gopt_graph_touched_clear(gopt_family *f);
/* Makes names unique in the model: sibling bodies may share them in a file. Names of the main graph stay. Importers
 * call it once, at the end. */
gopt_status gopt_graph_unique_names(gopt_graph *main_graph, gopt_err *e);

/* ---- questions ---- */
bool gopt_value_is_const(const gopt_value *v);   /* v may be NULL: false */
bool gopt_value_single_use(const gopt_value *v); /* one reader, no graph output */
/* The value of a constant with one element, whatever its rank; false otherwise. */
bool gopt_value_scalar(const gopt_value *v, double *out);
int gopt_graph_count(const gopt_graph *g);             /* live nodes, bodies included */
size_t gopt_graph_constant_bytes(const gopt_graph *g); /* of constants that some node reads, bodies included */

/* Invariants: operands defined before use, users and producers agree, facts present, names unique, post loads in range.
 * EBUG naming the node; run after every pass. */
gopt_status gopt_graph_check(const gopt_graph *g, gopt_err *e);

/* ---- text (dump.c): stable, read back exactly; the form of fixtures ---- */
void gopt_graph_print(const gopt_graph *g, gopt_text *t);
gopt_status gopt_graph_read(gopt_graph **out, const char *text, gopt_err *e); /* EINPUT with the line number */

/* ---- inference (infer.c) ---- */
gopt_status gopt_node_infer(gopt_node *n, gopt_err *e);   /* facts of n's outputs, through op->infer and post */
gopt_status gopt_graph_infer(gopt_graph *g, gopt_err *e); /* all nodes in order, bodies too */
/* Binds symbols in the main graph's inputs (and wherever they occur), then infers all again. A symbol that no input
 * has: EUSAGE naming the ones there are. */
gopt_status gopt_graph_bind(gopt_graph *g, const char *const *names, const int64_t *values, int n, gopt_err *e);
/* Names of the symbols of the main graph's inputs; unnamed unknown dimensions were given names on import. */
int gopt_graph_symbols(const gopt_graph *g, const char **names, int max);

/* ---- reference execution (eval.c): op by op in double, no kernels, no plan ---- */
/* in[k] for the k-th graph input; out[] filled with tensors whose data lie in `a`. deadline as in gopt_exec. The graph
 * may have symbolic dims; it is only read. */
gopt_status gopt_graph_eval(const gopt_graph *g, const gopt_tensor *const *in, gopt_tensor *out, gopt_arena *a,
                            int64_t deadline, gopt_err *e);
/* The same with every larger float32 result moved by up to 4 units in the last place, at random from the seed `noise`
 * (0: none): how far its outputs are from the exact ones is what any correct float32 implementation may show. */
gopt_status gopt_graph_eval_noisy(const gopt_graph *g, const gopt_tensor *const *in, gopt_tensor *out, gopt_arena *a,
                                  int64_t deadline, uint64_t noise, gopt_err *e);
/* One node whose operands are all constants (constant folding). max_bytes bounds every output: ELIMIT. */
gopt_status gopt_node_eval(const gopt_node *n, gopt_tensor *out, gopt_arena *a, int64_t deadline, size_t max_bytes,
                           gopt_err *e);

#endif
