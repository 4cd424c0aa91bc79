/* The files of finished cells, and the run of the missing ones, point by point. */
#include "sweep_work.h"

#include "clock.h"
#include "memory.h"
#include "outfile.h"
#include "outfolder.h"
#include "results.h"
#include "simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define STATUS_FAILED "failed" /* of a cell that could not be run at all */

/* --- cells: their keys, by which a changed one is noticed, and their files ------------------- */

/* The size and the time of a file, by which a change is noticed. A new object; NULL: no such
 * file. */
static json_t *file_key(const char *path)
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
            return file_key(catalog->entries[i].origin_file);
        }
    }
    return NULL;
}

static uint64_t hash_of(const json_t *key)
{
    char *text = json_dumps(key, JSON_SORT_KEYS | JSON_COMPACT);
    uint64_t hash = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    return hash;
}

/* The values that decide a point's trace. A new object. */
static json_t *trace_key(const struct sweep_request *request, size_t point)
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
    json_t *file = file_key(sweep_named_value_at(knobs, point, SWEEP_KNOB_TRACE));
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
    return json_pack("{s:o, s:s, s:s, s:s, s:o*, s:i, s:b, s:b, s:f, s:I, s:O}", "trace",
                     trace_key(request, point), "drive", drive_text, "algo", contender->timed->name,
                     "options", options, "plugin", plugin_key(request->catalog, contender), "runs",
                     (int)request->simulate.runs, "latency", request->simulate.latency, "slow",
                     request->simulate.slow, "timeout_seconds", request->simulate.timeout_seconds,
                     "memory_limit_bytes",
                     (json_int_t)(request->simulate.memory_limit_bytes <= INT64_MAX
                                      ? request->simulate.memory_limit_bytes
                                      : INT64_MAX),
                     "program", work->program);
}

static void cell_path(const struct sweep_work *work, const json_t *key, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/cells/%016" PRIx64 ".json", work->request->dir,
                   hash_of(key));
}

/* Return the row of a finished cell, a new reference; NULL if it is not finished, or is to be run
 * again. */
static json_t *read_cell(const struct sweep_work *work, size_t point,
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

static bool write_cell(const struct sweep_work *work, size_t point,
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

/* --- points ---------------------------------------------------------------------------------- */

/* The name of a point's trace: the workload and the knobs that vary. A file's name, and one that is
 * too long, also has a hash of all knobs. */
static void trace_name(const struct sweep_request *request, size_t point, bool for_file, char *text,
                       size_t bytes)
{
    const struct sweep_knobs *knobs = request->knobs;
    if (request->workload == NULL) {
        const char *path = sweep_named_value_at(knobs, point, SWEEP_KNOB_TRACE);
        const char *slash = strrchr(path, '/');
        (void)snprintf(text, bytes, "%s", slash != NULL ? slash + 1 : path);
        return;
    }
    size_t used = (size_t)snprintf(text, bytes, "%s", request->workload->name);
    for (size_t i = 0; i < knobs->count; i++) {
        bool varies = knobs->items[i].value_count > 1 && !sweep_knob_drives(knobs->items[i].name);
        int n = varies && used < bytes / 2
                    ? snprintf(text + used, bytes - used, "-%s=%s", knobs->items[i].name,
                               sweep_value_at(knobs, point, i))
                    : 0;
        used += n > 0 ? (size_t)n : 0;
    }
    if (for_file || used >= bytes / 2) {
        json_t *key = trace_key(request, point);
        used = used < bytes / 2 ? used : bytes / 2;
        used += (size_t)snprintf(text + used, bytes - used, "-%08" PRIx32, (uint32_t)hash_of(key));
        json_decref(key);
    }
    (void)snprintf(text + used, bytes - used, ".trace");
}

static void generated_path(const struct sweep_request *request, size_t point, char path[PATH_MAX])
{
    char name[SWEEP_NAME_BYTES];
    trace_name(request, point, true, name, sizeof name);
    (void)snprintf(path, PATH_MAX, "%s/traces/%s", request->dir, name);
}

/* Generate the point's trace, unless its file exists. */
static bool make_trace(const struct sweep_request *request, size_t point, char path[PATH_MAX],
                       struct error *error)
{
    if (request->workload == NULL) {
        (void)snprintf(path, PATH_MAX, "%s",
                       sweep_named_value_at(request->knobs, point, SWEEP_KNOB_TRACE));
        return true;
    }
    generated_path(request, point, path);
    if (access(path, R_OK) == 0) {
        return true;
    }
    struct gen_part part;
    struct gen_summary summary;
    struct gen_request gen = {.parts = &part, .part_count = 1, .seconds = request->seconds};
    return sweep_part_at(request, point, &part, &gen.seed, error) &&
           gen_trace(&gen, path, &summary, error);
}

/* The row of a cell that could not be run. It is not stored, so that the cell is tried again. */
static json_t *failed_row(const struct sweep_request *request, size_t point,
                          const struct contender *contender, const char *reason)
{
    char name[SWEEP_NAME_BYTES];
    struct results results = {0};
    trace_name(request, point, false, name, sizeof name);
    struct row *row = results_add(&results);
    row_set_key(row, name, contender->timed->name, contender->option_text);
    row_set_text(row, COL_STATUS, STATUS_FAILED);
    row_set_text(row, COL_REASON, reason);
    json_t *rows = results_json_rows(&results);
    json_t *only = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    results_free(&results);
    return only;
}

/* Run the structures in `missing` at a point. Return their rows, or NULL with `error` set. */
static json_t *run_point(const struct sweep_work *work, size_t point,
                         const struct contender_list *missing, struct error *error)
{
    const struct sweep_request *request = work->request;
    char path[PATH_MAX];
    struct simulate_request simulate_request = request->simulate;
    if (!sweep_drive_at(request->knobs, point, &simulate_request.drive, error) ||
        !make_trace(request, point, path, error)) {
        return NULL;
    }
    const char *const traces[] = {path};
    simulate_request.traces = traces;
    simulate_request.trace_count = 1;
    simulate_request.contenders = missing;
    struct simulation simulation;
    bool all_right = false;
    bool done = simulate(&simulate_request, &simulation, &all_right, error);
    json_t *rows = done ? results_json_rows(&simulation.results) : NULL;
    simulation_free(&simulation);
    return rows;
}

/* Run the missing cells of a point, and append the rows of all its cells to `table`. Set *kept to
 * whether none was missing. */
static bool finish_point(const struct sweep_work *work, size_t point, json_t *table, bool *kept,
                         struct error *error)
{
    const struct contender_list *all = work->request->simulate.contenders;
    struct contender_list missing = {.items = memory_new(all->count, sizeof *missing.items)};
    json_t **rows = memory_new(all->count, sizeof(json_t *));
    char name[SWEEP_NAME_BYTES];
    bool good = true;
    *kept = true;
    trace_name(work->request, point, false, name, sizeof name);
    for (size_t i = 0; i < all->count; i++) {
        rows[i] = read_cell(work, point, &all->items[i]);
        *kept = *kept && rows[i] != NULL;
    }
    for (size_t i = 0; !*kept && i < all->count; i++) {
        if (rows[i] != NULL && work->request->parts > 0) {
            /* It may be from another machine, which ran this part before. */
            json_decref(rows[i]);
            rows[i] = NULL;
        }
        if (rows[i] == NULL) {
            missing.items[missing.count++] = all->items[i];
        }
    }
    json_t *fresh = NULL;
    struct error why = {""};
    if (!*kept) {
        fresh = run_point(work, point, &missing, &why);
    }
    size_t next = 0;
    for (size_t i = 0; good && i < all->count; i++) {
        if (rows[i] == NULL && fresh != NULL) {
            rows[i] = json_incref(json_array_get(fresh, next++));
            sweep_add_knobs(work->request, point, rows[i]);
            good = write_cell(work, point, &all->items[i], rows[i], error);
        } else if (rows[i] == NULL) {
            rows[i] = failed_row(work->request, point, &all->items[i], why.text);
            sweep_add_knobs(work->request, point, rows[i]);
        }
        if (work->request->workload !=
            NULL) { /* the cell's trace was named when other knobs varied */
            (void)json_object_set_new(rows[i], "trace", json_string(name));
        }
        (void)json_array_append(table, rows[i]);
    }
    for (size_t i = 0; i < all->count; i++) {
        json_decref(rows[i]);
    }
    json_decref(fresh);
    free(rows);
    free(missing.items);
    return good;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void remove_trace(const struct sweep_request *request, size_t point)
{
    char path[PATH_MAX];
    if (request->workload != NULL && !request->keep_traces) {
        generated_path(request, point, path);
        (void)unlink(path);
    }
}

/* Return whether the next point has the same trace, driven differently. */
static bool trace_goes_on(const struct sweep_work *work, size_t i)
{
    if (i + 1 >= work->point_count) {
        return false;
    }
    json_t *this = trace_key(work->request, work->points[i]);
    json_t *next = trace_key(work->request, work->points[i + 1]);
    bool same = json_equal(this, next) != 0;
    json_decref(this);
    json_decref(next);
    return same;
}

/* Write the tables after `done` points. */
static bool write_tables(const struct sweep_work *work, json_t *rows, size_t done,
                         struct error *error)
{
    const struct sweep_request *request = work->request;
    json_t *part = json_object_get(work->context, SWEEP_PART);
    if (part != NULL) {
        (void)json_object_set_new(part, "done", json_integer((json_int_t)done));
    }
    return sweep_write_tables(work->out, request->knobs, rows, work->context, error);
}

static bool run_all(struct sweep_work *work, struct sweep_result *result, struct error *error)
{
    const struct sweep_request *request = work->request;
    double weight_left = 0;
    double weight_done = 0;
    double spent = 0;
    size_t ran = 0;
    size_t done = 0;
    for (size_t i = 0; i < work->point_count; i++) {
        weight_left += work->costs[work->points[i]];
    }
    for (; done < work->point_count; done++) {
        size_t point = work->points[done];
        if (request->limit > 0 && ran == request->limit) {
            break;
        }
        bool kept = false;
        uint64_t begun_ns = clock_now_ns();
        if (!finish_point(work, point, result->rows, &kept, error) ||
            (!kept && !write_tables(work, result->rows, done + 1, error))) {
            return false;
        }
        if (!trace_goes_on(work, done)) {
            remove_trace(request, point);
        }
        double seconds = (double)(clock_now_ns() - begun_ns) / 1e9;
        double weight = work->costs[point];
        weight_left -= weight;
        weight_done += kept ? 0 : weight;
        spent += kept ? 0 : seconds;
        ran += !kept;
        if (request->report != NULL) {
            char name[SWEEP_NAME_BYTES];
            trace_name(request, point, false, name, sizeof name);
            request->report(&(struct sweep_progress){
                .point = done + 1,
                .points = work->point_count,
                .name = name,
                .kept = kept,
                .seconds = seconds,
                .seconds_left = weight_done > 0 ? spent / weight_done * weight_left : 0,
            });
        }
    }
    result->points_left = work->point_count - done;
    return write_tables(work, result->rows, done, error);
}

/* The values that decide a cell, in addition to the request. */
static json_t *program_key(const json_t *context)
{
    static const char *const names[] = {"commit", "cpu", "governor"};
    json_t *key = json_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)json_object_set(key, names[i], json_object_get(context, names[i]));
    }
    json_t *executable = file_key("/proc/self/exe");
    (void)json_object_set_new(key, "file", executable != NULL ? executable : json_null());
    return key;
}

/* Add the description to the context and, for a part, its points. */
static bool describe_work(struct sweep_work *work, struct error *error)
{
    const struct sweep_request *request = work->request;
    double share = 1;
    json_t *description = sweep_describe(request, error);
    if (description == NULL) {
        return false;
    }
    (void)json_object_set_new(work->context, SWEEP_DESCRIPTION, description);
    sweep_choose_points(work, &share);
    if (request->parts == 0) {
        return true;
    }
    json_t *points = json_array();
    for (size_t i = 0; i < work->point_count; i++) {
        (void)json_array_append_new(points, json_integer((json_int_t)work->points[i]));
    }
    json_t *part = json_pack("{s:i, s:i, s:o, s:i, s:f}", "part", (int)request->part, "parts",
                             (int)request->parts, "points", points, "done", 0, "cost_share", share);
    (void)json_object_set_new(work->context, SWEEP_PART, part);
    return true;
}

bool sweep_run(const struct sweep_request *request, struct sweep_result *result,
               struct error *error)
{
    char path[PATH_MAX];
    char results[PATH_MAX];
    struct outfolder out = {0};
    struct sweep_work work = {.request = request,
                              .out = &out,
                              .program = program_key(request->context),
                              .context = json_copy((json_t *)request->context)};
    *result = (struct sweep_result){.rows = json_array()};
    bool good = describe_work(&work, error) && outfolder_open(&out, request->dir, error);
    result->points = work.point_count;
    result->context = json_incref(work.context);
    (void)snprintf(path, sizeof path, "%s/cells", request->dir);
    good = good && folder_make(path, error);
    (void)snprintf(path, sizeof path, "%s/traces", request->dir);
    good = good && (request->workload == NULL || folder_make(path, error));
    /* So that a join finds a part that was begun, and reports it as not done. */
    (void)snprintf(results, sizeof results, "%s/results.json", request->dir);
    good = good && (request->parts == 0 || access(results, F_OK) == 0 ||
                    write_tables(&work, result->rows, 0, error));
    good = good && run_all(&work, result, error);
    if (request->workload != NULL && !request->keep_traces) {
        (void)rmdir(path);
    }
    result->all_right = sweep_rows_are_right(result->rows);
    outfolder_close(&out);
    json_decref(work.program);
    json_decref(work.context);
    free(work.points);
    free(work.costs);
    return good;
}

void sweep_result_free(struct sweep_result *result)
{
    json_decref(result->rows);
    json_decref(result->context);
    *result = (struct sweep_result){0};
}
