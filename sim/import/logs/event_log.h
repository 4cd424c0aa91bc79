/*
 * event_log.h: the part that is common to importers of logs. A log reports that a key (a client, a
 * connection, a block) was active at a time: each event restarts the key's idle timer; or that a
 * request began and how long it took: each has a timer of its own, which its answer stops. The
 * events are sorted, the model computes which timers expire, and the trace is written.
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

/* Read the values of EVENT_LOG_OPTIONS; sets `request_ns` to 0. */
bool event_log_settings(const struct import_job *job, struct event_log_settings *settings,
                        struct error *error);

struct event_log;

/* Begin. In the tally, which must outlive the log, the caller counts lines. Returns NULL with `error`
 * set. */
struct event_log *event_log_open(struct import_tally *tally,
                                 const struct event_log_settings *settings, struct error *error);

/* Add an event of a key. */
bool event_log_activity(struct event_log *log, uint64_t time_ns, const void *key, size_t length,
                        struct error *error);

/* Add a request that was answered after `duration_ns` (TIMER_MODEL_NEVER: it was not). `timeout_ns`
 * 0: the timeout of the settings. */
bool event_log_request(struct event_log *log, uint64_t time_ns, uint64_t duration_ns,
                       uint64_t timeout_ns, struct error *error);

/* Count a well-formed line without a key. */
void event_log_without_key(struct event_log *log);

/* After the last line: check the whole, write the summary, and complete the trace. `details` are
 * added to the origin and released. */
bool event_log_finish(struct event_log *log, const char *format, json_t *details,
                      struct error *error);

/* Release the log (NULL is legal); unless it is finished, remove the trace. */
void event_log_close(struct event_log *log);

#endif
