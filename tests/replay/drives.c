/* Polling policies: each by an example with a known answer, for all exact structures and in all
 * passes. Faults of a structure are found, however late the policy itself makes its timers. */
#include "written_trace.h"

#include "drive.h"
#include "replay.h"
#include "replay_pass.h"
#include "replayed.h"
#include "tape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last row, a stop of an idle timer, sets the end of the trace. */
static void write_until_100(const char *rows)
{
    char all[500];
    assert_true((size_t)snprintf(all, sizeof all, "%s100,9,stop,,\n", rows) < sizeof all);
    write_trace(all);
}

/* --- drives ----------------------------------------------------------------------------------- */

struct drive_words {
    const char *drive;
    const char *budget;
    const char *pauses;
    const char *service;
};

static struct replay_drive drive_of(struct drive_words words)
{
    struct replay_drive drive = {.end_tick = 100};
    struct error error;
    if (!drive_read(&drive, "drive", words.drive, &error) ||
        (words.budget != NULL && !drive_read_budget(&drive, "budget", words.budget, &error)) ||
        (words.pauses != NULL && !drive_read_pauses(&drive, "pause", words.pauses, &error)) ||
        (words.service != NULL && !drive_read_service(&drive, "service", words.service, &error))) {
        fail_msg("%s", error.text);
    }
    return drive;
}

static void when_a_loop_looks(void **state)
{
    (void)state;
    static const struct {
        struct drive_words words;
        uint64_t tick;
        uint64_t chance;
    } cases[] = {
        {{"sleep", NULL, NULL, NULL}, 7, 7},
        {{"slack", NULL, NULL, NULL}, 7, 7},
        {{"slack", NULL, "5:10", NULL}, 5, 15},
        {{"poll", NULL, NULL, NULL}, 7, 7},
        {{"poll:10", NULL, NULL, NULL}, 10, 10},
        {{"poll:10", NULL, NULL, NULL}, 11, 20},
        {{"sleep", NULL, "5:10", NULL}, 4, 4},
        {{"sleep", NULL, "5:10", NULL}, 5, 15},
        {{"sleep", NULL, "5:10", NULL}, 14, 15},
        {{"sleep", NULL, "5:10", NULL}, 15, 15},
        {{"sleep", NULL, "5:10+15:2", NULL}, 5, 17}, /* one after the other */
        {{"sleep", NULL, "15:2+5:10", NULL}, 5, 17},
        {{"sleep", NULL, "5:2:every=10", NULL}, 26, 27},
        {{"sleep", NULL, "95:10", NULL}, 97, 100}, /* the trace ends */
        {{"sleep", NULL, "5:2:every=10", NULL}, 105, 105},
        {{"poll:10", NULL, "18:5", NULL}, 11, 23}, /* the poll at 20 is postponed to 23 */
        {{"poll:10", NULL, "18:5", NULL}, 22, 23},
        {{"poll:10", NULL, "18:5", NULL}, 23, 23},
        {{"poll:10", NULL, "18:5", NULL}, 24, 30}, /* not those after it; */
        {{"poll:10", NULL, "12:5", NULL}, 13, 20}, /* no poll is in this one */
        {{"poll:10", NULL, "12:5", NULL}, 17, 20},
        {{"poll:10", NULL, NULL, NULL}, UINT64_MAX - 2, UINT64_MAX}, /* no poll comes any more */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct replay_drive drive = drive_of(cases[i].words);
        uint64_t chance = drive_chance(&drive, cases[i].tick);
        if (chance != cases[i].chance) {
            fail_msg("case %d: at %" PRIu64 ", not %" PRIu64, (int)i, chance, cases[i].chance);
        }
    }
    const struct replay_drive asleep =
        drive_of((struct drive_words){"sleep", NULL, "95:10:asleep", NULL});
    assert_false(drive_loses(&asleep, 94));
    assert_true(drive_loses(&asleep, 99));
    assert_false(drive_loses(&asleep, 100));
}

static void drives_are_written_as_they_are_read(void **state)
{
    (void)state;
    static const struct {
        struct drive_words words;
        const char *text;
    } cases[] = {
        {{"sleep", "none", "none", NULL}, "sleep"},
        {{"poll", NULL, NULL, NULL}, "poll"},
        {{"poll:1", NULL, NULL, NULL}, "poll"},
        {{"slack", NULL, NULL, NULL}, "slack"},
        {{"poll:10", "3", NULL, NULL}, "poll:10 budget 3"},
        {{"sleep", NULL, "5:2", NULL}, "sleep pause 5:2:busy"},
        {{"sleep", NULL, "5:2:every=10:asleep+7:1:busy", NULL},
         "sleep pause 5:2:asleep:every=10+7:1:busy"},
        {{"sleep", NULL, NULL, "none"}, "sleep"},
        {{"sleep", "3", "5:2", "50us"}, "sleep budget 3 pause 5:2:busy service 50000ns"},
        {{"poll:10", NULL, NULL, "exp:1.5ms"}, "poll:10 service exp:1500000ns"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[DRIVE_TEXT_BYTES];
        const struct replay_drive drive = drive_of(cases[i].words);
        drive_write(&drive, text);
        assert_string_equal(text, cases[i].text);
    }
    static const char *const bad[] = {"",     "5",       "5:",          "5:0",        "a:b",
                                      "5:2:", "5:2:far", "5:2:every=2", "5:2:every=", "5:2+"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct replay_drive drive = {0};
        struct error error;
        assert_false(drive_read_pauses(&drive, "--pause", bad[i], &error));
        assert_non_null(strstr(error.text, "--pause takes AT:FOR"));
    }
    static const char *const no_time[] = {"", "0", "0ns", "5", "101s", "exp:", "exp", "gauss:1ms"};
    for (size_t i = 0; i < sizeof no_time / sizeof no_time[0]; i++) {
        struct replay_drive drive = {0};
        struct error error;
        assert_false(drive_read_service(&drive, "--service", no_time[i], &error));
        assert_non_null(strstr(error.text, "--service takes the time of a callback, from 1ns"));
    }
}

/* --- replays ---------------------------------------------------------------------------------- */

struct firing {
    uint32_t id;
    uint64_t tick;
};

struct example {
    const char *rows;
    struct drive_words words;
    struct firing fired[12]; /* up to the end tick; ends with tick 0 */
    uint64_t operations;     /* carried out */
    uint64_t averted;
    uint64_t wakeups; /* of a structure that knows its next expiry; 0: not checked */
};

static struct replay_result results[2]; /* large */

static const struct replay_result *run(const struct tl_algo *algo, const struct replay_drive *drive,
                                       enum replay_pass pass, struct tape *tape)
{
    TL_OPTION_VALUES(options);
    struct error error;
    tl_options_default(algo, options);
    const struct replay_request request = {.algo = algo,
                                           .options = options,
                                           .pass = pass,
                                           .drive = *drive,
                                           .memory_limit_bytes = UINT64_C(256) << 20,
                                           .tape = tape};
    struct replay_result *result = &results[pass != PASS_CHECK];
    if (!replay_path(trace_path, request, result, &error)) {
        fail_msg("%s: %s", algo->name, error.text);
    }
    return result;
}

static uint64_t digest_of(const struct firing *fired, uint64_t *count)
{
    struct tally tally = {0};
    for (; fired->tick > 0; fired++) {
        tally_add(&tally, fired->id, fired->tick);
    }
    *count = tally.fired;
    return tally.digest;
}

/* One structure, in all passes. */
static void check_one(const struct tl_entry *entry, const struct example *example)
{
    const struct replay_drive drive = drive_of(example->words);
    struct error error;
    struct tape *tape = tape_create(&error);
    assert_non_null(tape);
    const struct replay_result *check = run(entry->counted, &drive, PASS_CHECK, tape);
    const struct verdict *verdict = &check->verdict;
    uint64_t fired;
    uint64_t digest = digest_of(example->fired, &fired);
    if (check->status != REPLAY_OK) {
        fail_msg("%s: %s %s", entry->timed->name, check->reason,
                 verdict->fault_count > 0 ? verdict->first[0].detail : "");
    }
    if (verdict->fired != fired || check->digest != digest) {
        fail_msg("%s: fired %d timers, or others, not %d", entry->timed->name, (int)verdict->fired,
                 (int)fired);
    }
    assert_int_equal(verdict->events, example->operations);
    assert_int_equal(check->window_events, example->operations);
    assert_int_equal(verdict->averted, example->averted);
    if (example->wakeups > 0 && (entry->timed->capabilities & TL_CAP_NEXT_EXACT) != 0) {
        assert_int_equal(check->wakeups, example->wakeups);
    }
    static const enum replay_pass timed[] = {PASS_THROUGHPUT, PASS_LATENCY};
    for (size_t i = 0; i < 2; i++) {
        const struct replay_result *result = run(entry->timed, &drive, timed[i], tape);
        assert_int_equal(result->status, REPLAY_OK);
        assert_int_equal(result->digest, check->digest);
        assert_int_equal(result->window_events, verdict->events);
        if (drive.kind != DRIVE_SLACK) { /* its wakeups are on the tape, like operations */
            assert_int_equal(result->wakeups, check->wakeups);
        }
        if (timed[i] == PASS_LATENCY && drive.budget == 0) {
            assert_int_equal(result->latency_ns[LATENCY_START].total, verdict->starts);
            assert_int_equal(result->latency_ns[LATENCY_RESTART].total, verdict->restarts);
            assert_int_equal(result->latency_ns[LATENCY_STOP].total, verdict->stops);
        }
    }
    tape_close(tape);
}

/* All exact structures; those that fire in the order of the starts if the example requires it. */
static void check_all(const struct example *example, uint32_t needs)
{
    unsigned count = 0;
    write_until_100(example->rows);
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *entry = tl_registry_at(i);
        TL_OPTION_VALUES(options);
        tl_options_default(entry->timed, options);
        uint32_t capabilities = entry->timed->capabilities;
        if ((capabilities & TL_CAP_FIRES_NOTHING) == 0 && (capabilities & needs) == needs &&
            tl_algo_is_exact(entry->timed, options, 100) && test_is_available(entry->timed)) {
            check_one(entry, example);
            count++;
        }
    }
    assert_true(count >= 5);
}

/* Of all expiries of the last check; small values are kept exactly. */
static uint64_t lateness_sum(void)
{
    const struct histogram *late_ticks = &results[0].verdict.late_ticks;
    uint64_t sum = 0;
    for (uint64_t rank = 1; rank <= late_ticks->total; rank++) {
        sum += histogram_at_rank(late_ticks, rank);
    }
    return sum;
}

/* 2 is stopped after its due tick, and before the loop looks. 3 is started for tick 9 when the
 * structure's clock is 0, and again for 15, which is due at 16. */
static void every_so_many_ticks(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,3,\n"
                "0,1,start,10,\n"
                "4,2,start,8,\n"
                "8,3,start,1,\n"
                "15,3,start,0,\n"
                "17,2,stop,,\n",
        .words = {"poll:10", NULL, NULL, NULL},
        .fired = {{0, 10}, {1, 10}, {3, 10}, {3, 20}},
        .operations = 7,
        .averted = 1,
        .wakeups = 10,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_max, 7);
}

/* Started again in the tick of its stop, and of its expiry; and while it is pending. */
static void what_is_stopped_is_started_anew(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "3,0,stop,,\n"
                "3,0,start,4,\n"
                "7,0,start,9,\n"
                "8,0,start,9,\n",
        .words = {"sleep", NULL, NULL, NULL},
        .fired = {{0, 7}, {0, 17}},
        .operations = 6,
        .wakeups = 2,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.restarts, 1);
}

/* Reactions count from when the loop looked: 5 ticks after 8, 16 and 24. */
static void heartbeats_drift_with_the_poll(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "5,0,start,5,0\n"
                "10,0,start,5,0\n"
                "15,0,start,5,0\n",
        .words = {"poll:4", NULL, NULL, NULL},
        .fired = {{0, 8}, {0, 16}, {0, 24}, {0, 32}},
        .operations = 5,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_min, 3);
    assert_int_equal(results[0].verdict.lateness_max, 3);
}

/* In the callbacks of one advance 0 stops 1, and 1 starts 0: in whatever order they fire, both do,
 * and the stream's order decides. */
static void what_meets_at_a_poll_has_the_streams_order(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "0,1,start,6,\n"
                "0,2,start,30,\n"
                "5,2,start,1,0\n"
                "6,2,start,50,1\n",
        .words = {"poll:10", NULL, NULL, NULL},
        .fired = {{0, 10}, {1, 10}, {2, 60}},
        .operations = 6,
    };
    check_all(&example, 0);
}

/* Away from 5 to 14: 1, due at 7, fires at 15, before its stop is seen; 2's
 * delay counts from 15. */
static void a_busy_loop_finds_what_waited(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,3,\n"
                "0,1,start,7,\n"
                "6,2,start,4,\n"
                "8,1,stop,,\n"
                "15,3,start,1,\n",
        .words = {"sleep", NULL, "5:10", NULL},
        .fired = {{0, 3}, {1, 15}, {3, 16}, {2, 19}},
        .operations = 6,
        .wakeups = 4,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_max, 8);
}

/* Nor does it look because the window ends at 8, during the pause. */
static void a_window_ends_without_a_look(void **state)
{
    (void)state;
    struct error error;
    const struct tl_algo *algo = tl_registry_find("binary-heap")->counted;
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    write_until_100("0,1,start,7,\n");
    const struct replay_request request = {
        .algo = algo,
        .options = options,
        .pass = PASS_CHECK,
        .drive = drive_of((struct drive_words){"sleep", NULL, "5:10", NULL}),
        .window = {.asked = true, .to_tick = 8},
        .memory_limit_bytes = UINT64_MAX};
    assert_true(replay_path(trace_path, request, &results[0], &error));
    uint64_t fired;
    assert_int_equal(results[0].status, REPLAY_OK);
    assert_true(results[0].digest == digest_of((struct firing[]){{1, 15}, {0, 0}}, &fired));
}

/* The same with suspension: operations in between are lost. */
static void a_sleeping_machine_misses_what_came(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,3,\n"
                "0,1,start,7,\n"
                "6,2,start,4,\n"
                "8,1,stop,,\n"
                "15,3,start,1,\n",
        .words = {"sleep", NULL, "5:10:asleep", NULL},
        .fired = {{0, 3}, {1, 15}, {3, 16}},
        .operations = 4,
        .wakeups = 3,
    };
    check_all(&example, 0);
}

/* A lost operation does not move another one before the reaction that precedes it. */
static void what_comes_keeps_its_place_behind_what_was_lost(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,4,\n"
                "1,1,start,9,\n"
                "2,1,start,9,\n"
                "4,2,start,20,0\n"
                "4,2,start,30,\n",
        .words = {"sleep", NULL, "1:2:asleep", NULL},
        .fired = {{0, 4}, {2, 34}},
        .operations = 4,
    };
    /* Here it precedes the reaction, which is done first: it is superseded. */
    static const struct example superseded = {
        .rows = "0,0,start,4,\n"
                "1,1,start,9,\n"
                "2,1,start,9,\n"
                "4,2,start,30,\n"
                "4,2,start,20,0\n",
        .words = {"sleep", NULL, "1:2:asleep", NULL},
        .fired = {{0, 4}, {2, 24}},
        .operations = 3,
    };
    check_all(&example, 0);
    check_all(&superseded, 0);
}

/* Reactions to a lost start are not reached; those to an earlier start are. */
static void what_a_lost_start_would_have_caused(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,4,\n"
                "0,2,start,7,\n"
                "2,1,start,40,\n"
                "4,0,start,40,0\n"
                "6,1,start,6,\n"
                "7,2,start,20,2\n"
                "12,3,start,9,1\n",
        .words = {"sleep", NULL, "5:5:asleep", NULL},
        .fired = {{0, 4}, {2, 10}, {2, 30}, {1, 42}, {0, 44}},
        .operations = 6,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].not_reached, 1);
}

/* Five are due at 5, two an advance; a loop with work left comes round at the next tick. */
static void a_budget_spreads_a_burst(void **state)
{
    (void)state;
    static const char rows[] = "0,0,start,5,\n"
                               "0,1,start,5,\n"
                               "0,2,start,5,\n"
                               "0,3,start,5,\n"
                               "0,4,start,5,\n";
    static const struct example sleeps = {
        .rows = rows,
        .words = {"sleep", "2", NULL, NULL},
        .fired = {{0, 5}, {1, 5}, {2, 6}, {3, 6}, {4, 7}},
        .operations = 6,
        .wakeups = 3,
    };
    static const struct example polls = {
        .rows = rows,
        .words = {"poll:10", "2", NULL, NULL},
        .fired = {{0, 10}, {1, 10}, {2, 11}, {3, 11}, {4, 12}},
        .operations = 6,
        .wakeups = 12,
    };
    /* After the end there is no budget. */
    static const struct example drained = {
        .rows = "0,0,start,150,\n"
                "0,1,start,150,\n"
                "0,2,start,150,\n",
        .words = {"sleep", "1", NULL, NULL},
        .operations = 4,
    };
    check_all(&drained, TL_CAP_BUDGET);
    assert_int_equal(results[0].verdict.drained, 3);
    check_all(&sleeps, TL_CAP_BUDGET | TL_CAP_FIFO);
    assert_int_equal(results[0].verdict.lateness_max, 2);
    check_all(&polls, TL_CAP_BUDGET | TL_CAP_FIFO);
    assert_int_equal(results[0].verdict.lateness_max, 7);
}

/* A waiting timer may be stopped, and is then averted. */
static void what_waits_for_a_budget_can_be_stopped(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "0,1,start,5,\n"
                "0,2,start,5,\n"
                "6,2,stop,,\n",
        .words = {"sleep", "1", NULL, NULL},
        .fired = {{0, 5}, {1, 6}},
        .operations = 5,
        .averted = 1,
        .wakeups = 2,
    };
    check_all(&example, TL_CAP_BUDGET | TL_CAP_FIFO);
}

static void without_budget_it_is_unsupported(void **state)
{
    (void)state;
    write_until_100("0,0,start,5,\n");
    const struct replay_drive drive = drive_of((struct drive_words){"sleep", "2", NULL, NULL});
    struct tl_algo algo = *tl_registry_find("binary-heap")->counted;
    algo.capabilities &= ~(uint32_t)TL_CAP_BUDGET;
    const struct replay_result *result = run(&algo, &drive, PASS_CHECK, NULL);
    assert_int_equal(result->status, REPLAY_UNSUPPORTED);
    assert_non_null(strstr(result->reason, "does not promise `budget`"));
}

/* --- slack ------------------------------------------------------------------------------------ */

/* 0 may fire from 10 to 15, 1 from 12 to 22, 2 at 14: the loop wakes up at 14. 3 may from 30 to 35,
 * 4 from 33 to 43, 5 at 40: at 35 and 40. 6 may from 60 to 68, and fires at 62, with an operation.
 * 7 is due at 70, when 8's slack, from 65, ends. */
static void slack_joins_wakeups(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,10,,5\n"
                "0,1,start,12,,10\n"
                "0,2,start,14,\n"
                "0,3,start,30,,5\n"
                "0,4,start,33,,10\n"
                "0,5,start,40,\n"
                "0,6,start,60,,8\n"
                "62,7,stop,,\n"
                "63,7,start,7,\n"
                "63,8,start,2,,5\n",
        .words = {"slack", NULL, NULL, NULL},
        .fired = {{0, 14}, {1, 14}, {2, 14}, {3, 35}, {4, 35}, {5, 40}, {6, 62}, {7, 70}, {8, 70}},
        .operations = 11,
        .wakeups = 4,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_max, 5);
    assert_int_equal(lateness_sum(), 4 + 2 + 0 + 5 + 2 + 0 + 2 + 0 + 5);
    /* By themselves they are nine wakeups, at their due ticks. */
    struct example sleeping = example;
    sleeping.words.drive = "sleep";
    const struct firing due[] = {{0, 10}, {1, 12}, {2, 14}, {3, 30}, {4, 33},
                                 {5, 40}, {6, 60}, {7, 70}, {8, 65}};
    memcpy(sleeping.fired, due, sizeof due);
    sleeping.wakeups = 9;
    check_all(&sleeping, 0);
    assert_int_equal(results[0].verdict.lateness_max, 0);
}

/* A reaction's slack counts, too, and its delay starts when the loop woke up: 0 is due at 10, and
 * fires at 14; then at 24, and fires with 1 at 26; then at 36, and fires at 40. */
static void slack_of_a_heartbeat(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,10,,4\n"
                "0,1,start,26,\n"
                "10,0,start,10,0,4\n"
                "20,0,start,10,0,4\n",
        .words = {"slack", NULL, NULL, NULL},
        .fired = {{0, 14}, {0, 26}, {1, 26}, {0, 40}},
        .operations = 5,
        .wakeups = 3,
    };
    check_all(&example, 0);
}

/* Stopped and restarted timers leave no wakeup; without slack the loop sleeps as usual. */
static void what_is_stopped_needs_no_wakeup(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,,3\n"
                "3,0,stop,,\n"
                "3,1,start,4,,9\n"
                "4,1,start,9,\n",
        .words = {"slack", NULL, NULL, NULL},
        .fired = {{1, 13}},
        .operations = 5,
        .wakeups = 1,
    };
    check_all(&example, 0);
}

/* --- callbacks that take time; a tick is 1 ms ------------------------------------------------- */

/* 0 and 1 keep the loop busy from 3 to 11. There it fires 2, which is due, before its stop, and
 * starts 3 with a delay from there. 2 keeps it busy until 15, 3 until 19. */
static void callbacks_occupy_the_loop(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,3,\n"
                "0,1,start,3,\n"
                "0,2,start,5,\n"
                "4,3,start,2,\n"
                "6,2,stop,,\n"
                "12,4,start,1,\n",
        .words = {"sleep", NULL, NULL, "4ms"},
        .fired = {{0, 3}, {1, 3}, {2, 11}, {3, 15}, {4, 19}},
        .operations = 7,
        .wakeups = 4,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_min, 0);
    assert_int_equal(results[0].verdict.lateness_max, 6);
    assert_int_equal(lateness_sum(), 0 + 4 + 6 + 2 + 3);
    /* From the arrival at 4, or 6, to 15: the round at 11, and then the callback of 2. */
    assert_true(results[1].response_ns[LATENCY_START].max >= 11000000);
    assert_true(results[1].response_ns[LATENCY_STOP].max >= 9000000);
}

/* Six callbacks of 0.4 ms that are due at 3 begin at 3.0, 3.4, 3.8, 4.2, 4.6 and 5.0. The loop comes
 * round in tick 5, when the last has ended at 5.4: then that begins which is due at 4. */
static void callbacks_begin_within_a_tick(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,3,\n"
                "0,1,start,3,\n"
                "0,2,start,3,\n"
                "0,3,start,3,\n"
                "0,4,start,3,\n"
                "0,5,start,3,\n"
                "0,6,start,4,\n",
        .words = {"sleep", NULL, NULL, "400us"},
        .fired = {{0, 3}, {1, 3}, {2, 3}, {3, 3}, {4, 3}, {5, 3}, {6, 5}},
        .operations = 8,
        .wakeups = 2,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.lateness_max, 2);
    assert_int_equal(lateness_sum(), 0 + 0 + 0 + 1 + 1 + 2 + 1);
}

/* A heartbeat of 5 ticks with a callback of 7 comes every 7: two ticks late each time. */
static void a_heartbeat_waits_for_its_own_callback(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "5,0,start,5,0\n"
                "10,0,start,5,0\n"
                "15,0,start,5,0\n",
        .words = {"sleep", NULL, NULL, "7ms"},
        .fired = {{0, 5}, {0, 12}, {0, 19}, {0, 26}},
        .operations = 5,
        .wakeups = 4,
    };
    check_all(&example, 0);
    assert_int_equal(lateness_sum(), 0 + 2 + 2 + 2);
}

/* The polls at 20 and 30 are missed: the loop looks at 34, when both callbacks of the poll at 10
 * have ended, and, the poll at 40 being missed, at 46. */
static void a_missed_poll_comes_after_the_callbacks(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,5,\n"
                "0,1,start,8,\n"
                "0,2,start,21,\n"
                "36,3,start,1,\n",
        .words = {"poll:10", NULL, NULL, "12ms"},
        .fired = {{0, 10}, {1, 10}, {2, 34}, {3, 50}},
        .operations = 5,
        .wakeups = 9, /* 10, 34, 46, 50 and so on to 100, but at 60 a callback runs until 62 */
    };
    check_all(&example, 0);
}

/* With a budget, operations are applied between the callbacks of one burst: 2 is stopped. */
static void a_budget_lets_operations_in_between(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,2,\n"
                "0,1,start,2,\n"
                "0,2,start,2,\n"
                "3,2,stop,,\n",
        .words = {"sleep", "1", NULL, "3ms"},
        .fired = {{0, 2}, {1, 5}},
        .operations = 5,
        .averted = 1,
        .wakeups = 2,
    };
    check_all(&example, TL_CAP_BUDGET | TL_CAP_FIFO);
    assert_int_equal(results[0].verdict.lateness_max, 3);
}

/* The trace ends at 101, while callbacks run until 118. The loop still handles the due timers and
 * the arrived operations there; their callbacks wait for the running ones. */
static void the_end_does_not_stop_the_clock(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,98,\n"
                "0,1,start,98,\n"
                "0,2,start,99,\n"
                "99,3,start,1,\n",
        .words = {"sleep", NULL, NULL, "10ms"},
        .fired = {{0, 98}, {1, 98}, {2, 101}},
        .operations = 5,
        .wakeups = 2,
    };
    check_all(&example, 0);
    assert_int_equal(results[0].verdict.drained, 1);
    /* 2 begins at 118; 3 is due at 102, and begins at 128. */
    assert_int_equal(lateness_sum(), 0 + 10 + 19 + 26);
}

/* 4,096 draws of 1 ms on average take 4,096 ms, and they differ. */
static void drawn_times_have_their_mean(void **state)
{
    (void)state;
    const struct replay_drive drive =
        drive_of((struct drive_words){"sleep", NULL, NULL, "exp:1ms"});
    struct service *service = service_open(&drive, 1000000);
    assert_int_equal(service_begins(service, 7, 0), 7);
    assert_int_equal(service_begins(service, 7, 4096), 7 + 4096);
    assert_int_equal(service_begins(service, 7, 40960), 7 + 40960);
    uint64_t shorter = 0;
    for (uint64_t i = 0; i < 4096; i++) {
        shorter += service_advanced(service, i, 1) < 693147; /* the median: ln 2 */
    }
    assert_int_equal(shorter, 2048);
    service_close(service);
}

/* --- wrong structures ------------------------------------------------------------------------- */

/* Wrong ways to advance an ordered list, except for EAGER, which is declared early. */
enum wrong { SLUGGISH, STINGY, LAVISH, EAGER };

enum { EARLY_TICKS = 3 };

static enum wrong wrong;
static uint64_t last_now;

/* The callback, and the tick passed to it. */
struct told {
    tl_fire_fn fire;
    void *ctx;
    uint64_t now;
};

static void tell_fired(void *ctx, uint32_t id, uint64_t now)
{
    const struct told *told = ctx;
    (void)now;
    told->fire(told->ctx, id, told->now);
}

static uint64_t advance_wrongly(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    const struct tl_algo *right = tl_registry_find("ordered-list")->counted;
    uint64_t before = last_now;
    struct told told = {.fire = fire, .ctx = ctx, .now = now};
    last_now = now;
    switch (wrong) {
    case SLUGGISH: /* by one advance */
        return right->advance(self, before, budget, tell_fired, &told);
    case STINGY: /* one at a time */
        return right->advance(self, now, budget < 1 ? budget : 1, fire, ctx);
    case LAVISH:
        return right->advance(self, now, TL_NO_BUDGET, fire, ctx);
    case EAGER: /* fires everything that it may */
        return right->advance(self, now + EARLY_TICKS, budget, tell_fired, &told);
    }
    return 0;
}

/* The policy makes timers late by more than the structure does; the structure's part is a fault. */
static void a_drive_is_no_excuse(void **state)
{
    (void)state;
    static const struct {
        enum wrong wrong;
        struct drive_words words;
        enum fault_kind fault;
        uint32_t id;
        uint64_t tick;
    } cases[] = {
        {SLUGGISH, {"poll:10", NULL, NULL, NULL}, FAULT_LATE, 0, 20},
        {SLUGGISH, {"poll", NULL, "3:40", NULL}, FAULT_LATE, 0, 44},
        {SLUGGISH, {"poll", NULL, "3:40:asleep", NULL}, FAULT_LATE, 0, 44},
        {SLUGGISH, {"poll", "1", NULL, NULL}, FAULT_LATE, 0, 6},
        {STINGY, {"poll:10", NULL, NULL, NULL}, FAULT_LATE, 1, 20},
        {STINGY, {"sleep", "2", NULL, NULL}, FAULT_LATE, 1, 6},
        {LAVISH, {"sleep", "2", NULL, NULL}, FAULT_BUDGET, 2, 5},
        {SLUGGISH, {"poll", NULL, NULL, "3ms"}, FAULT_LATE, 0, 6},
        {STINGY, {"sleep", NULL, NULL, "3ms"}, FAULT_LATE, 1, 8},
        {STINGY, {"poll:10", NULL, NULL, "25ms"}, FAULT_LATE, 1, 35},
        {SLUGGISH, {"slack", NULL, NULL, NULL}, FAULT_LATE, 0, 9}, /* the loop wakes up at 8 */
    };
    write_until_100("0,0,start,5,,3\n0,1,start,5,,3\n0,2,start,5,,4\n");
    struct tl_algo algo = *tl_registry_find("ordered-list")->counted;
    algo.advance = advance_wrongly;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct replay_drive drive = drive_of(cases[i].words);
        wrong = cases[i].wrong;
        last_now = 0;
        const struct replay_result *result = run(&algo, &drive, PASS_CHECK, NULL);
        assert_int_equal(result->status, REPLAY_FAULT);
        assert_int_equal(result->verdict.first[0].kind, cases[i].fault);
        assert_int_equal(result->verdict.first[0].id, cases[i].id);
        assert_int_equal(result->verdict.first[0].tick, cases[i].tick);
    }
}

static struct tl_precision eager_precision(const void *options, uint64_t delay_ticks)
{
    (void)options;
    return (struct tl_precision){.early_ticks =
                                     delay_ticks < EARLY_TICKS ? delay_ticks : EARLY_TICKS};
}

static uint64_t eager_next(const void *self)
{
    uint64_t next = tl_registry_find("ordered-list")->counted->next(self);
    return next == TL_NEVER ? TL_NEVER : next - EARLY_TICKS;
}

static void check_eager(const struct example *example)
{
    struct tl_algo algo = *tl_registry_find("ordered-list")->counted;
    algo.advance = advance_wrongly;
    algo.next = eager_next;
    algo.precision = eager_precision;
    algo.capabilities &= ~(uint32_t)TL_CAP_EXACT;
    wrong = EAGER;
    write_until_100(example->rows);
    check_one(&(struct tl_entry){&algo, &algo, NULL}, example);
}

/* 0 fires at 4, before the suspension: its reaction at 7 is not lost, but done at the wakeup. */
static void what_an_early_firing_causes_is_not_lost(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,7,\n"
                "4,1,start,60,\n"
                "7,2,start,20,0\n",
        .words = {"sleep", NULL, "5:5:asleep", NULL},
        .fired = {{0, 4}, {2, 27}, {1, 61}},
        .operations = 4,
    };
    check_eager(&example);
}

/* At 9, when 1 has no slack left, 0 fires early. Its reaction waits until 11, for which the loop
 * wakes up, and is due at 31. */
static void what_an_early_firing_causes_is_a_wakeup(void **state)
{
    (void)state;
    static const struct example example = {
        .rows = "0,0,start,11,,9\n"
                "0,1,start,9,\n"
                "11,2,start,20,0\n",
        .words = {"slack", NULL, NULL, NULL},
        .fired = {{0, 9}, {1, 9}, {2, 31}},
        .operations = 4,
        .wakeups = 3,
    };
    check_eager(&example);
}

/* The declared lateness ends before the next look: 9 in a wheel of ticks of 8 may fire at 16, which
 * is polled at 20. */
static void declared_lateness_and_the_drives_add_up(void **state)
{
    (void)state;
    struct error error;
    write_until_100("0,0,start,9,\n0,1,start,3,\n");
    const struct replay_drive drive = drive_of((struct drive_words){"poll:10", NULL, NULL, NULL});
    const struct tl_algo *algo = tl_registry_find("round-wheel")->counted;
    TL_OPTION_VALUES(options);
    char why[200];
    assert_int_equal(tl_options_parse(algo, "tick=8", options, why, sizeof why), TL_OK);
    const struct replay_request request = {.algo = algo,
                                           .options = options,
                                           .pass = PASS_CHECK,
                                           .drive = drive,
                                           .memory_limit_bytes = UINT64_MAX};
    assert_true(replay_path(trace_path, request, &results[0], &error));
    uint64_t fired;
    assert_int_equal(results[0].status, REPLAY_OK);
    assert_true(results[0].digest ==
                digest_of((struct firing[]){{0, 20}, {1, 10}, {0, 0}}, &fired));
    assert_int_equal(results[0].verdict.lateness_max, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_a_loop_looks),
        cmocka_unit_test(drives_are_written_as_they_are_read),
        cmocka_unit_test(every_so_many_ticks),
        cmocka_unit_test(slack_joins_wakeups),
        cmocka_unit_test(slack_of_a_heartbeat),
        cmocka_unit_test(what_is_stopped_needs_no_wakeup),
        cmocka_unit_test(what_is_stopped_is_started_anew),
        cmocka_unit_test(heartbeats_drift_with_the_poll),
        cmocka_unit_test(what_meets_at_a_poll_has_the_streams_order),
        cmocka_unit_test(a_busy_loop_finds_what_waited),
        cmocka_unit_test(a_window_ends_without_a_look),
        cmocka_unit_test(a_sleeping_machine_misses_what_came),
        cmocka_unit_test(what_comes_keeps_its_place_behind_what_was_lost),
        cmocka_unit_test(what_a_lost_start_would_have_caused),
        cmocka_unit_test(a_budget_spreads_a_burst),
        cmocka_unit_test(what_waits_for_a_budget_can_be_stopped),
        cmocka_unit_test(without_budget_it_is_unsupported),
        cmocka_unit_test(callbacks_occupy_the_loop),
        cmocka_unit_test(callbacks_begin_within_a_tick),
        cmocka_unit_test(a_heartbeat_waits_for_its_own_callback),
        cmocka_unit_test(a_missed_poll_comes_after_the_callbacks),
        cmocka_unit_test(a_budget_lets_operations_in_between),
        cmocka_unit_test(the_end_does_not_stop_the_clock),
        cmocka_unit_test(drawn_times_have_their_mean),
        cmocka_unit_test(a_drive_is_no_excuse),
        cmocka_unit_test(what_an_early_firing_causes_is_not_lost),
        cmocka_unit_test(what_an_early_firing_causes_is_a_wakeup),
        cmocka_unit_test(declared_lateness_and_the_drives_add_up),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
