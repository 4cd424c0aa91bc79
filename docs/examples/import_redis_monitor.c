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

struct monitor {
    struct import_tally tally;
    struct event_log *log;
};

/* Take a line such as: 1339518083.107412 [0 127.0.0.1:60866] "get" "x" */
static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct monitor *monitor = ctx;
    const char *end = line->text + line->length;
    const char *bracket = memchr(line->text, '[', line->length);
    const char *client = bracket == NULL ? NULL : memchr(bracket, ' ', (size_t)(end - bracket));
    const char *closing = client == NULL ? NULL : memchr(client, ']', (size_t)(end - client));
    uint64_t time_ns;
    if (closing == NULL || bracket == line->text ||
        !log_time_parse_number(line->text, (size_t)(bracket - line->text) - 1, 1000000000,
                               &time_ns)) {
        import_tally_malformed(&monitor->tally, line->number, line->text, line->length,
                               "it is not TIME [DATABASE CLIENT]");
        return true; /* counted; the tally refuses the file if there are too many */
    }
    return event_log_activity(monitor->log, time_ns, client + 1, (size_t)(closing - client) - 1,
                              error);
}

enum import_result import_redis_monitor(const struct import_job *job, struct error *error)
{
    struct event_log_settings settings;
    if (!event_log_settings(job, &settings, error)) {
        return IMPORT_USAGE;
    }
    struct line_reader *reader = line_reader_open(job->input, error);
    if (reader == NULL) {
        return IMPORT_FAILED;
    }
    struct monitor monitor = {.tally = {.job = job,
                                        .name = line_reader_name(reader),
                                        .unit = "line",
                                        .max_malformed = settings.max_malformed}};
    monitor.log = event_log_open(&monitor.tally, &settings, error);
    bool done = monitor.log != NULL &&
                import_tally_read(&monitor.tally, reader, take_line, &monitor, error) &&
                event_log_finish(monitor.log, "redis-monitor", json_object(), error);
    import_tally_close(&monitor.tally, done);
    event_log_close(monitor.log);
    line_reader_close(reader);
    return done ? IMPORT_DONE : IMPORT_FAILED;
}
