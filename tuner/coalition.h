/* coalition.h: what the default's whole gain is due to: Shapley values of its passes.
 *
 * The players are the strongest passes of the default; all others that it uses are one player together. A coalition is
 * the default without the players that are not in it. Added one by one in some order, every player brings a factor, and
 * the factors of an order multiply to the whole speedup; its Shapley value is the mean of their logarithms over orders
 * (Shapley 1953; sampled as Castro, Gomez and Tejada 2009, each order followed by its reverse). */
#ifndef GOPT_COALITION_H
#define GOPT_COALITION_H

#include "effects.h"

enum { GOPT_PLAYERS_MAX = 5 }; /* four passes and the others */

typedef struct gopt_players {
    int pass[GOPT_PLAYERS_MAX]; /* ascending; -1, at the end: all others */
    int n;
} gopt_players;

/* Who plays is fixed in the study when it is first asked for, and the same from then on. n is 0 without a default. */
gopt_status gopt_players_choose(gopt_players *out, gopt_study *s, gopt_err *e);
void gopt_players_read(gopt_players *out, gopt_study *s); /* n is 0: nobody was chosen yet */
/* The configuration of the players in the mask. */
void gopt_coalition_config(gopt_config *out, const gopt_players *p, const gopt_trial *standard, unsigned mask);
/* The trial of a coalition, whatever it was made for; NULL: there is none. */
const gopt_trial *gopt_coalition_find(const gopt_study *s, const gopt_players *p, const gopt_trial *standard,
                                      unsigned mask);
/* The next coalition to be tried in the order that the seed gives; false: all have been. */
bool gopt_coalition_next(const gopt_study *s, const gopt_players *p, const gopt_trial *standard, uint64_t seed,
                         unsigned *mask);

typedef struct gopt_attribution {
    int n, orders, all_orders;            /* players; orders of theirs that were measured through, of how many */
    gopt_estimate gain[GOPT_PLAYERS_MAX]; /* factor that a player brings; lo and hi NAN: too few orders */
    gopt_estimate total;                  /* of all: the product */
} gopt_attribution;

/* From what has been measured; orders is 0 when no order was measured through. */
void gopt_attribute(gopt_attribution *out, const gopt_study *s, const gopt_players *p, const gopt_trial *standard);

#endif
