/* dump: the text form says everything, reads back to the same, and refuses the rest with the line. */
#include "support/test.h"

#include <dirent.h>

#include "base/file.h"
#include "dump.h"

static void assert_round_trip(const char *text)
{
    gopt_graph *g, *again;
    gopt_err e = {0};
    gopt_text first = {0}, second = {0};
    assert_ok(gopt_graph_read(&g, text, &e), &e);
    gopt_graph_print(g, &first);
    assert_ok(gopt_graph_read(&again, gopt_text_str(&first), &e), &e);
    gopt_graph_print(again, &second);
    assert_string_equal(gopt_text_str(&first), gopt_text_str(&second));
    gopt_text_fini(&first);
    gopt_text_fini(&second);
    gopt_graph_free(g);
    gopt_graph_free(again);
}

static void assert_prints(const char *text)
{
    gopt_graph *g;
    gopt_err e = {0};
    gopt_text t = {0};
    assert_ok(gopt_graph_read(&g, text, &e), &e);
    gopt_graph_print(g, &t);
    assert_string_equal(gopt_text_str(&t), text);
    gopt_text_fini(&t);
    gopt_graph_free(g);
}

static void names_in_quotes(void **state)
{
    (void)state;
    assert_prints("input \"x:0\" float32[4]\n"
                  "input \"_\" float32[4]\n"
                  "input \"input\" float32[\"2*n\",?,\"a\\\"b\"]\n"
                  "\"a node\\x09\\\\\": y float32[4] = Add(\"x:0\", \"_\")\n"
                  "output y\n");
}

static void constants(void **state)
{
    (void)state;
    assert_prints("input x float32[1]\n"
                  "const a float32[9] {1,-0,nan,inf,-inf,0.1,1e-45,3.4028235e+38,123456}\n"
                  "const b float16[2] {0.1,65504}\n"
                  "const c int64[2] {9223372036854775807,-9223372036854775808}\n"
                  "const d uint64[1] {18446744073709551615}\n"
                  "const f bool[3] {0,1,1}\n"
                  "const g int4[3] {-8,7,0}\n"
                  "const h float64[] {0.1}\n"
                  "const i float32[0] {}\n"
                  "const j float32[100] random(17)\n"
                  "const k int32[3,4] splat(9)\n"
                  "const l float64[2,1000] splat(0.25)\n"
                  "n0: p float32[9] = Neg(a)\n"
                  "n1: q float16[2] = Neg(b)\n"
                  "n2: r int64[2] = Neg(c)\n"
                  "n3: s uint64[1] = Identity(d)\n"
                  "n4: t bool[3] = Not(f)\n"
                  "n5: u int4[3] = Identity(g)\n"
                  "n6: v float64[] = Neg(h)\n"
                  "n7: w float32[0] = Neg(i)\n"
                  "n8: z float32[100] = Neg(j)\n"
                  "n9: o int32[3,4] = Neg(k)\n"
                  "n10: m float64[2,1000] = Neg(l)\n"
                  "output x\n");
}

static void attributes(void **state)
{
    (void)state;
    assert_prints("input x float32[4]\n"
                  "n: y float32[4] = Relu(x) {i=-3, f=0.5, g=2.0, h=nan, s=\"a \\\"b\\\"\", n=[1,2], m=[1.0,-0.5,inf], "
                  "t=[\"p\",\"q\"], w=tensor float32[2] {1,2}, e=[]}\n"
                  "output y\n");
}

static void posts_bodies_and_gaps(void **state)
{
    (void)state;
    assert_prints("input x float32[n,4]\n"
                  "input c bool[]\n"
                  "const w float32[4,2] {1,2,3,4,5,6,7,8}\n"
                  "const r float32[2] {1,2}\n"
                  "a: p float32[n,2] = Gemm(x, w, _; r) {transB=0} post=max(add(acc, in3), const(0.0))\n"
                  "b: q float32[n,2], _ = Dropout(p)\n"
                  "g: h float32[n,2] = gopt::Pointwise(;q, r) post=mul(t0=exp(in1), add(in0, t0))\n"
                  "k: y float32[n,2] = If(c)\n"
                  "  body then_branch\n"
                  "    const two float32[] {2}\n"
                  "    l: z float32[n,2] = Mul(h, two)\n"
                  "    output z\n"
                  "  end\n"
                  "  body \"else branch\"\n"
                  "    output q\n"
                  "  end\n"
                  "output y\n"
                  "output q\n");
}

static void declared_shapes_stay(void **state)
{
    (void)state;
    assert_prints("input x float32[2,3]\n"
                  "input s int64[2]\n"
                  "a: y float32[rows,3] = Reshape(x, s)\n"
                  "output y\n");
}

static void all_fixtures(void **state)
{
    struct dirent **passes;
    int n = scandir("tests/passes", &passes, NULL, alphasort), texts = 0;
    (void)state;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char folder[400], path[800];
        struct dirent **cases;
        snprintf(folder, sizeof folder, "tests/passes/%s", passes[i]->d_name);
        int m = passes[i]->d_name[0] == '.' ? 0 : scandir(folder, &cases, NULL, alphasort);
        for (int k = 0; k < m; k++) {
            gopt_mapping map;
            gopt_err e = {0};
            snprintf(path, sizeof path, "%s/%s/out.txt", folder, cases[k]->d_name);
            if (cases[k]->d_name[0] != '.' && !gopt_file_map(&map, path, &e)) {
                char *text = strndup((const char *)map.data, map.bytes);
                assert_round_trip(text);
                texts++;
                free(text);
                gopt_file_unmap(&map);
            }
            free(cases[k]);
        }
        if (m > 0)
            free(cases);
        free(passes[i]);
    }
    free(passes);
    assert_true(texts > 100);
}

static void errors_name_the_line(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"input x float32[2]\n\ninput x float32[2]\n", "line 3: x is defined twice"},
        {"# fine\ninput x float33[2]\n", "line 2: unknown type float33"},
        {"input x float32[2\n", "line 1: , expected at ''"},
        {"const c float32[3] {1,2}\n", "line 1: , expected at '}'"},
        {"const c float32[n] {1,2}\n", "line 1: numbers of a known shape expected"},
        {"const c float32[1] hash(00)\n", "line 1: { expected"},
        {"const c float32[4] random(100)\n", "line 1: seed below 100 expected"},
        {"n: y float32[2] = Nope(x)\n", "line 1: unknown operator Nope"},
        {"n: y float32[2] = Relu(x)\n", "line 1: x is not defined"},
        {"input x float32[2]\nn: y float32[2] = Relu(x) {a}\n", "line 2: = expected"},
        {"input x float32[2]\nn: y float32[2] = Relu(x) nonsense\n", "line 2: end of line expected"},
        {"input x float32[2]\nn: y float32[2] = Relu(x; x) post=add(acc, in9)\n", "node n (Relu): post reads"},
        {"input x float32[2]\nn: y float32[2] = Relu(x; x) post=frob(acc)\n", "line 2: expression: no operand"},
        {"output z\n", "line 1: z is not defined"},
        {"end\n", "line 1: 'end' without a body"},
        {"body b\n", "line 1: node before its body expected"},
        {"input c bool[]\nn: y float32[2] = If(c)\nbody b\n", "a body has no end"},
        {"input x float32[\"a]\n", "line 1: closing quote expected"},
        {"input x float32[1,1,1,1,1,1,1,1,1,1,1,1,1]\n", "line 1: more than 12 dimensions"},
        {"input x float32[2,3]\ninput y float32[4]\nn: z float32[2,3] = Add(x, y)\n", "node n (Add): "},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        gopt_graph *g;
        gopt_err e = {0};
        assert_int_not_equal(gopt_graph_read(&g, cases[i].text, &e), GOPT_OK);
        assert_null(g);
        if (!strstr(e.msg, cases[i].message))
            fail_msg("\"%s\" expected, got \"%s\"", cases[i].message, e.msg);
    }
}

static const char SAMPLE[] = "input x float32[n,\"2*n\",4]\n"
                             "input c bool[]\n"
                             "const w float32[4,2] {1,2,3,4,5,6,7,8}\n"
                             "const r float32[2] splat(3)\n"
                             "a: p float32[n,\"2*n\",2] = MatMul(x, w; r) post=max(add(acc, in2), const(0.0))\n"
                             "b: y float32[n,\"2*n\",2] = If(c) {k=[1,2], s=\"t\"}\n"
                             "  body then_branch\n"
                             "    d: q float32[n,\"2*n\",2] = gopt::Pointwise(;p, r) post=mul(t0=exp(in0), t0)\n"
                             "    output q\n"
                             "  end\n"
                             "  body else_branch\n"
                             "    output p\n"
                             "  end\n"
                             "output y\n";

/* Any text gives a graph or an error, never harm. */
static void changed_text_is_read_or_refused(void **state)
{
    uint64_t x = 88172645463325252u;
    char text[sizeof SAMPLE];
    int read = 0;
    (void)state;
    assert_round_trip(SAMPLE);
    for (int round = 0; round < 4000; round++) {
        gopt_graph *g;
        gopt_err e = {0};
        memcpy(text, SAMPLE, sizeof text);
        for (int k = 0; k < 1 + round % 3; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            text[x % (sizeof text - 1)] = x >> 60 < 8 ? SAMPLE[(x >> 20) % (sizeof text - 1)] : (char)(x >> 50);
        }
        gopt_status s = gopt_graph_read(&g, text, &e);
        assert_true(s == GOPT_OK ? g != NULL : g == NULL && e.msg[0]);
        assert_int_not_equal(s, GOPT_EBUG);
        read += s == GOPT_OK;
        gopt_graph_free(g);
    }
    assert_true(read > 100 && read < 3900);
}

static gopt_status read_and_print(void *ctx, gopt_err *e)
{
    gopt_graph *g;
    gopt_text t = {0};
    GOPT_TRY(gopt_graph_read(&g, ctx, e));
    gopt_graph_print(g, &t);
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    gopt_text_fini(&t);
    gopt_graph_free(g);
    return s;
}

static void survives_every_failed_allocation(void **state)
{
    char text[] = "input x float32[n,4]\nn1: y float32[n,4] = Add(x, x) {a=[1,2]}\noutput y\n";
    (void)state;
    assert_true(test_every_oom(read_and_print, text) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_quotes),
        cmocka_unit_test(constants),
        cmocka_unit_test(attributes),
        cmocka_unit_test(posts_bodies_and_gaps),
        cmocka_unit_test(declared_shapes_stay),
        cmocka_unit_test(all_fixtures),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(changed_text_is_read_or_refused),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
