/* trace_scale.c: the result of superposed copies, operation by operation, compared with a naive
 * player; its burstiness; refusals. */
#include "test.h"

#include "random.h"
#include "trace.h"
#include "trace_format.h"
#include "trace_info.h"
#include "trace_scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define TICK_NS 1000000u

static char folder[] = "/tmp/timerlab-scale-XXXXXX";
static char recording_path[64];
static char result_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(recording_path, sizeof recording_path, "%s/recording.trace", folder);
    (void)snprintf(result_path, sizeof result_path, "%s/result.trace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(recording_path);
    (void)unlink(result_path);
    return rmdir(folder);
}

struct operation {
    int64_t tick; /* of the recording; in a list that is expected or read, of the result */
    uint64_t delay;
    uint32_t id;
    uint32_t cause;
    uint8_t op;
    uint8_t basis;
};

struct operations {
    struct operation *items;
    size_t count;
    size_t room;
};

static void add(struct operations *list, struct operation operation)
{
    if (list->count == list->room) {
        list->room = list->room > 0 ? 2 * list->room : 256;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = operation;
}

/* The slack of a timer with this delay, so that all played operations can be checked. */
static uint32_t slack_of(uint64_t delay)
{
    return (uint32_t)(delay % 5);
}

static void write_recording(const struct operations *list, uint64_t warmup, uint64_t end,
                            const char *origin)
{
    struct error error;
    struct trace_writer *writer = trace_writer_open(recording_path, TICK_NS, &error);
    assert_non_null(writer);
    trace_writer_declare_causes(writer);
    for (size_t i = 0; i < list->count; i++) {
        const struct operation *o = &list->items[i];
        const struct trace_cause cause = {
            .id = o->cause, .basis = o->basis, .slack_ticks = slack_of(o->delay)};
        assert_true(trace_writer_add_reaction(writer, (uint64_t)o->tick, o->id,
                                              (enum trace_op)o->op, o->delay, cause, &error));
    }
    assert_true(trace_writer_commit(writer, warmup, end, 0, origin, &error));
}

static struct operations read_result(struct trace_header *header)
{
    struct error error;
    struct operations list = {0};
    struct trace_reader *reader = trace_reader_open(result_path, &error);
    assert_non_null(reader);
    struct trace_info info;
    assert_true(trace_info_collect(reader, &info, NULL, &error));
    assert_int_equal(info.misplaced, 0);
    trace_reader_rewind(reader);
    struct trace_block block;
    while (trace_reader_next(reader, &block, &error) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                const struct trace_record *record = &block.records[i];
                struct operation o = {
                    .tick = (int64_t)group->tick,
                    .id = record->id,
                    .op = (uint8_t)record->op,
                    .delay = record->op == TRACE_START ? record->deadline - group->tick : 0};
                if (block.causes != NULL) {
                    o.cause = block.causes[i].id;
                    o.basis = (uint8_t)block.causes[i].basis;
                }
                uint32_t slack = block.causes != NULL ? block.causes[i].slack_ticks : 0;
                assert_int_equal(slack, o.op == TRACE_START ? slack_of(o.delay) : 0);
                add(&list, o);
            }
        }
    }
    *header = *trace_reader_header(reader);
    header->origin = NULL;
    trace_reader_close(reader);
    return list;
}

/* --- a naive player -------------------------------------------------------------------------- */

/* It plays each copy from passes long before the window, with all of their operations, and checks
 * every timer of every pass at every tick. Timers have names of its own: those of pass p of copy c
 * begin with (c * PASSES + p) * IDS. */
enum { IDS = 12, BEFORE = 4, PASSES = 10 };

struct timer {
    int64_t due; /* INT64_MAX: not pending */
    int64_t fired;
    int64_t started;
    uint64_t delay;
    bool named; /* by an operation of its pass */
};

struct player {
    const struct operations *recording;
    int64_t warmup;
    int64_t length;
    int64_t begin; /* the window's, in ticks of the result */
    int64_t end;
    unsigned starts[IDS]; /* in the recording */
    struct timer timers[PASSES][IDS];
};

static void fire(struct player *player, int64_t tick)
{
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (unsigned id = 0; id < IDS; id++) {
            struct timer *timer = &player->timers[pass][id];
            if (timer->due <= tick) {
                timer->fired = timer->due;
                timer->due = INT64_MAX;
            }
        }
    }
}

static void do_operation(struct player *player, uint32_t copy, unsigned pass, int64_t pass_begin,
                         const struct operation *o, struct operations *window)
{
    const uint32_t name = (copy * PASSES + pass) * IDS;
    int64_t tick = pass_begin + o->tick - player->warmup;
    struct timer *timer = &player->timers[pass][o->id];
    if (o->tick >= player->warmup && !timer->named && pass > 0) {
        struct timer *former = &player->timers[pass - 1][o->id];
        bool pends = former->due != INT64_MAX;
        if (pends &&
            (player->starts[o->id] > 1 || former->due - pass_begin >= 2 * player->length)) {
            former->due = INT64_MAX;
            if (tick >= player->begin) {
                add(window,
                    (struct operation){.tick = tick, .id = name - IDS + o->id, .op = TRACE_STOP});
            }
        }
    }
    timer->named = timer->named || o->tick >= player->warmup;
    struct operation done = *o;
    done.tick = tick;
    done.id = name + o->id;
    bool caused = o->basis != TRACE_EXTERNAL && player->timers[pass][o->cause].fired == tick;
    done.basis = caused ? o->basis : TRACE_EXTERNAL;
    done.cause = caused ? name + o->cause : 0;
    if (tick >= player->begin) {
        add(window, done);
    }
    timer->due = INT64_MAX;
    if (o->op == TRACE_START) {
        timer->due = tick + (int64_t)(o->delay > 0 ? o->delay : 1);
        timer->started = tick;
        timer->delay = o->delay;
    }
}

static void play_copy(struct player *player, uint32_t copy, int64_t shift,
                      struct operations *warmup, struct operations *window)
{
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (unsigned id = 0; id < IDS; id++) {
            player->timers[pass][id] = (struct timer){.due = INT64_MAX, .fired = INT64_MIN};
        }
    }
    /* With a warm-up, the pass that the window begins in is the first. */
    const bool warm = player->warmup > 0;
    const int64_t first_begin = player->begin - shift - (warm ? 0 : BEFORE * player->length);
    for (int64_t tick = first_begin - player->warmup; tick < player->end; tick++) {
        fire(player, tick - 1); /* timers due now are still pending when the window begins */
        for (unsigned pass = 0; tick == player->begin && pass < PASSES; pass++) {
            for (unsigned id = 0; id < IDS; id++) {
                const struct timer *timer = &player->timers[pass][id];
                if (timer->due != INT64_MAX) {
                    add(warmup, (struct operation){.tick = timer->started,
                                                   .delay = timer->delay,
                                                   .id = (copy * PASSES + pass) * IDS + id});
                }
            }
        }
        fire(player, tick);
        for (unsigned pass = 0; pass < PASSES; pass++) {
            int64_t pass_begin = first_begin + pass * player->length;
            for (size_t i = 0; i < player->recording->count; i++) {
                const struct operation *o = &player->recording->items[i];
                if (pass_begin + o->tick - player->warmup == tick &&
                    (pass == 0 || o->tick >= player->warmup)) {
                    do_operation(player, copy, pass, pass_begin, o, window);
                }
            }
        }
    }
}

static int by_tick_and_name(const void *a, const void *b)
{
    const struct operation *left = a;
    const struct operation *right = b;
    if (left->tick != right->tick) {
        return left->tick < right->tick ? -1 : 1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

/* --- the comparison -------------------------------------------------------------------------- */

/* Names that the naive player gives, and ids: each stands for one of the other. */
struct naming {
    int64_t id_of[64 * PASSES * IDS];
    int64_t name_of[64 * PASSES * IDS];
};

static void same_timer(struct naming *naming, uint32_t name, uint32_t id)
{
    assert_true(id < sizeof naming->name_of / sizeof *naming->name_of);
    if (naming->id_of[name] < 0 && naming->name_of[id] < 0) {
        naming->id_of[name] = id;
        naming->name_of[id] = name;
    }
    assert_int_equal(naming->id_of[name], id);
    assert_int_equal(naming->name_of[id], name);
}

static void same_operations(struct naming *naming, const struct operation *want,
                            const struct operation *have, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(have[i].tick, want[i].tick);
        assert_int_equal(have[i].op, want[i].op);
        assert_int_equal(have[i].basis, want[i].basis);
        assert_int_equal(have[i].delay, want[i].op == TRACE_START ? want[i].delay : 0);
        same_timer(naming, want[i].id, have[i].id);
        if (want[i].basis != TRACE_EXTERNAL) {
            same_timer(naming, want[i].cause, have[i].cause);
        }
    }
}

/* In the warm-up timers are the only ones with their start and delay, or interchangeable. */
static void same_warmup(struct naming *naming, struct operations *want, struct operation *have)
{
    static bool taken[64 * PASSES * IDS];
    (void)memset(taken, 0, sizeof taken);
    for (size_t i = 0; i < want->count; i++) {
        const struct operation *w = &want->items[i];
        int64_t id = naming->id_of[w->id]; /* if the window names it */
        bool found = false;
        for (size_t k = 0; k < want->count && !found; k++) {
            bool fits = have[k].tick == w->tick && have[k].delay == w->delay &&
                        have[k].op == TRACE_START && have[k].basis == TRACE_EXTERNAL;
            bool free_id = id < 0 && naming->name_of[have[k].id] < 0;
            if (!taken[k] && fits && (have[k].id == id || free_id)) {
                taken[k] = found = true;
                same_timer(naming, w->id, have[k].id);
            }
        }
        assert_true(found);
    }
}

static const char of_seven[] = "{\"connections\": 7}";

/* Scale the recording, which is in its file, and compare the result with the naive player. */
static void expect_as_played(const struct operations *recording, int64_t warmup, int64_t end,
                             uint32_t copies, int64_t seconds_in_ticks, uint64_t seed)
{
    static struct naming naming;
    static struct player player;
    struct error error = {""};
    struct trace_scale_summary summary;
    const struct trace_scale_request request = {.in_path = recording_path,
                                                .out_path = result_path,
                                                .connections = 7 * copies,
                                                .seconds = (double)seconds_in_ticks / 1e3,
                                                .seed = seed};
    if (!trace_scale(&request, &summary, &error)) {
        fail_msg("seed %" PRIu64 ": %s", seed, error.text);
    }
    struct trace_header header;
    struct operations have = read_result(&header);
    player = (struct player){.recording = recording,
                             .warmup = warmup,
                             .length = end - warmup,
                             .begin = (int64_t)header.warmup_end_tick,
                             .end = (int64_t)header.end_tick};
    for (size_t i = 0; i < recording->count; i++) {
        player.starts[recording->items[i].id] += recording->items[i].op == TRACE_START;
    }
    assert_int_equal(player.end - player.begin,
                     seconds_in_ticks > 0 ? seconds_in_ticks : player.length);
    assert_int_equal(summary.copies, copies);
    assert_int_equal(summary.events, have.count);
    struct operations want_warmup = {0};
    struct operations want_window = {0};
    struct random random;
    random_seed(&random, seed);
    for (uint32_t copy = 0; copy < copies; copy++) {
        int64_t shift = (int64_t)(random_unit(&random) * (double)player.length);
        play_copy(&player, copy, shift, &want_warmup, &want_window);
    }
    assert_int_equal(summary.warmup_events, want_warmup.count);
    assert_int_equal(have.count, want_warmup.count + want_window.count);
    /* In one tick in the order of the copies; each copy's operations are in the order of ticks. */
    for (size_t i = 1; i < want_window.count; i++) {
        struct operation o = want_window.items[i];
        size_t at = i;
        for (; at > 0 && want_window.items[at - 1].tick > o.tick; at--) {
            want_window.items[at] = want_window.items[at - 1];
        }
        want_window.items[at] = o;
    }
    (void)memset(&naming, -1, sizeof naming);
    same_operations(&naming, want_window.items, have.items + want_warmup.count, want_window.count);
    if (want_warmup.count > 0) {
        qsort(want_warmup.items, want_warmup.count, sizeof *want_warmup.items, by_tick_and_name);
    }
    same_warmup(&naming, &want_warmup, have.items);
    free(want_warmup.items);
    free(want_window.items);
    free(have.items);
}

/* --- recordings ------------------------------------------------------------------------------ */

/* A valid random recording: reactions are at the ticks of their causes' expiries. */
static struct operations random_recording(struct random *random, int64_t end)
{
    static const uint64_t delays[] = {0, 1, 2, 5, 20, 40, 60, 90, 130, 170, 400};
    int64_t due[IDS];
    struct operations list = {0};
    for (unsigned id = 0; id < IDS; id++) {
        due[id] = INT64_MAX;
    }
    for (int64_t tick = 0; tick < end; tick++) {
        uint32_t fired[IDS];
        uint32_t fired_count = 0;
        for (uint32_t id = 0; id < IDS; id++) {
            if (due[id] <= tick) {
                due[id] = INT64_MAX;
                fired[fired_count++] = id;
            }
        }
        for (uint64_t n = random_bits(random) % 3; n > 0 && random_bits(random) % 2 == 0; n--) {
            struct operation o = {.tick = tick,
                                  .id = (uint32_t)(random_bits(random) % IDS),
                                  .op = random_bits(random) % 4 == 0 ? TRACE_STOP : TRACE_START};
            if (fired_count > 0 && random_bits(random) % 4 != 0) {
                o.cause = fired[random_bits(random) % fired_count];
                o.basis =
                    o.op == TRACE_STOP ? TRACE_FIXED_DELAY : (uint8_t)(1 + random_bits(random) % 3);
                if (random_bits(random) % 2 == 0) {
                    o.id = o.cause;
                }
            }
            if (o.op == TRACE_START) {
                o.delay = delays[random_bits(random) % (sizeof delays / sizeof delays[0])];
                o.delay += o.basis == TRACE_FIXED_RATE && o.delay == 0;
            }
            due[o.id] =
                o.op == TRACE_START ? tick + (int64_t)(o.delay > 0 ? o.delay : 1) : INT64_MAX;
            add(&list, o);
        }
    }
    return list;
}

static void test_random(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 11);
    for (uint64_t round = 0; round < (SANITIZED ? 30 : 100); round++) {
        int64_t length = 20 + (int64_t)(random_bits(&random) % 60);
        int64_t warmup = round % 2 == 0 ? 0 : 1 + (int64_t)(random_bits(&random) % 100);
        const int64_t windows[] = {0, 1, 7, length - 1, length + 1, 3 * length + 5};
        struct operations recording = random_recording(&random, warmup + length);
        bool in_window = recording.count > 0 && recording.items[recording.count - 1].tick >= warmup;
        if (in_window) {
            write_recording(&recording, (uint64_t)warmup, (uint64_t)(warmup + length), of_seven);
            expect_as_played(&recording, warmup, warmup + length, 1 + (uint32_t)(round % 5),
                             windows[round / 2 % 6], round);
        }
        free(recording.items);
    }
}

/* Operations at the edges, with every shift. */
static void test_seams(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct operation operations[4];
        size_t count;
    } cases[] = {
        {"left: fires three ticks into the next pass", {{.tick = 5, .delay = 8}}, 1},
        {"left: fires at the seam", {{.tick = 5, .delay = 5}}, 1},
        {"left: fires in the pass after the next", {{.tick = 9, .delay = 15}}, 1},
        {"left, as far as can be", {{.tick = 9, .delay = 20}}, 1},
        {"taken over: too far ahead", {{.tick = 9, .delay = 21}}, 1},
        {"taken over: restarted", {{.tick = 2, .delay = 4}, {.tick = 4, .delay = 9}}, 2},
        {"fires where it would be taken over",
         {{.tick = 2, .delay = 4}, {.tick = 4, .delay = 8}},
         2},
        {"taken over by a stop",
         {{.tick = 3, .op = TRACE_STOP}, {.tick = 4, .delay = 4}, {.tick = 6, .delay = 30}},
         3},
        {"a reaction at the last tick",
         {{.tick = 3, .id = 1, .delay = 6},
          {.tick = 9, .id = 1, .delay = 6, .cause = 1, .basis = TRACE_FIXED_DELAY},
          {.tick = 9, .id = 2, .delay = 3, .cause = 1, .basis = TRACE_ABSOLUTE}},
         3},
        {"a reaction at the first tick but one",
         {{.tick = 0, .delay = 0}, {.tick = 1, .delay = 12, .basis = TRACE_FIXED_RATE}},
         2},
        {"only the first tick", {{.tick = 0, .delay = 3}}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct operations recording = {.count = cases[i].count};
        recording.items = malloc(sizeof cases[i].operations);
        assert_non_null(recording.items);
        (void)memcpy(recording.items, cases[i].operations, sizeof cases[i].operations);
        write_recording(&recording, 0, 10, of_seven);
        for (uint64_t seed = 0; seed < 12; seed++) {
            expect_as_played(&recording, 0, 10, 1, seed % 3 == 0 ? 0 : 4 + (int64_t)(seed % 29),
                             seed);
        }
        free(recording.items);
    }
}

/* --- equal and similar results ---------------------------------------------------------------- */

static void scale(uint32_t connections, uint64_t seed, struct trace_info *info)
{
    struct error error = {""};
    struct trace_scale_summary summary;
    const struct trace_scale_request request = {.in_path = recording_path,
                                                .out_path = result_path,
                                                .connections = connections,
                                                .of = 10,
                                                .seed = seed};
    if (!trace_scale(&request, &summary, &error)) {
        fail_msg("%s", error.text);
    }
    struct trace_reader *reader = trace_reader_open(result_path, &error);
    assert_non_null(reader);
    assert_true(trace_info_collect(reader, info, NULL, &error));
    trace_reader_close(reader);
}

/* Bursts of a mean of 20 starts, as many timers as starts, at random moments of 60 s. */
static void write_bursts(void)
{
    struct random random;
    random_seed(&random, 3);
    struct operations list = {0};
    uint32_t id = 0;
    for (int64_t tick = 0; tick < 60000; tick++) {
        uint64_t starts = random_bits(&random) % 40 == 0 ? random_bits(&random) % 41 : 0;
        for (uint64_t i = 0; i < starts; i++) {
            add(&list, (struct operation){.tick = tick, .id = id++, .delay = 30});
        }
    }
    write_recording(&list, 0, 60000, "{}");
    free(list.items);
}

static void test_bursts_stay(void **state)
{
    (void)state;
    write_bursts();
    struct error error;
    struct trace_info of_one;
    struct trace_reader *reader = trace_reader_open(recording_path, &error);
    assert_non_null(reader);
    assert_true(trace_info_collect(reader, &of_one, NULL, &error));
    trace_reader_close(reader);
    assert_in_range((uint64_t)of_one.dispersion_100ms, 20, 40);
    /* 600 stretches and 30 seeds: the mean of their indices strays by one or two percent. */
    enum { SEEDS = 30, COPIES = 20 };
    double sum = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trace_info info;
        scale(10 * COPIES, seed, &info);
        assert_int_equal(info.window_events, COPIES * of_one.window_events);
        sum += info.dispersion_100ms;
    }
    double ratio = sum / SEEDS / of_one.dispersion_100ms;
    if (ratio < 0.93 || ratio > 1.07) {
        fail_msg("of copies the index of dispersion is %.3f times that of one", ratio);
    }
}

/* A connection's timer that is restarted every tenth of its delay is always pending; one that is
 * started every tenth of a second and never restarted, with a delay of two seconds, pends twenty
 * times at once. */
static void test_steady(void **state)
{
    (void)state;
    struct operations list = {0};
    for (int64_t tick = 0; tick < 3000; tick += 100) {
        add(&list, (struct operation){.tick = tick, .id = 0, .delay = 1000});
        add(&list,
            (struct operation){.tick = tick, .id = 1 + (uint32_t)(tick / 100), .delay = 2000});
    }
    write_recording(&list, 0, 3000, "{}");
    free(list.items);
    struct trace_info info;
    scale(1000, 5, &info);
    assert_in_range(info.pending_max, 100 * 21 - 5, 100 * 21 + 5);
    assert_in_range(info.pending_at_end, 100 * 21 - 5, 100 * 21 + 5);
    assert_in_range(info.window_fired, 100 * 30 - 5, 100 * 30 + 5); /* those left alone */
}

static void test_open_loop(void **state)
{
    (void)state;
    struct error error;
    struct trace_writer *writer = trace_writer_open(recording_path, TICK_NS, &error);
    assert_non_null(writer);
    assert_true(trace_writer_add(writer, 3, 0, TRACE_START, 9, &error));
    assert_true(trace_writer_commit(writer, 0, 20, 0, "{}", &error));
    struct trace_info info;
    scale(100, 1, &info);
    struct trace_reader *reader = trace_reader_open(result_path, &error);
    assert_non_null(reader);
    assert_false(trace_reader_header(reader)->causes_known);
    trace_reader_close(reader);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void expect_refused(struct trace_scale_request request, const char *why)
{
    struct error error = {""};
    struct trace_scale_summary summary;
    (void)unlink(result_path);
    unsigned before = test_files_in(folder);
    request.in_path = request.in_path != NULL ? request.in_path : recording_path;
    request.out_path = request.out_path != NULL ? request.out_path : result_path;
    assert_false(trace_scale(&request, &summary, &error));
    if (strstr(error.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, why);
    }
    assert_int_equal(test_files_in(folder), before);
}

static void test_refused(void **state)
{
    (void)state;
    struct operations list = {0};
    for (uint32_t id = 0; id < 3000; id++) {
        add(&list, (struct operation){.tick = 1, .id = id, .delay = 5000});
    }
    write_recording(&list, 0, 10, "{\"parts\": [{\"connections\": 3}, {\"connections\": 4}]}");
    expect_refused((struct trace_scale_request){.connections = 6}, "it is of 7 connections, more");
    expect_refused((struct trace_scale_request){.connections = 9, .of = 10},
                   "it is of 10 connections, more than 9");
    expect_refused((struct trace_scale_request){.connections = 10000000},
                   "have more timers than the 4294967295");
    expect_refused((struct trace_scale_request){.connections = 10, .seconds = 0.0004},
                   "0.0004 s are not from one of its ticks");
    expect_refused((struct trace_scale_request){.connections = 10, .seconds = 1e30},
                   "are not from");
    expect_refused((struct trace_scale_request){.connections = 10, .out_path = "/nowhere/x"},
                   "/nowhere/x: cannot be written");
    expect_refused((struct trace_scale_request){.connections = 10, .in_path = "/dev/null"},
                   "/dev/null: not a regular file");
    write_recording(&list, 0, 10, "{\"connections\": \"many\"}");
    expect_refused((struct trace_scale_request){.connections = 10}, "say it with --of");
    write_recording(&list, 5, 10, "{}");
    expect_refused((struct trace_scale_request){.connections = 10, .of = 1},
                   "no operations in its timed window");
    list.items[1] = (struct operation){.tick = 2, .id = 0, .basis = TRACE_FIXED_DELAY, .delay = 3};
    list.count = 2;
    write_recording(&list, 0, 10, "{}");
    expect_refused((struct trace_scale_request){.connections = 10, .of = 1},
                   "operation 1 names as its cause a timer that does not fire at its tick");
    list.count = 0;
    write_recording(&list, 0, 10, "{}");
    expect_refused((struct trace_scale_request){.connections = 10, .of = 1},
                   "no operations in its timed window");
    free(list.items);
}

/* A header with a smaller number of operations than there are. */
static void test_lying_header(void **state)
{
    (void)state;
    struct operations list = {0};
    for (uint32_t id = 0; id < 10; id++) {
        add(&list, (struct operation){.tick = 1, .id = id, .delay = 5000});
    }
    write_recording(&list, 0, 10, "{}");
    free(list.items);
    uint8_t head[TRACE_HEADER_BYTES];
    FILE *file = fopen(recording_path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    trace_put_u64(head + TRACE_AT_EVENTS, 3);
    trace_put_u64(head + TRACE_AT_STARTS, 3);
    trace_put_u64(head + TRACE_AT_CHECKSUM, XXH3_64bits(head, TRACE_AT_CHECKSUM));
    rewind(file);
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    assert_int_equal(fclose(file), 0);
    expect_refused((struct trace_scale_request){.connections = 10, .of = 1},
                   "the blocks' sums contradict the header");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_seams),
        cmocka_unit_test(test_bursts_stay),  cmocka_unit_test(test_steady),
        cmocka_unit_test(test_open_loop),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lying_header),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
