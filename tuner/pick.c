/* pick.c: preset or pipeline first, then single knobs. */
#include "pick.h"

#include <string.h>

#include "base/cpu.h"

static gopt_status switch_on(gopt_config *c, const char *pass, gopt_err *e)
{
    const char *names[GOPT_SETTINGS_MAX];
    char assignment[96];
    int n = 0;
    if (gopt_pass_find(pass) < 0) {
        for (int i = 0; gopt_passes[i] && n < GOPT_COUNT(names); i++)
            names[n++] = gopt_passes[i]->name;
        return gopt_within(e, gopt_unknown(e, "pass", pass, names, n), "--pipeline");
    }
    snprintf(assignment, sizeof assignment, "pass.%s=on", pass);
    return gopt_config_set(c, assignment, e);
}

static gopt_status set_pipeline(gopt_config *c, const char *text, gopt_err *e)
{
    char pass[64];
    if (!strcmp(text, "default")) {
        gopt_config_default(c);
        return GOPT_OK;
    }
    gopt_config_baseline(c);
    for (const char *p = text; strcmp(text, "none") != 0 && p;) {
        size_t n = strcspn(p, ",");
        snprintf(pass, sizeof pass, "%.*s", (int)GOPT_MIN(n, sizeof pass - 1), p);
        GOPT_TRY(switch_on(c, pass, e));
        p = p[n] ? p + n + 1 : NULL;
    }
    return GOPT_OK;
}

static void warn_of_threads(const char *option, int n)
{
    gopt_err warning;
    int most = gopt_cpu_count();
    if (n <= most)
        return;
    gopt_fail(&warning, GOPT_EUSAGE, "%s: %d is more than the number of processors, %d", option, n, most);
    gopt_error_print("gopt", &warning);
}

gopt_status gopt_parse_threads(void *field, const char *text, gopt_err *e)
{
    int n;
    GOPT_TRY(gopt_parse_count(&n, text, e));
    if (n < 1)
        return gopt_fail(e, GOPT_EUSAGE, "at least 1 is needed");
    warn_of_threads("--threads", n);
    *(int *)field = n;
    return GOPT_OK;
}

/* What is no assignment of a knob is found when all of them are known. */
gopt_status gopt_parse_set(void *field, const char *text, gopt_err *e)
{
    static const char threads[] = "engine.threads=";
    int n;
    if (!strncmp(text, threads, sizeof threads - 1) && !gopt_parse_count(&n, text + sizeof threads - 1, NULL))
        warn_of_threads("--set engine.threads", n);
    return gopt_parse_words(field, text, e);
}

gopt_status gopt_pick_config(gopt_config *out, const gopt_pick *p, gopt_err *e)
{
    char threads[48];
    if (p->pipeline && p->preset)
        return gopt_fail(e, GOPT_EUSAGE, "--pipeline and --preset: only one of them can say which passes run");
    if (p->pipeline) {
        GOPT_TRY(set_pipeline(out, p->pipeline, e));
    } else {
        gopt_status s = gopt_config_preset(out, p->preset ? p->preset : "max-autotune", e);
        if (s)
            return gopt_within(e, s, "--preset");
    }
    for (int i = 0; i < p->set.n; i++) {
        gopt_status s = gopt_config_set(out, p->set.at[i], e);
        if (s)
            return gopt_within(e, s, "--set");
    }
    if (p->threads) {
        snprintf(threads, sizeof threads, "engine.threads=%d", p->threads);
        gopt_status s = gopt_config_set(out, threads, e);
        if (s)
            return gopt_within(e, s, "--threads");
    }
    gopt_config_normalize(out);
    return GOPT_OK;
}
