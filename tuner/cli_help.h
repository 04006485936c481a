/* cli_help.h: what --help says. */
#ifndef GOPT_CLI_HELP_H
#define GOPT_CLI_HELP_H

#include "cli.h"

void gopt_help_command(const gopt_command *c, const char *program, FILE *out);
void gopt_help_program(const gopt_program *p, FILE *out);

#endif
