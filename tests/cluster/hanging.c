/*
 * A structure that does not come back from a model's advance: its child is ended, however long the
 * model itself may take.
 */
#include "test.h"

#include "child.h"
#include "simulate_cluster.h"
#include "watched.h"

#include <string.h>
#include <unistd.h>

static struct tl_algo hanging;

static uint64_t no_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    (void)self;
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    while (pause() != 0) {
    }
    return 0;
}

static bool simulate(void *ctx, void *result, struct error *error)
{
    double parameters[CLUSTER_PARAMETERS];
    TL_OPTION_VALUES(values);
    (void)ctx;
    cluster_parameters_default(parameters);
    tl_options_default(&hanging, values);
    const struct cluster_request request = {.protocol = cluster_protocol_find("lease", error),
                                            .parameters = parameters,
                                            .algo = watched(&hanging),
                                            .options = values,
                                            .timers = 100,
                                            .seed = 1};
    return cluster_simulate(&request, result, error);
}

static void what_hangs_is_ended(void **state)
{
    (void)state;
    struct child_outcome outcome;
    struct error error;
    static struct cluster_outcome result;
    const struct child_request request = {
        .run = simulate, .result_bytes = sizeof result, .hook_seconds = 0.2};
    hanging = *tl_registry_find("binary-heap")->timed;
    hanging.advance = no_advance;
    assert_true(child_run(&request, &result, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_TIMEOUT);
    assert_string_equal(outcome.reason, "not done after 0.2 s in advance");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hangs_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
