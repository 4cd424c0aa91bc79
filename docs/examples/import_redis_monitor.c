/*
 * import redis-monitor: what `redis-cli monitor` prints. Each command restarts its client's idle
 * timer. docs/internals/recipes.md adds it to a copy of the sources, as an example of an importer.
 */
#include "import.h"

#include "event_log.h"
#include "line_reader.h"

#include <string.h>

const struct import_option import_redis_monitor_options[] = {
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

/* Take a line such as: 1339518083.107412 [0 127.0.0.1:60866] "get" "x" */
static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct event_log *log = ctx;
    const char *end = line->text + line->length;
    const char *bracket = memchr(line->text, '[', line->length);
    const char *client = bracket == NULL ? NULL : memchr(bracket, ' ', (size_t)(end - bracket));
    const char *closing = client == NULL ? NULL : memchr(client, ']', (size_t)(end - client));
    uint64_t time_ns;
    if (closing == NULL || bracket == line->text ||
        !log_time_parse_number(line->text, (size_t)(bracket - line->text) - 1, 1000000000,
                               &time_ns)) {
        import_tally_malformed(event_log_tally(log), line->number, line->text, line->length,
                               "it is not TIME [DATABASE CLIENT]");
        return true; /* counted; the tally refuses the file if there are too many */
    }
    return event_log_activity(log, time_ns, client + 1, (size_t)(closing - client) - 1, error);
}

enum import_result import_redis_monitor(const struct import_job *job, struct error *error)
{
    struct event_log_settings settings;
    if (!event_log_settings(job, &settings, error)) {
        return IMPORT_USAGE;
    }
    struct line_reader *reader = line_reader_open(job->input, error);
    struct event_log *log =
        reader == NULL ? NULL
                       : event_log_open(job, line_reader_name(reader), "line", &settings, error);
    bool done = log != NULL &&
                import_tally_read(event_log_tally(log), reader, take_line, log, error) &&
                event_log_finish(log, "redis-monitor", json_object(), error);
    event_log_close(log);
    line_reader_close(reader);
    return done ? IMPORT_DONE : IMPORT_FAILED;
}
