/* config.c: the table of settings, built once from the registries of passes and kernels. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_once_t once;
    gopt_setting row[GOPT_SETTINGS_MAX];
    int owner[GOPT_SETTINGS_MAX]; /* the row that switches the pass or kernel of a row, -1 */
    int n;
    int codegen; /* the row that switches generated kernels, -1 */
    int early;   /* the row of the pass that comes early, followed by that of the pass it comes before */
    gopt_knob threads, moved[2];
    const char *pass_name[GOPT_SETTINGS_MAX]; /* "none", then all passes: values of the two rows */
} table = {.once = PTHREAD_ONCE_INIT};

static const gopt_knob switch_knob = {
    .name = "pass", .kind = GOPT_KNOB_BOOL, .lo = 0, .hi = 1, .init = 1, .doc = "whether the pass runs"};
static const gopt_knob rival_knob = {
    .name = "kernel", .kind = GOPT_KNOB_BOOL, .lo = 0, .hi = 1, .init = 1, .doc = "whether the kernel may be chosen"};

static gopt_setting *add(const char *prefix, const char *name, const gopt_knob *k)
{
    if (table.n == GOPT_SETTINGS_MAX)
        return NULL;
    gopt_setting *s = &table.row[table.n++];
    snprintf(s->name, sizeof s->name, "%s.%s", prefix, name);
    s->knob = k;
    return s;
}

static void add_pass(const gopt_pass *p)
{
    gopt_setting *s = add("pass", p->name, &switch_knob);
    if (s) {
        s->pass = p;
        s->is_switch = true;
    }
    for (const gopt_knob *k = p->knobs; k && k->name; k++)
        if ((s = add(p->name, k->name, k)))
            s->pass = p;
}

static void add_kernel(const gopt_kernel *kernel)
{
    gopt_setting *s = kernel->rival ? add("kernel", kernel->name, &rival_knob) : NULL;
    if (s) {
        s->kernel = kernel;
        s->is_switch = true;
    }
    for (const gopt_knob *k = kernel->knobs; k && k->name; k++)
        if ((s = add(kernel->name, k->name, k)))
            s->kernel = kernel;
}

/* Two passes may change places: one runs right before another that comes first in the default order. */
static void add_order(void)
{
    static const char *const names[] = {"early", "before"}, *const docs[] = {"a pass that leaves its place",
                                                                             "the pass right before which it runs"};
    int n = 0;
    table.pass_name[n++] = "none";
    for (int i = 0; gopt_passes[i] && n < GOPT_SETTINGS_MAX - 1; i++)
        table.pass_name[n++] = gopt_passes[i]->name;
    table.early = table.n;
    for (int k = 0; k < 2; k++) {
        table.moved[k] = (gopt_knob){
            .name = names[k], .kind = GOPT_KNOB_CHOICE, .hi = n - 1, .choices = table.pass_name, .doc = docs[k]};
        add("pipeline", names[k], &table.moved[k]);
    }
}

static int find_switch(const gopt_setting *s)
{
    for (int i = 0; i < table.n; i++) {
        const gopt_setting *t = &table.row[i];
        if (t->is_switch && ((s->pass && t->pass == s->pass) || (s->kernel && t->kernel == s->kernel)))
            return i;
    }
    return -1;
}

static void build(void)
{
    int cpus = gopt_cpu_count();
    table.threads = (gopt_knob){.name = "threads",
                                .kind = GOPT_KNOB_LINEAR,
                                .lo = 1,
                                .hi = GOPT_MAX(cpus, 256),
                                .init = cpus,
                                .doc = "threads of one inference"};
    for (int i = 0; gopt_passes[i]; i++)
        add_pass(gopt_passes[i]);
    for (int i = 0; gopt_kernels[i]; i++)
        add_kernel(gopt_kernels[i]);
    add("engine", "threads", &table.threads);
    add_order();
    table.codegen = -1;
    for (int i = 0; i < table.n; i++) {
        table.owner[i] = find_switch(&table.row[i]);
        if (!strcmp(table.row[i].name, "pass.codegen"))
            table.codegen = i;
    }
}

int gopt_setting_count(void)
{
    pthread_once(&table.once, build);
    return table.n;
}

const gopt_setting *gopt_setting_at(int row)
{
    return row >= 0 && row < gopt_setting_count() ? &table.row[row] : NULL;
}

int gopt_setting_find(const char *name)
{
    for (int i = 0; i < gopt_setting_count(); i++)
        if (!strcmp(table.row[i].name, name))
            return i;
    return -1;
}

void gopt_config_default(gopt_config *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < gopt_setting_count(); i++)
        c->v[i] = table.row[i].knob->init;
}

void gopt_config_baseline(gopt_config *c)
{
    gopt_config_default(c);
    for (int i = 0; i < gopt_setting_count(); i++)
        if (table.row[i].is_switch && table.row[i].pass)
            c->v[i] = 0;
    gopt_config_normalize(c);
}

static gopt_status unknown_setting(const char *name, gopt_err *e)
{
    const char *names[GOPT_SETTINGS_MAX];
    for (int i = 0; i < table.n; i++)
        names[i] = table.row[i].name;
    const char *near = gopt_text_nearest(name, names, table.n);
    return near ? gopt_fail(e, GOPT_EUSAGE, "unknown knob '%s'; did you mean '%s'?", name, near)
                : gopt_fail(e, GOPT_EUSAGE, "unknown knob '%s'; see gopt-tune --list knobs", name);
}

gopt_status gopt_config_set(gopt_config *c, const char *assignment, gopt_err *e)
{
    const char *equals = strchr(assignment, '=');
    char name[64];
    if (!equals || (size_t)(equals - assignment) >= sizeof name)
        return gopt_fail(e, GOPT_EUSAGE, "'%.80s': name=value expected", assignment);
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    int row = gopt_setting_find(name);
    if (row < 0)
        return unknown_setting(name, e);
    gopt_status s = gopt_knob_parse(table.row[row].knob, equals + 1, &c->v[row], e);
    return s ? gopt_within(e, s, "%s", name) : GOPT_OK;
}

bool gopt_config_pass_on(const gopt_config *c, const gopt_pass *p)
{
    for (int i = 0; i < gopt_setting_count(); i++)
        if (table.row[i].pass == p && table.row[i].is_switch)
            return c->v[i] != 0;
    return false;
}

bool gopt_config_kernel_on(const gopt_config *c, const gopt_kernel *k)
{
    for (int i = 0; i < gopt_setting_count(); i++)
        if (table.row[i].kernel == k && table.row[i].is_switch)
            return c->v[i] != 0;
    return true;
}

/* Index of the pass that moves (0), or that it moves before (1); -1: none. */
static int moved(const gopt_config *c, int which)
{
    return table.early + which < gopt_setting_count() ? (int)c->v[table.early + which] - 1 : -1;
}

void gopt_config_move_pass(gopt_config *c, int early, int before)
{
    if (table.early + 1 >= gopt_setting_count())
        return;
    c->v[table.early] = early + 1;
    c->v[table.early + 1] = before + 1;
}

/* Samplers call it for every draw: one look at the table does. */
void gopt_config_normalize(gopt_config *c)
{
    int n = gopt_setting_count();
    bool generate = table.codegen >= 0 && c->v[table.codegen];
    for (int i = 0; i < n; i++) {
        const gopt_setting *s = &table.row[i];
        bool off = !s->is_switch && table.owner[i] >= 0 && !c->v[table.owner[i]];
        if (off || (s->kernel && s->kernel->generated && !generate))
            c->v[i] = s->knob->init;
    }
    int early = moved(c, 0), before = moved(c, 1);
    if ((early >= 0 || before >= 0) && (before < 0 || early <= before || !gopt_config_pass_on(c, gopt_passes[early]) ||
                                        !gopt_config_pass_on(c, gopt_passes[before])))
        gopt_config_move_pass(c, -1, -1);
}

bool gopt_config_equal(const gopt_config *a, const gopt_config *b)
{
    return !memcmp(a->v, b->v, (size_t)gopt_setting_count() * sizeof a->v[0]);
}

int gopt_config_pipeline(const gopt_config *c, int *pass)
{
    int n = 0, early = moved(c, 0), before = moved(c, 1);
    for (int i = 0; gopt_passes[i]; i++) {
        if (i == before && early > before && gopt_config_pass_on(c, gopt_passes[early]))
            pass[n++] = early;
        if (gopt_config_pass_on(c, gopt_passes[i]) && !(i == early && before >= 0 && before < early))
            pass[n++] = i;
    }
    return n;
}

void gopt_config_switch_pass(gopt_config *c, const gopt_pass *p, bool on)
{
    for (int i = 0; i < gopt_setting_count(); i++)
        if (table.row[i].is_switch && table.row[i].pass == p)
            c->v[i] = on;
    gopt_config_normalize(c);
}

static const int64_t *knobs_of(const gopt_config *c, const gopt_pass *p, const gopt_kernel *k)
{
    for (int i = 0; i < gopt_setting_count(); i++)
        if (!table.row[i].is_switch && ((p && table.row[i].pass == p) || (k && table.row[i].kernel == k)))
            return &c->v[i];
    return c->v;
}

const int64_t *gopt_config_pass_knobs(const gopt_config *c, const gopt_pass *p)
{
    return knobs_of(c, p, NULL);
}

const int64_t *gopt_config_kernel_knobs(const gopt_config *c, const gopt_kernel *k)
{
    return knobs_of(c, NULL, k);
}

int64_t gopt_config_threads(const gopt_config *c)
{
    int row = gopt_setting_find("engine.threads");
    return row < 0 ? 1 : c->v[row];
}
