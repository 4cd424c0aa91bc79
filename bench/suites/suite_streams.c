/*
 * Streams: the steady states of a server's timers, and their begin and end. Each plays the same
 * operations for every structure: a warm-up, until the structure's leftovers are as many as they
 * will be; a stretch between two readings of the clock; a stretch with a clock around every call,
 * for the longest.
 *
 * Reactions happen inside callbacks, so a late structure starts late, and skips no work: where all
 * operations are reactions, it is timed until as many timers have fired as an exact structure
 * fires. The next delay is looked up by a mixture of the timer and its tick, which the callback
 * sums up anyway: exact structures get the same delays in any order within a tick, late ones others
 * from the same table.
 */
#include "floor.h"
#include "stream.h"
#include "stretch.h"
#include "suites.h"
#include "watched.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SLICE_TICKS = 256, /* how often patience is asked for */
    SLICE_STARTS = 4096,
    RESERVE_FROM = 1024, /* timers; from there on twice as many each time */
    TICKS_OF_1US = 1000, /* in a millisecond */
    TICKS_OF_1NS = 1000000,
    COARSE_TICK_MS = 100,
};

/* Beyond what lateness explains, a structure is not waited for. */
#define EXTRA_TICKS_MAX (UINT64_C(1) << 20)

static const struct stream *stream_of(const struct fixture *fixture)
{
    return fixture->operations;
}

/* Whether a list of the exact expiries makes the callbacks of a structure that fires nothing, so
 * that its floor includes the same starts. */
static bool is_listed(const struct fixture *fixture)
{
    return !fixture->fires && stream_of(fixture)->key.callback != 0;
}

/* Whether nothing happens but what expiries cause. */
static bool is_closed(const struct fixture *fixture)
{
    return stream_of(fixture)->key.every_ticks == 0 && stream_of(fixture)->key.callback != 0;
}

/* --- records --------------------------------------------------------------------------------- */

/* How many lines of a connection's record are touched. */
enum touched { TOUCH_NONE, TOUCH_FIRST, TOUCH_BOTH, TOUCHED };

static enum touched touched_of(const struct fixture *fixture)
{
    return fixture->record_bytes == 0                  ? TOUCH_NONE
           : fixture->record_bytes > RECORD_LINE_BYTES ? TOUCH_BOTH
                                                       : TOUCH_FIRST;
}

static inline __attribute__((always_inline)) void count_at(void *at)
{
    uint64_t count = 0;
    memcpy(&count, at, sizeof count);
    count++;
    memcpy(at, &count, sizeof count);
}

/* `touched` is a constant in each caller. */
static inline __attribute__((always_inline)) void touch(const struct fixture *fixture, uint32_t id,
                                                        enum touched touched)
{
    if (touched != TOUCH_NONE) {
        unsigned char *record = fixture->records + (size_t)id * fixture->record_bytes;
        count_at(record);
        if (touched == TOUCH_BOTH) {
            count_at(record + fixture->record_bytes - sizeof(uint64_t));
        }
    }
}

/* --- ticks ----------------------------------------------------------------------------------- */

/* A deadline in ticks of the structure. With short ticks, deadlines lie anywhere before the end of
 * their millisecond, so that no level of a hierarchy stays empty. */
static inline __attribute__((always_inline)) uint64_t
deadline_at(uint64_t now, uint32_t id, uint32_t delay_ticks, uint64_t scale)
{
    uint64_t before = (uint64_t)((id ^ delay_ticks) * UINT32_C(0x9E3779B9)) * scale >> 32;
    return scale == 1 ? now + delay_ticks : (now + delay_ticks) * scale - before;
}

/* The most that a structure may be late, in ticks of the stream. */
static uint64_t late_ticks(const struct fixture *fixture)
{
    return fixture->late_ticks / fixture->scale + (fixture->late_ticks % fixture->scale != 0);
}

/* --- callbacks ------------------------------------------------------------------------------- */

/* `scale` is 1 in each caller but those for short ticks; these know the stream's tick by its clock,
 * and spoil the sum if it is not the one that `now` gives. */
static inline __attribute__((always_inline)) void fired(struct fixture *fixture, uint32_t id,
                                                        uint64_t now, enum touched touched,
                                                        bool restart, uint64_t scale)
{
    struct fired *sums = &fixture->fired;
    uint64_t tick = scale == 1 ? now : fixture->clock;
    uint64_t mixed = workload_mix(id, tick - sums->base);
    sums->count++;
    sums->ids += id;
    sums->checksum += mixed + (scale != 1 && now != tick * scale);
    if (id >= fixture->ids) { /* the checks find it */
        return;
    }
    touch(fixture, id, touched);
    if (restart) {
        uint32_t delay_ticks = stream_next_delay(fixture->operations, mixed);
        enum tl_status status =
            fixture->algo->start(fixture->self, id, deadline_at(tick, id, delay_ticks, scale));
        if (status != TL_OK) {
            fixture->failure = status;
        }
    }
}

#define CALLBACK(name, touched, restart)                                                           \
    static void name(void *ctx, uint32_t id, uint64_t now)                                         \
    {                                                                                              \
        fired(ctx, id, now, touched, restart, 1);                                                  \
    }
CALLBACK(on_count, TOUCH_NONE, false)
CALLBACK(on_count_first, TOUCH_FIRST, false)
CALLBACK(on_count_both, TOUCH_BOTH, false)
CALLBACK(on_restart, TOUCH_NONE, true)
CALLBACK(on_restart_first, TOUCH_FIRST, true)
CALLBACK(on_restart_both, TOUCH_BOTH, true)

static void on_count_scaled(void *ctx, uint32_t id, uint64_t now)
{
    struct fixture *fixture = ctx;
    fired(fixture, id, now, touched_of(fixture), false, fixture->scale);
}

static void on_restart_scaled(void *ctx, uint32_t id, uint64_t now)
{
    struct fixture *fixture = ctx;
    fired(fixture, id, now, touched_of(fixture), true, fixture->scale);
}

static tl_fire_fn callback_of(const struct fixture *fixture)
{
    static const tl_fire_fn callbacks[2][TOUCHED] = {
        {on_count, on_count_first, on_count_both},
        {on_restart, on_restart_first, on_restart_both},
    };
    bool restart = stream_of(fixture)->key.callback != 0;
    return fixture->scale == 1 ? callbacks[restart][touched_of(fixture)]
           : restart           ? on_restart_scaled
                               : on_count_scaled;
}

/* --- playing --------------------------------------------------------------------------------- */

/* A place in a part of the stream. */
struct stream_place {
    const struct stream_piece *piece;
    const struct workload_expiry *expiry; /* the next that is called back for, and their end */
    const struct workload_expiry *expiries_end;
    size_t tick;
    size_t stop;
    size_t start;
};

/* `touched`, `watch` and a `scale` of 1 are constants in each caller, here and below, so that each
 * loop holds its own work only. */
static inline __attribute__((always_inline)) enum tl_status
start_each(const struct fixture *fixture, uint64_t now, const struct workload_start *starts,
           size_t count, enum touched touched, struct watch *watch, uint64_t scale)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    void *self = fixture->self;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        touch(fixture, starts[i].id, touched);
        uint64_t begun = watch != NULL ? clock_cycles() : 0;
        enum tl_status status =
            start(self, starts[i].id, deadline_at(now, starts[i].id, starts[i].delay_ticks, scale));
        if (watch != NULL) {
            watch_call(watch, WATCHED_START, begun);
        }
        failure = status != TL_OK ? status : failure;
    }
    return failure;
}

static inline __attribute__((always_inline)) enum tl_status
start_loop(const struct fixture *fixture, uint64_t now, const struct workload_start *starts,
           size_t count, enum touched touched, struct watch *watch)
{
    return fixture->scale == 1
               ? start_each(fixture, now, starts, count, touched, watch, 1)
               : start_each(fixture, now, starts, count, touched, watch, fixture->scale);
}

static inline __attribute__((always_inline)) void stop_loop(const struct fixture *fixture,
                                                            const uint32_t *stops, size_t count,
                                                            enum touched touched,
                                                            struct watch *watch)
{
    enum tl_status (*stop)(void *, uint32_t) = fixture->algo->stop;
    void *self = fixture->self;
    for (size_t i = 0; i < count; i++) {
        touch(fixture, stops[i], touched);
        uint64_t begun = watch != NULL ? clock_cycles() : 0;
        (void)stop(self, stops[i]);
        if (watch != NULL) {
            watch_call(watch, WATCHED_STOP, begun);
        }
    }
}

static inline __attribute__((always_inline)) void
advance_once(struct fixture *fixture, uint64_t now, tl_fire_fn fire, struct watch *watch)
{
    fixture->clock = now;
    uint64_t begun = watch != NULL ? clock_cycles() : 0;
    (void)fixture->algo->advance(fixture->self, now * fixture->scale, TL_NO_BUDGET, fire, fixture);
    if (watch != NULL) {
        watch_call(watch, WATCHED_ADVANCE, begun);
    }
}

/* Plays `count` advances, each with the operations after it. */
static inline __attribute__((always_inline)) void play_loop(struct fixture *fixture,
                                                            struct stream_place *place,
                                                            size_t count, enum touched touched,
                                                            struct watch *watch)
{
    tl_fire_fn fire = callback_of(fixture);
    const struct stream_tick *ticks = place->piece->ticks + place->tick;
    const uint32_t *stops = place->piece->stops + place->stop;
    const struct workload_start *starts = place->piece->starts + place->start;
    const struct workload_expiry *expiry = place->expiry;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = ticks[i].tick;
        advance_once(fixture, now, fire, watch);
        for (; expiry < place->expiries_end && expiry->tick <= now; expiry++) {
            fire(fixture, expiry->id, now * fixture->scale);
        }
        stop_loop(fixture, stops, ticks[i].stops, touched, watch);
        stops += ticks[i].stops;
        enum tl_status status = start_loop(fixture, now, starts, ticks[i].starts, touched, watch);
        failure = status != TL_OK ? status : failure;
        starts += ticks[i].starts;
    }
    fixture->failure = failure != TL_OK ? failure : fixture->failure;
    place->expiry = expiry;
    place->tick += count;
    place->stop = (size_t)(stops - place->piece->stops);
    place->start = (size_t)(starts - place->piece->starts);
}

/* Play with a clock around every call if `watch` is not NULL. */
static void play_piece(struct fixture *fixture, struct stream_place *place, size_t count,
                       struct watch *watch)
{
#define PLAY(touched)                                                                              \
    (watch == NULL ? play_loop(fixture, place, count, touched, NULL)                               \
                   : play_loop(fixture, place, count, touched, watch))
    switch (touched_of(fixture)) {
    case TOUCH_NONE:
        PLAY(TOUCH_NONE);
        break;
    case TOUCH_FIRST:
        PLAY(TOUCH_FIRST);
        break;
    default:
        PLAY(TOUCH_BOTH);
    }
#undef PLAY
}

/* What other work does to the caches between two advances. */
static void empty_caches(const struct fixture *fixture)
{
    for (size_t at = 0; at < fixture->cold_bytes; at += RECORD_LINE_BYTES) {
        fixture->cold[at]++;
    }
}

static void play_timed(struct fixture *fixture, struct stream_place *place, size_t count,
                       struct bench_measured *out)
{
    struct stretch stretch;
    size_t slice = fixture->cold != NULL ? 1 : count;
    for (size_t played = 0; played < count; played += slice) {
        empty_caches(fixture);
        stretch_begin(&stretch, out);
        play_piece(fixture, place, slice, NULL);
        (void)stretch_end(&stretch);
    }
}

/* Out of patience, it ends early: the figures are there already. True if it played all. */
static bool play_watched(struct fixture *fixture, struct stream_place *place, struct watch *watch)
{
    size_t slice = fixture->cold != NULL ? 1 : SLICE_TICKS;
    size_t left = place->piece->tick_count;
    while (left > 0 && has_patience(fixture)) {
        size_t count = left < slice ? left : slice;
        empty_caches(fixture);
        play_piece(fixture, place, count, watch);
        left -= count;
    }
    return left == 0;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Reset the sums of expiries; ticks count on from the stream's begin. A floor gets its list of
 * expiries, a structure that fires nothing the list of callbacks. */
static struct stream_place begin_part(struct fixture *fixture, const struct stream_part *part)
{
    struct stream_place place = {.piece = &part->piece};
    uint64_t base = fixture->fired.base;
    reset_fired(fixture);
    fixture->fired.base = base;
    if (floor_is(fixture->algo)) {
        floor_schedule(fixture->self, part->expiries, part->expiry_count, base, fixture->scale);
    }
    if (is_listed(fixture)) {
        place.expiry = part->expiries;
        place.expiries_end = part->expiries + part->expiry_count;
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

static bool start_initial(struct fixture *fixture)
{
    const struct stream *stream = stream_of(fixture);
    for (size_t at = 0; at < stream->initial_count; at += SLICE_STARTS) {
        size_t left = stream->initial_count - at;
        enum tl_status status =
            start_loop(fixture, fixture->clock, stream->initial + at,
                       left < SLICE_STARTS ? left : SLICE_STARTS, TOUCH_NONE, NULL);
        fixture->failure = status != TL_OK ? status : fixture->failure;
        if (!still_patient(fixture)) {
            return false;
        }
    }
    return verify_started(fixture, stream->initial_count);
}

/* Goes through the warm-up, made next to it; what keeps no timers needs none. */
static bool warm_up(struct fixture *fixture)
{
    const struct stream *stream = stream_of(fixture);
    uint32_t end = stream->warm.to_tick;
    (void)begin_part(fixture, &stream->warm);
    if (!fixture->fires || floor_is(fixture->algo)) {
        fixture->clock = end;
        (void)fixture->algo->advance(fixture->self, end * fixture->scale, TL_NO_BUDGET, on_fire,
                                     &fixture->fired);
        return true;
    }
    struct stream_source *source = stream_source_new(stream);
    for (uint32_t tick = 0; tick < end; tick += SLICE_TICKS) {
        uint32_t to = end - tick < SLICE_TICKS ? end : tick + SLICE_TICKS;
        struct stream_place place = {.piece = stream_source_piece(source, to)};
        play_piece(fixture, &place, place.piece->tick_count, NULL);
        if (!still_patient(fixture)) {
            stream_source_free(source);
            return false;
        }
    }
    stream_source_free(source);
    return verify_part(fixture, &stream->warm);
}

/* Ticks that a late structure may need beyond the stream's, within reason. */
static uint64_t extra_ticks(const struct fixture *fixture)
{
    return late_ticks(fixture) < EXTRA_TICKS_MAX ? late_ticks(fixture) : EXTRA_TICKS_MAX;
}

/* In a closed loop, a late structure goes on until it has fired as many timers as an exact one: for
 * the ticks that it needs if each expiry is as late as possible, plus an eighth, because its delays
 * differ. */
static void play_out(struct fixture *fixture, const struct stream_part *part,
                     struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    uint64_t ticks = part->to_tick - part->from_tick;
    uint64_t late = extra_ticks(fixture);
    uint64_t times = 2 + part->expected.count / fixture->ids;
    uint64_t extra = ticks / 8 + stream->max_delay_ticks + times * late;
    uint64_t most = 8 * ticks + EXTRA_TICKS_MAX;
    uint64_t last = part->to_tick + (extra < most ? extra : most);
    tl_fire_fn fire = callback_of(fixture);
    uint64_t now = fixture->clock;
    struct stretch stretch;
    stretch_begin(&stretch, out);
    while (fixture->fired.count < part->expected.count && now < last) {
        now += stream->key.step_ticks;
        advance_once(fixture, now, fire, NULL);
    }
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

/* --- growing --------------------------------------------------------------------------------- */

/* Another structure in its place that has to grow while timers are pending, with a clock around
 * every time that it does. */
static bool watch_reserve(struct fixture *fixture, struct watch *watch)
{
    uint32_t capacity = fixture->ids / 8 < RESERVE_FROM ? fixture->ids / 8 : RESERVE_FROM;
    struct tl_records records = fixture_records(fixture, fixture->records);
    struct tl_config config = {
        .capacity = capacity,
        .max_delay_ticks = fixture->max_delay_ticks,
        .options = fixture->row->subject->options,
        .allocator = tl_system_allocator(),
        .records = fixture->node_in ? &records : NULL,
    };
    fixture->algo->destroy(fixture->self);
    fixture->self = NULL;
    if (fixture->records != NULL) {
        memset(fixture->records, 0, fixture->record_bytes * fixture->ids);
    }
    void *self = NULL;
    enum tl_status status = fixture->algo->create(&config, &self);
    if (status != TL_OK) {
        return fail(fixture, "create: %s (%s)", tl_status_text(status), tl_status_name(status));
    }
    fixture->self = self;
    uint32_t id = 0;
    while (capacity < fixture->ids && has_patience(fixture)) {
        for (; id < capacity; id++) {
            uint32_t delay_ticks = stream_of(fixture)->delays[id % (1 << STREAM_TABLE_BITS)];
            (void)fixture->algo->start(self, id, deadline_at(0, id, delay_ticks, fixture->scale));
        }
        capacity = capacity < fixture->ids / 2 ? 2 * capacity : fixture->ids;
        uint64_t begun = clock_cycles();
        status = fixture->algo->reserve(self, capacity);
        watch_call(watch, WATCHED_RESERVE, begun);
        if (status != TL_OK) {
            return fail(fixture, "reserve: %s (%s)", tl_status_text(status),
                        tl_status_name(status));
        }
    }
    return true;
}

/* Then the longest calls are in the figures. */
static bool end_watch(struct fixture *fixture, struct watch *watch, struct bench_measured *out)
{
    if (!floor_is(fixture->algo) && !watch_reserve(fixture, watch)) {
        watch_end(watch);
        return false;
    }
    watch_report(fixture, watch, out);
    return true;
}

/* --- steady states --------------------------------------------------------------------------- */

static bool watch_steady(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream_part *part = &stream_of(fixture)->watched;
    struct watch watch;
    watch_begin(&watch, part->piece.start_count, part->piece.stop_count, part->piece.tick_count);
    struct stream_place place = begin_part(fixture, part);
    if (play_watched(fixture, &place, &watch) && !verify_part(fixture, part)) {
        watch_end(&watch);
        return false;
    }
    if (!suite_keeps()) {
        return end_watch(fixture, &watch, out);
    }
    /* Reserving takes another structure: the longest of it is not measured. */
    fixture->warm = fixture->clock == part->to_tick;
    watch_report(fixture, &watch, out);
    return true;
}

static bool play_part(struct fixture *fixture, const struct stream_part *part,
                      struct bench_measured *out)
{
    bool late = fixture->fires && !fixture->exact;
    struct stream_place place = begin_part(fixture, part);
    play_timed(fixture, &place, part->piece.tick_count, out);
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

/* Goes on with the stream: a part for the caches, which others have used since, and one that is
 * timed. */
static bool measure_more(struct fixture *fixture, struct bench_measured *out)
{
    struct bench_measured untimed = {0};
    const struct stream *stream = stream_of(fixture);
    bool good = play_part(fixture, stream_more(stream, fixture->round), &untimed) &&
                play_part(fixture, stream_more(stream, fixture->round + 1), out);
    fixture->round += 2;
    bench_add_counter(out, "warm_ticks", (double)stream->warm.to_tick);
    return good;
}

bool streams_measure_steady(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    if (fixture->warm) {
        return measure_more(fixture, out);
    }
    if (!start_initial(fixture) || !warm_up(fixture) || !play_part(fixture, &stream->timed, out)) {
        return false;
    }
    bench_add_counter(out, "warm_ticks", (double)stream->warm.to_tick);
    /* A late one is where the stream no longer is. */
    return fixture->clock > stream->timed.to_tick || watch_steady(fixture, out);
}

/* Return a frozen suite's entry for the row; NULL: the suite is not frozen. */
static const struct frozen *frozen_of(const struct fixture *fixture)
{
    const struct frozen *frozen = fixture->row->suite->frozen;
    while (frozen != NULL && frozen->n != fixture->row->n) {
        frozen++;
    }
    return frozen;
}

/* With short ticks, a hierarchy sized by the longest delay may ask for any amount. */
#define SCALED_MEMORY_BYTES (UINT64_C(1) << 32)

/* The structure's ticks in one of the stream. */
static uint64_t scale_of(uint64_t tick)
{
    return tick == TICK_1US ? TICKS_OF_1US : tick == TICK_1NS ? TICKS_OF_1NS : 1;
}

bool streams_plan(struct fixture *fixture)
{
    const enum stream_source_kind from = (enum stream_source_kind)fixture->row->suite->source;
    const struct frozen *frozen = frozen_of(fixture);
    const struct stream_recording *recording = stream_recording();
    bool fill = from == STREAMS_FILL;
    bool recorded = from == STREAMS_RECORDING;
    const uint64_t *at = fixture->row->shape.at;
    if ((recorded || at[AXIS_DELAYS] == DELAYS_RECORDED) && recording == NULL) {
        return leave_out(fixture, "it needs --recording FILE.trace, which `timerlab trace import` "
                                  "makes");
    }
    if (recorded && fixture->row->n < recording->timers) {
        return leave_out(fixture, "the recording alone has %" PRIu32 " timers", recording->timers);
    }
    uint32_t tick_ms = at[AXIS_TICK] == TICK_100MS ? COARSE_TICK_MS : 1;
    if (at[AXIS_EVERY] > 0 && at[AXIS_EVERY] < tick_ms) {
        return leave_out(fixture, "its timers restart within a tick of %" PRIu32 " ms", tick_ms);
    }
    const struct stream_key key = {
        .connections = recorded ? fixture->row->n / recording->timers : fixture->row->n,
        .recorded = recorded,
        .timers = from == STREAMS_REQUESTS   ? STREAM_REQUESTS
                  : from == STREAMS_SEGMENTS ? STREAM_SEGMENTS
                                             : STREAM_TIMER,
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
    if (fill && (at[AXIS_ORDER] == STREAM_HOT || at[AXIS_ORDER] == STREAM_ZIPF)) {
        return leave_out(fixture, "each timer is started once: none is so more often");
    }
    const struct stream *stream = stream_get(&key);
    if (frozen != NULL && stream->checksum != frozen->checksum) {
        return fail(fixture,
                    "these are not the operations of %s: their checksum is %016" PRIx64
                    ", not %016" PRIx64 "; measure with a version that has them",
                    fixture->row->suite->standard, stream->checksum, frozen->checksum);
    }
    fixture->operations = stream;
    fixture->ids = stream->ids;
    fixture->scale = scale_of(at[AXIS_TICK]);
    fixture->max_delay_ticks = stream->max_delay_ticks * fixture->scale;
    if (fixture->scale > 1) {
        fixture->memory_limit_bytes = SCALED_MEMORY_BYTES;
    }
    return true;
}

/* --- fill and drain -------------------------------------------------------------------------- */

static void start_fill(struct fixture *fixture, size_t from, size_t count, struct watch *watch)
{
    const struct workload_start *starts = stream_of(fixture)->initial + from;
    uint64_t now = fixture->clock;
    enum touched touched = touched_of(fixture);
    enum tl_status status =
        watch != NULL            ? start_loop(fixture, now, starts, count, touched, watch)
        : touched == TOUCH_NONE  ? start_loop(fixture, now, starts, count, TOUCH_NONE, NULL)
        : touched == TOUCH_FIRST ? start_loop(fixture, now, starts, count, TOUCH_FIRST, NULL)
                                 : start_loop(fixture, now, starts, count, TOUCH_BOTH, NULL);
    fixture->failure = status != TL_OK ? status : fixture->failure;
}

static bool fill_untimed(struct fixture *fixture, struct watch *watch)
{
    size_t n = stream_of(fixture)->initial_count;
    for (size_t from = 0; from < n; from += SLICE_STARTS) {
        start_fill(fixture, from, n - from < SLICE_STARTS ? n - from : SLICE_STARTS, watch);
        if (!still_patient(fixture)) {
            return false;
        }
    }
    return verify_started(fixture, n);
}

/* Until all have fired, or should have. */
static inline __attribute__((always_inline)) bool drain_loop(struct fixture *fixture,
                                                             struct watch *watch, bool patient)
{
    const struct stream *stream = stream_of(fixture);
    tl_fire_fn fire = callback_of(fixture);
    uint64_t end = fixture->clock + stream->timed.to_tick + late_ticks(fixture);
    uint64_t now = fixture->clock;
    uint64_t step = stream->key.step_ticks;
    uint64_t advances = 0;
    while (now < end && fixture->fired.count < stream->initial_count) {
        now += step;
        advance_once(fixture, now, fire, watch);
        if (patient && ++advances % SLICE_TICKS == 0 && !still_patient(fixture)) {
            return false;
        }
    }
    return true;
}

static void schedule_drain(struct fixture *fixture)
{
    const struct stream_part *part = &stream_of(fixture)->timed;
    reset_fired(fixture);
    if (floor_is(fixture->algo)) {
        floor_schedule(fixture->self, part->expiries, part->expiry_count, fixture->clock,
                       fixture->scale);
    }
}

static bool drain_untimed(struct fixture *fixture, struct watch *watch)
{
    schedule_drain(fixture);
    bool drained =
        watch != NULL ? drain_loop(fixture, watch, true) : drain_loop(fixture, NULL, true);
    return drained && verify_drained(fixture, &stream_of(fixture)->timed.expected);
}

static bool watch_fill(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    struct watch watch;
    watch_begin(&watch, stream->initial_count, 0,
                stream->timed.to_tick / stream->key.step_ticks + extra_ticks(fixture));
    if (!fill_untimed(fixture, &watch) || !drain_untimed(fixture, &watch)) {
        watch_end(&watch);
        return false;
    }
    return end_watch(fixture, &watch, out);
}

bool streams_measure_fill(struct fixture *fixture, struct bench_measured *out)
{
    const struct stream *stream = stream_of(fixture);
    bool herd = stream->key.callback != 0; /* its callbacks fill it again */
    uint64_t rounds = rounds_of(fixture, stream->initial_count);
    uint64_t fill_ns = 0;
    uint64_t drain_ns = 0;
    if (!fill_untimed(fixture, NULL) || !drain_untimed(fixture, NULL)) {
        return false;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        struct stretch stretch;
        if (!herd) {
            stretch_begin(&stretch, out);
            start_fill(fixture, 0, stream->initial_count, NULL);
            fill_ns += stretch_end(&stretch);
            if (!verify_started(fixture, stream->initial_count)) {
                return false;
            }
        }
        schedule_drain(fixture);
        stretch_begin(&stretch, out);
        (void)drain_loop(fixture, NULL, false);
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
                  "what most timers of a server do all day: they are pushed back and rarely fire",
              .per = "operation"},
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
              .why = "short-lived timers among long-lived ones, most of them stopped",
              .per = "operation"},
     .axes = (STEADY_AXES | 1u << AXIS_ORDER | 1u << AXIS_EARLIER | 1u << AXIS_EVERY) &
             ~(1u << AXIS_TICK),
     .flags_only = NAMED_FLAGS,
     .source = STREAMS_REQUESTS,
     STREAM_STEADY},
    {.text = {.name = "exponential",
              .what = RESTARTS "its timer again; delays exponential, 30,000 in the mean",
              .why = "timers near and far, many of which are pushed to an earlier tick",
              .per = "operation"},
     .plain = {{AXIS_DELAYS, DELAYS_EXP30}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "bimodal",
              .what = RESTARTS "its timer again; delays of 40 ticks or 7,200,000, half each",
              .why = "retransmissions and keep-alives in one structure, and a far one often made "
                     "near",
              .per = "operation"},
     .plain = {{AXIS_DELAYS, DELAYS_BIMODAL}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "uniform",
              .what = RESTARTS "its timer again; delays of 1,000 to 3,600,000 ticks",
              .why = "delays of every length up to an hour",
              .per = "operation"},
     .plain = {{AXIS_DELAYS, DELAYS_HOUR}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "const",
              .what = RESTARTS "its timer again; all delays 30,000 ticks",
              .why = "one timeout for all, as most servers have it",
              .per = "operation"},
     .plain = {{AXIS_DELAYS, DELAYS_CONST}, {AXIS_CALLBACK, CALLBACK_RESTART}},
     STREAM_RESTARTS},
    {.text = {.name = "saw",
              .what = "random ones of n timers restart, each about every 1,000 ticks, with 60,000 "
                      "ticks and then 3,000 less each time, down to 3,000, and again",
              .why = "the worst case for deferring: nearly every restart is to an earlier tick",
              .per = "operation"},
     .axes = RESTART_AXES,
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_SAW}, {AXIS_EVERY, 1000}},
     STREAM_STEADY},
    {.text = {.name = "ttl",
              .what = "n keys of a cache, each with a time to live of 1, 5, 10, 30 s, 1, 5, 15 min "
                      "or 1 h; a key that expires is set again, and random ones are overwritten, "
                      "each about every 100,000 ticks",
              .why = "few different delays, from seconds to an hour, of which most expire",
              .per = "operation"},
     .plain = {{AXIS_DELAYS, DELAYS_TTL}, {AXIS_CALLBACK, CALLBACK_RESTART}, {AXIS_EVERY, 100000}},
     STREAM_RESTARTS},
    {.text = {.name = "tcp",
              .what = "n connections with the three timers of TCP: keep-alive of 2 h; delayed "
                      "acknowledgement of 40 ticks, 70 % stopped before; retransmission of 300 "
                      "ticks, 99 % stopped within 60; a segment each about every 1,000 ticks",
              .why = "three timers a segment, of which two live for milliseconds",
              .per = "operation"},
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
              .why = "the demands of a real program on its timers",
              .per = "operation"},
     .axes = (STEADY_AXES | 1u << AXIS_CALLBACK) &
             ~(1u << AXIS_DELAYS | 1u << AXIS_STEP | 1u << AXIS_TICK),
     .flags_only = NAMED_FLAGS,
     .plain = {{AXIS_DELAYS, DELAYS_RECORDED}, {AXIS_EVERY, 0}},
     .source = STREAMS_RECORDING,
     STREAM_STEADY},
    {.text = {.name = NULL}},
};
