#include "log_format.h"

#include "memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* What is known of fields by name. `at_end` is when the server takes the time: Apache when the
 * request arrives, nginx when it writes the line. */
static const struct {
    const char *name;
    enum log_field_kind kind;
    bool at_end;
    uint64_t unit_ns;
} known[] = {
    {"%h", LOG_FIELD_CLIENT, false, 0},
    {"%a", LOG_FIELD_CLIENT, false, 0},
    {"%{c}a", LOG_FIELD_CLIENT, false, 0},
    {"%{c}h", LOG_FIELD_CLIENT, false, 0},
    {"$remote_addr", LOG_FIELD_CLIENT, false, 0},
    {"$realip_remote_addr", LOG_FIELD_CLIENT, false, 0},
    {"%t", LOG_FIELD_TIME_CLF, false, 0},
    {"%{sec}t", LOG_FIELD_TIME_UNIX, false, NS_PER_SECOND},
    {"%{msec}t", LOG_FIELD_TIME_UNIX, false, 1000000},
    {"%{usec}t", LOG_FIELD_TIME_UNIX, false, 1000},
    {"%{begin:sec}t", LOG_FIELD_TIME_UNIX, false, NS_PER_SECOND},
    {"%{begin:msec}t", LOG_FIELD_TIME_UNIX, false, 1000000},
    {"%{begin:usec}t", LOG_FIELD_TIME_UNIX, false, 1000},
    {"%{end:sec}t", LOG_FIELD_TIME_UNIX, true, NS_PER_SECOND},
    {"%{end:msec}t", LOG_FIELD_TIME_UNIX, true, 1000000},
    {"%{end:usec}t", LOG_FIELD_TIME_UNIX, true, 1000},
    {"$time_local", LOG_FIELD_TIME_CLF, true, 0},
    {"$time_iso8601", LOG_FIELD_TIME_ISO, true, 0},
    {"$msec", LOG_FIELD_TIME_UNIX, true, NS_PER_SECOND},
    {"%D", LOG_FIELD_DURATION, false, 1000},
    {"%T", LOG_FIELD_DURATION, false, NS_PER_SECOND},
    {"%{s}T", LOG_FIELD_DURATION, false, NS_PER_SECOND},
    {"%{ms}T", LOG_FIELD_DURATION, false, 1000000},
    {"%{us}T", LOG_FIELD_DURATION, false, 1000},
    {"$request_time", LOG_FIELD_DURATION, false, NS_PER_SECOND},
};

/* The text between two fields, while it grows. */
struct text {
    char bytes[1024];
    size_t length;
};

static bool put(struct text *text, char c, struct error *error)
{
    if (text->length == sizeof text->bytes) {
        return error_set(error, "--log-format: more than %zu characters between two fields",
                         sizeof text->bytes);
    }
    text->bytes[text->length++] = c;
    return true;
}

/* Ends the text before the next field, or the format. */
static void end_text(struct log_format *format, struct text *text)
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

static bool add_field(struct log_format *format, struct text *text, const char *name, size_t length,
                      struct error *error)
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
        }
    }
    /* Apache's %t brings its own brackets; as text they find its ends in a user's name with blanks.
     */
    bool bracketed = strcmp(field.name, "%t") == 0;
    if (bracketed && !put(text, '[', error)) {
        free(field.name);
        return false;
    }
    end_text(format, text);
    format->fields[format->count++] = field;
    return !bracketed || put(text, ']', error);
}

/* A directive of Apache's, from behind its percent sign: %[modifiers][{argument}]letter. */
static bool take_apache(struct log_format *format, struct text *text, const char **at,
                        struct error *error)
{
    const char *c = *at;
    char name[256] = "%";
    size_t length = 1;
    if (*c == '%') {
        *at = c + 1;
        return put(text, '%', error);
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

/* A variable of nginx's, from behind its dollar sign: $name or ${name}. */
static bool take_nginx(struct log_format *format, struct text *text, const char **at,
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
    struct text between = {.length = 0};
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
            char escaped = *at++;
            good = put(&between,
                       (char)(escaped == 't'   ? '\t'
                              : escaped == 'n' ? '\n'
                                               : escaped),
                       error);
        } else {
            good = put(&between, c, error);
        }
        if (!good) {
            return false;
        }
    }
    end_text(format, &between);
    return true;
}

size_t log_format_find(const struct log_format *format, const char *name)
{
    for (size_t i = 0; i < format->count; i++) {
        if (strcmp(format->fields[i].name, name) == 0) {
            return i;
        }
    }
    return format->count;
}

/* Whether text that begins as `other` does goes on as it; of two characters mostly, which need no
 * call. */
static bool starts_with(const char *text, const char *other, size_t length)
{
    return length == 1 ||
           (text[1] == other[1] && (length == 2 || memcmp(text + 2, other + 2, length - 2) == 0));
}

/* Where `after` begins at or behind `from`; NULL if it does not. In quotes, a quote behind a
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

bool log_format_match(const struct log_format *format, size_t count, const char *text,
                      size_t length, struct log_value *values)
{
    const char *end = text + length;
    if (length < format->before_length ||
        (format->before_length > 0 && memcmp(text, format->before, format->before_length) != 0)) {
        return false;
    }
    const char *at = text + format->before_length;
    for (size_t i = 0; i < count; i++) {
        const struct log_field *field = &format->fields[i];
        const char *stop = field->after_length == 0 ? end : find_after(field, at, end);
        if (stop == NULL) {
            return false;
        }
        values[i] = (struct log_value){.text = at, .length = (size_t)(stop - at)};
        at = stop + field->after_length;
    }
    return true;
}

void log_format_release(struct log_format *format)
{
    free(format->before);
    for (size_t i = 0; i < format->count; i++) {
        free(format->fields[i].name);
        free(format->fields[i].after);
    }
    *format = (struct log_format){0};
}
