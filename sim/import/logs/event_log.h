/*
 * event_log.h: what importers of logs have in common. A log says that a key (a client, a
 * connection, a block) was active at a time, and each event restarts the key's idle timer; or that
 * a request began and how long it took, and each has a timer of its own, which its answer stops.
 * The events are put in order, the model says which timers expire, and the trace is written.
 */
#ifndef SIM_EVENT_LOG_H
#define SIM_EVENT_LOG_H

#include "error.h"
#include "import.h"
#include "import_tally.h"
#include "log_time.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of an option table that event_log_settings reads. */
#define EVENT_LOG_OPTIONS                                                                          \
    {"idle", "SECONDS", false, "the idle timers' timeout, from 1e-9 s on (default: 60)"},          \
        {"max-malformed", "SHARE", false,                                                          \
         "refuse a file with a greater share of lines that are not understood (default: 1%)"},     \
        {"reorder-window", "SECONDS", false,                                                       \
         "sort lines that are up to this much too late in the file (default: 300)"},               \
    {                                                                                              \
        "tick-ns", "NS", false,                                                                    \
            "length of a tick of the trace; deadlines are rounded up to it (default: 1000000)"     \
    }

struct event_log_settings {
    uint64_t tick_ns;
    uint64_t window_ns;
    uint64_t idle_ns;
    uint64_t request_ns; /* the requests' timeout; 0: there are no requests */
    double max_malformed;
};

/* Reads the values of EVENT_LOG_OPTIONS; `request_ns` is 0 then. */
bool event_log_settings(const struct import_job *job, struct event_log_settings *settings,
                        struct error *error);

struct event_log;

/* `name` is the input's, in messages; `unit` what it consists of: "line" or "packet". NULL with
 * `error` set. */
struct event_log *event_log_open(const struct import_job *job, const char *name, const char *unit,
                                 const struct event_log_settings *settings, struct error *error);

/* Where malformed lines are counted. */
struct import_tally *event_log_tally(struct event_log *log);

/* A key was active. */
bool event_log_activity(struct event_log *log, uint64_t time_ns, const void *key, size_t length,
                        struct error *error);

/* Likewise a key of several parts, of one line or row: one at least. */
bool event_log_activity_of(struct event_log *log, uint64_t time_ns, const struct log_value *parts,
                           size_t count, struct error *error);

/* A request began, and was answered after `duration_ns`; TIMER_MODEL_NEVER: it was not. Its timeout
 * is `timeout_ns`; 0: that of the settings. */
bool event_log_request(struct event_log *log, uint64_t time_ns, uint64_t duration_ns,
                       uint64_t timeout_ns, struct error *error);

/* A line that is fine but says nothing of a key. */
void event_log_without_key(struct event_log *log);

/* After the last line: judges the whole, writes the summary, and completes the trace. `details` go
 * into the origin; dropped here. */
bool event_log_finish(struct event_log *log, const char *format, json_t *details,
                      struct error *error);

/* NULL is legal. What is not finished leaves nothing behind, and shows the malformed lines. */
void event_log_close(struct event_log *log);

#endif
