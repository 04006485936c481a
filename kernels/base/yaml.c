/* The depth of a YAML file, event by event up to the limit. */
#include "base/yaml.h"

#include <yaml.h>

/* +1: a collection begins, -1: it ends. */
static int step(yaml_event_type_t t)
{
    if (t == YAML_SEQUENCE_START_EVENT || t == YAML_MAPPING_START_EVENT)
        return 1;
    return t == YAML_SEQUENCE_END_EVENT || t == YAML_MAPPING_END_EVENT ? -1 : 0;
}

static gopt_status check(yaml_parser_t *parser, gopt_err *e)
{
    yaml_event_t event;
    int depth = 0;
    for (bool ended = false; !ended && yaml_parser_parse(parser, &event);) {
        depth += step(event.type);
        ended = event.type == YAML_STREAM_END_EVENT || depth > GOPT_YAML_DEPTH;
        if (depth > GOPT_YAML_DEPTH)
            gopt_fail(e, GOPT_EINPUT, "line %zu: nested more than %d deep", event.start_mark.line + 1, GOPT_YAML_DEPTH);
        yaml_event_delete(&event);
    }
    return depth > GOPT_YAML_DEPTH ? GOPT_EINPUT : GOPT_OK;
}

gopt_status gopt_yaml_check(const unsigned char *yaml, size_t bytes, gopt_err *e)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return gopt_oom(e);
    yaml_parser_set_input_string(&parser, yaml, bytes);
    gopt_status s = check(&parser, e);
    yaml_parser_delete(&parser);
    return s;
}
