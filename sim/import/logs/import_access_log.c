/*
 * import access-log: the log of a web server. Each line is a request of a client; it restarts the
 * client's idle timer, and may have a timer of its own, which ends with the request.
 *
 * Without --log-format the first line decides which of the known formats it is.
 */
#include "import.h"

#include "json_text.h"
#include "log_import.h"

#include <ctype.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)

const struct import_option import_access_log_options[] = {
    {"key", "FIELD[,FIELD]", false,
     "the fields that make a connection, such as $connection (default: the client's address)"},
    {"log-format", "FORMAT", false,
     "Apache's LogFormat, nginx's log_format, or a name: common, combined, vhost, squid, haproxy, "
     "envoy, w3c (IIS, CloudFront), alb (AWS), caddy, traefik, envoy-json (default: as the first "
     "line is)"},
    {"request-timeout", "SECONDS", false,
     "give each request a timer, stopped after the time it took, if the format has that, or else "
     "at once (default: none)"},
    {"time-is", "start|end", false,
     "which end of the request the time in a line is (default: as its server has it)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

struct known_format {
    const char *name;
    const char *format; /* of log_format.h; NULL: a table, or JSON */
    const char *time;   /* the fields of a table or of JSON, separated by commas */
    const char *client;
    const char *durations;
    uint64_t unit_ns; /* of the durations */
    bool at_end;      /* the time is that of the request's end */
    bool has_port;    /* the client is an address and a port */
};

/* Those with a format of log_format.h, then tables and JSON: the fields of time, client and durations,
 * the unit of the durations, whether the time is that of the end, whether the client has a port. */
static const struct known_format known_formats[] = {
    {.name = "common", .format = "%h %l %u %t "},
    {.name = "combined", .format = "%h %l %u %t "},
    {.name = "vhost", .format = "%{vhost}x %h %l %u %t "},
    {.name = "squid", .format = "%{end:sec}t %{ms}T %h %{result}x "},
    {.name = "haproxy",
     .format = "%{haproxy}a [%{haproxy}t] %{frontend}x %{backend}x %{haproxy}T "},
    {.name = "envoy",
     .format = "[%{envoy}t] \"%r\" %{status}x %{flags}x %{received}x %{sent}x %{ms}T "
               "%{upstream}x \"%{forwarded}h\" "},
    {"w3c", NULL, "date,time", "c-ip", "time-taken", NS_PER_SECOND, true, false},
    {"alb", NULL, "2", "4", "6,7,8", NS_PER_SECOND, true, true},
    {"caddy", NULL, "ts", "request.remote_ip", "duration", NS_PER_SECOND, true, false},
    /* before Caddy 2.5 */
    {"caddy-1", NULL, "ts", "request.remote_addr", "duration", NS_PER_SECOND, true, true},
    {"traefik", NULL, "StartUTC", "ClientHost", "Duration", 1, false, false},
    {"envoy-json", NULL, "start_time", "downstream_remote_address", "duration", NS_PER_MS, false,
     true},
};

static const struct known_format *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof known_formats / sizeof known_formats[0]; i++) {
        if (strcmp(known_formats[i].name, name) == 0) {
            return &known_formats[i];
        }
    }
    return NULL;
}

/* --- recognising the format ------------------------------------------------------------------- */

static bool contains(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* The line's next word; empty at its end. */
static struct log_value next_word(const char **at, const char *end)
{
    while (*at < end && isspace((unsigned char)**at)) {
        ++*at;
    }
    const char *begin = *at;
    while (*at < end && !isspace((unsigned char)**at)) {
        ++*at;
    }
    return (struct log_value){begin, (size_t)(*at - begin)};
}

/* Whether a word looks like an address of IPv4 or IPv6, and not like a user's name. */
static bool is_address(struct log_value word)
{
    size_t dots = 0;
    size_t colons = 0;
    for (size_t i = 0; i < word.length; i++) {
        char c = word.text[i];
        dots += c == '.';
        colons += c == ':';
        if (c != '.' && c != ':' && !isxdigit((unsigned char)c)) {
            return false;
        }
    }
    return (dots == 3 && colons == 0 && word.length >= 7) || colons >= 2;
}

/* Whether a word is seconds with a fraction, the first word of Squid's lines. */
static bool is_seconds(struct log_value word)
{
    uint64_t time_ns;
    return word.length > 4 && word.text[word.length - 4] == '.' &&
           log_time_parse_number(word.text, word.length, NS_PER_SECOND, &time_ns);
}

static bool is_date(struct log_value word)
{
    uint64_t time_ns;
    return log_time_parse_iso(word.text, word.length, &time_ns);
}

static const char *guess_json(const char *text, size_t length)
{
    return contains(text, length, "\"StartUTC\"")      ? "traefik"
           : contains(text, length, "\"start_time\"")  ? "envoy-json"
           : contains(text, length, "\"remote_ip\"")   ? "caddy"
           : contains(text, length, "\"remote_addr\"") ? "caddy-1"
                                                       : "caddy";
}

static const char *guess_name(const char *text, size_t length)
{
    const char *at = text;
    const char *end = text + length;
    struct log_value first = next_word(&at, end);
    struct log_value second = next_word(&at, end);
    struct log_value third = next_word(&at, end);
    if (first.length > 0 && *first.text == '{') {
        return guess_json(text, length);
    }
    if (contains(text, length, "#Software") || contains(text, length, "#Version") ||
        contains(text, length, "#Fields") || contains(text, length, "#Date")) {
        return "w3c";
    }
    if (first.length > 1 && *first.text == '[' && second.length > 0 && *second.text == '"') {
        return "envoy";
    }
    if (is_date(second) && contains(text, length, "://")) {
        return "alb";
    }
    if (is_seconds(first) && is_address(third)) {
        return "squid";
    }
    uint64_t time_ns;
    for (const char *bracket = memchr(text, '[', length); bracket != NULL;
         bracket = memchr(bracket + 1, '[', (size_t)(end - bracket) - 1)) {
        if (end - bracket > 25 && log_time_parse_haproxy(bracket + 1, 24, &time_ns)) {
            return "haproxy";
        }
    }
    return is_address(second) ? "vhost" : "common";
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Return the index of the format's first field of that kind; its count: there is none. */
static size_t find_kind(const struct log_format *format, enum log_field_kind kind)
{
    size_t i = 0;
    while (i < format->count && format->fields[i].kind != kind) {
        i++;
    }
    return i;
}

static bool want_field(struct log_plan *plan, struct log_fields *fields, size_t field,
                       struct error *error)
{
    return log_plan_want(plan, fields, "", plan->source.format.fields[field].name, 1, error);
}

static void use_declared_end(struct log_plan *plan, bool at_end)
{
    if (plan->time_is == TIME_IS_UNKNOWN) {
        plan->time_is = at_end ? TIME_IS_END : TIME_IS_START;
    }
}

/* Complete a plan for a format of a server's configuration. `key` names the fields of the key; NULL:
 * the client's address. */
static bool use_configured(const char *text, struct log_plan *plan, const char *key,
                           struct error *error)
{
    struct log_format *format = &plan->source.format;
    plan->source.kind = LOG_SOURCE_FORMAT;
    if (!log_format_parse(format, text, error)) {
        return false;
    }
    size_t client = find_kind(format, LOG_FIELD_CLIENT);
    if (key == NULL && client == format->count) {
        return error_set(error, "the format has no client's address (%%h or $remote_addr); say "
                                "with --key which field makes a connection");
    }
    bool good = key != NULL ? log_plan_want(plan, &plan->keys, "--key", key, LOG_KEYS_MAX, error)
                            : want_field(plan, &plan->keys, client, error);
    if (!good || !log_source_find_fields(&plan->source, "--key", error)) {
        return false;
    }
    size_t time = find_kind(format, LOG_FIELD_TIME);
    if (time == format->count) {
        return error_set(error, "--log-format: has no time, such as %%t, %%{msec}t, $time_local, "
                                "$time_iso8601 or $msec");
    }
    const struct log_field *field = &format->fields[time];
    plan->time_form = (struct log_time_form){
        .kind = field->time, .unit_ns = field->unit_ns, .format = field->format};
    use_declared_end(plan, field->at_end);
    plan->key_has_port = key == NULL && format->fields[client].has_port;
    size_t duration = find_kind(format, LOG_FIELD_DURATION);
    good = want_field(plan, &plan->time, time, error);
    if (good && plan->requests && duration < format->count) {
        plan->duration_unit_ns = format->fields[duration].unit_ns;
        plan->last_of_slashes = format->fields[duration].last_of_slashes;
        good = want_field(plan, &plan->durations, duration, error);
    }
    return good && log_source_find_fields(&plan->source, "", error);
}

static bool use_known(const struct known_format *known, struct log_plan *plan, const char *key,
                      struct error *error)
{
    if (known->format != NULL) {
        return use_configured(known->format, plan, key, error);
    }
    plan->source.kind = strchr(known->time, ',') != NULL || isdigit((unsigned char)*known->time)
                            ? LOG_SOURCE_TABLE
                            : LOG_SOURCE_JSON;
    plan->time_form.kind = LOG_TIME_ANY;
    plan->time_form.unit_ns = NS_PER_SECOND;
    plan->duration_unit_ns = known->unit_ns;
    plan->key_has_port = key == NULL && known->has_port;
    plan->unit_by_server = strcmp(known->name, "w3c") == 0;
    use_declared_end(plan, known->at_end);
    return log_plan_want(plan, &plan->time, "", known->time, LOG_TIMES_MAX, error) &&
           log_plan_want(plan, &plan->keys, "--key", key != NULL ? key : known->client,
                         LOG_KEYS_MAX, error) &&
           (!plan->requests ||
            log_plan_want(plan, &plan->durations, "", known->durations, LOG_DURATIONS_MAX, error));
}

/* --- the whole -------------------------------------------------------------------------------- */

struct access_log_import {
    const struct import_job *job;
    const char *key; /* --key, or NULL */
    json_t *details;
};

/* Use a named format, or one of a server's configuration. */
static bool use_format(struct access_log_import *import, struct log_plan *plan, const char *text,
                       struct error *error)
{
    const struct known_format *known = find_known(text);
    (void)json_object_set_new(import->details, "log_format",
                              json_text(known != NULL ? known->name : text));
    return (known != NULL ? use_known(known, plan, import->key, error)
                          : use_configured(text, plan, import->key, error)) &&
           log_plan_time_is(plan, import->job, error);
}

static bool guess_format(void *ctx, struct log_plan *plan, const struct line *line,
                         struct error *error)
{
    return use_format(ctx, plan, guess_name(line->text, line->length), error);
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
