/* decide_together.c: passes in pairs, why two of them conflict or help each other, and what each has of the whole gain.
 */
#include <math.h>
#include <string.h>

#include "coalition.h"
#include "decide.h"

/* ---- eta ---- */

static double half_width(const gopt_estimate *r)
{
    return (log(r->hi) - log(r->lo)) / 2;
}

/* eta = S_ab / (S_a S_b); the three are independent, so their half-widths add in quadrature on the log scale. */
static gopt_finding_ratio eta_of(const gopt_assessed *ab, const gopt_assessed *x, const gopt_assessed *y, double floor)
{
    double value = ab->speedup.value / (x->speedup.value * y->speedup.value);
    double wide =
        sqrt(pow(half_width(&ab->speedup), 2) + pow(half_width(&x->speedup), 2) + pow(half_width(&y->speedup), 2));
    gopt_estimate r = {.value = value, .lo = value * exp(-wide), .hi = value * exp(wide)};
    return gopt_decide_ratio(&r, gopt_verdict_of(&r, floor));
}

/* ---- why ---- */

/* -1: the pass did not run in this trial. */
static int rewrites_of(const gopt_trial *t, int pass)
{
    for (int i = 0; i < t->reply.n_passes; i++)
        if (t->reply.passes[i].pass && !strcmp(t->reply.passes[i].pass, gopt_passes[pass]->name))
            return t->reply.passes[i].changed;
    return -1;
}

static const unsigned char *touched_by(const gopt_trial *t, int pass)
{
    for (int i = 0; i < t->reply.n_passes; i++)
        if (t->reply.passes[i].pass && !strcmp(t->reply.passes[i].pass, gopt_passes[pass]->name))
            return t->reply.touched[i];
    return NULL;
}

/* Nodes of the model that both touch when they run alone. */
static int shared_nodes(const gopt_trial *a, int pass_a, const gopt_trial *b, int pass_b)
{
    const unsigned char *x = touched_by(a, pass_a), *y = touched_by(b, pass_b);
    int n = 0;
    for (int i = 0; x && y && i < GOPT_MIN(a->reply.n_origins, b->reply.n_origins); i++)
        n += x[i] && y[i];
    return n;
}

static int kernels_of(const gopt_trial *t)
{
    return t->reply.native + t->reply.generated + t->reply.reference;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* What a pair's passes did together, beside what each did alone. */
static const char *explain(gopt_findings *f, const gopt_assessment *a, const gopt_trial *pair, gopt_finding_pair *out)
{
    const gopt_study *s = a->study;
    const gopt_trial *x = gopt_effects_find(s, GOPT_ROLE_SINGLE, pair->pass_a, -1);
    const gopt_trial *y = gopt_effects_find(s, GOPT_ROLE_SINGLE, pair->pass_b, -1);
    const char *second = out->second, *first = out->first;
    out->first_alone = rewrites_of(x, pair->pass_a);
    out->second_alone = rewrites_of(y, pair->pass_b);
    out->first_together = rewrites_of(pair, pair->pass_a);
    out->second_together = rewrites_of(pair, pair->pass_b);
    int64_t more = out->second_together - out->second_alone;
    int kernels = kernels_of(x) + kernels_of(y) - kernels_of(&s->trials[a->baseline]);
    int both = shared_nodes(x, pair->pass_a, y, pair->pass_b);
    if (more != 0)
        return gopt_arena_printf(&f->arena, "%s rewrote %lld place%s %s after %s (%lld instead of %lld): %s %s", second,
                                 (long long)(more < 0 ? -more : more), plural((int)(more < 0 ? -more : more)),
                                 more < 0 ? "fewer" : "more", first, (long long)out->second_together,
                                 (long long)out->second_alone, first,
                                 more < 0 ? "takes away what it looks for" : "makes what it looks for");
    if (kernels_of(pair) != kernels)
        return gopt_arena_printf(&f->arena,
                                 "both rewrote as much as alone, and %d kernels run where %d would if neither changed "
                                 "what the other does; they touch %d node%s in common",
                                 kernels_of(pair), kernels, both, plural(both));
    return gopt_arena_printf(&f->arena,
                             "both rewrote as much as alone and as many kernels run: what differs is how long those "
                             "take; they touch %d node%s in common",
                             both, plural(both));
}

/* ---- pairs ---- */

static const gopt_assessed *alone(const gopt_assessment *a, int pass)
{
    const gopt_trial *t = gopt_effects_stand_in(a->study, gopt_effects_find(a->study, GOPT_ROLE_SINGLE, pass, -1));
    return t ? gopt_assess_find(a, t->id) : NULL;
}

/* The other order of a pair counts where it makes another plan. */
static bool tells_nothing_new(const gopt_study *s, const gopt_trial *t, const gopt_trial *stand_in)
{
    if (t->pass_a < t->pass_b)
        return false;
    const gopt_trial *usual = gopt_effects_stand_in(s, gopt_effects_find(s, GOPT_ROLE_PAIR, t->pass_b, t->pass_a));
    return usual == stand_in;
}

static gopt_status set_pairs(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    const gopt_study *s = a->study;
    gopt_finding_pair *list = GOPT_NEW(&f->arena, gopt_finding_pair, s->n_trials);
    gopt_finding_ratio **ratio = GOPT_NEW(&f->arena, gopt_finding_ratio *, s->n_trials);
    if (!list || !ratio)
        return gopt_oom(e);
    for (int i = 0; i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        const gopt_trial *stand_in = t->role == GOPT_ROLE_PAIR ? gopt_effects_stand_in(s, t) : NULL;
        const gopt_assessed *both = stand_in ? gopt_assess_find(a, stand_in->id) : NULL;
        const gopt_assessed *x = both ? alone(a, t->pass_a) : NULL, *y = both ? alone(a, t->pass_b) : NULL;
        if (!x || !y || tells_nothing_new(s, t, stand_in))
            continue;
        gopt_finding_pair *one = &list[c->n_pairs];
        *one = (gopt_finding_pair){.first = gopt_passes[t->pass_a]->name,
                                   .second = gopt_passes[t->pass_b]->name,
                                   .trial = stand_in->id,
                                   .eta = eta_of(both, x, y, gopt_decide_floor(a))};
        one->why = explain(f, a, t, one);
        ratio[c->n_pairs++] = &one->eta;
    }
    c->pairs = list;
    gopt_decide_control(ratio, c->n_pairs, f);
    return GOPT_OK;
}

/* ---- shares of the gain ---- */

/* Parts of next to nothing say nothing. */
static double share_of(double gain, double total)
{
    return fabs(log(total)) > 0.01 ? log(gain) / log(total) : NAN;
}

static gopt_status set_attribution(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    gopt_study *s = (gopt_study *)(uintptr_t)a->study; /* its arena takes what is read from it */
    gopt_players players;
    gopt_attribution found;
    gopt_finding_ratio *ratio[GOPT_PLAYERS_MAX];
    gopt_players_read(&players, s);
    gopt_attribute(&found, s, &players, gopt_effects_default(s));
    gopt_finding_share *list = GOPT_NEW(&f->arena, gopt_finding_share, found.n);
    if (!list)
        return gopt_oom(e);
    if (!found.orders)
        return GOPT_OK;
    for (int i = 0; i < found.n; i++) {
        const gopt_estimate *gain = &found.gain[i];
        list[i] = (gopt_finding_share){.pass = players.pass[i] < 0 ? NULL : gopt_passes[players.pass[i]]->name,
                                       .gain = gopt_decide_ratio(gain, gopt_verdict_of(gain, gopt_decide_floor(a))),
                                       .share = share_of(gain->value, found.total.value)};
        ratio[i] = &list[i].gain;
    }
    gopt_decide_control(ratio, found.n, f);
    c->attribution = (gopt_finding_attribution){.shares = list,
                                                .n_shares = found.n,
                                                .orders = found.orders,
                                                .all_orders = found.all_orders,
                                                .trial = a->standard,
                                                .total = found.total.value};
    return GOPT_OK;
}

gopt_status gopt_decide_together(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e)
{
    GOPT_TRY(set_pairs(f, c, a, e));
    return set_attribution(f, c, a, e);
}
