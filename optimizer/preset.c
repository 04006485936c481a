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

static const yaml_node_t *node_of(const yaml_document_t *d, int id)
{
    return yaml_document_get_node((yaml_document_t *)(uintptr_t)d, id);
}

static bool given_before(const yaml_document_t *d, const yaml_node_pair_t *first, const yaml_node_pair_t *pair)
{
    const char *name = (const char *)node_of(d, pair->key)->data.scalar.value;
    for (const yaml_node_pair_t *p = first; p < pair; p++)
        if (!strcmp(name, (const char *)node_of(d, p->key)->data.scalar.value))
            return true;
    return false;
}

static gopt_status apply_pair(gopt_config *c, const yaml_document_t *d, const yaml_node_pair_t *first,
                              const yaml_node_pair_t *pair, gopt_err *e)
{
    const yaml_node_t *key = node_of(d, pair->key), *value = node_of(d, pair->value);
    size_t line = key ? key->start_mark.line + 1 : 0;
    if (!key || !value || key->type != YAML_SCALAR_NODE || value->type != YAML_SCALAR_NODE)
        return gopt_fail(e, GOPT_EUSAGE, "line %zu: 'knob: value' expected", line);
    gopt_text t = {0};
    gopt_text_add(&t, "%s=%s", (const char *)key->data.scalar.value, (const char *)value->data.scalar.value);
    gopt_status s = t.failed ? gopt_oom(e) : gopt_config_set(c, gopt_text_str(&t), e);
    gopt_text_fini(&t);
    if (!s && given_before(d, first, pair))
        s = gopt_fail(e, GOPT_EUSAGE, "%s: given twice", (const char *)key->data.scalar.value);
    return s ? gopt_within(e, s, "line %zu", line) : GOPT_OK;
}

static gopt_status apply_document(gopt_config *c, const yaml_document_t *d, gopt_err *e)
{
    const yaml_node_t *root = yaml_document_get_root_node((yaml_document_t *)(uintptr_t)d);
    if (!root || root->type != YAML_MAPPING_NODE)
        return gopt_fail(e, GOPT_EUSAGE, "a mapping of knobs to values expected");
    const yaml_node_pair_t *first = root->data.mapping.pairs.start;
    for (const yaml_node_pair_t *p = first; p < root->data.mapping.pairs.top; p++)
        GOPT_TRY(apply_pair(c, d, first, p, e));
    return GOPT_OK;
}

static gopt_status read_document(yaml_parser_t *parser, yaml_document_t *out, gopt_err *e)
{
    if (yaml_parser_load(parser, out))
        return GOPT_OK;
    if (parser->error == YAML_MEMORY_ERROR)
        return gopt_oom(e);
    size_t line = parser->error == YAML_READER_ERROR ? 0 : parser->problem_mark.line + 1;
    const char *problem = parser->problem ? parser->problem : "not YAML";
    return line ? gopt_fail(e, GOPT_EUSAGE, "line %zu: %s", line, problem)
                : gopt_fail(e, GOPT_EUSAGE, "byte %zu: %s", parser->problem_offset, problem);
}

/* One document and no other after it. */
static gopt_status apply_stream(gopt_config *c, yaml_parser_t *parser, gopt_err *e)
{
    yaml_document_t d;
    GOPT_TRY(read_document(parser, &d, e));
    gopt_status s = apply_document(c, &d, e);
    yaml_document_delete(&d);
    GOPT_TRY(s);
    GOPT_TRY(read_document(parser, &d, e));
    if (yaml_document_get_root_node(&d))
        s = gopt_fail(e, GOPT_EUSAGE, "line %zu: a second document", d.start_mark.line + 1);
    yaml_document_delete(&d);
    return s;
}

static gopt_status preset_file(gopt_config *c, const char *path, gopt_err *e)
{
    gopt_mapping m;
    yaml_parser_t parser;
    GOPT_TRY(gopt_file_map(&m, path, e));
    gopt_config_default(c);
    gopt_status s = yaml_parser_initialize(&parser) ? GOPT_OK : gopt_oom(e);
    if (!s) {
        yaml_parser_set_input_string(&parser, m.data, m.bytes);
        s = apply_stream(c, &parser, e);
        yaml_parser_delete(&parser);
    }
    gopt_file_unmap(&m);
    return s ? gopt_within(e, s, "%s", path) : GOPT_OK;
}

static gopt_status unknown_preset(const char *name, gopt_err *e)
{
    const char *names[GOPT_COUNT(presets)];
    for (int i = 0; i < GOPT_COUNT(presets); i++)
        names[i] = presets[i].name;
    const char *near = gopt_text_nearest(name, names, GOPT_COUNT(presets));
    return near ? gopt_fail(e, GOPT_EUSAGE, "unknown preset '%s' (and no such file); did you mean '%s'?", name, near)
                : gopt_fail(e, GOPT_EUSAGE, "unknown preset '%s' (and no such file); see gopt-tune --list presets",
                            name);
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
        return unknown_preset(name_or_path, e);
    GOPT_TRY(preset_file(c, name_or_path, e));
    gopt_config_normalize(c);
    return GOPT_OK;
}
