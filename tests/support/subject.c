#include "support/subject.h"

#include "inputs.h"
#include "support/graphs.h"
#include "support/test.h"

const char test_subject_model[] = "input x float32[3,8]\n"
                                  "const w float32[8,16] random(1)\n"
                                  "const b float32[16] random(2)\n"
                                  "const s int64[2] {16,3}\n"
                                  "n1: h float32[3,16] = MatMul(x, w)\n"
                                  "n2: c float32[3,16] = Add(h, b)\n"
                                  "n3: r float32[3,16] = Relu(c)\n"
                                  "n4: z float32[16,3] = Reshape(r, s)\n"
                                  "n5: y float32[16,3] = Sigmoid(z)\n"
                                  "output y\n"
                                  "output r\n";

void test_subject_make(test_subject *s, const char *text, int cases, const char *dir)
{
    gopt_err e = {0};
    *s = (test_subject){.graph = test_graph(text)};
    s->bench = (gopt_bench){
        .graph = s->graph, .rel = -1, .abs = -1, .cache_dir = dir, .scratch_dir = dir, .import_ns = 7, .infer_ns = 3};
    gopt_target_host(&s->bench.target, 1);
    for (int k = 0; k < cases; k++) {
        gopt_tensor *out = GOPT_NEW(&s->arena, gopt_tensor, s->graph->n_outputs);
        assert_non_null(out);
        assert_ok(gopt_inputs_make(&s->bench.inputs[k], s->graph, (gopt_input_case)k, 1, &s->arena, &e), &e);
        assert_ok(gopt_graph_eval(s->graph, s->bench.inputs[k], out, &s->arena, 0, &e), &e);
        s->bench.expected[k] = out;
        if (k == 0)
            s->outputs = out;
        s->bench.n_cases++;
    }
}

void test_subject_fini(test_subject *s)
{
    gopt_graph_free(s->graph);
    gopt_arena_fini(&s->arena);
}

char *test_prepare_request(char *buf, size_t size, const gopt_config *c)
{
    char *json = gopt_config_json(c);
    assert_non_null(json);
    snprintf(buf, size, "{\"do\":\"prepare\",\"config\":%s}", json);
    free(json);
    return buf;
}
