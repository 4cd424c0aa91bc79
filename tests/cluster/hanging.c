/*
 * A structure that does not come back from a model's advance: whoever watches ends it, however long
 * the model itself may take.
 */
#include "test.h"

#include "foreign.h"
#include "simulate_cluster.h"

#include <string.h>
#include <unistd.h>

static struct tl_algo hanging;
static struct cluster_outcome outcome;

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

static int simulate(void *ctx)
{
    (void)ctx;
    double parameters[CLUSTER_PARAMETERS];
    int64_t values[TL_OPTIONS_MAX];
    struct error error;
    cluster_parameters_default(parameters);
    tl_options_default(&hanging, values);
    const struct cluster_request request = {.protocol = cluster_protocol_find("lease", &error),
                                            .parameters = parameters,
                                            .algo = &hanging,
                                            .options = values,
                                            .timers = 100,
                                            .seed = 1};
    foreign_enter(2, "hanging, while it kept a model's events");
    return cluster_simulate(&request, &outcome, &error) ? 0 : 1;
}

static void what_hangs_is_ended(void **state)
{
    (void)state;
    hanging = *tl_registry_find("binary-heap")->timed;
    hanging.advance = no_advance;
    char said[256];
    int ends[2];
    int before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_not_equal(dup2(ends[1], STDERR_FILENO), -1);
    int status = foreign_supervise("test", simulate, NULL, 7);
    assert_int_not_equal(dup2(before, STDERR_FILENO), -1);
    ssize_t size = read(ends[0], said, sizeof said - 1);
    assert_true(size > 0);
    said[size] = '\0';
    assert_non_null(strstr(said, "hanging, while it kept a model's events: not done after 2 s"));
    assert_int_equal(status, 7);
    assert_int_equal(close(ends[0]) | close(ends[1]) | close(before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hangs_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
