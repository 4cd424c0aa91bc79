#include "log_format.h"

#include "memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* Fields by name. `at_end` is when the server takes the time: Apache when the request arrives,
 * nginx when it writes the line. */
static const struct {
    const char *name;
    enum log_field_kind kind;
    bool at_end;
    uint64_t unit_ns;
    bool has_port;
    bool last_of_slashes;
} known[] = {
    {"%h", LOG_FIELD_CLIENT, false, 0, false, false},
    {"%a", LOG_FIELD_CLIENT, false, 0, false, false},
    {"%{c}a", LOG_FIELD_CLIENT, false, 0, false, false},
    {"%{c}h", LOG_FIELD_CLIENT, false, 0, false, false},
    {"$remote_addr", LOG_FIELD_CLIENT, false, 0, false, false},
    {"$realip_remote_addr", LOG_FIELD_CLIENT, false, 0, false, false},
    {"%t", LOG_FIELD_TIME_CLF, false, 0, false, false},
    {"%{sec}t", LOG_FIELD_TIME_UNIX, false, NS_PER_SECOND, false, false},
    {"%{msec}t", LOG_FIELD_TIME_UNIX, false, 1000000, false, false},
    {"%{usec}t", LOG_FIELD_TIME_UNIX, false, 1000, false, false},
    {"%{begin:sec}t", LOG_FIELD_TIME_UNIX, false, NS_PER_SECOND, false, false},
    {"%{begin:msec}t", LOG_FIELD_TIME_UNIX, false, 1000000, false, false},
    {"%{begin:usec}t", LOG_FIELD_TIME_UNIX, false, 1000, false, false},
    {"%{end:sec}t", LOG_FIELD_TIME_UNIX, true, NS_PER_SECOND, false, false},
    {"%{end:msec}t", LOG_FIELD_TIME_UNIX, true, 1000000, false, false},
    {"%{end:usec}t", LOG_FIELD_TIME_UNIX, true, 1000, false, false},
    {"$time_local", LOG_FIELD_TIME_CLF, true, 0, false, false},
    {"$time_iso8601", LOG_FIELD_TIME_ISO, true, 0, false, false},
    {"$msec", LOG_FIELD_TIME_UNIX, true, NS_PER_SECOND, false, false},
    {"%D", LOG_FIELD_DURATION, false, 1000, false, false},
    {"%T", LOG_FIELD_DURATION, false, NS_PER_SECOND, false, false},
    {"%{s}T", LOG_FIELD_DURATION, false, NS_PER_SECOND, false, false},
    {"%{ms}T", LOG_FIELD_DURATION, false, 1000000, false, false},
    {"%{us}T", LOG_FIELD_DURATION, false, 1000, false, false},
    {"$request_time", LOG_FIELD_DURATION, false, NS_PER_SECOND, false, false},
    {"%{haproxy}a", LOG_FIELD_CLIENT, false, 0, true, false},
    {"%{haproxy}t", LOG_FIELD_TIME_HAPROXY, false, 0, false, false},
    {"%{haproxy}T", LOG_FIELD_DURATION, false, 1000000, false, true},
    {"%{envoy}t", LOG_FIELD_TIME_ISO, false, 0, false, false},
    {"%{forwarded}h", LOG_FIELD_CLIENT, false, 0, false, false},
};

/* The text between two fields, while it grows. */
struct format_text {
    char bytes[1024];
    size_t length;
};

static bool put_char(struct format_text *text, char c, struct error *error)
{
    if (text->length == sizeof text->bytes) {
        return error_set(error, "--log-format: more than %zu characters between two fields",
                         sizeof text->bytes);
    }
    text->bytes[text->length++] = c;
    return true;
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
    struct log_field field = {.name = memory_copy_part(name, length)};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, field.name) == 0) {
            field.kind = known[i].kind;
            field.at_end = known[i].at_end;
            field.unit_ns = known[i].unit_ns;
            field.has_port = known[i].has_port;
            field.last_of_slashes = known[i].last_of_slashes;
        }
    }
    /* Apache's %{FORMAT}t, with a FORMAT of strftime. */
    size_t ends = strlen(field.name);
    if (ends > 4 && field.name[1] == '{' && strchr(field.name + 1, '%') != NULL &&
        strcmp(field.name + ends - 2, "}t") == 0) {
        bool end = strncmp(field.name + 2, "end:", 4) == 0;
        size_t skip = end ? 6 : strncmp(field.name + 2, "begin:", 6) == 0 ? 8 : 2;
        field.kind = LOG_FIELD_TIME_FORMAT;
        field.at_end = end;
        field.format = memory_copy_part(field.name + skip, ends - 2 - skip);
        if (!log_time_format_check("--log-format", field.format, error)) {
            free(field.format);
            free(field.name);
            return false;
        }
    }
    /* Apache's %t brings its own brackets; as text they delimit it after a user's name with blanks. */
    bool bracketed = strcmp(field.name, "%t") == 0;
    if (bracketed && !put_char(text, '[', error)) {
        free(field.name);
        return false;
    }
    end_text(format, text);
    format->fields[format->count++] = field;
    return !bracketed || put_char(text, ']', error);
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
        return put_char(text, '%', error);
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
    struct format_text between = {.length = 0};
    bool nginx = strchr(text, '$') != NULL;
    const char *at = text;
    while (*at != '\0') {
        char c = *at++;
        bool good;
        if (c == '$' && nginx) {
            good = take_nginx(format, &between, &at, error);
        } else if (c == '%' && !nginx) {
            good = take_apache(format, &between, &at, error);
        } else if (c == '\\' && *at != '\0') {
            c = *at++;
            c = (char)(c == 't' ? '\t' : c == 'n' ? '\n' : c);
            good = put_char(&between, c, error);
        } else {
            good = put_char(&between, c, error);
        }
        if (!good) {
            return false;
        }
    }
    end_text(format, &between);
    return true;
}

/* Compare texts with equal first characters; most have two characters, which need no call. */
static bool starts_with(const char *text, const char *other, size_t length)
{
    return length == 1 ||
           (text[1] == other[1] && (length == 2 || memcmp(text + 2, other + 2, length - 2) == 0));
}

/* Find the field's `after` at or after `from`; NULL: it is not there. In quotes, a quote after a
 * backslash belongs to the value. */
static const char *find_after(const struct log_field *field, const char *from, const char *end)
{
    const char *at = from;
    char first = field->after[0];
    while ((at = memchr(at, first, (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) < field->after_length) {
            return NULL;
        }
        bool escaped = false;
        if (first == '"') {
            for (const char *c = at; c > from && c[-1] == '\\'; c--) {
                escaped = !escaped;
            }
        }
        if (!escaped && starts_with(at, field->after, field->after_length)) {
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
    bool blanks = field->kind == LOG_FIELD_OTHER || field->kind == LOG_FIELD_TIME_CLF ||
                  field->kind == LOG_FIELD_TIME_ISO || field->kind == LOG_FIELD_TIME_FORMAT;
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
        free(format->fields[i].name);
        free(format->fields[i].format);
        free(format->fields[i].after);
    }
    *format = (struct log_format){0};
}
