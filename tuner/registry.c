/* registry.c: the registries as lists with defaults and one-line meanings. */
#include "registry.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "sampler.h"

static void print_passes(void)
{
    for (int i = 0; gopt_passes[i]; i++)
        printf("%-18s %s%s\n", gopt_passes[i]->name, gopt_passes[i]->doc,
               gopt_passes[i]->decides ? " (a decision)" : "");
}

static void print_kernels(void)
{
    for (int i = 0; gopt_kernels[i]; i++)
        printf("%-26s %-11s %s\n", gopt_kernels[i]->name, gopt_kernels[i]->generated ? "generated" : "precompiled",
               gopt_kernels[i]->doc);
}

static void print_range(const gopt_knob *k)
{
    gopt_text t = {0};
    int64_t n = gopt_knob_count(k);
    if (k->kind == GOPT_KNOB_LINEAR || (k->kind == GOPT_KNOB_POW2 && n > 6)) {
        gopt_knob_print(k, k->lo, &t);
        gopt_text_put(&t, "..");
        gopt_knob_print(k, k->hi, &t);
        gopt_text_put(&t, k->kind == GOPT_KNOB_POW2 ? " pow2" : "");
    } else {
        enum { LISTED = 8 };
        for (int64_t i = 0; i < (n > LISTED ? 2 : n); i++) {
            gopt_text_put(&t, i ? "|" : "");
            gopt_knob_print(k, gopt_knob_value(k, i), &t);
        }
        gopt_text_put(&t, n > LISTED ? "|..." : "");
    }
    printf(" %-24s", gopt_text_str(&t));
    gopt_text_fini(&t);
}

static void print_knobs(void)
{
    printf("%-32s %-12s %-24s %s\n", "knob", "default", "values", "meaning");
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        gopt_text t = {0};
        gopt_knob_print(s->knob, s->knob->init, &t);
        printf("%-32s %-12s", s->name, gopt_text_str(&t));
        print_range(s->knob);
        printf(" %s\n", s->is_switch && s->pass ? s->pass->doc : s->knob->doc);
        gopt_text_fini(&t);
    }
}

static void print_presets(void)
{
    const char *doc;
    for (int i = 0; i < gopt_preset_count(); i++) {
        const char *name = gopt_preset_at(i, &doc);
        printf("%-18s %s\n", name, doc);
    }
}

static void print_samplers(void)
{
    printf("%-18s exhaustive where the space is small, else neighbourhood\n", "auto");
    for (int i = 0; gopt_samplers[i]; i++)
        printf("%-18s %s\n", gopt_samplers[i]->name, gopt_samplers[i]->doc);
}

static void print_engines(void)
{
    printf("%-18s the built-in engine on the processor\n", "cpu");
}

gopt_status gopt_registry_print(const char *what, gopt_err *e)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } lists[] = {{"passes", print_passes},   {"kernels", print_kernels},   {"knobs", print_knobs},
                 {"presets", print_presets}, {"samplers", print_samplers}, {"engines", print_engines}};
    const char *names[GOPT_COUNT(lists)];
    for (int i = 0; i < GOPT_COUNT(lists); i++) {
        names[i] = lists[i].name;
        if (!strcmp(what, names[i])) {
            lists[i].print();
            return GOPT_OK;
        }
    }
    return gopt_within(e, gopt_unknown(e, "list", what, names, GOPT_COUNT(names)), "--list");
}
