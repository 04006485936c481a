/* json.c: findings.json. */
#include <string.h>

#include "base/file.h"
#include "findings.h"
#include "json_tree.h"

static void model(gopt_tree *b, cJSON *top, const gopt_finding_model *m)
{
    cJSON *o = gopt_tree_object(b, top, "model");
    gopt_tree_text(b, o, "path", m->path);
    gopt_tree_text(b, o, "sha256", m->sha256);
    gopt_tree_known(b, o, "nodes", m->nodes);
    gopt_tree_known(b, o, "parameters_bytes", m->parameters_bytes);
    cJSON *operators = gopt_tree_object(b, o, "operators"), *coverage = gopt_tree_object(b, o, "coverage");
    for (int i = 0; i < m->n_operators; i++)
        gopt_tree_known(b, operators, m->operators[i].name, m->operators[i].count);
    gopt_tree_known(b, coverage, "native", m->native);
    gopt_tree_known(b, coverage, "reference", m->reference);
    gopt_tree_known(b, coverage, "unsupported", m->unsupported);
}

static void settings(gopt_tree *b, cJSON *top, const gopt_finding_settings *s)
{
    cJSON *o = gopt_tree_object(b, top, "settings");
    gopt_tree_text(b, o, "objective", s->objective);
    gopt_tree_number(b, o, "alpha", s->alpha);
    gopt_tree_number(b, o, "requests", s->requests);
    gopt_tree_known(b, o, "max_memory", s->max_memory);
    gopt_tree_known(b, o, "max_compile", s->max_compile);
    gopt_tree_known(b, o, "max_latency", s->max_latency);
    gopt_tree_facts(b, o, s->more, s->n_more);
}

static void machine(gopt_tree *b, cJSON *top, const gopt_findings *f)
{
    cJSON *device = gopt_tree_object(b, top, "device"), *noise = gopt_tree_object(b, top, "noise");
    gopt_tree_text(b, device, "kind", f->device.kind);
    gopt_tree_text(b, device, "name", f->device.name);
    gopt_tree_text(b, device, "fingerprint", f->device.fingerprint);
    gopt_tree_facts(b, device, f->device.facts, f->device.n_facts);
    gopt_tree_number(b, noise, "floor", f->noise.floor);
    gopt_tree_truth(b, noise, "unquiet", f->noise.unquiet);
    gopt_tree_known(b, noise, "rounds_flagged", f->noise.rounds_flagged);
    gopt_tree_known(b, noise, "rounds", f->noise.rounds);
    gopt_tree_number(b, noise, "others_cpu", f->noise.others);
    gopt_tree_number(b, noise, "steal", f->noise.steal);
    gopt_tree_number(b, noise, "waited", f->noise.waited);
    gopt_tree_number(b, noise, "baseline_spread", f->noise.spread);
}

static void circumstances(gopt_tree *b, cJSON *top, const gopt_findings *f)
{
    cJSON *spent = gopt_tree_object(b, top, "accounting"), *traffic = gopt_tree_object(b, top, "traffic");
    gopt_tree_number(b, spent, "compile_s", f->accounting.compile);
    gopt_tree_number(b, spent, "verify_s", f->accounting.verify);
    gopt_tree_number(b, spent, "measure_s", f->accounting.measure);
    gopt_tree_number(b, spent, "search_s", f->accounting.search);
    gopt_tree_number(b, spent, "other_s", f->accounting.other);
    gopt_tree_text(b, traffic, "source", f->traffic.source);
    gopt_tree_number(b, traffic, "rate_per_s", f->traffic.rate_per_s);
    gopt_tree_number(b, traffic, "lifetime_s", f->traffic.lifetime_s);
    gopt_tree_number(b, traffic, "hit_rate", f->traffic.hit_rate);
    gopt_tree_number(b, traffic, "coverage", f->traffic.coverage);
    gopt_tree_number(b, traffic, "padding_waste", f->traffic.padding_waste);
    gopt_tree_number(b, traffic, "fallback_share", f->traffic.fallback_share);
}

static void ending(gopt_tree *b, cJSON *top, const gopt_findings *f)
{
    cJSON *verdict = gopt_tree_object(b, top, "verdict");
    gopt_tree_text(b, verdict, "result", f->verdict.result);
    gopt_tree_text(b, verdict, "trust", gopt_finding_trust(&f->noise));
    gopt_tree_text(b, verdict, "against", f->verdict.against);
    gopt_tree_texts(b, verdict, "details", f->verdict.details, f->verdict.n_details);
    gopt_tree_text(b, top, "regime", f->regime);
    gopt_tree_texts(b, top, "health", f->health, f->n_health);
    gopt_tree_texts(b, top, "notes", f->notes, f->n_notes);
    cJSON *commands = gopt_tree_array(b, top, "commands");
    for (int i = 0; i < f->n_commands; i++) {
        cJSON *o = gopt_tree_object(b, commands, NULL);
        gopt_tree_text(b, o, "purpose", f->commands[i].purpose);
        gopt_tree_text(b, o, "line", f->commands[i].line);
    }
}

static void build(gopt_tree *b, cJSON *top, const gopt_findings *f)
{
    gopt_tree_text(b, top, "schema", "gopt-findings/1");
    cJSON *tool = gopt_tree_object(b, top, "tool");
    gopt_tree_text(b, tool, "version", f->tool_version);
    gopt_tree_text(b, tool, "commit", f->tool_commit);
    gopt_tree_integer(b, top, "seed", f->seed);
    gopt_tree_number(b, top, "budget_s", f->budget_s);
    gopt_tree_number(b, top, "elapsed_s", f->elapsed_s);
    gopt_tree_text(b, top, "stopped", f->stopped);
    settings(b, top, &f->settings);
    model(b, top, &f->model);
    machine(b, top, f);
    circumstances(b, top, f);
    cJSON *clusters = gopt_tree_array(b, top, "clusters");
    for (int i = 0; i < f->n_clusters; i++)
        gopt_tree_cluster(b, clusters, &f->clusters[i]);
    ending(b, top, f);
}

gopt_status gopt_findings_json(char **out, const gopt_findings *f, gopt_err *e)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = gopt_malloc, .free_fn = gopt_free}); /* the same heap as before */
    gopt_tree b = {0};
    cJSON *top = cJSON_CreateObject();
    build(&b, top, f);
    *out = b.failed ? NULL : cJSON_Print(top);
    cJSON_Delete(top);
    return *out ? GOPT_OK : gopt_oom(e);
}

gopt_status gopt_findings_write_json(const gopt_findings *f, const char *path, gopt_err *e)
{
    char *json;
    gopt_status s = gopt_findings_json(&json, f, e);
    if (!json)
        return s;
    s = gopt_file_write(path, (gopt_piece[]){{json, strlen(json)}, {"\n", 1}}, 2, e);
    gopt_free(json);
    return s;
}
