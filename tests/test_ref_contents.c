/* Shapes that graphs compute: chains of Shape, Gather, Concat and their like are followed as symbols, and what
 * inference says of a value is what a run makes of it. */
#include "support/test.h"

#include "graph.h"

typedef struct chain {
    const char *text;
    const char *shape;   /* of the output */
    const char *content; /* its elements; NULL: not asked */
} chain;

static const chain chains[] = {
    {"input x float32[b,s,768]\n" /* split heads, as exporters write it */
     "const i0 int64[] {0}\nconst i1 int64[] {1}\nconst ax int64[1] {0}\nconst tail int64[2] {12,64}\n"
     "n1: sh int64[3] = Shape(x)\n"
     "n2: d0 int64[] = Gather(sh, i0)\nn3: d1 int64[] = Gather(sh, i1)\n"
     "n4: u0 int64[1] = Unsqueeze(d0, ax)\nn5: u1 int64[1] = Unsqueeze(d1, ax)\n"
     "n6: to int64[4] = Concat(u0, u1, tail) {axis=0}\n"
     "n7: y float32 = Reshape(x, to)\noutput y\n",
     "[b,s,12,64]", NULL},
    {"input x float32[b,s,12,64]\n" /* merge them again, with -1 */
     "const to int64[3] {0,0,-1}\nn1: y float32 = Reshape(x, to)\noutput y\n",
     "[b,s,768]", NULL},
    {"input x float32[b,s]\n" /* all but the last position */
     "const st int64[1] {0}\nconst en int64[1] {-1}\nconst ax int64[1] {1}\n"
     "n1: y float32 = Slice(x, st, en, ax)\noutput y\n",
     "[b,max(s - 1, 0)]", NULL},
    {"input x float32[s]\nconst st int64[1] {-3}\nconst en int64[1] {9223372036854775807}\n"
     "n1: y float32 = Slice(x, st, en)\noutput y\n",
     "[min(s, 3)]", NULL},
    {"input x float32[s]\nconst st int64[1] {-1}\nconst en int64[1] {-9223372036854775807}\nconst ax int64[1] {0}\n"
     "const by int64[1] {-1}\nn1: y float32 = Slice(x, st, en, ax, by)\noutput y\n",
     "[s]", NULL},
    {"input x float32[2,s]\nconst st int64[1] {1}\nconst en int64[1] {2}\n" /* a slice of a shape */
     "n1: sh int64 = Shape(x)\nn2: y int64 = Slice(sh, st, en)\noutput y\n",
     "[1]", "s"},
    {"input x float32[b,s]\nn1: sh int64 = Shape(x)\nn2: a int64, c int64 = Split(sh)\n"
     "n3: p int64 = Mul(a, c)\nconst two int64[1] {2}\nn4: q int64 = Add(p, two)\n"
     "n5: z float32 = ConstantOfShape(q)\nn6: n int64 = Size(z)\noutput n\n",
     "[]", "b*s + 2"},
    {"input x float32[b,s]\nconst z int64[] {0}\nconst one int64[] {1}\n" /* position ids */
     "n1: sh int64 = Shape(x)\nn2: n int64 = Gather(sh, one)\nn3: r int64 = Range(z, n, one)\n"
     "n4: e int64 = Unsqueeze(r, one)\noutput e\n",
     "[s,1]", NULL},
    {"const z int64[] {2}\nconst l int64[] {8}\nconst by int64[] {3}\nn1: y int64 = Range(z, l, by)\noutput y\n", "[2]",
     "2,5"},
    {"input x float32[b,1,s]\nn1: sh int64 = Shape(x)\nconst wide int64[3] {1,4,1}\n" /* expand as exporters write it */
     "const m int64[1] {-1}\nconst k int64[1] {3}\nn2: ones int64 = ConstantOfShape(k) {value=tensor int64[1] {1}}\n"
     "n3: same bool = Equal(wide, m)\nn4: to int64 = Where(same, ones, wide)\nn5: y float32 = Expand(x, to)\n"
     "output y\n",
     "[b,4,s]", NULL},
    {"input x float32[b,s]\nconst i int64[2] {1,0}\nn1: sh int64 = Shape(x)\n"
     "n2: t int64 = GatherElements(sh, i)\noutput t\n",
     "[2]", "s,b"},
    {"input x float32[b,s]\nconst i int64[1,1] {0}\nconst u int64[1] {7}\n"
     "n1: sh int64 = Shape(x)\nn2: t int64 = ScatterND(sh, i, u)\noutput t\n",
     "[2]", "7,s"},
    {"input x float32[b,s]\nconst i int64[1] {1}\nconst u int64[1] {7}\n"
     "n1: sh int64 = Shape(x)\nn2: t int64 = ScatterElements(sh, i, u)\noutput t\n",
     "[2]", "b,7"},
    {"input x float32[b,s]\nn1: sh int64 = Shape(x)\nconst to int64[2] {2,1}\nconst r int64[2] {1,2}\n"
     "n2: c int64 = Reshape(sh, to)\nn3: w int64 = Tile(c, r)\nn4: t int64 = Transpose(w)\noutput t\n",
     "[2,2]", "b,s,b,s"},
    {"input x float32[b,s]\nn1: sh int64 = Shape(x)\nconst p int64[2] {1,1}\nn2: t int64 = Pad(sh, p)\noutput t\n",
     "[4]", "0,b,s,0"},
    {"input x float32[b,s]\nn1: sh int64 = Shape(x)\nconst i int64[2,1] {1,1}\nn2: t int64 = GatherND(sh, i)\noutput "
     "t\n",
     "[2]", "s,s"},
    {"input x float32[b,s]\nn1: sh int64 = Shape(x)\nconst to int64[2] {2,2}\nn2: t int64 = Expand(sh, to)\noutput t\n",
     "[2,2]", "b,s,b,s"},
    {"input x float32[b,s]\ninput n int64[1]\nn1: sh int64 = Shape(x)\n" /* an unknown element among known ones */
     "n2: t int64 = Concat(sh, n) {axis=0}\nn3: y float32 = ConstantOfShape(t)\noutput y\n",
     "[b,s,?]", NULL},
    {"input x float32[b,s]\ninput n int64[2]\nn1: y float32 = Reshape(x, n)\noutput y\n", "[?,?]", NULL},
    {"input x float32[b,s]\ninput n int64[k]\nn1: y float32 = Reshape(x, n)\noutput y\n", "?", NULL},
    {"input x float32[b,8]\nn1: y float32, z float32 = Split(x) {axis=0}\noutput z\n", "[b - (b + 1)/2,8]", NULL},
    {"input x float32[1,b,1]\nconst ax int64[2] {0,2}\nn1: y float32 = Squeeze(x, ax)\noutput y\n", "[b]", NULL},
    {"input x float32[b,4]\nconst r int64[2] {2,3}\nn1: y float32 = Tile(x, r)\noutput y\n", "[2*b,12]", NULL},
    {"input x float32[b,4]\nconst p int64[4] {1,0,2,-1}\nn1: y float32 = Pad(x, p)\noutput y\n", "[b + 3,3]", NULL},
    {"input x float32[b,s,4]\nn1: y float32 = Flatten(x) {axis=2}\noutput y\n", "[b*s,4]", NULL},
    {"input x float32[n,4,h,w]\nn1: y float32 = DepthToSpace(x) {blocksize=2}\n"
     "n2: z float32 = SpaceToDepth(y) {blocksize=2}\noutput z\n",
     "[n,4,h,w]", NULL},
    {"input x int64[b,s]\nconst d int64[] {9}\nconst v float32[2] {0,1}\nn1: y float32 = OneHot(x, d, v)\noutput y\n",
     "[b,s,9]", NULL},
    {"input x float32[b,s]\nn1: y int64 = NonZero(x)\noutput y\n", "[2,?]", NULL},
    {"input x float32[b,s]\nn1: y float32, i int64, j int64 = Unique(x)\noutput j\n", "[b*s]", NULL},
};

static void print_shape(const gopt_graph *g, const gopt_fact *f, gopt_text *t)
{
    char dim[64];
    gopt_text_put(t, f->rank < 0 ? "?" : "[");
    for (int i = 0; i < f->rank; i++)
        gopt_text_add(t, "%s%s", i ? "," : "", gopt_dim_print(g->family->dims, f->dim[i], dim, sizeof dim));
    gopt_text_put(t, f->rank < 0 ? "" : "]");
}

static void print_content(const gopt_graph *g, const gopt_fact *f, gopt_text *t)
{
    int64_t dim[GOPT_RANK_MAX], n = 0;
    char text[64];
    assert_true(gopt_fact_static(f, dim) && gopt_dims_count(dim, f->rank, &n));
    for (int64_t i = 0; f->content && i < n; i++)
        gopt_text_add(t, "%s%s", i ? "," : "", gopt_dim_print(g->family->dims, f->content[i], text, sizeof text));
}

static void check(const chain *c)
{
    gopt_graph *g = NULL;
    gopt_err e = {0};
    gopt_text shape = {0}, content = {0};
    assert_ok(gopt_graph_read(&g, c->text, &e), &e);
    assert_ok(gopt_graph_sort(g, &e), &e);
    assert_ok(gopt_graph_infer(g, &e), &e);
    print_shape(g, &g->outputs[0]->fact, &shape);
    if (strcmp(gopt_text_str(&shape), c->shape))
        fail_msg("%s\n... gives %s, not %s", c->text, gopt_text_str(&shape), c->shape);
    if (c->content) {
        print_content(g, &g->outputs[0]->fact, &content);
        assert_string_equal(gopt_text_str(&content), c->content);
    }
    gopt_text_fini(&shape);
    gopt_text_fini(&content);
    gopt_graph_free(g);
}

static void chains_are_followed(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(chains); i++)
        check(&chains[i]);
}

/* All inputs zeros of the sizes b = 3, s = 5, others 4 (but x's elements are 0, so values cannot matter). */
static void bind_inputs(const gopt_graph *g, gopt_tensor **in, gopt_arena *a)
{
    static const char *const names[] = {"b", "s", "k", "n", "h", "w"};
    static const int64_t values[] = {3, 5, 2, 2, 4, 6};
    for (int i = 0; i < g->n_inputs; i++) {
        const gopt_fact *f = &g->inputs[i]->fact;
        int64_t dim[GOPT_RANK_MAX];
        for (int d = 0; d < f->rank; d++)
            dim[d] = gopt_dim_bind(g->family->dims, f->dim[d], names, values, GOPT_COUNT(names)).k;
        in[i] = gopt_tensor_new(a, f->dtype, f->rank, dim);
        for (int64_t k = 0; k < gopt_tensor_count(in[i]); k++)
            gopt_tensor_set_int(in[i], k, k == 0 && strcmp(g->inputs[i]->name, "n") == 0 ? 15 : 1);
    }
}

static void compare(const gopt_graph *g, const gopt_fact *f, const gopt_tensor *t)
{
    static const char *const names[] = {"b", "s", "k", "n", "h", "w"};
    static const int64_t values[] = {3, 5, 2, 2, 4, 6};
    assert_int_equal(f->dtype, t->dtype);
    for (int d = 0; d < f->rank; d++) {
        gopt_dim v = gopt_dim_bind(g->family->dims, f->dim[d], names, values, GOPT_COUNT(names));
        if (gopt_dim_is_known(v))
            assert_int_equal(v.k, t->dim[d]);
    }
    for (int64_t i = 0; f->content && i < gopt_tensor_count(t); i++) {
        gopt_dim v = gopt_dim_bind(g->family->dims, f->content[i], names, values, GOPT_COUNT(names));
        if (gopt_dim_is_known(v))
            assert_int_equal(v.k, gopt_tensor_get_int(t, i));
    }
}

/* The same graphs run on real tensors: what inference said, with the sizes put in, is what comes out. */
static void runs_agree_with_inference(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(chains); i++) {
        gopt_graph *g = NULL;
        gopt_err e = {0};
        gopt_arena a = {0};
        gopt_tensor *in[4], out[4];
        assert_ok(gopt_graph_read(&g, chains[i].text, &e), &e);
        assert_ok(gopt_graph_sort(g, &e), &e);
        assert_ok(gopt_graph_infer(g, &e), &e);
        bind_inputs(g, in, &a);
        assert_ok(gopt_graph_eval(g, (const gopt_tensor *const *)in, out, &a, 0, &e), &e);
        compare(g, &g->outputs[0]->fact, &out[0]);
        gopt_arena_fini(&a);
        gopt_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_followed),
        cmocka_unit_test(runs_agree_with_inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
