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

/* Sum of logs and number of samples of one trial in every round. */
typedef struct rounds {
    double *log_sum;
    int *n;
} rounds;

static bool collect(rounds *r, const gopt_study *s, int trial, gopt_sample_stage least)
{
    r->log_sum = gopt_calloc((size_t)s->next_round + 1, sizeof *r->log_sum);
    r->n = gopt_calloc((size_t)s->next_round + 1, sizeof *r->n);
    if (!r->log_sum || !r->n)
        return false;
    for (int i = 0; i < s->n_samples; i++) {
        const gopt_sample *x = &s->samples[i];
        if (x->trial == trial && x->stage >= least) {
            r->log_sum[x->round] += log(x->ns);
            r->n[x->round]++;
        }
    }
    return true;
}

static void release(rounds *r)
{
    gopt_free(r->log_sum);
    gopt_free(r->n);
}

static gopt_estimate paired(const gopt_study *s, int a, int b, gopt_sample_stage least)
{
    rounds ra = {0}, rb = {0};
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN};
    double *x = gopt_calloc((size_t)s->next_round + 1, sizeof *x), *y = gopt_calloc((size_t)s->next_round + 1, sizeof *y);
    bool there = collect(&ra, s, a, least) && collect(&rb, s, b, least) && x && y;
    int n = 0;
    for (int r = 0; there && r < s->next_round; r++)
        if (ra.n[r] && rb.n[r]) {
            x[n] = exp(ra.log_sum[r] / ra.n[r]);
            y[n++] = exp(rb.log_sum[r] / rb.n[r]);
        }
    if (there)
        out = gopt_paired_ratio(x, y, n);
    release(&ra);
    release(&rb);
    gopt_free(x);
    gopt_free(y);
    return out;
}

/* A against A: the two baseline samples of every round that has two, in the order taken. */
static gopt_estimate a_over_a(const gopt_study *s, int baseline)
{
    double *first = gopt_calloc((size_t)s->next_round + 1, sizeof *first);
    double *a = gopt_calloc((size_t)s->next_round + 1, sizeof *a), *b = gopt_calloc((size_t)s->next_round + 1, sizeof *b);
    gopt_estimate out = {.value = NAN, .lo = NAN, .hi = NAN};
    int n = 0;
    for (int i = 0; first && a && b && i < s->n_samples; i++) {
        const gopt_sample *x = &s->samples[i];
        if (x->trial != baseline)
            continue;
        if (first[x->round] == 0) {
            first[x->round] = x->ns;
        } else {
            a[n] = first[x->round];
            b[n++] = x->ns;
        }
    }
    if (a && b)
        out = gopt_paired_ratio(a, b, n);
    gopt_free(first);
    gopt_free(a);
    gopt_free(b);
    return out;
}

gopt_estimate gopt_effects_ratio(const gopt_study *s, int a, int b)
{
    gopt_estimate final = paired(s, a, b, GOPT_SAMPLE_FINAL);
    return final.n >= FINAL_ROUNDS_ENOUGH ? final : paired(s, a, b, GOPT_SAMPLE_RACE);
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
        most = fmax(most, fabs(log(gopt_effects_speedup(s, whole->id).value / gopt_effects_speedup(s, without->id).value)));
    return isfinite(most) ? most : 0;
}

int gopt_effects_strongest(const gopt_study *s, const gopt_trial *standard, int *pass, int max)
{
    int active[GOPT_SETTINGS_MAX], n = gopt_effects_active(standard, active), kept = 0;
    double value[GOPT_SETTINGS_MAX];
    for (int i = 0; i < n; i++) {
        double v = strength(s, standard, active[i]);
        int k = GOPT_MIN(kept, max - 1);
        if (kept == max && v <= value[k])
            continue;
        for (; k > 0 && value[k - 1] < v; k--) {
            value[k] = value[k - 1];
            pass[k] = pass[k - 1];
        }
        value[k] = v;
        pass[k] = active[i];
        kept = GOPT_MIN(kept + 1, max);
    }
    return kept;
}
