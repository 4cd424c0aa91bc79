#include "log_format.h"

#include "memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Fields by name. `at_end` is when the server takes the time: Apache when the request arrives,
 * nginx when it writes the line. A time that is no date is a number. */
static const struct log_field known[] = {
    {.name = "%h", .kind = LOG_FIELD_CLIENT},
    {.name = "%a", .kind = LOG_FIELD_CLIENT},
    {.name = "%{c}a", .kind = LOG_FIELD_CLIENT},
    {.name = "%{c}h", .kind = LOG_FIELD_CLIENT},
    {.name = "$remote_addr", .kind = LOG_FIELD_CLIENT},
    {.name = "$realip_remote_addr", .kind = LOG_FIELD_CLIENT},
    {.name = "%t", .kind = LOG_FIELD_TIME, .time = LOG_TIME_CLF},
    {.name = "%{sec}t", .kind = LOG_FIELD_TIME, .unit_ns = NS_PER_SECOND},
    {.name = "%{msec}t", .kind = LOG_FIELD_TIME, .unit_ns = 1000000},
    {.name = "%{usec}t", .kind = LOG_FIELD_TIME, .unit_ns = 1000},
    {.name = "%{begin:sec}t", .kind = LOG_FIELD_TIME, .unit_ns = NS_PER_SECOND},
    {.name = "%{begin:msec}t", .kind = LOG_FIELD_TIME, .unit_ns = 1000000},
    {.name = "%{begin:usec}t", .kind = LOG_FIELD_TIME, .unit_ns = 1000},
    {.name = "%{end:sec}t", .kind = LOG_FIELD_TIME, .at_end = true, .unit_ns = NS_PER_SECOND},
    {.name = "%{end:msec}t", .kind = LOG_FIELD_TIME, .at_end = true, .unit_ns = 1000000},
    {.name = "%{end:usec}t", .kind = LOG_FIELD_TIME, .at_end = true, .unit_ns = 1000},
    {.name = "$time_local", .kind = LOG_FIELD_TIME, .time = LOG_TIME_CLF, .at_end = true},
    {.name = "$time_iso8601", .kind = LOG_FIELD_TIME, .time = LOG_TIME_ISO, .at_end = true},
    {.name = "$msec", .kind = LOG_FIELD_TIME, .at_end = true, .unit_ns = NS_PER_SECOND},
    {.name = "%D", .kind = LOG_FIELD_DURATION, .unit_ns = 1000},
    {.name = "%T", .kind = LOG_FIELD_DURATION, .unit_ns = NS_PER_SECOND},
    {.name = "%{s}T", .kind = LOG_FIELD_DURATION, .unit_ns = NS_PER_SECOND},
    {.name = "%{ms}T", .kind = LOG_FIELD_DURATION, .unit_ns = 1000000},
    {.name = "%{us}T", .kind = LOG_FIELD_DURATION, .unit_ns = 1000},
    {.name = "$request_time", .kind = LOG_FIELD_DURATION, .unit_ns = NS_PER_SECOND},
    {.name = "%{haproxy}a", .kind = LOG_FIELD_CLIENT, .has_port = true},
    {.name = "%{haproxy}t", .kind = LOG_FIELD_TIME, .time = LOG_TIME_HAPROXY},
    {.name = "%{haproxy}T",
     .kind = LOG_FIELD_DURATION,
     .unit_ns = 1000000,
     .last_of_slashes = true},
    {.name = "%{envoy}t", .kind = LOG_FIELD_TIME, .time = LOG_TIME_ISO},
    {.name = "%{forwarded}h", .kind = LOG_FIELD_CLIENT},
};

/* The text between two fields, while it grows. */
struct format_text {
    char *bytes; /* as many as the format has: no character of it becomes more than one */
    size_t length;
};

static void put_char(struct format_text *text, char c)
{
    text->bytes[text->length++] = c;
}

/* End the text before the next field or the format's end. */
static void end_text(struct log_format *format, struct format_text *text)
{
    char *copy = memory_copy_part(text->bytes, text->length);
    if (format->count == 0) {
        format->before = copy;
        format->before_length = text->length;
    } else {
        format->fields[format->count - 1].after = copy;
        format->fields[format->count - 1].after_length = text->length;
    }
    text->length = 0;
}

static bool add_field(struct log_format *format, struct format_text *text, const char *name,
                      size_t length, struct error *error)
{
    if (format->count > 0 && text->length == 0) {
        return error_set(error,
                         "--log-format: nothing stands between %s and %.*s, so that a line cannot "
                         "be taken apart there",
                         format->fields[format->count - 1].name, (int)length, name);
    }
    if (format->count == LOG_FIELDS_MAX) {
        return error_set(error, "--log-format: more than %u fields", LOG_FIELDS_MAX);
    }
    char *copy = memory_copy_part(name, length);
    struct log_field field = {0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, copy) == 0) {
            field = known[i];
        }
    }
    field.name = copy;
    /* Apache's %{FORMAT}t, with a FORMAT of strftime. */
    if (length > 4 && copy[1] == '{' && strchr(copy + 1, '%') != NULL &&
        strcmp(copy + length - 2, "}t") == 0) {
        bool end = strncmp(copy + 2, "end:", 4) == 0;
        size_t skip = end ? 6 : strncmp(copy + 2, "begin:", 6) == 0 ? 8 : 2;
        field.kind = LOG_FIELD_TIME;
        field.time = LOG_TIME_FORMAT;
        field.at_end = end;
        field.format = memory_copy_part(copy + skip, length - 2 - skip);
    }
    /* Apache's %t brings its own brackets; as text they delimit it after a user's name with blanks. */
    bool bracketed = strcmp(copy, "%t") == 0;
    if (bracketed) {
        put_char(text, '[');
    }
    end_text(format, text);
    format->fields[format->count++] = field;
    if (bracketed) {
        put_char(text, ']');
    }
    return field.format == NULL || log_time_format_check("--log-format", field.format, error);
}

/* Take a directive of Apache, after its percent sign: %[modifiers][{argument}]letter. */
static bool take_apache(struct log_format *format, struct format_text *text, const char **at,
                        struct error *error)
{
    const char *c = *at;
    char name[256] = "%";
    size_t length = 1;
    if (*c == '%') {
        *at = c + 1;
        put_char(text, '%');
        return true;
    }
    while (*c != '\0' && strchr("!,<>0123456789", *c) != NULL) {
        c++;
    }
    if (*c == '{') {
        const char *close = strchr(c, '}');
        if (close == NULL || (size_t)(close - c) > sizeof name - 8) {
            return error_set(error, "--log-format: %%%.20s: the brace is not closed", *at);
        }
        memcpy(name + length, c, (size_t)(close + 1 - c));
        length += (size_t)(close + 1 - c);
        c = close + 1;
    }
    if (*c == '^') {
        name[length++] = *c++; /* %^FU, %{VARNAME}^ti */
        if (isalpha((unsigned char)*c)) {
            name[length++] = *c++;
        }
    }
    if (!isalpha((unsigned char)*c)) {
        return error_set(error, "--log-format: %%%.20s: no letter of a field there", *at);
    }
    name[length++] = *c;
    *at = c + 1;
    return add_field(format, text, name, length, error);
}

/* Take a variable of nginx, after its dollar sign: $name or ${name}. */
static bool take_nginx(struct log_format *format, struct format_text *text, const char **at,
                       struct error *error)
{
    bool braces = **at == '{';
    const char *begin = *at + braces;
    const char *end = begin;
    while (isalnum((unsigned char)*end) || *end == '_') {
        end++;
    }
    char name[256] = "$";
    if (end == begin || (size_t)(end - begin) > sizeof name - 1 || (braces && *end != '}')) {
        return error_set(error, "--log-format: $%.20s: not a variable's name", *at);
    }
    memcpy(name + 1, begin, (size_t)(end - begin));
    *at = end + braces;
    return add_field(format, text, name, (size_t)(end - begin) + 1, error);
}

bool log_format_parse(struct log_format *format, const char *text, struct error *error)
{
    *format = (struct log_format){0};
    struct format_text between = {.bytes = memory_bytes(strlen(text) + 1)};
    bool nginx = strchr(text, '$') != NULL;
    bool good = true;
    for (const char *at = text; good && *at != '\0';) {
        char c = *at++;
        if (c == '$' && nginx) {
            good = take_nginx(format, &between, &at, error);
        } else if (c == '%' && !nginx) {
            good = take_apache(format, &between, &at, error);
        } else if (c == '\\' && *at != '\0') {
            c = *at++;
            put_char(&between, (char)(c == 't' ? '\t' : c == 'n' ? '\n' : c));
        } else {
            put_char(&between, c);
        }
    }
    if (good) {
        end_text(format, &between);
    }
    free(between.bytes);
    return good;
}

/* Find the field's `after` at or after `from`; NULL: it is not there. In quotes, a quote after a
 * backslash belongs to the value. */
static const char *find_after(const struct log_field *field, const char *from, const char *end)
{
    const char *at = from;
    while ((at = memmem(at, (size_t)(end - at), field->after, field->after_length)) != NULL) {
        bool escaped = false;
        for (const char *c = at; *at == '"' && c > from && c[-1] == '\\'; c--) {
            escaped = !escaped;
        }
        if (!escaped) {
            return at;
        }
        at++;
    }
    return NULL;
}

/* Find the end of a field at the format's end: the next blank, as the line may go on, unless the
 * field may contain blanks. */
static const char *last_end(const struct log_field *field, const char *at, const char *end)
{
    bool blanks = field->kind == LOG_FIELD_OTHER ||
                  (field->kind == LOG_FIELD_TIME && field->time != LOG_TIME_NUMBER &&
                   field->time != LOG_TIME_HAPROXY);
    const char *blank = blanks ? NULL : memchr(at, ' ', (size_t)(end - at));
    return blank != NULL ? blank : end;
}

/* Find the first field in a line. HAProxy's lines may begin with syslog's prefix. */
static const char *find_begin(const struct log_format *format, const char *text, const char *end)
{
    size_t length = format->before_length;
    if (format->count > 0 && format->fields[0].has_port && length == 0) {
        const char *name = memmem(text, (size_t)(end - text), "haproxy[", 8);
        const char *after = name != NULL ? memmem(name, (size_t)(end - name), "]: ", 3) : NULL;
        return after != NULL ? after + 3 : text;
    }
    return (size_t)(end - text) < length ||
                   (length > 0 && memcmp(text, format->before, length) != 0)
               ? NULL
               : text + length;
}

/* Find the end of a field: the text after it, not counting those that a date's format contains. */
static const char *field_end(const struct log_field *field, const char *at, const char *end)
{
    if (field->after_length == 0) {
        return last_end(field, at, end);
    }
    const char *stop = find_after(field, at, end);
    const char *own = field->format;
    while (stop != NULL && own != NULL && (own = strstr(own, field->after)) != NULL) {
        own += field->after_length;
        stop = find_after(field, stop + field->after_length, end);
    }
    return stop;
}

/* Whether blanks before a field are padding: after a blank, and before a number at the line's
 * begin. */
static bool may_be_padded(const struct log_format *format, size_t field)
{
    if (field == 0) {
        return format->before_length == 0 && format->fields[0].unit_ns > 0;
    }
    const struct log_field *before = &format->fields[field - 1];
    return before->after[before->after_length - 1] == ' ';
}

bool log_format_match(const struct log_format *format, size_t count, const char *text,
                      size_t length, struct log_value *values)
{
    const char *end = text + length;
    const char *at = find_begin(format, text, end);
    for (size_t i = 0; at != NULL && i < count; i++) {
        const struct log_field *field = &format->fields[i];
        while (may_be_padded(format, i) && at < end && *at == ' ') {
            at++;
        }
        const char *stop = field_end(field, at, end);
        if (stop == NULL) {
            return false;
        }
        values[i] = (struct log_value){.text = at, .length = (size_t)(stop - at)};
        at = stop + field->after_length;
    }
    return at != NULL;
}

void log_format_release(struct log_format *format)
{
    free(format->before);
    for (size_t i = 0; i < format->count; i++) {
        free((char *)format->fields[i].name);
        free(format->fields[i].format);
        free(format->fields[i].after);
    }
    *format = (struct log_format){0};
}
