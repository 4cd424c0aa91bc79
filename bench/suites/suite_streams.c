/*
 * Streams: the steady states of a server's timers, and their begin and end. A stream is data: its
 * position on each axis, in the table below. Each plays the same operations for every structure: a
 * warm-up, until the structure's leftovers are as many as they will be; a stretch between two
 * readings of the clock; a stretch with a clock around every call, for the longest.
 *
 * A late structure starts late, because reactions happen inside callbacks. Where all operations are
 * reactions, it is timed until as many timers have fired as an exact structure fires.
 */
#include "floor.h"
#include "stream_player.h"
#include "stretch.h"
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SLICE_TICKS = 256, /* how often patience is asked for */
    SLICE_STARTS = 4096,
    RESERVE_FROM = 1024, /* timers; from there on twice as many each time */
};

/* --- the plan -------------------------------------------------------------------------------- */

/* With short ticks, a hierarchy sized by the longest delay may ask for any amount. */
#define SCALED_MEMORY_BYTES (UINT64_C(1) << 32)

/* The structure's ticks in one of the stream, and the milliseconds of that. */
static const struct {
    uint64_t scale;
    uint32_t ms;
} tick_lengths[] = {
    [TICK_1MS] = {1, 1},
    [TICK_1US] = {1000, 1},
    [TICK_1NS] = {1000000, 1},
    [TICK_100MS] = {1, 100},
};

/* Return a frozen suite's entry for the row; NULL: the suite is not frozen. */
static const struct frozen *frozen_of(const struct fixture *fixture)
{
    const struct frozen *frozen = fixture->row->suite->frozen;
    while (frozen != NULL && frozen->n != fixture->row->n) {
        frozen++;
    }
    return frozen;
}

bool streams_plan(struct fixture *fixture)
{
    const enum stream_source_kind from = (enum stream_source_kind)fixture->row->suite->source;
    const struct frozen *frozen = frozen_of(fixture);
    const struct stream_recording *recording = stream_recording();
    const uint64_t *at = fixture->row->shape.at;
    uint32_t n = fixture->row->n;
    uint32_t tick_ms = tick_lengths[at[AXIS_TICK]].ms;
    bool fill = from == STREAMS_FILL;
    bool recorded = from == STREAMS_RECORDING;
    if ((recorded || at[AXIS_DELAYS] == DELAYS_RECORDED) && recording == NULL) {
        return leave_out(fixture, "it needs --recording FILE.trace, which `timerlab trace import` "
                                  "makes");
    }
    if (recorded && n < recording->timers) {
        return leave_out(fixture, "the recording alone has %" PRIu32 " timers", recording->timers);
    }
    if (at[AXIS_EVERY] > 0 && at[AXIS_EVERY] < tick_ms) {
        return leave_out(fixture, "its timers restart within a tick of %" PRIu32 " ms", tick_ms);
    }
    if (fill && (at[AXIS_ORDER] == STREAM_HOT || at[AXIS_ORDER] == STREAM_ZIPF)) {
        return leave_out(fixture, "each timer is started once: none is so more often");
    }
    const struct stream_key key = {
        .connections = recorded ? n / recording->timers : n,
        .recorded = recorded,
        .timers = from < STREAMS_FILL ? from : STREAM_TIMER,
        .fill = fill,
        .every_ticks = fill ? 0 : (uint32_t)at[AXIS_EVERY] / tick_ms,
        .delays = (uint32_t)at[AXIS_DELAYS],
        .order = (uint32_t)at[AXIS_ORDER],
        .earlier = (uint32_t)at[AXIS_EARLIER],
        .callback = at[AXIS_CALLBACK] == CALLBACK_RESTART,
        .step_ticks = (uint32_t)at[AXIS_STEP],
        .tick_ms = tick_ms,
        .warm_ticks = frozen != NULL ? frozen->warm_ticks : (uint32_t)at[AXIS_WARM],
        .frozen = frozen != NULL,
    };
    const struct stream *stream = stream_get(&key);
    if (frozen != NULL && stream->checksum != frozen->checksum) {
        return fail(fixture,
                    "these are not the operations of %s: their checksum is %016" PRIx64
                    ", not %016" PRIx64 "; measure with a version that has them",
                    fixture->row->suite->standard, stream->checksum, frozen->checksum);
    }
    fixture->operations = stream;
    fixture->ids = stream->ids;
    fixture->scale = tick_lengths[at[AXIS_TICK]].scale;
    fixture->max_delay_ticks = stream->max_delay_ticks * fixture->scale;
    if (fixture->scale > 1) {
        fixture->memory_limit_bytes = SCALED_MEMORY_BYTES;
    }
    return true;
}

/* --- lateness -------------------------------------------------------------------------------- */

/* Beyond the ticks that lateness explains, a structure is not waited for. */
#define EXTRA_TICKS_MAX (UINT64_C(1) << 20)

/* The most that a structure may be late, in ticks of the stream. */
static uint64_t late_ticks(const struct fixture *fixture)
{
    return fixture->late_ticks / fixture->scale + (fixture->late_ticks % fixture->scale != 0);
}

/* Ticks that a late structure may need beyond the stream's, within reason. */
static uint64_t extra_ticks(const struct fixture *fixture)
{
    return late_ticks(fixture) < EXTRA_TICKS_MAX ? late_ticks(fixture) : EXTRA_TICKS_MAX;
}

/* Whether nothing happens but what expiries cause. */
static bool is_closed(const struct fixture *fixture)
{
    return stream_of(fixture)->key.every_ticks == 0 && stream_of(fixture)->key.callback != 0;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Reset the sums of expiries; ticks count from `base`. A floor gets its list of expiries; a
 * structure that fires nothing gets the list of callbacks, so that its floor includes the same
 * starts. */
static struct stream_place begin_part(struct fixture *fixture, const struct stream_part *part,
                                      uint64_t base)
{
    struct stream_place place = {.piece = &part->piece};
    size_t count = part->expiries != NULL ? part->expected.count : 0;
    fixture->fired = (struct fired){.base = base};
    if (floor_is(fixture->algo)) {
        floor_schedule(fixture->self, part->expiries, count, base, fixture->scale);
    }
    if (!fixture->fires && stream_of(fixture)->key.callback != 0) {
        place.expiry = part->expiries;
        place.expiries_end = part->expiries + count;
    }
    return place;
}

/* In a closed loop each timer is pending, exact or late, because its callback starts it again. */
static bool verify_part(struct fixture *fixture, const struct stream_part *part)
{
    return verify_started(fixture, part->pending) &&
           (!is_closed(fixture) || verify_pending(fixture, part->pending)) &&
           verify_fired(fixture, &part->expected);
}

/* Start the stream's first timers, untimed. */
static bool start_all(struct fixture *fixture, struct watch *watch)
{
    size_t n = stream_of(fixture)->initial_count;
    for (size_t from = 0; from < n; from += SLICE_STARTS) {
        play_starts(fixture, from, n - from < SLICE_STARTS ? n - from : SLICE_STARTS, watch);
        if (!still_patient(fixture)) {
            return false;
        }
    }
    return verify_started(fixture, n);
}

/* Go through the warm-up, made next to it; what keeps no timers needs none. */
static bool warm_up(struct fixture *fixture)
{
    const struct stream *stream = stream_of(fixture);
    uint32_t end = stream->warm.to_tick;
    (void)begin_part(fixture, &stream->warm, fixture->fired.base);
    if (!fixture->fires || floor_is(fixture->algo)) {
        fixture->clock = end;
        (void)fixture->algo->advance(fixture->self, end * fixture->scale, TL_NO_BUDGET, on_fire,
                                     &fixture->fired);
        return true;
    }
    struct stream_source *source = stream_source_new(stream);
    bool patient = true;
    for (uint32_t tick = 0; tick < end && patient; tick += SLICE_TICKS) {
        uint32_t to = end - tick < SLICE_TICKS ? end : tick + SLICE_TICKS;
        struct stream_place place = {.piece = stream_source_piece(source, to)};
        play_piece(fixture, &place, place.piece->tick_count, NULL);
        patient = still_patient(fixture);
    }
    stream_source_free(source);
    return patient && verify_part(fixture, &stream->warm);
}

/* What other work does to the caches between two advances. */
static void empty_caches(const struct fixture *fixture)
{
    for (size_t at = 0; at < fixture->cold_bytes; at += RECORD_LINE_BYTES) {
        fixture->cold[at]++;
    }
}

/* Play a part, timed for `out`, or with a clock around every call for `watch`: that ends early when
 * patience does, as the figures are there already. True if it played all. */
static bool play_slices(struct fixture *fixture, struct stream_place *place,
                        struct bench_measured *out, struct watch *watch)
{
    size_t left = place->piece->tick_count;
    size_t slice = fixture->cold != NULL ? 1 : watch != NULL ? SLICE_TICKS : left;
    while (left > 0 && (watch == NULL || has_patience(fixture))) {
        struct stretch stretch;
        size_t count = left < slice ? left : slice;
        empty_caches(fixture);
        stretch_begin(&stretch, out);
        play_piece(fixture, place, count, watch);
        (void)stretch_end(&stretch);
        left -= count;
    }
    return left == 0;
}

/* In a closed loop, a late structure goes on until it has fired as many timers as an exact one: for
 * the ticks that it needs if each expiry is as late as possible, plus an eighth, because its delays
 * differ. */
static void play_out(struct fixture *fixture, const struct stream_part *part,
                     struct bench_measured *out)
{
    uint64_t ticks = part->to_tick - part->from_tick;
    uint64_t times = 2 + part->expected.count / fixture->ids;
    uint64_t extra = ticks / 8 + stream_of(fixture)->max_delay_ticks + times * extra_ticks(fixture);
    uint64_t most = 8 * ticks + EXTRA_TICKS_MAX;
    uint64_t last = part->to_tick + (extra < most ? extra : most);
    struct stretch stretch;
    stretch_begin(&stretch, out);
    (void)play_until(fixture, part->expected.count, last, false, NULL);
    (void)stretch_end(&stretch);
}

static void remark_lateness(struct fixture *fixture, const struct stream_part *part)
{
    char *remark = fixture->row->remark;
    size_t bytes = sizeof fixture->row->remark;
    uint64_t ticks = fixture->clock - part->from_tick;
    uint64_t expected = part->expected.count;
    uint64_t count = fixture->fired.count;
    if (!is_closed(fixture)) {
        (void)snprintf(remark, bytes,
                       "fired %" PRIu64 " where an exact structure fires %" PRIu64
                       ": requests and answers came before",
                       count, expected);
    } else if (count < expected) {
        (void)snprintf(remark, bytes,
                       "late: %" PRIu64 " of %" PRIu64 " expiries were not reached in %" PRIu64
                       " ticks",
                       expected - count, expected, ticks);
    } else {
        (void)snprintf(remark, bytes,
                       "as many expiries as an exact structure has in %" PRIu32
                       " ticks took %" PRIu64,
                       part->to_tick - part->from_tick, ticks);
    }
}

static bool play_part(struct fixture *fixture, const struct stream_part *part,
                      struct bench_measured *out)
{
    bool late = fixture->fires && !fixture->exact;
    struct stream_place place = begin_part(fixture, part, fixture->fired.base);
    (void)play_slices(fixture, &place, out, NULL);
    if (late && is_closed(fixture)) {
        play_out(fixture, part, out);
    }
    out->operations = part->piece.stop_count + part->piece.start_count + fixture->fired.count;
    out->batches = 1;
    if (late) {
        remark_lateness(fixture, part);
    }
    if (out->operations == 0) {
        return leave_out(fixture, "nothing happens in %" PRIu32 " ticks",
                         part->to_tick - part->from_tick);
    }
    return verify_part(fixture, part);
}

/* --- growing --------------------------------------------------------------------------------- */

static bool refused(struct fixture *fixture, const char *hook, enum tl_status status)
{
    return fail(fixture, "%s: %s (%s)", hook, tl_status_text(status), tl_status_name(status));
}

/* Replace the structure by one that has to grow while timers are pending, and time each growth. A
 * floor does not grow. */
static bool watch_growth(struct fixture *fixture, struct watch *watch)
{
    if (floor_is(fixture->algo)) {
        return true;
    }
    uint32_t capacity = fixture->ids / 8 < RESERVE_FROM ? fixture->ids / 8 : RESERVE_FROM;
    fixture->algo->destroy(fixture->self);
    if (fixture->records != NULL) {
        memset(fixture->records, 0, fixture->record_bytes * fixture->ids);
    }
    enum tl_status status = fixture_create(fixture, capacity, tl_system_allocator());
    if (status != TL_OK) {
        return refused(fixture, "create", status);
    }
    uint32_t id = 0;
    while (capacity < fixture->ids && has_patience(fixture)) {
        for (; id < capacity; id++) {
            uint32_t delay_ticks = stream_of(fixture)->delays[id % (1 << STREAM_TABLE_BITS)];
            (void)fixture->algo->start(fixture->self, id,
                                       deadline_at(0, id, delay_ticks, fixture->scale));
        }
        capacity = capacity < fixture->ids / 2 ? 2 * capacity : fixture->ids;
        uint64_t begun = clock_cycles();
        status = fixture->algo->reserve(fixture->self, capacity);
        watch_call(watch, WATCHED_RESERVE, begun);
        if (status != TL_OK) {
            return refused(fixture, "reserve", status);
        }
    }
    return true;
}

/* --- steady states --------------------------------------------------------------------------- */

static bool watch_steady(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream_part *part = &stream_of(fixture)->watched;
    struct watch watch;
    watch_begin(&watch, part->piece.start_count, part->piece.stop_count, part->piece.tick_count);
    struct stream_place place = begin_part(fixture, part, fixture->fired.base);
    bool good = !play_slices(fixture, &place, NULL, &watch) || verify_part(fixture, part);
    if (!fixture->row->of->selection->google) {
        /* It is kept for the next round; growing would take another structure. */
        fixture->warm = fixture->clock == part->to_tick;
    } else {
        good = good && watch_growth(fixture, &watch);
    }
    return watch_end(&watch, fixture, good, out);
}

/* Goes on with the stream: a part for the caches, which others have used since, and one that is
 * timed. */
static bool measure_more(struct fixture *fixture, struct bench_measured *out)
{
    struct bench_measured untimed = {0};
    const struct stream *stream = stream_of(fixture);
    bool good = play_part(fixture, stream_more(stream, fixture->round), &untimed) &&
                play_part(fixture, stream_more(stream, fixture->round + 1), out);
    fixture->round += 2;
    return good;
}

bool streams_measure_steady(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    bool more = fixture->warm;
    bool good = more ? measure_more(fixture, out)
                     : start_all(fixture, NULL) && warm_up(fixture) &&
                           play_part(fixture, &stream->timed, out);
    bench_add_counter(out, "warm_ticks", (double)stream->warm.to_tick);
    /* A late one is where the stream no longer is. */
    return good && (more || fixture->clock > stream->timed.to_tick || watch_steady(fixture, out));
}

/* --- fill and drain -------------------------------------------------------------------------- */

/* Until all have fired, or should have. */
static bool drain_all(struct fixture *fixture, bool patient, struct watch *watch)
{
    const struct stream *stream = stream_of(fixture);
    uint64_t last = fixture->clock + stream->timed.to_tick + late_ticks(fixture);
    return play_until(fixture, stream->initial_count, last, patient, watch);
}

static bool drain_untimed(struct fixture *fixture, struct watch *watch)
{
    const struct stream_part *part = &stream_of(fixture)->timed;
    (void)begin_part(fixture, part, fixture->clock);
    return drain_all(fixture, true, watch) && verify_drained(fixture, &part->expected);
}

static bool watch_fill(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    struct watch watch;
    watch_begin(&watch, stream->initial_count, 0,
                stream->timed.to_tick / stream->key.step_ticks + extra_ticks(fixture));
    bool good = start_all(fixture, &watch) && drain_untimed(fixture, &watch) &&
                watch_growth(fixture, &watch);
    return watch_end(&watch, fixture, good, out);
}

bool streams_measure_fill(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    bool herd = stream->key.callback != 0; /* its callbacks fill it again */
    uint64_t rounds = rounds_of(fixture, stream->initial_count);
    uint64_t fill_ns = 0;
    uint64_t drain_ns = 0;
    struct stretch stretch;
    if (!start_all(fixture, NULL) || !drain_untimed(fixture, NULL)) {
        return false;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        if (!herd) {
            stretch_begin(&stretch, out);
            play_starts(fixture, 0, stream->initial_count, NULL);
            fill_ns += stretch_end(&stretch);
            if (!verify_started(fixture, stream->initial_count)) {
                return false;
            }
        }
        (void)begin_part(fixture, &stream->timed, fixture->clock);
        stretch_begin(&stretch, out);
        (void)drain_all(fixture, false, NULL);
        drain_ns += stretch_end(&stretch);
        if (!verify_drained(fixture, &stream->timed.expected)) {
            return false;
        }
    }
    out->batches = rounds;
    out->operations = stream->initial_count * rounds;
    if (!herd) {
        bench_add_counter(out, "start_ns", (double)fill_ns / (double)out->operations);
        bench_add_counter(out, "expire_ns", (double)drain_ns / (double)out->operations);
    }
    return watch_fill(fixture, out);
}

/* --- the table ------------------------------------------------------------------------------- */

#define EVERYWHERE_AXES                                                                            \
    (1u << AXIS_DELAYS | 1u << AXIS_STEP | 1u << AXIS_TICK | 1u << AXIS_RECORD | 1u << AXIS_NODE | \
     1u << AXIS_PAGES)
#define STEADY_AXES (EVERYWHERE_AXES | 1u << AXIS_WARM | 1u << AXIS_COLD)
#define RESTART_AXES                                                                               \
    (STEADY_AXES | 1u << AXIS_ORDER | 1u << AXIS_EARLIER | 1u << AXIS_CALLBACK | 1u << AXIS_EVERY)

/* Axes of which a stream with its own name for its delays does not list the forms. */
#define NAMED_FLAGS                                                                                \
    (1u << AXIS_DELAYS | 1u << AXIS_ORDER | 1u << AXIS_EARLIER | 1u << AXIS_CALLBACK |             \
     1u << AXIS_EVERY | 1u << AXIS_TICK | 1u << AXIS_WARM | 1u << AXIS_PAGES)

#define STREAM_LIMITS .has_floor = true, .limit = "record-16", .limit_record = "record-64"
#define STREAM_STEADY STREAM_LIMITS, .plan = streams_plan, .measure = streams_measure_steady
#define STREAM_FILL                                                                                \
    STREAM_LIMITS, .source = STREAMS_FILL, .plan = streams_plan, .measure = streams_measure_fill
#define STREAM_RESTARTS                                                                            \
    .axes = RESTART_AXES, .flags_only = NAMED_FLAGS, .floor_label = floor_listed, STREAM_STEADY

#define RESTARTS                                                                                   \
    "random ones of n timers restart, each about every 10,000 ticks; each expiry starts "

static const char floor_listed[] = "fires nothing: called back by a list of the due timers";

const struct suite suites_streams[] = {
    {.text = {.name = "idle-reset",
              .what = "n connections with an idle timer of 30,000 to 60,000 ticks each; random "
                      "ones restart theirs, each about every 10,000 ticks; the clock runs along",
              .why =
                  "what most timers of a server do all day: they are pushed back and rarely fire"},
     .axes = RESTART_AXES,
     STREAM_STEADY},
    {.text = {.name = "fill-drain",
              .what = "n starts, 1 to 60,000 ticks ahead, then tick by tick until all have fired; "
                      "start_ns and expire_ns are its halves",
              .why = "both ends of a timer's life with nothing between: what expiry itself costs",
              .per = "timer"},
     .axes = EVERYWHERE_AXES | 1u << AXIS_ORDER,
     .plain = {{AXIS_DELAYS, DELAYS_MINUTE}, {AXIS_ORDER, STREAM_FORWARD}},
     .floor_label = "fires nothing: the starts and the loop alone",
     STREAM_FILL},
    {.text = {.name = "burst",
              .what = "n starts for one and the same tick, and the advances up to it",
              .why = "how long the loop stands still when all time out at once: longest_advance_ns",
              .per = "timer"},
     .axes = EVERYWHERE_AXES | 1u << AXIS_ORDER,
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_CONST}},
     .floor_label = "fires nothing: the starts and the loop alone",
     STREAM_FILL},
    {.text = {.name = "hold",
              .what = "n timers; each expiry starts its timer again, in its callback, after 6,000 "
                      "ticks in the mean; tick by tick, until as many have fired as an exact "
                      "structure fires",
              .why = "the classic test of event lists, and the life of a retry or heartbeat timer",
              .per = "expiry with its start"},
     .axes = STEADY_AXES,
     .plain = {{AXIS_DELAYS, DELAYS_EXP6}, {AXIS_CALLBACK, CALLBACK_RESTART}, {AXIS_EVERY, 0}},
     .floor_label = floor_listed,
     STREAM_STEADY},
    {.text = {.name = "mixed-server",
              .what = "n connections with three timers each: idle-reset's; a request's of 5,000 "
                      "ticks, 95 % stopped within 50; a retransmission's of 200 ticks, 99 % "
                      "stopped within 5",
              .why = "short-lived timers among long-lived ones, most of them stopped"},
     .axes = (STEADY_AXES | 1u << AXIS_ORDER | 1u << AXIS_EARLIER | 1u << AXIS_EVERY) &
             ~(1u << AXIS_TICK),
     .flags_only = NAMED_FLAGS,
     .source = STREAMS_REQUESTS,
     STREAM_STEADY},
    {.text = {.name = "exponential",
              .what = RESTARTS "its timer again; delays exponential, 30,000 in the mean",
              .why = "timers near and far, many of which are pushed to an earlier tick"},
     .plain = {{AXIS_DELAYS, DELAYS_EXP30}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "bimodal",
              .what = RESTARTS "its timer again; delays of 40 ticks or 7,200,000, half each",
              .why = "retransmissions and keep-alives in one structure, and a far one often made "
                     "near"},
     .plain = {{AXIS_DELAYS, DELAYS_BIMODAL}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "uniform",
              .what = RESTARTS "its timer again; delays of 1,000 to 3,600,000 ticks",
              .why = "delays of every length up to an hour"},
     .plain = {{AXIS_DELAYS, DELAYS_HOUR}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "const",
              .what = RESTARTS "its timer again; all delays 30,000 ticks",
              .why = "one timeout for all, as most servers have it"},
     .plain = {{AXIS_DELAYS, DELAYS_CONST}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "saw",
              .what = "random ones of n timers restart, each about every 1,000 ticks, with 60,000 "
                      "ticks and then 3,000 less each time, down to 3,000, and again",
              .why = "the worst case for deferring: nearly every restart is to an earlier tick"},
     .axes = RESTART_AXES,
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_SAW}, {AXIS_EVERY, 1000}},
     STREAM_STEADY},
    {.text = {.name = "ttl",
              .what = "n keys of a cache, each with a time to live of 1, 5, 10, 30 s, 1, 5, 15 min "
                      "or 1 h; a key that expires is set again, and random ones are overwritten, "
                      "each about every 100,000 ticks",
              .why = "few different delays, from seconds to an hour, of which most expire"},
     .plain = {{AXIS_DELAYS, DELAYS_TTL}, {AXIS_CALLBACK, CALLBACK_RESTART}, {AXIS_EVERY, 100000}},
     STREAM_RESTARTS},
    {.text = {.name = "tcp",
              .what = "n connections with the three timers of TCP: keep-alive of 2 h; delayed "
                      "acknowledgement of 40 ticks, 70 % stopped before; retransmission of 300 "
                      "ticks, 99 % stopped within 60; a segment each about every 1,000 ticks",
              .why = "three timers a segment, of which two live for milliseconds"},
     .axes = (STEADY_AXES | 1u << AXIS_ORDER | 1u << AXIS_EVERY) & ~(1u << AXIS_TICK),
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_KEEPALIVE}, {AXIS_EVERY, 1000}},
     .source = STREAMS_SEGMENTS,
     STREAM_STEADY},
    {.text = {.name = "herd",
              .what = "n timers that are all due at one tick; each starts again in its callback, "
                      "for the next common tick 30,000 later; an advance every 100 ticks",
              .why = "the thundering herd: one advance fires and starts every timer, see "
                     "longest_advance_ns",
              .per = "expiry with its start"},
     .axes = EVERYWHERE_AXES & ~(1u << AXIS_DELAYS),
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_CONST}, {AXIS_CALLBACK, CALLBACK_RESTART}, {AXIS_STEP, 100}},
     .floor_label = "fires nothing: the loop alone",
     STREAM_FILL},
    {.text = {.name = "recorded",
              .what =
                  "copies of a recording, evenly shifted in time, over and over, as many as make "
                  "n timers; in its own ticks; --recording FILE.trace",
              .why = "the demands of a real program on its timers"},
     .axes = (STEADY_AXES | 1u << AXIS_CALLBACK) &
             ~(1u << AXIS_DELAYS | 1u << AXIS_STEP | 1u << AXIS_TICK),
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_RECORDED}, {AXIS_EVERY, 0}},
     .source = STREAMS_RECORDING,
     STREAM_STEADY},
    {.text = {.name = NULL}},
};
