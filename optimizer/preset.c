/* preset.c: named starting configurations, and the same as YAML files (a flat mapping of knob: value). */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"

/* A preset starts from the baseline or the default and changes a few settings. */
typedef struct preset {
    const char *name, *doc;
    bool from_default;
    const char *const *assign;
} preset;

static const char *const none[] = {NULL};
static const char *const low_overhead[] = {"pass.codegen=off", NULL};
static const preset presets[] = {
    {"debug", "no pass, one kernel per node: the baseline", false, none},
    {"reduce-overhead", "all passes, precompiled kernels only: compiles in milliseconds", true, low_overhead},
    {"max-autotune", "all passes and generated kernels", true, none},
    {"baseline", "the same as debug", false, none},
    {"default", "the same as max-autotune", true, none},
};

int gopt_preset_count(void)
{
    return GOPT_COUNT(presets);
}

const char *gopt_preset_at(int i, const char **doc)
{
    if (i < 0 || i >= GOPT_COUNT(presets))
        return NULL;
    *doc = presets[i].doc;
    return presets[i].name;
}

static gopt_status apply_pair(gopt_config *c, const yaml_document_t *d, const yaml_node_pair_t *pair, gopt_err *e)
{
    const yaml_node_t *key = yaml_document_get_node((yaml_document_t *)d, pair->key);
    const yaml_node_t *value = yaml_document_get_node((yaml_document_t *)d, pair->value);
    size_t line = key ? key->start_mark.line + 1 : 0;
    if (!key || !value || key->type != YAML_SCALAR_NODE || value->type != YAML_SCALAR_NODE)
        return gopt_fail(e, GOPT_EUSAGE, "line %zu: 'knob: value' expected", line);
    char assignment[256];
    snprintf(assignment, sizeof assignment, "%s=%s", (const char *)key->data.scalar.value,
             (const char *)value->data.scalar.value);
    gopt_status s = gopt_config_set(c, assignment, e);
    return s ? gopt_within(e, s, "line %zu", line) : GOPT_OK;
}

static gopt_status apply_document(gopt_config *c, yaml_document_t *d, gopt_err *e)
{
    const yaml_node_t *root = yaml_document_get_root_node(d);
    if (!root || root->type != YAML_MAPPING_NODE)
        return gopt_fail(e, GOPT_EUSAGE, "a mapping of knobs to values expected");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++)
        GOPT_TRY(apply_pair(c, d, p, e));
    return GOPT_OK;
}

static gopt_status preset_file(gopt_config *c, const char *path, gopt_err *e)
{
    gopt_mapping m;
    GOPT_TRY(gopt_file_map(&m, path, e));
    yaml_parser_t parser;
    yaml_document_t document;
    gopt_status s = GOPT_OK;
    if (!yaml_parser_initialize(&parser)) {
        s = gopt_oom(e);
    } else {
        yaml_parser_set_input_string(&parser, m.data, m.bytes);
        if (!yaml_parser_load(&parser, &document)) {
            s = gopt_fail(e, GOPT_EUSAGE, "%s: line %zu: %s", path, parser.problem_mark.line + 1, parser.problem);
        } else {
            gopt_config_default(c);
            s = apply_document(c, &document, e);
            if (s)
                gopt_within(e, s, "%s", path);
            yaml_document_delete(&document);
        }
        yaml_parser_delete(&parser);
    }
    gopt_file_unmap(&m);
    return s;
}

gopt_status gopt_config_preset(gopt_config *c, const char *name_or_path, gopt_err *e)
{
    for (int i = 0; i < GOPT_COUNT(presets); i++) {
        if (strcmp(presets[i].name, name_or_path))
            continue;
        if (presets[i].from_default)
            gopt_config_default(c);
        else
            gopt_config_baseline(c);
        for (const char *const *a = presets[i].assign; *a; a++)
            GOPT_TRY(gopt_config_set(c, *a, e));
        gopt_config_normalize(c);
        return GOPT_OK;
    }
    if (!gopt_file_exists(name_or_path))
        return gopt_fail(e, GOPT_EUSAGE, "unknown preset '%s' (and no such file); see gopt-tune --list presets",
                         name_or_path);
    gopt_status s = preset_file(c, name_or_path, e);
    gopt_config_normalize(c);
    return s;
}
