#include "tcp_measure.h"

#include "growing_array.h"
#include "trace.h"
#include "trace_dispersion.h"

#include <jansson.h>
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
    bool pending;
    bool counted; /* it was started in the window */
};

struct kind_tally {
    uint64_t ended[TCP_EXPIRE + 1]; /* by what */
    uint64_t *delays;
    uint32_t count;
    uint32_t room;
    uint32_t busiest;
    struct trace_dispersion per_100ms;
    struct trace_dispersion per_s;
};

struct walk {
    const struct trace_header *header;
    enum tcp_kind only; /* TCP_KINDS: ids say it */
    uint32_t kinds;     /* of these; those that no recording has are behind the others */
    struct timer *timers;
    struct kind_tally tallies[TCP_KINDS];
    tcp_event_fn take;
    void *ctx;
};

static enum tcp_kind kind_of(const struct walk *walk, uint32_t id)
{
    uint32_t kind = id % walk->kinds;
    return walk->only < TCP_KINDS ? walk->only : kind < TCP_KINDS ? (enum tcp_kind)kind : TCP_KINDS;
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
        walk->tallies[kind].ended[what]++;
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
    timer->counted = tick >= walk->header->warmup_end_tick;
    if (!timer->counted) {
        return true;
    }
    uint64_t *delays =
        array_reach(tally->delays, &tally->room, tally->count, sizeof *tally->delays);
    if (delays == NULL) {
        return false;
    }
    tally->delays = delays;
    delays[tally->count++] = record->deadline - tick;
    timer->starts++;
    tally->busiest = timer->starts > tally->busiest ? timer->starts : tally->busiest;
    trace_dispersion_count(&tally->per_100ms, tick, 1);
    trace_dispersion_count(&tally->per_s, tick, 1);
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

static void sum_up(const struct walk *walk, enum tcp_kind kind, struct tcp_measure *measure)
{
    static const double shares[] = {0.1, 0.5, 0.9, 0.99};
    const struct kind_tally *tally = &walk->tallies[kind];
    double *value = measure->value[kind];
    double starts = (double)tally->count;
    double of = starts > 0 ? starts : 1;
    value[TCP_STARTS] = starts;
    value[TCP_EXPIRED] = (double)tally->ended[TCP_EXPIRE] / of;
    value[TCP_CANCELLED] = (double)tally->ended[TCP_CANCEL] / of;
    value[TCP_MOVED] = (double)tally->ended[TCP_MOVE] / of;
    if (tally->count > 0) {
        qsort(tally->delays, tally->count, sizeof *tally->delays, by_value);
    }
    for (unsigned i = 0; i < 4; i++) {
        value[TCP_DELAY_P10_MS + i] =
            tally->count > 0
                ? (double)tally->delays[(uint32_t)(shares[i] * (tally->count - 1) + 0.5)] *
                      (double)walk->header->tick_ns / 1e6
                : 0;
    }
    value[TCP_DISPERSION_100MS] = trace_dispersion_index(&tally->per_100ms);
    value[TCP_DISPERSION_1S] = trace_dispersion_index(&tally->per_s);
    value[TCP_BUSIEST] = (double)tally->busiest;
}

static bool walk_trace(struct walk *walk, struct trace_reader *reader, struct error *error)
{
    const struct trace_header *header = walk->header;
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        trace_dispersion_begin(&walk->tallies[kind].per_100ms, header->tick_ns,
                               header->warmup_end_tick, header->end_tick, NS_PER_100MS);
        trace_dispersion_begin(&walk->tallies[kind].per_s, header->tick_ns, header->warmup_end_tick,
                               header->end_tick, NS_PER_S);
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

bool tcp_measure_trace(const char *path, enum tcp_kind kind, struct tcp_measure *measure,
                       tcp_event_fn take, void *ctx, uint64_t *tick_ns, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return false;
    }
    struct walk walk = {
        .header = trace_reader_header(reader), .only = kind, .take = take, .ctx = ctx};
    walk.kinds = count_kinds(walk.header);
    bool good = walk_trace(&walk, reader, error);
    if (good) {
        *tick_ns = walk.header->tick_ns;
        measure->seconds = (double)(walk.header->end_tick - walk.header->warmup_end_tick) *
                           (double)walk.header->tick_ns / 1e9;
    }
    for (unsigned k = 0; k < TCP_KINDS; k++) {
        if (good && (kind == TCP_KINDS || kind == k)) {
            sum_up(&walk, (enum tcp_kind)k, measure);
        }
        free(walk.tallies[k].delays);
    }
    free(walk.timers);
    trace_reader_close(reader);
    return good;
}
