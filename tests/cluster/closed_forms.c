/*
 * The model compared with closed forms: queues, retries, leases, crashes, pollers, second passes;
 * and with the exhaustive search of small instances. Each mean must be in its confidence interval
 * over seeds, which must be narrow enough to be meaningful.
 */
#include "test.h"

#include "check.h"
#include "simulate_cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double p[CLUSTER_PARAMETERS];
static struct cluster_outcome outcome;

struct setting {
    enum cluster_parameter parameter;
    double value;
};

#define WITH(...)                                                                                  \
    (const struct setting[])                                                                       \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            CLUSTER_PARAMETERS, 0                                                                  \
        }                                                                                          \
    }

static void set(const struct setting *settings)
{
    for (; settings->parameter != CLUSTER_PARAMETERS; settings++) {
        p[settings->parameter] = settings->value;
    }
}

/* No faults, no time but the service's, every timer for itself; but for these settings. */
static void begin(const struct setting *settings)
{
    cluster_parameters_default(p);
    cluster_parameters_calm(p);
    set(WITH({PAR_STORE_MS, 0}, {PAR_SYNC_MS, 0}, {PAR_CANCELLED, 0}, {PAR_MINUTE_SHARE, 0},
             {PAR_HOUR_SHARE, 0}, {PAR_SHORT_SHARE, 1}, {PAR_SHORT_S, 1}, {PAR_TIMEOUT_S, 1e6},
             {PAR_SERVICE, 1}, {PAR_SERVICE_MS, 100}, {PAR_LEASE_S, 1e6}));
    set(settings);
}

static void simulate_in(const char *structure, const char *name, uint64_t timers, uint64_t seed,
                        const uint64_t *deadlines_us)
{
    struct error error;
    TL_OPTION_VALUES(values);
    const struct tl_entry *entry = tl_registry_find(structure);
    const struct tl_algo *algo = tl_entry_for_records(entry);
    algo = algo != NULL ? algo : entry->timed;
    tl_options_default(algo, values);
    const struct cluster_request request = {.protocol = cluster_protocol_find(name, &error),
                                            .parameters = p,
                                            .algo = algo,
                                            .options = values,
                                            .timers = timers,
                                            .seed = seed,
                                            .deadlines_us = deadlines_us};
    assert_non_null(request.protocol);
    if (!cluster_simulate(&request, &outcome, &error) ||
        !cluster_books_balance(&outcome.books, &error)) {
        fail_msg("%s", error.text);
    }
    /* Little's law: the mean length of the queue is the rate of departures times the mean wait. */
    assert_true(fabs(outcome.queue_s - outcome.wait_s) <= 1e-9 * outcome.queue_s);
}

static void simulate(const char *name, uint64_t timers, uint64_t seed)
{
    simulate_in("binary-heap", name, timers, seed, NULL);
}

/* --- a mean over seeds ----------------------------------------------------------------------- */

struct mean {
    double sum;
    double squares;
    double count;
};

static void add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->squares += value * value;
    mean->count++;
}

/* 99 % of Student's t with 11 degrees of freedom or more is within 3.11. */
static void near_known(const struct mean *mean, double known, double widest_share)
{
    double average = mean->sum / mean->count;
    double variance = (mean->squares - mean->count * average * average) / (mean->count - 1);
    double half = 3.11 * sqrt((variance > 0 ? variance : 0) / mean->count);
    assert_true(mean->count >= 12);
    if (fabs(average - known) > half || half > widest_share * known) {
        fail_msg("%g +- %g, but it is %g", average, half, known);
    }
}

static double mean_lateness_s(void)
{
    double sum = 0;
    double count = 0;
    for (int path = 0; path < CLUSTER_PATHS; path++) {
        const struct histogram *h = &outcome.lateness_us[path];
        sum += histogram_mean(h) * (double)h->total;
        count += (double)h->total;
    }
    return sum / count / 1e6;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Erlang's C for 10 servers and a load of 8. */
static double erlang_c(int servers, double load)
{
    double term = 1;
    double sum = 1;
    for (int k = 1; k < servers; k++) {
        term *= load / k;
        sum += term;
    }
    double last = term * load / servers * servers / (servers - load);
    return last / (sum + last);
}

static void many_servers(void **state)
{
    (void)state;
    struct mean wait = {0};
    struct mean tail = {0};
    double c = erlang_c(10, 8);
    for (uint64_t seed = 1; seed <= 24; seed++) {
        begin(WITH({PAR_ARRIVALS, 80}, {PAR_HOSTS, 1}, {PAR_SLOTS, 10}, {PAR_POLL_S, 1e-3},
                   {PAR_SCHEDULERS, 1}));
        simulate("lease", 30000, seed);
        uint64_t above = 0;
        for (unsigned b = histogram_bucket(100000); b < HISTOGRAM_BUCKETS; b++) {
            above += outcome.wait_us.counts[b];
        }
        add(&wait, outcome.wait_s / (double)outcome.waits);
        add(&tail, (double)above / (double)outcome.waits);
    }
    near_known(&wait, c / (10 * 10 - 80), 0.1);
    near_known(&tail, c * exp(-(10 * 10 - 80) * 0.1), 0.15);
}

static void all_at_once(void **state)
{
    (void)state;
    struct mean wait = {0};
    struct mean last = {0};
    double harmonic = 0;
    for (int k = 1; k <= 10; k++) {
        harmonic += 1.0 / k;
    }
    for (uint64_t seed = 1; seed <= 24; seed++) {
        begin(WITH({PAR_ARRIVALS, 1e6}, {PAR_SAME_S, 5}, {PAR_HOSTS, 1}, {PAR_SLOTS, 10},
                   {PAR_POLL_S, 1e-3}));
        simulate("lease", 1000, seed);
        add(&wait, outcome.wait_s / 1000);
        add(&last, outcome.seconds - 5);
    }
    near_known(&wait, 990.0 * 991 / 2 / 1000 / 100, 0.05);
    near_known(&last, 990.0 / 100 + harmonic / 10, 0.05);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void retries(void **state)
{
    (void)state;
    struct mean attempts = {0};
    struct mean dead = {0};
    struct mean backoff = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        begin(WITH({PAR_ARRIVALS, 1000}, {PAR_SERVICE_MS, 1}, {PAR_FAILURE, 0.2}, {PAR_ATTEMPTS, 5},
                   {PAR_RETRY_S, 0.1}, {PAR_POLL_S, 0.01}));
        simulate("lease", 20000, seed);
        add(&attempts, (double)outcome.attempts / 20000);
        add(&dead, (double)outcome.books.dead / 20000);
        add(&backoff, outcome.backoff_s / 20000);
    }
    near_known(&attempts, (1 - pow(0.2, 5)) / 0.8, 0.01);
    near_known(&dead, pow(0.2, 5), 0.5);
    near_known(&backoff, 0.03248, 0.05);
}

static void outrun_leases(void **state)
{
    (void)state;
    struct mean calls = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        begin(WITH({PAR_ARRIVALS, 1000}, {PAR_LEASE_S, 0.5}, {PAR_REAP_S, 0}, {PAR_POLL_S, 0.01}));
        simulate("lease", 20000, seed);
        add(&calls, (double)outcome.calls / 20000 - 1);
        assert_int_equal(outcome.books.lost, 0);
    }
    near_known(&calls, 1 / (1 - exp(-10 * 0.5)) - 1, 0.15);
}

/* Each executor crashes with rate 0.5 a second; a call ends with rate 10. */
static void crashed_executors(void **state)
{
    (void)state;
    struct mean again = {0};
    struct mean late = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        begin(WITH({PAR_ARRIVALS, 100}, {PAR_HOSTS, 60}, {PAR_SLOTS, 1}, {PAR_CRASH_EVERY, 2},
                   {PAR_RESTART_S, 0}, {PAR_LEASE_S, 5}, {PAR_REAP_S, 1}, {PAR_SCHEDULERS, 1},
                   {PAR_POLL_S, 0.01}));
        simulate("lease", 4000, seed);
        add(&again, (double)outcome.redelivered / 4000);
        /* Less the wait for the poller, and for it to come back; a call that is not cut short is of
         * rate 10.5. */
        add(&late, mean_lateness_s() - 0.005 - 1 / 10.5);
        assert_int_equal(outcome.books.lost, 0);
    }
    near_known(&again, 0.5 / 10, 0.15);
    near_known(&late, 0.5 / 10 * (5 + 0.5), 0.15);
}

/* --- schedulers ------------------------------------------------------------------------------- */

static void independent_pollers(void **state)
{
    (void)state;
    struct mean late = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        begin(WITH({PAR_ARRIVALS, 100}, {PAR_SHORT_S, 10}, {PAR_SERVICE_MS, 0}));
        simulate("partitions", 500, seed);
        add(&late, mean_lateness_s());
    }
    near_known(&late, 1.0 / 4, 0.1);
}

/* A clock that three move once a second catches up by two; one that one moves never does. */
static void catching_up(void **state)
{
    (void)state;
    begin(WITH({PAR_ARRIVALS, 10}, {PAR_SERVICE_MS, 0}, {PAR_HALT_AT, 100}, {PAR_HALT_S, 60}));
    simulate("seed-ack", 3000, 1);
    assert_true(fabs(outcome.halt_drain_s - 60.0 / (3 - 1)) <= 1.5);
    assert_int_equal(outcome.books.lost, 0);
    p[PAR_SCHEDULERS] = 1;
    simulate("seed-ack", 3000, 1);
    assert_true(outcome.halt_drain_s == 0);
    assert_true(outcome.lateness_us[CLUSTER_PATH_FIRST].max >= 60000000);
}

/* The timers in a crashed executor's hands are found by the first pass after the delay, or, if that
 * call is cut short as well, by the next. Without a pass they are lost. */
static void second_pass(void **state)
{
    (void)state;
    struct mean late = {0};
    struct mean found = {0};
    double cut_short = 0.05 / (10 + 0.05);
    for (uint64_t seed = 1; seed <= 24; seed++) {
        /* Ticks and looks are so short that they come one by one. */
        begin(WITH({PAR_ARRIVALS, 20}, {PAR_TICK_S, 0.05}, {PAR_POLL_S, 0.05},
                   {PAR_CRASH_EVERY, 20}, {PAR_RESTART_S, 1}, {PAR_SCAN_DELAY, 100},
                   {PAR_SCAN_EVERY, 10}));
        simulate("seed-ack", 5000, seed);
        const struct histogram *scanned = &outcome.lateness_us[CLUSTER_PATH_SCANNED];
        assert_true(scanned->min >= 100000000);
        assert_int_equal(outcome.books.lost, 0);
        add(&late, histogram_mean(scanned) / 1e6 - 100);
        p[PAR_SCAN] = 0;
        simulate("seed-ack", 5000, seed);
        add(&found, (double)outcome.lost[CLUSTER_CAUSE_CRASH] / 5000);
    }
    near_known(&late, 10.0 / 2 + 1 / 10.05 + cut_short * 10, 0.2);
    near_known(&found, cut_short, 0.2);
}

/* A timer that waits longer than the pass's delay is called twice, without any fault. */
static void too_early_a_pass(void **state)
{
    (void)state;
    struct mean twice = {0};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        begin(WITH({PAR_ARRIVALS, 1e6}, {PAR_SAME_S, 5}, {PAR_HOSTS, 1}, {PAR_SLOTS, 10},
                   {PAR_POLL_S, 0.01}, {PAR_SCAN_DELAY, 3}, {PAR_SCAN_EVERY, 9}));
        simulate("seed-ack", 1000, seed);
        add(&twice, (double)outcome.calls - 1000);
        p[PAR_SCAN_DELAY] = 600;
        simulate("seed-ack", 1000, seed);
        assert_int_equal(outcome.calls, 1000);
    }
    /* Those of second 5 are fetched when it is over, by the first of three; a hundred are called in
     * a second, until it is the ninth. */
    near_known(&twice, 1000 - (9 - 6 - 0.01 / 4) * 100, 0.03);
}

/* --- against everything that can happen ------------------------------------------------------- */

/* With at most one crash, all results of the model are among the ends of the search, and reach its
 * greatest numbers of losses and calls. */
static void among_all_ends(const char *name)
{
    static const uint64_t deadlines_us[] = {1500000, 2500000};
    struct error error;
    struct check_result all;
    const struct check_faults faults = {.crashes = 1};
    bool known[CHECK_TIMERS + 1][8] = {{false}};
    unsigned most_lost = 0;
    unsigned most_calls = 0;
    check_search(cluster_protocol_find(name, &error), &faults, &all);
    for (size_t i = 0; i < all.end_count; i++) {
        const struct check_end *end = &all.ends[i];
        unsigned lost = (end->calls[0] == 0 ? 1u : 0u) + (end->calls[1] == 0 ? 1u : 0u);
        unsigned calls = end->calls[0] + end->calls[1];
        known[lost][calls] = true;
        most_lost = lost > most_lost ? lost : most_lost;
        most_calls = calls > most_calls ? calls : most_calls;
    }
    free(all.ends);
    unsigned seen_lost = 0;
    unsigned seen_calls = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        /* A look comes so late that it may find both. */
        begin(WITH({PAR_SCHEDULERS, 2}, {PAR_HOSTS, 2}, {PAR_SLOTS, 1}, {PAR_POLL_S, 2},
                   {PAR_STORE_MS, 200}, {PAR_SERVICE_MS, 200}, {PAR_CRASH_EVERY, 30},
                   {PAR_RESTART_S, 0.1}, {PAR_LEASE_S, 5}, {PAR_SCAN, 0}, {PAR_ARRIVALS, 1e9}));
        simulate_in("binary-heap", name, 2, seed, deadlines_us);
        if (outcome.crashes > 1 || outcome.duplicates[CLUSTER_CAUSE_OUTRUN] > 0) {
            continue;
        }
        assert_true(outcome.books.lost <= CHECK_TIMERS && outcome.calls < 8);
        if (!known[outcome.books.lost][outcome.calls]) {
            fail_msg("%s, seed %u: %u lost with %u calls is none of the ends", name, (unsigned)seed,
                     (unsigned)outcome.books.lost, (unsigned)outcome.calls);
        }
        seen_lost = outcome.books.lost > seen_lost ? (unsigned)outcome.books.lost : seen_lost;
        seen_calls = outcome.calls > seen_calls ? (unsigned)outcome.calls : seen_calls;
    }
    if (seen_lost != most_lost || seen_calls != most_calls) {
        fail_msg("%s: at most %u lost and %u calls, but there are ends with %u and %u", name,
                 seen_lost, seen_calls, most_lost, most_calls);
    }
}

static void small_instances(void **state)
{
    (void)state;
    static const char *const names[] = {"seed-fetch", "seed-ack", "lease", "ack-first"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        among_all_ends(names[i]);
    }
}

/* --- books and structures --------------------------------------------------------------------- */

static void stormy(void)
{
    begin(WITH({PAR_ARRIVALS, 200}, {PAR_SHORT_S, 60}, {PAR_MINUTE_SHARE, 0.3},
               {PAR_CANCELLED, 0.15}, {PAR_STORE_MS, 5}, {PAR_SYNC_MS, 1}, {PAR_FAILURE, 0.05},
               {PAR_REPLY_LOST, 0.01}, {PAR_LEASE_S, 3}, {PAR_LATER, 0.05}, {PAR_LATER_S, 5},
               {PAR_CRASH_EVERY, 30}, {PAR_RESTART_S, 5}, {PAR_PAUSE_EVERY, 40},
               {PAR_CUT_EVERY, 60}, {PAR_STEP_EVERY, 50}, {PAR_OFFSET_MS, 5},
               {PAR_OUTAGE_EVERY, 60}, {PAR_OUTAGE_S, 10}, {PAR_SCAN_DELAY, 60},
               {PAR_SCAN_EVERY, 10}));
}

/* In any weather all timers are accounted for (simulate_in sees to it), none is left, and what
 * keeps its record, and is looked for, is not lost; whichever structure keeps the events. */
static void storms(void **state)
{
    (void)state;
    static const char *const structures[] = {"radix-heap", "hier-wheel", "skip-list",
                                             "chunk-wheel"};
    static const char *const safe[] = {"lease", "partitions", "lists", "owners", "seed-ack"};
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; i < count; i++) {
        stormy();
        simulate_in("binary-heap", all[i].name, 8000, 7, NULL);
        uint64_t digest = outcome.digest;
        assert_int_equal(outcome.books.started, 8000);
        assert_int_equal(outcome.books.pending, 0);
        assert_true(outcome.crashes > 5);
        for (size_t k = 0; k < sizeof safe / sizeof safe[0]; k++) {
            assert_true(strcmp(safe[k], all[i].name) != 0 || outcome.books.lost == 0);
        }
        assert_int_equal(strcmp(all[i].name, "ack-first") == 0 ||
                             !cluster_protocol_keeps_record(&all[i]),
                         outcome.books.lost > 0);
        for (size_t k = 0; i < 3 && k < sizeof structures / sizeof structures[0]; k++) {
            simulate_in(structures[k], all[i].name, 8000, 7, NULL);
            assert_true(outcome.digest == digest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_servers),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(retries),
        cmocka_unit_test(outrun_leases),
        cmocka_unit_test(crashed_executors),
        cmocka_unit_test(independent_pollers),
        cmocka_unit_test(catching_up),
        cmocka_unit_test(second_pass),
        cmocka_unit_test(too_early_a_pass),
        cmocka_unit_test(small_instances),
        cmocka_unit_test(storms),
    };
    return cmocka_run_group_tests_name("cluster_closed_forms", tests, NULL, NULL);
}
