/* main_gopt.c: gopt, everything but tuning: one command per file under commands/, listed in commands.def. */
#include "cli.h"

#define X(name) extern const gopt_command gopt_command_##name;
#include "commands.def"
#undef X

static const gopt_command *const commands[] = {
#define X(name) &gopt_command_##name,
#include "commands.def"
#undef X
    NULL};

int main(int argc, char **argv)
{
    static const char *const beside[] = {"gopt-tune", NULL};
    static const gopt_program program = {.name = "gopt",
                                         .about = "Looks at, compiles, runs, times and verifies ONNX models and what "
                                                  "gopt-tune made of them.\n",
                                         .more = "First steps:\n"
                                                 "  gopt inspect net.onnx\n"
                                                 "  gopt verify net.onnx\n"
                                                 "  gopt-tune --budget 10m net.onnx\n"
                                                 "  gopt bench net.gopt/manifest.yaml --against net.onnx\n",
                                         .commands = commands,
                                         .beside = beside};
    return gopt_program_main(&program, argc, argv);
}
