/* Generation of the streams, and of what they fire. */
#include "stream.h"

#include "cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT32_MAX

enum {
    REQUEST_KEPT_PERCENT = 5, /* requests whose timer is not stopped in time */
    REPLY_TICKS_MAX = 50,
    ACK_LOST_PERCENT = 1, /* segments whose retransmission timer runs out */
    ACK_TICKS_MAX = 5,
    MIXED_TIMERS = 3, /* a connection's: idle, request, retransmission */
    HOLD_RING_TICKS = 1 << 16,
};

/* Zeroed memory, of at least one element. */
static void *array(size_t count, size_t bytes)
{
    return calloc(count > 0 ? count : 1, bytes);
}

/* --- what fires ------------------------------------------------------------------------------ */

static void expect(struct workload_expected *expected, uint32_t id, uint64_t tick)
{
    expected->count++;
    expected->ids += id;
    expected->checksum += workload_mix(id, tick);
}

/* Puts the expiries in order of tick, by counting. */
static bool sort_expiries(struct stream *stream)
{
    size_t *first = array(STREAM_PERIOD_TICKS + 2, sizeof *first);
    struct workload_expiry *sorted = array(stream->expiry_count, sizeof *sorted);
    if (first == NULL || sorted == NULL) {
        free(first);
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < stream->expiry_count; i++) {
        first[stream->expiries[i].tick + 1]++;
    }
    for (size_t tick = 0; tick < STREAM_PERIOD_TICKS; tick++) {
        first[tick + 1] += first[tick];
    }
    for (size_t i = 0; i < stream->expiry_count; i++) {
        sorted[first[stream->expiries[i].tick]++] = stream->expiries[i];
    }
    free(stream->expiries);
    stream->expiries = sorted;
    free(first);
    return true;
}

/* Goes backwards through a period of operations and finds those starts behind which the timer fires
 * before its next operation. `next` has the tick of the next operation of each id, counted on into
 * the next period; `advances` the first advance at or after each tick of the period. False for want
 * of memory. */
static bool find_expiries(struct stream *stream, uint32_t *next, const uint32_t *advances)
{
    size_t room = 0;
    size_t start = stream->start_count;
    size_t stop = stream->stop_count;
    for (size_t i = stream->tick_count; i > 0; i--) {
        const struct stream_tick *tick = &stream->ticks[i - 1];
        for (uint32_t k = 0; k < tick->starts; k++) {
            const struct workload_start *operation = &stream->starts[--start];
            uint32_t due = tick->tick + operation->delay_ticks;
            uint32_t after = next[operation->id];
            next[operation->id] = tick->tick;
            bool beyond = due > STREAM_PERIOD_TICKS;
            stream->pending += beyond && after > STREAM_PERIOD_TICKS;
            uint32_t fires = advances[beyond ? due - STREAM_PERIOD_TICKS : due];
            if ((beyond ? fires + STREAM_PERIOD_TICKS : fires) > after) {
                continue;
            }
            if (stream->expiry_count == room) {
                room = room > 0 ? 2 * room : 1024;
                struct workload_expiry *longer =
                    realloc(stream->expiries, room * sizeof *stream->expiries);
                if (longer == NULL) {
                    return false;
                }
                stream->expiries = longer;
            }
            stream->expiries[stream->expiry_count++] =
                (struct workload_expiry){.tick = fires, .id = operation->id};
            expect(&stream->expected, operation->id, fires);
        }
        for (uint32_t k = 0; k < tick->stops; k++) {
            next[stream->stops[--stop]] = tick->tick;
        }
    }
    return true;
}

static bool reckon_expiries(struct stream *stream)
{
    uint32_t *next = array(stream->ids, sizeof *next);
    uint32_t *advances = array(STREAM_PERIOD_TICKS + 1, sizeof *advances);
    bool done = next != NULL && advances != NULL;
    if (done) {
        memset(next, 0xff, stream->ids * sizeof *next);
        size_t start = stream->start_count;
        size_t stop = stream->stop_count;
        uint32_t filled = STREAM_PERIOD_TICKS;
        for (size_t i = stream->tick_count; i > 0; i--) {
            const struct stream_tick *tick = &stream->ticks[i - 1];
            uint32_t down_to = i > 1 ? stream->ticks[i - 2].tick + 1 : 0;
            for (; filled >= down_to; filled--) {
                advances[filled] = tick->tick;
                if (filled == 0) {
                    break;
                }
            }
            for (uint32_t k = 0; k < tick->starts; k++) {
                next[stream->starts[--start].id] = tick->tick + STREAM_PERIOD_TICKS;
            }
            for (uint32_t k = 0; k < tick->stops; k++) {
                next[stream->stops[--stop]] = tick->tick + STREAM_PERIOD_TICKS;
            }
        }
        done = find_expiries(stream, next, advances) && sort_expiries(stream);
    }
    free(next);
    free(advances);
    return done;
}

/* --- the kinds ------------------------------------------------------------------------------- */

/* A delay of the idle timer. */
static uint32_t idle_delay(uint64_t *state)
{
    return WORKLOAD_IDLE_MIN_TICKS +
           workload_random_below(state, WORKLOAD_SPAN_TICKS - WORKLOAD_IDLE_MIN_TICKS + 1);
}

/* The tick of the i-th request of all: evenly over the period, one at a time. */
static uint32_t request_tick(uint64_t i, uint64_t requests)
{
    return 1 + (uint32_t)(i * (STREAM_PERIOD_TICKS - 1) / requests);
}

static uint64_t request_count(uint32_t connections)
{
    return (uint64_t)connections * STREAM_PERIOD_TICKS / STREAM_REQUEST_PERIOD_TICKS;
}

/* Every connection's idle timer, as if it had been restarted at some time before. */
static bool make_initial(struct stream *stream, uint32_t connections, uint32_t timers,
                         uint64_t *state)
{
    stream->initial = array(connections, sizeof *stream->initial);
    if (stream->initial == NULL) {
        return false;
    }
    stream->initial_count = connections;
    for (uint32_t i = 0; i < connections; i++) {
        uint32_t age = workload_random_below(state, STREAM_REQUEST_PERIOD_TICKS);
        stream->initial[i] =
            (struct workload_start){.id = i * timers, .delay_ticks = idle_delay(state) - age};
    }
    return true;
}

/* Makes the list of ticks out of the numbers of stops and starts at each. */
static bool make_ticks(struct stream *stream, const uint32_t *stops, const uint32_t *starts)
{
    for (uint32_t tick = 1; tick < STREAM_PERIOD_TICKS; tick++) {
        stream->tick_count += stops[tick] + starts[tick] > 0;
    }
    stream->tick_count++;
    stream->ticks = array(stream->tick_count, sizeof *stream->ticks);
    if (stream->ticks == NULL) {
        return false;
    }
    size_t at = 0;
    for (uint32_t tick = 1; tick < STREAM_PERIOD_TICKS; tick++) {
        if (stops[tick] + starts[tick] > 0) {
            stream->ticks[at++] =
                (struct stream_tick){.tick = tick, .stops = stops[tick], .starts = starts[tick]};
        }
    }
    stream->ticks[at] = (struct stream_tick){.tick = STREAM_PERIOD_TICKS};
    return true;
}

/* Ticks behind the period's end are those at its beginning. */
static uint32_t wrapped(uint32_t tick)
{
    return tick < STREAM_PERIOD_TICKS ? tick : tick - STREAM_PERIOD_TICKS + 1;
}

/* What becomes of a request's timers: the ticks at which they are stopped, 0 if they are not. */
struct replies {
    uint32_t reply_tick;
    uint32_t ack_tick;
};

static struct replies draw_replies(uint32_t tick, uint64_t *state)
{
    struct replies replies = {0};
    uint32_t reply = 1 + workload_random_below(state, REPLY_TICKS_MAX);
    uint32_t ack = 1 + workload_random_below(state, ACK_TICKS_MAX);
    if (workload_random_below(state, 100) >= REQUEST_KEPT_PERCENT) {
        replies.reply_tick = wrapped(tick + reply);
    }
    if (workload_random_below(state, 100) >= ACK_LOST_PERCENT) {
        replies.ack_tick = wrapped(tick + ack);
    }
    return replies;
}

/* Draws all requests; where `stop_at` is NULL only counts the stops of each tick, else files them
 * from stop_at[tick] on. */
static void draw_requests(struct stream *stream, uint32_t connections, uint32_t timers,
                          uint64_t state, uint32_t *stops, size_t *stop_at)
{
    uint64_t requests = request_count(connections);
    struct workload_start *start = stream->starts;
    for (uint64_t i = 0; i < requests; i++) {
        uint32_t tick = request_tick(i, requests);
        uint32_t id = workload_random_below(&state, connections) * timers;
        uint32_t delay_ticks = idle_delay(&state);
        if (stop_at != NULL || timers == 1) {
            *start++ = (struct workload_start){.id = id, .delay_ticks = delay_ticks};
        }
        if (timers == 1) {
            continue;
        }
        struct replies replies = draw_replies(tick, &state);
        if (stop_at == NULL) {
            stops[replies.reply_tick]++;
            stops[replies.ack_tick]++;
            continue;
        }
        *start++ =
            (struct workload_start){.id = id + 1, .delay_ticks = STREAM_REQUEST_TIMEOUT_TICKS};
        *start++ = (struct workload_start){.id = id + 2, .delay_ticks = STREAM_RTO_TICKS};
        if (replies.reply_tick != 0) {
            stream->stops[stop_at[replies.reply_tick]++] = id + 1;
        }
        if (replies.ack_tick != 0) {
            stream->stops[stop_at[replies.ack_tick]++] = id + 2;
        }
    }
}

static bool make_operations(struct stream *stream, uint32_t connections, uint32_t timers,
                            uint64_t state, uint32_t *stops, uint32_t *starts, size_t *stop_at)
{
    uint64_t requests = request_count(connections);
    stream->start_count = requests * timers;
    stream->starts = array(stream->start_count, sizeof *stream->starts);
    if (stream->starts == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < requests; i++) {
        starts[request_tick(i, requests)] += timers;
    }
    draw_requests(stream, connections, timers, state, stops, NULL);
    stops[0] = 0; /* those that are never made */
    for (uint32_t tick = 0; tick < STREAM_PERIOD_TICKS; tick++) {
        stop_at[tick] = stream->stop_count;
        stream->stop_count += stops[tick];
    }
    stream->stops = array(stream->stop_count, sizeof *stream->stops);
    if (stream->stops == NULL) {
        return false;
    }
    if (timers > 1) {
        draw_requests(stream, connections, timers, state, stops, stop_at);
    }
    return make_ticks(stream, stops, starts);
}

static bool make_stream(struct stream *stream, enum stream_kind kind, uint32_t connections)
{
    uint32_t timers = kind == STREAM_MIXED_SERVER ? MIXED_TIMERS : 1;
    uint64_t state = workload_seed(connections ^ (uint64_t)kind << 40);
    uint32_t *stops = array(STREAM_PERIOD_TICKS, sizeof *stops);
    uint32_t *starts = array(STREAM_PERIOD_TICKS, sizeof *starts);
    size_t *stop_at = array(STREAM_PERIOD_TICKS, sizeof *stop_at);
    stream->ids = connections * timers;
    stream->max_delay_ticks = WORKLOAD_SPAN_TICKS;
    bool made = stops != NULL && starts != NULL && stop_at != NULL &&
                make_initial(stream, connections, timers, &state) &&
                make_operations(stream, connections, timers, state, stops, starts, stop_at) &&
                reckon_expiries(stream);
    free(stops);
    free(starts);
    free(stop_at);
    return made;
}

static void destroy_stream(struct stream *stream)
{
    free(stream->initial);
    free(stream->ticks);
    free(stream->stops);
    free(stream->starts);
    free(stream->expiries);
    *stream = (struct stream){0};
}

/* --- hold ------------------------------------------------------------------------------------ */

/* The q-quantile of a distribution with the mean 1. */
static double increment(enum hold_increments increments, double q)
{
    switch (increments) {
    case HOLD_UNIFORM:
        return 2 * q;
    case HOLD_BIASED:
        return 0.9 + 0.2 * q;
    case HOLD_BIMODAL:
        return q < 0.9 ? 0.95238 * q / 0.9 : 0.95238 * (q - 0.9) / 0.1 + 9.5238;
    case HOLD_TRIANGULAR:
        return 1.5 * sqrt(q);
    default:
        return -log(1 - q);
    }
}

static void make_delays(struct hold *hold, enum hold_increments increments)
{
    enum { QUANTILES = 1 << HOLD_TABLE_BITS };
    double sum = 0;
    for (int i = 0; i < QUANTILES; i++) {
        sum += increment(increments, (i + 0.5) / QUANTILES);
    }
    for (int i = 0; i < QUANTILES; i++) {
        double ticks =
            increment(increments, (i + 0.5) / QUANTILES) * QUANTILES / sum * HOLD_MEAN_TICKS;
        hold->delays[i] = ticks > 1 ? (uint32_t)ticks : 1;
    }
    hold->max_delay_ticks = hold->delays[QUANTILES - 1];
}

/* What remains of a delay under way at a random instant: long ones are more often under way. */
static void make_residuals(struct hold *hold, uint64_t *state)
{
    for (uint32_t id = 0; id < hold->n; id++) {
        uint32_t delay = 0;
        do {
            delay = hold->delays[workload_random_below(state, 1 << HOLD_TABLE_BITS)];
        } while (workload_random_below(state, (uint32_t)hold->max_delay_ticks) >= delay);
        hold->initial[id] = 1 + workload_random_below(state, delay);
    }
}

/* Timers by the tick at which they are due, modulo the ring's length. */
struct ring {
    uint32_t *head;
    uint32_t *next;
};

static void ring_file(struct ring *ring, uint32_t id, uint32_t tick)
{
    uint32_t *head = &ring->head[tick % HOLD_RING_TICKS];
    ring->next[id] = *head;
    *head = id;
}

/* Runs one stretch from tick `from` on; false for want of memory. */
static bool run_stretch(struct hold *hold, struct ring *ring, uint32_t from,
                        struct hold_stretch *stretch, size_t *room)
{
    stretch->first_expiry = hold->expiry_count;
    for (uint32_t tick = from + 1; tick <= from + stretch->ticks; tick++) {
        uint32_t id = ring->head[tick % HOLD_RING_TICKS];
        ring->head[tick % HOLD_RING_TICKS] = NEVER;
        while (id != NEVER) {
            uint32_t next = ring->next[id];
            if (hold->expiry_count == *room) {
                *room *= 2;
                struct workload_expiry *longer =
                    realloc(hold->expiries, *room * sizeof *hold->expiries);
                if (longer == NULL) {
                    return false;
                }
                hold->expiries = longer;
            }
            hold->expiries[hold->expiry_count++] = (struct workload_expiry){.tick = tick, .id = id};
            expect(&stretch->expected, id, tick);
            ring_file(ring, id, tick + hold_delay(hold, workload_mix(id, tick)));
            id = next;
        }
    }
    return true;
}

static bool make_hold(struct hold *hold, enum hold_increments increments, uint32_t n)
{
    uint64_t state = workload_seed(n ^ (uint64_t)(increments + 16) << 40);
    struct ring ring = {.head = array(HOLD_RING_TICKS, sizeof *ring.head),
                        .next = array(n, sizeof *ring.next)};
    hold->n = n;
    hold->warm_up.ticks = HOLD_WARM_UP_TICKS;
    hold->timed.ticks = (uint32_t)workload_rounds(n) * HOLD_MEAN_TICKS;
    hold->stall.ticks = HOLD_STALL_TICKS;
    hold->initial = array(n, sizeof *hold->initial);
    size_t room = 1024;
    hold->expiries = array(room, sizeof *hold->expiries);
    bool made =
        ring.head != NULL && ring.next != NULL && hold->initial != NULL && hold->expiries != NULL;
    if (made) {
        make_delays(hold, increments);
        make_residuals(hold, &state);
        memset(ring.head, 0xff, HOLD_RING_TICKS * sizeof *ring.head);
        for (uint32_t id = 0; id < n; id++) {
            ring_file(&ring, id, hold->initial[id]);
        }
        uint32_t timed_from = hold->warm_up.ticks;
        uint32_t stall_from = timed_from + hold->timed.ticks;
        made = run_stretch(hold, &ring, 0, &hold->warm_up, &room) &&
               run_stretch(hold, &ring, timed_from, &hold->timed, &room) &&
               run_stretch(hold, &ring, stall_from, &hold->stall, &room);
    }
    free(ring.head);
    free(ring.next);
    return made;
}

static void destroy_hold(struct hold *hold)
{
    free(hold->initial);
    free(hold->expiries);
}

/* --- what is kept ---------------------------------------------------------------------------- */

struct stream_key {
    uint32_t kind;
    uint32_t connections;
};

static void forget_stream(void *thing)
{
    destroy_stream(thing);
    free(thing);
}

static void *new_stream(const void *thing_key, size_t *bytes)
{
    const struct stream_key *key = thing_key;
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    if (!make_stream(stream, (enum stream_kind)key->kind, key->connections)) {
        forget_stream(stream);
        return NULL;
    }
    *bytes = stream->initial_count * sizeof *stream->initial +
             stream->tick_count * sizeof *stream->ticks +
             stream->stop_count * sizeof *stream->stops +
             stream->start_count * sizeof *stream->starts +
             stream->expiry_count * sizeof *stream->expiries;
    return stream;
}

const struct stream *stream_get(enum stream_kind kind, uint32_t connections)
{
    static const struct cache_kind streams = {sizeof(struct stream_key), new_stream, forget_stream};
    const struct stream_key key = {kind, connections};
    return cache_get(&streams, &key);
}

struct hold_key {
    uint32_t increments;
    uint32_t n;
};

static void forget_hold(void *thing)
{
    destroy_hold(thing);
    free(thing);
}

static void *new_hold(const void *thing_key, size_t *bytes)
{
    const struct hold_key *key = thing_key;
    struct hold *hold = calloc(1, sizeof *hold);
    if (hold == NULL) {
        return NULL;
    }
    if (!make_hold(hold, (enum hold_increments)key->increments, key->n)) {
        forget_hold(hold);
        return NULL;
    }
    *bytes = hold->n * sizeof *hold->initial + hold->expiry_count * sizeof *hold->expiries;
    return hold;
}

const struct hold *hold_get(enum hold_increments increments, uint32_t n)
{
    static const struct cache_kind holds = {sizeof(struct hold_key), new_hold, forget_hold};
    const struct hold_key key = {increments, n};
    return cache_get(&holds, &key);
}
