/* inputs.c: inputs from what the graph says it can take. */
#include "inputs.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "stats.h"

static const char *const case_names[GOPT_INPUT_CASES] = {"random", "zeros", "large", "tiny", "nan", "infinite"};

const char *gopt_input_case_name(gopt_input_case c)
{
    return case_names[c];
}

static bool is_integer(gopt_dtype d)
{
    return gopt_dtype_is_int(d) && d != GOPT_DTYPE_BOOL;
}

static bool converts(const gopt_node *n)
{
    bool from = false, to = false;
    if (n->op->traits & GOPT_TRAIT_SHAPE_ONLY)
        return false;
    for (int i = 0; i < n->n_in; i++)
        from = from || (n->in[i] && !n->in[i]->fact.constant && gopt_dtype_is_float(n->in[i]->fact.dtype));
    for (int i = 0; i < n->n_out; i++)
        to = to || (n->out[i] && is_integer(n->out[i]->fact.dtype));
    return from && to;
}

static bool any_converts(const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        if (converts(g->nodes[i]))
            return true;
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            if (any_converts(g->nodes[i]->body[b]))
                return true;
    }
    return false;
}

bool gopt_input_case_applies(gopt_input_case c, const gopt_graph *g)
{
    bool applies = c == GOPT_INPUT_RANDOM || c == GOPT_INPUT_ZEROS;
    for (int i = 0; i < g->n_inputs && !applies; i++)
        applies = gopt_dtype_is_float(g->inputs[i]->fact.dtype);
    return applies;
}

bool gopt_input_case_fits(gopt_input_case c, const gopt_graph *g)
{
    return gopt_input_case_applies(c, g) && (c < GOPT_INPUT_NAN || !any_converts(g));
}

/* What reading the users of an integer input tells of its values. */
typedef struct range {
    int64_t limit; /* valid below it; 0: unknown */
    double equal;  /* a constant it is compared with */
    bool has_equal;
} range;

enum { DEPTH_MAX = 24 };

static const char *const carriers[] = {"Cast",    "Reshape", "Squeeze", "Unsqueeze", "Identity", "Slice", "Concat",
                                       "Flatten", "Expand",  "Tile",    "Transpose", "Clip",     "Loop",  "Split"};

static bool is_carrier(const gopt_op *op)
{
    for (int i = 0; i < GOPT_COUNT(carriers); i++)
        if (!strcmp(op->name, carriers[i]))
            return true;
    return false;
}

static void narrow(range *r, gopt_dim limit)
{
    if (gopt_dim_is_const(limit) && limit.k > 0 && (!r->limit || limit.k < r->limit))
        r->limit = limit.k;
}

/* Gather, Scatter and their like: in[1] indexes in[0], along one axis or (ND) along as many as its last dimension says.
 */
static void read_index(range *r, const gopt_node *n)
{
    const gopt_fact *table = &n->in[0]->fact, *index = &n->in[1]->fact;
    int axis;
    if (table->rank <= 0)
        return;
    if (!strcmp(n->op->name, "GatherND") || !strcmp(n->op->name, "ScatterND")) {
        bool known = index->rank > 0 && gopt_dim_is_const(index->dim[index->rank - 1]);
        int64_t first = gopt_attr_int(n->attrs, "batch_dims", 0);
        int64_t last = known ? first + index->dim[index->rank - 1].k : table->rank;
        for (int64_t d = GOPT_MAX(first, 0); d < GOPT_MIN(last, table->rank); d++)
            narrow(r, table->dim[d]);
    } else if (!gopt_axis(gopt_attr_int(n->attrs, "axis", 0), table->rank, &axis, NULL)) {
        narrow(r, table->dim[axis]);
    }
}

static bool is_indexed(const char *op)
{
    return !strncmp(op, "Gather", 6) || !strncmp(op, "Scatter", 7);
}

static int64_t largest_of(const gopt_tensor *t)
{
    int64_t most = 0;
    for (int64_t i = 0; i < gopt_tensor_count(t); i++)
        most = GOPT_MAX(most, gopt_tensor_get_int(t, i));
    return most;
}

static void read_user(range *r, const gopt_node *n, const gopt_value *v, int depth);

static void read_users(range *r, const gopt_value *v, int depth)
{
    for (int i = 0; depth < DEPTH_MAX && i < v->n_users; i++)
        read_user(r, v->users[i], v, depth);
}

static void read_user(range *r, const gopt_node *n, const gopt_value *v, int depth)
{
    const char *op = n->op->name;
    double scalar;
    if (is_indexed(op) && n->n_in > 1 && n->in[0] && n->in[1] == v) {
        read_index(r, n);
    } else if (!strcmp(op, "OneHot") && n->n_in > 1 && n->in[0] == v && gopt_value_scalar(n->in[1], &scalar)) {
        narrow(r, gopt_dim_of((int64_t)scalar));
    } else if (!strcmp(op, "Equal") && n->n_in == 2) {
        const gopt_value *other = n->in[0] == v ? n->in[1] : n->in[0];
        if (gopt_value_scalar(other, &scalar)) {
            r->has_equal = true;
            r->equal = scalar;
        } else if (other && other->fact.constant) { /* one-hot by comparison */
            narrow(r, gopt_dim_of(largest_of(other->fact.constant) + 1));
        }
    } else if (is_carrier(n->op)) {
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k])
                read_users(r, n->out[k], depth + 1);
    }
}

/* Whether v, perhaps a mask that is counted, says how many keys the sequences of GroupQueryAttention have; *value is
 * what its elements are where all have all keys. Others do not go with total_sequence_length. */
static bool counts_keys(const gopt_value *v, int depth, double *value);

static bool user_counts_keys(const gopt_node *n, const gopt_value *v, int depth, double *value)
{
    enum { QUERY, PAST = 3, LENGTHS = 5, TOTAL };
    double scalar;
    bool total = n->n_in > TOTAL && n->in[TOTAL] == v; /* of all keys; lengths are one less */
    if (!strcmp(n->op->name, "GroupQueryAttention") && n->n_in > LENGTHS && (total || n->in[LENGTHS] == v)) {
        const gopt_fact *q = &n->in[QUERY]->fact, *past = n->in[PAST] ? &n->in[PAST]->fact : NULL;
        bool known = q->rank == 3 && gopt_dim_is_const(q->dim[1]) &&
                     (!past || (past->rank == 4 && gopt_dim_is_const(past->dim[2])));
        *value = known ? (double)(q->dim[1].k + (past ? past->dim[2].k : 0) - !total) : 0;
        return known;
    }
    bool counted = !strcmp(n->op->name, "ReduceSum") && n->in[0] == v;
    bool less = !strcmp(n->op->name, "Sub") && n->in[0] == v && gopt_value_scalar(n->in[1], &scalar);
    if ((!counted && !less && !is_carrier(n->op)) || n->n_out == 0 || !n->out[0] ||
        !counts_keys(n->out[0], depth + 1, value))
        return false;
    *value = counted ? 1 : less ? *value + scalar : *value;
    return true;
}

static bool counts_keys(const gopt_value *v, int depth, double *value)
{
    for (int i = 0; depth < DEPTH_MAX && i < v->n_users; i++)
        if (user_counts_keys(v->users[i], v, depth, value))
            return true;
    return false;
}

static double normal(gopt_random *random)
{
    double u = 1 - gopt_random_unit(random), v = gopt_random_unit(random);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* What the random values are multiplied with. */
static double scale_of(gopt_input_case c, gopt_dtype d)
{
    if (c != GOPT_INPUT_TINY)
        return c == GOPT_INPUT_LARGE ? 16 : 1;
    return d == GOPT_DTYPE_F64 ? 0x1p-1028 : d == GOPT_DTYPE_F16 ? 0x1p-18 : 0x1p-132;
}

/* Rows stay that have none of the special values, and one element is enough to have one. */
enum { SPECIAL_EVERY = 97 };

static void fill_floats(gopt_tensor *t, int64_t n, gopt_input_case c, gopt_random *random)
{
    double scale = scale_of(c, t->dtype);
    for (int64_t i = 0; i < n; i++) /* a grid of 1/256 is exact in every float type from 16 bits on */
        gopt_tensor_set(t, i, scale * round(normal(random) * 256) / 256);
    for (int64_t i = n / 2 % SPECIAL_EVERY; i < n && c >= GOPT_INPUT_NAN; i += SPECIAL_EVERY)
        gopt_tensor_set(t, i, c == GOPT_INPUT_NAN ? NAN : gopt_random_below(random, 2) ? INFINITY : -INFINITY);
}

static void fill_ints(gopt_tensor *t, int64_t n, const gopt_value *input, gopt_random *random)
{
    range r = {0};
    read_users(&r, input, 0);
    bool flags = t->dtype == GOPT_DTYPE_BOOL;
    int64_t limit = flags || !r.limit ? 2 : GOPT_MIN(r.limit, (int64_t)1 << 30);
    if (!r.limit && !flags && gopt_dtype_bits(t->dtype) == 8)
        limit = t->dtype == GOPT_DTYPE_U8 ? 256 : 128;
    for (int64_t i = 0; i < n; i++)
        gopt_tensor_set_int(
            t, i, r.has_equal && !r.limit ? (int64_t)r.equal : (int64_t)gopt_random_below(random, (int)limit));
}

static gopt_status make_one(gopt_tensor **out, const gopt_value *input, gopt_input_case c, gopt_random *random,
                            gopt_arena *a, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX], n;
    double value;
    if (!gopt_fact_static(&input->fact, dim) || !gopt_dims_count(dim, input->fact.rank, &n))
        return gopt_fail(e, GOPT_EUSAGE, "input \"%s\": its shape is not fully known", input->name);
    if (input->fact.dtype == GOPT_DTYPE_STRING)
        return gopt_fail(e, GOPT_EUNSUP, "input \"%s\": strings cannot be made up", input->name);
    if (!(*out = gopt_tensor_new(a, input->fact.dtype, input->fact.rank, dim)))
        return gopt_oom(e);
    if (is_integer(input->fact.dtype) && counts_keys(input, 0, &value))
        for (int64_t i = 0; i < n; i++)
            gopt_tensor_set(*out, i, value);
    else if (c == GOPT_INPUT_ZEROS)
        return GOPT_OK;
    else if (gopt_dtype_is_float(input->fact.dtype))
        fill_floats(*out, n, c, random);
    else
        fill_ints(*out, n, input, random);
    return GOPT_OK;
}

gopt_status gopt_inputs_make(const gopt_tensor *const **out, const gopt_graph *g, gopt_input_case c, uint64_t seed,
                             gopt_arena *a, gopt_err *e)
{
    const gopt_tensor **list = GOPT_NEW(a, const gopt_tensor *, g->n_inputs);
    gopt_random random;
    gopt_random_seed(&random, seed * GOPT_INPUT_CASES + (uint64_t)c);
    if (!list)
        return gopt_oom(e);
    for (int i = 0; i < g->n_inputs; i++) {
        gopt_tensor *t;
        GOPT_TRY(make_one(&t, g->inputs[i], c, &random, a, e));
        list[i] = t;
    }
    *out = list;
    return GOPT_OK;
}

static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (; *name; name++) {
        size_t k = 0;
        while (k < n && tolower((unsigned char)name[k]) == part[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* The state of a recurrent layer is [layers, batch, features]. */
static bool is_state_batch(const gopt_fact *f, int d)
{
    return d == 1 && f->rank == 3 && gopt_dim_is_const(f->dim[0]) && gopt_dim_is_const(f->dim[2]);
}

/* Where a symbol stands in the inputs decides what is sensible for it. */
static int64_t sensible(const gopt_graph *g, const char *name, int64_t length)
{
    bool first = false, spatial = false;
    const char *names[GOPT_RANK_MAX];
    for (int i = 0; i < g->n_inputs; i++) {
        const gopt_fact *f = &g->inputs[i]->fact;
        for (int d = 0; d < f->rank; d++) {
            int n = gopt_dim_symbols(g->family->dims, f->dim[d], names, 0, GOPT_RANK_MAX);
            for (int k = 0; k < n; k++)
                if (!strcmp(names[k], name)) {
                    first = first || (d == 0 && f->rank > 1) || is_state_batch(f, d);
                    spatial = spatial || (f->rank == 4 && d >= 2 && gopt_dtype_is_float(f->dtype) &&
                                          gopt_dim_is_const(f->dim[1]) && f->dim[1].k <= 4);
                }
        }
    }
    bool sequence = contains(name, "seq") || contains(name, "len") || contains(name, "token") || contains(name, "past");
    if (contains(name, "batch") || (first && !sequence))
        return 1;
    return spatial ? 224 : length;
}

/* The one sequence length of the past, of the new tokens, or of both together, by its name; -1 without one. */
static int find_sequence(const char *const *names, int n, const char *of)
{
    for (int i = 0; i < n; i++) {
        bool past = contains(names[i], "past"), total = contains(names[i], "total");
        bool sequence = contains(names[i], "seq") || contains(names[i], "len");
        if (sequence && past == !strcmp(of, "past") && total == !strcmp(of, "total"))
            return i;
    }
    return -1;
}

int gopt_inputs_shape(const gopt_graph *g, const char **names, int64_t *values, int max, int64_t length)
{
    int n = gopt_graph_symbols(g, names, max);
    for (int i = 0; i < n; i++)
        values[i] = sensible(g, names[i], length);
    int past = find_sequence(names, n, "past"), now = find_sequence(names, n, ""),
        total = find_sequence(names, n, "total");
    if (past >= 0 && now >= 0 && total >= 0)
        values[total] = values[past] + values[now];
    return n;
}
