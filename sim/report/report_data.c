/* The files that are read. */
#include "report.h"

#include "catalog.h"
#include "json_text.h"
#include "memory.h"
#include "structure_json.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A commands.txt of more is not one. */
#define COMMANDS_BYTES_MAX ((size_t)1 << 20)

/* FOLDER/NAME, and whether there is such a file with something in it. */
static bool find_file(char path[4096], const char *folder, const char *name)
{
    struct stat info;
    return snprintf(path, 4096, "%s/%s", folder, name) < 4096 && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && info.st_size > 0;
}

/* NULL with `error` set. */
static json_t *read_json(const char *path, struct error *error)
{
    json_error_t why;
    errno = 0;
    json_t *whole = memory_unless_short(json_load_file(path, 0, &why));
    if (whole == NULL) {
        (void)error_set(error, "%s, line %d: not JSON as it should be: %s", path, why.line,
                        why.text);
    }
    return whole;
}

/* Read a file of results as a session, if there is one. */
static bool read_session(struct report_set *set, const char *name, struct result_session *session,
                         struct error *error)
{
    char path[4096];
    *session = (struct result_session){0};
    return !find_file(path, set->folder, name) || result_session_read(session, path, error);
}

static bool read_results(struct report_set *set, struct error *error)
{
    struct result_session session;
    bool good = read_session(set, "results.json", &session, error);
    if (good && session.path != NULL) {
        (void)json_object_update(set->context, session.context);
        set->rows = session.results;
        session.results = (struct results){0};
    }
    result_session_free(&session);
    return good;
}

/* The output of the commands of `timerlab cluster`: NAME.json each. */
static const char *const cluster_drives[] = {"check", "sim", "run"};

static bool read_cluster(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    for (size_t d = 0; d < sizeof cluster_drives / sizeof cluster_drives[0]; d++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s.json", cluster_drives[d]);
        if (!find_file(path, set->folder, name)) {
            continue;
        }
        json_t *whole = read_json(path, error);
        json_t *rows = json_object_get(whole, "rows");
        if (whole != NULL && !json_is_array(rows)) {
            (void)error_set(error, "%s: has no rows; is it from `timerlab cluster %s -o`?", path,
                            cluster_drives[d]);
        }
        if (!json_is_array(rows)) {
            json_decref(whole);
            return false;
        }
        size_t i = 0;
        json_t *row = NULL;
        json_array_foreach(rows, i, row)
        {
            (void)json_object_set_new(row, "drive", json_string(cluster_drives[d]));
            (void)json_object_set_new(row, "set", json_string(set->mark));
        }
        (void)json_array_extend(data->cluster, rows);
        const json_t *context = json_object_get(whole, "context");
        (void)json_object_update_missing(set->context, (json_t *)context);
        json_decref(whole);
    }
    return true;
}

static bool read_bench(struct report_set *set, struct error *error)
{
    char path[4096];
    struct result_session session;
    bool good = read_session(set, "bench.json", &session, error);
    if (good && session.path != NULL) {
        set->bench_context = json_incref(session.context);
        set->bench = session.results;
        session.results = (struct results){0};
    } else if (good && find_file(path, set->folder, "bench.csv")) {
        good = results_read_csv(&set->bench, path, error);
    }
    result_session_free(&session);
    return good;
}

static bool read_faults(struct report_set *set, struct error *error)
{
    char path[4096];
    return !find_file(path, set->folder, "faults.csv") ||
           results_read_csv(&set->faults, path, error);
}

/* Whether any of the rows is of this structure. */
static bool occurs(const struct results *results, const char *name)
{
    for (size_t i = 0; i < results->count; i++) {
        if (strcmp(row_text(&results->rows[i], COL_ALGO), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Newer descriptions win over those of folders before. */
static bool read_structures(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    if (!find_file(path, set->folder, "structures.json")) {
        return true;
    }
    json_t *rows = read_json(path, error);
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        const char *name = json_word(row, "name");
        if (occurs(&set->rows, name) || occurs(&set->bench, name)) {
            (void)json_object_set(data->structures, name, row);
        }
    }
    json_decref(rows);
    return rows != NULL;
}

static bool read_commands(struct report_set *set, struct error *error)
{
    char path[4096];
    if (!find_file(path, set->folder, "commands.txt")) {
        set->commands = memory_copy("");
        return true;
    }
    FILE *file = memory_unless_short(fopen(path, "r"));
    if (file == NULL) {
        return error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    }
    set->commands = memory_new(1, COMMANDS_BYTES_MAX + 1);
    size_t length = fread(set->commands, 1, COMMANDS_BYTES_MAX, file);
    while (length > 0 && set->commands[length - 1] == '\n') {
        set->commands[--length] = '\0';
    }
    (void)fclose(file);
    return true;
}

/* Complete rows: the folder's mark; and capabilities, which rows of other programs do not have.
 * Structures that no folder describes are described as this program knows them. */
static void complete_rows(struct report_data *data, const struct report_set *set,
                          struct results *results, const struct catalog *catalog)
{
    for (size_t i = 0; i < results->count; i++) {
        struct row *row = &results->rows[i];
        const char *name = row_text(row, COL_ALGO);
        struct error unknown;
        const struct catalog_entry *entry = json_object_get(data->structures, name) == NULL
                                                ? catalog_find(catalog, name, &unknown)
                                                : NULL;
        if (entry != NULL) {
            (void)json_object_set_new(data->structures, name, structure_json(entry));
        }
        row->mark = set->mark;
        if (row->capabilities == 0) {
            row->capabilities = results_read_capabilities(
                json_object_get(json_object_get(data->structures, name), "capabilities"));
        }
    }
}

static void complete(struct report_data *data)
{
    struct catalog catalog;
    catalog_init(&catalog);
    for (size_t s = 0; s < data->set_count; s++) {
        struct report_set *set = &data->sets[s];
        complete_rows(data, set, &set->rows, &catalog);
        complete_rows(data, set, &set->bench, &catalog);
        complete_rows(data, set, &set->faults, &catalog);
    }
    catalog_free(&catalog);
}

static bool read_folder(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    struct stat info;
    if (stat(set->folder, &info) != 0) {
        return error_set(error, "%s: %s; give a folder that `timerlab sim -o` or scripts/run left",
                         set->folder, strerror(errno));
    }
    static const char *const files[] = {"results.json", "bench.csv",  "bench.json", "threads.csv",
                                        "live.csv",     "check.json", "sim.json",   "run.json"};
    bool any = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        any = any || find_file(path, set->folder, files[i]);
    }
    if (trace_is(set->folder)) {
        return error_set(error, "%s: " TRACE_NO_RESULTS, set->folder, set->folder);
    }
    if (!any) {
        return error_set(
            error,
            "%s: has neither results.json nor bench.csv or bench.json; give a folder "
            "that `timerlab sim -o`, scripts/run, or the `-o` of `live` or `cluster` left",
            set->folder);
    }
    return read_results(set, error) && read_cluster(data, set, error) && read_bench(set, error) &&
           read_faults(set, error) && read_structures(data, set, error) &&
           read_commands(set, error);
}

bool report_data_read(struct report_data *data, const char *const *folders, size_t folder_count,
                      struct error *error)
{
    *data = (struct report_data){.sets = memory_new(folder_count, sizeof *data->sets),
                                 .set_count = folder_count,
                                 .cluster = json_array(),
                                 .structures = json_object()};
    bool done = true;
    for (size_t i = 0; done && i < folder_count; i++) {
        struct report_set *set = &data->sets[i];
        *set = (struct report_set){.folder = folders[i],
                                   .context = json_object(),
                                   .bench = {.kind = &bench_kind},
                                   .faults = {.kind = &fault_kind}};
        (void)result_mark(i, folder_count, set->mark);
        done = read_folder(data, set, error);
    }
    if (done) {
        complete(data);
    } else {
        report_data_free(data);
    }
    return done;
}

void report_data_free(struct report_data *data)
{
    for (size_t i = 0; data->sets != NULL && i < data->set_count; i++) {
        json_decref(data->sets[i].context);
        json_decref(data->sets[i].bench_context);
        free(data->sets[i].commands);
        results_free(&data->sets[i].rows);
        results_free(&data->sets[i].bench);
        results_free(&data->sets[i].faults);
    }
    free(data->sets);
    json_decref(data->cluster);
    json_decref(data->structures);
    *data = (struct report_data){0};
}
