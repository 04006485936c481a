/* coalition.c: players, coalitions, and the Shapley values of those that were measured. */
#include "coalition.h"

#include <math.h>
#include <string.h>

static const char PLAYERS_KEY[] = "players"; /* in the study: names, each with a comma after it; "*" is all others */

void gopt_players_read(gopt_players *out, gopt_study *s)
{
    const char *names = gopt_study_get(s, PLAYERS_KEY);
    char name[64];
    *out = (gopt_players){0};
    for (const char *at = names; at && *at && out->n < GOPT_PLAYERS_MAX; at += strcspn(at, ",") + 1) {
        size_t n = GOPT_MIN(strcspn(at, ","), sizeof name - 1);
        memcpy(name, at, n);
        name[n] = 0;
        int pass = gopt_pass_find(name);
        if (pass >= 0 || *name == '*')
            out->pass[out->n++] = pass;
    }
}

static void sort(int *x, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && x[k - 1] > x[k]; k--) {
            int t = x[k];
            x[k] = x[k - 1];
            x[k - 1] = t;
        }
}

gopt_status gopt_players_choose(gopt_players *out, gopt_study *s, gopt_err *e)
{
    const gopt_trial *standard = gopt_effects_default(s);
    int active[GOPT_SETTINGS_MAX], n = standard ? gopt_effects_active(standard, active) : 0;
    gopt_text names = {0};
    gopt_players_read(out, s);
    if (out->n || n < 2)
        return GOPT_OK;
    out->n = gopt_effects_strongest(s, standard, active, n, out->pass, GOPT_PLAYERS_MAX - 1);
    sort(out->pass, out->n);
    for (int i = 0; i < out->n; i++)
        gopt_text_add(&names, "%s,", gopt_passes[out->pass[i]]->name);
    if (out->n < n) {
        out->pass[out->n++] = -1;
        gopt_text_put(&names, "*,");
    }
    gopt_status status = names.failed ? gopt_oom(e) : gopt_study_set(s, PLAYERS_KEY, gopt_text_str(&names), e);
    gopt_text_fini(&names);
    return status;
}

/* ---- coalitions ---- */

static unsigned everyone(const gopt_players *p)
{
    return (1u << p->n) - 1;
}

void gopt_coalition_config(gopt_config *out, const gopt_players *p, const gopt_trial *standard, unsigned mask)
{
    bool stays[GOPT_SETTINGS_MAX] = {false};
    *out = standard->config;
    for (int k = 0; k < p->n; k++)
        for (int i = 0; p->pass[k] < 0 && i < gopt_pass_count(); i++)
            stays[i] = mask >> k & 1;
    for (int k = 0; k < p->n; k++)
        if (p->pass[k] >= 0)
            stays[p->pass[k]] = mask >> k & 1;
    for (int i = 0; i < gopt_pass_count(); i++)
        if (!stays[i])
            gopt_config_switch_pass(out, gopt_passes[i], false);
}

const gopt_trial *gopt_coalition_find(const gopt_study *s, const gopt_players *p, const gopt_trial *standard,
                                      unsigned mask)
{
    gopt_config c;
    if (mask == 0)
        return gopt_effects_baseline(s);
    if (mask == everyone(p))
        return standard;
    gopt_coalition_config(&c, p, standard, mask);
    const gopt_trial *found = NULL;
    for (int i = 0; i < s->n_trials; i++) /* one that was timed, if there is one */
        if (gopt_config_equal(&s->trials[i].config, &c) && !(found && gopt_effects_stand_in(s, found)))
            found = &s->trials[i];
    return found;
}

bool gopt_coalition_next(const gopt_study *s, const gopt_players *p, const gopt_trial *standard, uint64_t seed,
                         unsigned *mask)
{
    enum { ORDERS_MOST = 400 }; /* by then every coalition has come up */
    int order[GOPT_PLAYERS_MAX];
    gopt_random random;
    gopt_random_seed(&random, seed);
    for (int i = 0; i < p->n; i++)
        order[i] = i;
    for (int k = 0; k < ORDERS_MOST && p->n > 1; k++) {
        unsigned with = 0;
        if (k % 2 == 0)
            gopt_random_shuffle(&random, order, p->n);
        for (int i = 0; i < p->n - 1; i++) {
            with |= 1u << order[k % 2 ? p->n - 1 - i : i];
            if (gopt_coalition_find(s, p, standard, with))
                continue;
            *mask = with;
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

typedef struct tally {
    const gopt_players *players;
    gopt_estimate value[1 << GOPT_PLAYERS_MAX];              /* by mask: ln of the speedup; NAN: unknown */
    double weight[GOPT_PLAYERS_MAX][1 << GOPT_PLAYERS_MAX];  /* how often a value counts for a player */
    double sum[GOPT_PLAYERS_MAX], squares[GOPT_PLAYERS_MAX]; /* of what it brought, over orders */
    int orders, all;
} tally;

static gopt_estimate logarithm(const gopt_estimate *r)
{
    return (gopt_estimate){.value = log(r->value), .lo = log(r->lo), .hi = log(r->hi), .n = r->n};
}

static void measure(tally *t, const gopt_study *s, const gopt_trial *standard)
{
    for (unsigned mask = 1; mask <= everyone(t->players); mask++) {
        const gopt_trial *at = gopt_coalition_find(s, t->players, standard, mask);
        const gopt_trial *timed = at ? gopt_effects_stand_in(s, at) : NULL;
        gopt_estimate speedup = {.value = NAN, .lo = NAN, .hi = NAN};
        if (timed)
            speedup = gopt_effects_speedup(s, timed->id);
        t->value[mask] = logarithm(&speedup);
    }
}

static bool is_known(const gopt_estimate *v)
{
    return isfinite(v->value) && isfinite(v->lo) && isfinite(v->hi);
}

static void count_order(tally *t, const int *order)
{
    unsigned mask = 0;
    t->all++;
    for (int i = 0; i < t->players->n; i++)
        if (!is_known(&t->value[mask |= 1u << order[i]]))
            return;
    t->orders++;
    mask = 0;
    for (int i = 0; i < t->players->n; i++) {
        int player = order[i];
        unsigned with = mask | 1u << player;
        double brought = t->value[with].value - t->value[mask].value;
        t->weight[player][with]++;
        t->weight[player][mask]--;
        t->sum[player] += brought;
        t->squares[player] += brought * brought;
        mask = with;
    }
}

/* All orders of order[at..n). */
static void each_order(tally *t, int *order, int at)
{
    if (at == t->players->n)
        count_order(t, order);
    for (int i = at; i < t->players->n; i++) {
        int kept = order[at];
        order[at] = order[i];
        order[i] = kept;
        each_order(t, order, at + 1);
        order[i] = order[at];
        order[at] = kept;
    }
}

/* The values are independent, so their half-widths add in quadrature; where not all orders were measured, what those
 * that were differ by comes on top. */
static gopt_estimate gain_of(const tally *t, int player)
{
    double m = t->orders, mean = t->sum[player] / m, wide = 0;
    gopt_estimate out = {.value = exp(mean), .lo = NAN, .hi = NAN, .n = t->orders};
    for (unsigned mask = 1; mask <= everyone(t->players); mask++)
        if (t->weight[player][mask] != 0)
            wide += pow(t->weight[player][mask] / m * (t->value[mask].hi - t->value[mask].lo) / 2, 2);
    if (t->orders < t->all) {
        enum { ORDERS_LEAST = 4 };
        if (t->orders < ORDERS_LEAST)
            return out;
        double variance = GOPT_MAX(t->squares[player] / m - mean * mean, 0) * m / (m - 1);
        wide += 1.96 * 1.96 * variance / m * (1 - m / t->all);
    }
    out.lo = exp(mean - sqrt(wide));
    out.hi = exp(mean + sqrt(wide));
    return out;
}

void gopt_attribute(gopt_attribution *out, const gopt_study *s, const gopt_players *p, const gopt_trial *standard)
{
    tally t = {.players = p};
    int order[GOPT_PLAYERS_MAX] = {0, 1, 2, 3, 4};
    *out = (gopt_attribution){.n = p->n};
    if (p->n < 2 || !standard)
        return;
    measure(&t, s, standard);
    each_order(&t, order, 0);
    out->orders = t.orders;
    out->all_orders = t.all;
    for (int i = 0; i < p->n && t.orders; i++)
        out->gain[i] = gain_of(&t, i);
    const gopt_estimate *whole = &t.value[everyone(p)];
    out->total = (gopt_estimate){.value = exp(whole->value), .lo = exp(whole->lo), .hi = exp(whole->hi)};
}
