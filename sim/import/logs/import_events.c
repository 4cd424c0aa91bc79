/*
 * import events: a table of events with named columns, as CSV, TSV, a Zeek or W3C log or SWF; or
 * JSON, an object a line. The columns that matter are named on the command line.
 */
#include "import.h"

#include "log_import.h"

#include <string.h>

const struct import_option import_events_options[] = {
    {"delay", "COLUMN", false, "with --op, the column of the delay (default: delay)"},
    {"delay-unit", "UNIT", false, "s, ms, us or ns (default: that of the time)"},
    {"duration", "COLUMN[,COLUMN]", false,
     "the column of a request's duration: each row has a timer of its own, stopped then; several "
     "are added up"},
    {"duration-unit", "UNIT", false, "s, ms, us or ns (default: that of the time)"},
    {"key", "COLUMN[,COLUMN]", false,
     "the columns that name the owner of the idle timer that an event restarts"},
    {"op", "COLUMN", false,
     "the rows are timers' own operations, of those that --key names: the column that says which: "
     "start (restart, arm, set, reset, add, schedule), stop (cancel, del, clear), fire (expire, "
     "timeout), or repeat (interval), a start of a timer that starts itself again when it fires"},
    {"slack", "COLUMN", false,
     "with --op, the column of a timer's slack: how late it may fire, in the unit of the delay"},
    {"time", "COLUMN[,COLUMN]", false, "the column of the time, or date and time (default: ts)"},
    {"time-format", "FORMAT", false,
     "dates in a format of strptime(3), such as '%d.%m.%Y %H:%M:%S'; a fraction may follow the "
     "seconds"},
    {"time-is", "start|end", false,
     "with --duration, which end of the request the time is (default: start)"},
    {"time-unit", "UNIT", false,
     "s, ms, us, ns since whenever, or iso: a date (default: iso or s, as the first row is)"},
    {"timeout", "SECONDS", false, "the requests' timeout, from 1e-9 s on (default: 5)"},
    {"timeout-column", "COLUMN", false,
     "the column of a row's own timeout, of its request or its key's timer; 0: none"},
    {"timeout-unit", "UNIT", false, "s, ms, us or ns (default: that of the time)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

/* 0 means dates. */
static bool read_unit(const struct import_job *job, const char *name, bool dates, uint64_t *unit_ns,
                      struct error *error)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", NS_PER_SECOND}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {"iso", 0}};
    const char *text = import_setting(job, name);
    if (text == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, text) == 0 && (dates || units[i].ns > 0)) {
            *unit_ns = units[i].ns;
            return true;
        }
    }
    return error_set(error, "--%s %s: not %s", name, text,
                     dates ? "s, ms, us, ns or iso" : "s, ms, us or ns");
}

static bool read_time(const struct import_job *job, struct log_plan *plan, struct error *error)
{
    const char *format = import_setting(job, "time-format");
    uint64_t unit_ns = NS_PER_SECOND;
    plan->time_form.kind = LOG_TIME_ANY;
    if (!read_unit(job, "time-unit", true, &unit_ns, error)) {
        return false;
    }
    if (import_setting(job, "time-unit") != NULL) {
        plan->time_form.kind = unit_ns == 0 ? LOG_TIME_ISO : LOG_TIME_NUMBER;
    }
    if (format != NULL) {
        plan->time_form.kind = LOG_TIME_FORMAT;
        plan->time_form.format = format;
        if (!log_time_format_check("--time-format", format, error)) {
            return false;
        }
    }
    unit_ns = unit_ns != 0 ? unit_ns : NS_PER_SECOND;
    plan->time_form.unit_ns = unit_ns;
    plan->duration_unit_ns = unit_ns;
    plan->delay_unit_ns = unit_ns;
    plan->timeout_unit_ns = unit_ns;
    return read_unit(job, "delay-unit", false, &plan->delay_unit_ns, error) &&
           read_unit(job, "duration-unit", false, &plan->duration_unit_ns, error) &&
           read_unit(job, "timeout-unit", false, &plan->timeout_unit_ns, error) &&
           log_plan_time_is(plan, job, error);
}

/* Ask for the columns of one option, if it is given or has a default. */
static bool want_columns(const struct import_job *job, struct log_plan *plan,
                         struct log_fields *fields, const char *option, const char *otherwise,
                         size_t most, struct error *error)
{
    const char *names = import_setting(job, option);
    char dashed[32];
    names = names != NULL ? names : otherwise;
    (void)snprintf(dashed, sizeof dashed, "--%s", option);
    return names == NULL || log_plan_want(plan, fields, dashed, names, most, error);
}

static bool check_options(const struct import_job *job, struct error *error)
{
    bool op = import_setting(job, "op") != NULL;
    bool duration = import_setting(job, "duration") != NULL;
    bool timeout = import_setting(job, "timeout-column") != NULL;
    bool unit = import_setting(job, "delay-unit") != NULL || import_setting(job, "slack") != NULL;
    bool delay = import_setting(job, "delay") != NULL || unit;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {import_setting(job, "key") == NULL && (op || !duration),
         "--key is needed: the column that names the owner of the timer that an event restarts; or "
         "--duration: the column with the duration of a request"},
        {op && duration,
         "--op and --duration do not go together: rows are operations, or requests"},
        {!op && delay,
         "--delay, --delay-unit and --slack belong to --op, the column that names the "
         "operation of a row"},
        {op && timeout && delay,
         "--delay, --delay-unit and --slack do not go together with --timeout-column: it is a "
         "start's delay, of which 0 is none"},
        {!timeout && import_setting(job, "timeout-unit") != NULL,
         "--timeout-unit belongs to --timeout-column"},
        {!duration && import_setting(job, "time-is") != NULL,
         "--time-is belongs to --duration: only a request has two ends"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].wrong) {
            return error_set(error, "%s", rules[i].why);
        }
    }
    return true;
}

static bool read_settings(const struct import_job *job, struct log_plan *plan,
                          struct event_log_settings *settings, struct error *error)
{
    if (!event_log_settings(job, settings, error)) {
        return false;
    }
    bool op = import_setting(job, "op") != NULL;
    bool timeout = import_setting(job, "timeout-column") != NULL;
    settings->request_ns = 5 * NS_PER_SECOND;
    plan->requests = import_setting(job, "duration") != NULL;
    plan->unanswered = true;
    return check_options(job, error) && read_time(job, plan, error) &&
           import_setting_time(job, "timeout", NS_PER_SECOND, 1, &settings->request_ns, error) &&
           want_columns(job, plan, &plan->time, "time", "ts", LOG_TIMES_MAX, error) &&
           want_columns(job, plan, &plan->keys, "key", NULL, LOG_KEYS_MAX, error) &&
           want_columns(job, plan, &plan->durations, "duration", NULL, LOG_DURATIONS_MAX, error) &&
           want_columns(job, plan, &plan->timeout, "timeout-column", NULL, 1, error) &&
           want_columns(job, plan, &plan->op, "op", NULL, 1, error) &&
           want_columns(job, plan, &plan->slack, "slack", NULL, 1, error) &&
           want_columns(job, plan, &plan->delay, "delay", op && !timeout ? "delay" : NULL, 1,
                        error);
}

enum import_result import_events(const struct import_job *job, struct error *error)
{
    struct log_plan plan = {0};
    struct event_log_settings settings;
    enum import_result result = IMPORT_USAGE;
    if (read_settings(job, &plan, &settings, error)) {
        result = log_import_run(&plan, job, &settings, "events", json_object(), error)
                     ? IMPORT_DONE
                     : IMPORT_FAILED;
    }
    log_source_release(&plan.source);
    return result;
}
