/* The files of finished cells, and their keys, by which a changed cell is noticed. */
#include "sweep_work.h"

#include "memory.h"
#include "outfile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

json_t *sweep_file_key(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return NULL;
    }
    return json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)info.st_size, "seconds",
                     (json_int_t)info.st_mtim.tv_sec, "nanoseconds",
                     (json_int_t)info.st_mtim.tv_nsec);
}

/* The file of a plug-in's structure; NULL for a built-in one. */
static json_t *plugin_key(const struct catalog *catalog, const struct contender *contender)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if (catalog->entries[i].timed == contender->timed &&
            catalog->entries[i].origin_file != NULL) {
            return sweep_file_key(catalog->entries[i].origin_file);
        }
    }
    return NULL;
}

uint64_t sweep_hash(const json_t *key)
{
    char *text = json_dumps(key, JSON_SORT_KEYS | JSON_COMPACT);
    uint64_t hash = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    return hash;
}

json_t *sweep_trace_key(const struct sweep_request *request, size_t point)
{
    const struct sweep_knobs *knobs = request->knobs;
    json_t *key = json_object();
    for (size_t i = 0; i < knobs->count; i++) {
        if (!sweep_knob_drives(knobs->items[i].name)) {
            (void)json_object_set_new(key, knobs->items[i].name,
                                      json_string(sweep_value_at(knobs, point, i)));
        }
    }
    if (request->workload != NULL) {
        (void)json_object_set_new(key, "workload", json_string(request->workload->name));
        (void)json_object_set_new(key, "seconds", json_real(request->seconds));
        return key;
    }
    json_t *file = sweep_file_key(sweep_named_value_at(knobs, point, SWEEP_KNOB_TRACE));
    (void)json_object_set_new(key, "file", file != NULL ? file : json_null());
    return key;
}

/* The values that decide a cell. A new object. */
static json_t *cell_key(const struct sweep_work *work, size_t point,
                        const struct contender *contender)
{
    const struct sweep_request *request = work->request;
    char options[512];
    char drive_text[DRIVE_TEXT_BYTES] = "";
    struct replay_drive drive;
    struct error checked; /* before the sweep began */
    if (sweep_drive_at(request->knobs, point, &drive, &checked)) {
        drive_write(&drive, drive_text);
    }
    (void)tl_options_format(contender->timed, contender->options, true, options, sizeof options);
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:o*, s:i, s:b, s:b, s:f, s:I, s:O}", "trace",
        sweep_trace_key(request, point), "drive", drive_text, "algo", contender->timed->name,
        "options", options, "plugin", plugin_key(request->catalog, contender), "runs",
        (int)request->runs, "latency", request->latency, "slow", request->slow, "timeout_seconds",
        request->timeout_seconds, "memory_limit_bytes",
        (json_int_t)(request->memory_limit_bytes <= INT64_MAX ? request->memory_limit_bytes
                                                              : INT64_MAX),
        "program", work->program);
}

static void cell_path(const struct sweep_work *work, const json_t *key, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/cells/%016" PRIx64 ".json", work->request->dir,
                   sweep_hash(key));
}

json_t *sweep_read_cell(const struct sweep_work *work, size_t point,
                        const struct contender *contender)
{
    char path[PATH_MAX];
    json_t *key = cell_key(work, point, contender);
    cell_path(work, key, path);
    errno = 0;
    json_t *cell = memory_unless_short(json_load_file(path, 0, NULL));
    json_t *row = json_object_get(cell, "row");
    bool wanted = json_is_object(row) && json_equal(json_object_get(cell, "key"), key) &&
                  (!work->request->retry || sweep_row_is_right(row));
    row = wanted ? json_incref(row) : NULL;
    json_decref(cell);
    json_decref(key);
    return row;
}

bool sweep_write_cell(const struct sweep_work *work, size_t point,
                      const struct contender *contender, json_t *row, struct error *error)
{
    char path[PATH_MAX];
    struct outfile file;
    json_t *key = cell_key(work, point, contender);
    cell_path(work, key, path);
    json_t *cell = json_pack("{s:o, s:O}", "key", key, "row", row);
    bool good = outfile_open(&file, path, error);
    if (good) {
        (void)json_dumpf(cell, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
        good = outfile_commit(&file, error);
    }
    json_decref(cell);
    return good;
}
