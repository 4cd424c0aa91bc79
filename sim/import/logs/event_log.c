#include "event_log.h"

#include "import_settings.h"
#include "key_table.h"
#include "memory.h"
#include "reorder.h"
#include "timer_model.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

enum { IDLE_QUEUE, REQUEST_QUEUE };

/* An event while it waits for its turn. */
struct waiting {
    uint64_t duration_ns; /* of a request */
    uint64_t timeout_ns;  /* of a request; 0: that of the settings */
    uint32_t timer;       /* NO_TIMER: a request */
};

#define NO_TIMER         UINT32_MAX

/* Events wait in a ring until what their keys are looked up with has come from memory: the slot is
 * fetched when an event is added, the entry SLOT_AHEAD events later, and again as many later the
 * key is looked up. */
#define RING             16u /* a power of two */
#define SLOT_AHEAD       (RING / 2)
/* While there are fewer keys than this they are in the cache anyway, and nothing waits. */
#define FETCHED_KEYS_MIN 4096u
/* Longer keys do not wait. */
#define RING_KEY_MAX     48u

/* An event in the ring. */
struct read_event {
    uint64_t time_ns;
    uint64_t duration_ns; /* of a request */
    uint64_t timeout_ns;  /* likewise */
    uint64_t hash;
    uint32_t length;
    bool request;
    char key[RING_KEY_MAX];
};

struct event_log {
    struct import_tally tally;
    struct event_log_settings settings;
    struct key_table *keys;
    uint32_t *timers; /* by key */
    uint32_t timers_room;
    struct read_event ring[RING]; /* event n at n % RING */
    uint64_t first;
    uint64_t next;
    char joined_key[KEY_BYTES_MAX];
    struct reorder *reorder;
    struct timer_model *model;
    struct error *error; /* of the call under way: what hands out events cannot pass it on */
    uint64_t without_key;
    uint64_t activities;
    uint64_t requests;
    uint64_t unanswered;
    uint64_t taken_ns; /* the time of the latest event in order, and how many there are at it */
    uint64_t at_once;
    uint64_t most_at_once;
    uint64_t gap_ns; /* the longest time without an event, and where it begins */
    uint64_t gap_from_ns;
    bool finer_than_seconds; /* a time is not of a whole second */
    bool finished;
};

bool event_log_settings(const struct import_job *job, struct event_log_settings *settings,
                        struct error *error)
{
    *settings = (struct event_log_settings){.tick_ns = 1000000,
                                            .window_ns = 300 * NS_PER_SECOND,
                                            .idle_ns = 60 * NS_PER_SECOND,
                                            .max_malformed = TALLY_MAX_MALFORMED};
    return import_setting_time(job, "idle", NS_PER_SECOND, 1, &settings->idle_ns, error) &&
           import_setting_share(job, "max-malformed", &settings->max_malformed, error) &&
           import_setting_time(job, "reorder-window", NS_PER_SECOND, 0, &settings->window_ns,
                               error) &&
           import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &settings->tick_ns, error);
}

static void see_time(struct event_log *log, uint64_t time_ns)
{
    if (log->at_once > 0 && time_ns - log->taken_ns > log->gap_ns) {
        log->gap_ns = time_ns - log->taken_ns;
        log->gap_from_ns = log->taken_ns;
    }
    log->at_once = log->at_once > 0 && time_ns == log->taken_ns ? log->at_once + 1 : 1;
    log->most_at_once = log->at_once > log->most_at_once ? log->at_once : log->most_at_once;
    log->taken_ns = time_ns;
    log->finer_than_seconds = log->finer_than_seconds || time_ns % NS_PER_SECOND != 0;
}

/* The reorder's events come here in order. */
static bool take(void *ctx, uint64_t time_ns, const void *event)
{
    struct event_log *log = ctx;
    const struct waiting *waiting = event;
    see_time(log, time_ns);
    if (!timer_model_advance(log->model, time_ns, log->error)) {
        return false;
    }
    return waiting->timer == NO_TIMER
               ? timer_model_request(log->model, REQUEST_QUEUE, waiting->duration_ns,
                                     waiting->timeout_ns, log->error)
               : timer_model_start(log->model, waiting->timer, log->error);
}

/* And shortly before. */
static void fetch(void *ctx, const void *event, enum reorder_step step)
{
    const struct event_log *log = ctx;
    const struct waiting *waiting = event;
    if (waiting->timer == NO_TIMER) {
        return;
    }
    if (step == REORDER_SOON) {
        timer_model_fetch(log->model, waiting->timer);
    } else {
        timer_model_fetch_neighbours(log->model, waiting->timer);
    }
}

struct event_log *event_log_open(const struct import_job *job, const char *name, const char *unit,
                                 const struct event_log_settings *settings, struct error *error)
{
    struct event_log *log = memory_new(1, sizeof *log);
    log->tally = (struct import_tally){
        .job = job, .name = name, .unit = unit, .max_malformed = settings->max_malformed};
    log->settings = *settings;
    log->keys = key_table_create();
    log->reorder = reorder_create(settings->window_ns, sizeof(struct waiting), take, log);
    const uint64_t timeouts_ns[TIMER_MODEL_QUEUES] = {settings->idle_ns, settings->request_ns};
    log->model = timer_model_open(job->output, settings->tick_ns, timeouts_ns, error);
    if (log->model == NULL) {
        event_log_close(log);
        return NULL;
    }
    return log;
}

struct import_tally *event_log_tally(struct event_log *log)
{
    return &log->tally;
}

static bool add(struct event_log *log, uint64_t time_ns, const struct waiting *waiting,
                struct error *error)
{
    log->error = error;
    return reorder_add(log->reorder, time_ns, waiting);
}

/* The idle timer of a key, which is new with the key. */
static uint32_t find_timer(struct event_log *log, uint64_t hash, const void *key, size_t length)
{
    uint32_t known = key_table_count(log->keys);
    uint32_t number = key_table_number_hashed(log->keys, hash, key, length);
    if (number == known) {
        MEMORY_REACH(log->timers, log->timers_room, number);
        log->timers[number] = timer_model_new_timer(log->model, IDLE_QUEUE);
        if (number + 1 == FETCHED_KEYS_MIN) {
            reorder_announce(log->reorder, fetch);
        }
    }
    return log->timers[number];
}

/* Takes the ring's first event out of it. */
static bool leave_ring(struct event_log *log, struct error *error)
{
    const struct read_event *event = &log->ring[log->first++ & (RING - 1)];
    struct waiting waiting = {
        .duration_ns = event->duration_ns, .timeout_ns = event->timeout_ns, .timer = NO_TIMER};
    if (!event->request) {
        waiting.timer = find_timer(log, event->hash, event->key, event->length);
    }
    return add(log, event->time_ns, &waiting, error);
}

static bool empty_ring(struct event_log *log, struct error *error)
{
    bool good = true;
    while (good && log->first < log->next) {
        good = leave_ring(log, error);
    }
    return good;
}

/* Once it does it always will: until then the ring is empty. */
static bool ring_pays(const struct event_log *log)
{
    return key_table_count(log->keys) >= FETCHED_KEYS_MIN;
}

/* The next place in the ring, which is to be filled. NULL if the event that it is taken from
 * failed.
 */
static struct read_event *enter_ring(struct event_log *log, struct error *error)
{
    if (log->next - log->first == RING && !leave_ring(log, error)) {
        return NULL;
    }
    if (log->next - log->first > SLOT_AHEAD) {
        const struct read_event *earlier = &log->ring[(log->next - SLOT_AHEAD) & (RING - 1)];
        if (!earlier->request) {
            key_table_fetch_entry(log->keys, earlier->hash);
        }
    }
    return &log->ring[log->next++ & (RING - 1)];
}

bool event_log_activity(struct event_log *log, uint64_t time_ns, const void *key, size_t length,
                        struct error *error)
{
    uint64_t hash = key_table_hash(key, length);
    log->activities++;
    if (length > RING_KEY_MAX || !ring_pays(log)) {
        if (!empty_ring(log, error)) {
            return false;
        }
        struct waiting waiting = {.timer = find_timer(log, hash, key, length)};
        return add(log, time_ns, &waiting, error);
    }
    struct read_event *event = enter_ring(log, error);
    if (event == NULL) {
        return false;
    }
    event->time_ns = time_ns;
    event->hash = hash;
    event->length = (uint32_t)length;
    event->request = false;
    memcpy(event->key, key, length);
    key_table_fetch_slot(log->keys, hash);
    return true;
}

bool event_log_activity_of(struct event_log *log, uint64_t time_ns, const struct log_value *parts,
                           size_t count, struct error *error)
{
    if (count == 1) {
        return event_log_activity(log, time_ns, parts[0].text, parts[0].length, error);
    }
    size_t length = log_values_join(parts, count, log->joined_key, KEY_BYTES_MAX);
    return event_log_activity(log, time_ns, log->joined_key, length, error);
}

bool event_log_request(struct event_log *log, uint64_t time_ns, uint64_t duration_ns,
                       uint64_t timeout_ns, struct error *error)
{
    log->requests++;
    log->unanswered += duration_ns == TIMER_MODEL_NEVER;
    if (!ring_pays(log)) {
        struct waiting waiting = {
            .duration_ns = duration_ns, .timeout_ns = timeout_ns, .timer = NO_TIMER};
        return add(log, time_ns, &waiting, error);
    }
    struct read_event *event = enter_ring(log, error);
    if (event == NULL) {
        return false;
    }
    event->time_ns = time_ns;
    event->duration_ns = duration_ns;
    event->timeout_ns = timeout_ns;
    event->request = true;
    return true;
}

void event_log_without_key(struct event_log *log)
{
    log->without_key++;
}

/* --- the end ---------------------------------------------------------------------------------- */

#define COUNTS_MAX 32u

static size_t list_counts(const struct event_log *log, struct import_count *counts)
{
    const struct reorder_counts *order = reorder_counts(log->reorder);
    const struct timer_queue_counts *idle = timer_model_counts(log->model, IDLE_QUEUE);
    const struct timer_queue_counts *request = timer_model_counts(log->model, REQUEST_QUEUE);
    const struct import_count all[] = {
        {"lines", log->tally.lines},
        {"blank_lines", log->tally.blank},
        {"malformed_lines", log->tally.malformed},
        {"without_key", log->without_key},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"keys", key_table_count(log->keys)},
        {"events", log->activities},
        {"sessions", idle->arms},
        {"rearms", idle->rearms},
        {"expired_by_last_event", idle->expired},
        {"armed_at_last_event", idle->armed},
        {"max_armed", idle->max_armed},
        {"requests", log->requests},
        {"requests_unanswered", log->unanswered},
        {"requests_stopped", request->stops},
        {"requests_expired", request->expired_in_all},
        {"max_requests_armed", request->max_armed},
        {"timers", timer_model_timers(log->model)},
        {"trace_starts", timer_model_starts(log->model)},
        {"trace_stops", timer_model_stops(log->model)},
    };
    _Static_assert(sizeof all / sizeof all[0] <= COUNTS_MAX, "counts must fit");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        counts[i] = all[i];
    }
    return sizeof all / sizeof all[0];
}

static bool judge_log(const struct event_log *log, struct error *error)
{
    const struct import_tally *tally = &log->tally;
    const struct reorder_counts *order = reorder_counts(log->reorder);
    if (tally->lines == 0) {
        return error_set(error, "%s: is empty: no %s to import", tally->name, tally->unit);
    }
    if (!import_tally_bearable(tally, true, error)) {
        return false;
    }
    if (order->events == 0) {
        return error_set(error, "%s: none of its %" PRIu64 " %ss is an event that starts a timer",
                         tally->name, tally->lines, tally->unit);
    }
    if ((double)order->too_late > tally->max_malformed * (double)order->events) {
        return error_set(
            error,
            "%s: %" PRIu64 " of %" PRIu64
            " events are more than %.9g s out of order, one of them %.9g s; sort the file by time, "
            "or raise --reorder-window, or accept more of them with --max-malformed",
            tally->name, order->too_late, order->events, (double)log->settings.window_ns / 1e9,
            (double)order->max_backward_ns / 1e9);
    }
    return true;
}

/* What makes the trace another one than the traffic was. */
static void doubt(struct event_log *log)
{
    const struct reorder_counts *order = reorder_counts(log->reorder);
    uint64_t span_ns = order->last_ns - order->first_ns;
    if (!log->finer_than_seconds && log->settings.tick_ns < NS_PER_SECOND && span_ns > 0) {
        import_doubt_seconds(&log->tally, log->most_at_once);
    }
    if (span_ns < log->settings.tick_ns && order->events > 1) {
        import_doubt(&log->tally,
                     "all of it, %" PRIu64 " events, happens in one tick of %" PRIu64
                     " ns: no timer runs in it; give the right unit of time, or a shorter "
                     "--tick-ns",
                     order->events, log->settings.tick_ns);
    }
    import_doubt_gap(&log->tally, log->gap_ns, log->gap_from_ns - order->first_ns, span_ns);
}

static void print_summary(const struct event_log *log, const struct import_count *counts,
                          size_t count)
{
    const struct import_tally *tally = &log->tally;
    const struct reorder_counts *order = reorder_counts(log->reorder);
    FILE *out = tally->job->report;
    import_tally_print(tally);
    (void)fprintf(out, "%s: %" PRIu64 " %ss, %.6f s, tick %" PRIu64 " ns\n\n", tally->name,
                  tally->lines, tally->unit, (double)(order->last_ns - order->first_ns) / 1e9,
                  log->settings.tick_ns);
    import_counts_print(out, counts, count);
    (void)fprintf(out, "\n%s: %" PRIu64 " starts and %" PRIu64 " stops of %" PRIu32 " timers\n",
                  tally->job->output, timer_model_starts(log->model), timer_model_stops(log->model),
                  timer_model_timers(log->model));
    import_causes_print(tally, 0, TIMER_MODEL_CAUSES);
    if (order->too_late > 0) {
        (void)fprintf(out,
                      "%s: %" PRIu64 " %ss were more than %.9g s out of order, and were moved; "
                      "--reorder-window %.9g would have put them in their places\n",
                      tally->name, order->too_late, tally->unit,
                      (double)log->settings.window_ns / 1e9, (double)order->max_backward_ns / 1e9);
    }
}

bool event_log_finish(struct event_log *log, const char *format, json_t *details,
                      struct error *error)
{
    log->error = error;
    if (!empty_ring(log, error) || !judge_log(log, error) || !reorder_finish(log->reorder) ||
        !timer_model_finish(log->model, error)) {
        json_decref(details);
        return false;
    }
    struct import_count counts[COUNTS_MAX];
    size_t count = list_counts(log, counts);
    doubt(log);
    const struct reorder_counts *order = reorder_counts(log->reorder);
    json_t *origin = import_origin(&log->tally, format, counts, count);
    (void)json_object_update_missing(origin, details);
    json_decref(details);
    (void)json_object_set_new(origin, "duration_ns",
                              import_json_count(order->last_ns - order->first_ns));
    (void)json_object_set_new(origin, "connections", import_json_count(key_table_count(log->keys)));
    (void)json_object_set_new(origin, "max_backward_ns", import_json_count(order->max_backward_ns));
    (void)json_object_set_new(origin, "causes", json_string(TIMER_MODEL_CAUSES));
    if (log->activities > 0) {
        (void)json_object_set_new(origin, "idle_ns", import_json_count(log->settings.idle_ns));
    }
    if (log->requests > 0 && log->settings.request_ns > 0) {
        (void)json_object_set_new(origin, "request_timeout_ns",
                                  import_json_count(log->settings.request_ns));
    }
    char *text = import_origin_text(origin);
    bool good = timer_model_commit(log->model, text, error);
    free(text);
    if (good) {
        print_summary(log, counts, count);
        log->finished = true;
    }
    return good;
}

void event_log_close(struct event_log *log)
{
    if (log == NULL) {
        return;
    }
    if (!log->finished) {
        import_tally_print(&log->tally);
    }
    import_tally_free(&log->tally);
    timer_model_close(log->model);
    reorder_destroy(log->reorder);
    key_table_destroy(log->keys);
    free(log->timers);
    free(log);
}
