#include "trace_info.h"

#include "json_text.h"
#include "memory.h"
#include "progress.h"
#include "standard_files.h"
#include "trace_dispersion.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the exact timekeeper -------------------------------------------------------------------- */

/* A timer: its due tick, and its tick in the heap. A restart to a later tick leaves the entry in
 * place, to be filed again when it comes up; so the heap has about as many entries as there are
 * timers. */
struct timer {
    uint64_t due;   /* 0: not pending */
    uint64_t filed; /* 0: not in the heap */
    uint64_t fired; /* last expiry; 0: none */
    uint64_t starts;
};

struct entry {
    uint64_t tick;
    uint32_t id;
};

/* --- the delays ------------------------------------------------------------------------------ */

/* A hash table of portrait_delay, where a count of 0 is a free slot; at most half full. */
#define DELAY_SLOTS ((size_t)2 * TRACE_INFO_DISTINCT_MAX)

/* Beyond the bound: 64 steps for each doubling. */
#define STEPS       64u
#define HISTOGRAM   ((size_t)64 * STEPS)

struct collector {
    struct trace_info *info;
    struct trace_portrait *portrait;
    uint64_t pending;
    uint64_t fired_before; /* before the window */
    uint64_t tick_events;
    struct trace_dispersion starts_100ms;
    struct trace_dispersion starts_1s;
    uint64_t tick;
    struct timer *timers; /* by id: few may be used, of a wide range */
    struct entry *heap;
    size_t heap_count;
    size_t heap_capacity;
    struct portrait_delay *delays;
    uint64_t *histogram;
};

static void heap_push(struct collector *c, uint64_t tick, uint32_t id)
{
    MEMORY_REACH(c->heap, c->heap_capacity, c->heap_count);
    size_t at = c->heap_count++;
    while (at > 0 && c->heap[(at - 1) / 2].tick > tick) {
        c->heap[at] = c->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    c->heap[at] = (struct entry){.tick = tick, .id = id};
}

static void heap_pop(struct collector *c)
{
    const struct entry last = c->heap[--c->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < c->heap_count; at = child) {
        child += child + 1 < c->heap_count && c->heap[child + 1].tick < c->heap[child].tick;
        if (c->heap[child].tick >= last.tick) {
            break;
        }
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = last;
}

/* Fire the timers due by `now`. */
static void expire(struct collector *c, uint64_t now)
{
    while (c->heap_count > 0 && c->heap[0].tick <= now) {
        const struct entry top = c->heap[0];
        heap_pop(c);
        struct timer *timer = &c->timers[top.id];
        if (timer->filed != top.tick) {
            continue; /* filed again at an earlier tick */
        }
        timer->filed = 0;
        if (timer->due > now) {
            timer->filed = timer->due;
            heap_push(c, timer->due, top.id);
        } else if (timer->due != 0) {
            trace_portrait_count(c->portrait, PORTRAIT_EXPIRY, timer->due, -1);
            timer->fired = timer->due;
            timer->due = 0;
            c->pending--;
            c->info->fired++;
        }
    }
}

static void count_delay(struct collector *c, uint64_t delay)
{
    unsigned order = 63 - (unsigned)__builtin_clzll(delay | STEPS);
    unsigned shift = order - 6; /* 2^6 steps */
    c->histogram[(size_t)shift * STEPS + (delay >> shift)]++;
    if (c->info->distinct_bounded) {
        return;
    }
    uint64_t slot = delay * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    while (c->delays[slot %= DELAY_SLOTS].count != 0 && c->delays[slot].delay_ticks != delay) {
        slot++;
    }
    if (c->delays[slot].count == 0) {
        if (c->info->distinct_delays == TRACE_INFO_DISTINCT_MAX) {
            c->info->distinct_bounded = true;
            return;
        }
        c->info->distinct_delays++;
        c->delays[slot].delay_ticks = delay;
    }
    c->delays[slot].count++;
}

static void start(struct collector *c, uint64_t tick, const struct trace_record *record)
{
    struct timer *timer = &c->timers[record->id];
    count_delay(c, record->deadline - tick);
    trace_dispersion_count(&c->starts_100ms, tick, 1);
    trace_dispersion_count(&c->starts_1s, tick, 1);
    if (++timer->starts > c->info->timer_starts_max) {
        c->info->timer_starts_max = timer->starts;
        c->info->timer_starts_id = record->id;
    }
    bool restart = timer->due != 0;
    if (restart) {
        c->info->restarts++;
    } else {
        c->pending++;
    }
    trace_portrait_count(c->portrait, restart ? PORTRAIT_RESTART : PORTRAIT_START, tick,
                         restart ? 0 : 1);
    trace_portrait_pending(c->portrait, tick, c->pending);
    /* A timer with delay 0 fires at the next tick. */
    timer->due = record->deadline > tick ? record->deadline : tick + 1;
    if (c->pending > c->info->pending_max) {
        c->info->pending_max = c->pending;
        c->info->pending_max_tick = tick;
    }
    if (timer->filed == 0 || timer->filed > timer->due) {
        timer->filed = timer->due;
        heap_push(c, timer->due, record->id);
    }
}

static void stop(struct collector *c, uint64_t tick, uint32_t id)
{
    struct timer *timer = &c->timers[id];
    bool pending = timer->due != 0;
    if (pending) {
        timer->due = 0;
        c->pending--;
    } else {
        c->info->stops_idle++;
    }
    trace_portrait_count(c->portrait, PORTRAIT_STOP, tick, pending ? -1 : 0);
}

static void place_reaction(struct collector *c, uint64_t tick, uint64_t event,
                           const struct trace_cause *cause)
{
    if ((tick == 0 || c->timers[cause->id].fired != tick) && c->info->misplaced++ == 0) {
        c->info->misplaced_event = event;
    }
}

static void take_group(struct collector *c, const struct trace_header *header,
                       const struct trace_block *block, const struct trace_group *group)
{
    struct trace_info *info = c->info;
    bool in_window = group->tick >= header->warmup_end_tick;
    if (in_window && info->window_events == 0) {
        c->fired_before = info->fired;
    }
    if (c->tick_events == 0 || group->tick != c->tick) {
        info->busy_ticks++;
        c->tick = group->tick;
        c->tick_events = 0;
        expire(c, group->tick);
    }
    c->tick_events += group->count;
    if (c->tick_events > info->busiest_tick_events) {
        info->busiest_tick_events = c->tick_events;
        info->busiest_tick = group->tick;
    }
    info->window_events += in_window ? group->count : 0;
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct trace_record *record = &block->records[i];
        if (block->causes != NULL && block->causes[i].basis != TRACE_EXTERNAL) {
            place_reaction(c, group->tick, block->first_event + i, &block->causes[i]);
        }
        if (record->op == TRACE_START) {
            start(c, group->tick, record);
        } else {
            stop(c, group->tick, record->id);
        }
    }
}

static bool read_through(struct collector *c, struct trace_reader *reader, struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    const uint64_t from = header->warmup_end_tick;
    trace_dispersion_begin(&c->starts_100ms, header->tick_ns, from, header->end_tick, 100000000);
    trace_dispersion_begin(&c->starts_1s, header->tick_ns, from, header->end_tick, 1000000000);
    struct progress progress;
    progress_begin(&progress, "reading", "operations", header->events);
    struct trace_block block;
    int got;
    trace_reader_rewind(reader);
    while ((got = trace_reader_next(reader, &block, error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            take_group(c, header, &block, &block.groups[g]);
        }
        progress_update(&progress, block.first_event + block.record_count);
    }
    if (got == 0) {
        expire(c, header->end_tick);
    }
    c->info->window_fired = c->info->window_events > 0 ? c->info->fired - c->fired_before : 0;
    progress_end(&progress);
    return got == 0;
}

/* --- percentiles ----------------------------------------------------------------------------- */

static int by_delay(const void *a, const void *b)
{
    const struct portrait_delay *left = a;
    const struct portrait_delay *right = b;
    return (left->delay_ticks > right->delay_ticks) - (left->delay_ticks < right->delay_ticks);
}

/* Convert the histogram to a list of counted delays: each step by its upper end. */
static size_t histogram_delays(const struct collector *c)
{
    size_t n = 0;
    for (size_t i = 0; i < HISTOGRAM; i++) {
        if (c->histogram[i] != 0) {
            size_t shift = i / STEPS > 0 ? i / STEPS - 1 : 0;
            uint64_t step = i - shift * STEPS;
            c->delays[n++] = (struct portrait_delay){.delay_ticks = ((step + 1) << shift) - 1,
                                                     .count = c->histogram[i]};
        }
    }
    return n;
}

/* Move the delays, in ascending order, to the beginning of their table; return their number. */
static size_t sort_delays(struct collector *c)
{
    if (c->info->distinct_bounded) {
        return histogram_delays(c);
    }
    size_t n = 0;
    for (size_t i = 0; i < DELAY_SLOTS; i++) {
        if (c->delays[i].count != 0) {
            c->delays[n++] = c->delays[i];
        }
    }
    qsort(c->delays, n, sizeof *c->delays, by_delay);
    return n;
}

static void find_percentiles(struct collector *c, size_t n, const struct trace_header *header)
{
    struct trace_info *info = c->info;
    const struct {
        unsigned percent;
        uint64_t *value;
    } wanted[] = {{50, &info->delay_p50}, {90, &info->delay_p90}, {99, &info->delay_p99}};
    uint64_t seen = 0;
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        seen += c->delays[i].count;
        /* The smallest delay that at least that share does not exceed. */
        while (next < 3 && (double)seen >= (double)header->starts * wanted[next].percent / 100) {
            uint64_t delay = c->delays[i].delay_ticks;
            *wanted[next++].value =
                delay < header->max_delay_ticks ? delay : header->max_delay_ticks;
        }
    }
    info->delay_min = n > 0 ? c->delays[0].delay_ticks : 0;
    info->delay_max = header->max_delay_ticks;
}

bool trace_info_collect(struct trace_reader *reader, struct trace_info *info,
                        struct trace_portrait *portrait, struct error *error)
{
    struct trace_portrait unwanted = {0};
    const struct trace_header *header = trace_reader_header(reader);
    portrait = portrait != NULL ? portrait : &unwanted;
    trace_portrait_begin(portrait, header);
    *info = (struct trace_info){0};
    struct collector c = {
        .info = info,
        .portrait = portrait,
        .timers = memory_sparse(header->ids, sizeof *c.timers),
        .delays = memory_new(DELAY_SLOTS, sizeof *c.delays),
        .histogram = memory_new(HISTOGRAM, sizeof *c.histogram),
    };
    bool good = read_through(&c, reader, error);
    if (good) {
        info->pending_at_end = c.pending;
        info->dispersion_100ms = trace_dispersion_index(&c.starts_100ms);
        info->dispersion_1s = trace_dispersion_index(&c.starts_1s);
        portrait->delay_count = sort_delays(&c);
        find_percentiles(&c, portrait->delay_count, header);
    }
    portrait->delays = c.delays;
    memory_sparse_free(c.timers, header->ids, sizeof *c.timers);
    free(c.heap);
    free(c.histogram);
    trace_portrait_release(&unwanted);
    return good;
}

/* --- showing --------------------------------------------------------------------------------- */

/* Format ticks as a time: "45 s", "200 ms". */
static const char *duration(char text[32], uint64_t ticks, uint64_t tick_ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{86400e9, "days"}, {3600e9, "h"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    double ns = (double)ticks * (double)tick_ns;
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof units[0] && ns < units[i].ns * (i < 2 ? 2 : 1)) {
        i++;
    }
    (void)snprintf(text, 32, "%.4g %s", ns / units[i].ns, units[i].unit);
    return text;
}

/* "1.85", or "-" if unknown. */
static const char *index_text(char text[32], double index)
{
    (void)snprintf(text, 32, isnan(index) ? "-" : "%.3g", index);
    return text;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

void trace_info_print(FILE *stream, const char *path, const struct trace_header *header,
                      const struct trace_info *info)
{
    char a[32];
    char b[32];
    char d[32];
    const uint64_t ns = header->tick_ns;
    standard_files_say(stream, path);
    (void)fputc('\n', stream);
    (void)fprintf(stream,
                  "  operations        %" PRIu64 ": %" PRIu64 " starts (%" PRIu64
                  " of them restarts), %" PRIu64 " stops (%" PRIu64 " of nothing)\n",
                  header->events, header->starts, info->restarts, header->stops, info->stops_idle);
    if (header->causes_known) {
        (void)fprintf(stream,
                      "  causes            %" PRIu64 " operations by timers that fire (%.3g %%), "
                      "%" PRIu64 " external\n",
                      header->reactions, 100 * share(header->reactions, header->events),
                      header->events - header->reactions);
        if (info->misplaced > 0) {
            (void)fprintf(stream,
                          "                    %" PRIu64
                          " of them where an exact structure does not "
                          "fire their cause, the first operation %" PRIu64 "\n",
                          info->misplaced, info->misplaced_event);
        }
    } else {
        (void)fprintf(stream, "  causes            " TRACE_OPEN_LOOP_NOTE "\n");
    }
    (void)fprintf(stream, "  timer ids         %" PRIu32 "\n", header->ids);
    (void)fprintf(stream, "  tick              %s\n", duration(a, 1, ns));
    (void)fprintf(stream, "  duration          %" PRIu64 " ticks, %s\n", header->end_tick,
                  duration(a, header->end_tick, ns));
    (void)fprintf(stream,
                  "  timed window      from tick %" PRIu64 " to %" PRIu64 ", %s, %" PRIu64
                  " operations\n",
                  header->warmup_end_tick, header->end_tick,
                  duration(a, header->end_tick - header->warmup_end_tick, ns), info->window_events);
    (void)fprintf(stream,
                  "  delays            p50 %s, p90 %s, p99 %s (%" PRIu64 ", %" PRIu64 ", %" PRIu64
                  " ticks)%s\n",
                  duration(a, info->delay_p50, ns), duration(b, info->delay_p90, ns),
                  duration(d, info->delay_p99, ns), info->delay_p50, info->delay_p90,
                  info->delay_p99, info->distinct_bounded ? ", to 1.6 %" : "");
    (void)fprintf(stream,
                  "                    longest %s (%" PRIu64 " ticks), %s%" PRIu64 " different\n",
                  duration(a, info->delay_max, ns), info->delay_max,
                  info->distinct_bounded ? "more than " : "", info->distinct_delays);
    if (header->max_slack_ticks > 0) {
        (void)fprintf(stream,
                      "  slack             up to %s (%" PRIu32
                      " ticks): a timer may fire up to this much later\n",
                      duration(a, header->max_slack_ticks, ns), header->max_slack_ticks);
    }
    (void)fprintf(stream,
                  "  would fire        %" PRIu64 ", %.3g %% of the starts; %" PRIu64
                  " still pending at the end\n",
                  info->fired, 100 * share(info->fired, header->starts), info->pending_at_end);
    (void)fprintf(stream,
                  "  burstiness        starts per 100 ms: variance / mean %s, per second %s; most "
                  "starts of one timer %" PRIu64 ", of timer %" PRIu32 "\n",
                  index_text(a, info->dispersion_100ms), index_text(b, info->dispersion_1s),
                  info->timer_starts_max, info->timer_starts_id);
    (void)fprintf(stream, "  pending at once   at most %" PRIu64 ", at tick %" PRIu64 "\n",
                  info->pending_max, info->pending_max_tick);
    (void)fprintf(stream,
                  "  busiest tick      %" PRIu64 ", with %" PRIu64 " operations; %" PRIu64
                  " ticks have any\n",
                  info->busiest_tick, info->busiest_tick_events, info->busy_ticks);
    (void)fprintf(stream,
                  "  file              %" PRIu64 " bytes, %" PRIu64 " blocks, %.2f bytes an "
                  "operation\n",
                  header->file_bytes, header->blocks, share(header->file_bytes, header->events));
    (void)fprintf(stream, "  origin            %s\n", header->origin);
}

/* null if unknown. */
static json_t *index_json(double index)
{
    return isnan(index) ? json_null() : json_real(index);
}

json_t *trace_info_json(const char *path, const struct trace_header *header,
                        const struct trace_info *info)
{
    json_t *json = json_object();
    (void)json_object_set_new(json, "trace", json_text(path));
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"events", header->events},
        {"starts", header->starts},
        {"restarts", info->restarts},
        {"stops", header->stops},
        {"stops_idle", info->stops_idle},
        {"reactions", header->reactions},
        {"reactions_misplaced", info->misplaced},
        {"ids", header->ids},
        {"tick_ns", header->tick_ns},
        {"warmup_end_tick", header->warmup_end_tick},
        {"end_tick", header->end_tick},
        {"window_events", info->window_events},
        {"delay_min_ticks", info->delay_min},
        {"delay_p50_ticks", info->delay_p50},
        {"delay_p90_ticks", info->delay_p90},
        {"delay_p99_ticks", info->delay_p99},
        {"delay_max_ticks", info->delay_max},
        {"distinct_delays", info->distinct_delays},
        {"slack_max_ticks", header->max_slack_ticks},
        {"fired", info->fired},
        {"pending_at_end", info->pending_at_end},
        {"pending_max", info->pending_max},
        {"pending_max_tick", info->pending_max_tick},
        {"timer_starts_max", info->timer_starts_max},
        {"timer_starts_max_id", info->timer_starts_id},
        {"busy_ticks", info->busy_ticks},
        {"busiest_tick", info->busiest_tick},
        {"busiest_tick_events", info->busiest_tick_events},
        {"file_bytes", header->file_bytes},
        {"blocks", header->blocks},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)json_object_set_new(json, numbers[i].name,
                                  json_integer((json_int_t)numbers[i].value));
    }
    (void)json_object_set_new(json, "starts_dispersion_100ms", index_json(info->dispersion_100ms));
    (void)json_object_set_new(json, "starts_dispersion_1s", index_json(info->dispersion_1s));
    (void)json_object_set_new(json, "distinct_delays_bounded",
                              json_boolean(info->distinct_bounded));
    (void)json_object_set_new(json, "open_loop", json_boolean(!header->causes_known));
    (void)json_object_set_new(json, "share_fired", json_real(share(info->fired, header->starts)));
    (void)json_object_set_new(json, "bytes_per_event",
                              json_real(share(header->file_bytes, header->events)));
    (void)json_object_set_new(json, "origin", json_loads(header->origin, 0, NULL));
    return json;
}
