/* The closed loop on random traces with expiries that affect one another: several causes for one
 * timer, many timers due at one tick, all kinds of deadlines, external operations in between. Exact
 * structures execute the trace, whatever their order within a tick, as they do without causes. Late
 * and early ones have no fault. Every pass plays the tape of the first. */
#include "test.h"

#include "kit_subject.h"
#include "replay.h"
#include "replayed.h"
#include "tape.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
#ifdef __SANITIZE_ADDRESS__
    STREAMS = 50, /* each takes four times as long */
#else
    STREAMS = 300,
#endif
    OPERATIONS_MAX = 400,
    IDS_MAX = 24,
    CAUSED_MAX = 3, /* reactions of one expiry */
    CONTENDERS_MAX = 256,
    LATE_A_STRUCTURE = 3, /* sets of options under which one is not exact */
    OPENED_EVERY = 8,     /* that many runs are repeated without causes */
    PLAYED_EVERY = 16,    /* or in the timed passes */
};

/* --- the streams ----------------------------------------------------------------------------- */

struct operation {
    uint64_t tick;
    uint64_t delay;
    uint32_t id;
    enum trace_op op;
    struct trace_cause cause;
};

/* A trace, and its execution by an exact structure, computed while it is drawn. */
struct drawn {
    uint64_t random;
    uint32_t ids;
    uint64_t due[IDS_MAX]; /* UINT64_MAX: not pending */
    uint64_t fired;
    uint64_t reactions;
    uint64_t superseded;           /* external operations */
    uint64_t superseded_reactions; /* reactions superseded by a later one of the tick */
    struct operation operations[OPERATIONS_MAX];
    size_t count;
};

static uint32_t draw(struct drawn *stream, uint32_t bound)
{
    return (uint32_t)(kit_random(&stream->random) >> 32) % bound;
}

static uint64_t draw_delay(struct drawn *stream)
{
    switch (draw(stream, 8)) {
    case 0:
        return 0;
    case 1:
        return draw(stream, 300);
    case 2:
        return draw(stream, 3000);
    default:
        return 1 + draw(stream, 9);
    }
}

static void add(struct drawn *stream, struct operation operation)
{
    bool starts = operation.op == TRACE_START;
    uint64_t deadline = operation.tick + operation.delay;
    uint64_t due = deadline > operation.tick ? deadline : operation.tick + 1;
    stream->due[operation.id] = starts ? due : UINT64_MAX;
    stream->reactions += operation.cause.basis != TRACE_EXTERNAL;
    stream->operations[stream->count++] = operation;
}

static struct operation draw_operation(struct drawn *stream, uint64_t tick, uint32_t id)
{
    struct operation operation = {.tick = tick, .id = id, .op = TRACE_STOP};
    if (draw(stream, 4) > 0) {
        operation.op = TRACE_START;
        operation.delay = draw_delay(stream);
    }
    return operation;
}

static void add_reaction(struct drawn *stream, uint64_t tick, uint32_t cause)
{
    uint32_t id = draw(stream, 3) > 0 ? draw(stream, stream->ids) : cause;
    struct operation operation = draw_operation(stream, tick, id);
    operation.cause = (struct trace_cause){.id = cause, .basis = TRACE_FIXED_DELAY};
    if (operation.op == TRACE_START) {
        uint32_t basis = draw(stream, 3);
        operation.cause.basis = basis == 0                          ? TRACE_ABSOLUTE
                                : basis == 1 && operation.delay > 0 ? TRACE_FIXED_RATE
                                                                    : TRACE_FIXED_DELAY;
    }
    add(stream, operation);
}

static void add_external(struct drawn *stream, uint64_t tick)
{
    add(stream, draw_operation(stream, tick, draw(stream, stream->ids)));
}

/* Return whether `after` is executed before `before`, an earlier operation of the tick, so that the
 * latter is superseded: reactions come before external operations, and a timer's reaction to its
 * own expiry before other reactions. */
static bool supersedes(const struct operation *after, const struct operation *before)
{
    bool own = after->cause.id == after->id;
    bool others = before->cause.id != before->id;
    return after->id == before->id && after->cause.basis != TRACE_EXTERNAL &&
           (before->cause.basis == TRACE_EXTERNAL || (own && others));
}

/* Of the operations of the last tick, from number `from` on. */
static void count_superseded(struct drawn *stream, size_t from)
{
    for (size_t i = from; i < stream->count; i++) {
        bool superseded = false;
        for (size_t k = i + 1; k < stream->count; k++) {
            superseded |= supersedes(&stream->operations[k], &stream->operations[i]);
        }
        bool external = stream->operations[i].cause.basis == TRACE_EXTERNAL;
        stream->superseded += superseded && external;
        stream->superseded_reactions += superseded && !external;
    }
}

/* Draw one tick: the due timers fire, and their reactions come in any order, mixed with each other
 * and with external operations. */
static void draw_tick(struct drawn *stream, uint64_t tick, bool busy)
{
    uint32_t causes[CAUSED_MAX * IDS_MAX];
    uint32_t count = 0;
    size_t from = stream->count;
    for (uint32_t id = 0; id < stream->ids; id++) {
        if (stream->due[id] <= tick) {
            stream->due[id] = UINT64_MAX;
            stream->fired++;
            for (uint32_t left = draw(stream, CAUSED_MAX + 1); left > 0; left--) {
                causes[count++] = id;
            }
        }
    }
    while (count > 0 && stream->count < OPERATIONS_MAX - 8) {
        if (busy && draw(stream, 8) == 0) {
            add_external(stream, tick);
        }
        uint32_t at = draw(stream, count);
        add_reaction(stream, tick, causes[at]);
        causes[at] = causes[--count];
    }
    for (uint32_t i = draw(stream, 4); busy && i > 0; i--) {
        add_external(stream, tick);
    }
    count_superseded(stream, from);
}

static void draw_stream(struct drawn *stream, uint64_t seed)
{
    *stream = (struct drawn){.random = seed};
    stream->ids = 2 + draw(stream, IDS_MAX - 1);
    for (uint32_t id = 0; id < stream->ids; id++) {
        stream->due[id] = UINT64_MAX;
    }
    uint64_t busy_until = 40;
    for (uint64_t tick = 0; stream->count < OPERATIONS_MAX - 8 && tick < 4000; tick++) {
        /* In between, the reactions continue by themselves. */
        if (tick > busy_until + 200) {
            busy_until = tick + draw(stream, 60);
        }
        draw_tick(stream, tick, tick < busy_until);
    }
    for (uint32_t id = 0; id < stream->ids; id++) {
        stream->fired += stream->due[id] != UINT64_MAX;
    }
}

static void write_stream(const struct drawn *stream, const char *path, bool causes)
{
    struct error error = {""};
    struct trace_writer *writer = trace_writer_open(path, 1000000, &error);
    bool good = writer != NULL;
    for (size_t i = 0; good && i < stream->count; i++) {
        const struct operation *at = &stream->operations[i];
        struct trace_cause cause = causes ? at->cause : (struct trace_cause){0};
        cause.slack_ticks = (uint32_t)(i % 30);
        good =
            trace_writer_add_reaction(writer, at->tick, at->id, at->op, at->delay, cause, &error);
    }
    if (!good || !trace_writer_commit(writer, 0, 0, stream->ids, "{}", &error)) {
        fail_msg("%s", error.text);
    }
}

/* --- the structures -------------------------------------------------------------------------- */

struct contender {
    const struct tl_entry *entry;
    TL_OPTION_VALUES(options);
    bool exact;
};

static struct contender contenders[CONTENDERS_MAX];
static size_t contender_count;

static void add_contender(const struct tl_entry *entry, const void *options)
{
    struct contender *contender = &contenders[contender_count++];
    assert_true(contender_count <= CONTENDERS_MAX);
    contender->entry = entry;
    memcpy(contender->options, options, sizeof contender->options);
    contender->exact = tl_algo_is_exact(entry->timed, options, 3000);
}

/* All structures by default, and with some options that make them late or early. */
static int find_contenders(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *entry = tl_registry_at(i);
        TL_OPTION_VALUES(options);
        tl_options_default(entry->timed, options);
        if ((entry->timed->capabilities & TL_CAP_FIRES_NOTHING) != 0 ||
            !test_is_available(entry->timed)) {
            continue;
        }
        add_contender(entry, options);
        unsigned late = 0;
        for (size_t o = 0; o < tl_option_count(entry->timed); o++) {
            const struct tl_option *option = &entry->timed->options[o];
            uint64_t values[KIT_CANDIDATES_MAX];
            size_t count = kit_option_candidates(option, values);
            uint64_t by_default = tl_option_number(option, options);
            for (size_t v = 0; v < count && late < LATE_A_STRUCTURE; v++) {
                tl_option_set_number(option, options, values[v]);
                if (values[v] != by_default && !tl_algo_is_exact(entry->timed, options, 3000)) {
                    add_contender(entry, options);
                    late++;
                }
            }
            tl_option_set_number(option, options, by_default);
        }
    }
    return 0;
}

/* --- the replays ----------------------------------------------------------------------------- */

/* Run a pass; false if the structure cannot take the trace, which only one with a horizon may. */
static bool run(const struct contender *contender, const char *path, enum replay_pass pass,
                const struct replay_drive *drive, struct tape *tape, struct replay_result *result)
{
    const struct tl_entry *entry = contender->entry;
    const struct replay_request request = {
        .algo = pass == PASS_CHECK ? entry->counted : entry->timed,
        .options = contender->options,
        .pass = pass,
        .drive = *drive,
        .memory_limit_bytes = UINT64_C(256) << 20,
        .tape = tape,
    };
    struct error error = {""};
    if (!replay_path(path, request, result, &error)) {
        fail_msg("%s: %s", entry->timed->name, error.text);
    }
    if (result->status == REPLAY_UNSUPPORTED) {
        uint32_t needed = TL_CAP_UNLIMITED | (drive->budget > 0 ? TL_CAP_BUDGET : 0);
        assert_int_not_equal(entry->timed->capabilities & needed, needed);
        return false;
    }
    if (result->status != REPLAY_OK) {
        fail_msg("%s: %s %s", entry->timed->name, result->reason,
                 result->verdict.fault_count > 0 ? result->verdict.first[0].detail : "");
    }
    return true;
}

/* Results that all exact structures must share. */
struct facts {
    uint64_t digest;
    uint64_t operations_digest;
    uint64_t fired;
};

static struct facts facts_of(const struct replay_result *result)
{
    return (struct facts){.digest = result->digest,
                          .operations_digest = result->operations_digest,
                          .fired = result->verdict.fired};
}

static void check_exact(const struct drawn *stream, const struct replay_result *result)
{
    const struct verdict *verdict = &result->verdict;
    assert_int_equal(result->reactions, stream->reactions - stream->superseded_reactions);
    assert_int_equal(result->not_reached, stream->superseded_reactions);
    assert_int_equal(verdict->averted, 0);
    assert_int_equal(verdict->fired + verdict->drained, stream->fired);
    assert_int_equal(verdict->starts + verdict->restarts + verdict->stops,
                     stream->count - stream->superseded - stream->superseded_reactions);
}

/* Each executed operation is external or a reaction; all others were not reached. Each started
 * timer has fired, or was stopped. */
static void check_late(const struct drawn *stream, const struct replay_result *result)
{
    const struct verdict *verdict = &result->verdict;
    uint64_t external = stream->count - stream->reactions;
    uint64_t done = verdict->starts + verdict->restarts + verdict->stops;
    assert_true(result->reactions <= stream->reactions);
    assert_int_equal(result->reactions + result->not_reached, stream->reactions);
    assert_true(done >= result->reactions && done <= result->reactions + external);
    assert_true(verdict->fired + verdict->drained <= verdict->starts);
    assert_true(verdict->fired + verdict->drained + verdict->stops >= verdict->starts);
}

static char closed_path[] = "/tmp/timerlab-closed-XXXXXX";
static char open_path[] = "/tmp/timerlab-open-XXXXXX";

static struct replay_result results[2]; /* large */

/* The timed passes repeat the checked one, by its tape. */
static void play(const struct contender *contender, const struct replay_drive *drive,
                 struct tape *tape)
{
    static const enum replay_pass timed[] = {PASS_THROUGHPUT, PASS_LATENCY};
    for (size_t i = 0; i < 2; i++) {
        assert_true(run(contender, closed_path, timed[i], drive, tape, &results[1]));
        assert_int_equal(results[1].digest, results[0].digest);
        assert_int_equal(results[1].window_events, results[0].window_events);
    }
}

/* Without causes it does the same. */
static void check_open(const struct contender *contender, const struct replay_drive *drive,
                       const struct facts *facts)
{
    assert_true(run(contender, open_path, PASS_CHECK, drive, NULL, &results[1]));
    assert_int_equal(results[1].digest, facts->digest);
    assert_int_equal(results[1].verdict.fired, facts->fired);
    assert_int_equal(results[1].reactions, 0);
}

static void all_do_what_the_trace_says(void **state)
{
    (void)state;
    static struct drawn stream;
    uint64_t reactions = 0;
    uint64_t not_reached = 0;
    unsigned exact = 0;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        draw_stream(&stream, seed);
        write_stream(&stream, closed_path, true);
        write_stream(&stream, open_path, false);
        reactions += stream.reactions;
        const struct replay_drive drive = {.kind = seed % 4 == 3 ? DRIVE_POLL : DRIVE_SLEEP};
        struct facts agreed = {0};
        bool first = true;
        for (size_t i = 0; i < contender_count; i++) {
            const struct contender *contender = &contenders[i];
            struct error error;
            struct tape *tape = (seed + i) % PLAYED_EVERY == 0 ? tape_create(&error) : NULL;
            print_message("stream %d, %s\r", (int)seed, contender->entry->timed->name);
            if (run(contender, closed_path, PASS_CHECK, &drive, tape, &results[0])) {
                struct facts facts = facts_of(&results[0]);
                if (!contender->exact) {
                    check_late(&stream, &results[0]);
                    not_reached += results[0].not_reached;
                } else {
                    check_exact(&stream, &results[0]);
                    agreed = first ? facts : agreed;
                    assert_memory_equal(&facts, &agreed, sizeof facts);
                    if (first || (seed + i) % OPENED_EVERY == 0) {
                        check_open(contender, &drive, &facts);
                    }
                    first = false;
                    exact++;
                }
                if (tape != NULL) {
                    play(contender, &drive, tape);
                }
            }
            tape_close(tape);
        }
    }
    /* The traces are not trivial. */
    print_message("%d reactions, of which late structures did not reach %d\n", (int)reactions,
                  (int)not_reached);
    assert_true(reactions > UINT64_C(50) * STREAMS);
    assert_true(not_reached > 0);
    assert_true(exact >= 20 * STREAMS);
}

/* One of every kind in turn. */
static struct replay_drive draw_drive(struct drawn *stream, uint64_t seed)
{
    struct replay_drive drive = {.kind = (enum drive_kind)draw(stream, 3)};
    if (seed % 4 == 0) {
        drive.kind = DRIVE_POLL;
    }
    if (drive.kind == DRIVE_POLL) {
        drive.poll_ticks = 1 + draw(stream, 40);
    }
    if (seed % 4 != 0) {
        drive.pause_count = 1 + draw(stream, 3);
    }
    for (size_t i = 0; i < drive.pause_count; i++) {
        drive.pauses[i] =
            (struct drive_pause){.at = draw(stream, 100),
                                 .ticks = 1 + draw(stream, 50),
                                 .every_ticks = draw(stream, 2) > 0 ? 51 + draw(stream, 100) : 0,
                                 .asleep = seed % 4 == 2 && draw(stream, 2) > 0};
    }
    drive.budget = seed % 4 == 3 ? 1 + draw(stream, 3) : 0;
    /* From none over half a tick to some ticks. */
    drive.service_ns = seed % 3 == 0 ? 0 : (1 + draw(stream, 12)) * 500000;
    drive.service_varies = draw(stream, 2) > 0;
    return drive;
}

/* However late the loop looks, and whatever it loses: without a budget all exact structures do the
 * same, and every structure follows its tape. */
static void all_do_the_same_by_any_drive(void **state)
{
    (void)state;
    static struct drawn stream;
    uint64_t not_reached = 0;
    for (uint64_t seed = 0; seed < STREAMS / 5; seed++) {
        draw_stream(&stream, 1000 + seed);
        write_stream(&stream, closed_path, true);
        const struct replay_drive drive = draw_drive(&stream, seed);
        struct facts agreed = {0};
        bool first = true;
        char text[DRIVE_TEXT_BYTES];
        drive_write(&drive, text);
        for (size_t i = 0; i < contender_count; i++) {
            const struct contender *contender = &contenders[i];
            struct error error;
            struct tape *tape = (seed + i) % 4 == 0 ? tape_create(&error) : NULL;
            print_message("stream %d, %s, %s\r", (int)seed, text, contender->entry->timed->name);
            if (run(contender, closed_path, PASS_CHECK, &drive, tape, &results[0])) {
                struct facts facts = facts_of(&results[0]);
                if (contender->exact && drive.budget == 0) {
                    agreed = first ? facts : agreed;
                    assert_memory_equal(&facts, &agreed, sizeof facts);
                    first = false;
                }
                not_reached += results[0].not_reached;
                if (tape != NULL) {
                    play(contender, &drive, tape);
                }
            }
            tape_close(tape);
        }
    }
    assert_true(not_reached > 0);
}

static int make_files(void **state)
{
    char *const paths[] = {closed_path, open_path};
    for (size_t i = 0; i < 2; i++) {
        int fd = mkstemp(paths[i]);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    return find_contenders(state);
}

static int remove_files(void **state)
{
    (void)state;
    return unlink(closed_path) + unlink(open_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_do_what_the_trace_says),
        cmocka_unit_test(all_do_the_same_by_any_drive),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
