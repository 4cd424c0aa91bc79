/*
 * One generator makes all streams. It has the due tick of each timer, and computes the expiries
 * since only when the timer is operated upon or a part ends: it then follows the chain of restarts
 * by the callbacks. So it touches one number for an operation.
 */
#include "stream.h"

#include "memory.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define NOT_PENDING UINT32_MAX

enum {
    QUANTILES = 1 << STREAM_TABLE_BITS,
    CONNECTION_TIMERS = 3,
    AHEAD = 64, /* ticks for which stops are known beforehand: a power of two */
    HOT_SHARE = 10,

    /* All levels of a wheel of 65,536 slots turn in the shortest warm-up and in the watched part,
     * memory permitting. */
    ROUND_TICKS = 70001,
    WARM_OPERATIONS = 1 << 24, /* as many are made, where the warm-up says nothing else */
    TIMED_TICKS = 10000,
    RECORDED_TICKS = 2000, /* the same of a recording, which has more operations in a tick */
    TIMED_OPERATIONS = 100000,
    TIMED_TICKS_MAX = 1 << 20,
    WATCHED_OPERATIONS = 1 << 24,
    SHORT_TICKS = 2000, /* each part, where figures are not wanted */
};

/* Timers that a connection starts in addition to its first, each time that it is heard from. */
static const struct extra_timer {
    uint32_t delay_ticks;
    uint32_t kept_percent;   /* not stopped before they expire */
    uint32_t stop_ticks_max; /* the others are stopped within 1 to this many ticks */
} extra_timers[][CONNECTION_TIMERS - 1] = {
    [STREAM_REQUESTS] = {{5000, 5, 50}, {200, 1, 5}},
    [STREAM_SEGMENTS] = {{40, 30, 39}, {300, 1, 60}},
};

static uint32_t timers_of(const struct stream_key *key)
{
    return key->timers != STREAM_TIMER ? CONNECTION_TIMERS : 1;
}

/* --- delays ---------------------------------------------------------------------------------- */

static uint32_t draw_delay(const struct stream *stream, uint64_t *state)
{
    return stream->delays[workload_random_below(state, QUANTILES)];
}

/* Draw the rest of a delay at a random instant: long delays are more often under way. */
static uint32_t draw_residual(const struct stream *stream, uint64_t *state)
{
    uint32_t delay = 0;
    do {
        delay = draw_delay(stream, state);
    } while (workload_random_below(state, stream->max_delay_ticks) >= delay);
    return 1 + workload_random_below(state, delay);
}

static double mean_delay(const struct stream *stream)
{
    double sum = 0;
    for (int i = 0; i < QUANTILES; i++) {
        sum += stream->delays[i];
    }
    return sum / QUANTILES;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static void add_tick(struct stream_piece *piece, uint32_t tick)
{
    MEMORY_REACH(piece->ticks, piece->tick_room, piece->tick_count);
    piece->ticks[piece->tick_count++] = (struct stream_tick){.tick = tick};
}

static void add_stop(struct stream_piece *piece, uint32_t id)
{
    MEMORY_REACH(piece->stops, piece->stop_room, piece->stop_count);
    piece->stops[piece->stop_count++] = id;
    piece->ticks[piece->tick_count - 1].stops++;
}

static void add_start(struct stream_piece *piece, uint32_t id, uint32_t delay_ticks)
{
    MEMORY_REACH(piece->starts, piece->start_room, piece->start_count);
    piece->starts[piece->start_count++] =
        (struct workload_start){.id = id, .delay_ticks = delay_ticks};
    piece->ticks[piece->tick_count - 1].starts++;
}

static void free_piece(struct stream_piece *piece)
{
    free(piece->ticks);
    free(piece->stops);
    free(piece->starts);
}

/* --- the generator --------------------------------------------------------------------------- */

/* Timers that will be stopped at one tick. */
struct stops {
    uint32_t *ids;
    size_t count;
    size_t room;
};

struct stream_source {
    const struct stream *stream;
    uint64_t state;
    uint32_t now;
    uint64_t heard;       /* of connections, so far */
    uint32_t *due;        /* by id: the tick, or NOT_PENDING */
    unsigned char *teeth; /* by id: restarts so far, for DELAYS_SAW */
    struct stops stops[AHEAD];
    struct stream_piece piece;
    XXH3_state_t *hash; /* of the operations; NULL: not wanted */
    struct stream_part
        *part; /* gets the sums of expiries, and their list but for the warm-up; NULL: none
                               * does */
    size_t expiry_room;
};

/* The advance that passes a tick. */
static uint32_t advance_at(const struct stream *stream, uint32_t tick)
{
    uint32_t step = stream->key.step_ticks;
    return (tick + step - 1) / step * step;
}

static void note_expiry(struct stream_source *source, uint32_t id, uint32_t tick)
{
    struct stream_part *part = source->part;
    uint64_t at = part->expected.count++;
    part->expected.ids += id;
    part->expected.checksum += workload_mix(id, tick);
    if (part != &source->stream->warm) {
        MEMORY_REACH(part->expiries, source->expiry_room, at);
        part->expiries[at] = (struct workload_start){.id = id, .delay_ticks = tick};
    }
}

/* Follows a timer up to now. */
static void settle(struct stream_source *source, uint32_t id)
{
    const struct stream *stream = source->stream;
    uint32_t due = source->due[id];
    while (due <= source->now) {
        uint32_t tick = advance_at(stream, due);
        if (source->part != NULL) {
            note_expiry(source, id, tick);
        }
        due = stream->key.callback ? tick + stream_next_delay(stream, workload_mix(id, tick))
                                   : NOT_PENDING;
    }
    source->due[id] = due;
}

/* One of n ranks with a share of 1/rank, the most frequent ones apart in memory. */
static uint32_t draw_zipf(uint64_t *state, uint32_t n)
{
    static const uint64_t prime = UINT64_C(2654435761);
    double u = (workload_random_below(state, UINT32_MAX) + 0.5) / UINT32_MAX;
    uint64_t rank = (uint64_t)random_exp(u * random_log((double)n + 1)) - 1;
    return (uint32_t)((rank < n ? rank : n - 1) * prime % n);
}

static uint32_t draw_connection(struct stream_source *source)
{
    const struct stream_key *key = &source->stream->key;
    uint32_t n = key->connections;
    uint32_t at = (uint32_t)(source->heard % n);
    switch (key->order) {
    case STREAM_FORWARD:
        return at;
    case STREAM_BACKWARD:
        return n - 1 - at;
    case STREAM_HOT:
        if (workload_random_below(&source->state, HOT_SHARE) > 0) {
            return HOT_SHARE * workload_random_below(&source->state, n / HOT_SHARE);
        }
        return workload_random_below(&source->state, n);
    case STREAM_ZIPF:
        return draw_zipf(&source->state, n);
    default:
        return workload_random_below(&source->state, n);
    }
}

/* The delay of a timer's restart. */
static uint32_t draw_restart(struct stream_source *source, uint32_t id)
{
    const struct stream *stream = source->stream;
    uint32_t due = source->due[id];
    if (stream->key.earlier > 0 &&
        workload_random_below(&source->state, STREAM_SHARE) < stream->key.earlier &&
        due != NOT_PENDING && due > source->now + 1) {
        return 1 + workload_random_below(&source->state, due - source->now - 1);
    }
    if (source->teeth != NULL) {
        unsigned tooth = source->teeth[id];
        source->teeth[id] = (unsigned char)((tooth + 1) % STREAM_SAW_TEETH);
        return STREAM_SAW_TICKS * (STREAM_SAW_TEETH - tooth) / stream->key.tick_ms;
    }
    return draw_delay(stream, &source->state);
}

static void add_restart(struct stream_source *source, uint32_t id, uint32_t delay_ticks)
{
    source->due[id] = source->now + delay_ticks;
    add_start(&source->piece, id, delay_ticks);
}

static void stop_later(struct stream_source *source, uint32_t id, uint32_t ticks)
{
    /* Those between two advances come with the later one. */
    struct stops *stops = &source->stops[advance_at(source->stream, source->now + ticks) /
                                         source->stream->key.step_ticks % AHEAD];
    MEMORY_REACH(stops->ids, stops->room, stops->count);
    stops->ids[stops->count++] = id;
}

static void stop_some(struct stream_source *source)
{
    struct stops *stops = &source->stops[source->now / source->stream->key.step_ticks % AHEAD];
    for (size_t i = 0; i < stops->count; i++) {
        settle(source, stops->ids[i]);
        source->due[stops->ids[i]] = NOT_PENDING;
        add_stop(&source->piece, stops->ids[i]);
    }
    stops->count = 0;
}

/* A connection is heard from. */
static void hear(struct stream_source *source)
{
    uint32_t connection = draw_connection(source);
    source->heard++;
    uint32_t timers = source->stream->key.timers;
    uint32_t id = connection * timers_of(&source->stream->key);
    settle(source, id);
    add_restart(source, id, draw_restart(source, id));
    if (timers == STREAM_TIMER) {
        return;
    }
    uint32_t stop_ticks[CONNECTION_TIMERS - 1];
    for (uint32_t i = 0; i < CONNECTION_TIMERS - 1; i++) {
        stop_ticks[i] =
            1 + workload_random_below(&source->state, extra_timers[timers][i].stop_ticks_max);
    }
    for (uint32_t i = 0; i < CONNECTION_TIMERS - 1; i++) {
        settle(source, id + 1 + i);
        add_restart(source, id + 1 + i, extra_timers[timers][i].delay_ticks);
    }
    for (uint32_t i = 0; i < CONNECTION_TIMERS - 1; i++) {
        if (workload_random_below(&source->state, 100) >= extra_timers[timers][i].kept_percent) {
            stop_later(source, id + 1 + i, stop_ticks[i]);
        }
    }
}

/* All copies of the recording go on by a tick; they lie evenly over its period. */
static void play_recording(struct stream_source *source)
{
    const struct stream_recording *recording = stream_recording();
    uint32_t copies = source->stream->key.connections;
    for (uint32_t copy = 0; copy < copies; copy++) {
        uint64_t ahead = (uint64_t)copy * recording->period_ticks / copies;
        uint64_t tick = (source->now + ahead) % recording->period_ticks;
        for (size_t i = recording->first[tick]; i < recording->first[tick + 1]; i++) {
            const struct workload_start *operation = &recording->operations[i];
            uint32_t id = copy * recording->timers + operation->id;
            settle(source, id);
            if (operation->delay_ticks > 0) {
                add_restart(source, id, operation->delay_ticks);
            } else {
                source->due[id] = NOT_PENDING;
                add_stop(&source->piece, id);
            }
        }
    }
}

static void hash_tick(struct stream_source *source)
{
    const struct stream_piece *piece = &source->piece;
    const struct stream_tick *tick = &piece->ticks[piece->tick_count - 1];
    (void)XXH3_64bits_update(source->hash, tick, sizeof *tick);
    (void)XXH3_64bits_update(source->hash, piece->stops + piece->stop_count - tick->stops,
                             tick->stops * sizeof *piece->stops);
    (void)XXH3_64bits_update(source->hash, piece->starts + piece->start_count - tick->starts,
                             tick->starts * sizeof *piece->starts);
}

/* One advance more, and the operations after it. */
static void go_one_step(struct stream_source *source)
{
    const struct stream_key *key = &source->stream->key;
    uint64_t before = source->now;
    source->now += key->step_ticks;
    add_tick(&source->piece, source->now);
    stop_some(source);
    if (key->recorded) {
        play_recording(source);
    } else if (key->every_ticks > 0) {
        uint64_t n = key->connections;
        uint64_t count = source->now * n / key->every_ticks - before * n / key->every_ticks;
        for (uint64_t i = 0; i < count; i++) {
            hear(source);
        }
    }
    if (source->hash != NULL) {
        hash_tick(source);
    }
}

const struct stream_piece *stream_source_piece(struct stream_source *source, uint32_t to_tick)
{
    source->piece.tick_count = 0;
    source->piece.stop_count = 0;
    source->piece.start_count = 0;
    while (source->now < to_tick) {
        go_one_step(source);
    }
    return &source->piece;
}

void stream_source_free(struct stream_source *source)
{
    if (source == NULL) {
        return;
    }
    for (size_t i = 0; i < AHEAD; i++) {
        free(source->stops[i].ids);
    }
    free_piece(&source->piece);
    free(source->due);
    free(source->teeth);
    free(source);
}

struct stream_source *stream_source_new(const struct stream *stream)
{
    struct stream_source *source = memory_new(1, sizeof *source);
    source->stream = stream;
    source->state = workload_seed(stream->key.connections ^ UINT64_C(1) << 40);
    source->due = memory_new(stream->ids, sizeof *source->due);
    bool saw = stream->key.delays == DELAYS_SAW;
    source->teeth = saw ? memory_new(stream->ids, sizeof *source->teeth) : NULL;
    memset(source->due, 0xff, stream->ids * sizeof *source->due);
    for (size_t i = 0; i < stream->initial_count; i++) {
        source->due[stream->initial[i].id] = stream->initial[i].delay_ticks;
    }
    return source;
}

/* --- streams --------------------------------------------------------------------------------- */

/* Make the starts at tick 0: of a fill all timers, with whole delays; of a steady state the rests
 * of delays, in any order. */
static void make_initial(struct stream *stream)
{
    const struct stream_key *key = &stream->key;
    uint32_t n = key->recorded ? 0 : key->connections; /* copies begin with nothing */
    uint64_t state = workload_seed(n);
    stream->initial = memory_new(n + 1, sizeof *stream->initial);
    stream->initial_count = n;
    for (uint32_t i = 0; i < n; i++) {
        stream->initial[i].id = key->order == STREAM_BACKWARD ? n - 1 - i : i;
    }
    if (key->order != STREAM_FORWARD && key->order != STREAM_BACKWARD) {
        workload_shuffle(stream->initial, sizeof *stream->initial, n, &state);
    }
    for (uint32_t i = 0; i < n; i++) {
        stream->initial[i].id *= timers_of(key);
        stream->initial[i].delay_ticks =
            key->fill ? draw_delay(stream, &state) : draw_residual(stream, &state);
    }
}

/* Sum up the expiries until the part's end, and count the pending timers. */
static void end_part(struct stream_source *source)
{
    struct stream_part *part = source->part;
    part->to_tick = source->now;
    for (uint32_t id = 0; id < source->stream->ids; id++) {
        settle(source, id);
        part->pending += source->due[id] != NOT_PENDING;
    }
    if (part != &source->stream->warm) {
        struct workload_start *sorted = memory_new(part->expected.count + 1, sizeof *sorted);
        workload_sort(part->expiries, part->expected.count, part->from_tick, part->to_tick, sorted);
        free(part->expiries);
        part->expiries = sorted;
    }
}

/* Makes a part of `ticks` ticks, and keeps its operations. */
static void make_part(struct stream_source *source, struct stream_part *part, uint32_t ticks)
{
    source->part = part;
    source->expiry_room = 0;
    part->from_tick = source->now;
    (void)stream_source_piece(source, advance_at(source->stream, source->now + ticks));
    part->piece = source->piece;
    source->piece = (struct stream_piece){0};
    end_part(source);
}

static void make_warm_up(struct stream_source *source, struct stream_part *part)
{
    enum { SLICE_TICKS = 256 };
    uint32_t to = advance_at(source->stream, source->stream->key.warm_ticks);
    source->part = part;
    for (uint32_t tick = 0; tick < to; tick += SLICE_TICKS) {
        uint32_t end = to - tick < SLICE_TICKS ? to : tick + SLICE_TICKS;
        (void)stream_source_piece(source, end);
    }
    end_part(source);
}

struct lengths {
    uint32_t warm;
    uint32_t timed;
    uint32_t watched;
};

/* By default the warm-up is twice the longest delay, which is how long deferred work stays, or as
 * long as time permits. */
static struct lengths choose_lengths(const struct stream *stream)
{
    const struct stream_key *key = &stream->key;
    bool is_short = workload_rounds(2) == 1 && !key->frozen;
    const struct stream_recording *recording = stream_recording();
    double n = key->connections;
    double rate = key->recorded ? n * (double)recording->operation_count / recording->period_ticks
                  : key->every_ticks > 0
                      ? n / key->every_ticks * (key->timers != STREAM_TIMER ? 5 : 1)
                      : 0;
    uint32_t least = (key->recorded ? RECORDED_TICKS : TIMED_TICKS) / key->tick_ms;
    uint32_t round = ROUND_TICKS / key->tick_ms;
    rate += key->callback ? n / mean_delay(stream) : 0;
    double most = rate > 0 ? WARM_OPERATIONS / rate : round;
    double whole = 2.0 * stream->max_delay_ticks;
    double warm = whole < most ? whole : most;
    double timed = rate > 0 ? TIMED_OPERATIONS / rate : TIMED_TICKS;
    double watched = rate > 0 ? WATCHED_OPERATIONS / rate : round;
    struct lengths lengths = {
        .warm = warm < round ? round : (uint32_t)warm,
        .timed = timed < least             ? least
                 : timed > TIMED_TICKS_MAX ? TIMED_TICKS_MAX
                                           : (uint32_t)timed,
        .watched = watched < round ? (uint32_t)watched + 1 : round,
    };
    if (is_short) {
        lengths = (struct lengths){SHORT_TICKS, SHORT_TICKS, SHORT_TICKS};
    }
    if (key->warm_ticks != STREAM_WARM_AUTO) {
        lengths.warm = key->warm_ticks;
    }
    return lengths;
}

/* All that a fill starts fires in its order of ticks, and nothing else happens. */
static void make_fill(struct stream_source *source, struct stream *stream)
{
    source->part = &stream->timed;
    source->now = advance_at(stream, stream->max_delay_ticks);
    end_part(source);
}

/* The parts after those of a steady state. */
struct stream_rest {
    struct stream_source *source;
    struct stream_part **parts;
    uint32_t count;
    uint32_t ticks;
};

const struct stream_part *stream_more(const struct stream *stream, uint32_t index)
{
    struct stream_rest *rest = stream->rest;
    while (rest->count <= index) {
        rest->parts = memory_resize((void *)rest->parts, rest->count + 1, sizeof *rest->parts);
        rest->parts[rest->count] = memory_new(1, sizeof **rest->parts);
        make_part(rest->source, rest->parts[rest->count++], rest->ticks);
    }
    return rest->parts[index];
}

static void make_steady(struct stream_source *source, struct stream *stream)
{
    struct lengths lengths = choose_lengths(stream);
    stream->key.warm_ticks = lengths.warm;
    make_warm_up(source, &stream->warm);
    make_part(source, &stream->timed, lengths.timed);
    make_part(source, &stream->watched, lengths.watched);
    stream->rest = memory_new(1, sizeof *stream->rest);
    stream->rest->source = source;
    stream->rest->ticks = lengths.timed;
}

/* The expiries of an exact structure are frozen, too. */
static void hash_part(XXH3_state_t *hash, const struct stream_part *part)
{
    const uint64_t sums[] = {part->from_tick, part->to_tick, part->pending, part->expected.count,
                             part->expected.checksum};
    (void)XXH3_64bits_update(hash, sums, sizeof sums);
}

static size_t part_bytes(const struct stream_part *part)
{
    return part->piece.tick_room * sizeof *part->piece.ticks +
           part->piece.stop_room * sizeof *part->piece.stops +
           part->piece.start_room * sizeof *part->piece.starts +
           part->expected.count * sizeof *part->expiries;
}

static void *new_stream(const void *at, size_t *bytes)
{
    struct stream *stream = memory_new(1, sizeof *stream);
    stream->key = *(const struct stream_key *)at;
    const struct stream_key *key = &stream->key;
    stream->ids = key->connections * (key->recorded ? stream_recording()->timers : timers_of(key));
    stream_make_delays(stream);
    for (uint32_t i = 1; i < timers_of(key); i++) {
        uint32_t delay_ticks = extra_timers[key->timers][i - 1].delay_ticks;
        if (stream->max_delay_ticks < delay_ticks) {
            stream->max_delay_ticks = delay_ticks;
        }
    }
    make_initial(stream);
    XXH3_state_t *hash = memory_made(XXH3_createState());
    struct stream_source *source = stream_source_new(stream);
    (void)XXH3_64bits_reset(hash);
    (void)XXH3_64bits_update(hash, stream->delays, sizeof stream->delays);
    (void)XXH3_64bits_update(hash, stream->initial,
                             stream->initial_count * sizeof *stream->initial);
    source->hash = hash;
    if (key->fill) {
        make_fill(source, stream);
    } else {
        make_steady(source, stream);
    }
    hash_part(hash, &stream->warm);
    hash_part(hash, &stream->timed);
    hash_part(hash, &stream->watched);
    stream->checksum = XXH3_64bits_digest(hash);
    (void)XXH3_freeState(hash);
    source->hash = NULL;
    if (stream->rest == NULL) {
        stream_source_free(source);
    }
    *bytes = sizeof *stream + stream->initial_count * sizeof *stream->initial +
             part_bytes(&stream->timed) + part_bytes(&stream->watched);
    return stream;
}

/* --- the cache of streams -------------------------------------------------------------------- */

static void free_part(struct stream_part *part)
{
    free_piece(&part->piece);
    free(part->expiries);
}

static void free_stream(void *value)
{
    struct stream *stream = value;
    free(stream->initial);
    free_part(&stream->timed);
    free_part(&stream->watched);
    if (stream->rest != NULL) {
        for (uint32_t i = 0; i < stream->rest->count; i++) {
            free_part(stream->rest->parts[i]);
            free(stream->rest->parts[i]);
        }
        stream_source_free(stream->rest->source);
        free((void *)stream->rest->parts);
        free(stream->rest);
    }
    free(stream);
}

const struct stream *stream_get(const struct stream_key *key)
{
    static const struct cache_kind streams = {sizeof *key, new_stream, free_stream};
    return cache_get(&streams, key);
}
