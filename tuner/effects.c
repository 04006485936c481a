/* effects.c: what the samples of a study say. */
#include "effects.h"

#include <math.h>
#include <string.h>

const gopt_trial *gopt_effects_baseline(const gopt_study *s)
{
    for (int i = 0; i < s->n_trials; i++)
        if (s->trials[i].role == GOPT_ROLE_BASELINE && s->trials[i].reply.status == GOPT_TRIAL_ok)
            return &s->trials[i];
    return NULL;
}

const gopt_trial *gopt_effects_default(const gopt_study *s)
{
    for (int i = s->n_trials - 1; i >= 0; i--) {
        const gopt_trial *t = &s->trials[i];
        if (t->role == GOPT_ROLE_DEFAULT && gopt_effects_stand_in(s, t))
            return t;
    }
    return NULL;
}

const gopt_trial *gopt_effects_find(const gopt_study *s, gopt_trial_role role, int pass_a, int pass_b)
{
    for (int i = 0; i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        if (t->role == role && t->pass_a == pass_a && t->pass_b == pass_b)
            return t;
    }
    return NULL;
}

gopt_status gopt_preset_config(gopt_config *out, const char *name, const gopt_study *s)
{
    const gopt_trial *base = gopt_effects_baseline(s);
    int threads = gopt_setting_find("engine.threads");
    GOPT_TRY(gopt_config_preset(out, name, NULL));
    if (base && threads >= 0)
        out->v[threads] = base->config.v[threads];
    for (int i = 0; i < s->n_bans; i++)
        gopt_config_switch_pass(out, gopt_passes[s->bans[i].pass], false);
    return GOPT_OK;
}

const gopt_trial *gopt_preset_find(const gopt_study *s, const char *name)
{
    gopt_config c;
    if (gopt_preset_config(&c, name, s))
        return NULL;
    for (int i = 0; i < s->n_trials; i++)
        if (gopt_config_equal(&s->trials[i].config, &c))
            return &s->trials[i];
    return NULL;
}

const gopt_trial *gopt_effects_stand_in(const gopt_study *s, const gopt_trial *t)
{
    if (!t || t->reply.status == GOPT_TRIAL_ok)
        return t;
    for (int i = 0; t->reply.status == GOPT_TRIAL_pruned && t->reply.plan_hash && i < s->n_trials; i++) {
        const gopt_trial *other = &s->trials[i];
        if (other->reply.status == GOPT_TRIAL_ok && other->reply.plan_hash &&
            !strcmp(other->reply.plan_hash, t->reply.plan_hash))
            return other;
    }
    return NULL;
}

/* ---- rounds ---- */

enum { FINAL_ROUNDS_ENOUGH = 9 };

typedef struct stages {
    gopt_sample_stage first, last;
} stages;

static const stages race_only = {GOPT_SAMPLE_RACE, GOPT_SAMPLE_RACE},
                    final_only = {GOPT_SAMPLE_FINAL, GOPT_SAMPLE_FINAL},
                    all_stages = {GOPT_SAMPLE_RACE, GOPT_SAMPLE_FINAL};

/* Geometric mean of a trial's samples of these stages in the round that sample `at` is of; 0: it has none. */
static double in_round(const gopt_study *s, int at, int trial, const stages *of)
{
    int round = s->samples[at].round, n = 0;
    double sum = 0;
    while (at > 0 && s->samples[at - 1].round == round)
        at--;
    for (; at < s->n_samples && s->samples[at].round == round; at++)
        if (s->samples[at].trial == trial && s->samples[at].stage >= of->first && s->samples[at].stage <= of->last) {
            sum += log(s->samples[at].ns);
            n++;
        }
    return n ? exp(sum / n) : 0;
}

static int count_samples(const gopt_study *s, int trial)
{
    int n = 0;
    for (int i = s->trials[trial].last_sample; i >= 0; i = s->samples[i].before)
        n++;
    return n;
}

/* Only b's own samples and their neighbours are looked at: this is asked for every trial, again and again. */
static gopt_estimate paired(const gopt_study *s, int a, int b, const stages *of)
{
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN};
    size_t most = (size_t)count_samples(s, b) + 1;
    double *x = gopt_calloc(most, sizeof *x), *y = gopt_calloc(most, sizeof *y);
    int n = 0, last_round = -1;
    for (int i = x && y ? s->trials[b].last_sample : -1; i >= 0; i = s->samples[i].before) {
        if (s->samples[i].round == last_round)
            continue;
        last_round = s->samples[i].round;
        x[n] = in_round(s, i, a, of);
        y[n] = in_round(s, i, b, of);
        n += x[n] > 0 && y[n] > 0;
    }
    if (x && y)
        out = of == &final_only ? gopt_blocked_ratio(x, y, n) : gopt_paired_ratio(x, y, n);
    gopt_free(x);
    gopt_free(y);
    return out;
}

/* A against A: the two baseline samples of every round that has two, in the order taken. */
static gopt_estimate a_over_a(const gopt_study *s, int baseline)
{
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN};
    size_t most = (size_t)count_samples(s, baseline) + 1;
    double *a = gopt_calloc(most, sizeof *a), *b = gopt_calloc(most, sizeof *b);
    int n = 0;
    for (int i = a && b ? s->trials[baseline].last_sample : -1; i >= 0; i = s->samples[i].before) {
        int first = s->samples[i].before;
        if (first < 0 || s->samples[first].round != s->samples[i].round)
            continue;
        a[n] = s->samples[first].ns;
        b[n++] = s->samples[i].ns;
    }
    if (a && b)
        out = gopt_paired_ratio(a, b, n);
    gopt_free(a);
    gopt_free(b);
    return out;
}

int gopt_effects_repeats(const gopt_study *s, int trial)
{
    const gopt_trial *base = gopt_effects_baseline(s);
    int most[2] = {0, 0}, finals = 0; /* of all samples, of those of the final */
    for (int i = s->trials[trial].last_sample; i >= 0; i = s->samples[i].before) {
        bool final = s->samples[i].stage == GOPT_SAMPLE_FINAL;
        finals += final;
        for (int k = 0; k <= final; k++)
            most[k] = GOPT_MAX(most[k], s->samples[i].repeats);
    }
    bool is_base = base && base->id == trial; /* whose latency is that of the whole job */
    return most[!is_base && finals >= FINAL_ROUNDS_ENOUGH];
}

gopt_estimate gopt_effects_ratio(const gopt_study *s, int a, int b)
{
    gopt_estimate final = paired(s, a, b, &final_only);
    return final.n >= FINAL_ROUNDS_ENOUGH ? final : paired(s, a, b, &all_stages);
}

void gopt_effects_drift(const gopt_study *s, double *lo, double *hi)
{
    const gopt_trial *base = gopt_effects_baseline(s);
    *lo = *hi = 1;
    for (int i = 0; base && i < s->n_trials; i++) {
        if (i == base->id || s->trials[i].reply.status != GOPT_TRIAL_ok)
            continue;
        gopt_estimate final = paired(s, base->id, i, &final_only), race = paired(s, base->id, i, &race_only);
        double drift = final.value / race.value;
        if (final.n < FINAL_ROUNDS_ENOUGH || !isfinite(drift))
            continue;
        *lo = fmin(*lo, drift);
        *hi = fmax(*hi, drift);
    }
}

gopt_estimate gopt_effects_speedup(const gopt_study *s, int trial)
{
    const gopt_trial *base = gopt_effects_baseline(s);
    if (!base || s->trials[trial].reply.status != GOPT_TRIAL_ok)
        return (gopt_estimate){.value = NAN, .lo = NAN, .hi = NAN};
    if (base->id != trial)
        return gopt_effects_ratio(s, base->id, trial);
    gopt_estimate self = a_over_a(s, trial); /* by definition 1, as uncertain as A/A shows */
    self.lo = isfinite(self.lo) ? fmin(self.lo, 1) : 1;
    self.hi = isfinite(self.hi) ? fmax(self.hi, 1) : 1;
    self.value = 1;
    return self;
}

gopt_estimate gopt_effects_compare(const gopt_study *s, int a, int b)
{
    gopt_estimate r = gopt_effects_ratio(s, a, b);
    if (isfinite(r.lo) && isfinite(r.hi))
        return r;
    gopt_estimate x = gopt_effects_speedup(s, a), y = gopt_effects_speedup(s, b);
    return (gopt_estimate){.value = y.value / x.value, .lo = y.lo / x.hi, .hi = y.hi / x.lo, .n = GOPT_MIN(x.n, y.n)};
}

double gopt_effects_noise_floor(const gopt_study *s)
{
    const gopt_trial *base = gopt_effects_baseline(s);
    gopt_estimate aa = base ? a_over_a(s, base->id) : (gopt_estimate){.value = NAN};
    if (!isfinite(aa.value) || !isfinite(aa.lo) || !isfinite(aa.hi))
        return NAN;
    return fmax(fabs(log(aa.value)), (log(aa.hi) - log(aa.lo)) / 2);
}

/* ---- passes ---- */

int gopt_effects_active(const gopt_trial *t, int *pass)
{
    int n = 0;
    for (int i = 0; i < t->reply.n_passes; i++) {
        const gopt_trial_pass *p = &t->reply.passes[i];
        int index = p->pass ? gopt_pass_find(p->pass) : -1;
        if (index >= 0 && (p->changed > 0 || gopt_passes[index]->decides))
            pass[n++] = index;
    }
    return n;
}

static double strength(const gopt_study *s, const gopt_trial *standard, int pass)
{
    const gopt_trial *single = gopt_effects_stand_in(s, gopt_effects_find(s, GOPT_ROLE_SINGLE, pass, -1));
    const gopt_trial *without = gopt_effects_stand_in(s, gopt_effects_find(s, GOPT_ROLE_LEAVE_ONE_OUT, pass, -1));
    const gopt_trial *whole = gopt_effects_stand_in(s, standard);
    double most = 0;
    if (single)
        most = fabs(log(gopt_effects_speedup(s, single->id).value));
    if (without && whole)
        most = fmax(most,
                    fabs(log(gopt_effects_speedup(s, whole->id).value / gopt_effects_speedup(s, without->id).value)));
    return isfinite(most) ? most : 0;
}

int gopt_effects_strongest(const gopt_study *s, const gopt_trial *standard, const int *from, int n, int *pass, int max)
{
    int kept = 0;
    double value[GOPT_SETTINGS_MAX];
    for (int i = 0; i < n; i++) {
        double v = strength(s, standard, from[i]);
        int k = GOPT_MIN(kept, max - 1);
        if (kept == max && v <= value[k])
            continue;
        for (; k > 0 && value[k - 1] < v; k--) {
            value[k] = value[k - 1];
            pass[k] = pass[k - 1];
        }
        value[k] = v;
        pass[k] = from[i];
        kept = GOPT_MIN(kept + 1, max);
    }
    return kept;
}
