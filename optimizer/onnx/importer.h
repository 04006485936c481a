/* importer.h: the state of one import, and the steps that its files contribute. Private to optimizer/onnx.
 *
 *     file -> message (wire.h) -> survey -> graphs -> nodes -> drafts -> upgrade -> graph nodes
 *
 * A scope maps names to values: one per graph, and one per call of a local function, whose nodes are made in the
 * caller's graph. All values that nodes of a scope define are made before its nodes, so the order of nodes in the file
 * is free. */
#ifndef GOPT_ONNX_IMPORTER_H
#define GOPT_ONNX_IMPORTER_H

#include "graph.h"
#include "name_map.h"
#include "onnx/tensor_proto.h"

enum {
    GOPT_ONNX_NESTING_MAX = 32,      /* subgraphs in subgraphs, functions in functions */
    GOPT_ONNX_NODES_MAX = 1 << 20,   /* of the whole model with all functions inlined */
    GOPT_ONNX_ATTRIBUTES_MAX = 1000, /* of one node */
    GOPT_ONNX_IR_MAX = 14,
    GOPT_ONNX_OPSET_MAX = 28 /* of ai.onnx */
};

/* A local function. */
typedef struct gopt_onnx_function {
    const Onnx__FunctionProto *proto;
    Onnx__AttributeProto **defaults; /* parameters that have a default */
    int n_defaults;
    int64_t nodes; /* when all that it calls is inlined; < 0: not known yet */
    int calls;     /* levels of functions below it */
    bool open;     /* being measured */
} gopt_onnx_function;

/* What nodes of the model, or of one call of a function, see beside names. */
typedef struct gopt_onnx_frame {
    const struct gopt_onnx_frame
        *model;         /* the model's frame, for domains that a function does not import; NULL there */
    const char *prefix; /* of names in this call: "call/" */
    Onnx__OperatorSetIdProto **opset;
    size_t n_opset;
    Onnx__AttributeProto **attr; /* arguments, resolved; found by name */
    int n_attr;
} gopt_onnx_frame;

typedef struct gopt_onnx_scope {
    const struct gopt_onnx_scope *outer; /* NULL: main graph or function */
    const gopt_onnx_frame *frame;
    gopt_graph *graph;
    gopt_name_map names;     /* -> gopt_value */
    gopt_name_map constants; /* those of them that Constant nodes define */
    gopt_name_map results;   /* of a function: output names -> the caller's values */
    gopt_name_map hints;     /* -> Onnx__ValueInfoProto: declared types of computed values */
} gopt_onnx_scope;

struct gopt_onnx_draft; /* draft.h */

typedef struct gopt_onnx_importer {
    Onnx__ModelProto *model;
    gopt_family *family;
    gopt_arena scratch; /* messages and all else that ends with the import */
    gopt_mapping file;
    bool file_given; /* to the family: it unmaps it */
    gopt_onnx_folder folder;
    gopt_onnx_source source;
    gopt_onnx_frame frame; /* the model's */
    gopt_onnx_function *functions;
    int n_functions;
    gopt_name_map function_of;   /* "domain name overload" -> function */
    gopt_name_map file_nodes;    /* names of nodes in the file: not used for made-up ones */
    gopt_name_map symbols;       /* names of dimensions of inputs */
    gopt_name_map nodes, values; /* names in use */
    size_t cap_name, cap_op;     /* of the family's imported_name and imported_op */
    int64_t n_file_nodes;
    size_t parameter_bytes; /* of initializers and Constants, those of bodies, too */
    bool dynamic;           /* an input has symbolic dimensions */
} gopt_onnx_importer;

/* ---- names.c ---- */
const char *gopt_onnx_domain(const char *domain); /* NULL and "ai.onnx" are "" */
/* The version of a domain that the frame imports; 0: none. */
int64_t gopt_onnx_version(const gopt_onnx_frame *f, const char *domain);
/* Defines a name in the scope; EINPUT when it has been already. */
gopt_status gopt_onnx_define(gopt_onnx_scope *s, const char *name, gopt_value *v, gopt_err *e);
/* Marks a function's input that the caller left out. */
gopt_status gopt_onnx_define_absent(gopt_onnx_scope *s, const char *name, gopt_err *e);
/* The value that a name stands for here; NULL for "" and for what was left out. EINPUT when it is defined nowhere. */
gopt_status gopt_onnx_find(const gopt_onnx_scope *s, const char *name, gopt_value **out, gopt_err *e);
/* A name for a value that no other has: as near as possible to the one given. */
const char *gopt_onnx_value_name(gopt_onnx_importer *x, const gopt_onnx_frame *f, const char *name);
/* A name for a node that no other has: its own, else one made of operator and origin. */
const char *gopt_onnx_node_name(gopt_onnx_importer *x, const gopt_onnx_frame *f, const char *name, const char *op,
                                int origin);
/* "node/what", for a node that is added to one of the file. */
const char *gopt_onnx_added_name(gopt_onnx_importer *x, const char *node, const char *what);
void gopt_onnx_scope_fini(gopt_onnx_scope *s);

/* ---- survey.c ---- */
/* Registers local functions, names of nodes, and counts; refuses what is nested, recursive or large beyond measure. */
gopt_status gopt_onnx_survey(gopt_onnx_importer *x, gopt_err *e);
/* The local function that a node calls, or NULL. */
gopt_onnx_function *gopt_onnx_function_find(gopt_onnx_importer *x, const Onnx__NodeProto *n);

/* ---- types.c ---- */
void gopt_onnx_symbols(gopt_onnx_importer *x); /* collects the names of dimensions that the file gives */
/* Type and shape of an input of the main graph. Dimensions without a name get one made of the input's name. */
gopt_status gopt_onnx_input_fact(gopt_onnx_importer *x, const Onnx__ValueInfoProto *v, gopt_fact *out, gopt_err *e);
/* Of an input of a body, whose symbols mean nothing outside: only what is constant. */
gopt_status gopt_onnx_body_fact(const Onnx__ValueInfoProto *v, gopt_fact *out, gopt_err *e);
/* What the file says of a computed value, for where inference finds out nothing. Where the model is dynamic, sizes may
 * be left from an export with one fixed shape and are not believed. */
gopt_fact gopt_onnx_hint(const gopt_onnx_importer *x, const Onnx__ValueInfoProto *v);

/* ---- attributes.c ---- */
/* The attribute that a stands for in the frame (an argument of the function where it is a reference); NULL: none. */
const Onnx__AttributeProto *gopt_onnx_attribute(const gopt_onnx_frame *f, const Onnx__AttributeProto *a);
Onnx__AttributeProto__AttributeType gopt_onnx_attribute_type(const Onnx__AttributeProto *a);
/* All of a node's but graphs, copied into the family's arena. Those that ONNX defines are of the type it gives them. */
gopt_status gopt_onnx_attributes(gopt_onnx_importer *x, const gopt_onnx_frame *f, const Onnx__NodeProto *n,
                                 gopt_attrs *out, gopt_err *e);
/* The value of a Constant. */
gopt_status gopt_onnx_constant(gopt_onnx_importer *x, const gopt_onnx_frame *f, const Onnx__NodeProto *n,
                               const gopt_tensor **out, gopt_err *e);

/* ---- nodes.c ---- */
/* Makes the values and then the nodes that a scope's nodes define. */
gopt_status gopt_onnx_nodes(gopt_onnx_importer *x, gopt_onnx_scope *s, Onnx__NodeProto **nodes, size_t n, gopt_err *e);

/* ---- graphs.c ---- */
gopt_status gopt_onnx_main_graph(gopt_onnx_importer *x, gopt_graph *g, gopt_err *e);
/* A body of a node in scope s. */
gopt_status gopt_onnx_body(gopt_onnx_importer *x, const gopt_onnx_scope *s, const Onnx__GraphProto *p, gopt_graph **out,
                           gopt_err *e);
/* Inlines a call of f: the nodes of the function write to the draft's outputs. */
gopt_status gopt_onnx_call(const struct gopt_onnx_draft *d, const gopt_onnx_function *f, const Onnx__NodeProto *call,
                           gopt_err *e);

#endif
