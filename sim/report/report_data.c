#include "report_data.h"

#include "bench_table.h"
#include "catalog.h"
#include "csv_table.h"
#include "memory.h"
#include "outfolder.h"
#include "result_set.h"
#include "results.h"
#include "structure_json.h"
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A commands.txt of more is not one. */
#define COMMANDS_BYTES_MAX ((size_t)1 << 20)

/* --- rows ------------------------------------------------------------------------------------ */

bool row_promises(const struct report_data *data, const json_t *row, const char *capability)
{
    const json_t *structure = json_object_get(data->structures, row_string(row, "algo"));
    const json_t *words = json_object_get(structure, "capabilities");
    size_t i = 0;
    const json_t *word = NULL;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        if (text != NULL && strcmp(text, capability) == 0) {
            return true;
        }
    }
    return false;
}

bool row_hides_memory(const struct report_data *data, const json_t *row)
{
    return row_promises(data, row, "own-memory");
}

bool row_competes(const struct report_data *data, const json_t *row)
{
    return strcmp(row_string(row, "status"), "ok") == 0 &&
           !isnan(row_number(row, "ns_per_event")) && !row_promises(data, row, "baseline");
}

const char *trace_base(const char *trace)
{
    const char *slash = strrchr(trace, '/');
    return slash != NULL ? slash + 1 : trace;
}

const struct report_set *report_data_set(const struct report_data *data, const char *mark)
{
    for (size_t s = 0; s < data->set_count; s++) {
        if (strcmp(data->sets[s].mark, mark) == 0) {
            return &data->sets[s];
        }
    }
    return &data->sets[0];
}

/* --- reading --------------------------------------------------------------------------------- */

/* FOLDER/NAME, and whether there is such a file with something in it. */
static bool find_file(char path[4096], const char *folder, const char *name)
{
    struct stat info;
    return snprintf(path, 4096, "%s/%s", folder, name) < 4096 && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && info.st_size > 0;
}

/* Which run a file is from: what its context says of that or, without one, when it was written. */
static void note_run(struct report_set *set, const char *path, const char *by,
                     const json_t *context)
{
    char written[64] = "";
    struct stat info;
    struct tm utc;
    const char *date = json_string_value(json_object_get(context, "date"));
    if (date == NULL && stat(path, &info) == 0 && gmtime_r(&info.st_mtime, &utc) != NULL) {
        (void)strftime(written, sizeof written, "written %Y-%m-%dT%H:%M:%SZ", &utc);
    }
    (void)json_array_append_new(set->files,
                                json_pack("{s:s, s:s, s:s}", "file", trace_base(path), "by", by,
                                          "date", date != NULL ? date : written));
}

/* "timerlab sim", of results. */
static void note_results(struct report_set *set, const char *path)
{
    char by[64];
    const json_t *words = json_object_get(set->context, "command_line");
    const char *command = json_string_value(json_array_get(words, 0));
    (void)snprintf(by, sizeof by, "%s", command != NULL ? trace_base(command) : "-");
    const char *name = NULL;
    json_t *sum = NULL;
    note_run(set, path, by, set->context);
    json_object_foreach(json_object_get(set->context, "files"), name, sum)
    {
        note_run(set, name, by, set->context);
    }
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

/* Moves the rows to those of all folders, each with its folder's mark. */
static void take_rows(json_t *all, const json_t *rows, const char *mark)
{
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        (void)json_object_set_new(row, "set", json_string(mark));
        (void)json_array_append(all, row);
    }
}

static bool read_results(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    set->context = json_object();
    if (!find_file(path, set->folder, "results.json")) {
        return true;
    }
    json_t *whole = read_json(path, error);
    if (whole == NULL) {
        return false;
    }
    const json_t *sums = json_object_get(json_object_get(whole, "context"), "files");
    if (!outfolder_agrees(set->folder, "results.json", sums, result_files, error)) {
        json_decref(whole);
        return false;
    }
    const json_t *rows = json_object_get(whole, "rows");
    bool good = json_is_array(rows);
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        good = good && json_is_object(row);
    }
    if (!good) {
        (void)error_set(error, "%s: has no rows; is it from `timerlab sim -o`?", path);
    } else {
        take_rows(data->rows, rows, set->mark);
        (void)json_object_update(set->context, json_object_get(whole, "context"));
        note_results(set, path);
    }
    json_decref(whole);
    return good;
}

/* What the commands of `timerlab cluster` leave: NAME.json each. */
static const char *const cluster_drives[] = {"check", "sim", "run"};

static bool find_cluster(char path[4096], const char *folder, size_t drive)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%s.json", cluster_drives[drive]);
    return find_file(path, folder, name);
}

static bool read_cluster(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    for (size_t d = 0; d < sizeof cluster_drives / sizeof cluster_drives[0]; d++) {
        if (!find_cluster(path, set->folder, d)) {
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
        }
        take_rows(data->cluster, rows, set->mark);
        const json_t *context = json_object_get(whole, "context");
        note_run(set, path, "timerlab cluster", context);
        (void)json_object_update_missing(set->context, (json_t *)context);
        json_decref(whole);
    }
    return true;
}

static bool read_table(const struct report_set *set, const char *name, json_t *all,
                       struct error *error)
{
    char path[4096];
    if (!find_file(path, set->folder, name)) {
        return true;
    }
    json_t *rows = csv_table_read(path, error);
    if (rows == NULL) {
        return false;
    }
    take_rows(all, rows, set->mark);
    json_decref(rows);
    return true;
}

/* bench.csv, or the same made of bench.json. */
static bool read_bench(struct report_data *data, struct report_set *set, struct error *error)
{
    char path[4096];
    struct result_set bench = {0};
    struct error none;
    if (find_file(path, set->folder, "bench.json")) {
        /* What is wrong with it is told by who reads its rows. */
        bool read = result_set_load(&bench, path, &none) && bench.count > 0;
        note_run(set, path, "timerlab-bench", read ? bench.sessions[0].context : NULL);
        result_set_free(&bench);
    }
    if (find_file(path, set->folder, "bench.csv")) {
        note_run(set, path, "scripts/bench-to-csv", NULL);
    }
    if (find_file(path, set->folder, "bench.csv") || !find_file(path, set->folder, "bench.json")) {
        return read_table(set, "bench.csv", data->bench, error);
    }
    json_t *rows = bench_table_read(path, error);
    if (rows == NULL) {
        return false;
    }
    take_rows(data->bench, rows, set->mark);
    json_decref(rows);
    return true;
}

/* Whether any of the rows is of this structure. */
static bool occurs(const json_t *rows, const char *name)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(row_string(row, "algo"), name) == 0) {
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
    note_run(set, path, "timerlab list", NULL);
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        const char *name = row_string(row, "name");
        if (occurs(data->rows, name) || occurs(data->bench, name)) {
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

/* Those of the rows of which no folder says anything, and that the catalogue knows. */
static void add_from_catalog(struct report_data *data, const struct catalog *catalog,
                             const json_t *rows)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        const char *name = row_string(row, "algo");
        struct error unknown;
        if (json_object_get(data->structures, name) == NULL) {
            const struct catalog_entry *entry = catalog_find(catalog, name, &unknown);
            if (entry != NULL) {
                (void)json_object_set_new(data->structures, name, structure_json(entry));
            }
        }
    }
}

/* Structures of which no folder says anything are described as this program knows them. */
static void add_own_structures(struct report_data *data)
{
    struct catalog catalog;
    catalog_init(&catalog);
    add_from_catalog(data, &catalog, data->rows);
    add_from_catalog(data, &catalog, data->bench);
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
    bool any = find_file(path, set->folder, "results.json") ||
               find_file(path, set->folder, "bench.csv") ||
               find_file(path, set->folder, "bench.json");
    for (size_t d = 0; d < sizeof cluster_drives / sizeof cluster_drives[0]; d++) {
        any = any || find_cluster(path, set->folder, d);
    }
    if (trace_is(set->folder)) {
        return error_set(error, "%s: " TRACE_NO_RESULTS, set->folder, set->folder);
    }
    if (!any) {
        return error_set(error,
                         "%s: has neither results.json nor bench.csv or bench.json; give a folder "
                         "that `timerlab sim -o`, scripts/run or `timerlab cluster` left",
                         set->folder);
    }
    return read_results(data, set, error) && read_cluster(data, set, error) &&
           read_bench(data, set, error) && read_table(set, "faults.csv", data->faults, error) &&
           read_structures(data, set, error) && read_commands(set, error);
}

bool report_data_read(struct report_data *data, const char *const *folders, size_t folder_count,
                      struct error *error)
{
    *data = (struct report_data){.sets = memory_new(folder_count, sizeof *data->sets),
                                 .set_count = folder_count,
                                 .rows = json_array(),
                                 .bench = json_array(),
                                 .cluster = json_array(),
                                 .faults = json_array(),
                                 .structures = json_object()};
    bool done = true;
    for (size_t i = 0; done && i < folder_count; i++) {
        struct report_set *set = &data->sets[i];
        set->folder = folders[i];
        set->files = json_array();
        if (folder_count > 1 && i < 26) {
            (void)snprintf(set->mark, sizeof set->mark, "%c", 'A' + (int)i);
        } else if (folder_count > 1) {
            (void)snprintf(set->mark, sizeof set->mark, "Z%zu", i - 25);
        }
        done = read_folder(data, set, error);
    }
    if (done) {
        add_own_structures(data);
    } else {
        report_data_free(data);
    }
    return done;
}

void report_data_free(struct report_data *data)
{
    for (size_t i = 0; data->sets != NULL && i < data->set_count; i++) {
        json_decref(data->sets[i].context);
        json_decref(data->sets[i].files);
        free(data->sets[i].commands);
    }
    free(data->sets);
    json_decref(data->rows);
    json_decref(data->bench);
    json_decref(data->cluster);
    json_decref(data->faults);
    json_decref(data->structures);
    *data = (struct report_data){0};
}
