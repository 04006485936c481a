/* test_min_cut.c: cuts of random networks against the cheapest of all ways to part them. */
#include "passes/min_cut.h"
#include "stats.h"
#include "support/test.h"

enum { NODES = 8, EDGES = 20, NETWORKS = 2000 };

typedef struct edge {
    int u, v;
    int64_t cost;
} edge;

/* Of parting nodes so that those with a bit in `beyond` are on the sink's side. */
static int64_t cost_of(const edge *e, unsigned beyond)
{
    int64_t cost = 0;
    for (int i = 0; i < EDGES; i++)
        if (!(beyond >> e[i].u & 1) && beyond >> e[i].v & 1)
            cost += e[i].cost;
    return cost;
}

/* The cheapest cut; *beyond: of the cheapest ones, the nodes that are on the sink's side in all. */
static int64_t cheapest(const edge *e, unsigned *beyond)
{
    int64_t least = INT64_MAX;
    for (unsigned side = 1u << GOPT_CUT_SINK; side < 1u << NODES; side++) {
        if (side >> GOPT_CUT_SOURCE & 1 || !(side >> GOPT_CUT_SINK & 1))
            continue;
        int64_t cost = cost_of(e, side);
        *beyond = cost < least ? side : cost == least ? *beyond & side : *beyond;
        least = cost < least ? cost : least;
    }
    return least;
}

static void the_cut_is_the_cheapest(void **state)
{
    (void)state;
    gopt_random random;
    gopt_random_seed(&random, 1);
    for (int k = 0; k < NETWORKS; k++) {
        gopt_cut c = {0};
        edge e[EDGES];
        unsigned beyond = 0;
        for (int i = 2; i < NODES; i++)
            assert_int_equal(gopt_cut_node(&c), i);
        for (int i = 0; i < EDGES; i++) {
            e[i] = (edge){gopt_random_below(&random, NODES), gopt_random_below(&random, NODES),
                          gopt_random_below(&random, 10)};
            if (e[i].u == GOPT_CUT_SOURCE && e[i].v == GOPT_CUT_SINK)
                e[i].v = 2;
            gopt_cut_edge(&c, e[i].u, e[i].v, e[i].cost);
        }
        assert_int_equal(gopt_cut_solve(&c), cheapest(e, &beyond));
        for (int i = 0; i < NODES; i++)
            assert_int_equal(gopt_cut_is_beyond(&c, i), beyond >> i & 1);
        gopt_cut_fini(&c);
    }
}

static void some_edges_are_never_cut(void **state)
{
    (void)state;
    gopt_cut c = {0};
    int a = gopt_cut_node(&c), b = gopt_cut_node(&c);
    gopt_cut_edge(&c, GOPT_CUT_SOURCE, a, 5);
    gopt_cut_edge(&c, a, b, GOPT_CUT_NEVER);
    gopt_cut_edge(&c, b, GOPT_CUT_SINK, 7);
    assert_int_equal(gopt_cut_solve(&c), 5);
    assert_true(gopt_cut_is_beyond(&c, a) && gopt_cut_is_beyond(&c, b));
    gopt_cut_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cut_is_the_cheapest),
        cmocka_unit_test(some_edges_are_never_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
