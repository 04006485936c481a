/* preset.c: starting configurations as YAML: a flat mapping of knob: value, from the default on or, where its first key
 * is `from`, from the baseline. Named ones lie under presets/. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/yaml.h"

/* The files under presets/, which the build turns into text. */
extern const unsigned char gopt_text_preset_debug[], gopt_text_preset_reduce_overhead[],
    gopt_text_preset_max_autotune[];

static const struct {
    const char *name, *doc;
    const unsigned char *yaml;
} presets[] = {
    {"debug", "no pass, one kernel per node: the baseline", gopt_text_preset_debug},
    {"reduce-overhead", "all passes, precompiled kernels only: compiles in milliseconds",
     gopt_text_preset_reduce_overhead},
    {"max-autotune", "all passes and generated kernels", gopt_text_preset_max_autotune},
    {"baseline", "the same as debug", gopt_text_preset_debug},
    {"default", "the same as max-autotune", gopt_text_preset_max_autotune},
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

static gopt_status start_from(gopt_config *c, const char *what, bool is_first, size_t line, gopt_err *e)
{
    if (!is_first)
        return gopt_fail(e, GOPT_EUSAGE, "line %zu: from: must come first", line);
    if (strcmp(what, "baseline") != 0 && strcmp(what, "default") != 0)
        return gopt_fail(e, GOPT_EUSAGE, "line %zu: from: baseline or default expected, not '%.40s'", line, what);
    if (*what == 'b')
        gopt_config_baseline(c);
    else
        gopt_config_default(c);
    return GOPT_OK;
}

static gopt_status apply_pair(gopt_config *c, const yaml_document_t *d, const yaml_node_pair_t *first,
                              const yaml_node_pair_t *pair, gopt_err *e)
{
    const yaml_node_t *key = node_of(d, pair->key), *value = node_of(d, pair->value);
    size_t line = key ? key->start_mark.line + 1 : 0;
    if (!key || !value || key->type != YAML_SCALAR_NODE || value->type != YAML_SCALAR_NODE)
        return gopt_fail(e, GOPT_EUSAGE, "line %zu: 'knob: value' expected", line);
    if (!strcmp((const char *)key->data.scalar.value, "from"))
        return start_from(c, (const char *)value->data.scalar.value, pair == first, line, e);
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

static gopt_status apply_text(gopt_config *c, const unsigned char *yaml, size_t bytes, gopt_err *e)
{
    yaml_parser_t parser;
    gopt_config_default(c);
    if (gopt_yaml_check(yaml, bytes, e))
        return GOPT_EUSAGE; /* as of all that is wrong with a preset */
    if (!yaml_parser_initialize(&parser))
        return gopt_oom(e);
    yaml_parser_set_input_string(&parser, yaml, bytes);
    gopt_status s = apply_stream(c, &parser, e);
    yaml_parser_delete(&parser);
    gopt_config_normalize(c);
    return s;
}

static gopt_status preset_file(gopt_config *c, const char *path, gopt_err *e)
{
    gopt_mapping m;
    GOPT_TRY(gopt_file_map(&m, path, e));
    gopt_status s = apply_text(c, m.data, m.bytes, e);
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
    for (int i = 0; i < GOPT_COUNT(presets); i++)
        if (!strcmp(presets[i].name, name_or_path))
            return apply_text(c, presets[i].yaml, strlen((const char *)presets[i].yaml), e);
    return gopt_file_exists(name_or_path) ? preset_file(c, name_or_path, e) : unknown_preset(name_or_path, e);
}
