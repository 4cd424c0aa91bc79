#include "tcp_measure.h"

#include "growing_array.h"
#include "trace.h"
#include "trace_dispersion.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

const char *const tcp_kind_names[TCP_KINDS] = {"write", "delack", "keepalive", "syn-ack",
                                               "time-wait"};
const char *const tcp_kind_functions[TCP_KINDS] = {"tcp_write_timer", "tcp_delack_timer",
                                                   "tcp_keepalive_timer", "reqsk_timer_handler",
                                                   "tw_timer_handler"};
const char *const tcp_statistic_names[TCP_STATISTICS] = {
    [TCP_STARTS] = "starts",
    [TCP_EXPIRED] = "expired",
    [TCP_CANCELLED] = "cancelled",
    [TCP_MOVED] = "moved",
    [TCP_DELAY_P10_MS] = "delay_p10_ms",
    [TCP_DELAY_P50_MS] = "delay_p50_ms",
    [TCP_DELAY_P90_MS] = "delay_p90_ms",
    [TCP_DELAY_P99_MS] = "delay_p99_ms",
    [TCP_DISPERSION_100MS] = "dispersion_100ms",
    [TCP_DISPERSION_1S] = "dispersion_1s",
    [TCP_BUSIEST] = "busiest",
};

#define NS_PER_100MS UINT64_C(100000000)
#define NS_PER_S     UINT64_C(1000000000)

struct timer {
    uint64_t due;
    uint64_t started; /* last */
    uint32_t starts;  /* in this life */
    uint8_t part;     /* of the window, in which it was started last */
    bool pending;
    bool counted; /* it was started in the window */
};

struct kind_tally {
    uint64_t starts[TCP_PARTS];                /* in a part of the window */
    uint64_t ended[TCP_PARTS][TCP_EXPIRE + 1]; /* of these, by what */
    uint64_t *delays;                          /* each times TCP_PARTS, and its part */
    uint32_t count;
    uint32_t room;
    uint32_t busiest;
    struct trace_dispersion per_100ms[TCP_PARTS];
    struct trace_dispersion per_s[TCP_PARTS];
};

/* How a window's stretches of so many ticks lie in its parts. */
struct stretches {
    uint64_t ticks; /* 0: a tick is longer */
    uint64_t whole;
};

struct walk {
    const struct trace_header *header;
    uint64_t begin; /* tick of the first start that counts */
    struct stretches per_100ms;
    struct stretches per_s;
    enum tcp_kind only; /* TCP_KINDS: their places say it */
    const uint64_t *places;
    uint32_t kinds; /* of these; those that no recording has are behind the others */
    struct timer *timers;
    struct kind_tally tallies[TCP_KINDS];
    tcp_event_fn take;
    void *ctx;
};

static enum tcp_kind kind_of(const struct walk *walk, uint32_t id)
{
    if (walk->only < TCP_KINDS) {
        return walk->only;
    }
    uint64_t kind = walk->places[id] % walk->kinds;
    return kind < TCP_KINDS ? (enum tcp_kind)kind : TCP_KINDS;
}

static void tell(const struct walk *walk, struct tcp_event event)
{
    if (walk->take != NULL) {
        event.tick_ns = walk->header->tick_ns;
        walk->take(walk->ctx, &event);
    }
}

static void end_start(struct walk *walk, uint32_t id, uint64_t tick, enum tcp_event_kind what)
{
    struct timer *timer = &walk->timers[id];
    enum tcp_kind kind = kind_of(walk, id);
    if (timer->counted) {
        walk->tallies[kind].ended[timer->part][what]++;
    }
    timer->pending = false;
    if (what == TCP_CANCEL || (what == TCP_EXPIRE && kind == TCP_TIME_WAIT)) {
        timer->starts = 0;
    }
    if (timer->counted && what != TCP_MOVE) {
        tell(walk, (struct tcp_event){.what = what,
                                      .kind = kind,
                                      .id = id,
                                      .tick = tick - walk->header->warmup_end_tick});
    }
}

/* A stretch is in one part as a whole. */
static void count_in_stretch(const struct walk *walk, const struct stretches *stretches,
                             struct trace_dispersion *parts, uint64_t tick)
{
    uint64_t stretch = stretches->ticks > 0 ? (tick - walk->begin) / stretches->ticks : 0;
    if (stretch < stretches->whole) {
        uint64_t part = ((stretch + 1) * TCP_PARTS - 1) / stretches->whole;
        trace_dispersion_count(&parts[part], tick, 1);
    }
}

static bool start(struct walk *walk, const struct trace_record *record, uint64_t tick, bool caused)
{
    struct timer *timer = &walk->timers[record->id];
    const enum tcp_kind kind = kind_of(walk, record->id);
    struct kind_tally *tally = &walk->tallies[kind];
    const uint64_t tick_ns = walk->header->tick_ns;
    const uint64_t since = tick - timer->started;
    bool moves = timer->pending;
    bool connects = kind == TCP_WRITE && !caused && timer->starts > 0 &&
                    since <= TCP_AT_ONCE_TICKS &&
                    (record->deadline - tick) * tick_ns >= TCP_SYN_TIMEOUT_NS;
    if (connects || since * tick_ns >= TCP_REST_NS) {
        timer->starts = 0;
    }
    timer->started = tick;
    if (moves) {
        end_start(walk, record->id, tick, TCP_MOVE);
    }
    timer->pending = true;
    timer->due = record->deadline > tick ? record->deadline : tick + 1;
    timer->counted = tick >= walk->begin && tick < walk->header->end_tick;
    if (!timer->counted) {
        return true;
    }
    timer->part =
        (uint8_t)((tick - walk->begin) * TCP_PARTS / (walk->header->end_tick - walk->begin));
    uint64_t *delays =
        array_reach(tally->delays, &tally->room, tally->count, sizeof *tally->delays);
    if (delays == NULL) {
        return false;
    }
    tally->delays = delays;
    delays[tally->count++] = (record->deadline - tick) * TCP_PARTS + timer->part;
    tally->starts[timer->part]++;
    timer->starts++;
    tally->busiest = timer->starts > tally->busiest ? timer->starts : tally->busiest;
    count_in_stretch(walk, &walk->per_100ms, tally->per_100ms, tick);
    count_in_stretch(walk, &walk->per_s, tally->per_s, tick);
    tell(walk, (struct tcp_event){.what = moves ? TCP_MOVE : TCP_START,
                                  .kind = kind,
                                  .id = record->id,
                                  .tick = tick - walk->header->warmup_end_tick,
                                  .delay_ticks = record->deadline - tick,
                                  .caused = caused,
                                  .connects = connects});
    return true;
}

static bool take_block(struct walk *walk, const struct trace_block *block)
{
    for (size_t g = 0; g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &block->records[i];
            struct timer *timer = &walk->timers[record->id];
            if (kind_of(walk, record->id) == TCP_KINDS) {
                continue;
            }
            if (timer->pending && timer->due <= group->tick) {
                end_start(walk, record->id, timer->due, TCP_EXPIRE);
            }
            if (record->op == TRACE_STOP) {
                if (timer->pending) {
                    end_start(walk, record->id, group->tick, TCP_CANCEL);
                }
            } else if (!start(walk, record, group->tick,
                              block->causes != NULL && block->causes[i].basis != TRACE_EXTERNAL)) {
                return false;
            }
        }
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

_Static_assert(2 * TCP_HALVES == TCP_PARTS, "a row of the matrix for each pair");

/* Which parts a half has. */
static uint32_t parts_of(unsigned half)
{
    uint32_t parts = 0;
    for (unsigned pair = 0; pair < TCP_PARTS / 2; pair++) {
        unsigned odd = (unsigned)__builtin_popcount(half & pair) & 1;
        parts |= UINT32_C(1) << (2 * pair + odd);
    }
    return parts;
}

static double dispersion_of(const struct trace_dispersion *parts, uint32_t of)
{
    struct trace_dispersion all = {0};
    for (unsigned part = 0; part < TCP_PARTS; part++) {
        if (of >> part & 1) {
            trace_dispersion_add(&all, &parts[part]);
        }
    }
    return trace_dispersion_index(&all);
}

/* The delay that is so high among those of the parts, which have so many. */
static uint64_t delay_at(const struct kind_tally *tally, uint32_t of, uint64_t starts, double share)
{
    uint64_t rank = (uint64_t)(share * (double)(starts - 1) + 0.5);
    uint32_t i = 0;
    for (; i + 1 < tally->count; i++) {
        if (of >> tally->delays[i] % TCP_PARTS & 1 && rank-- == 0) {
            break;
        }
    }
    return tally->delays[i] / TCP_PARTS;
}

/* What these parts of the window have. */
static void sum_up(const struct walk *walk, enum tcp_kind kind, uint32_t of, double *value)
{
    static const double shares[] = {0.1, 0.5, 0.9, 0.99};
    const struct kind_tally *tally = &walk->tallies[kind];
    uint64_t starts = 0;
    uint64_t ended[TCP_EXPIRE + 1] = {0};
    for (unsigned part = 0; part < TCP_PARTS; part++) {
        if (of >> part & 1) {
            starts += tally->starts[part];
            for (unsigned what = 0; what <= TCP_EXPIRE; what++) {
                ended[what] += tally->ended[part][what];
            }
        }
    }
    double all = starts > 0 ? (double)starts : 1;
    value[TCP_STARTS] = (double)starts;
    value[TCP_EXPIRED] = (double)ended[TCP_EXPIRE] / all;
    value[TCP_CANCELLED] = (double)ended[TCP_CANCEL] / all;
    value[TCP_MOVED] = (double)ended[TCP_MOVE] / all;
    for (unsigned i = 0; i < 4; i++) {
        value[TCP_DELAY_P10_MS + i] = starts > 0 ? (double)delay_at(tally, of, starts, shares[i]) *
                                                       (double)walk->header->tick_ns / 1e6
                                                 : 0;
    }
    value[TCP_DISPERSION_100MS] = dispersion_of(tally->per_100ms, of);
    value[TCP_DISPERSION_1S] = dispersion_of(tally->per_s, of);
    value[TCP_BUSIEST] = (double)tally->busiest;
}

/* The standard errors: how far halves are from the whole. */
static void find_own(const struct walk *walk, enum tcp_kind kind, const double *value, double *own)
{
    double squares[TCP_STATISTICS] = {0};
    for (unsigned half = 0; half < TCP_HALVES; half++) {
        double of_half[TCP_STATISTICS];
        sum_up(walk, kind, parts_of(half), of_half);
        of_half[TCP_STARTS] *= 2;
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            squares[s] += (of_half[s] - value[s]) * (of_half[s] - value[s]);
        }
    }
    for (unsigned s = 0; s < TCP_STATISTICS; s++) {
        own[s] = value[s] > 0 && s != TCP_BUSIEST ? sqrt(squares[s] / TCP_HALVES) / value[s] : NAN;
    }
}

/* Cuts the window into whole stretches of so many ns, and these into parts. */
static void begin_stretches(const struct walk *walk, uint64_t stretch_ns,
                            struct stretches *stretches, struct trace_dispersion *parts)
{
    const struct trace_header *header = walk->header;
    struct trace_dispersion all;
    trace_dispersion_begin(&all, header->tick_ns, walk->begin, header->end_tick, stretch_ns);
    *stretches = (struct stretches){all.stretch_ticks, all.stretches};
    for (uint64_t part = 0; part < TCP_PARTS; part++) {
        trace_dispersion_begin(
            &parts[part], header->tick_ns,
            walk->begin + part * all.stretches / TCP_PARTS * all.stretch_ticks,
            walk->begin + (part + 1) * all.stretches / TCP_PARTS * all.stretch_ticks, stretch_ns);
    }
}

static bool walk_trace(struct walk *walk, struct trace_reader *reader, struct error *error)
{
    const struct trace_header *header = walk->header;
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        begin_stretches(walk, NS_PER_100MS, &walk->per_100ms, walk->tallies[kind].per_100ms);
        begin_stretches(walk, NS_PER_S, &walk->per_s, walk->tallies[kind].per_s);
    }
    walk->timers = calloc((size_t)header->ids + 1, sizeof *walk->timers);
    if (walk->timers == NULL) {
        return error_set(error, "out of memory for %u timers", (unsigned)header->ids);
    }
    struct trace_block block;
    int more;
    while ((more = trace_reader_next(reader, &block, error)) > 0) {
        if (!take_block(walk, &block)) {
            return error_set(error, "out of memory for the starts of a trace");
        }
    }
    for (uint32_t id = 0; more == 0 && id < header->ids; id++) {
        if (walk->timers[id].pending && walk->timers[id].due < header->end_tick) {
            end_start(walk, id, walk->timers[id].due, TCP_EXPIRE);
        }
    }
    return more == 0;
}

/* How many kinds of timers a generated trace has, as its origin counts them. */
static uint32_t count_kinds(const struct trace_header *header)
{
    json_t *origin = json_loads(header->origin, 0, NULL);
    size_t kinds =
        json_object_size(json_object_get(json_object_get(origin, "counts"), "pending_at_end"));
    json_decref(origin);
    return kinds > TCP_KINDS ? (uint32_t)kinds : TCP_KINDS;
}

bool tcp_measure_trace(const char *path, enum tcp_kind kind, const uint64_t *places,
                       uint64_t idle_ticks, struct tcp_measure *measure, tcp_event_fn take,
                       void *ctx, uint64_t *tick_ns, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return false;
    }
    struct walk walk = {.header = trace_reader_header(reader),
                        .only = kind,
                        .places = places,
                        .take = take,
                        .ctx = ctx};
    walk.begin = walk.header->warmup_end_tick + idle_ticks;
    if (walk.begin > walk.header->end_tick) {
        walk.begin = walk.header->end_tick;
    }
    walk.kinds = count_kinds(walk.header);
    bool good = walk_trace(&walk, reader, error);
    if (good) {
        *tick_ns = walk.header->tick_ns;
        measure->seconds = (double)(walk.header->end_tick - walk.header->warmup_end_tick) *
                           (double)walk.header->tick_ns / 1e9;
    }
    for (unsigned k = 0; k < TCP_KINDS; k++) {
        struct kind_tally *tally = &walk.tallies[k];
        if (good && (kind == TCP_KINDS || kind == k)) {
            if (tally->count > 0) {
                qsort(tally->delays, tally->count, sizeof *tally->delays, by_value);
            }
            sum_up(&walk, (enum tcp_kind)k, UINT32_MAX, measure->value[k]);
            if (kind == k) {
                find_own(&walk, kind, measure->value[k], measure->own[k]);
            }
        }
        free(tally->delays);
    }
    free(walk.timers);
    trace_reader_close(reader);
    return good;
}
