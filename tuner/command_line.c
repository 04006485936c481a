/* command_line.c: options that are not at their default, paths made absolute, words quoted where a shell needs it. */
#include "command_line.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config.h"

static void put_text(gopt_text *out, const char *option, const char *value)
{
    gopt_text_add(out, " %s ", option);
    gopt_text_put_word(out, value);
}

static void put_path(gopt_text *out, const char *option, const char *path)
{
    char *absolute = realpath(path, NULL);
    put_text(out, option, absolute ? absolute : path);
    free(absolute);
}

static void put_shapes(gopt_text *out, const char *shapes)
{
    for (const char *p = shapes; *p;) {
        char one[160];
        size_t n = strcspn(p, ",");
        snprintf(one, sizeof one, "%.*s", (int)GOPT_MIN(n, sizeof one - 1), p);
        put_text(out, "--shape", one);
        p += n + (p[n] == ',');
    }
}

static void put_lists(gopt_text *out, const gopt_tune_options *o)
{
    const gopt_knob *k = gopt_setting_at(gopt_setting_find("precision.weights"))->knob;
    bool any = false;
    for (int i = 0; i < o->n_threads; i++)
        gopt_text_add(out, "%s%d", i ? "," : " --threads ", o->threads[i]);
    for (int v = 0; v < 32; v++)
        if (o->precisions >> v & 1) {
            gopt_text_put(out, any ? "," : " --precision ");
            gopt_knob_print(k, v, out);
            any = true;
        }
}

static void put_number(gopt_text *out, const char *option, double value, double usual, const char *unit)
{
    if (fabs(value - usual) > 0)
        gopt_text_add(out, " %s %.15g%s", option, value, unit);
}

static void put_goal(gopt_text *out, const gopt_goal *g)
{
    const gopt_goal *usual = &gopt_goal_default;
    if (g->objective != usual->objective)
        gopt_text_add(out, " --objective %s", gopt_objective_name(g->objective));
    put_number(out, "--alpha", g->alpha, usual->alpha, "");
    put_number(out, "--requests", g->requests, usual->requests, "");
    put_number(out, "--max-memory", g->max_memory, usual->max_memory, "");
    put_number(out, "--max-compile", g->max_compile_ns, usual->max_compile_ns, "ns");
    put_number(out, "--max-latency", g->max_latency_ns, usual->max_latency_ns, "ns");
}

static bool is_on_path(const char *name)
{
    char file[PATH_MAX];
    for (const char *p = getenv("PATH"); p && *p;) {
        size_t n = strcspn(p, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)GOPT_MIN(n, sizeof file - 1), p, name);
        if (n && !access(file, X_OK))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

void gopt_program_word(gopt_text *out, const char *name)
{
    char file[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);
    file[GOPT_MAX(n, 0)] = 0;
    char *slash = strrchr(file, '/');
    if (slash)
        snprintf(slash + 1, sizeof file - (size_t)(slash + 1 - file), "%s", name);
    gopt_text_put_word(out, slash && !is_on_path(name) && !access(file, X_OK) ? file : name);
}

void gopt_tune_command(gopt_text *out, const gopt_tune_options *o, const char *shapes)
{
    gopt_program_word(out, "gopt-tune");
    gopt_text_add(out, " --budget %.10gs --seed %" PRId64, o->budget_s, o->seed);
    put_shapes(out, shapes);
    put_lists(out, o);
    put_goal(out, &o->goal);
    if (o->preset && gopt_file_exists(o->preset))
        put_path(out, "--preset", o->preset);
    else if (o->preset)
        put_text(out, "--preset", o->preset);
    if (o->sampler && strcmp(o->sampler, "auto") != 0)
        put_text(out, "--search", o->sampler);
    if (o->tolerance.rel >= 0)
        gopt_text_add(out, " --tolerance %.10g", o->tolerance.rel);
    if (o->tolerance.rel >= 0 && o->tolerance.abs >= 0)
        gopt_text_add(out, ",%.10g", o->tolerance.abs);
    if (o->against)
        put_path(out, "--baseline", o->against);
    put_path(out, "--out", o->out);
    gopt_text_put(out, " ");
    char *model = realpath(o->model, NULL);
    gopt_text_put_word(out, model ? model : o->model);
    free(model);
}
