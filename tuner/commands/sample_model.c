/* sample_model.c: gopt sample-model: the model of the quick start. */
#include <stdio.h>

#include "base/utf8.h"
#include "cli.h"
#include "import.h"

static gopt_status run(void *options, const char *const *operand, int n, gopt_err *e)
{
    gopt_graph *g;
    gopt_text line = {0};
    (void)options, (void)n;
    GOPT_TRY(gopt_model_sample(&g, e));
    gopt_status s = gopt_model_export(g, operand[0], e);
    gopt_utf8_put(&line, operand[0]);
    if (!s)
        printf("%s: %d nodes\n", gopt_text_str(&line), gopt_graph_count(g));
    gopt_text_fini(&line);
    gopt_graph_free(g);
    return s;
}

const gopt_command gopt_command_sample_model = {
    .name = "sample-model",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .doc = "Writes a small ONNX model to try things on: an attention block with room for every kind of optimization.",
    .more = "Example:\n"
            "  gopt sample-model sample.onnx && gopt-tune --budget 30s sample.onnx\n",
    .run = run,
};
