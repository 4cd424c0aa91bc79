/*
 * import events: a table of events with named columns, as CSV or TSV with a header row, or a Zeek
 * log. The columns that matter are named on the command line.
 */
#include "import.h"

#include "event_log.h"
#include "import_settings.h"
#include "log_time.h"
#include "memory.h"
#include "timer_model.h"
#include "timer_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND  UINT64_C(1000000000)
#define KEYS_MAX       8u
#define KEY_JOINED_MAX 4096u /* of an operation's key: what is longer counts as its beginning */

const struct import_option import_events_options[] = {
    {"delay", "COLUMN", false, "with --op, the column of the delay (default: delay)"},
    {"delay-unit", "UNIT", false, "s, ms, us or ns (default: that of the time)"},
    {"duration", "COLUMN", false,
     "the column that says how long a request took: each has a timer of its own, stopped then"},
    {"duration-unit", "UNIT", false, "s, ms, us or ns (default: that of the time)"},
    {"key", "COLUMN[,COLUMN]", false, "the columns that say whose idle timer an event restarts"},
    {"op", "COLUMN", false,
     "the rows are timers' own operations, of those that --key names: the column that says which: "
     "start (restart, arm, set, reset, add, schedule), stop (cancel, del, clear), fire (expire, "
     "timeout), or repeat (interval), a start of a timer that starts itself again when it fires"},
    {"time", "COLUMN", false, "the column of the time (default: ts)"},
    {"time-unit", "UNIT", false, "s, ms, us, ns since whenever, or iso: a date (default: s)"},
    {"timeout", "SECONDS", false, "the requests' timeout, from 1e-9 s on (default: 5)"},
    EVENT_LOG_OPTIONS,
    {NULL, NULL, false, NULL},
};

/* A column by its name, and where the header says that it is. */
struct column {
    struct log_value name;
    size_t index;
};

struct events_import {
    struct event_log *log;   /* of the two one */
    struct timer_rows *rows; /* of operations */
    struct column time;
    struct column duration; /* without a name: there are no requests */
    struct column op;       /* without a name: rows are no operations */
    struct column delay;
    struct column keys[KEYS_MAX];
    size_t key_count;      /* 0: there are no idle timers */
    size_t cells;          /* as many as must be looked at */
    uint64_t time_unit_ns; /* 0: dates */
    uint64_t duration_unit_ns;
    uint64_t delay_unit_ns;
    char separator;
    bool has_header;
    bool zeek;
    char unset[16]; /* what stands for a value that is not there */
    struct log_value *row;
};

/* --- options ---------------------------------------------------------------------------------- */

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

static void name_column(const struct import_job *job, const char *option, const char *otherwise,
                        struct column *column)
{
    const char *text = import_setting(job, option);
    column->name.text = text != NULL ? text : otherwise;
    column->name.length = column->name.text != NULL ? strlen(column->name.text) : 0;
}

static bool read_settings(const struct import_job *job, struct events_import *import,
                          struct event_log_settings *settings, struct error *error)
{
    if (!event_log_settings(job, settings, error)) {
        return false;
    }
    const char *duration = import_setting(job, "duration");
    const char *keys = import_setting(job, "key");
    const char *op = import_setting(job, "op");
    name_column(job, "time", "ts", &import->time);
    name_column(job, "duration", NULL, &import->duration);
    name_column(job, "op", NULL, &import->op);
    name_column(job, "delay", op != NULL ? "delay" : NULL, &import->delay);
    while (keys != NULL) {
        if (import->key_count == KEYS_MAX) {
            return error_set(error, "--key %s: more than %u columns", keys, KEYS_MAX);
        }
        const char *comma = strchr(keys, ',');
        import->keys[import->key_count++].name = (struct log_value){
            .text = keys, .length = comma != NULL ? (size_t)(comma - keys) : strlen(keys)};
        keys = comma != NULL ? comma + 1 : NULL;
    }
    if (import->key_count == 0 && duration == NULL) {
        return error_set(error, "--key is needed, whose column says whose idle timer an event "
                                "restarts; or --duration, whose column says what a request took");
    }
    import->time_unit_ns = NS_PER_SECOND;
    if (!read_unit(job, "time-unit", true, &import->time_unit_ns, error)) {
        return false;
    }
    import->duration_unit_ns = import->time_unit_ns != 0 ? import->time_unit_ns : NS_PER_SECOND;
    import->delay_unit_ns = import->duration_unit_ns;
    if (op != NULL && duration != NULL) {
        return error_set(error, "--op and --duration do not go together: rows are operations, or "
                                "requests");
    }
    if (op == NULL &&
        (import->delay.name.text != NULL || import_setting(job, "delay-unit") != NULL)) {
        return error_set(error,
                         "--delay and --delay-unit belong to --op, whose column says what was "
                         "done to a timer");
    }
    settings->request_ns = 5 * NS_PER_SECOND;
    return read_unit(job, "delay-unit", false, &import->delay_unit_ns, error) &&
           read_unit(job, "duration-unit", false, &import->duration_unit_ns, error) &&
           import_setting_time(job, "timeout", NS_PER_SECOND, 1, &settings->request_ns, error);
}

static struct import_tally *tally_of(struct events_import *import)
{
    return import->rows != NULL ? timer_rows_tally(import->rows) : event_log_tally(import->log);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The next cell of a line; quotes around it are dropped, those inside it stay doubled. False if the
 * line has no more, or a quote is not closed. */
static bool next_cell(const struct events_import *import, const char **at, const char *end,
                      struct log_value *cell)
{
    const char *begin = *at;
    if (begin == NULL) {
        return false;
    }
    if (!import->zeek && begin < end && *begin == '"') {
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
        if (quote + 1 < end && quote[1] != import->separator) {
            return false;
        }
        *at = quote + 1 < end ? quote + 2 : NULL;
        return true;
    }
    const char *separator = memchr(begin, import->separator, (size_t)(end - begin));
    *cell = (struct log_value){.text = begin,
                               .length = (size_t)((separator != NULL ? separator : end) - begin)};
    *at = separator != NULL ? separator + 1 : NULL;
    return true;
}

static bool cell_is(struct log_value cell, const char *text)
{
    return strlen(text) == cell.length && memcmp(cell.text, text, cell.length) == 0;
}

/* --- the header ------------------------------------------------------------------------------- */

static bool find_column(struct events_import *import, const char *header, const char *end,
                        struct column *column, struct error *error)
{
    char names[400] = "";
    size_t used = 0;
    struct log_value cell;
    const char *at = header;
    for (size_t index = 0; next_cell(import, &at, end, &cell); index++) {
        if (cell.length == column->name.length &&
            memcmp(cell.text, column->name.text, cell.length) == 0) {
            column->index = index;
            if (index >= import->cells) {
                import->cells = index + 1;
            }
            return true;
        }
        if (used < sizeof names) {
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", index > 0 ? ", " : "",
                                 cell.length < 64 ? (int)cell.length : 64, cell.text);
        }
    }
    return error_set(error, "%s: has no column '%.*s'; its columns are %s", tally_of(import)->name,
                     (int)column->name.length, column->name.text, names);
}

static bool take_header(struct events_import *import, const char *text, const char *end,
                        struct error *error)
{
    import->cells = 0;
    struct column *const columns[] = {&import->time, &import->duration, &import->op,
                                      &import->delay};
    bool good = true;
    for (size_t i = 0; good && i < sizeof columns / sizeof columns[0]; i++) {
        good = columns[i]->name.text == NULL || find_column(import, text, end, columns[i], error);
    }
    for (size_t i = 0; good && i < import->key_count; i++) {
        good = find_column(import, text, end, &import->keys[i], error);
    }
    if (!good) {
        return false;
    }
    import->row = memory_resize(import->row, import->cells, sizeof *import->row);
    import->has_header = true;
    return true;
}

/* Zeek's lines that begin with '#' say how the others are to be read. */
static bool take_zeek_line(struct events_import *import, const struct line *line,
                           struct error *error)
{
    const char *end = line->text + line->length;
    const char *at = line->text;
    struct log_value name;
    if (line->length > 11 && memcmp(line->text, "#separator ", 11) == 0) {
        import->zeek = true;
        unsigned code;
        char digits[5] = {0};
        memcpy(digits, line->text + 11, line->length - 11 < 4 ? line->length - 11 : 4);
        import->separator = sscanf(digits, "\\x%2x", &code) == 1 ? (char)code : line->text[11];
        return true;
    }
    if (import->zeek && next_cell(import, &at, end, &name)) {
        struct log_value value;
        if (cell_is(name, "#fields") && at != NULL) {
            return take_header(import, at, end, error);
        }
        if (cell_is(name, "#unset_field") && next_cell(import, &at, end, &value) &&
            value.length < sizeof import->unset) {
            memcpy(import->unset, value.text, value.length);
            import->unset[value.length] = '\0';
        }
    }
    return true;
}

/* The separator of a table that does not say: whichever of these the header has most of. */
static char guess_separator(const char *text, const char *end)
{
    static const char candidates[] = {'\t', ',', ';', '|'};
    char best = ',';
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

static bool take_first_line(struct events_import *import, const struct line *line,
                            struct error *error)
{
    const char *text = line->text;
    const char *end = text + line->length;
    if (line->length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark */
    }
    import->separator = guess_separator(text, end);
    return take_header(import, text, end, error);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_unset(const struct events_import *import, struct log_value cell)
{
    return cell.length == 0 || (import->zeek && cell_is(cell, import->unset));
}

/* The parts of a row's key; false if one of its columns is unset. */
static bool take_key(const struct events_import *import, struct log_value *parts)
{
    for (size_t i = 0; i < import->key_count; i++) {
        parts[i] = import->row[import->keys[i].index];
        if (is_unset(import, parts[i])) {
            return false;
        }
    }
    return true;
}

/* A row that is an operation. NULL, with *good as what became of it, or why it is none. */
static const char *take_operation(struct events_import *import, uint64_t time_ns, uint64_t line,
                                  bool *good, struct error *error)
{
    struct log_value key[KEYS_MAX];
    char joined[KEY_JOINED_MAX];
    struct log_value word = import->row[import->op.index];
    struct log_value delay = import->row[import->delay.index];
    enum timer_row_op op;
    uint64_t delay_ns = 0;
    if (!take_key(import, key)) {
        return "no timer in the columns of the key";
    }
    if (!timer_row_op_read(word.text, word.length, &op)) {
        return "no operation in its column: start, stop, fire or repeat, or another word for one";
    }
    if ((op == TIMER_ROW_START || op == TIMER_ROW_REPEAT) &&
        !log_time_parse_number(delay.text, delay.length, import->delay_unit_ns, &delay_ns)) {
        return "no delay in the column of the delay";
    }
    size_t length = log_values_join(key, import->key_count, joined, sizeof joined);
    *good = timer_rows_add(import->rows, time_ns, joined, length, op, delay_ns, line, error);
    return NULL;
}

static bool take_row(struct events_import *import, const struct line *line, struct error *error)
{
    struct import_tally *tally = tally_of(import);
    const char *why = NULL;
    const char *at = line->text;
    for (size_t i = 0; why == NULL && i < import->cells; i++) {
        if (!next_cell(import, &at, line->text + line->length, &import->row[i])) {
            why = "too few columns, or a quote that is not closed";
        }
    }
    uint64_t time_ns = 0;
    uint64_t duration_ns = TIMER_MODEL_NEVER;
    if (why == NULL) {
        struct log_value time = import->row[import->time.index];
        bool good =
            import->time_unit_ns == 0
                ? log_time_parse_iso(time.text, time.length, &time_ns)
                : log_time_parse_number(time.text, time.length, import->time_unit_ns, &time_ns);
        why = good ? NULL : "no time in the column of the time";
    }
    if (why == NULL && import->duration.name.text != NULL) {
        struct log_value duration = import->row[import->duration.index];
        if (!is_unset(import, duration) &&
            !log_time_parse_number(duration.text, duration.length, import->duration_unit_ns,
                                   &duration_ns)) {
            why = "no duration in the column of the duration";
        }
    }
    if (why == NULL && import->rows != NULL) {
        bool good = true;
        why = take_operation(import, time_ns, line->number, &good, error);
        if (why == NULL) {
            return good;
        }
    }
    if (why != NULL) {
        import_tally_malformed(tally, line->number, line->text, line->length, why);
        return true;
    }
    if (import->duration.name.text != NULL &&
        !event_log_request(import->log, time_ns, duration_ns, error)) {
        return false;
    }
    struct log_value key[KEYS_MAX];
    if (import->key_count == 0) {
        return true;
    }
    if (!take_key(import, key)) {
        event_log_without_key(import->log);
        return true;
    }
    return event_log_activity_of(import->log, time_ns, key, import->key_count, error);
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct events_import *import = ctx;
    struct import_tally *tally = tally_of(import);
    bool comment =
        line->length > 0 && line->text[0] == '#' && (import->zeek || !import->has_header);
    if (line->length == 0 || comment) {
        tally->blank++;
        return line->length == 0 || take_zeek_line(import, line, error);
    }
    if (import->has_header) {
        return take_row(import, line, error);
    }
    if (import->zeek) {
        return error_set(error,
                         "%s: line %" PRIu64 ": a row before the #fields that name its "
                         "columns",
                         tally_of(import)->name, line->number);
    }
    tally->blank++;
    return take_first_line(import, line, error);
}

static bool import_operations(struct events_import *import, const struct import_job *job,
                              const struct event_log_settings *settings, struct error *error)
{
    struct line_reader *reader = line_reader_open(job->input, error);
    import->rows =
        reader != NULL ? timer_rows_open(job, line_reader_name(reader), settings, error) : NULL;
    bool good =
        import->rows != NULL &&
        import_tally_read(timer_rows_tally(import->rows), reader, take_line, import, error) &&
        timer_rows_finish(import->rows, error);
    timer_rows_close(import->rows);
    line_reader_close(reader);
    return good;
}

enum import_result import_events(const struct import_job *job, struct error *error)
{
    struct events_import import = {.unset = "-"};
    struct event_log_settings settings;
    if (!read_settings(job, &import, &settings, error)) {
        return IMPORT_USAGE;
    }
    bool good = import.op.name.text != NULL
                    ? import_operations(&import, job, &settings, error)
                    : event_log_import(job, &settings, "events", json_object(), take_line, &import,
                                       &import.log, error);
    free(import.row);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
