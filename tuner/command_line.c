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

typedef struct unit {
    const char *name;
    double size;
} unit; /* falling; the last is of size 1 */

static const unit plain[] = {{"", 1}};
static const unit bytes[] = {{"T", 0x1p40}, {"G", 0x1p30}, {"M", 0x1p20}, {"K", 0x1p10}, {"", 1}};
static const unit ns[] = {{"h", 3.6e12}, {"m", 6e10}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};

/* In the largest unit that keeps it whole. NAN is never printed. */
static void put_number(gopt_text *out, const char *option, double value, double usual, const unit *u)
{
    double whole = round(value);
    if (!(fabs(value - usual) > 0))
        return;
    if (u != plain && !(value > 0)) {
        gopt_text_add(out, " %s none", option);
        return;
    }
    if (fabs(value - whole) < 1e-12 * value) /* seconds became nanoseconds */
        value = whole;
    while (u->size > 1 && fmod(value, u->size) > 0)
        u++;
    gopt_text_add(out, " %s %.15g%s", option, value / u->size, u->name);
}

static void put_goal(gopt_text *out, const gopt_goal *g, const gopt_goal *usual)
{
    if (g->objective != usual->objective)
        gopt_text_add(out, " --objective %s", gopt_objective_name(g->objective));
    put_number(out, "--alpha", g->alpha, usual->alpha, plain);
    put_number(out, "--requests", g->requests, usual->requests, plain);
    put_number(out, "--max-memory", g->max_memory, usual->max_memory, bytes);
    put_number(out, "--max-compile", g->max_compile_ns, usual->max_compile_ns, ns);
    put_number(out, "--max-latency", g->max_latency_ns, usual->max_latency_ns, ns);
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
    put_goal(out, &o->goal, &gopt_goal_default);
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

/* Up to the blank that ends a word of a shell. */
static size_t word_length(const char *p)
{
    char quote = 0;
    size_t n = 0;
    for (; p[n] && (quote || p[n] != ' '); n++)
        if (quote ? p[n] == quote : p[n] == '\'' || p[n] == '"')
            quote = quote ? 0 : p[n];
    return n;
}

/* Whether this word of a call is an option that `options` (" --alpha 1") give anew. */
static bool is_replaced(const char *word, size_t n, const char *options)
{
    char name[32];
    snprintf(name, sizeof name, " %.*s ", (int)GOPT_MIN(n, sizeof name - 3), word);
    return !strncmp(word, "--", 2) && (!strcmp(name, " --out ") || strstr(options, name));
}

void gopt_tune_command_change(gopt_text *out, const char *line, const gopt_goal_change *c, const char *out_dir)
{
    const gopt_goal now = {.objective = c->objective,
                           .alpha = c->alpha,
                           .requests = c->requests,
                           .max_memory = c->max_memory,
                           .max_compile_ns = c->max_compile_ns,
                           .max_latency_ns = c->max_latency_ns};
    const gopt_goal unlike = {.objective = GOPT_OBJECTIVE_COUNT,
                              .alpha = INFINITY,
                              .requests = INFINITY,
                              .max_memory = INFINITY,
                              .max_compile_ns = INFINITY,
                              .max_latency_ns = INFINITY}; /* all that is given is said */
    gopt_text options = {0};
    put_goal(&options, &now, &unlike);
    for (size_t n; *line; line += n + (line[n] == ' ')) {
        n = word_length(line);
        if (!is_replaced(line, n, gopt_text_str(&options))) {
            gopt_text_put(out, out->n ? " " : "");
            gopt_text_putn(out, line, n);
        } else if (line[n]) {
            line += n + 1;
            n = word_length(line);
        }
    }
    gopt_text_put(out, gopt_text_str(&options));
    put_path(out, "--out", out_dir);
    gopt_text_fini(&options);
}
