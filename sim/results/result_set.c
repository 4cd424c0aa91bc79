#include "result_set.h"

#include "memory.h"
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The member as text, "" if it is none. */
static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* --- Google Benchmark ------------------------------------------------------------------------ */

/* A benchmark of another program has one name only. */
static void name_plainly(struct row *row, const char *name)
{
    row_set_key(row, name, "", "");
    row_set_text(row, BENCH_COL_OP, name);
}

void result_name(struct row *row, const char *name)
{
    const char *slash = strchr(name, '/');
    size_t length = slash != NULL ? strcspn(slash + 1, "/") : 0;
    if (length == 0) {
        name_plainly(row, name);
        return;
    }
    static const char ending[] = "/manual_time";
    const char *from = slash + 1;
    const char *rest = from + length;
    const char *end = strstr(rest, ending);
    size_t rest_length = end != NULL ? (size_t)(end - rest) : strlen(rest);
    size_t algo_length = strcspn(from, ":/");
    size_t options_from = algo_length < length ? algo_length + 1 : length;
    char *algo = memory_copy_part(from, algo_length);
    char *options = memory_copy_part(from + options_from, length - options_from);
    char *workload = memory_format("%.*s%.*s", (int)(slash - name), name, (int)rest_length, rest);
    const char *form = rest;
    if (strncmp(rest, "/n:", 3) == 0) {
        char *after = NULL;
        row_set_integer(row, BENCH_COL_N, strtoull(rest + 3, &after, 10));
        form = after;
    }
    char *op = memory_format("%.*s%.*s", (int)(slash - name), name,
                             (int)(rest + rest_length - form), form);
    row_set_key(row, workload, algo, options);
    row_set_text(row, BENCH_COL_OP, op);
    free(algo);
    free(options);
    free(workload);
    free(op);
}

const char *result_left_out(const char *message)
{
    static const char head[] = "skipped: ";
    size_t length = sizeof head - 1;
    return strncmp(message, head, length) == 0 ? message + length : NULL;
}

/* A repetition that failed outweighs others that were omitted. */
static void take_error(struct row *row, const char *message)
{
    const char *why = result_left_out(message);
    bool failed = !row_is_ok(row) && !row_is_unsupported(row);
    if (why != NULL && failed) {
        return;
    }
    row_set_text(row, COL_STATUS, why != NULL ? "unsupported" : "error");
    row_set_text(row, BENCH_COL_REASON, why != NULL ? why : message);
}

/* The factor that turns a benchmark's times into nanoseconds. */
static double unit_ns(const json_t *run)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, text_of(run, "time_unit")) == 0) {
            return units[i].ns;
        }
    }
    return 1;
}

/* Add a repetition to the samples of a row. */
static void take_run(struct row *row, const json_t *run)
{
    for (unsigned c = BENCH_COL_NS; c < BENCH_COL_RUNS; c++) {
        const json_t *value = json_object_get(run, bench_kind.columns[c].name);
        struct samples *samples = &row->samples[c];
        if (json_is_number(value)) {
            double unit = c == BENCH_COL_REAL || c == BENCH_COL_CPU ? unit_ns(run) : 1;
            samples->values =
                memory_resize(samples->values, samples->count + 1, sizeof *samples->values);
            samples->values[samples->count++] = unit * json_number_value(value);
        }
    }
}

static bool read_bench(struct result_session *session, const json_t *benchmarks,
                       struct error *error)
{
    const char *program = text_of(session->context, "executable");
    const char *slash = strrchr(program, '/');
    bool ours = strncmp(slash != NULL ? slash + 1 : program, "timerlab-bench", 14) == 0;
    json_t *known = json_object(); /* the index of a row, by its full name */
    bool good = true;
    size_t index;
    const json_t *run;
    json_array_foreach(benchmarks, index, run)
    {
        const char *type = text_of(run, "run_type");
        if (type[0] != '\0' && strcmp(type, "iteration") != 0) {
            continue;
        }
        const char *name = text_of(run, "run_name");
        name = name[0] != '\0' ? name : text_of(run, "name");
        if (name[0] == '\0') {
            good = error_set(error, "%s: benchmark %zu has no name: not of Google Benchmark",
                             session->path, index + 1);
            break;
        }
        const json_t *at = json_object_get(known, name);
        size_t place = at != NULL ? (size_t)json_integer_value(at) : session->results.count;
        if (at == NULL) {
            struct row *row = results_add(&session->results);
            (ours ? result_name : name_plainly)(row, name);
            row_set_text(row, COL_STATUS, "ok");
            (void)json_object_set_new(known, name, json_integer((json_int_t)place));
        }
        struct row *row = &session->results.rows[place];
        if (json_is_true(json_object_get(run, "error_occurred"))) {
            take_error(row, text_of(run, "error_message"));
        } else {
            take_run(row, run);
        }
    }
    json_decref(known);
    if (good && session->results.count == 0) {
        good = error_set(
            error,
            "%s: no single runs in it, only aggregates; omit --benchmark_report_aggregates_only",
            session->path);
    }
    if (good) {
        bench_rows_complete(&session->results, session->context);
    }
    return good;
}

/* --- sessions -------------------------------------------------------------------------------- */

static bool read_rows(struct result_session *session, const json_t *root, const json_t *rows,
                      struct error *error)
{
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_integer(schema) || json_integer_value(schema) != RESULTS_SCHEMA) {
        return error_set(error,
                         "%s: results of another schema than %d; use the timerlab that wrote them, "
                         "or measure again",
                         session->path, RESULTS_SCHEMA);
    }
    bool bench =
        json_object_get(json_array_get(rows, 0), bench_kind.columns[BENCH_COL_NAME].name) != NULL;
    session->results.kind = bench ? &bench_kind : &replay_kind;
    return results_read_rows(&session->results, rows, session->path, error);
}

static bool read_root(struct result_session *session, const json_t *root, struct error *error)
{
    const json_t *rows = json_object_get(root, "rows");
    const json_t *benchmarks = json_object_get(root, "benchmarks");
    if (!json_is_array(rows) && !json_is_array(benchmarks)) {
        return error_set(error,
                         "%s: neither results of timerlab (no `rows`) nor of Google Benchmark "
                         "(no `benchmarks`)",
                         session->path);
    }
    session->context = json_incref(json_object_get(root, "context"));
    if (!json_is_object(session->context)) {
        return error_set(error, "%s: has no `context`", session->path);
    }
    if (json_is_array(rows)) {
        return read_rows(session, root, rows, error);
    }
    session->results.kind = &bench_kind;
    return read_bench(session, benchmarks, error);
}

void result_session_free(struct result_session *session)
{
    free(session->path);
    json_decref(session->context);
    results_free(&session->results);
    *session = (struct result_session){0};
}

void result_set_begin(struct result_set *set, const char *name)
{
    *set = (struct result_set){.name = memory_copy(name)};
}

/* Google Benchmark writes NaN and Infinity where a counter has no value (the coefficient of
 * variation of zeros), which JSON does not know: a copy with null in their places, strings left
 * alone. */
static char *with_nulls(const char *text, size_t bytes, size_t *length)
{
    static const char *const words[] = {"-NaN", "NaN", "-Infinity", "Infinity"};
    /* The shortest of them grows by one. */
    char *copy = memory_bytes(bytes + bytes / 3 + 1);
    size_t end = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes;) {
        size_t skipped = 0;
        for (size_t k = 0; !quoted && k < sizeof words / sizeof words[0] && skipped == 0; k++) {
            size_t size = strlen(words[k]);
            skipped = bytes - i >= size && memcmp(text + i, words[k], size) == 0 ? size : 0;
        }
        if (skipped > 0) {
            memcpy(copy + end, "null", 4);
            end += 4;
            i += skipped;
            continue;
        }
        if (quoted && text[i] == '\\' && i + 1 < bytes) {
            copy[end++] = text[i++];
        } else if (text[i] == '"') {
            quoted = !quoted;
        }
        copy[end++] = text[i++];
    }
    *length = end;
    return copy;
}

static bool read_text(struct result_session *session, const char *source, const char *text,
                      size_t bytes, struct error *error)
{
    size_t length = 0;
    char *copy = with_nulls(text, bytes, &length);
    json_error_t problem;
    json_t *root = json_loadb(copy, length, JSON_REJECT_DUPLICATES, &problem);
    free(copy);
    *session = (struct result_session){.path = memory_copy(source)};
    bool good = root != NULL ? read_root(session, root, error)
                             : error_set(error, "%s: line %d: not JSON, or cut off: %s", source,
                                         problem.line, problem.text);
    json_decref(root);
    return good;
}

bool result_session_read(struct result_session *session, const char *path, struct error *error)
{
    *session = (struct result_session){0};
    if (trace_is(path)) {
        return error_set(error, "%s: " TRACE_NO_RESULTS, path, path);
    }
    FILE *file = memory_unless_short(fopen(path, "rb"));
    if (file == NULL) {
        return error_set(error, "%s: %s", path, strerror(errno));
    }
    char *text = NULL;
    size_t room = 0;
    ssize_t got = memory_read_until(&text, &room, '\0', file);
    int unread = ferror(file) ? errno : 0;
    (void)fclose(file);
    bool read = unread != 0 ? error_set(error, "%s: %s", path, strerror(unread))
                            : read_text(session, path, text, got > 0 ? (size_t)got : 0, error);
    free(text);
    return read;
}

/* --- sets ------------------------------------------------------------------------------------ */

static struct result_session *next_session(struct result_set *set)
{
    set->sessions = memory_resize(set->sessions, set->count + 1, sizeof *set->sessions);
    return &set->sessions[set->count++];
}

bool result_set_add(struct result_set *set, const char *source, const char *text, size_t bytes,
                    struct error *error)
{
    return read_text(next_session(set), source, text, bytes, error);
}

static bool add_file(struct result_set *set, const char *path, struct error *error)
{
    return result_session_read(next_session(set), path, error);
}

static int is_json(const struct dirent *file)
{
    size_t length = strlen(file->d_name);
    return length > 5 && strcmp(file->d_name + length - 5, ".json") == 0;
}

/* Every JSON file of a folder, by name. */
static bool add_all_files(struct result_set *set, const char *folder, struct error *error)
{
    struct dirent **files = NULL;
    int count = scandir(folder, &files, is_json, alphasort);
    (void)memory_unless_short(count >= 0 ? &count : NULL);
    if (count < 0) {
        return error_set(error, "%s: %s", folder, strerror(errno));
    }
    bool done = count > 0 || error_set(error,
                                       "%s: no results in this folder: neither results.json nor "
                                       "bench.json nor any other .json",
                                       folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
        done = done && add_file(set, path, error);
        free(files[i]);
    }
    free((void *)files);
    return done;
}

bool result_set_load(struct result_set *set, const char *path, struct error *error)
{
    static const char *const names[] = {"results.json", "bench.json"};
    struct stat info;
    result_set_begin(set, path);
    if (stat(path, &info) != 0) {
        return error_set(error, "%s: %s", path, strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        return add_file(set, path, error);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char file[4096];
        (void)snprintf(file, sizeof file, "%s/%s", path, names[i]);
        if (stat(file, &info) == 0 && !add_file(set, file, error)) {
            return false;
        }
    }
    return set->count > 0 || add_all_files(set, path, error);
}

void result_set_free(struct result_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        result_session_free(&set->sessions[i]);
    }
    free(set->sessions);
    free(set->name);
    *set = (struct result_set){0};
}

const char *result_mark(size_t index, size_t count, char mark[RESULT_MARK_BYTES])
{
    mark[0] = '\0';
    if (count > 1 && index < 26) {
        (void)snprintf(mark, RESULT_MARK_BYTES, "%c", 'A' + (int)index);
    } else if (count > 1) {
        (void)snprintf(mark, RESULT_MARK_BYTES, "Z%zu", index - 25);
    }
    return mark;
}

const struct row *result_session_find(const struct result_session *session,
                                      const struct row_kind *kind, const char *workload,
                                      const char *algo, const char *options)
{
    const struct results *results = &session->results;
    for (size_t i = 0; results->kind == kind && i < results->count; i++) {
        const struct row *row = &results->rows[i];
        if (strcmp(row_text(row, COL_TRACE), workload) == 0 &&
            strcmp(row_text(row, COL_ALGO), algo) == 0 &&
            strcmp(row_text(row, COL_OPTIONS), options) == 0) {
            return row;
        }
    }
    return NULL;
}
