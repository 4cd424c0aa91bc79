/*
 * import access-log: the log of a web server. Each line is a request of a client; it restarts the
 * client's idle timer, and may have a timer of its own, which ends with the request.
 *
 * Without --log-format the first line decides which of the known formats it is.
 */
#include "import.h"

#include "json_text.h"
#include "log_import.h"
#include "log_known.h"

#define NS_PER_SECOND UINT64_C(1000000000)

const struct import_option import_access_log_options[] = {
    {"key", "FIELD[,FIELD]", false,
     "the fields that make a connection, such as $connection (default: the client's address)"},
    {"log-format", "FORMAT", false,
     "Apache's LogFormat, nginx's log_format, or a name: " LOG_KNOWN_NAMES
     " (default: as the first line is)"},
    {"request-timeout", "SECONDS", false,
     "give each request a timer, stopped after the time it took, if the format has that, or else "
     "at once (default: none)"},
    {"time-is", "start|end", false,
     "which end of the request the time in a line is (default: as its server has it)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

struct access_log_import {
    const struct import_job *job;
    const char *key; /* --key, or NULL */
    json_t *details;
};

/* Use a named format, or one of a server's configuration. */
static bool use_format(struct access_log_import *import, struct log_plan *plan, const char *text,
                       struct error *error)
{
    const struct log_known *known = log_known_find(text);
    (void)json_object_set_new(import->details, "log_format",
                              json_text(known != NULL ? known->name : text));
    return (known != NULL ? log_known_use(known, plan, import->key, error)
                          : log_format_use(text, plan, import->key, error)) &&
           log_plan_time_is(plan, import->job, error);
}

static bool guess_format(void *ctx, struct log_plan *plan, const struct line *line,
                         struct error *error)
{
    return use_format(ctx, plan, log_known_guess(line->text, line->length)->name, error);
}

static bool read_settings(const struct import_job *job, struct access_log_import *import,
                          struct log_plan *plan, struct event_log_settings *settings,
                          struct error *error)
{
    const char *text = import_setting(job, "log-format");
    if (!event_log_settings(job, settings, error) ||
        !import_setting_time(job, "request-timeout", NS_PER_SECOND, 1, &settings->request_ns,
                             error)) {
        return false;
    }
    plan->requests = settings->request_ns > 0;
    if (text != NULL) {
        return use_format(import, plan, text, error);
    }
    plan->begin = guess_format;
    plan->ctx = import;
    return log_plan_time_is(plan, job, error);
}

enum import_result import_access_log(const struct import_job *job, struct error *error)
{
    struct log_plan plan = {0};
    struct access_log_import import = {
        .job = job, .key = import_setting(job, "key"), .details = json_object()};
    struct event_log_settings settings;
    enum import_result result = IMPORT_USAGE;
    if (read_settings(job, &import, &plan, &settings, error)) {
        result = log_import_run(&plan, job, &settings, "access-log", import.details, error)
                     ? IMPORT_DONE
                     : IMPORT_FAILED;
    } else {
        json_decref(import.details);
    }
    log_source_release(&plan.source);
    return result;
}
