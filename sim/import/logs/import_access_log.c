/*
 * import access-log: the log of a web server. Each line is a request of a client; it restarts the
 * client's idle timer, and may have a timer of its own, which ends with the request.
 */
#include "import.h"

#include "event_log.h"
#include "import_settings.h"
#include "log_format.h"
#include "log_time.h"

#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define KEYS_MAX      8u

/* What Common and Combined have in common; the rest of a line is not looked at. */
#define COMMON_FORMAT "%h %l %u %t "

const struct import_option import_access_log_options[] = {
    {"key", "FIELD[,FIELD]", false,
     "the fields that make a connection, such as $connection (default: the client's address)"},
    {"log-format", "FORMAT", false,
     "Apache's LogFormat or nginx's log_format (default: Common or Combined)"},
    {"request-timeout", "SECONDS", false,
     "give each request a timer, stopped after the time it took, if the format has that, or else "
     "at once (default: none)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

struct access_log_import {
    struct event_log *log;
    struct log_format format;
    struct log_time_cache cache;
    size_t needed; /* fields that must be taken off a line */
    size_t time;
    size_t duration; /* the format's count: there is none */
    size_t keys[KEYS_MAX];
    size_t key_count;
    bool requests;
};

/* --- options ---------------------------------------------------------------------------------- */

static size_t find_kind(const struct log_format *format, enum log_field_kind least,
                        enum log_field_kind most)
{
    size_t i = 0;
    while (i < format->count && (format->fields[i].kind < least || format->fields[i].kind > most)) {
        i++;
    }
    return i;
}

/* The number of the field that `name` of `length` names; if there is none, the error lists what
 * there is. */
static bool find_key(struct access_log_import *import, const char *name, size_t length,
                     struct error *error)
{
    const struct log_format *format = &import->format;
    char copy[256];
    char names[600] = "";
    if (length < sizeof copy) {
        memcpy(copy, name, length);
        copy[length] = '\0';
        size_t field = log_format_find(format, copy);
        if (field < format->count) {
            import->keys[import->key_count++] = field;
            return true;
        }
    }
    for (size_t i = 0; i < format->count; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                       format->fields[i].name);
    }
    return error_set(error, "--key %.*s: the format has no such field, but %s", (int)length, name,
                     names);
}

static bool read_keys(struct access_log_import *import, const char *keys, struct error *error)
{
    if (keys == NULL) {
        size_t client = find_kind(&import->format, LOG_FIELD_CLIENT, LOG_FIELD_CLIENT);
        if (client == import->format.count) {
            return error_set(error, "the format has no client's address (%%h or $remote_addr); "
                                    "say with --key which field makes a connection");
        }
        import->keys[import->key_count++] = client;
        return true;
    }
    while (keys != NULL) {
        if (import->key_count == KEYS_MAX) {
            return error_set(error, "--key %s: more than %u fields", keys, KEYS_MAX);
        }
        const char *comma = strchr(keys, ',');
        size_t length = comma != NULL ? (size_t)(comma - keys) : strlen(keys);
        if (!find_key(import, keys, length, error)) {
            return false;
        }
        keys = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static void need(struct access_log_import *import, size_t field)
{
    if (field < import->format.count && field >= import->needed) {
        import->needed = field + 1;
    }
}

static bool read_settings(const struct import_job *job, struct access_log_import *import,
                          struct event_log_settings *settings, struct error *error)
{
    const char *text = import_setting(job, "log-format");
    if (!event_log_settings(job, settings, error) ||
        !import_setting_time(job, "request-timeout", NS_PER_SECOND, 1, &settings->request_ns,
                             error) ||
        !log_format_parse(&import->format, text != NULL ? text : COMMON_FORMAT, error) ||
        !read_keys(import, import_setting(job, "key"), error)) {
        return false;
    }
    import->time = find_kind(&import->format, LOG_FIELD_TIME_CLF, LOG_FIELD_TIME_UNIX);
    if (import->time == import->format.count) {
        return error_set(error, "--log-format: has no time, such as %%t, %%{msec}t, $time_local, "
                                "$time_iso8601 or $msec");
    }
    import->requests = settings->request_ns > 0;
    import->duration = import->requests
                           ? find_kind(&import->format, LOG_FIELD_DURATION, LOG_FIELD_DURATION)
                           : import->format.count;
    need(import, import->time);
    need(import, import->duration);
    for (size_t i = 0; i < import->key_count; i++) {
        need(import, import->keys[i]);
    }
    return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool take_time(struct access_log_import *import, struct log_value value, uint64_t *time_ns)
{
    const struct log_field *field = &import->format.fields[import->time];
    switch (field->kind) {
    case LOG_FIELD_TIME_CLF:
        return log_time_parse_clf(&import->cache, value.text, value.length, time_ns);
    case LOG_FIELD_TIME_ISO:
        return log_time_parse_iso(value.text, value.length, time_ns);
    case LOG_FIELD_TIME_UNIX:
    case LOG_FIELD_OTHER:
    case LOG_FIELD_CLIENT:
    case LOG_FIELD_DURATION:
    default:
        return log_time_parse_number(value.text, value.length, field->unit_ns, time_ns);
    }
}

static bool is_unset(struct log_value value)
{
    return value.length == 1 && value.text[0] == '-';
}

/* The parts of a line's key. NULL if it is fine, or why it is none; `unset` if a field says "-". */
static const char *take_key(const struct access_log_import *import, const struct log_value *values,
                            struct log_value *parts, bool *unset)
{
    for (size_t i = 0; i < import->key_count; i++) {
        parts[i] = values[import->keys[i]];
        if (parts[i].length == 0) {
            return "no client";
        }
        *unset = *unset || is_unset(parts[i]);
    }
    return NULL;
}

/* Adds the request's own timer. The time in the line is that of its beginning or of its end. */
static bool add_request(struct access_log_import *import, uint64_t time_ns, uint64_t duration_ns,
                        struct error *error)
{
    if (import->format.fields[import->time].at_end) {
        time_ns -= duration_ns < time_ns ? duration_ns : time_ns;
    }
    return event_log_request(import->log, time_ns, duration_ns, error);
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct access_log_import *import = ctx;
    struct import_tally *tally = event_log_tally(import->log);
    struct log_value values[LOG_FIELDS_MAX];
    struct log_value key[KEYS_MAX];
    bool unset = false;
    uint64_t time_ns = 0;
    uint64_t duration_ns = 0;
    const char *why = NULL;
    if (line->length == 0 || line->text[0] == '#') {
        tally->blank++;
        return true;
    }
    if (!log_format_match(&import->format, import->needed, line->text, line->length, values)) {
        why = "not of the log's format";
    } else if (!take_time(import, values[import->time], &time_ns)) {
        why = "no time where the format has it";
    } else {
        why = take_key(import, values, key, &unset);
    }
    if (why == NULL && import->duration < import->format.count &&
        !is_unset(values[import->duration]) &&
        !log_time_parse_number(values[import->duration].text, values[import->duration].length,
                               import->format.fields[import->duration].unit_ns, &duration_ns)) {
        why = "no duration where the format has it";
    }
    if (why != NULL) {
        import_tally_malformed(tally, line->number, line->text, line->length, why);
        return true;
    }
    if (import->requests && !add_request(import, time_ns, duration_ns, error)) {
        return false;
    }
    if (unset) {
        event_log_without_key(import->log);
        return true;
    }
    return event_log_activity_of(import->log, time_ns, key, import->key_count, error);
}

static bool import_lines(struct access_log_import *import, const struct import_job *job,
                         const struct event_log_settings *settings, struct error *error)
{
    json_t *details = json_object();
    const char *format = import_setting(job, "log-format");
    (void)json_object_set_new(details, "log_format",
                              import_printable(format != NULL ? format : COMMON_FORMAT));
    return event_log_import(job, settings, "access-log", details, take_line, import, &import->log,
                            error);
}

enum import_result import_access_log(const struct import_job *job, struct error *error)
{
    struct access_log_import import = {0};
    struct event_log_settings settings;
    enum import_result result = IMPORT_USAGE;
    if (read_settings(job, &import, &settings, error)) {
        result = import_lines(&import, job, &settings, error) ? IMPORT_DONE : IMPORT_FAILED;
    }
    log_format_release(&import.format);
    return result;
}
