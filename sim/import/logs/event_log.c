#include "event_log.h"

#include "memory.h"
#include "sorted_events.h"
#include "timer_model.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_TIMER UINT32_MAX

enum { IDLE_QUEUE, REQUEST_QUEUE };

/* An event in the reorder. */
struct sorted_event {
    uint64_t duration_ns; /* of a request */
    uint64_t timeout_ns;  /* of a request; 0: that of the settings */
    uint32_t timer;       /* NO_TIMER: a request */
};

struct event_log {
    struct sorted_events sorted; /* a key's value is its timer's number plus 1, a uint32_t */
    struct timer_model *model;
    uint64_t without_key;
    uint64_t activities;
    uint64_t requests;
    uint64_t unanswered;
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

static bool take_sorted(void *ctx, uint64_t time_ns, const void *event, struct error *error)
{
    struct event_log *log = ctx;
    const struct sorted_event *sorted = event;
    import_times_add(&log->sorted.times, time_ns);
    if (!timer_model_advance(log->model, time_ns, error)) {
        return false;
    }
    return sorted->timer == NO_TIMER
               ? timer_model_request(log->model, REQUEST_QUEUE, sorted->duration_ns,
                                     sorted->timeout_ns, error)
               : timer_model_start(log->model, sorted->timer, error);
}

struct event_log *event_log_open(struct import_tally *tally,
                                 const struct event_log_settings *settings, struct error *error)
{
    struct event_log *log = memory_new(1, sizeof *log);
    const uint64_t timeouts_ns[TIMER_MODEL_QUEUES] = {settings->idle_ns, settings->request_ns};
    sorted_events_open(&log->sorted, tally, settings, sizeof(uint32_t), sizeof(struct sorted_event),
                       take_sorted, log);
    log->model = timer_model_open(tally->job->output, settings->tick_ns, timeouts_ns, error);
    if (log->model == NULL) {
        event_log_close(log);
        return NULL;
    }
    return log;
}

bool event_log_activity(struct event_log *log, uint64_t time_ns, const void *key, size_t length,
                        struct error *error)
{
    struct key_table *keys = log->sorted.keys;
    uint32_t *timer_plus_1 = key_table_value(keys, key_table_number(keys, key, length));
    if (*timer_plus_1 == 0) {
        *timer_plus_1 = timer_model_new_timer(log->model, IDLE_QUEUE) + 1;
    }
    const struct sorted_event event = {.timer = *timer_plus_1 - 1};
    log->activities++;
    return reorder_add(log->sorted.reorder, time_ns, &event, error);
}

bool event_log_request(struct event_log *log, uint64_t time_ns, uint64_t duration_ns,
                       uint64_t timeout_ns, struct error *error)
{
    const struct sorted_event request = {
        .duration_ns = duration_ns, .timeout_ns = timeout_ns, .timer = NO_TIMER};
    log->requests++;
    log->unanswered += duration_ns == TIMER_MODEL_NEVER;
    return reorder_add(log->sorted.reorder, time_ns, &request, error);
}

void event_log_without_key(struct event_log *log)
{
    log->without_key++;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void warn_of_short_span(struct event_log *log)
{
    const struct event_log_settings *settings = &log->sorted.settings;
    uint64_t events = reorder_counts(log->sorted.reorder)->events;
    if (import_times_span_ns(&log->sorted.times) < settings->tick_ns && events > 1) {
        import_warn(log->sorted.tally,
                    "all of it, %" PRIu64 " events, happens in one tick of %" PRIu64
                    " ns: no timer runs in it; give the right unit of time, or a shorter "
                    "--tick-ns",
                    events, settings->tick_ns);
    }
}

/* Add to the origin what depends on the log; returns it. */
static json_t *add_details(const struct event_log *log, json_t *details)
{
    const struct event_log_settings *settings = &log->sorted.settings;
    size_t count = 2;
    struct import_count numbers[4] = {
        {"connections", key_table_count(log->sorted.keys)},
        {"max_backward_ns", reorder_counts(log->sorted.reorder)->max_backward_ns},
    };
    if (log->activities > 0) {
        numbers[count++] = (struct import_count){"idle_ns", settings->idle_ns};
    }
    if (log->requests > 0 && settings->request_ns > 0) {
        numbers[count++] = (struct import_count){"request_timeout_ns", settings->request_ns};
    }
    (void)json_object_update_new(details, import_counts_json(numbers, count));
    return details;
}

static bool write_log(struct event_log *log, const char *format, json_t *details,
                      struct error *error)
{
    const struct import_tally *tally = log->sorted.tally;
    const struct reorder_counts *order = reorder_counts(log->sorted.reorder);
    const struct timer_queue_counts *idle = timer_model_counts(log->model, IDLE_QUEUE);
    const struct timer_queue_counts *request = timer_model_counts(log->model, REQUEST_QUEUE);
    struct import_summary summary = {.format = format, .details = add_details(log, details)};
    timer_model_end(log->model, &summary);
    const struct import_count counts[] = {
        {"lines", tally->lines},
        {"blank_lines", tally->blank},
        {"malformed_lines", tally->malformed},
        {"without_key", log->without_key},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"keys", key_table_count(log->sorted.keys)},
        {"events", log->activities},
        {"sessions", idle->arms},
        {"rearms", idle->rearms},
        {"expired_by_last_event", idle->expired},
        {"armed_at_last_event", idle->armed},
        {"max_armed", idle->max_armed},
        {"requests", log->requests},
        {"requests_unanswered", log->unanswered},
        {"requests_stopped", request->stops},
        {"requests_expired", request->arms - request->stops},
        {"max_requests_armed", request->max_armed},
        {"timers", summary.timers},
        {"trace_starts", summary.starts},
        {"trace_stops", summary.stops},
    };
    IMPORT_COUNTS(&summary, counts);
    return sorted_events_finish(&log->sorted, &summary, error);
}

bool event_log_finish(struct event_log *log, const char *format, json_t *details,
                      struct error *error)
{
    if (!sorted_events_end(&log->sorted, log->activities + log->requests,
                           "is an event that starts a timer", error) ||
        !timer_model_finish(log->model, error)) {
        json_decref(details);
        return false;
    }
    warn_of_short_span(log);
    return write_log(log, format, details, error);
}

void event_log_close(struct event_log *log)
{
    if (log == NULL) {
        return;
    }
    sorted_events_close(&log->sorted);
    timer_model_close(log->model);
    free(log);
}
