/* Closed loop: each rule by an example with a known answer; the timed passes repeat the checked
 * one. */
#include "written_trace.h"

#include "closed_loop.h"
#include "replay.h"
#include "replayed.h"
#include "tape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a loop by hand --------------------------------------------------------------------------- */

/* Print the executed operations: "@tick id+deadline" for a start, "id-" for a stop, in brackets
 * inside a callback. */
struct script {
    struct stream *stream;
    struct closed_loop *loop;
    char log[400];
    uint64_t reactions; /* carried out */
};

static void log_carried(void *ctx, const struct stream_operation *operation)
{
    struct script *script = ctx;
    script->reactions++;
    char done[64];
    char one[96];
    if (operation->op == TRACE_START) {
        (void)snprintf(done, sizeof done, "%" PRIu32 "+%" PRIu64, operation->id,
                       operation->deadline);
    } else {
        (void)snprintf(done, sizeof done, "%" PRIu32 "-", operation->id);
    }
    (void)snprintf(one, sizeof one, operation->inside ? " @%" PRIu64 "[%s]" : " @%" PRIu64 " %s",
                   operation->tick, done);
    size_t used = strlen(script->log);
    (void)snprintf(script->log + used, sizeof script->log - used, "%s", one);
}

static void begin(struct script *script, const char *rows, bool exact)
{
    write_trace(rows);
    script->log[0] = '\0';
    script->reactions = 0;
    script->stream = decoded(trace_path);
    const struct closed_loop_plan plan = {
        .stream = script->stream, .exact = exact, .carry = log_carried, .ctx = script};
    script->loop = closed_loop_open(&plan);
}

/* Advance to a tick at which these timers fire; the list ends with -1. */
static void advance(struct script *script, uint64_t tick, const int *ids)
{
    closed_loop_advancing(script->loop, tick);
    for (; *ids >= 0; ids++) {
        closed_loop_fired(script->loop, (uint32_t)*ids, tick);
    }
    closed_loop_advanced(script->loop, tick);
}
#define FIRE(script, tick, ...) advance(script, tick, (const int[]){__VA_ARGS__, -1})
#define REST(script, tick)      advance(script, tick, (const int[]){-1})

static bool external(struct script *script, uint64_t tick, uint64_t event, uint32_t id, int delay)
{
    const struct stream_operation operation = {.event = event,
                                               .tick = tick,
                                               .deadline = delay >= 0 ? tick + (uint64_t)delay : 0,
                                               .id = id,
                                               .op = delay >= 0 ? TRACE_START : TRACE_STOP};
    return closed_loop_external(script->loop, &operation);
}

static void expect(struct script *script, const char *log, uint64_t reactions)
{
    assert_string_equal(script->log, log);
    assert_int_equal(script->reactions, reactions);
    closed_loop_close(script->loop);
    stream_close(script->stream);
}

/* --- the rules -------------------------------------------------------------------------------- */

/* Three heartbeats of 10 ticks; the first expiry is 3 ticks late, the second 4. */
static void what_a_delay_counts_from(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,10,\n0,1,start,10,\n0,2,start,10,\n"
                       "10,0,start,10,0\n10,1,start,10,1r\n10,2,start,10,2a\n"
                       "20,0,start,10,0\n20,1,start,10,1r\n20,2,start,10,2a\n";
    begin(&script, rows, false);
    for (uint32_t id = 0; id < 3; id++) {
        assert_true(external(&script, 0, id, id, 10));
    }
    REST(&script, 10);
    FIRE(&script, 13, 0, 1, 2);
    FIRE(&script, 24, 1, 2);
    FIRE(&script, 27, 0);
    expect(&script, " @13[0+23] @13[1+20] @13[2+20] @24[1+30] @24[2+30] @27[0+37]", 6);
}

/* A reaction belongs to an arming: the reactions to the first expiry wait for that one. */
static void a_late_firing_brings_its_own(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,5,\n5,0,start,5,0\n10,0,start,7,0\n17,1,start,1,0\n";
    begin(&script, rows, false);
    assert_true(external(&script, 0, 0, 0, 5));
    REST(&script, 17);
    FIRE(&script, 20, 0);
    FIRE(&script, 30, 0);
    FIRE(&script, 40, 0);
    expect(&script, " @20[0+25] @30[0+37] @40 1+41", 3);
    /* At a fixed rate each counts from the previous deadline, however late the first is. */
    begin(&script, "0,0,start,5,\n5,0,start,5,0r\n10,0,start,7,0r\n", false);
    assert_true(external(&script, 0, 0, 0, 5));
    REST(&script, 17);
    FIRE(&script, 20, 0);
    FIRE(&script, 21, 0);
    expect(&script, " @20[0+10] @21[0+17]", 2);
}

/* Only reactions on the cause itself, unless the structure is exact. */
static void on_others_a_late_one_acts_behind_its_firings(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,5,\n0,1,start,9,\n5,1,stop,,0\n5,0,start,5,0\n";
    begin(&script, rows, false);
    assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 9));
    FIRE(&script, 6, 0);
    expect(&script, " @6[0+11] @6 1-", 2);
    begin(&script, rows, true);
    assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 9));
    FIRE(&script, 5, 0);
    expect(&script, " @5[1-] @5[0+10]", 2);
    /* Twice by the same cause is no contention. */
    begin(&script, "0,0,start,5,\n0,1,start,9,\n5,1,stop,,0\n5,1,start,7,0\n", true);
    assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 9));
    FIRE(&script, 5, 0);
    expect(&script, " @5[1-] @5[1+12]", 2);
}

/* Timer 1 is due at the tick of its stop by 0: it fires, in either order. */
static void a_timer_that_is_due_is_left_to_fire(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,5,\n0,1,start,5,\n5,1,stop,,0\n5,1,start,5,1\n";
    for (int first = 0; first < 2; first++) {
        begin(&script, rows, true);
        assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 5));
        FIRE(&script, 5, first, 1 - first);
        /* The stop is superseded by the start, which is later in the stream. */
        expect(&script, " @5[1+10]", 1);
    }
}

/* Reactions of two causes on one timer go in the order of the stream, whichever fires first. */
static void contended_timers_wait_for_the_end_of_the_tick(void **state)
{
    (void)state;
    struct script script;
    const char *rows =
        "0,0,start,5,\n0,1,start,5,\n0,2,start,9,\n5,2,start,20,0\n5,2,start,30,1\n5,3,start,1,0\n";
    for (int first = 0; first < 2; first++) {
        begin(&script, rows, true);
        assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 5) &&
                    external(&script, 0, 2, 2, 9));
        FIRE(&script, 5, first, 1 - first);
        expect(&script, " @5[3+6] @5 2+25 @5 2+35", 3);
    }
}

/* A packet arrives before the late expiry: its reactions are dropped, and so are theirs. */
static void an_external_restart_replaces_the_arming(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,5,\n5,1,start,5,0\n8,0,start,50,\n10,2,start,5,1\n";
    begin(&script, rows, false);
    assert_true(external(&script, 0, 0, 0, 5));
    REST(&script, 5);
    REST(&script, 8);
    assert_true(external(&script, 8, 2, 0, 50));
    FIRE(&script, 60, 0);
    FIRE(&script, 70, 1);
    expect(&script, "", 0);
    /* With a punctual structure all of them are executed. */
    begin(&script, rows, true);
    assert_true(external(&script, 0, 0, 0, 5));
    FIRE(&script, 5, 0);
    REST(&script, 8);
    assert_true(external(&script, 8, 2, 0, 50));
    FIRE(&script, 10, 1);
    expect(&script, " @5[1+10] @10[2+15]", 2);
}

/* After an early expiry the reaction waits for its tick, and counts from there. */
static void early_is_not_before_its_place(void **state)
{
    (void)state;
    struct script script;
    begin(&script, "0,0,start,5,\n5,0,start,10,0\n15,0,start,10,0r\n", false);
    assert_true(external(&script, 0, 0, 0, 5));
    FIRE(&script, 3, 0);
    REST(&script, 5);
    FIRE(&script, 12, 0);
    REST(&script, 15);
    expect(&script, " @5 0+15 @15 0+25", 2);
}

/* A later operation of the stream on the same timer was executed: this one is not. */
static void what_is_superseded_is_dropped(void **state)
{
    (void)state;
    struct script script;
    begin(&script, "0,0,start,5,\n5,1,start,70,\n5,1,start,5,0\n", true);
    assert_true(external(&script, 0, 0, 0, 5));
    FIRE(&script, 5, 0);
    assert_false(external(&script, 5, 1, 1, 70));
    expect(&script, " @5[1+10]", 1);
}

/* All three are late. The stop of 1 at 9 drops its start of 0, and the reactions to that; the
 * reactions to 0's first expiry, and to that of its start by 2, remain. */
static void what_is_dropped_leaves_what_is_around_it(void **state)
{
    (void)state;
    struct script script;
    const char *rows = "0,0,start,5,\n0,1,start,6,\n0,2,start,10,\n5,3,start,50,0\n"
                       "6,0,start,2,1\n8,4,start,50,0\n9,1,stop,,\n10,0,start,3,2\n"
                       "13,5,start,50,0\n";
    begin(&script, rows, false);
    assert_true(external(&script, 0, 0, 0, 5) && external(&script, 0, 1, 1, 6) &&
                external(&script, 0, 2, 2, 10));
    REST(&script, 8);
    REST(&script, 9);
    assert_true(external(&script, 9, 6, 1, -1));
    REST(&script, 13);
    FIRE(&script, 14, 0);
    FIRE(&script, 15, 2);
    FIRE(&script, 18, 0);
    expect(&script, " @14 3+64 @15 0+18 @18 5+68", 3);
}

/* --- the passes ------------------------------------------------------------------------------- */

static struct replay_result *run_named(const struct tl_algo *algo, enum replay_pass pass,
                                       struct tape *tape, const uint64_t *names)
{
    struct error error;
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    struct replay_result *result = malloc(sizeof *result);
    assert_non_null(result);
    const struct replay_request request = {.algo = algo,
                                           .options = options,
                                           .pass = pass,
                                           .tape = tape,
                                           .names = names,
                                           .memory_limit_bytes = UINT64_MAX};
    if (!replay_path(trace_path, request, result, &error)) {
        fail_msg("%s", error.text);
    }
    return result;
}

static struct replay_result *run(const struct tl_algo *algo, enum replay_pass pass,
                                 struct tape *tape)
{
    return run_named(algo, pass, tape, NULL);
}

/* Periodic timers that stop and start one another; every fifth operation is external. */
static void write_busy_trace(void)
{
    enum { TIMERS = 50, TICKS = 6000 };
    static char rows[1 << 20];
    static uint64_t due[TIMERS];
    size_t used = 0;
    for (unsigned id = 0; id < TIMERS; id++) {
        due[id] = 1 + id % 7;
        used += (size_t)snprintf(rows + used, sizeof rows - used, "0,%u,start,%u,\n", id,
                                 (unsigned)due[id]);
    }
    for (uint64_t tick = 1; tick < TICKS; tick++) {
        for (unsigned id = 0; id < TIMERS; id++) {
            if (due[id] == tick) {
                unsigned other = (id + (unsigned)tick) % TIMERS;
                unsigned delay = 3 + (id * 5 + (unsigned)tick) % 90;
                due[id] = tick + delay;
                used += (size_t)snprintf(rows + used, sizeof rows - used,
                                         "%" PRIu64 ",%u,start,%u,%u%s\n", tick, id, delay, id,
                                         id % 3 == 0   ? "r"
                                         : id % 3 == 1 ? "a"
                                                       : "");
                if (due[other] > tick) {
                    due[other] = tick + 40;
                    used += (size_t)snprintf(rows + used, sizeof rows - used,
                                             "%" PRIu64 ",%u,start,40,%u\n", tick, other, id);
                }
            }
        }
        if (tick % 5 == 0) {
            unsigned id = (unsigned)(tick / 5) % TIMERS;
            due[id] = tick + 60;
            used += (size_t)snprintf(rows + used, sizeof rows - used, "%" PRIu64 ",%u,start,60,\n",
                                     tick, id);
        }
    }
    assert_true(used < sizeof rows - 100);
    (void)snprintf(rows + used, sizeof rows - used, "# warmup_end_tick: 1000\n");
    write_trace(rows);
}

/* Exact, late and early structures: the same expiries, and in the window the same operations. */
static void timed_passes_play_what_was_checked(void **state)
{
    (void)state;
    static const char *const names[] = {"binary-heap",  "simple-wheel", "hier-wheel",
                                        "coarse-wheel", "cache-wheel",  "chunk-wheel"};
    write_busy_trace();
    uint64_t exact_digest = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct error error;
        const struct tl_entry *structure = tl_registry_find(names[i]);
        struct tape *tape = tape_create(&error);
        assert_non_null(tape);
        struct replay_result *check = run(structure->counted, PASS_CHECK, tape);
        assert_string_equal(check->reason, "");
        assert_true(check->reactions > 50);
        for (int pass = PASS_THROUGHPUT; pass <= PASS_LATENCY; pass++) {
            struct replay_result *timed = run(structure->timed, (enum replay_pass)pass, tape);
            assert_string_equal(timed->reason, "");
            assert_int_equal(timed->digest, check->digest);
            assert_int_equal(timed->window_events, check->window_events);
            if (pass == PASS_LATENCY) {
                uint64_t timed_operations = 0;
                for (int op = 0; op < LATENCY_ADVANCE; op++) {
                    timed_operations += timed->latency_ns[op].total;
                }
                assert_int_equal(timed_operations, check->window_events);
            }
            free(timed);
        }
        if (i == 0) {
            exact_digest = check->digest;
            assert_int_equal(check->not_reached, 0);
        }
        TL_OPTION_VALUES(options);
        tl_options_default(structure->timed, options);
        bool exact = tl_algo_is_exact(structure->timed, options, 90);
        assert_true((check->digest == exact_digest) == exact);
        free(check);
        tape_close(tape);
    }
}

/* The first structure's expiries, in reverse order on request. */
static const struct tl_algo *heap;
static bool turned;
static struct {
    uint32_t id;
    uint64_t now;
} fired[64];
static uint64_t fired_count;

static void collect(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    assert_true(fired_count < 64);
    fired[fired_count].id = id;
    fired[fired_count++].now = now;
}

static uint64_t advance_turned(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                               void *ctx)
{
    fired_count = 0;
    (void)heap->advance(self, now, budget, collect, NULL);
    uint64_t count = fired_count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = turned ? count - 1 - i : i;
        fire(ctx, fired[at].id, fired[at].now);
    }
    return count;
}

static void another_order_of_firing_is_found_out(void **state)
{
    (void)state;
    struct error error;
    heap = tl_registry_find("binary-heap")->timed;
    struct tl_algo fickle = *heap;
    fickle.advance = advance_turned;
    write_busy_trace();
    struct tape *tape = tape_create(&error);
    assert_non_null(tape);
    turned = false;
    free(run(&fickle, PASS_CHECK, tape));
    struct replay_result *same = run(&fickle, PASS_THROUGHPUT, tape);
    assert_int_equal(same->status, REPLAY_OK);
    turned = true;
    struct replay_result *other = run(&fickle, PASS_THROUGHPUT, tape);
    assert_int_equal(other->status, REPLAY_FAULT);
    assert_non_null(strstr(other->reason, "another order"));
    free(same);
    free(other);
    tape_close(tape);
}

enum { HASTY_EARLY_TICKS = 3, HASTY_LATE_TICKS = 16 };

/* Fires everything that it may at each advance: an additional one lets a timer fire at another
 * tick. */
static uint64_t advance_hastily(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    fired_count = 0;
    (void)heap->advance(self, now + HASTY_EARLY_TICKS, budget, collect, NULL);
    uint64_t count = fired_count;
    for (uint64_t i = 0; i < count; i++) {
        fire(ctx, fired[i].id, now);
    }
    return count;
}

static uint64_t hasty_next(const void *self)
{
    uint64_t next = heap->next(self);
    return next == TL_NEVER ? TL_NEVER : (next + 7) / 8 * 8;
}

static struct tl_precision hasty_precision(const void *options, uint64_t delay_ticks)
{
    (void)options;
    return (struct tl_precision){.early_ticks = delay_ticks < HASTY_EARLY_TICKS ? delay_ticks
                                                                                : HASTY_EARLY_TICKS,
                                 .late_ticks = HASTY_LATE_TICKS};
}

/* Early and late structures: every advance of the checked pass is one of the timed passes. */
static void timed_passes_come_round_when_the_checked_one_did(void **state)
{
    (void)state;
    struct error error;
    heap = tl_registry_find("binary-heap")->timed;
    struct tl_algo hasty = *heap;
    hasty.advance = advance_hastily;
    hasty.next = hasty_next;
    hasty.precision = hasty_precision;
    hasty.capabilities &= ~(uint32_t)(TL_CAP_EXACT | TL_CAP_ORDERED);
    /* The loop sleeps until 16: at 9 no reaction waits for its tick. */
    write_trace("0,0,start,9,\n9,0,start,9,0\n18,0,start,9,0\n27,0,start,90,0\n");
    struct tape *tape = tape_create(&error);
    assert_non_null(tape);
    struct replay_result *check = run(&hasty, PASS_CHECK, tape);
    assert_string_equal(check->reason, "");
    assert_int_equal(check->reactions, 2);
    for (int pass = PASS_THROUGHPUT; pass <= PASS_LATENCY; pass++) {
        struct replay_result *timed = run(&hasty, (enum replay_pass)pass, tape);
        assert_string_equal(timed->reason, "");
        assert_int_equal(timed->digest, check->digest);
        free(timed);
    }
    free(check);
    tape_close(tape);
}

/* Also fires the timer after the trace's only one. */
static uint64_t advance_with_a_stranger(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                        void *ctx)
{
    uint64_t count = heap->advance(self, now, budget, fire, ctx);
    if (count > 0) {
        fire(ctx, 1, now);
    }
    return count;
}

/* The loop and the names have no such timer, as an address sanitizer would notice. */
static void what_is_no_timer_is_not_looked_up(void **state)
{
    (void)state;
    static const uint64_t names[][2] = {{7, 8}, {7, 9}};
    uint64_t digests[2];
    struct error error;
    heap = tl_registry_find("binary-heap")->timed;
    struct tl_algo faulty = *heap;
    faulty.advance = advance_with_a_stranger;
    write_trace("0,0,start,10,\n10,0,start,10,0\n20,0,start,10,0\n");
    for (size_t i = 0; i < 2; i++) {
        struct tape *tape = tape_create(&error);
        assert_non_null(tape);
        struct replay_result *result = run_named(&faulty, PASS_CHECK, tape, names[i]);
        assert_int_equal(result->reactions, 2);
        assert_int_equal(result->verdict.first[0].kind, FAULT_DUPLICATE);
        assert_int_equal(result->verdict.first[0].id, 1);
        assert_non_null(strstr(result->verdict.first[0].detail, "there are only 1 timers"));
        digests[i] = result->named_digest;
        free(result);
        tape_close(tape);
    }
    assert_true(digests[0] == digests[1]);
}

static struct tl_precision patient(const void *options, uint64_t delay_ticks)
{
    (void)options;
    (void)delay_ticks;
    return (struct tl_precision){.late_ticks = UINT64_C(1) << 40};
}

static uint64_t advance_and_fire_nothing(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                         void *ctx)
{
    (void)self;
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    return 0;
}

/* Without `next`, and with unlimited lateness: a structure that fires is driven until it has; one
 * that does not is given up, with the place. */
static void a_drain_ends(void **state)
{
    (void)state;
    heap = tl_registry_find("binary-heap")->timed;
    struct tl_algo late = *heap;
    late.capabilities &= ~(uint32_t)(TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_EXACT);
    late.next = NULL;
    late.precision = patient;
    write_trace("0,0,start,10,\n0,1,start,5000,\n");
    struct replay_result *result = run(&late, PASS_CHECK, NULL);
    assert_int_equal(result->status, REPLAY_OK);
    assert_int_equal(result->verdict.fired + result->verdict.drained, 2);
    free(result);
    late.advance = advance_and_fire_nothing;
    result = run(&late, PASS_CHECK, NULL);
    assert_int_equal(result->status, REPLAY_UNSUPPORTED);
    assert_non_null(strstr(result->reason, "2 timers are pending at tick 16777"));
    if (strstr(result->reason, "may fire until tick 1099511627786") == NULL) {
        fail_msg("%s", result->reason);
    }
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_delay_counts_from),
        cmocka_unit_test(a_late_firing_brings_its_own),
        cmocka_unit_test(on_others_a_late_one_acts_behind_its_firings),
        cmocka_unit_test(a_timer_that_is_due_is_left_to_fire),
        cmocka_unit_test(contended_timers_wait_for_the_end_of_the_tick),
        cmocka_unit_test(an_external_restart_replaces_the_arming),
        cmocka_unit_test(early_is_not_before_its_place),
        cmocka_unit_test(what_is_superseded_is_dropped),
        cmocka_unit_test(what_is_dropped_leaves_what_is_around_it),
        cmocka_unit_test(timed_passes_play_what_was_checked),
        cmocka_unit_test(another_order_of_firing_is_found_out),
        cmocka_unit_test(timed_passes_come_round_when_the_checked_one_did),
        cmocka_unit_test(what_is_no_timer_is_not_looked_up),
        cmocka_unit_test(a_drain_ends),
    };
    return cmocka_run_group_tests_name("closed_loop", tests, make_files, remove_files);
}
