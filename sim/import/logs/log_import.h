/*
 * log_import.h: turns the fields of a log's lines into events of timers. A plan has the meaning of
 * fields: time, key (an event restarts the key's idle timer), duration (a request has a timer of
 * its own), timeout of the line, operation on a timer. access-log and events differ in where their
 * plans come from.
 *
 * The first record is printed as it was understood. Warnings report a plan that may fit by
 * accident: one key has nearly all events, a key contains blanks, the times are whole seconds, or
 * many lines are dropped.
 */
#ifndef SIM_LOG_IMPORT_H
#define SIM_LOG_IMPORT_H

#include "error.h"
#include "event_log.h"
#include "import.h"
#include "log_source.h"
#include "log_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_KEYS_MAX      8u
#define LOG_TIMES_MAX     2u
#define LOG_DURATIONS_MAX 4u

/* Places among the source's wanted fields. */
struct log_fields {
    size_t at[LOG_KEYS_MAX];
    size_t count;
};

struct log_plan {
    struct log_source source;
    struct log_time_form time_form;
    struct log_fields time; /* a date and a time are joined by a blank */
    struct log_fields keys;
    struct log_fields durations; /* are added up */
    struct log_fields timeout;   /* at most one of each of these four */
    struct log_fields op;
    struct log_fields delay;
    struct log_fields slack; /* in the delay's unit */
    uint64_t duration_unit_ns;
    uint64_t timeout_unit_ns;
    uint64_t delay_unit_ns;
    bool requests;   /* each line is a request, with or without a duration */
    bool unanswered; /* one without a duration was never answered; if not, it took no time */
    enum { TIME_IS_UNKNOWN, TIME_IS_START, TIME_IS_END } time_is; /* of the request */
    bool key_has_port;    /* "address:port": the key is the address */
    bool unit_by_server;  /* W3C: Microsoft's durations are milliseconds */
    bool last_of_slashes; /* a duration is the last number of "10/0/30/69/109" */
    /* Complete the plan, given the first line; NULL: it is complete. */
    bool (*begin)(void *ctx, struct log_plan *plan, const struct line *line, struct error *error);
    void *ctx;
};

/* Ask for at most `most` fields by their names, which are separated by commas and must outlive the
 * plan. */
bool log_plan_want(struct log_plan *plan, struct log_fields *fields, const char *option,
                   const char *names, size_t most, struct error *error);

/* Read --time-is, if it is given. */
bool log_plan_time_is(struct log_plan *plan, const struct import_job *job, struct error *error);

/* Read the input and write the trace. `details` are added to the trace's origin and released. */
bool log_import_run(struct log_plan *plan, const struct import_job *job,
                    const struct event_log_settings *settings, const char *format, json_t *details,
                    struct error *error);

#endif
