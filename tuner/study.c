/* study.c: OUT/study.db. One transaction per row: WAL keeps what was committed when the process is killed. */
#include "study.h"

#include <cjson/cJSON.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char schema[] =
    "create table if not exists meta (key text primary key, value text not null);"
    "create table if not exists runs (id integer primary key, began text default current_timestamp, elapsed_s real,"
    " stopped text);"
    "create table if not exists trials (id integer primary key, run integer not null, role text not null, pass_a text,"
    " pass_b text, config text not null, status text not null, why text, reply text not null, trace text, bundle text,"
    " elapsed_s real not null);"
    "create table if not exists samples (seq integer primary key, run integer not null, trial integer not null,"
    " round integer not null, stage text not null, ns real not null, repeats integer not null, flagged integer not "
    "null);";

enum { FORMAT = 1, ROUNDS_MAX = 1 << 28 };
static const char *const stages[] = {[GOPT_SAMPLE_RACE] = "race", [GOPT_SAMPLE_FINAL] = "final"};

static gopt_status fail_db(gopt_study *s, gopt_err *e)
{
    int code = sqlite3_errcode(s->db);
    gopt_status status = GOPT_EIO;
    if (code == SQLITE_NOMEM)
        status = GOPT_ENOMEM;
    else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        status = GOPT_EINPUT;
    return gopt_fail(e, status, "%s: %s", s->path, sqlite3_errmsg(s->db));
}

static gopt_status execute(gopt_study *s, const char *sql, gopt_err *e)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? GOPT_OK : fail_db(s, e);
}

/* One statement with text (or NULL), integer and real parameters in the order of the format: 't', 'i', 'r'. */
static gopt_status run_sql(gopt_study *s, gopt_err *e, const char *sql, const char *format, const void *const *at)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        return fail_db(s, e);
    for (int i = 0; format[i]; i++) {
        if (format[i] == 't')
            sqlite3_bind_text(q, i + 1, at[i], -1, SQLITE_TRANSIENT);
        else if (format[i] == 'i')
            sqlite3_bind_int64(q, i + 1, *(const int64_t *)at[i]);
        else
            sqlite3_bind_double(q, i + 1, *(const double *)at[i]);
    }
    int code = sqlite3_step(q);
    gopt_status status = code == SQLITE_DONE || code == SQLITE_ROW ? GOPT_OK : fail_db(s, e);
    sqlite3_finalize(q);
    return status;
}

const char *gopt_study_get(gopt_study *s, const char *key)
{
    sqlite3_stmt *q;
    const char *value = NULL;
    if (sqlite3_prepare_v2(s->db, "select value from meta where key = ?", -1, &q, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(q) == SQLITE_ROW)
        value = gopt_arena_str(&s->arena, (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return value;
}

gopt_status gopt_study_set(gopt_study *s, const char *key, const char *value, gopt_err *e)
{
    const void *const at[] = {key, value};
    return run_sql(s, e, "insert or replace into meta values (?, ?)", "tt", at);
}

/* ---- reading back ---- */

static const char *column(sqlite3_stmt *q, int i, gopt_arena *a)
{
    const char *s = (const char *)sqlite3_column_text(q, i);
    return s ? gopt_arena_str(a, s) : NULL;
}

static int pass_of(const char *name)
{
    return name ? gopt_pass_find(name) : -1;
}

static gopt_trial_role role_of(const char *name)
{
    for (int i = 0; name && i < GOPT_ROLE_COUNT; i++)
        if (!strcmp(name, gopt_trial_role_name((gopt_trial_role)i)))
            return (gopt_trial_role)i;
    return GOPT_ROLE_SEARCH;
}

static gopt_status append_trial(gopt_study *s, const gopt_trial *t, gopt_err *e)
{
    gopt_trial *grown = gopt_arena_grow(&s->arena, s->trials, (size_t)s->n_trials, &s->cap_trials,
                                        (size_t)s->n_trials + 1, sizeof *grown);
    if (!grown)
        return gopt_oom(e);
    s->trials = grown;
    s->trials[s->n_trials] = *t;
    s->trials[s->n_trials++].last_sample = -1;
    return GOPT_OK;
}

static gopt_status append_sample(gopt_study *s, const gopt_sample *x, gopt_err *e)
{
    gopt_sample *grown = gopt_arena_grow(&s->arena, s->samples, (size_t)s->n_samples, &s->cap_samples,
                                         (size_t)s->n_samples + 1, sizeof *grown);
    if (!grown)
        return gopt_oom(e);
    s->samples = grown;
    s->samples[s->n_samples] = *x;
    s->samples[s->n_samples].before = s->trials[x->trial].last_sample;
    s->trials[x->trial].last_sample = s->n_samples++;
    s->next_round = GOPT_MAX(s->next_round, x->round + 1);
    return GOPT_OK;
}

static gopt_status read_trial(gopt_study *s, sqlite3_stmt *q, gopt_err *e)
{
    gopt_trial t = {.id = sqlite3_column_int(q, 0), .role = role_of((const char *)sqlite3_column_text(q, 1))};
    if (t.id != s->n_trials)
        return gopt_fail(e, GOPT_EINPUT, "%s: trial %d is missing", s->path, s->n_trials);
    t.pass_a = pass_of((const char *)sqlite3_column_text(q, 2));
    t.pass_b = pass_of((const char *)sqlite3_column_text(q, 3));
    gopt_status known = gopt_config_from_json(&t.config, (const char *)sqlite3_column_text(q, 4), e);
    if (!known)
        known = gopt_reply_parse(&t.reply, (const char *)sqlite3_column_text(q, 7), &s->arena, e);
    if (!known && sqlite3_column_type(q, 8) != SQLITE_NULL)
        known = gopt_trace_parse(&t, (const char *)sqlite3_column_text(q, 8), &s->arena, e);
    if (known) /* the study is at fault, not what was asked for */
        return gopt_within(e, known == GOPT_EUSAGE ? GOPT_EINPUT : known, "%s: trial %d", s->path, t.id);
    const char *status = (const char *)sqlite3_column_text(q, 5);
    for (int i = 0; status && i < GOPT_TRIAL_STATUS_COUNT; i++)
        if (!strcmp(status, gopt_trial_status_name((gopt_trial_status)i)))
            t.reply.status = (gopt_trial_status)i;
    t.reply.why = column(q, 6, &s->arena);
    t.bundle = column(q, 9, &s->arena);
    t.elapsed_s = sqlite3_column_double(q, 10);
    return append_trial(s, &t, e);
}

static gopt_status read_sample(gopt_study *s, sqlite3_stmt *q, gopt_err *e)
{
    const char *stage = (const char *)sqlite3_column_text(q, 2);
    gopt_sample x = {.trial = sqlite3_column_int(q, 0), .round = sqlite3_column_int(q, 1)};
    x.stage = stage && !strcmp(stage, stages[GOPT_SAMPLE_FINAL]) ? GOPT_SAMPLE_FINAL : GOPT_SAMPLE_RACE;
    x.ns = sqlite3_column_double(q, 3);
    x.repeats = sqlite3_column_int(q, 4);
    x.flagged = sqlite3_column_int(q, 5) != 0;
    if (x.trial < 0 || x.trial >= s->n_trials || x.round < 0 || x.round > ROUNDS_MAX || !(x.ns > 0))
        return gopt_fail(e, GOPT_EINPUT, "%s: sample %d makes no sense", s->path, s->n_samples);
    return append_sample(s, &x, e);
}

static gopt_status append_ban(gopt_study *s, int pass, int trial, const char *command, gopt_err *e)
{
    gopt_ban *grown =
        gopt_arena_grow(&s->arena, s->bans, (size_t)s->n_bans, &s->cap_bans, (size_t)s->n_bans + 1, sizeof *grown);
    const char *kept = gopt_arena_str(&s->arena, command);
    if (!grown || !kept)
        return gopt_oom(e);
    s->bans = grown;
    s->bans[s->n_bans++] = (gopt_ban){.pass = pass, .trial = trial, .command = kept};
    return GOPT_OK;
}

/* Passes are banned under their names in meta: {"trial": 7, "command": "gopt verify ..."}. */
static const char ban_prefix[] = "ban.";

static gopt_status read_ban(gopt_study *s, sqlite3_stmt *q, gopt_err *e)
{
    int pass = gopt_pass_find((const char *)sqlite3_column_text(q, 0) + strlen(ban_prefix));
    cJSON *o = cJSON_Parse((const char *)sqlite3_column_text(q, 1));
    const cJSON *trial = cJSON_GetObjectItemCaseSensitive(o, "trial");
    const char *command = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "command"));
    bool sound = cJSON_IsNumber(trial) && trial->valueint >= 0 && trial->valueint < s->n_trials && command;
    gopt_status status = GOPT_OK;
    if (!sound)
        status = gopt_fail(e, GOPT_EINPUT, "%s: a ban makes no sense", s->path);
    else if (pass >= 0)
        status = append_ban(s, pass, trial->valueint, command, e);
    cJSON_Delete(o);
    return status;
}

static gopt_status read_runs(gopt_study *s, sqlite3_stmt *q, gopt_err *e)
{
    (void)e;
    s->run = sqlite3_column_int(q, 0);
    s->spent_before += sqlite3_column_double(q, 1);
    return GOPT_OK;
}

static gopt_status each_row(gopt_study *s, const char *sql, gopt_status (*f)(gopt_study *, sqlite3_stmt *, gopt_err *),
                            gopt_err *e)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        return fail_db(s, e);
    gopt_status status = GOPT_OK;
    int code = SQLITE_DONE;
    while (!status && (code = sqlite3_step(q)) == SQLITE_ROW)
        status = f(s, q, e);
    if (!status && code != SQLITE_DONE)
        status = fail_db(s, e);
    sqlite3_finalize(q);
    return status;
}

static gopt_status load(gopt_study *s, gopt_err *e)
{
    GOPT_TRY(each_row(s, "select id, coalesce(elapsed_s, 0) from runs order by id", read_runs, e));
    GOPT_TRY(
        each_row(s,
                 "select id, role, pass_a, pass_b, config, status, why, reply, trace, bundle, elapsed_s from trials"
                 " order by id",
                 read_trial, e));
    GOPT_TRY(each_row(s, "select key, value from meta where key like 'ban.%' order by rowid", read_ban, e));
    return each_row(s, "select trial, round, stage, ns, repeats, flagged from samples order by seq", read_sample, e);
}

/* ---- opening ---- */

static gopt_status check_identity(gopt_study *s, const gopt_study_identity *id, gopt_err *e)
{
    char seed[32];
    snprintf(seed, sizeof seed, "%lld", (long long)id->seed);
    const struct {
        const char *key, *value, *what;
    } rows[] = {{"model_sha256", id->model_sha256, "another model"},
                {"shapes", id->shapes, "other shapes"},
                {"tool", id->tool, "another version of gopt"},
                {"device", id->device, "another machine"},
                {"seed", seed, "another seed"}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        const char *had = gopt_study_get(s, rows[i].key);
        if (!had)
            GOPT_TRY(gopt_study_set(s, rows[i].key, rows[i].value, e));
        else if (strcmp(had, rows[i].value) != 0)
            return gopt_fail(e, GOPT_EUSAGE, "%s: holds a study of %s; give another --out, or --fresh to start anew",
                             s->path, rows[i].what);
    }
    return GOPT_OK;
}

static gopt_status begin(gopt_study *s, const gopt_study_identity *id, gopt_err *e)
{
    sqlite3_busy_timeout(s->db, 2000);
    GOPT_TRY(execute(s, "pragma journal_mode = wal; pragma synchronous = normal;", e));
    GOPT_TRY(execute(s, schema, e));
    GOPT_TRY(check_identity(s, id, e));
    GOPT_TRY(load(s, e));
    s->run++;
    int64_t run = s->run;
    const void *const at[] = {&run};
    return run_sql(s, e, "insert into runs (id) values (?)", "i", at);
}

static void remove_files(const char *path)
{
    const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[1024];
    for (int i = 0; i < GOPT_COUNT(endings); i++)
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, endings[i]) < sizeof name)
            unlink(name);
}

static gopt_study *new (const char *path)
{
    gopt_study *s = gopt_calloc(1, sizeof *s);
    if (s && !(s->path = gopt_arena_str(&s->arena, path))) {
        gopt_study_close(s);
        s = NULL;
    }
    return s;
}

gopt_status gopt_study_open(gopt_study **out, const char *path, const gopt_study_identity *id, bool fresh, gopt_err *e)
{
    gopt_study *s = *out = new (path);
    if (!s)
        return gopt_oom(e);
    if (fresh)
        remove_files(path);
    gopt_status status = sqlite3_open(path, &s->db) == SQLITE_OK ? begin(s, id, e) : fail_db(s, e);
    if (status) {
        gopt_study_close(s);
        *out = NULL;
    }
    return status;
}

gopt_status gopt_study_read(gopt_study **out, const char *path, gopt_err *e)
{
    *out = NULL;
    if (!gopt_file_exists(path))
        return gopt_fail(e, GOPT_EINPUT, "%s: no study there", path);
    gopt_study *s = *out = new (path);
    if (!s)
        return gopt_oom(e);
    gopt_status status =
        sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK ? load(s, e) : fail_db(s, e);
    if (status) {
        gopt_study_close(s);
        *out = NULL;
    }
    return status;
}

void gopt_study_close(gopt_study *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    gopt_arena_fini(&s->arena);
    gopt_free(s);
}

/* ---- writing ---- */

gopt_status gopt_study_add_trial(gopt_study *s, gopt_trial *t, const char *reply_json, gopt_err *e)
{
    t->id = s->n_trials;
    GOPT_TRY(gopt_reply_parse(&t->reply, reply_json, &s->arena, e));
    char *config = gopt_config_json(&t->config);
    if (!config)
        return gopt_oom(e);
    int64_t id = t->id, run = s->run;
    const char *a = t->pass_a >= 0 ? gopt_passes[t->pass_a]->name : NULL;
    const char *b = t->pass_b >= 0 ? gopt_passes[t->pass_b]->name : NULL;
    const void *const at[] = {&id,        &run,         gopt_trial_role_name(t->role),           a,
                              b,          config,       gopt_trial_status_name(t->reply.status), t->reply.why,
                              reply_json, &t->elapsed_s};
    gopt_status status =
        run_sql(s, e,
                "insert into trials (id, run, role, pass_a, pass_b, config, status, why, reply, elapsed_s)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                "iitttttttr", at);
    cJSON_free(config);
    return status ? status : append_trial(s, t, e);
}

gopt_status gopt_study_set_trace(gopt_study *s, int trial, const char *trace_json, gopt_err *e)
{
    int64_t id = trial;
    const void *const at[] = {trace_json, &id};
    GOPT_TRY(gopt_trace_parse(&s->trials[trial], trace_json, &s->arena, e));
    return run_sql(s, e, "update trials set trace = ? where id = ?", "ti", at);
}

gopt_status gopt_study_set_bundle(gopt_study *s, int trial, const char *file, gopt_err *e)
{
    int64_t id = trial;
    const void *const at[] = {file, &id};
    s->trials[trial].bundle = gopt_arena_str(&s->arena, file);
    return run_sql(s, e, "update trials set bundle = ? where id = ?", "ti", at);
}

gopt_status gopt_study_set_status(gopt_study *s, int trial, gopt_trial_status status, const char *why, gopt_err *e)
{
    int64_t id = trial;
    const void *const at[] = {gopt_trial_status_name(status), why, &id};
    s->trials[trial].reply.status = status;
    s->trials[trial].reply.why = why ? gopt_arena_str(&s->arena, why) : NULL;
    return run_sql(s, e, "update trials set status = ?, why = ? where id = ?", "tti", at);
}

gopt_status gopt_study_add_sample(gopt_study *s, const gopt_sample *x, gopt_err *e)
{
    int64_t run = s->run, trial = x->trial, round = x->round, repeats = x->repeats, flagged = x->flagged;
    const void *const at[] = {&run, &trial, &round, stages[x->stage], &x->ns, &repeats, &flagged};
    GOPT_TRY(run_sql(
        s, e, "insert into samples (run, trial, round, stage, ns, repeats, flagged) values (?, ?, ?, ?, ?, ?, ?)",
        "iiitrii", at));
    return append_sample(s, x, e);
}

gopt_status gopt_study_flag_round(gopt_study *s, int round, gopt_err *e)
{
    int64_t id = round;
    const void *const at[] = {&id};
    for (int i = s->n_samples - 1; i >= 0 && s->samples[i].round == round; i--)
        s->samples[i].flagged = true;
    return run_sql(s, e, "update samples set flagged = 1 where seq > (select max(seq) from samples) - 64 and round = ?",
                   "i", at);
}

gopt_status gopt_study_ban(gopt_study *s, int pass, int trial, const char *command, gopt_err *e)
{
    char key[96];
    if (gopt_study_is_banned(s, pass))
        return GOPT_OK;
    cJSON *o = cJSON_CreateObject();
    char *value = o && cJSON_AddNumberToObject(o, "trial", trial) && cJSON_AddStringToObject(o, "command", command)
                      ? cJSON_PrintUnformatted(o)
                      : NULL;
    cJSON_Delete(o);
    snprintf(key, sizeof key, "%s%s", ban_prefix, gopt_passes[pass]->name);
    gopt_status status = value ? gopt_study_set(s, key, value, e) : gopt_oom(e);
    cJSON_free(value);
    return status ? status : append_ban(s, pass, trial, command, e);
}

bool gopt_study_is_banned(const gopt_study *s, int pass)
{
    for (int i = 0; i < s->n_bans; i++)
        if (s->bans[i].pass == pass)
            return true;
    return false;
}

gopt_status gopt_study_end_run(gopt_study *s, double elapsed_s, const char *stopped, gopt_err *e)
{
    int64_t run = s->run;
    const void *const at[] = {&elapsed_s, stopped, &run};
    return run_sql(s, e, "update runs set elapsed_s = ?, stopped = ? where id = ?", "rti", at);
}
