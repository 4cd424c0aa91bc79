/* The simulator from trace to rows: correct structures have no fault, wrong ones are reported with
 * timer, tick and event, and side effects of a structure stay in its process. */
#include "test.h"

#include "child.h"
#include "due.h"
#include "replay_pass.h"
#include "simulate.h"
#include "statistics.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char trace_path[] = "/tmp/timerlab-simulate-XXXXXX";

/*
 * Ten timers, a tick of 1 ms, in this order (event: tick, timer, operation):
 *    0: 0, 5 start 10      1: 0, 1 start 10      2: 1, 2 start 5
 *    3: 3, 5 start 20 (restart: due 23)          4: 4, 1 stop
 *    5: 4, 3 start 0 (due at 5)                  6: 6, 2 start 6 (due 12; it had fired at 6)
 *    7: 23, 5 start 7 (due 30; had fired at 23)  8: 24, 4 start 6 (due 30)
 *    9: 24, 7 start 6 (due 30)                  10: 26, 1 stop (idle)
 *   11: 26, 5 stop                              12: 27, 5 start 3 (due 30)
 *   13: 28, 6 start 100 (due 128: drained)      14: 29, 5 stop
 * Window from 2 to 40.
 */
static const struct {
    uint64_t tick;
    uint32_t id;
    enum trace_op op;
    uint64_t delay;
} operations[] = {
    {0, 5, TRACE_START, 10}, {0, 1, TRACE_START, 10},   {1, 2, TRACE_START, 5},
    {3, 5, TRACE_START, 20}, {4, 1, TRACE_STOP, 0},     {4, 3, TRACE_START, 0},
    {6, 2, TRACE_START, 6},  {23, 5, TRACE_START, 7},   {24, 4, TRACE_START, 6},
    {24, 7, TRACE_START, 6}, {26, 1, TRACE_STOP, 0},    {26, 5, TRACE_STOP, 0},
    {27, 5, TRACE_START, 3}, {28, 6, TRACE_START, 100}, {29, 5, TRACE_STOP, 0},
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

static int write_trace(void **state)
{
    (void)state;
    struct error error;
    int fd = mkstemp(trace_path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct trace_writer *writer = trace_writer_open(trace_path, 1000000, &error);
    assert_non_null(writer);
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_true(trace_writer_add(writer, operations[i].tick, operations[i].id, operations[i].op,
                                     operations[i].delay, &error));
    }
    assert_true(trace_writer_commit(writer, 2, 40, 10, "{}", &error));
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(trace_path);
}

struct trial {
    struct catalog catalog;
    struct contender_list contenders;
    struct simulation simulation;
    bool all_right;
};

static void run_trial(struct trial *trial, const char *plugin, const char *selection,
                      enum drive_kind drive, unsigned runs)
{
    struct error error;
    memset(trial, 0, sizeof *trial);
    catalog_init(&trial->catalog);
    if (plugin != NULL) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/tests/faulty-%s.so", TL_BINARY_DIR, plugin);
        if (catalog_add_plugin(&trial->catalog, path, &error) != PLUG_IN_FOUND) {
            fail_msg("%s", error.text);
        }
    }
    assert_true(catalog_select(&trial->catalog, selection, &trial->contenders, &error));
    const char *traces[] = {trace_path};
    struct simulate_request request = {.traces = traces,
                                       .trace_count = 1,
                                       .contenders = &trial->contenders,
                                       .floor = tl_registry_find("null")->timed,
                                       .drive = {.kind = drive},
                                       .runs = runs,
                                       .latency = runs > 0,
                                       .timeout_seconds = 2,
                                       .memory_limit_bytes = UINT64_C(256) << 20};
    if (!simulate(&request, &trial->simulation, &trial->all_right, &error)) {
        fail_msg("%s", error.text);
    }
}

/* The latencies of a selection's first structure in a window; free them. */
static struct replay_result *time_window(const char *selection, struct replay_window window)
{
    struct error error;
    struct catalog catalog;
    struct contender_list contenders = {0};
    struct simulation simulation;
    bool all_right = false;
    catalog_init(&catalog);
    assert_true(catalog_select(&catalog, selection, &contenders, &error));
    const char *traces[] = {trace_path};
    struct simulate_request request = {.traces = traces,
                                       .trace_count = 1,
                                       .contenders = &contenders,
                                       .drive = {.kind = DRIVE_POLL},
                                       .window = window,
                                       .runs = 1,
                                       .latency = true,
                                       .timeout_seconds = 5,
                                       .memory_limit_bytes = UINT64_C(256) << 20};
    assert_true(simulate(&request, &simulation, &all_right, &error));
    assert_true(all_right);
    assert_int_equal(simulation.entrant_count, 1);
    assert_non_null(simulation.entrants[0].latency);
    struct replay_result *row = malloc(sizeof *row);
    assert_non_null(row);
    *row = *simulation.entrants[0].latency;
    simulation_free(&simulation);
    contender_list_free(&contenders);
    catalog_free(&catalog);
    return row;
}

static void end_trial(struct trial *trial)
{
    simulation_free(&trial->simulation);
    contender_list_free(&trial->contenders);
    catalog_free(&trial->catalog);
}

static int64_t integer(const struct trial *trial, size_t row, enum column column)
{
    const struct cell *cell = &trial->simulation.results.rows[row].cells[column];
    assert_int_equal(cell->kind, CELL_INTEGER);
    return cell->value.integer;
}

static void counts_follow_from_the_trace(void **state)
{
    (void)state;
    struct trial trial;
    for (int drive = DRIVE_SLEEP; drive <= DRIVE_POLL; drive++) {
        run_trial(&trial, NULL, "ordered-list", (enum drive_kind)drive, 2);
        assert_true(trial.all_right);
        assert_int_equal(trial.simulation.results.count, 1);
        assert_string_equal(row_text(&trial.simulation.results.rows[0], COL_STATUS), "ok");
        assert_int_equal(integer(&trial, 0, COL_EVENTS), 15);
        assert_int_equal(integer(&trial, 0, COL_STARTS), 10);
        assert_int_equal(integer(&trial, 0, COL_RESTARTS), 1);
        assert_int_equal(integer(&trial, 0, COL_STOPS), 4);
        /* 3 at 5, 2 at 6, 2 at 12, 5 at 23, 4 and 7 at 30; then 6 at 128. */
        assert_int_equal(integer(&trial, 0, COL_FIRED), 6);
        assert_int_equal(integer(&trial, 0, COL_DRAINED), 1);
        assert_int_equal(integer(&trial, 0, COL_LATENESS_MIN), 0);
        assert_int_equal(integer(&trial, 0, COL_LATENESS_MAX), 0);
        assert_int_equal(integer(&trial, 0, COL_RUNS), 2);
        /* sleep, and slack without any: at 5, 6, 12, 23, 30; poll: every tick of 2 .. 40 but the warm-up's two */
        assert_int_equal(integer(&trial, 0, COL_WAKEUPS), drive == DRIVE_POLL ? 39 : 5);
        assert_int_equal(integer(&trial, 0, COL_IDLE_WAKEUPS), drive == DRIVE_POLL ? 34 : 0);
        /* All but the warm-up's, at its two ticks. */
        assert_int_equal(integer(&trial, 0, COL_WINDOW_EVENTS), OPERATIONS - 3);
        assert_int_equal(integer(&trial, 0, COL_WINDOW_FIRED), 6);
        const struct cell *ratio = &trial.simulation.results.rows[0].cells[COL_WAKEUPS_PER_FIRED];
        assert_float_equal(ratio->value.real, (double)integer(&trial, 0, COL_WAKEUPS) / 6, 1e-9);
        assert_true(trial.simulation.entrants[0].compared);
        assert_true(trial.simulation.entrants[0].check->exact);
        /* An instance for no timers counts for none. */
        int64_t fixed = integer(&trial, 0, COL_BYTES_FIXED);
        int64_t peak = integer(&trial, 0, COL_BYTES_PEAK);
        const struct cell *each = &trial.simulation.results.rows[0].cells[COL_BYTES_PER_TIMER];
        assert_true(fixed > 0 && peak > fixed);
        assert_int_equal(each->kind, CELL_REAL);
        assert_float_equal(each->value.real, (double)(peak - fixed) / 10, 1e-9);
        end_trial(&trial);
    }
}

/* The JSON has the span of each column with a spread, and the same for both sides of a ratio. */
static void ratios_are_of_one_span(void **state)
{
    (void)state;
    static const enum column ratios[][3] = {
        {COL_WAKEUPS_PER_FIRED, COL_WAKEUPS, COL_WINDOW_FIRED},
        {COL_EVENTS_PER_S, COL_NS_PER_EVENT, COL_WINDOW_EVENTS},
        {COL_IDLE_WAKEUPS, COL_WAKEUPS, COL_SYNCS_PER_FIRED},
        {COL_N_COMPARES, COL_N_ALLOCS, COL_WINDOW_EVENTS},
        {COL_AVERTED, COL_FIRED, COL_EVENTS},
        {COL_BYTES_PER_TIMER, COL_BYTES_PEAK, COL_LOST},
    };
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        for (size_t k = 1; k < 3; k++) {
            assert_int_equal(result_columns[ratios[i][0]].span, result_columns[ratios[i][k]].span);
        }
    }
    assert_int_not_equal(result_columns[COL_FIRED].span, result_columns[COL_WAKEUPS].span);
    const struct results none = {0};
    json_t *context = json_object();
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    results_write_json(&none, context, stream);
    (void)fclose(stream);
    json_t *whole = json_loadb(text, length, 0, NULL);
    const json_t *spans = json_object_get(whole, "spans");
    static const char *const words[] = {"trace", "window", "after", "whole"};
    for (int c = 0; c < COLUMNS; c++) {
        const char *word = json_string_value(json_object_get(spans, result_columns[c].name));
        enum column_span span = result_columns[c].span;
        if (span == SPAN_NONE) {
            assert_null(word);
        } else {
            assert_string_equal(word, words[span - SPAN_TRACE]);
        }
    }
    json_decref(whole);
    json_decref(context);
    free(text);
}

/* The JSON has as many single runs as rounds, and the row's figure is their median. */
static void runs_are_kept_one_by_one(void **state)
{
    (void)state;
    struct trial trial;
    run_trial(&trial, NULL, "ordered-list,binary-heap", DRIVE_SLEEP, 4);
    json_t *context = json_object();
    simulation_describe_traces(&trial.simulation, context);
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    results_write_json(&trial.simulation.results, context, stream);
    (void)fclose(stream);
    json_t *whole = json_loadb(text, length, 0, NULL);
    assert_non_null(whole);
    const json_t *trace = json_array_get(json_object_get(context, "traces"), 0);
    const char *checksum = json_string_value(json_object_get(trace, "checksum"));
    assert_int_equal(strlen(checksum), TRACE_CHECKSUM_CHARS);
    assert_int_equal(json_integer_value(json_object_get(trace, "events")), OPERATIONS);
    assert_string_equal(json_string_value(json_object_get(trace, "path")), trace_path);

    static const char *const columns[] = {"ns_per_event", "floor_ns_per_event", "wall_ns_per_event",
                                          "stall_ns",     "start_p50_ns",       "advance_max_ns"};
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(whole, "rows"), index, row)
    {
        assert_string_equal(json_string_value(json_object_get(row, "trace_checksum")), checksum);
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
            const json_t *samples = json_object_get(json_object_get(row, "samples"), columns[c]);
            assert_int_equal(json_array_size(samples), 4);
        }
        const json_t *samples = json_object_get(json_object_get(row, "samples"), "ns_per_event");
        double values[4];
        for (size_t i = 0; i < 4; i++) {
            values[i] = json_number_value(json_array_get(samples, i));
            assert_true(values[i] > 0);
        }
        double cell = json_number_value(json_object_get(row, "ns_per_event"));
        assert_true(fabs(cell - stats_median(values, 4)) <= 0.0051);
    }
    assert_int_equal(index, 2);
    json_decref(whole);
    json_decref(context);
    free(text);
    end_trial(&trial);
}

/* One operation more, or another window, is another trace; the way it is stored does not matter. */
static void a_checksum_is_of_the_content(void **state)
{
    (void)state;
    static const struct {
        size_t operations;
        uint64_t end_tick;
        const char *origin;
    } variants[] = {{OPERATIONS, 40, "{}"},
                    {OPERATIONS, 40, "{\"from\": \"elsewhere\"}"},
                    {OPERATIONS, 41, "{}"},
                    {OPERATIONS - 1, 40, "{}"}};
    char checksums[4][TRACE_CHECKSUM_CHARS + 1];
    for (size_t v = 0; v < 4; v++) {
        struct error error;
        char path[] = "/tmp/timerlab-checksum-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        (void)close(fd);
        struct trace_writer *writer = trace_writer_open(path, 1000000, &error);
        for (size_t i = 0; i < variants[v].operations; i++) {
            assert_true(trace_writer_add(writer, operations[i].tick, operations[i].id,
                                         operations[i].op, operations[i].delay, &error));
        }
        assert_true(
            trace_writer_commit(writer, 2, variants[v].end_tick, 10, variants[v].origin, &error));
        const char *traces[] = {path};
        const struct contender_list none = {0};
        struct simulate_request request = {.traces = traces,
                                           .trace_count = 1,
                                           .contenders = &none,
                                           .timeout_seconds = 2,
                                           .memory_limit_bytes = UINT64_C(256) << 20};
        struct simulation simulation;
        bool all_right;
        assert_true(simulate(&request, &simulation, &all_right, &error));
        memcpy(checksums[v], simulation.traces[0].checksum, sizeof checksums[v]);
        simulation_free(&simulation);
        assert_int_equal(unlink(path), 0);
    }
    assert_string_equal(checksums[0], checksums[1]);
    assert_string_not_equal(checksums[0], checksums[2]);
    assert_string_not_equal(checksums[0], checksums[3]);
}

static void every_structure_replays_with_the_same_firings(void **state)
{
    (void)state;
    struct trial trial;
    run_trial(&trial, NULL, "ordered-list,all", DRIVE_SLEEP, 1);
    assert_true(trial.all_right);
    const struct entrant *entrants = trial.simulation.entrants;
    for (size_t i = 0; i < trial.simulation.entrant_count; i++) {
        if (entrants[i].compared && entrants[i].check->exact) {
            assert_int_equal(entrants[i].check->named_digest, entrants[0].check->named_digest);
        }
    }
    end_trial(&trial);
}

/* Names appear unchanged where any program can show them. */
static void labels_can_be_shown(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *label;
    } examples[] = {
        {"folder/a b.trace", "a b.trace"},
        {"-x%y\t\x7F", "%2Dx%25y%09%7F"},
        {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"\xC2\xA0\xED\x9F\xBF", "\xC2\xA0\xED\x9F\xBF"},
        {"\xC3.trace", "%C3.trace"},
        {"\xE2\x82", "%E2%82"},
        {"\xE2\x82z", "%E2%82z"},
        {"\xC0\xAF\xC1\xBF", "%C0%AF%C1%BF"},
        {"\xC2\x9B", "%C2%9B"},
        {"\xED\xA0\x80", "%ED%A0%80"},
        {"\xE0\x9F\xBF", "%E0%9F%BF"},
        {"\xF0\x8F\xBF\xBF", "%F0%8F%BF%BF"},
        {"\xF4\x90\x80\x80", "%F4%90%80%80"},
        {"\xF5\x80\x80\x80", "%F5%80%80%80"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char *label = trace_label(&examples[i].path, 1, 0);
        assert_string_equal(label, examples[i].label);
        free(label);
    }
}

/* The oracle's report of a wrong structure's first fault. */
static const struct {
    const char *plugin;
    enum fault_kind kind;
    uint32_t id;
    uint64_t tick;
    uint64_t event;
    const char *detail;
} faults[] = {
    {"early", FAULT_EARLY, 5, 20, 3, "fired 3 ticks early"},
    {"late", FAULT_LOST, 5, 23, 3, "not fired by tick 23"},
    {"never", FAULT_LOST, 5, 23, 3, "not fired by tick 23"},
    {"twice", FAULT_DUPLICATE, 5, 23, 3, "fired twice: it had fired at tick 23"},
    {"after-stop", FAULT_DUPLICATE, 5, 30, 14, "fired after a stop"},
    {"stranger", FAULT_DUPLICATE, 1000003, 5, UINT64_MAX, "there are only 10 timers"},
    {"misordered", FAULT_MISORDERED, 4, 30, 8, "same tick but started later (event 9)"},
    {"stop-status", FAULT_STATUS, 1, 26, 10, "not pending answered: ok"},
};

static void wrong_structures_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct trial trial;
        char name[64];
        (void)snprintf(name, sizeof name, "faulty-%s", faults[i].plugin);
        run_trial(&trial, faults[i].plugin, name, DRIVE_SLEEP, 2);
        assert_false(trial.all_right);
        assert_string_equal(row_text(&trial.simulation.results.rows[0], COL_STATUS), "fault");
        /* no speeds for a structure with a fault */
        assert_int_equal(trial.simulation.results.rows[0].cells[COL_NS_PER_EVENT].kind, CELL_NONE);
        size_t at = 0;
        const struct entrant *entrant;
        const struct fault *fault = simulation_next_fault(&trial.simulation, &at, &entrant);
        assert_non_null(fault);
        assert_string_equal(fault_word(fault->kind), fault_word(faults[i].kind));
        assert_int_equal(fault->id, faults[i].id);
        assert_int_equal(fault->tick, faults[i].tick);
        assert_int_equal(fault->event, faults[i].event);
        if (strstr(fault->detail, faults[i].detail) == NULL) {
            fail_msg("%s: '%s' does not say '%s'", name, fault->detail, faults[i].detail);
        }
        end_trial(&trial);
    }
}

/* --- the oracle by hand ---------------------------------------------------------------------- */

static struct verdict verdict; /* large */

static struct oracle *judge_by_hand(const struct tl_algo *algo, const uint64_t *names,
                                    uint64_t events)
{
    static const struct replay_drive drive = {.end_tick = 100};
    const struct oracle_plan plan = {
        .algo = algo, .ids = 4, .events = events, .names = names, .drive = &drive};
    struct oracle *oracle = oracle_create(&plan, &verdict);
    assert_non_null(oracle);
    return oracle;
}

static void tell_start(struct oracle *oracle, uint64_t tick, uint32_t id, uint64_t deadline)
{
    const struct stream_operation start = {
        .event = id, .tick = tick, .deadline = deadline, .id = id, .op = TRACE_START};
    oracle_operated(oracle, &start, TL_OK);
}

/* In a trace where two timers are due at one tick, and one at a tick that is passed over. */
static void name_broken_order(uint64_t events)
{
    static const uint64_t names[] = {70, 71, 72, 73};
    struct oracle *oracle = judge_by_hand(tl_registry_find("ordered-list")->timed, names, events);
    tell_start(oracle, 0, 0, 9);
    tell_start(oracle, 0, 1, 10);
    tell_start(oracle, 0, 2, 10);
    oracle_advancing(oracle, 10, TL_NO_BUDGET, false);
    oracle_fired(oracle, 2, 10);
    oracle_fired(oracle, 1, 10); /* started before 2, with the same due tick */
    oracle_fired(oracle, 0, 10); /* due before both, and late as well */
    oracle_fired(oracle, 3, 10);
    oracle_finish(oracle, 10);
    assert_int_equal(verdict.fired, 3);
    assert_int_equal(verdict.fault_count, 4);
    assert_int_equal(verdict.faults[FAULT_MISORDERED], 2);
    assert_int_equal(verdict.first[0].kind, FAULT_MISORDERED);
    assert_int_equal(verdict.first[0].id, 71);
    assert_non_null(strstr(verdict.first[0].detail, "same tick but started later (event 2)"));
    assert_int_equal(verdict.faults[FAULT_LATE], 1);
    assert_int_equal(verdict.first[2].id, 70);
    assert_non_null(strstr(verdict.first[2].detail, "after timer 71, which was due at 10"));
    assert_int_equal(verdict.first[3].kind, FAULT_DUPLICATE);
    assert_int_equal(verdict.first[3].id, 73);
    assert_true(verdict.first[3].event == UINT64_MAX);
    assert_non_null(strstr(verdict.first[3].detail, "never started"));
    oracle_destroy(oracle);
}

static void broken_order_is_named(void **state)
{
    (void)state;
    name_broken_order(0);
    name_broken_order(3);
    name_broken_order(UINT64_C(1) << 40);
}

/* Of two that a replay lets fire at 5, the one that was overdue at its start, 0 ticks after 4, is
 * the earlier one to the structure. */
static void what_is_overdue_at_its_start_comes_first(void **state)
{
    (void)state;
    struct oracle *oracle = judge_by_hand(tl_registry_find("ordered-list")->timed, NULL, 0);
    tell_start(oracle, 0, 0, 5);
    oracle_advancing(oracle, 4, TL_NO_BUDGET, false);
    tell_start(oracle, 4, 1, 4);
    oracle_advancing(oracle, 5, TL_NO_BUDGET, false);
    oracle_fired(oracle, 1, 5);
    oracle_fired(oracle, 0, 5);
    oracle_finish(oracle, 5);
    assert_int_equal(verdict.fault_count, 0);
    assert_int_equal(verdict.lateness_max, 0);
    oracle_destroy(oracle);
}

/* Waiting is no fault while each advance uses up its budget, but it is if the loop slept
 * meanwhile. */
static void a_budget_is_no_excuse_to_sleep(void **state)
{
    (void)state;
    for (uint64_t slept = 0; slept <= 1; slept++) {
        struct oracle *oracle = judge_by_hand(tl_registry_find("ordered-list")->timed, NULL, 0);
        const uint64_t ticks[] = {5, 6, 7 + 10 * slept};
        for (uint32_t id = 0; id < 3; id++) {
            tell_start(oracle, 0, id, 5);
        }
        for (uint32_t id = 0; id < 3; id++) {
            oracle_advancing(oracle, ticks[id], 1, false);
            oracle_fired(oracle, id, ticks[id]);
        }
        oracle_finish(oracle, 100);
        assert_int_equal(verdict.faults[FAULT_LATE], slept);
        assert_int_equal(verdict.fault_count, slept);
        oracle_destroy(oracle);
    }
}

/* A sixth of the delay early, half of it late; from 20 on with unlimited lateness. */
static struct tl_precision rough(const void *options, uint64_t delay_ticks)
{
    (void)options;
    return (struct tl_precision){.early_ticks = delay_ticks / 6,
                                 .late_ticks = delay_ticks < 20 ? delay_ticks / 2 : UINT64_MAX};
}

/* Thousands of timers, with less room than they have windows, and many in each. */
static void windows_come_some_at_a_time(void **state)
{
    (void)state;
    enum { TIMERS = 5000, TICKS = 300, ROOM = 16 };
    static const struct replay_drive drive = {.end_tick = UINT64_C(10) * TICKS};
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.precision = rough;
    const struct oracle_plan plan = {.algo = &algo, .ids = TIMERS, .drive = &drive};
    struct oracle *oracle = oracle_create(&plan, &verdict);
    uint64_t last[2 * TICKS] = {0}; /* of each first tick */
    for (uint32_t id = 0; id < TIMERS; id++) {
        uint64_t delay = 1 + (id * UINT64_C(7919) + id / 7) % TICKS;
        uint64_t tick = id % 3;
        oracle_advancing(oracle, tick, TL_NO_BUDGET, false);
        tell_start(oracle, tick, id, tick + delay);
        struct tl_precision precision = rough(NULL, delay);
        uint64_t first = tick + delay - precision.early_ticks;
        uint64_t latest = due_last(tick + delay, precision.late_ticks);
        last[first] = latest > last[first] ? latest : last[first];
    }
    struct due_window windows[ROOM];
    uint64_t from = 0;
    for (size_t count; (count = oracle_due_windows(oracle, from, windows, ROOM)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            while (last[from] == 0) {
                from++;
            }
            assert_int_equal(windows[i].first, from);
            assert_true(windows[i].last == last[from]);
            from++;
        }
    }
    while (from < 2 * TICKS) {
        assert_int_equal(last[from++], 0);
    }
    oracle_destroy(oracle);
}

/* Each advance has its own order. */
static void declared_precision_is_each_timers_own(void **state)
{
    (void)state;
    struct tl_algo algo = *tl_registry_find("ordered-list")->timed;
    algo.capabilities &= ~(uint32_t)TL_CAP_EXACT;
    algo.precision = rough;
    struct oracle *oracle = judge_by_hand(&algo, NULL, 0);
    tell_start(oracle, 0, 0, 1);
    tell_start(oracle, 0, 1, 12);
    tell_start(oracle, 0, 2, 10);
    assert_int_equal(verdict.declared.early_ticks, 2);
    assert_int_equal(verdict.declared.late_ticks, 6);
    tell_start(oracle, 0, 3, 20);
    struct due_window windows[4];
    static const struct due_window expected[] = {{1, 1}, {9, 15}, {10, 18}, {17, UINT64_MAX}};
    assert_int_equal(oracle_due_windows(oracle, 0, windows, 4), 4);
    assert_memory_equal(windows, expected, sizeof expected);
    /* With less room, some at a time. */
    size_t seen = 0;
    for (size_t count; (count = oracle_due_windows(
                            oracle, seen > 0 ? expected[seen - 1].first + 1 : 0, windows, 2)) > 0;
         seen += count) {
        assert_memory_equal(windows, &expected[seen], count * sizeof *windows);
    }
    assert_int_equal(seen, 4);
    static const struct {
        uint32_t id;
        uint64_t tick;
    } firings[] = {{0, 1}, {1, 10}, {2, 15}, {3, 90}};
    for (size_t i = 0; i < 4; i++) {
        oracle_advancing(oracle, firings[i].tick, TL_NO_BUDGET, false);
        oracle_fired(oracle, firings[i].id, firings[i].tick);
    }
    assert_int_equal(verdict.fault_count, 0);
    tell_start(oracle, 90, 0, 40); /* long overdue: no delay, and due at 91 */
    oracle_advancing(oracle, 92, TL_NO_BUDGET, false);
    oracle_fired(oracle, 0, 92);
    oracle_finish(oracle, 100);
    assert_int_equal(verdict.fault_count, 1);
    assert_int_equal(verdict.first[0].kind, FAULT_LATE);
    oracle_destroy(oracle);
}

static const struct {
    const char *plugin;
    const char *status;
    const char *reason;
} mishaps[] = {
    {"crash", "crashed", "signal 11"},
    {"exit", "crashed", "exit status 3"},
    {"hang", "timeout", "not done after 2 s"},
    {"memory", "unsupported", "out of memory"},
    {"print", "fault", "printed"},
    {"count", "fault", "count says 2 pending at the end tick, where 1 are"},
};

static void mishaps_are_rows_and_others_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mishaps / sizeof mishaps[0]; i++) {
        struct trial trial;
        char selection[64];
        (void)snprintf(selection, sizeof selection, "faulty-%s,ordered-list", mishaps[i].plugin);
        run_trial(&trial, mishaps[i].plugin, selection, DRIVE_SLEEP, 1);
        /* A limit that was met is no fault. */
        assert_int_equal(trial.all_right, strcmp(mishaps[i].status, "unsupported") == 0);
        assert_int_equal(trial.simulation.results.count, 2);
        const struct row *row = &trial.simulation.results.rows[0];
        assert_string_equal(row_text(row, COL_STATUS), mishaps[i].status);
        if (strstr(row_text(row, COL_REASON), mishaps[i].reason) == NULL) {
            fail_msg("%s: '%s' does not say '%s'", mishaps[i].plugin, row_text(row, COL_REASON),
                     mishaps[i].reason);
        }
        assert_string_equal(row_text(&trial.simulation.results.rows[1], COL_STATUS), "ok");
        end_trial(&trial);
    }
}

static void bad_plugins_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        const char *complaint;
    } bad[] = {
        {"no-such-file.so", "no such plug-in"},
        {"CMakeCache.txt", "cannot be loaded"},
        {"tests/faulty-abi.so", "abi 2 where this timerlab has 1"},
        {"tests/faulty-symbol.so", "no symbol timerlab_algo"},
        {"tests/faulty-descriptor.so", "`next` go together"},
        {"tests/faulty-early.so,ordered-list", "the name 'ordered-list' is taken"},
    };
    struct catalog catalog;
    struct error error;
    catalog_init(&catalog);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", TL_BINARY_DIR, bad[i].file);
        assert_int_equal(catalog_add_plugin(&catalog, path, &error), PLUG_IN_REFUSED);
        if (strstr(error.text, bad[i].complaint) == NULL) {
            fail_msg("'%s' does not say '%s'", error.text, bad[i].complaint);
        }
    }
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/faulty-early.so,my-variant", TL_BINARY_DIR);
    assert_int_equal(catalog_add_plugin(&catalog, path, &error), PLUG_IN_FOUND);
    assert_non_null(catalog_find(&catalog, "my-variant", &error));
    assert_null(catalog_find(&catalog, "my-varant", &error));
    assert_non_null(strstr(error.text, "did you mean 'my-variant'?"));
    catalog_free(&catalog);
}

/* All fire at 10. */
static void judge_lateness(const int64_t *latenesses, uint32_t count)
{
    struct oracle *oracle = judge_by_hand(tl_registry_find("ordered-list")->timed, NULL, 0);
    for (uint32_t id = 0; id < count; id++) {
        tell_start(oracle, 0, id, (uint64_t)(10 - latenesses[id]));
    }
    oracle_advancing(oracle, 10, TL_NO_BUDGET, false);
    for (uint32_t id = 0; id < count; id++) {
        oracle_fired(oracle, id, 10);
    }
    oracle_finish(oracle, 100);
    oracle_destroy(oracle);
}

static void lateness_goes_from_the_earliest_to_the_latest(void **state)
{
    (void)state;
    judge_lateness((const int64_t[]){-1, 2, -3, 0}, 4);
    assert_int_equal(verdict.lateness_min, -3);
    assert_int_equal(verdict.lateness_max, 2);
    assert_int_equal(verdict.early_ticks.total, 2);
    static const struct {
        double share;
        int64_t lateness;
    } quantiles[] = {{0, -3}, {0.25, -3}, {0.3, -1}, {0.5, -1}, {0.75, 0}, {1, 2}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        assert_int_equal(verdict_lateness_quantile(&verdict, quantiles[i].share),
                         quantiles[i].lateness);
    }
    judge_lateness((const int64_t[]){-3, -1}, 2);
    assert_int_equal(verdict.lateness_min, -3);
    assert_int_equal(verdict.lateness_max, -1);
}

static void histograms_are_right_to_a_percent(void **state)
{
    (void)state;
    struct histogram *histogram = calloc(2, sizeof *histogram);
    assert_non_null(histogram);
    for (uint64_t v = 1; v <= 100000; v++) {
        histogram_add(&histogram[0], v * 37);
    }
    static const double shares[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double exact = shares[i] * 100000 * 37;
        double found = (double)histogram_quantile(&histogram[0], shares[i]);
        assert_true(found > exact * 0.99 && found < exact * 1.01);
    }
    assert_int_equal(histogram_quantile(&histogram[0], 1), 3700000);
    assert_int_equal(histogram_quantile(&histogram[0], 0), 37);
    /* The minimum is that of both, or nothing if there is none. */
    static struct histogram low;
    static struct histogram high;
    static struct histogram none;
    histogram_add(&low, 3);
    histogram_add(&high, 500);
    histogram_merge(&high, &low);
    assert_int_equal(histogram_quantile(&high, 0), 3);
    assert_int_equal(high.min, 3);
    histogram_merge(&low, &none);
    assert_int_equal(low.min, 3);
    histogram_merge(&none, &high);
    assert_int_equal(none.min, 3);
    assert_int_equal(none.max, 500);
    histogram_merge(&none, &low);
    assert_int_equal(none.min, 3);
    assert_int_equal(none.total, 3);
    histogram_merge(&histogram[1], &histogram[0]);
    histogram_add(&histogram[1], UINT64_MAX);
    assert_int_equal(histogram[1].total, 100001);
    assert_int_equal(histogram_quantile(&histogram[1], 1), UINT64_MAX);
    assert_int_equal(histogram_quantile(&histogram[1], 0.5),
                     histogram_quantile(&histogram[0], 0.50001));
    free(histogram);
}

/* Values from 1 to 100,000, read back from the text that HdrHistogram's tools read. */
static void distributions_are_written_as_hdrhistogram_does(void **state)
{
    (void)state;
    struct histogram *histogram = calloc(1, sizeof *histogram);
    assert_non_null(histogram);
    for (uint64_t v = 1; v <= 100000; v++) {
        histogram_add(histogram, v);
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    histogram_write_percentiles(histogram, stream);
    assert_int_equal(fclose(stream), 0);
    static const char head[] = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
    assert_int_equal(strncmp(text, head, sizeof head - 1), 0);
    int lines = 0;
    double last_value = 0;
    double last_share = -1;
    double last_count = 0;
    for (char *line = strtok(text + sizeof head - 1, "\n"); line != NULL && line[0] != '#';
         line = strtok(NULL, "\n")) {
        double value;
        double share;
        double count;
        double inverse = 0;
        int fields = sscanf(line, "%lf %lf %lf %lf", &value, &share, &count, &inverse);
        assert_int_equal(fields, share < 1 ? 4 : 3);
        assert_true(value >= last_value && share > last_share && count >= last_count);
        /* `value` of the values 1 to 100,000 are at most `value`. */
        assert_true(fabs(count - value) <= 0.01 * value);
        assert_true(count >= share * 100000);
        assert_true(fields < 4 || fabs(inverse * (1 - share) - 1) < 0.01);
        last_value = value;
        last_share = share;
        last_count = count;
        lines++;
    }
    assert_true(lines > 40);
    assert_true(last_value == 100000 && last_share == 1 && last_count == 100000);
    assert_true(fabs(histogram_mean(histogram) - 50000.5) < 50);
    assert_true(fabs(histogram_deviation(histogram) - 28867.5) < 50);
    free(text);
    free(histogram);
}

static void one_who_comes_on_schedule_waits_behind_a_long_call(void **state)
{
    (void)state;
    struct schedule schedule = {.tick_ns = 1000};
    assert_true(schedule_respond(&schedule, 0, 200) == 200);
    assert_true(schedule_respond(&schedule, 1, 5500) == 5500);
    assert_true(schedule_respond(&schedule, 2, 100) == 4600); /* 4,500 remain of those before it */
    assert_true(schedule_respond(&schedule, 2.5, 100) == 4200);
    assert_true(schedule_respond(&schedule, 2.25, 100) == 4300); /* it arrives late: with the one
                                                                    before */
    assert_true(schedule_respond(&schedule, 50, 100) == 100);
}

static void the_longest_calls_can_be_found_in_the_trace(void **state)
{
    (void)state;
    struct replay_result *row = time_window("ordered-list", (struct replay_window){0});
    static const uint64_t calls[] = {
        [LATENCY_START] = 7, [LATENCY_RESTART] = 1, [LATENCY_STOP] = 4, [LATENCY_ADVANCE] = 40 - 1};
    for (int op = 0; op < LATENCY_OPS; op++) {
        const struct replay_worst *worst = &row->worst[op];
        assert_int_equal(row->latency_ns[op].total, calls[op]);
        assert_int_equal(row->response_ns[op].total, calls[op]);
        assert_true(row->response_ns[op].max >= row->latency_ns[op].max);
        assert_int_equal(worst->ns, row->latency_ns[op].max);
        if (op == LATENCY_ADVANCE) {
            assert_true(worst->event == OPERATIONS || operations[worst->event].tick >= worst->tick);
            assert_true(worst->event == 0 || operations[worst->event - 1].tick < worst->tick);
        } else {
            assert_true(worst->event < OPERATIONS);
            assert_int_equal(operations[worst->event].tick, worst->tick);
            assert_int_equal(operations[worst->event].id, worst->id);
            assert_int_equal(operations[worst->event].op == TRACE_STOP, op == LATENCY_STOP);
        }
    }
    free(row);
}

static void a_window_times_its_own_ticks_only(void **state)
{
    (void)state;
    /* Operations 8 and 9, both starts, and one advance, before which 5 had fired at 23. */
    struct replay_result *row = time_window("ordered-list", (struct replay_window){true, 24, 24});
    assert_int_equal(row->latency_ns[LATENCY_START].total, 2);
    assert_int_equal(row->latency_ns[LATENCY_RESTART].total, 0);
    assert_int_equal(row->latency_ns[LATENCY_STOP].total, 0);
    assert_int_equal(row->latency_ns[LATENCY_ADVANCE].total, 1);
    assert_int_equal(row->worst[LATENCY_ADVANCE].tick, 24);
    assert_int_equal(row->worst[LATENCY_ADVANCE].fired, 0);
    free(row);
    /* These have no operation, but an expiry: 4 and 7 at 30. */
    row = time_window("ordered-list", (struct replay_window){true, 30, 32});
    assert_int_equal(row->latency_ns[LATENCY_START].total, 0);
    assert_int_equal(row->latency_ns[LATENCY_ADVANCE].total, 3);
    free(row);
    row = time_window("ordered-list", (struct replay_window){true, 30, 30});
    assert_int_equal(row->worst[LATENCY_ADVANCE].fired, 2);
    free(row);
}

/* A distribution of one value has its line, and a note on its resolution. */
static void a_distribution_of_one_value(void **state)
{
    (void)state;
    static struct histogram one;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    histogram_add(&one, 7);
    histogram_write_percentiles(&one, stream);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "\n       7.000 1.000000000000          1\n"));
    assert_non_null(strstr(text, "Max     =        7.000, Total count    =            1]"));
    char divided[80];
    (void)snprintf(divided, sizeof divided, "#[Buckets = %12d, SubBuckets     = %12d]",
                   HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1, 1 << HISTOGRAM_SUB_BITS);
    assert_non_null(strstr(text, divided));
    free(text);
}

/* Each kind of fault has its word; an invalid kind is the harness's. */
static void faults_have_words_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(fault_word(FAULT_EARLY), "early");
    assert_string_equal(fault_word(FAULT_HARNESS), "harness");
    assert_string_equal(fault_word(FAULT_KINDS), "harness");
    assert_int_equal(fault_column(FAULT_LOST), COL_LOST);
    for (int one = 0; one < FAULT_KINDS; one++) {
        for (int other = 0; other < one; other++) {
            assert_string_not_equal(fault_word((enum fault_kind)one),
                                    fault_word((enum fault_kind)other));
        }
    }
}

/* --- many structures -------------------------------------------------------------------------- */

/* In KiB, the memory of the last process that created a structure. At its start it is the parent's,
 * because the fork copies the page tables. */
static size_t *memory_kib;

static const struct tl_algo *plain_algo;

static enum tl_status create_and_note(const struct tl_config *config, void **self)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "RssAnon: %zu kB", memory_kib);
    }
    (void)fclose(status);
    return plain_algo->create(config, self);
}

static size_t memory_of_last_pass(size_t structures)
{
    struct error error;
    struct simulation simulation;
    bool all_right = false;
    plain_algo = tl_registry_find("binary-heap")->timed;
    struct tl_algo algo = *plain_algo;
    algo.create = create_and_note;
    struct contender *items = calloc(structures, sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < structures; i++) {
        items[i] = (struct contender){.timed = &algo, .counted = &algo};
    }
    const struct contender_list contenders = {items, structures};
    const char *traces[] = {trace_path};
    struct simulate_request request = {.traces = traces,
                                       .trace_count = 1,
                                       .contenders = &contenders,
                                       .runs = 1,
                                       .latency = true,
                                       .timeout_seconds = 60,
                                       .memory_limit_bytes = UINT64_MAX};
    if (!simulate(&request, &simulation, &all_right, &error)) {
        fail_msg("%s", error.text);
    }
    assert_true(all_right);
    assert_int_equal(simulation.entrant_count, structures);
    assert_non_null(simulation.entrants[structures - 1].latency);
    simulation_free(&simulation);
    free(items);
    return *memory_kib;
}

static void results_are_not_inherited_by_later_passes(void **state)
{
    (void)state;
    enum { FEW = 10, MANY = 60, KIB_MAX = 20 };
    memory_kib = child_memory_new(sizeof *memory_kib);
    assert_non_null(memory_kib);
    size_t few = memory_of_last_pass(FEW);
    size_t many = memory_of_last_pass(MANY);
    assert_true(few > 0);
    assert_in_range(many, 0, few + (size_t)(MANY - FEW) * KIB_MAX);
    child_memory_free(memory_kib, sizeof *memory_kib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_from_the_trace),
        cmocka_unit_test(ratios_are_of_one_span),
        cmocka_unit_test(runs_are_kept_one_by_one),
        cmocka_unit_test(a_checksum_is_of_the_content),
        cmocka_unit_test(every_structure_replays_with_the_same_firings),
        cmocka_unit_test(labels_can_be_shown),
        cmocka_unit_test(wrong_structures_are_named),
        cmocka_unit_test(broken_order_is_named),
        cmocka_unit_test(what_is_overdue_at_its_start_comes_first),
        cmocka_unit_test(a_budget_is_no_excuse_to_sleep),
        cmocka_unit_test(windows_come_some_at_a_time),
        cmocka_unit_test(declared_precision_is_each_timers_own),
        cmocka_unit_test(mishaps_are_rows_and_others_stand),
        cmocka_unit_test(bad_plugins_are_refused),
        cmocka_unit_test(lateness_goes_from_the_earliest_to_the_latest),
        cmocka_unit_test(histograms_are_right_to_a_percent),
        cmocka_unit_test(distributions_are_written_as_hdrhistogram_does),
        cmocka_unit_test(a_distribution_of_one_value),
        cmocka_unit_test(faults_have_words_of_their_own),
        cmocka_unit_test(one_who_comes_on_schedule_waits_behind_a_long_call),
        cmocka_unit_test(the_longest_calls_can_be_found_in_the_trace),
        cmocka_unit_test(a_window_times_its_own_ticks_only),
        cmocka_unit_test(results_are_not_inherited_by_later_passes),
    };
    return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
