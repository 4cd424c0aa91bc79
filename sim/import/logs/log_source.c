#include "log_source.h"

#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the Standard Workload Format, as a header. */
static const char swf_header[] =
    "job submit wait run processors cpu memory requested requested_time requested_memory status "
    "user group executable queue partition preceding think";

static bool value_is(struct log_value value, const char *text)
{
    return strlen(text) == value.length && memcmp(value.text, text, value.length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* --- wanted fields ---------------------------------------------------------------------------- */

size_t log_source_want(struct log_source *source, const char *name, size_t length)
{
    size_t place = source->wanted_count;
    source->wanted[place].name = (struct log_value){.text = name, .length = length};
    source->wanted_count++;
    return place;
}

/* Add a name to "A, B, ", if there is room for it. */
static void list_name(char *names, size_t room, const char *name, size_t length)
{
    size_t used = strlen(names);
    if (used + 3 < room) {
        (void)snprintf(names + used, room - used, "%.*s, ", length < 64 ? (int)length : 64, name);
    }
}

/* Return the list without the comma at its end. */
static const char *list_end(char *names)
{
    size_t used = strlen(names);
    if (used >= 2 && names[used - 1] == ' ') {
        names[used - 2] = '\0';
    }
    return names;
}

bool log_source_find_fields(struct log_source *source, const char *option, struct error *error)
{
    const struct log_format *format = &source->format;
    for (size_t i = 0; i < source->wanted_count; i++) {
        struct log_wanted *wanted = &source->wanted[i];
        size_t field = 0;
        while (field < format->count && !value_is(wanted->name, format->fields[field].name)) {
            field++;
        }
        if (field == format->count) {
            char names[600] = "";
            for (size_t f = 0; f < format->count; f++) {
                list_name(names, sizeof names, format->fields[f].name,
                          strlen(format->fields[f].name));
            }
            return error_set(error, "%s %.*s: the format has no such field, but %s", option,
                             (int)wanted->name.length, wanted->name.text, list_end(names));
        }
        wanted->index = field;
        source->needed = field >= source->needed ? field + 1 : source->needed;
    }
    return true;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Take a cell in quotes, which are dropped; quotes inside stay doubled. */
static bool next_quoted(const struct log_source *source, const char **at, const char *end,
                        struct log_value *cell)
{
    const char *begin = *at;
    const char *quote = begin + 1;
    for (;;) {
        quote = memchr(quote, '"', (size_t)(end - quote));
        if (quote == NULL) {
            return false;
        }
        if (quote + 1 == end || quote[1] != '"') {
            break;
        }
        quote += 2;
    }
    *cell = (struct log_value){.text = begin + 1, .length = (size_t)(quote - begin - 1)};
    if (quote + 1 == end) {
        *at = NULL;
        return true;
    }
    *at = quote + 2;
    return source->separator == '\0' ? is_blank(quote[1]) : quote[1] == source->separator;
}

/* Take the next cell of a line. False: the line has no more, or a quote is not closed. */
static bool next_cell(const struct log_source *source, const char **at, const char *end,
                      struct log_value *cell)
{
    if (*at == NULL) {
        return false;
    }
    bool blanks = source->separator == '\0';
    while (blanks && *at < end && is_blank(**at)) {
        ++*at;
    }
    const char *begin = *at;
    if (blanks && begin == end) {
        return false;
    }
    if (!source->zeek && begin < end && *begin == '"') {
        return next_quoted(source, at, end, cell);
    }
    const char *stop = begin;
    if (blanks) {
        while (stop < end && !is_blank(*stop)) {
            stop++;
        }
    } else {
        stop = memchr(begin, source->separator, (size_t)(end - begin));
        stop = stop != NULL ? stop : end;
    }
    *cell = (struct log_value){.text = begin, .length = (size_t)(stop - begin)};
    *at = stop < end ? stop + 1 : NULL;
    return true;
}

/* --- headers ---------------------------------------------------------------------------------- */

/* Read a number of at most five digits. False: the text is none. */
static bool read_index(const char *text, size_t length, size_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || i == 5) {
            return false;
        }
        *number = *number * 10 + (size_t)(text[i] - '0');
    }
    return length > 0;
}

static void use_column(struct log_source *source, struct log_wanted *wanted, size_t index)
{
    wanted->index = index;
    source->cells = index >= source->cells ? index + 1 : source->cells;
}

static void make_row(struct log_source *source)
{
    MEMORY_REACH(source->row, source->row_room, source->cells);
    source->has_header = true;
}

/* Find each wanted field in a header. */
static bool take_header(struct log_source *source, const char *text, const char *end,
                        struct error *error)
{
    source->cells = 0;
    for (size_t i = 0; i < source->wanted_count; i++) {
        struct log_wanted *wanted = &source->wanted[i];
        char names[400] = "";
        struct log_value cell;
        const char *at = text;
        bool found = false;
        for (size_t index = 0; !found && next_cell(source, &at, end, &cell); index++) {
            found = cell.length == wanted->name.length &&
                    memcmp(cell.text, wanted->name.text, cell.length) == 0;
            if (found) {
                use_column(source, wanted, index);
            }
            list_name(names, sizeof names, cell.text, cell.length);
        }
        /* The lines of a log with "#Date" need not repeat it. */
        if (!found && source->w3c && value_is(wanted->name, "date")) {
            wanted->index = SIZE_MAX;
            found = true;
        }
        if (!found) {
            return error_set(error,
                             "%s: has no column '%.*s'; its columns are %s. Columns of a table "
                             "without a header are named by their numbers, from 1",
                             source->name, (int)wanted->name.length, wanted->name.text,
                             list_end(names));
        }
    }
    make_row(source);
    return true;
}

/* Find the wanted fields by number. False: not all of their names are numbers. */
static bool take_numbers(struct log_source *source)
{
    size_t number;
    source->cells = 0;
    for (size_t i = 0; i < source->wanted_count; i++) {
        const struct log_value name = source->wanted[i].name;
        if (!read_index(name.text, name.length, &number) || number == 0) {
            return false;
        }
        use_column(source, &source->wanted[i], number - 1);
    }
    make_row(source);
    return true;
}

static bool take_swf(struct log_source *source, struct error *error)
{
    source->swf = true;
    source->separator = '\0';
    (void)strcpy(source->unset, "-1");
    return take_numbers(source) ||
           take_header(source, swf_header, swf_header + strlen(swf_header), error);
}

static bool begins(const struct line *line, const char *text)
{
    size_t length = strlen(text);
    return line->length >= length && memcmp(line->text, text, length) == 0;
}

/* Take a line that begins with '#': those of Zeek and W3C describe the format. */
static bool take_comment(struct log_source *source, const struct line *line, struct error *error)
{
    const char *end = line->text + line->length;
    const char *at = line->text;
    if (begins(line, "#separator ") && line->length > 11) {
        char digits[5] = {0};
        unsigned code;
        memcpy(digits, line->text + 11, line->length - 11 < 4 ? line->length - 11 : 4);
        source->zeek = true;
        source->kind = LOG_SOURCE_TABLE;
        source->separator = sscanf(digits, "\\x%2x", &code) == 1 ? (char)code : line->text[11];
        (void)strcpy(source->unset, "-");
        return true;
    }
    if (begins(line, "#Fields:")) {
        source->kind = LOG_SOURCE_TABLE;
        source->w3c = true;
        source->separator = '\0';
        (void)strcpy(source->unset, "-");
        return take_header(source, line->text + 8, end, error);
    }
    if (begins(line, "#Date: ") && line->length >= 17) {
        memcpy(source->date, line->text + 7, 10);
    }
    source->microsoft = source->microsoft || begins(line, "#Software: Microsoft");
    struct log_value word;
    if (source->zeek && next_cell(source, &at, end, &word)) {
        struct log_value value;
        if (value_is(word, "#fields") && at != NULL) {
            return take_header(source, at, end, error);
        }
        if (value_is(word, "#unset_field") && next_cell(source, &at, end, &value) &&
            value.length < sizeof source->unset) {
            memcpy(source->unset, value.text, value.length);
            source->unset[value.length] = '\0';
        }
    }
    return true;
}

/* Guess the separator of a table: the most frequent candidate in the first line. */
static char guess_separator(const char *text, const char *end)
{
    static const char candidates[] = {'\t', ',', ';', '|'};
    char best = '\0';
    size_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t count = 0;
        bool quoted = false;
        for (const char *c = text; c < end; c++) {
            quoted = quoted != (*c == '"');
            count += !quoted && *c == candidates[i];
        }
        if (count > most) {
            most = count;
            best = candidates[i];
        }
    }
    return best;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Return the value at a path: at each dot the path may go into an object, by name, or into an
 * array, by number; but a name may contain dots. */
static const json_t *at_path(const json_t *value, const char *path, size_t length)
{
    const json_t *whole = json_object_getn(value, path, length);
    if (whole != NULL || value == NULL) {
        return whole;
    }
    if (json_is_array(value)) {
        const char *dot = memchr(path, '.', length);
        size_t digits = dot != NULL ? (size_t)(dot - path) : length;
        size_t number;
        if (!read_index(path, digits, &number)) {
            return NULL;
        }
        const json_t *element = json_array_get(value, number);
        return dot == NULL ? element : at_path(element, dot + 1, length - digits - 1);
    }
    for (size_t i = length; i-- > 1;) {
        const json_t *inner = path[i] == '.' ? json_object_getn(value, path, i) : NULL;
        const json_t *found = inner != NULL ? at_path(inner, path + i + 1, length - i - 1) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static enum log_line take_json(struct log_source *source, const struct line *line,
                               struct log_value *values, const char **why)
{
    json_decref(source->object);
    source->object = json_loadb(line->text, line->length, 0, NULL);
    if (!json_is_object(source->object)) {
        *why = "not a JSON object";
        return LOG_LINE_MALFORMED;
    }
    for (size_t i = 0; i < source->wanted_count; i++) {
        const struct log_value name = source->wanted[i].name;
        const json_t *value = at_path(source->object, name.text, name.length);
        char *text = source->numbers[i];
        int length = 0;
        values[i] = (struct log_value){0};
        if (json_is_string(value)) {
            values[i] = (struct log_value){json_string_value(value), json_string_length(value)};
        } else if (json_is_integer(value)) {
            length = snprintf(text, sizeof source->numbers[i], "%" PRId64,
                              (int64_t)json_integer_value(value));
        } else if (json_is_real(value)) {
            length = snprintf(text, sizeof source->numbers[i], "%.9f", json_real_value(value));
        }
        if (length > 0 && length < (int)sizeof source->numbers[i]) {
            values[i] = (struct log_value){text, (size_t)length};
        }
        if (values[i].length == 0 || value_is(values[i], "-")) {
            values[i] = (struct log_value){0};
        }
    }
    return LOG_LINE_ROW;
}

/* --- lines ------------------------------------------------------------------------------------ */

static enum log_line take_row(struct log_source *source, const char *text, const char *end,
                              struct log_value *values, const char **why)
{
    const char *at = text;
    for (size_t i = 0; i < source->cells; i++) {
        if (!next_cell(source, &at, end, &source->row[i])) {
            *why = "too few columns, or a quote that is not closed";
            return LOG_LINE_MALFORMED;
        }
    }
    for (size_t i = 0; i < source->wanted_count; i++) {
        size_t index = source->wanted[i].index;
        values[i] = index != SIZE_MAX ? source->row[index]
                                      : (struct log_value){source->date, strlen(source->date)};
        if (values[i].length == 0 ||
            (source->unset[0] != '\0' && value_is(values[i], source->unset))) {
            values[i] = (struct log_value){0};
        }
    }
    return LOG_LINE_ROW;
}

/* Take the first line that is no comment. */
static enum log_line take_first(struct log_source *source, uint64_t number, const char *text,
                                const char *end, struct log_value *values, const char **why,
                                struct error *error)
{
    if (source->kind == LOG_SOURCE_UNKNOWN) {
        source->kind = LOG_SOURCE_TABLE;
        source->separator = guess_separator(text, end);
    }
    if (source->zeek) {
        (void)error_set(error,
                        "%s: line %" PRIu64 ": a row before the #fields that name its columns",
                        source->name, number);
        return LOG_LINE_ERROR;
    }
    if (take_numbers(source)) {
        return take_row(source, text, end, values, why);
    }
    return take_header(source, text, end, error) ? LOG_LINE_BLANK : LOG_LINE_ERROR;
}

static enum log_line take_fields(struct log_source *source, const struct line *line,
                                 struct log_value *values, const char **why)
{
    struct log_value fields[LOG_FIELDS_MAX];
    if (!log_format_match(&source->format, source->needed, line->text, line->length, fields)) {
        *why = "not of the log's format";
        return LOG_LINE_MALFORMED;
    }
    for (size_t i = 0; i < source->wanted_count; i++) {
        values[i] = fields[source->wanted[i].index];
        if (value_is(values[i], "-")) {
            values[i] = (struct log_value){0};
        }
    }
    return LOG_LINE_ROW;
}

enum log_line log_source_take(struct log_source *source, const struct line *line,
                              struct log_value *values, const char **why, struct error *error)
{
    const char *text = line->text;
    const char *end = text + line->length;
    if (text == end) {
        return LOG_LINE_BLANK;
    }
    if (source->kind == LOG_SOURCE_FORMAT) {
        return *text == '#' ? LOG_LINE_BLANK : take_fields(source, line, values, why);
    }
    if (*text == '#' && (source->zeek || source->w3c || !source->has_header)) {
        return take_comment(source, line, error) ? LOG_LINE_BLANK : LOG_LINE_ERROR;
    }
    if (*text == ';' && (source->swf || !source->has_header)) {
        return source->swf || take_swf(source, error) ? LOG_LINE_BLANK : LOG_LINE_ERROR;
    }
    if (source->kind == LOG_SOURCE_UNKNOWN && *text == '{') {
        source->kind = LOG_SOURCE_JSON;
    }
    if (source->kind == LOG_SOURCE_JSON) {
        return take_json(source, line, values, why);
    }
    return source->has_header ? take_row(source, text, end, values, why)
                              : take_first(source, line->number, text, end, values, why, error);
}

void log_source_release(struct log_source *source)
{
    free(source->row);
    json_decref(source->object);
    log_format_release(&source->format);
    *source = (struct log_source){0};
}
