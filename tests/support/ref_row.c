/* ref_row.c: reads rows of text and compares what execution made with what they expect. */
#include "support/ref_row.h"

#include <ctype.h>
#include <math.h>

static gopt_dtype find_dtype(const char *name)
{
    static const struct {
        const char *text;
        gopt_dtype d;
    } known[] = {{"f16", GOPT_DTYPE_F16}, {"f32", GOPT_DTYPE_F32}, {"f64", GOPT_DTYPE_F64}, {"bf16", GOPT_DTYPE_BF16},
                 {"i8", GOPT_DTYPE_I8},   {"i16", GOPT_DTYPE_I16}, {"i32", GOPT_DTYPE_I32}, {"i64", GOPT_DTYPE_I64},
                 {"u8", GOPT_DTYPE_U8},   {"u16", GOPT_DTYPE_U16}, {"u32", GOPT_DTYPE_U32}, {"u64", GOPT_DTYPE_U64},
                 {"b", GOPT_DTYPE_BOOL},  {"s", GOPT_DTYPE_STRING}};
    for (int i = 0; i < GOPT_COUNT(known); i++)
        if (!strcmp(known[i].text, name))
            return known[i].d;
    return gopt_dtype_find(name);
}

/* Shape from "[2,3]"; returns what follows. */
static char *read_shape(char *s, gopt_tensor *t)
{
    for (s++; *s && *s != ']'; s += *s == ',')
        t->dim[t->rank++] = strtoll(s, &s, 10);
    return *s ? s + 1 : s;
}

static void set_element(gopt_arena *a, gopt_tensor *t, int64_t i, const char *word)
{
    if (t->dtype == GOPT_DTYPE_STRING)
        ((char **)t->data)[i] = gopt_arena_str(a, word);
    else if (gopt_dtype_is_int(t->dtype) && *word != '-')
        gopt_tensor_set_int(t, i, (int64_t)strtoull(word, NULL, 10));
    else if (gopt_dtype_is_int(t->dtype))
        gopt_tensor_set_int(t, i, strtoll(word, NULL, 10));
    else
        gopt_tensor_set(t, i, strtod(word, NULL));
}

/* NULL for "-". */
static gopt_tensor *read_tensor(gopt_arena *a, char *text, bool *constant)
{
    enum { WORDS = 64 };
    char *word[WORDS], *save = NULL, *name = strtok_r(text, " ", &save);
    int n = 0;
    *constant = false;
    if (!name || !strcmp(name, "-"))
        return NULL;
    char *bracket = strchr(name, '[');
    gopt_tensor shape = {0};
    assert_non_null(bracket);
    *constant = *read_shape(bracket, &shape) == '!';
    *bracket = '\0';
    gopt_tensor *t = gopt_tensor_new(a, find_dtype(name), shape.rank, shape.dim);
    assert_non_null(t);
    assert_int_not_equal(t->dtype, GOPT_DTYPE_NONE);
    while (n < WORDS && (word[n] = strtok_r(NULL, " ", &save)))
        n++;
    for (int64_t i = 0; n > 0 && i < gopt_tensor_count(t); i++)
        set_element(a, t, i, word[i % n]);
    return t;
}

static void read_attr(ref_case *c, char *text)
{
    char *value = strchr(text, '='), *name;
    assert_non_null(value);
    *value++ = '\0';
    name = gopt_arena_str(&c->arena, text);
    if (*value == '\'') {
        ref_string(c, name, gopt_arena_strn(&c->arena, value + 1, strlen(value) - 2));
    } else if (*value == '[') {
        gopt_tensor list = {0};
        read_shape(value, &list);
        ref_ints(c, name, list.rank, list.dim);
    } else if (strpbrk(value, ".ef")) {
        ref_float(c, name, strtod(value, NULL));
    } else {
        ref_int(c, name, strtoll(value, NULL, 10));
    }
}

ref_case ref_row_case(const char *op, const char *attrs, const char *in)
{
    ref_case c = ref_begin(op);
    char *save = NULL, *text = gopt_arena_str(&c.arena, attrs ? attrs : "");
    for (char *one = strtok_r(text, " ", &save); one; one = strtok_r(NULL, " ", &save))
        read_attr(&c, one);
    text = gopt_arena_str(&c.arena, in);
    for (char *one = strtok_r(text, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
        gopt_tensor *t = read_tensor(&c.arena, one, &c.constant[c.n_in]);
        c.in[c.n_in++] = t;
    }
    return c;
}

static bool same_element(const gopt_tensor *got, const gopt_tensor *want, int64_t i)
{
    if (got->dtype == GOPT_DTYPE_STRING)
        return !strcmp(((char **)got->data)[i], ((char **)want->data)[i]);
    if (gopt_dtype_bits(got->dtype) > 64)
        return !memcmp((char *)got->data + i * 16, (char *)want->data + i * 16, 16);
    if (!gopt_dtype_is_float(got->dtype))
        return gopt_tensor_get_int(got, i) == gopt_tensor_get_int(want, i);
    double a = gopt_tensor_get(got, i), b = gopt_tensor_get(want, i);
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b) || b == 0)
        return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
    return fabs(a - b) <= 1e-6 * fabs(b);
}

static void compare(const char *row, int k, const gopt_tensor *got, const gopt_tensor *want)
{
    char have[160], expected[160];
    if (got->dtype != want->dtype || !gopt_dims_equal(got, want))
        fail_msg("%s: output %d is %s, %s expected", row, k, gopt_tensor_describe(have, sizeof have, got),
                 gopt_tensor_describe(expected, sizeof expected, want));
    for (int64_t i = 0; i < gopt_tensor_count(want); i++)
        if (!same_element(got, want, i))
            fail_msg("%s: output %d, element %d is %.9g, %.9g expected", row, k, (int)i, gopt_tensor_get(got, i),
                     gopt_tensor_get(want, i));
}

static void check_row(const ref_row *r)
{
    ref_case c = ref_row_case(r->op, r->attrs, r->in);
    gopt_tensor *want[REF_MAX] = {NULL};
    char row[300], *save = NULL, *text = gopt_arena_str(&c.arena, r->out);
    bool unused;
    int n = 0;
    snprintf(row, sizeof row, "%s {%s} (%s)", r->op, r->attrs ? r->attrs : "", r->in);
    for (char *one = strtok_r(text, ";", &save); one; one = strtok_r(NULL, ";", &save))
        want[n++] = read_tensor(&c.arena, one, &unused);
    c.loose = r->loose;
    ref_outputs(&c, n);
    for (int k = 0; k < n; k++)
        c.out_at[k] = want[k] ? c.out_at[k] : NULL;
    gopt_status s = ref_run_wanted(&c);
    if (s)
        fail_msg("%s: %s", row, c.e.msg);
    for (int k = 0; k < n; k++)
        if (want[k])
            compare(row, k, c.out_at[k], want[k]);
    ref_end(&c);
}

void ref_rows_check(const ref_row *rows, int n)
{
    for (int i = 0; i < n; i++)
        check_row(&rows[i]);
}

void ref_bad_check(const ref_bad *rows, int n)
{
    for (int i = 0; i < n; i++) {
        ref_case c = ref_row_case(rows[i].op, rows[i].attrs, rows[i].in);
        ref_expect_error(&c, rows[i].want, rows[i].word);
        ref_end(&c);
    }
}
