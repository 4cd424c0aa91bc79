#include "log_import.h"

#include "key_table.h"
#include "timer_model.h"
#include "timer_rows.h"

#include <inttypes.h>
#include <string.h>

/* A warning about keys needs at least this number of events, and a key with this share of them. */
#define EVENTS_JUDGED 10u
#define NEARLY_ALL    0.9

/* For the warnings. */
struct log_checks {
    uint64_t events;
    uint64_t dropped; /* well-formed lines that became no event */
    uint64_t with_blanks;
    /* The majority's candidate, by Boyer and Moore, and how far it is ahead. */
    char candidate[64];
    size_t candidate_length;
    uint64_t ahead;
    char blank_key[64]; /* the first */
};

struct log_import {
    struct log_plan *plan;
    const struct event_log_settings *settings;
    struct event_log *log; /* either this or `rows` */
    struct timer_rows *rows;
    struct import_tally tally;
    struct log_checks checks;
    char joined_key[KEY_BYTES_MAX];
    bool begun;
};

/* A line, by the plan. */
struct log_record {
    struct timer_row row;
    uint64_t duration_ns; /* TIMER_MODEL_NEVER: not answered */
    uint64_t timeout_ns;  /* of the line; TIMER_MODEL_NEVER: none */
    struct log_value key[LOG_KEYS_MAX];
    bool has_key;
};

/* --- plans ------------------------------------------------------------------------------------ */

bool log_plan_want(struct log_plan *plan, struct log_fields *fields, const char *option,
                   const char *names, size_t most, struct error *error)
{
    const char *from = names;
    while (from != NULL) {
        if (fields->count == most || plan->source.wanted_count == LOG_WANTED_MAX) {
            return error_set(error, "%s %s: more than %zu field%s", option, names, most,
                             most == 1 ? "" : "s");
        }
        const char *comma = most > 1 ? strchr(from, ',') : NULL;
        size_t length = comma != NULL ? (size_t)(comma - from) : strlen(from);
        fields->at[fields->count++] = log_source_want(&plan->source, from, length);
        from = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

bool log_plan_time_is(struct log_plan *plan, const struct import_job *job, struct error *error)
{
    const char *text = import_setting(job, "time-is");
    if (text == NULL) {
        return true;
    }
    plan->time_is = strcmp(text, "end") == 0 ? TIME_IS_END : TIME_IS_START;
    return plan->time_is == TIME_IS_END || strcmp(text, "start") == 0 ||
           error_set(error, "--time-is %s: not start or end", text);
}

/* --- a line's fields -------------------------------------------------------------------------- */

static const char *take_time(struct log_plan *plan, const struct log_value *values,
                             struct log_record *record)
{
    struct log_value value = values[plan->time.at[0]];
    char joined[128];
    if (plan->time.count == 2) {
        struct log_value clock = values[plan->time.at[1]];
        if (value.length + clock.length + 1 > sizeof joined || value.length == 0) {
            return "no date and time in the columns of the time";
        }
        memcpy(joined, value.text, value.length);
        joined[value.length] = ' ';
        memcpy(joined + value.length + 1, clock.text, clock.length);
        value = (struct log_value){joined, value.length + 1 + clock.length};
    }
    return log_time_parse(&plan->time_form, value, &record->row.time_ns);
}

/* Return the last of several numbers separated by slashes, without the '+' of one that still
 * grew. */
static struct log_value last_of_slashes(struct log_value value)
{
    for (size_t i = value.length; i-- > 0;) {
        if (value.text[i] == '/' || value.text[i] == '+') {
            return (struct log_value){value.text + i + 1, value.length - i - 1};
        }
    }
    return value;
}

/* A part without a value, or below 0, makes the sum unknown. */
static const char *take_duration(const struct log_plan *plan, const struct log_value *values,
                                 struct log_record *record)
{
    record->duration_ns = plan->durations.count > 0 && plan->unanswered ? TIMER_MODEL_NEVER : 0;
    uint64_t sum_ns = 0;
    uint64_t unit_ns = plan->unit_by_server && plan->source.microsoft ? NS_PER_SECOND / 1000
                                                                      : plan->duration_unit_ns;
    for (size_t i = 0; i < plan->durations.count; i++) {
        struct log_value value = values[plan->durations.at[i]];
        value = plan->last_of_slashes ? last_of_slashes(value) : value;
        uint64_t part_ns;
        if (value.text == NULL || (value.length > 1 && value.text[0] == '-')) {
            return NULL;
        }
        if (!log_time_parse_number(value.text, value.length, unit_ns, &part_ns) ||
            part_ns > TIMER_MODEL_TIME_MAX_NS / LOG_DURATIONS_MAX) {
            return "no duration in the column of the duration";
        }
        sum_ns += part_ns;
    }
    record->duration_ns = plan->durations.count > 0 ? sum_ns : record->duration_ns;
    return NULL;
}

/* A timeout of 0 is none. */
static const char *take_timeout(const struct log_plan *plan, const struct log_value *values,
                                struct log_record *record)
{
    record->timeout_ns = TIMER_MODEL_NEVER;
    if (plan->timeout.count == 0) {
        return NULL;
    }
    struct log_value value = values[plan->timeout.at[0]];
    uint64_t timeout_ns = 0;
    if (value.text != NULL && !(value.length > 1 && value.text[0] == '-') &&
        (!log_time_parse_number(value.text, value.length, plan->timeout_unit_ns, &timeout_ns) ||
         timeout_ns > TIMER_MODEL_TIMEOUT_MAX_NS)) {
        return "no timeout in the column of the timeout";
    }
    record->timeout_ns = timeout_ns > 0 ? timeout_ns : TIMER_MODEL_NEVER;
    return NULL;
}

static const char *take_operation(const struct log_plan *plan, const struct log_value *values,
                                  struct log_record *record)
{
    if (plan->op.count == 0) {
        record->row.op = TIMER_ROW_START;
        record->row.delay_ns = record->timeout_ns;
        return NULL;
    }
    struct log_value word = values[plan->op.at[0]];
    if (word.text == NULL || !timer_row_op_read(word.text, word.length, &record->row.op)) {
        return "no operation in its column: start, stop, fire or repeat, or another word for one";
    }
    if (record->row.op != TIMER_ROW_START && record->row.op != TIMER_ROW_REPEAT) {
        return NULL;
    }
    record->row.slack_ns = 0;
    if (plan->slack.count > 0) {
        struct log_value slack = values[plan->slack.at[0]];
        if (slack.text != NULL &&
            !log_time_parse_number(slack.text, slack.length, plan->delay_unit_ns,
                                   &record->row.slack_ns)) {
            return "no slack in its column";
        }
    }
    if (plan->timeout.count > 0) {
        record->row.delay_ns = record->timeout_ns;
        return NULL;
    }
    struct log_value delay = values[plan->delay.at[0]];
    return delay.text != NULL && log_time_parse_number(delay.text, delay.length,
                                                       plan->delay_unit_ns, &record->row.delay_ns)
               ? NULL
               : "no delay in the column of the delay";
}

/* Remove the port of "192.0.2.1:8080", "[2001:db8::1]:8080", "2001:db8::1:8080". */
static struct log_value without_port(struct log_value value)
{
    if (value.length > 1 && value.text[0] == '[') {
        const char *end = memchr(value.text, ']', value.length);
        return end != NULL ? (struct log_value){value.text + 1, (size_t)(end - value.text) - 1}
                           : value;
    }
    for (size_t i = value.length; i-- > 0;) {
        if (value.text[i] == ':') {
            return (struct log_value){value.text, i};
        }
        if (value.text[i] < '0' || value.text[i] > '9') {
            break;
        }
    }
    return value;
}

static const char *take_key(const struct log_plan *plan, const struct log_value *values,
                            struct log_record *record)
{
    record->has_key = plan->keys.count > 0;
    for (size_t i = 0; i < plan->keys.count; i++) {
        struct log_value value = values[plan->keys.at[i]];
        if (value.text == NULL) {
            record->has_key = false;
        } else if (value.length == 0) {
            return "no client";
        }
        record->key[i] = plan->key_has_port && value.text != NULL ? without_port(value) : value;
    }
    return NULL;
}

/* Return NULL, or why the line is malformed. */
static const char *take_fields(struct log_plan *plan, const struct log_value *values,
                               struct log_record *record)
{
    *record = (struct log_record){0};
    const char *why = take_time(plan, values, record);
    why = why != NULL ? why : take_key(plan, values, record);
    why = why != NULL ? why : take_duration(plan, values, record);
    why = why != NULL ? why : take_timeout(plan, values, record);
    return why != NULL ? why : take_operation(plan, values, record);
}

/* --- the first record, and the warnings ------------------------------------------------------- */

static void print_value(FILE *out, struct log_value value)
{
    for (size_t i = 0; i < value.length && i < 60; i++) {
        (void)fputc(value.text[i] >= ' ' && value.text[i] <= '~' ? value.text[i] : '?', out);
    }
}

static void print_operation(const struct log_import *import, const struct log_record *record)
{
    static const char *const words[] = {
        [TIMER_ROW_START] = "starts",
        [TIMER_ROW_STOP] = "stops",
        [TIMER_ROW_FIRE] = "fires",
        [TIMER_ROW_REPEAT] = "starts, repeating,",
        [TIMER_ROW_OTHER] = "does nothing to",
    };
    FILE *out = import->tally.job->report;
    bool start = record->row.op == TIMER_ROW_START || record->row.op == TIMER_ROW_REPEAT;
    if (start && record->row.delay_ns == TIMER_MODEL_NEVER) {
        (void)fputs(import->plan->op.count > 0 ? "no timeout: stops its timer"
                                               : "no timeout: dropped",
                    out);
        return;
    }
    (void)fprintf(out, "%s its timer", words[record->row.op]);
    if (start) {
        (void)fprintf(out, ", due after %.9g s", (double)record->row.delay_ns / 1e9);
    }
}

static void print_request(const struct log_import *import, const struct log_record *record)
{
    FILE *out = import->tally.job->report;
    uint64_t timeout_ns = import->settings->request_ns;
    timeout_ns = import->plan->timeout.count > 0 ? record->timeout_ns : timeout_ns;
    if (timeout_ns == TIMER_MODEL_NEVER) {
        (void)fputs("a request without a timeout", out);
        return;
    }
    (void)fprintf(out, "a request, begun %s, with a timeout of %.9g s, ",
                  import->plan->time_is == TIME_IS_END ? "before then" : "then",
                  (double)timeout_ns / 1e9);
    if (record->duration_ns == TIMER_MODEL_NEVER) {
        (void)fputs("never answered", out);
    } else {
        (void)fprintf(out, "over after %.9g s", (double)record->duration_ns / 1e9);
    }
}

/* Print the record as it was understood, so that the user notices a wrong format. */
static void print_first(const struct log_import *import, const struct line *line,
                        const struct log_record *record)
{
    FILE *out = import->tally.job->report;
    char time[64];
    log_time_print(record->row.time_ns, time, sizeof time);
    (void)fprintf(out, "%s: first record, line %" PRIu64 ": ", import->tally.name, line->number);
    for (size_t i = 0; i < import->plan->keys.count; i++) {
        (void)fputs(i == 0 ? import->rows != NULL ? "timer '" : "key '" : ", '", out);
        print_value(out, record->key[i]);
        (void)fputc('\'', out);
    }
    (void)fprintf(out, "%sat %s: ", import->plan->keys.count > 0 ? " " : "", time);
    if (import->rows != NULL) {
        print_operation(import, record);
    }
    if (import->plan->requests) {
        print_request(import, record);
    }
    if (import->rows == NULL && import->plan->keys.count > 0) {
        (void)fprintf(out, "%srestarts the key's idle timer of %.9g s",
                      import->plan->requests ? "; " : "", (double)import->settings->idle_ns / 1e9);
    }
    (void)fputc('\n', out);
}

static void check_key(struct log_checks *checks, const struct log_record *record, size_t count)
{
    const struct log_value key = record->key[0];
    bool same = key.length == checks->candidate_length && key.length < sizeof checks->candidate &&
                memcmp(key.text, checks->candidate, key.length) == 0;
    checks->events++;
    if (checks->ahead == 0 && count == 1 && key.length < sizeof checks->candidate) {
        memcpy(checks->candidate, key.text, key.length);
        checks->candidate_length = key.length;
        same = true;
    }
    checks->ahead = same ? checks->ahead + 1 : checks->ahead > 0 ? checks->ahead - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (record->key[i].length > 0 &&
            memchr(record->key[i].text, ' ', record->key[i].length) != NULL) {
            if (checks->with_blanks++ == 0) {
                size_t most = sizeof checks->blank_key - 1;
                size_t length = record->key[i].length < most ? record->key[i].length : most;
                memcpy(checks->blank_key, record->key[i].text, length);
                checks->blank_key[length] = '\0';
            }
            return;
        }
    }
}

static bool names_an_end(const struct log_plan *plan)
{
    const struct log_value name = plan->source.wanted[plan->time.at[0]].name;
    return memmem(name.text, name.length, "end", 3) != NULL ||
           memmem(name.text, name.length, "End", 3) != NULL;
}

static void warn_of_plan(struct log_import *import)
{
    const struct log_checks *checks = &import->checks;
    struct import_tally *tally = &import->tally;
    uint64_t rows = tally->lines - tally->blank;
    if (checks->events >= EVENTS_JUDGED &&
        (double)checks->ahead > (2 * NEARLY_ALL - 1) * (double)checks->events) {
        import_warn(tally,
                    "nearly all of its %" PRIu64 " events have the key '%.*s': is that the "
                    "client, or a server's name? Choose another with --key",
                    checks->events, (int)checks->candidate_length, checks->candidate);
    }
    if (checks->with_blanks > 0) {
        import_warn(tally,
                    "%" PRIu64 " keys contain blanks, such as '%s': does the format fit the "
                    "lines?",
                    checks->with_blanks, checks->blank_key);
    }
    if (checks->dropped + tally->malformed > rows / 10) {
        import_warn(tally,
                    "%" PRIu64 " of %" PRIu64 " lines are dropped: they have no key, no timeout, "
                    "or are not understood",
                    checks->dropped + tally->malformed, rows);
    }
    if (import->plan->requests && import->plan->durations.count > 0 &&
        import->plan->time_is == TIME_IS_UNKNOWN && names_an_end(import->plan)) {
        import_warn(tally, "the time's name says that it is a request's end, but it is taken for "
                           "its beginning: give --time-is end, or --time-is start");
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Join the fields of the key, with zero bytes between. */
static struct log_value join_key(struct log_import *import, const struct log_record *record)
{
    size_t count = import->plan->keys.count;
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof import->joined_key; i++) {
        if (i > 0) {
            import->joined_key[used++] = '\0';
        }
        size_t left = sizeof import->joined_key - used;
        size_t length = record->key[i].length < left ? record->key[i].length : left;
        memcpy(import->joined_key + used, record->key[i].text, length);
        used += length;
    }
    return (struct log_value){import->joined_key, used};
}

static bool add_operation(struct log_import *import, const struct line *line,
                          struct log_record *record, struct error *error)
{
    bool start = record->row.op == TIMER_ROW_START || record->row.op == TIMER_ROW_REPEAT;
    bool none = start && record->row.delay_ns == TIMER_MODEL_NEVER;
    struct timer_row row = record->row;
    row.line = line->number;
    row.op = !none ? row.op : TIMER_ROW_STOP;
    if (none && import->plan->op.count == 0) {
        import->checks.dropped++;
        row.op = TIMER_ROW_OTHER; /* its time counts */
    }
    struct log_value key = join_key(import, record);
    return timer_rows_add(import->rows, &row, key.text, key.length, error);
}

static bool add_events(struct log_import *import, const struct log_record *record,
                       struct error *error)
{
    const struct log_plan *plan = import->plan;
    uint64_t begin_ns = record->row.time_ns;
    if (plan->time_is == TIME_IS_END && record->duration_ns != TIMER_MODEL_NEVER) {
        begin_ns -= record->duration_ns < begin_ns ? record->duration_ns : begin_ns;
    }
    bool own = plan->timeout.count > 0;
    if (plan->requests && own && record->timeout_ns == TIMER_MODEL_NEVER) {
        import->checks.dropped++;
    } else if (plan->requests && !event_log_request(import->log, begin_ns, record->duration_ns,
                                                    own ? record->timeout_ns : 0, error)) {
        return false;
    }
    if (plan->keys.count == 0) {
        return true;
    }
    if (!record->has_key) {
        event_log_without_key(import->log);
        import->checks.dropped++;
        return true;
    }
    struct log_value key = join_key(import, record);
    return event_log_activity(import->log, record->row.time_ns, key.text, key.length, error);
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct log_import *import = ctx;
    struct log_plan *plan = import->plan;
    struct import_tally *tally = &import->tally;
    struct log_value values[LOG_WANTED_MAX];
    struct log_record record;
    const char *why = NULL;
    if (plan->begin != NULL && line->length > 0) {
        bool (*begin)(void *, struct log_plan *, const struct line *, struct error *) = plan->begin;
        plan->begin = NULL;
        if (!begin(plan->ctx, plan, line, error)) {
            return false;
        }
    }
    switch (log_source_take(&plan->source, line, values, &why, error)) {
    case LOG_LINE_ERROR:
        return false;
    case LOG_LINE_BLANK:
        tally->blank++;
        return true;
    case LOG_LINE_ROW:
        why = take_fields(plan, values, &record);
        break;
    case LOG_LINE_MALFORMED:
    default:
        break;
    }
    if (why == NULL && import->rows != NULL && !record.has_key) {
        why = "no timer in the columns of the key";
    }
    if (why != NULL) {
        import_tally_malformed(tally, line->number, line->text, line->length, why);
        return true;
    }
    if (!import->begun) {
        import->begun = true;
        print_first(import, line, &record);
    }
    if (record.has_key) {
        check_key(&import->checks, &record, plan->keys.count);
    }
    return import->rows != NULL ? add_operation(import, line, &record, error)
                                : add_events(import, &record, error);
}

bool log_import_run(struct log_plan *plan, const struct import_job *job,
                    const struct event_log_settings *settings, const char *format, json_t *details,
                    struct error *error)
{
    struct line_reader *reader = line_reader_open(job->input, error);
    struct log_import import = {
        .plan = plan,
        .settings = settings,
        .tally = {.job = job, .unit = "line", .max_malformed = settings->max_malformed}};
    bool operations = plan->op.count > 0 || (plan->timeout.count > 0 && !plan->requests);
    bool good = reader != NULL;
    if (good) {
        import.tally.name = plan->source.name = line_reader_name(reader);
        import.rows = operations ? timer_rows_open(&import.tally, settings, error) : NULL;
        import.log = operations ? NULL : event_log_open(&import.tally, settings, error);
        good = import.rows != NULL || import.log != NULL;
    }
    good = good && import_tally_read(&import.tally, reader, take_line, &import, error);
    if (good) {
        warn_of_plan(&import);
    }
    if (good && operations) {
        good = timer_rows_finish(import.rows, error);
        json_decref(details);
    } else if (good) {
        good = event_log_finish(import.log, format, details, error);
    } else {
        json_decref(details);
    }
    import_tally_close(&import.tally, good);
    timer_rows_close(import.rows);
    event_log_close(import.log);
    line_reader_close(reader);
    return good;
}
