#include "sweep.h"

#include "number.h"
#include "outfile.h"
#include "results.h"
#include "simulate.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define NAME_BYTES    256
#define STATUS_FAILED "failed" /* of a cell that could not be run at all */

/* --- knobs ----------------------------------------------------------------------------------- */

static struct sweep_knob *knob_of(const struct sweep_knobs *knobs, const char *name)
{
    for (size_t i = 0; i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, name) == 0) {
            return &knobs->items[i];
        }
    }
    return NULL;
}

const struct sweep_knob *sweep_knob_find(const struct sweep_knobs *knobs, const char *name)
{
    return knob_of(knobs, name);
}

bool sweep_knob_extend(struct sweep_knobs *knobs, const char *name, const char *value,
                       struct error *error)
{
    if (name[0] == '\0' || value[0] == '\0') {
        return error_set(error, "%s=%s: a knob has a name and values", name, value);
    }
    struct sweep_knob *knob = knob_of(knobs, name);
    if (knob == NULL) {
        struct sweep_knob *items = realloc(knobs->items, (knobs->count + 1) * sizeof *items);
        char *copy = strdup(name);
        if (items != NULL) {
            knobs->items = items;
        }
        if (items == NULL || copy == NULL) {
            free(copy);
            return error_set(error, "out of memory");
        }
        knob = &items[knobs->count++];
        *knob = (struct sweep_knob){.name = copy};
    }
    for (size_t i = 0; i < knob->value_count; i++) {
        if (strcmp(knob->values[i], value) == 0) {
            return error_set(error, "%s=%s is named twice", name, value);
        }
    }
    char **values = realloc(knob->values, (knob->value_count + 1) * sizeof *values);
    if (values == NULL) {
        return error_set(error, "out of memory");
    }
    knob->values = values;
    values[knob->value_count] = strdup(value);
    if (values[knob->value_count] == NULL) {
        return error_set(error, "out of memory");
    }
    knob->value_count++;
    return true;
}

bool sweep_knob_add(struct sweep_knobs *knobs, const char *name, const char *values,
                    struct error *error)
{
    if (sweep_knob_find(knobs, name) != NULL) {
        return error_set(error, "the knob %s is given twice", name);
    }
    char *copy = strdup(values);
    if (copy == NULL) {
        return error_set(error, "out of memory");
    }
    bool good = true;
    char *rest = copy;
    for (char *value = strsep(&rest, ","); good && value != NULL; value = strsep(&rest, ",")) {
        good = sweep_knob_extend(knobs, name, value, error);
    }
    free(copy);
    return good;
}

void sweep_knobs_free(struct sweep_knobs *knobs)
{
    for (size_t i = 0; i < knobs->count; i++) {
        for (size_t k = 0; k < knobs->items[i].value_count; k++) {
            free(knobs->items[i].values[k]);
        }
        free(knobs->items[i].values);
        free(knobs->items[i].name);
    }
    free(knobs->items);
    *knobs = (struct sweep_knobs){0};
}

/* --- structures with alternatives ------------------------------------------------------------ */

/* Selects one structure; the first value with alternatives is replaced by each of them. */
static bool select_alternatives(const struct catalog *catalog, const char *text,
                                struct contender_list *list, struct error *error)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return catalog_select(catalog, text, list, error);
    }
    const char *begin = slash;
    while (begin > text && begin[-1] != '=') {
        begin--;
    }
    size_t length = strcspn(begin, ":,)");
    if (begin == text || begin + length < slash) {
        return error_set(error, "'%s': alternatives are values of an option, as in slots=16/32",
                         text);
    }
    bool good = true;
    for (const char *value = begin; good && value <= begin + length;) {
        size_t bytes = strcspn(value, "/");
        bytes = bytes < (size_t)(begin + length - value) ? bytes : (size_t)(begin + length - value);
        char *one = NULL;
        if (asprintf(&one, "%.*s%.*s%s", (int)(begin - text), text, (int)bytes, value,
                     begin + length) < 0) {
            return error_set(error, "out of memory");
        }
        good = select_alternatives(catalog, one, list, error);
        free(one);
        value += bytes + 1;
    }
    return good;
}

bool sweep_select(const struct catalog *catalog, const char *text, struct contender_list *list,
                  struct error *error)
{
    bool good = true;
    const char *begin = text;
    unsigned depth = 0; /* of parentheses, in which a comma divides something else */
    for (const char *c = text; good; c++) {
        depth += *c == '(';
        depth -= *c == ')' && depth > 0;
        if (*c != '\0' && (*c != ',' || depth > 0)) {
            continue;
        }
        char *one = strndup(begin, (size_t)(c - begin));
        if (one == NULL) {
            return error_set(error, "out of memory");
        }
        good = select_alternatives(catalog, one, list, error);
        free(one);
        begin = c + 1;
        if (*c == '\0') {
            break;
        }
    }
    return good;
}

/* --- points ---------------------------------------------------------------------------------- */

static size_t count_points(const struct sweep_knobs *knobs)
{
    size_t points = 1;
    for (size_t i = 0; i < knobs->count; i++) {
        if (knobs->items[i].value_count > SWEEP_POINTS_MAX / points) {
            return SIZE_MAX;
        }
        points *= knobs->items[i].value_count;
    }
    return points;
}

/* The value of a knob at a point, the last knob turning fastest. */
static const char *value_at(const struct sweep_knobs *knobs, size_t point, size_t knob)
{
    for (size_t i = knobs->count; --i > knob;) {
        point /= knobs->items[i].value_count;
    }
    return knobs->items[knob].values[point % knobs->items[knob].value_count];
}

static const char *named_value_at(const struct sweep_knobs *knobs, size_t point, const char *name)
{
    for (size_t i = 0; i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, name) == 0) {
            return value_at(knobs, point, i);
        }
    }
    return NULL;
}

/* Whether a knob has a column of its own: a trace's name has one already. */
static bool has_column(const struct sweep_knob *knob)
{
    return strcmp(knob->name, SWEEP_KNOB_TRACE) != 0;
}

static bool is_parameter(const char *name)
{
    return strcmp(name, SWEEP_KNOB_CONNECTIONS) != 0 && strcmp(name, SWEEP_KNOB_SEED) != 0 &&
           strcmp(name, SWEEP_KNOB_DRIVE) != 0 && strcmp(name, SWEEP_KNOB_TRACE) != 0;
}

/* A whole number, to which k and m may be added: thousands and millions. */
static bool parse_whole(const char *name, const char *text, uint64_t min, uint64_t max,
                        uint64_t *value, struct error *error)
{
    const struct tl_number_form form = {.from = min, .to = max};
    union tl_number number = {0};
    if (!tl_number_read(&form, text, &number)) {
        return tl_number_refuse(&form, name, text, error->text, sizeof error->text);
    }
    *value = number.whole;
    return true;
}

/* What is generated at a point. */
static bool part_at(const struct sweep_request *request, size_t point, struct gen_part *part,
                    uint64_t *seed, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    uint64_t connections = 0;
    const char *text = named_value_at(knobs, point, SWEEP_KNOB_CONNECTIONS);
    *part = (struct gen_part){.workload = request->workload};
    if (!parse_whole(SWEEP_KNOB_CONNECTIONS, text, 1, request->workload->max_connections,
                     &connections, error) ||
        !parse_whole(SWEEP_KNOB_SEED, named_value_at(knobs, point, SWEEP_KNOB_SEED), 0, INT64_MAX,
                     seed, error)) {
        return false;
    }
    part->connections = (uint32_t)connections;
    gen_parameters_default(request->workload, part->parameters);
    for (size_t i = 0; i < knobs->count; i++) {
        char setting[NAME_BYTES];
        if (is_parameter(knobs->items[i].name)) {
            (void)snprintf(setting, sizeof setting, "%s=%s", knobs->items[i].name,
                           value_at(knobs, point, i));
            if (!gen_parameter_set(request->workload, part->parameters, setting, error)) {
                return false;
            }
        }
    }
    return true;
}

static bool drive_at(const struct sweep_knobs *knobs, size_t point, enum replay_drive *drive)
{
    const char *text = named_value_at(knobs, point, SWEEP_KNOB_DRIVE);
    for (int i = 0; replay_drive_words[i] != NULL; i++) {
        if (strcmp(text, replay_drive_words[i]) == 0) {
            *drive = (enum replay_drive)i;
            return true;
        }
    }
    return false;
}

bool sweep_check(const struct sweep_request *request, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    if (count_points(knobs) > SWEEP_POINTS_MAX) {
        return error_set(error, "the knobs make more than %d points", SWEEP_POINTS_MAX);
    }
    /* Each value once, the others at their first. */
    size_t stride = count_points(knobs);
    for (size_t i = 0; i < knobs->count; i++) {
        const struct sweep_knob *knob = &knobs->items[i];
        stride /= knob->value_count;
        if (request->workload == NULL && is_parameter(knob->name)) {
            return error_set(error, "-p %s: traces that are there have no parameters", knob->name);
        }
        for (size_t k = 0; k < knob->value_count; k++) {
            struct gen_part part;
            uint64_t seed;
            enum replay_drive drive;
            if (!drive_at(knobs, k * stride, &drive)) {
                return error_set(error, "a drive is sleep or poll, not '%s'",
                                 named_value_at(knobs, k * stride, SWEEP_KNOB_DRIVE));
            }
            if (request->workload != NULL && !part_at(request, k * stride, &part, &seed, error)) {
                return false;
            }
        }
    }
    return true;
}

/* --- cells ----------------------------------------------------------------------------------- */

struct run {
    const struct sweep_request *request;
    json_t *program; /* what decides a cell besides what was asked for */
};

/* What tells a file from the same file changed. A new object; NULL if it is not there. */
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
        if (&catalog->entries[i].timed == contender->timed &&
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

/* What decides a point's trace. A new object. */
static json_t *trace_key(const struct sweep_request *request, size_t point)
{
    const struct sweep_knobs *knobs = request->knobs;
    json_t *key = json_object();
    for (size_t i = 0; i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, SWEEP_KNOB_DRIVE) != 0) {
            (void)json_object_set_new(key, knobs->items[i].name,
                                      json_string(value_at(knobs, point, i)));
        }
    }
    if (request->workload != NULL) {
        (void)json_object_set_new(key, "workload", json_string(request->workload->name));
        (void)json_object_set_new(key, "seconds", json_real(request->seconds));
        return key;
    }
    json_t *file = file_key(named_value_at(knobs, point, SWEEP_KNOB_TRACE));
    (void)json_object_set_new(key, "file", file != NULL ? file : json_null());
    return key;
}

/* What decides a cell. A new object. */
static json_t *cell_key(const struct run *run, size_t point, const struct contender *contender)
{
    const struct sweep_request *request = run->request;
    char options[512];
    (void)tl_options_format(contender->timed, contender->options, true, options, sizeof options);
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:o*, s:i, s:b, s:b, s:f, s:I, s:O}", "trace",
        trace_key(request, point), "drive", named_value_at(request->knobs, point, SWEEP_KNOB_DRIVE),
        "algo", contender->timed->name, "options", options, "plugin",
        plugin_key(request->catalog, contender), "runs", (int)request->runs, "latency",
        request->latency, "slow", request->slow, "timeout_seconds", request->timeout_seconds,
        "memory_limit_bytes",
        (json_int_t)(request->memory_limit_bytes <= INT64_MAX ? request->memory_limit_bytes
                                                              : INT64_MAX),
        "program", run->program);
}

static void cell_path(const struct run *run, const json_t *key, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/cells/%016" PRIx64 ".json", run->request->dir, hash_of(key));
}

/* The row of a finished cell; NULL if it is not finished, or is to be run again. A new reference.
 */
static json_t *read_cell(const struct run *run, size_t point, const struct contender *contender)
{
    char path[PATH_MAX];
    json_t *key = cell_key(run, point, contender);
    cell_path(run, key, path);
    json_t *cell = json_load_file(path, 0, NULL);
    json_t *row = json_object_get(cell, "row");
    const char *status = json_string_value(json_object_get(row, "status"));
    bool wanted =
        status != NULL && json_equal(json_object_get(cell, "key"), key) &&
        (!run->request->retry || strcmp(status, "ok") == 0 || strcmp(status, "unsupported") == 0);
    row = wanted ? json_incref(row) : NULL;
    json_decref(cell);
    json_decref(key);
    return row;
}

static bool write_cell(const struct run *run, size_t point, const struct contender *contender,
                       json_t *row, struct error *error)
{
    char path[PATH_MAX];
    struct outfile file;
    json_t *key = cell_key(run, point, contender);
    cell_path(run, key, path);
    json_t *cell = json_pack("{s:o, s:O}", "key", key, "row", row);
    if (cell == NULL) {
        return error_set(error, "out of memory");
    }
    bool good = outfile_open(&file, path, error);
    if (good) {
        (void)json_dumpf(cell, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
        good = outfile_commit(&file, error);
    }
    json_decref(cell);
    return good;
}

/* Adds the knobs' values to a row: numbers as numbers. */
static bool add_knobs(const struct sweep_request *request, size_t point, json_t *row)
{
    const struct sweep_knobs *knobs = request->knobs;
    bool added = true;
    for (size_t i = 0; i < knobs->count; i++) {
        const char *text = value_at(knobs, point, i);
        char name[NAME_BYTES];
        if (!has_column(&knobs->items[i])) {
            continue;
        }
        static const struct tl_number_form whole = {.to = INT64_MAX};
        static const struct tl_number_form real = {
            .kind = TL_NUMBER_REAL, .least = -DBL_MAX, .most = DBL_MAX};
        union tl_number number;
        (void)snprintf(name, sizeof name, "p_%s", knobs->items[i].name);
        json_t *value = NULL;
        if (strpbrk(text, ".eE") == NULL && tl_number_read(&whole, text, &number)) {
            value = json_integer((json_int_t)number.whole);
        } else if (tl_number_read(&real, text, &number)) {
            value = json_real(number.real);
        } else {
            value = json_string(text);
        }
        added = json_object_set_new(row, name, value) == 0 && added;
    }
    return added;
}

/* --- running --------------------------------------------------------------------------------- */

/* The name of a point's trace: what varies, and a number that is its own. */
static void trace_name(const struct sweep_request *request, size_t point, char *text, size_t bytes)
{
    const struct sweep_knobs *knobs = request->knobs;
    if (request->workload == NULL) {
        const char *path = named_value_at(knobs, point, SWEEP_KNOB_TRACE);
        const char *slash = strrchr(path, '/');
        (void)snprintf(text, bytes, "%s", slash != NULL ? slash + 1 : path);
        return;
    }
    json_t *key = trace_key(request, point);
    size_t used = (size_t)snprintf(text, bytes, "%s", request->workload->name);
    for (size_t i = 0; i < knobs->count; i++) {
        bool varies =
            knobs->items[i].value_count > 1 && strcmp(knobs->items[i].name, SWEEP_KNOB_DRIVE) != 0;
        int n = varies && used < bytes / 2
                    ? snprintf(text + used, bytes - used, "-%s=%s", knobs->items[i].name,
                               value_at(knobs, point, i))
                    : 0;
        used += n > 0 ? (size_t)n : 0;
    }
    used = used < bytes / 2 ? used : bytes / 2;
    (void)snprintf(text + used, bytes - used, "-%08" PRIx32 ".trace", (uint32_t)hash_of(key));
    json_decref(key);
}

/* The point's trace; one that was generated before is still good. */
static bool make_trace(const struct sweep_request *request, size_t point, char path[PATH_MAX],
                       struct error *error)
{
    if (request->workload == NULL) {
        (void)snprintf(path, PATH_MAX, "%s",
                       named_value_at(request->knobs, point, SWEEP_KNOB_TRACE));
        return true;
    }
    char name[NAME_BYTES];
    trace_name(request, point, name, sizeof name);
    (void)snprintf(path, PATH_MAX, "%s/traces/%s", request->dir, name);
    if (access(path, R_OK) == 0) {
        return true;
    }
    struct gen_part part;
    struct gen_summary summary;
    struct gen_request gen = {.parts = &part, .part_count = 1, .seconds = request->seconds};
    return part_at(request, point, &part, &gen.seed, error) &&
           gen_trace(&gen, path, &summary, error);
}

/* The rows of a simulation, as JSON. */
static json_t *rows_of(const struct simulation *simulation)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL) {
        return NULL;
    }
    json_t *context = json_object();
    results_write_json(&simulation->results, context, stream);
    bool written = fclose(stream) == 0;
    json_decref(context);
    json_t *whole = written ? json_loads(text, 0, NULL) : NULL;
    free(text);
    json_t *rows = json_incref(json_object_get(whole, "rows"));
    json_decref(whole);
    return rows;
}

/* The row of a cell that could not be run, which is no cell's result: it is tried again. */
static json_t *failed_row(const struct sweep_request *request, size_t point,
                          const struct contender *contender, const char *reason)
{
    char name[NAME_BYTES];
    struct results results = {0};
    trace_name(request, point, name, sizeof name);
    struct row *row = results_add(&results);
    if (row == NULL) {
        return NULL;
    }
    row_set_text(row, COL_TRACE, name);
    row_set_text(row, COL_ALGO, contender->timed->name);
    row_set_text(row, COL_OPTIONS, contender->option_text);
    row_set_text(row, COL_STATUS, STATUS_FAILED);
    row_set_text(row, COL_REASON, reason);
    json_t *rows = rows_of(&(struct simulation){.results = results});
    json_t *only = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    results_free(&results);
    return only;
}

/* Runs the structures in `missing` at a point. Their rows, or NULL with `error` set. */
static json_t *run_point(const struct run *run, size_t point, const struct contender_list *missing,
                         struct error *error)
{
    const struct sweep_request *request = run->request;
    char path[PATH_MAX];
    if (!make_trace(request, point, path, error)) {
        return NULL;
    }
    const char *const traces[] = {path};
    struct simulate_request simulate_request = {
        .traces = traces,
        .trace_count = 1,
        .contenders = missing,
        .floor = request->floor,
        .runs = request->runs,
        .latency = request->latency,
        .slow = request->slow,
        .timeout_seconds = request->timeout_seconds,
        .memory_limit_bytes = request->memory_limit_bytes,
    };
    (void)drive_at(request->knobs, point, &simulate_request.drive);
    struct simulation simulation;
    bool all_right = false;
    bool done = simulate(&simulate_request, &simulation, &all_right, error);
    json_t *rows = done ? rows_of(&simulation) : NULL;
    if (done && json_array_size(rows) != missing->count) {
        (void)error_set(error, "out of memory");
        json_decref(rows);
        rows = NULL;
    }
    simulation_free(&simulation);
    return rows;
}

/* Runs what is missing at a point, and appends the rows of all its cells to `table`. *kept is set
 * to whether nothing was missing. */
static bool do_point(const struct run *run, size_t point, json_t *table, bool *kept,
                     struct error *error)
{
    const struct contender_list *all = run->request->contenders;
    struct contender_list missing = {.items = malloc(all->count * sizeof *missing.items)};
    json_t **rows = calloc(all->count, sizeof(json_t *));
    bool good = missing.items != NULL && rows != NULL;
    for (size_t i = 0; good && i < all->count; i++) {
        rows[i] = read_cell(run, point, &all->items[i]);
        if (rows[i] == NULL) {
            missing.items[missing.count++] = all->items[i];
        }
    }
    *kept = missing.count == 0;
    json_t *fresh = NULL;
    struct error why = {""};
    if (good && !*kept) {
        fresh = run_point(run, point, &missing, &why);
    }
    size_t next = 0;
    for (size_t i = 0; good && i < all->count; i++) {
        if (rows[i] == NULL && fresh != NULL) {
            rows[i] = json_incref(json_array_get(fresh, next++));
            good = add_knobs(run->request, point, rows[i]) &&
                   write_cell(run, point, &all->items[i], rows[i], error);
        } else if (rows[i] == NULL) {
            rows[i] = failed_row(run->request, point, &all->items[i], why.text);
            good = rows[i] != NULL && add_knobs(run->request, point, rows[i]);
            good = good || error_set(error, "out of memory");
        }
        good = good && json_array_append(table, rows[i]) == 0;
    }
    for (size_t i = 0; rows != NULL && i < all->count; i++) {
        json_decref(rows[i]);
    }
    json_decref(fresh);
    free(rows);
    free(missing.items);
    return good;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int digits;
} columns[COLUMNS] = {
#define COLUMN_ROW(code, name, digits, help) {name, digits},
    COLUMN_MAP(COLUMN_ROW)
#undef COLUMN_ROW
};

/* A value as text; "" for none. */
static const char *value_text(const json_t *value, int digits, char *text, size_t bytes)
{
    if (json_is_string(value)) {
        return json_string_value(value);
    }
    text[0] = '\0';
    if (json_is_integer(value)) {
        (void)snprintf(text, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value) && digits >= 0) {
        (void)snprintf(text, bytes, "%.*f", digits, json_real_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(text, bytes, "%.10g", json_real_value(value));
    }
    return text;
}

void sweep_write_csv(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream)
{
    char text[64];
    for (int c = 0; c < COLUMNS; c++) {
        (void)fprintf(stream, "%s%s", c > 0 ? "," : "", columns[c].name);
    }
    for (size_t k = 0; k < knobs->count; k++) {
        char name[NAME_BYTES];
        if (!has_column(&knobs->items[k])) {
            continue;
        }
        (void)fputc(',', stream);
        (void)snprintf(name, sizeof name, "p_%s", knobs->items[k].name);
        csv_write_field(stream, name);
    }
    (void)fputc('\n', stream);
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        for (int c = 0; c < COLUMNS; c++) {
            if (c > 0) {
                (void)fputc(',', stream);
            }
            csv_write_field(stream, value_text(json_object_get(row, columns[c].name),
                                               columns[c].digits, text, sizeof text));
        }
        for (size_t k = 0; k < knobs->count; k++) {
            char name[NAME_BYTES];
            if (!has_column(&knobs->items[k])) {
                continue;
            }
            (void)snprintf(name, sizeof name, "p_%s", knobs->items[k].name);
            (void)fputc(',', stream);
            csv_write_field(stream, value_text(json_object_get(row, name), -1, text, sizeof text));
        }
        (void)fputc('\n', stream);
    }
}

/* A column of the printed table. */
struct shown_column {
    char name[NAME_BYTES];
    int digits;
    int width;
    bool used;  /* some row has a value */
    bool words; /* aligned at the left */
};

static void measure(struct shown_column *column, const json_t *rows)
{
    char text[64];
    size_t width = strlen(column->name);
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        const json_t *value = json_object_get(row, column->name);
        size_t length = strlen(value_text(value, column->digits, text, sizeof text));
        width = length > width ? length : width;
        column->used |= length > 0;
        column->words |= json_is_string(value);
    }
    column->width = (int)width;
}

/* The columns' names (row NULL), or a row's values; the last column is not padded. */
static void write_line(const struct shown_column *shown, size_t count, const json_t *row,
                       FILE *stream)
{
    char text[64];
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const struct shown_column *column = &shown[i];
        if (!column->used) {
            continue;
        }
        bool last = i + 1 == count;
        const char *cell = column->name;
        if (row != NULL) {
            cell =
                value_text(json_object_get(row, column->name), column->digits, text, sizeof text);
            cell = cell[0] == '\0' && !last ? "-" : cell;
        }
        int width = column->words ? -column->width : column->width;
        (void)fprintf(stream, "%s%*s", first ? "" : "  ", last ? 0 : width, cell);
        first = false;
    }
    (void)fputc('\n', stream);
}

void sweep_write_table(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream)
{
    static const enum column always[] = {COL_ALGO,
                                         COL_OPTIONS,
                                         COL_STATUS,
                                         COL_NS_PER_EVENT,
                                         COL_NS_PER_EVENT_MAD,
                                         COL_STALL,
                                         COL_BYTES_PER_TIMER,
                                         COL_WAKEUPS_PER_FIRED,
                                         COL_LATENESS_MAX,
                                         COL_N_COMPARES,
                                         COL_N_MOVES,
                                         COL_N_SLOTS,
                                         COL_N_CASCADES,
                                         COL_REASON};
    enum { ALWAYS = sizeof always / sizeof always[0] };
    size_t count = 0;
    struct shown_column *shown = calloc(knobs->count + ALWAYS, sizeof *shown);
    if (shown == NULL) {
        return;
    }
    for (size_t k = 0; k < knobs->count; k++) {
        const struct sweep_knob *knob = &knobs->items[k];
        if (knob->value_count > 1) {
            shown[count].digits = -1;
            (void)snprintf(shown[count++].name, NAME_BYTES, "%s%s", has_column(knob) ? "p_" : "",
                           knob->name);
        }
    }
    for (size_t i = 0; i < ALWAYS; i++) {
        shown[count].digits = columns[always[i]].digits;
        (void)snprintf(shown[count++].name, NAME_BYTES, "%s", columns[always[i]].name);
    }
    for (size_t i = 0; i < count; i++) {
        measure(&shown[i], rows);
    }
    write_line(shown, count, NULL, stream);
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        write_line(shown, count, row, stream);
    }
    free(shown);
}

static bool write_tables(const struct sweep_request *request, json_t *rows, struct error *error)
{
    char path[PATH_MAX];
    struct outfile file;
    (void)snprintf(path, sizeof path, "%s/results.csv", request->dir);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    sweep_write_csv(rows, request->knobs, file.stream);
    if (!outfile_commit(&file, error)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/results.json", request->dir);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    json_t *whole = json_pack("{s:i, s:O, s:O}", "schema", RESULTS_SCHEMA, "context",
                              request->context, "rows", rows);
    (void)json_dumpf(whole, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    (void)fputc('\n', file.stream);
    json_decref(whole);
    return outfile_commit(&file, error);
}

/* --- the whole ------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* How long a point takes, relative to others: as many connections it has. */
static double weight_of(const struct sweep_request *request, size_t point)
{
    uint64_t connections = 1;
    struct error ignored;
    const char *text = named_value_at(request->knobs, point, SWEEP_KNOB_CONNECTIONS);
    if (text != NULL) {
        (void)parse_whole("", text, 1, UINT32_MAX, &connections, &ignored);
    }
    return (double)connections + 1000; /* processes and checks take some time for any */
}

static void remove_trace(const struct sweep_request *request, size_t point)
{
    char name[NAME_BYTES];
    char path[PATH_MAX];
    if (request->workload != NULL && !request->keep_traces) {
        trace_name(request, point, name, sizeof name);
        (void)snprintf(path, sizeof path, "%s/traces/%s", request->dir, name);
        (void)unlink(path);
    }
}

/* Whether another drive of the same trace follows. */
static bool trace_goes_on(const struct sweep_request *request, size_t point, size_t points)
{
    if (point + 1 >= points) {
        return false;
    }
    json_t *this = trace_key(request, point);
    json_t *next = trace_key(request, point + 1);
    bool same = json_equal(this, next) != 0;
    json_decref(this);
    json_decref(next);
    return same;
}

static bool run_all(struct run *run, struct sweep_result *result, struct error *error)
{
    const struct sweep_request *request = run->request;
    double weight_left = 0;
    double weight_done = 0;
    double spent = 0;
    size_t ran = 0;
    for (size_t point = 0; point < result->points; point++) {
        weight_left += weight_of(request, point);
    }
    for (size_t point = 0; point < result->points; point++) {
        if (request->limit > 0 && ran == request->limit) {
            result->points_left = result->points - point;
            break;
        }
        bool kept = false;
        double begun = seconds_now();
        if (!do_point(run, point, result->rows, &kept, error) ||
            (!kept && !write_tables(request, result->rows, error))) {
            return false;
        }
        if (!trace_goes_on(request, point, result->points)) {
            remove_trace(request, point);
        }
        double seconds = seconds_now() - begun;
        double weight = weight_of(request, point);
        weight_left -= weight;
        weight_done += kept ? 0 : weight;
        spent += kept ? 0 : seconds;
        ran += !kept;
        if (request->tell != NULL) {
            char name[NAME_BYTES];
            trace_name(request, point, name, sizeof name);
            request->tell(
                request->tell_ctx,
                &(struct sweep_progress){
                    .point = point + 1,
                    .points = result->points,
                    .name = name,
                    .kept = kept,
                    .seconds = seconds,
                    .seconds_left = weight_done > 0 ? spent / weight_done * weight_left : 0,
                });
        }
    }
    return write_tables(request, result->rows, error);
}

bool sweep_run(const struct sweep_request *request, struct sweep_result *result,
               struct error *error)
{
    char path[PATH_MAX];
    struct run run = {.request = request, .program = json_object()};
    *result = (struct sweep_result){
        .rows = json_array(), .points = count_points(request->knobs), .all_right = true};
    (void)json_object_set(run.program, "commit", json_object_get(request->context, "commit"));
    (void)json_object_set(run.program, "cpu", json_object_get(request->context, "cpu"));
    json_t *executable = file_key("/proc/self/exe");
    (void)json_object_set_new(run.program, "file", executable != NULL ? executable : json_null());
    bool good = folder_make(request->dir, error);
    (void)snprintf(path, sizeof path, "%s/cells", request->dir);
    good = good && folder_make(path, error);
    (void)snprintf(path, sizeof path, "%s/traces", request->dir);
    good = good && (request->workload == NULL || folder_make(path, error));
    good = good && run_all(&run, result, error);
    if (request->workload != NULL && !request->keep_traces) {
        (void)rmdir(path);
    }
    size_t index;
    json_t *row;
    json_array_foreach(result->rows, index, row)
    {
        const char *status = json_string_value(json_object_get(row, "status"));
        result->all_right = result->all_right && status != NULL &&
                            (strcmp(status, "ok") == 0 || strcmp(status, "unsupported") == 0);
    }
    json_decref(run.program);
    return good;
}

void sweep_result_free(struct sweep_result *result)
{
    json_decref(result->rows);
    *result = (struct sweep_result){0};
}
