#include "trace_text.h"

#include "json_text.h"
#include "line_reader.h"
#include "memory.h"
#include "progress.h"
#include "standard_streams.h"
#include "temporary_file.h"
#include "trace_ids.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char header_row[] = "tick,id,op,delay";
static const char cause_column[] = ",cause";
static const char slack_column[] = ",slack";

/* The suffix of a cause's id: the base of the delay, by enum trace_basis. */
static const char *const basis_letters[] = {
    [TRACE_FIXED_DELAY] = "", [TRACE_FIXED_RATE] = "r", [TRACE_ABSOLUTE] = "a"};

#define TICK_NS_DEFAULT UINT64_C(1000000)

/* --- writing --------------------------------------------------------------------------------- */

static bool fail_writing(struct error *error)
{
    return error_set(error, "the text could not be written: %s", strerror(errno));
}

static bool put_row(FILE *stream, const struct trace_header *header, uint64_t tick,
                    const struct trace_record *record, const struct trace_cause *cause)
{
    (void)fprintf(stream, "%" PRIu64 ",%" PRIu32, tick, record->id);
    if (record->op == TRACE_START) {
        (void)fprintf(stream, ",start,%" PRIu64, record->deadline - tick);
    } else {
        (void)fputs(",stop,", stream);
    }
    if (header->causes_known) {
        (void)fputc(',', stream);
        if (cause->basis != TRACE_EXTERNAL) {
            (void)fprintf(stream, "%" PRIu32 "%s", cause->id, basis_letters[cause->basis]);
        }
    }
    if (header->max_slack_ticks > 0) {
        (void)fputc(',', stream);
        if (cause->slack_ticks > 0) {
            (void)fprintf(stream, "%" PRIu32, cause->slack_ticks);
        }
    }
    (void)fputc('\n', stream);
    return ferror(stream) == 0;
}

bool trace_text_write_head(struct trace_reader *reader, uint64_t limit, FILE *stream,
                           struct error *error)
{
    static const struct trace_cause external = {0};
    const struct trace_header *header = trace_reader_header(reader);
    struct progress progress;
    progress_begin(&progress, "text", "operations",
                   limit < header->events ? limit : header->events);
    (void)fprintf(stream, "%s%s%s\n", header_row, header->causes_known ? cause_column : "",
                  header->max_slack_ticks > 0 ? slack_column : "");
    struct trace_block block;
    uint64_t left = limit;
    int got = 1;
    bool good = true;
    while (good && left > 0 && (got = trace_reader_next(reader, &block, error)) == 1) {
        for (size_t g = 0; good && left > 0 && g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = 0; good && left > 0 && i < group->count; i++, left--) {
                uint32_t at = group->first + i;
                good = put_row(stream, header, group->tick, &block.records[at],
                               block.causes != NULL ? &block.causes[at] : &external) ||
                       fail_writing(error);
            }
        }
        progress_update(&progress, limit - left);
    }
    progress_end(&progress);
    return good && got >= 0;
}

bool trace_text_write(struct trace_reader *reader, FILE *stream, struct error *error)
{
    if (!trace_text_write_head(reader, UINT64_MAX, stream, error)) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    if (fprintf(stream,
                "# tick_ns: %" PRIu64 "\n# ids: %" PRIu32 "\n# warmup_end_tick: %" PRIu64
                "\n# end_tick: %" PRIu64 "\n# origin: %s\n",
                header->tick_ns, header->ids, header->warmup_end_tick, header->end_tick,
                header->origin) < 0) {
        return fail_writing(error);
    }
    return true;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The longest row: two numbers of 20 digits, three of 10, a word, a letter, commas. */
#define ROW_BYTES 96u

/* The keys of comment lines. */
enum key { KEY_TICK_NS, KEY_IDS, KEY_WARMUP_END_TICK, KEY_END_TICK, KEY_NUMBERS };

static const char *const key_names[KEY_NUMBERS] = {"tick_ns", "ids", "warmup_end_tick", "end_tick"};

struct text {
    const char *name;
    struct trace_writer *writer;
    uint64_t line;
    bool header_seen;
    bool causes; /* there is a column of them */
    bool slack;  /* likewise */
    uint64_t last_tick;
    uint64_t reactions;
    bool said[KEY_NUMBERS];
    uint64_t number[KEY_NUMBERS];
    char *origin;
    struct trace_ids ids; /* the ids used */
};

static bool refuse(const struct text *text, struct error *error, const char *why)
{
    return error_set(error, "%s: line %" PRIu64 ": %s", text->name, text->line, why);
}

/* Read digits; NULL unless there is at least one and the number fits. */
static const char *get_number(const char *at, uint64_t *value)
{
    if (*at < '0' || *at > '9') {
        return NULL;
    }
    char *end;
    errno = 0;
    *value = strtoull(at, &end, 10);
    return errno == 0 ? end : NULL;
}

/* Skip a word, if it is next. */
static bool take_word(const char **at, const char *word)
{
    size_t n = strlen(word);
    bool taken = strncmp(*at, word, n) == 0;
    *at += taken ? n : 0;
    return taken;
}

static bool read_comment(struct text *text, const char *line, struct error *error)
{
    const char *at = line + 1 + strspn(line + 1, " ");
    if (take_word(&at, "origin: ")) {
        free(text->origin);
        text->origin = memory_copy(at);
        return true;
    }
    for (unsigned key = 0; key < KEY_NUMBERS; key++) {
        const char *value = at;
        if (take_word(&value, key_names[key]) && take_word(&value, ": ")) {
            value = get_number(value, &text->number[key]);
            if (value == NULL || *value != '\0' ||
                (key == KEY_IDS && text->number[key] > UINT32_MAX)) {
                char why[64];
                (void)snprintf(why, sizeof why, "the value of %s is not a number in range",
                               key_names[key]);
                return refuse(text, error, why);
            }
            text->said[key] = true;
            return true;
        }
    }
    return true;
}

/* Read the column of causes. */
static bool read_cause(const struct text *text, const char *at, struct trace_cause *cause,
                       struct error *error)
{
    uint64_t id;
    *cause = (struct trace_cause){0};
    if (*at == '\0') {
        return true;
    }
    at = get_number(at, &id);
    if (at == NULL || id > UINT32_MAX) {
        return refuse(text, error, "a cause is the id of a timer, of 32 bits, or empty");
    }
    for (uint32_t basis = TRACE_FIXED_DELAY; basis <= TRACE_ABSOLUTE; basis++) {
        if (strcmp(at, basis_letters[basis]) == 0) {
            *cause = (struct trace_cause){.id = (uint32_t)id, .basis = basis};
            return true;
        }
    }
    return refuse(
        text, error,
        "a cause's id is followed by nothing (fixed delay), r (fixed rate) or a (absolute)");
}

/* Read the columns after the delay, as many as the row has. */
static bool read_rest(const struct text *text, char *rest, enum trace_op op,
                      struct trace_cause *cause, struct error *error)
{
    const char *field = text->causes ? strsep(&rest, ",") : NULL;
    if (field != NULL && !read_cause(text, field, cause, error)) {
        return false;
    }
    field = text->slack ? strsep(&rest, ",") : NULL;
    if (field != NULL && *field != '\0') {
        uint64_t slack;
        field = get_number(field, &slack);
        if (field == NULL || *field != '\0' || slack > UINT32_MAX) {
            return refuse(text, error, "a slack is a number of ticks, of 32 bits, or empty");
        }
        if (op == TRACE_STOP) {
            return refuse(text, error, "a stop has no slack");
        }
        cause->slack_ticks = (uint32_t)slack;
    }
    return rest == NULL || refuse(text, error, "something follows the last column");
}

static bool read_row(struct text *text, char *rest, struct error *error)
{
    uint64_t tick;
    uint64_t id;
    uint64_t delay = 0;
    struct trace_cause cause = {0};
    const char *at = get_number(strsep(&rest, ","), &tick);
    if (at == NULL || *at != '\0' || rest == NULL) {
        return refuse(text, error, "no tick: a row is tick,id,op,delay");
    }
    at = get_number(strsep(&rest, ","), &id);
    if (at == NULL || *at != '\0' || rest == NULL || id > UINT32_MAX) {
        return refuse(text, error,
                      "no timer id of 32 bits after the tick; names of another kind are taken by "
                      "`timerlab trace import events --time tick --time-unit ms --op op --key id`");
    }
    at = strsep(&rest, ",");
    enum trace_op op = strcmp(at, "stop") == 0 ? TRACE_STOP : TRACE_START;
    if (op == TRACE_START && (strcmp(at, "start") != 0 || rest == NULL)) {
        return refuse(text, error, "the operation is neither start nor stop");
    }
    at = rest != NULL ? strsep(&rest, ",") : "";
    at = op == TRACE_START ? get_number(at, &delay) : at;
    if (at == NULL) {
        return refuse(text, error, "a start needs a delay in ticks");
    }
    if (*at != '\0' || (rest != NULL && !text->causes && !text->slack)) {
        return refuse(text, error,
                      op == TRACE_STOP ? "a stop has no delay" : "something follows the delay");
    }
    if (rest != NULL && !read_rest(text, rest, op, &cause, error)) {
        return false;
    }
    struct error why;
    if (!trace_writer_add_reaction(text->writer, tick, (uint32_t)id, op, delay, cause, &why)) {
        return error_set(error, "%s: line %" PRIu64 ": %.700s", text->name, text->line, why.text);
    }
    text->last_tick = tick;
    text->reactions += cause.basis != TRACE_EXTERNAL;
    trace_ids_add(&text->ids, (uint32_t)id);
    return true;
}

static bool read_line(struct text *text, const struct line *line, struct error *error)
{
    text->line = line->number;
    if (memchr(line->text, '\0', line->length) != NULL) {
        return refuse(text, error, "no text: it has a byte of value 0");
    }
    if (line->length == 0) {
        return true;
    }
    if (line->text[0] == '#') {
        char *comment = memory_copy_part(line->text, line->length);
        bool good = read_comment(text, comment, error);
        free(comment);
        return good;
    }
    /* The longest row is shorter. */
    char row[ROW_BYTES + 1];
    size_t length = line->length < ROW_BYTES ? line->length : ROW_BYTES;
    (void)memcpy(row, line->text, length);
    row[length] = '\0';
    if (text->header_seen) {
        return read_row(text, row, error);
    }
    const char *rest = row;
    bool begins = take_word(&rest, header_row);
    text->causes = begins && take_word(&rest, cause_column);
    text->slack = begins && take_word(&rest, slack_column);
    text->header_seen = begins && *rest == '\0';
    if (text->causes) {
        trace_writer_declare_causes(text->writer);
    }
    return text->header_seen ||
           refuse(text, error, "the first row must be tick,id,op,delay[,cause][,slack]");
}

static bool read_lines(struct text *text, struct line_reader *reader, struct error *error)
{
    struct progress progress;
    progress_begin(&progress, "text", "bytes", line_reader_bytes_total(reader));
    struct line line;
    bool good = true;
    int got = 1;
    while (good && (got = line_reader_next(reader, &line, error)) == 1) {
        good = read_line(text, &line, error);
        if (text->line % 4096 == 0) {
            progress_update(&progress, line_reader_bytes_done(reader));
        }
    }
    progress_end(&progress);
    if (good && got == 0 && !text->header_seen) {
        text->line += text->line == 0;
        return refuse(text, error,
                      "no header row: the first row must be tick,id,op,delay[,cause][,slack]");
    }
    return good && got == 0;
}

/* Return the origin of a text that has none. */
static char *default_origin(const struct text *text)
{
    json_t *origin = json_pack("{s:s, s:o, s:I}", "source", "csv", "file", json_text(text->name),
                               "timers", (json_int_t)text->ids.count);
    char *made = json_dumps(origin, JSON_COMPACT);
    json_decref(origin);
    return made;
}

static uint32_t least_ids(const struct text *text, const struct trace_text_options *options)
{
    return options->min_ids != 0 ? options->min_ids : (uint32_t)text->number[KEY_IDS];
}

/* Fill in the missing properties, and end the writer. */
static bool commit(struct text *text, const struct trace_text_options *options, struct error *error)
{
    struct trace_writer *writer = text->writer;
    uint64_t events = trace_writer_events(writer);
    uint64_t tick_ns = options->tick_ns != 0     ? options->tick_ns
                       : text->said[KEY_TICK_NS] ? text->number[KEY_TICK_NS]
                                                 : TICK_NS_DEFAULT;
    uint64_t warmup_end_tick = options->warmup_end_tick != NULL ? *options->warmup_end_tick
                                                                : text->number[KEY_WARMUP_END_TICK];
    bool end_said = options->end_tick != NULL || text->said[KEY_END_TICK];
    uint64_t end_tick = options->end_tick != NULL ? *options->end_tick : text->number[KEY_END_TICK];
    uint32_t min_ids = least_ids(text, options);
    if (end_said && events > 0 && end_tick <= text->last_tick) {
        return error_set(
            error, "%s: end_tick %" PRIu64 " is not after the last operation, at tick %" PRIu64,
            text->name, end_tick, text->last_tick);
    }
    if (!trace_writer_set_tick_ns(writer, tick_ns, error)) {
        return false;
    }
    text->writer = NULL;
    char *made = options->origin == NULL && text->origin == NULL ? default_origin(text) : NULL;
    const char *origin = options->origin != NULL ? options->origin
                         : text->origin != NULL  ? text->origin
                                                 : made;
    bool good = trace_writer_commit(writer, warmup_end_tick, end_tick, min_ids, origin, error);
    free(made);
    return good;
}

static bool send_to_output(const char *path, struct error *error)
{
    FILE *trace = memory_unless_short(fopen(path, "rb"));
    bool good = trace != NULL ? standard_output_send(trace, error)
                              : error_set(error, "%s: %s", path, strerror(errno));
    if (trace != NULL) {
        (void)fclose(trace);
    }
    return good;
}

/* Renumber the timers of the trace at `made` from 0, if requested or necessary, and report it. The
 * trace is then at `out_path`. */
static bool settle_ids(struct text *text, const char *made, const char *out_path,
                       const struct trace_text_options *options, struct error *error)
{
    const uint64_t end = text->ids.end;
    const bool sparse = least_ids(text, options) < end && trace_ids_are_sparse(&text->ids);
    const bool renumbered = end > 0 && (options->dense_ids || sparse);
    if (options->ids != NULL) {
        *options->ids = (struct trace_text_ids){.named = text->ids.count,
                                                .largest = end > 0 ? (uint32_t)(end - 1) : 0,
                                                .renumbered = renumbered,
                                                .causes_known = text->causes,
                                                .reactions = text->reactions};
    }
    return renumbered ? trace_ids_renumber(made, out_path, &text->ids, error)
                      : made == out_path || send_to_output(made, error);
}

bool trace_text_read(const char *path, const char *out_path,
                     const struct trace_text_options *options, struct error *error)
{
    struct line_reader *reader = line_reader_open(path, error);
    if (reader == NULL) {
        return false;
    }
    struct text text = {.name = line_reader_name(reader)};
    /* Whether the ids are kept is known only at the end of the text: until then, standard output
     * waits. */
    struct temporary spool = {0};
    bool spooled = is_standard_stream(out_path);
    const char *made = spooled ? spool.file : out_path;
    bool good = !spooled || (trace_writer_check(out_path, error) && temporary_make(&spool, error));
    text.writer = good ? trace_writer_open(made, TICK_NS_DEFAULT, error) : NULL;
    good = text.writer != NULL && read_lines(&text, reader, error) &&
           commit(&text, options, error) && settle_ids(&text, made, out_path, options, error);
    trace_writer_abort(text.writer);
    temporary_remove(&spool);
    trace_ids_release(&text.ids);
    free(text.origin);
    line_reader_close(reader);
    return good;
}
