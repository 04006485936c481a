/* test_promise.c: latency now against the latency that a manifest promised. */
#include "promise.h"

#include <math.h>

#include "support/test.h"

typedef struct row {
    gopt_estimate now, then; /* us */
    double busy_share;
    gopt_promise verdict;
    const char *says;
} row;

static void a_difference_is_named(void **state)
{
    (void)state;
    static const row rows[] = {
        {{128, 126, 131, 99},
         {183, 180, 187, 99},
         0,
         GOPT_PROMISE_FASTER,
         "128 us [126 us, 131 us] now, 183 us [180 us, 187 us] when tuned, ratio 0.699 [0.674, 0.728]: faster"},
        {{128, 126, 131, 99}, {183, 180, 187, 99}, 1, GOPT_PROMISE_FASTER, "faster than when tuned"},
        {{183, 180, 187, 99}, {128, 126, 131, 99}, 0, GOPT_PROMISE_SLOWER, "43 % slower than when tuned"},
        {{183, 180, 187, 99}, {128, 126, 131, 99}, 0.6, GOPT_PROMISE_UNKNOWN, "the machine is busy"},
        {{110, 108, 112, 99}, {100, 99, 101, 99}, 0, GOPT_PROMISE_KEPT, "within the 15 % that two sessions"},
        {{90, 89, 91, 99}, {100, 99, 101, 99}, 0, GOPT_PROMISE_KEPT, "within the 15 % that two sessions"},
        {{101, 98, 104, 99}, {100, 99, 101, 99}, 0, GOPT_PROMISE_KEPT, "no difference beyond the intervals"},
        {{130, 90, 140, 99}, {100, 95, 105, 99}, 0, GOPT_PROMISE_KEPT, "no difference beyond the intervals"},
        {{130, NAN, NAN, 5}, {100, NAN, NAN, 5}, 0, GOPT_PROMISE_SLOWER, "130 us now, 100 us when tuned"},
        {{130, 129, 131, 99}, {NAN, NAN, NAN, 0}, 0, GOPT_PROMISE_UNKNOWN, "130 us [129 us, 131 us] now, the manifest"},
    };
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_estimate now = rows[i].now, then = rows[i].then;
        double *const ns[] = {&now.value, &now.lo, &now.hi, &then.value, &then.lo, &then.hi};
        gopt_text t = {0};
        for (int k = 0; k < GOPT_COUNT(ns); k++)
            *ns[k] *= 1e3;
        gopt_promise p = gopt_promise_judge(&now, &then, rows[i].busy_share, &t);
        if (p != rows[i].verdict || !strstr(gopt_text_str(&t), rows[i].says))
            fail_msg("row %d: %s: %s", i, gopt_promise_name(p), gopt_text_str(&t));
        gopt_text_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_difference_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
