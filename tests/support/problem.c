#include "support/problem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static gopt_dtype read_dtype(const char **s)
{
    static const struct {
        const char *text;
        gopt_dtype d;
    } known[] = {{"f32", GOPT_DTYPE_F32}, {"f16", GOPT_DTYPE_F16}, {"bf16", GOPT_DTYPE_BF16}, {"f64", GOPT_DTYPE_F64},
                 {"i64", GOPT_DTYPE_I64}, {"i32", GOPT_DTYPE_I32}, {"i16", GOPT_DTYPE_I16},   {"i8", GOPT_DTYPE_I8},
                 {"u8", GOPT_DTYPE_U8},   {"b", GOPT_DTYPE_BOOL},  {"u16", GOPT_DTYPE_U16},   {"u32", GOPT_DTYPE_U32},
                 {"u64", GOPT_DTYPE_U64}};
    for (int i = 0; i < GOPT_COUNT(known); i++) {
        size_t n = strlen(known[i].text);
        if (!strncmp(*s, known[i].text, n) && (*s)[n] == '[') {
            *s += n;
            return known[i].d;
        }
    }
    fail_msg("no such type: %s", *s);
    return GOPT_DTYPE_NONE;
}

static void fill_random(gopt_tensor *t, double lo, double hi, uint64_t *state)
{
    int64_t n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        double u = (double)next_random(state) / 2147483648.0;
        if (gopt_dtype_is_float(t->dtype))
            gopt_tensor_set(t, i, lo + (hi - lo) * u);
        else if (t->dtype == GOPT_DTYPE_BOOL)
            gopt_tensor_set_int(t, i, u < 0.5);
        else
            gopt_tensor_set_int(t, i, (int64_t)(lo + (hi - lo + 1) * u));
    }
}

/* "={1,2}" values, "~lo:hi" a range, nothing: a range by type. */
static void read_data(gopt_tensor *t, const char **s, uint64_t *state)
{
    double lo = -2, hi = 2;
    if (!gopt_dtype_is_float(t->dtype)) {
        lo = gopt_dtype_is_signed(t->dtype) ? -3 : 0;
        hi = t->dtype == GOPT_DTYPE_U8 ? 255 : t->dtype == GOPT_DTYPE_I8 ? 127 : 3;
    }
    char *end = (char *)*s;
    if (*end == '~') {
        lo = strtod(end + 1, &end);
        hi = strtod(end + 1, &end);
    }
    fill_random(t, lo, hi, state);
    if (*end == '=')
        for (int64_t i = 0; *end && *end != '}'; i++)
            gopt_tensor_set(t, i, strtod(end + (i ? 1 : 2), &end));
    *s = *end == '}' ? end + 1 : end;
}

static void read_operand(problem *p, int k, const char **s, uint64_t *state)
{
    gopt_tensor *t = &p->tensor[k];
    if (**s == '-') {
        ++*s;
        return;
    }
    gopt_tensor shape = {.dtype = read_dtype(s)};
    char *end = (char *)*s + 1;
    while (*end && *end != ']')
        shape.dim[shape.rank++] = strtoll(end + (*end == ','), &end, 10);
    *s = end + 1;
    gopt_tensor *made = gopt_tensor_new(&p->arena, shape.dtype, shape.rank, shape.dim);
    assert_non_null(made);
    *t = *made;
    read_data(t, s, state);
    p->in[k] = (gopt_operand){.dtype = t->dtype, .rank = t->rank};
    memcpy(p->in[k].dim, t->dim, sizeof t->dim);
    if (**s == '!') {
        p->in[k].constant = t->data;
        ++*s;
    }
}

static int read_operands(problem *p, int k, const char *s, uint64_t *state)
{
    while (s && *s) {
        while (*s == ' ')
            s++;
        if (*s)
            read_operand(p, k++, &s, state);
    }
    return k;
}

static bool is_list(const char *name)
{
    static const char *const names[] = {"pads", "strides", "dilations",      "kernel_shape",
                                        "perm", "axes",    "output_padding", "output_shape"};
    for (int i = 0; i < GOPT_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static void read_value(gopt_arena *a, gopt_attr *attr, char *text)
{
    if (*text == '\'') {
        attr->kind = GOPT_ATTR_STRING;
        attr->s = gopt_arena_strn(a, text + 1, strlen(text) - 2);
        return;
    }
    int64_t *ints = GOPT_NEW(a, int64_t, 16);
    char *end = text;
    do
        ints[attr->n++] = strtoll(end + (end != text), &end, 10);
    while (*end == ',');
    if (!strcmp(attr->name, "activation_params")) {
        double *floats = GOPT_NEW(a, double, 16);
        attr->kind = GOPT_ATTR_FLOATS;
        attr->floats = floats;
        end = text;
        for (attr->n = 0; *end; attr->n++)
            floats[attr->n] = strtod(end + (end != text), &end);
        return;
    }
    if (*end == '.' || *end == 'e' || *end == 'f') {
        attr->kind = GOPT_ATTR_FLOAT;
        attr->f = strtod(text, NULL);
        return;
    }
    attr->ints = ints;
    attr->i = ints[0];
    attr->kind = attr->n > 1 || is_list(attr->name) ? GOPT_ATTR_INTS : GOPT_ATTR_INT;
}

static void read_attrs(problem *p, const char *text)
{
    gopt_attr *at = GOPT_NEW(&p->arena, gopt_attr, 16);
    char *copy = gopt_arena_str(&p->arena, text ? text : ""), *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value = '\0';
        gopt_attr *one = &at[p->group.attrs.n++];
        one->name = word;
        read_value(&p->arena, one, value + 1);
    }
    p->group.attrs.at = at;
}

static gopt_status allocate(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    gopt_tensor *t = gopt_tensor_new(x->driver, d, rank, dim);
    if (!t)
        return gopt_oom(e);
    *x->out[k] = *t;
    return GOPT_OK;
}

static void run_reference(problem *p)
{
    gopt_err e = {0};
    gopt_arena scratch = {0};
    const gopt_tensor *in[32];
    gopt_tensor *out[8];
    for (int k = 0; k < p->group.n_anchor; k++)
        in[k] = p->tensor[k].data ? &p->tensor[k] : NULL;
    for (int k = 0; k < p->group.n_out; k++)
        out[k] = &p->want[k];
    gopt_exec x = {.op = p->group.op,
                   .attrs = p->group.attrs,
                   .n_in = p->group.n_anchor,
                   .n_out = p->group.n_out,
                   .in = in,
                   .out = out,
                   .scratch = &scratch,
                   .alloc = allocate,
                   .driver = &p->arena};
    if (p->group.op->run(&x, &e))
        fail_msg("reference: %s", e.msg);
    gopt_arena_fini(&scratch);
}

/* Where operand k has the element for output i. */
static int64_t broadcast_index(const gopt_tensor *in, const gopt_tensor *out, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = out->rank - 1, k = in->rank - 1; d >= 0; i /= out->dim[d], d--, k--)
        if (k >= 0) {
            at += (in->dim[k] == 1 ? 0 : i % out->dim[d]) * step;
            step *= in->dim[k];
        }
    return at;
}

static void apply_post(problem *p, const gopt_tensor *acc, gopt_tensor *out)
{
    gopt_scalar tmp[GOPT_EXPR_LIMIT], load[32];
    int64_t n = gopt_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        memset(load, 0, sizeof load);
        for (int k = 0; k < p->group.n_in; k++)
            if (p->tensor[k].data && (k >= p->group.n_anchor || !acc))
                load[k] = gopt_scalar_load(&p->tensor[k], broadcast_index(&p->tensor[k], out, i));
        gopt_scalar a = {0};
        if (acc)
            a = gopt_scalar_load(acc, i);
        gopt_scalar v = gopt_expr_eval(&p->post, load, a, tmp);
        gopt_scalar_store(out, i, p->post.at[p->post.result].class, v);
    }
}

static void finish_reference(problem *p, bool anchored)
{
    gopt_tensor shape = p->want[0];
    if (!anchored)
        for (int k = 0; k < p->group.n_in; k++)
            assert_true(gopt_dims_broadcast(shape.dim, shape.rank, p->tensor[k].dim, p->tensor[k].rank, shape.dim,
                                            &shape.rank));
    gopt_tensor *out = gopt_tensor_new(&p->arena, gopt_expr_dtype(&p->post), shape.rank, shape.dim);
    assert_non_null(out);
    apply_post(p, anchored ? &p->want[0] : NULL, out);
    p->want[0] = *out;
}

static const gopt_op *find_op(const char *name)
{
    char domain[32] = "";
    const char *colon = strchr(name, ':');
    if (colon)
        snprintf(domain, sizeof domain, "%.*s", (int)(colon - name), name);
    const gopt_op *op = gopt_op_find(domain, colon ? colon + 1 : name);
    if (!op)
        fail_msg("no operator %s", name);
    return op;
}

void problem_init(problem *p, const problem_text *text, unsigned seed)
{
    gopt_err e = {0};
    uint64_t state = seed;
    memset(p, 0, sizeof *p);
    gopt_arena *a = &p->arena;
    p->in = GOPT_NEW(a, gopt_operand, 32);
    p->out = GOPT_NEW(a, gopt_operand, 8);
    p->tensor = GOPT_NEW(a, gopt_tensor, 32);
    p->want = GOPT_NEW(a, gopt_tensor, 8);
    p->group = (gopt_group){.op = find_op(text->op), .in = p->in, .out = p->out, .n_out = 1};
    read_attrs(p, text->attrs);
    bool anchored = strcmp(text->op, "gopt:Pointwise") != 0;
    int n = read_operands(p, 0, text->in, &state);
    p->group.n_anchor = anchored ? n : 0;
    p->group.n_in = read_operands(p, n, text->extra, &state);
    p->group.n_out = GOPT_MAX(1, (int)gopt_attr_int(p->group.attrs, "test_outputs", 1));
    if (anchored)
        run_reference(p);
    if (text->post) {
        if (gopt_expr_parse(&p->post, a, text->post, &e))
            fail_msg("%s: %s", text->post, e.msg);
        p->group.post = &p->post;
        finish_reference(p, anchored);
    }
    for (int k = 0; k < p->group.n_out; k++) {
        p->out[k] = (gopt_operand){.dtype = p->want[k].dtype, .rank = p->want[k].rank};
        memcpy(p->out[k].dim, p->want[k].dim, sizeof p->want[k].dim);
    }
}

void problem_fini(problem *p)
{
    gopt_arena_fini(&p->arena);
}
