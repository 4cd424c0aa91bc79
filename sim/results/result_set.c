#include "result_set.h"

#include "memory.h"
#include "results.h"
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

static struct result_entry *add_entry(struct result_session *session)
{
    session->entries =
        memory_resize(session->entries, session->count + 1, sizeof *session->entries);
    struct result_entry *entry = &session->entries[session->count++];
    *entry = (struct result_entry){.checksum = "", .status = "ok", .reason = ""};
    return entry;
}

/* --- timerlab sim ---------------------------------------------------------------------------- */

static bool read_sim(struct result_session *session, struct error *error)
{
    const json_t *schema = json_object_get(session->root, "schema");
    if (!json_is_integer(schema) || json_integer_value(schema) != RESULTS_SCHEMA) {
        return error_set(error,
                         "%s: results of another schema than %d; use the timerlab that wrote them, "
                         "or measure anew",
                         session->path, RESULTS_SCHEMA);
    }
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(session->root, "rows"), index, row)
    {
        if (text_of(row, "trace")[0] == '\0' || text_of(row, "algo")[0] == '\0') {
            return error_set(error, "%s: row %zu has no trace or no algo: not results of timerlab",
                             session->path, index + 1);
        }
        struct result_entry *entry = add_entry(session);
        entry->workload = memory_copy(text_of(row, "trace"));
        entry->algo = memory_copy(text_of(row, "algo"));
        entry->options = memory_copy(text_of(row, "options"));
        entry->checksum = text_of(row, "trace_checksum");
        entry->status = text_of(row, "status");
        entry->left_out = strcmp(entry->status, "unsupported") == 0;
        entry->reason = text_of(row, "reason");
        entry->row = json_incref(row);
    }
    return true;
}

/* --- Google Benchmark ------------------------------------------------------------------------ */

/* Takes WORKLOAD/STRUCTURE[:options]/REST apart, as timerlab-bench names its rows. */
static void split_name(struct result_entry *entry, const char *name)
{
    const char *slash = strchr(name, '/');
    const char *from = slash != NULL ? slash + 1 : NULL;
    size_t length = from != NULL ? strcspn(from, "/") : 0;
    if (length == 0) {
        entry->workload = memory_copy(name);
        entry->algo = memory_copy("");
        entry->options = memory_copy("");
        return;
    }
    size_t algo_length = strcspn(from, ":/");
    size_t options_from = algo_length < length ? algo_length + 1 : length;
    entry->algo = memory_copy_part(from, algo_length);
    entry->options = memory_copy_part(from + options_from, length - options_from);
    entry->workload = memory_format("%.*s%s", (int)(slash - name), name, from + length);
}

/* The entry that repetitions of this name belong to; made if there is none. */
static struct result_entry *bench_entry(struct result_session *session, const char *name, bool ours)
{
    for (size_t i = session->count; i-- > 0;) {
        const json_t *first = json_array_get(session->entries[i].row, 0);
        const char *known = text_of(first, "run_name");
        if (strcmp(known[0] != '\0' ? known : text_of(first, "name"), name) == 0) {
            return &session->entries[i];
        }
    }
    struct result_entry *entry = add_entry(session);
    if (ours) {
        split_name(entry, name);
    } else {
        entry->workload = memory_copy(name);
        entry->algo = memory_copy("");
        entry->options = memory_copy("");
    }
    entry->row = json_array();
    return entry;
}

const char *result_left_out(const char *message)
{
    static const char head[] = "left out: ";
    size_t length = sizeof head - 1;
    return strncmp(message, head, length) == 0 ? message + length : NULL;
}

/* A repetition that failed outweighs others that were left out. */
static void take_error(struct result_entry *entry, const char *message)
{
    const char *why = result_left_out(message);
    bool failed = strcmp(entry->status, "ok") != 0 && !entry->left_out;
    if (why != NULL && failed) {
        return;
    }
    entry->status = "error";
    entry->left_out = why != NULL;
    entry->reason = why != NULL ? why : message;
}

static bool read_bench(struct result_session *session, struct error *error)
{
    const char *program = text_of(session->context, "executable");
    const char *slash = strrchr(program, '/');
    bool ours = strncmp(slash != NULL ? slash + 1 : program, "timerlab-bench", 14) == 0;
    size_t index;
    json_t *run;
    json_array_foreach(json_object_get(session->root, "benchmarks"), index, run)
    {
        const char *type = text_of(run, "run_type");
        if (type[0] != '\0' && strcmp(type, "iteration") != 0) {
            continue;
        }
        const char *name = text_of(run, "run_name");
        name = name[0] != '\0' ? name : text_of(run, "name");
        if (name[0] == '\0') {
            return error_set(error, "%s: benchmark %zu has no name: not of Google Benchmark",
                             session->path, index + 1);
        }
        struct result_entry *entry = bench_entry(session, name, ours);
        if (json_is_true(json_object_get(run, "error_occurred"))) {
            take_error(entry, text_of(run, "error_message"));
        }
        (void)json_array_append(entry->row, run);
    }
    if (session->count == 0) {
        return error_set(error,
                         "%s: no single runs in it, only aggregates; leave out "
                         "--benchmark_report_aggregates_only",
                         session->path);
    }
    return true;
}

/* --- sessions -------------------------------------------------------------------------------- */

static bool read_session(struct result_session *session, struct error *error)
{
    static const char *const kinds[] = {"rows", "benchmarks"};
    session->context = json_object_get(session->root, "context");
    if (json_is_array(json_object_get(session->root, kinds[RESULT_SIM]))) {
        session->kind = RESULT_SIM;
    } else if (json_is_array(json_object_get(session->root, kinds[RESULT_BENCH]))) {
        session->kind = RESULT_BENCH;
    } else {
        return error_set(error,
                         "%s: neither results of timerlab sim (no `rows`) nor of Google Benchmark "
                         "(no `benchmarks`)",
                         session->path);
    }
    if (!json_is_object(session->context)) {
        return error_set(error, "%s: has no `context`", session->path);
    }
    return session->kind == RESULT_SIM ? read_sim(session, error) : read_bench(session, error);
}

/* Takes over `root`, which may be NULL. */
static bool add_session(struct result_set *set, const char *source, json_t *root,
                        const json_error_t *problem, struct error *error)
{
    if (root == NULL) {
        return error_set(error, "%s: line %d: not JSON, or cut off: %s", source, problem->line,
                         problem->text);
    }
    set->sessions = memory_resize(set->sessions, set->count + 1, sizeof *set->sessions);
    struct result_session *session = &set->sessions[set->count++];
    *session = (struct result_session){.path = memory_copy(source), .root = root};
    return read_session(session, error);
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

bool result_set_add(struct result_set *set, const char *source, const char *text, size_t bytes,
                    struct error *error)
{
    size_t length = 0;
    char *copy = with_nulls(text, bytes, &length);
    json_error_t problem;
    json_t *root = json_loadb(copy, length, JSON_REJECT_DUPLICATES, &problem);
    free(copy);
    return add_session(set, source, root, &problem, error);
}

static bool add_file(struct result_set *set, const char *path, struct error *error)
{
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
    bool added = unread != 0 ? error_set(error, "%s: %s", path, strerror(unread))
                             : result_set_add(set, path, text, got > 0 ? (size_t)got : 0, error);
    free(text);
    return added;
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
        struct result_session *session = &set->sessions[i];
        for (size_t k = 0; k < session->count; k++) {
            free(session->entries[k].workload);
            free(session->entries[k].algo);
            free(session->entries[k].options);
            json_decref(session->entries[k].row);
        }
        free(session->entries);
        free(session->path);
        json_decref(session->root);
    }
    free(set->sessions);
    free(set->name);
    *set = (struct result_set){0};
}

const struct result_entry *result_session_find(const struct result_session *session,
                                               enum result_kind kind, const char *workload,
                                               const char *algo, const char *options)
{
    for (size_t i = 0; session->kind == kind && i < session->count; i++) {
        const struct result_entry *entry = &session->entries[i];
        if (strcmp(entry->workload, workload) == 0 && strcmp(entry->algo, algo) == 0 &&
            strcmp(entry->options, options) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* --- runs ------------------------------------------------------------------------------------ */

size_t result_entry_runs(const struct result_session *session, const struct result_entry *entry,
                         const char *metric)
{
    if (session->kind == RESULT_SIM) {
        return json_array_size(json_object_get(json_object_get(entry->row, "samples"), metric));
    }
    const json_t *first = json_array_get(entry->row, 0);
    return json_is_number(json_object_get(first, metric)) ? json_array_size(entry->row) : 0;
}

/* What a benchmark's times have to be multiplied with. */
static double unit_ns(const json_t *run, const char *metric)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *unit = text_of(run, "time_unit");
    bool time = strcmp(metric, "real_time") == 0 || strcmp(metric, "cpu_time") == 0;
    for (size_t i = 0; time && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0) {
            return units[i].ns;
        }
    }
    return 1;
}

double result_entry_run(const struct result_session *session, const struct result_entry *entry,
                        const char *metric, size_t index)
{
    const json_t *value = NULL;
    double unit = 1;
    if (session->kind == RESULT_SIM) {
        value =
            json_array_get(json_object_get(json_object_get(entry->row, "samples"), metric), index);
    } else {
        const json_t *run = json_array_get(entry->row, index);
        value = json_object_get(run, metric);
        unit = unit_ns(run, metric);
    }
    return json_is_number(value) ? json_number_value(value) * unit : NAN;
}
