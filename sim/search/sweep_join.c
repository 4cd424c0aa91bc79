/* Join the results of a sweep's parts, from their files alone. */
#include "sweep_work.h"

#include "context.h"
#include "memory.h"
#include "outfolder.h"
#include "results.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MISSING_MAX 10 /* points listed by name; of the others, only the number */

struct part {
    char file[PATH_MAX]; /* its results.json */
    json_t *root;
    json_t *context;
    json_t *points;
    json_t *rows;
    size_t number; /* from 1 */
    size_t parts;
    size_t done;
};

struct join {
    const struct sweep_join_request *request;
    struct sweep_knobs *knobs;
    struct part *parts; /* ascending by number */
    size_t count;
    json_t *description;
    json_t *structures; /* of the description */
    size_t points;
    const struct part **owner; /* of each point; NULL: missing */
    json_t *context;
};

static void warn(const struct join *join, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void warn(const struct join *join, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(format, arguments);
    va_end(arguments);
    join->request->warn(text);
    free(text);
}

/* SIZE_MAX if it is not a whole number, or is negative. */
static size_t whole_of(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (size_t)json_integer_value(value)
               : SIZE_MAX;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* --- reading --------------------------------------------------------------------------------- */

static bool read_part(struct part *part, const char *folder, struct error *error)
{
    json_error_t why;
    (void)snprintf(part->file, sizeof part->file, "%s/results.json", folder);
    FILE *file = memory_unless_short(fopen(part->file, "rb"));
    if (file == NULL) {
        return error_set(
            error,
            "%s: %s; each folder of `sweep --part` has that file: run the part again, or "
            "leave the folder out",
            part->file, strerror(errno));
    }
    part->root = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
    (void)fclose(file);
    if (part->root == NULL) {
        return error_set(error, "%s: line %d: not JSON, or cut off: %s; run that part again",
                         part->file, why.line, why.text);
    }
    const json_t *schema = json_object_get(part->root, "schema");
    part->context = json_object_get(part->root, "context");
    part->rows = json_object_get(part->root, "rows");
    json_t *info = json_object_get(part->context, SWEEP_PART);
    if (!json_is_integer(schema) || json_integer_value(schema) != RESULTS_SCHEMA ||
        !json_is_array(part->rows) ||
        !json_is_object(json_object_get(part->context, SWEEP_DESCRIPTION))) {
        return error_set(error, "%s: not results of this timerlab's sweep; leave the folder out",
                         part->file);
    }
    if (info == NULL) {
        return error_set(error,
                         "%s: a whole sweep, or a join, and no part of one; leave the folder out",
                         part->file);
    }
    part->number = whole_of(json_object_get(info, "part"));
    part->parts = whole_of(json_object_get(info, "parts"));
    part->points = json_object_get(info, "points");
    part->done = whole_of(json_object_get(info, "done"));
    if (part->parts == 0 || part->parts > SWEEP_PARTS_MAX || part->number == 0 ||
        part->number > part->parts || !json_is_array(part->points) ||
        part->done > json_array_size(part->points)) {
        return error_set(error,
                         "%s: context." SWEEP_PART " does not say which part it is; run that part "
                         "again",
                         part->file);
    }
    return true;
}

/* Other programs write 1.0 as 1. */
static bool same_value(const json_t *a, const json_t *b)
{
    return json_is_number(a) && json_is_number(b) ? json_number_value(a) == json_number_value(b)
                                                  : json_equal(a, b) != 0;
}

/* Return the name of the first difference between two descriptions; NULL: none. */
static const char *difference(json_t *a, const json_t *b)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(a, name, value)
    {
        if (!same_value(value, json_object_get(b, name))) {
            return name;
        }
    }
    return json_object_size(a) == json_object_size(b) ? NULL : "description";
}

static int by_number(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool read_parts(struct join *join, struct error *error)
{
    const struct sweep_join_request *request = join->request;
    char target[PATH_MAX] = "";
    bool there = realpath(request->dir, target) != NULL;
    for (size_t i = 0; i < request->folder_count; i++) {
        struct part *part = &join->parts[join->count++];
        char path[PATH_MAX];
        if (there && realpath(request->folders[i], path) != NULL && strcmp(path, target) == 0) {
            return error_set(error, "%s: the join cannot take the place of one of its parts",
                             request->dir);
        }
        if (!read_part(part, request->folders[i], error)) {
            return false;
        }
        json_t *description = json_object_get(part->context, SWEEP_DESCRIPTION);
        const struct part *first = &join->parts[0];
        const char *differs =
            difference(json_object_get(first->context, SWEEP_DESCRIPTION), description);
        if (differs != NULL || part->parts != first->parts) {
            return error_set(error,
                             "%s: a part of another sweep than %s: they differ in `%s`; leave one "
                             "of the folders out, or run that part again",
                             part->file, first->file, differs != NULL ? differs : "parts");
        }
    }
    qsort(join->parts, join->count, sizeof *join->parts, by_number);
    for (size_t i = 1; i < join->count; i++) {
        if (join->parts[i].number == join->parts[i - 1].number) {
            return error_set(error, "%s: part %zu of %zu, as %s is; leave one of the folders out",
                             join->parts[i].file, join->parts[i].number, join->parts[i].parts,
                             join->parts[i - 1].file);
        }
    }
    join->description = json_object_get(join->parts[0].context, SWEEP_DESCRIPTION);
    join->structures = json_object_get(join->description, "structures");
    return true;
}

static bool read_knobs(struct join *join, struct error *error)
{
    size_t i;
    json_t *knob;
    json_array_foreach(json_object_get(join->description, "knobs"), i, knob)
    {
        size_t k;
        json_t *value;
        json_array_foreach(json_object_get(knob, "values"), k, value)
        {
            const char *text = json_string_value(value);
            if (text == NULL) {
                return error_set(error,
                                 "%s: context." SWEEP_DESCRIPTION " is damaged; run that "
                                 "part again",
                                 join->parts[0].file);
            }
            sweep_knob_append(join->knobs, text_of(knob, "name"), text);
        }
    }
    join->points = sweep_count_points(join->knobs);
    return (join->points <= SWEEP_POINTS_MAX && json_array_size(join->structures) > 0) ||
           error_set(error, "%s: context." SWEEP_DESCRIPTION " is damaged; run that part again",
                     join->parts[0].file);
}

/* --- the points of each part ----------------------------------------------------------------- */

/* Check that the part's row `index` is the expected one. */
static bool check_row(const struct join *join, const struct part *part, size_t index, size_t point,
                      struct error *error)
{
    const json_t *row = json_array_get(part->rows, index);
    size_t structures = json_array_size(join->structures);
    const json_t *structure = json_array_get(join->structures, index % structures);
    const struct sweep_request knobs = {.knobs = join->knobs};
    json_t *expected = json_object();
    const char *name = NULL;
    json_t *value = NULL;
    bool same = strcmp(text_of(row, "algo"), text_of(structure, "algo")) == 0 &&
                strcmp(text_of(row, "options"), text_of(structure, "options")) == 0;
    sweep_add_knobs(&knobs, point, expected);
    json_object_foreach(expected, name, value)
    {
        same = same && same_value(value, json_object_get(row, name));
    }
    json_decref(expected);
    return same || error_set(error,
                             "%s: row %zu is not that of %s at point %zu, as it should be; run "
                             "that part again",
                             part->file, index + 1, text_of(structure, "algo"), point);
}

static bool assign_points(struct join *join, const struct part *part, struct error *error)
{
    size_t structures = json_array_size(join->structures);
    size_t i;
    json_t *at;
    size_t before = SIZE_MAX;
    if (json_array_size(part->rows) != part->done * structures) {
        return error_set(
            error, "%s: has %zu rows, and not the %zu of its %zu points; run that part again",
            part->file, json_array_size(part->rows), part->done * structures, part->done);
    }
    json_array_foreach(part->points, i, at)
    {
        size_t point = whole_of(at);
        if (point >= join->points || (before != SIZE_MAX && point <= before)) {
            return error_set(error,
                             "%s: context." SWEEP_PART ".points is damaged; run that part "
                             "again",
                             part->file);
        }
        if (join->owner[point] != NULL) {
            return error_set(error,
                             "%s: has point %zu, as %s has: not parts of one plan; run one of them "
                             "again",
                             part->file, point, join->owner[point]->file);
        }
        for (size_t k = 0; i < part->done && k < structures; k++) {
            if (!check_row(join, part, i * structures + k, point, error)) {
                return false;
            }
        }
        join->owner[point] = i < part->done ? part : NULL;
        before = point;
    }
    return true;
}

/* The number of a point's trace, from 0: points that differ only in the drive have the same. */
static size_t trace_at(const struct sweep_knobs *knobs, size_t point)
{
    size_t trace = 0;
    for (size_t i = 0; i < knobs->count; i++) {
        if (!sweep_knob_drives(knobs->items[i].name)) {
            trace = trace * knobs->items[i].value_count + sweep_index_at(knobs, point, i);
        }
    }
    return trace;
}

/* Move all rows to one array, in the order of the points. Traces with the same name must have the
 * same checksum. */
static bool join_rows(struct join *join, json_t *rows, struct error *error)
{
    size_t structures = json_array_size(join->structures);
    const json_t **first = memory_new(join->points, sizeof *first); /* rows, by trace */
    size_t *used = memory_new(join->count, sizeof *used);
    bool good = true;
    for (size_t point = 0; good && point < join->points; point++) {
        const struct part *part = join->owner[point];
        size_t trace = trace_at(join->knobs, point);
        for (size_t k = 0; part != NULL && good && k < structures; k++) {
            json_t *row = json_array_get(part->rows, used[part - join->parts]++);
            const char *sum = text_of(row, "trace_checksum");
            if (sum[0] != '\0' && first[trace] == NULL) {
                first[trace] = row;
            } else if (sum[0] != '\0' &&
                       strcmp(sum, text_of(first[trace], "trace_checksum")) != 0) {
                good = error_set(error,
                                 "%s: row %zu was measured with another %s than the rows of other "
                                 "points; bring the same trace to all machines, and run that part "
                                 "again",
                                 part->file, used[part - join->parts], text_of(row, "trace"));
            }
            (void)json_array_append(rows, row);
        }
    }
    free((void *)first);
    free(used);
    return good;
}

/* --- warnings -------------------------------------------------------------------------------- */

/* "1, 2, 5-7": the parts that hold `value`, or (NULL) the missing ones. */
static char *list_parts(const struct join *join, const char *field, const json_t *value)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = memory_stream(&text, &bytes);
    size_t at = 0;
    size_t from = 0;
    size_t all = join->parts[0].parts;
    const char *joint = "";
    for (size_t number = 1; number <= all + 1; number++) {
        const struct part *part =
            at < join->count && join->parts[at].number == number ? &join->parts[at++] : NULL;
        bool in = number <= all &&
                  (field == NULL
                       ? part == NULL
                       : part != NULL && json_equal(value, json_object_get(part->context, field)));
        if (in && from == 0) {
            from = number;
        } else if (!in && from > 0) {
            (void)fprintf(stream, number - 1 > from ? "%s%zu-%zu" : "%s%zu", joint, from,
                          number - 1);
            joint = ", ";
            from = 0;
        }
    }
    memory_stream_close(stream);
    return text;
}

/* Report the fields in which the machines differ, and add them to the context. */
static void compare_machines(struct join *join)
{
    static const char *const fields[] = {"version",  "commit",     "compiler",
                                         "flags",    "build_type", "cpu",
                                         "governor", "kernel",     "huge_pages"};
    json_t *unlike = json_array();
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        char *all = NULL;
        size_t bytes = 0;
        size_t values = 0;
        FILE *stream = memory_stream(&all, &bytes);
        for (size_t i = 0; i < join->count; i++) {
            const json_t *value = json_object_get(join->parts[i].context, fields[f]);
            bool is_new = value != NULL;
            for (size_t k = 0; k < i && is_new; k++) {
                is_new = !json_equal(value, json_object_get(join->parts[k].context, fields[f]));
            }
            if (is_new) {
                char *numbers = list_parts(join, fields[f], value);
                (void)fprintf(stream, "%s%s (parts %s)", values++ > 0 ? ", " : "",
                              text_of(join->parts[i].context, fields[f]), numbers);
                free(numbers);
            }
        }
        memory_stream_close(stream);
        if (values > 1) {
            warn(join,
                 "unlike machines: %s: %s; compare times only within a point, or run those parts "
                 "again",
                 fields[f], all);
            (void)json_object_set_new(join->context, fields[f], json_string(all));
            (void)json_array_append_new(unlike, json_string(fields[f]));
        }
        free(all);
    }
    if (json_array_size(unlike) > 0) {
        (void)json_object_set(join->context, "unlike", unlike);
    }
    json_decref(unlike);
}

/* Report the missing cells and their parts; return the number of missing points. */
static size_t report_missing(struct join *join)
{
    size_t structures = json_array_size(join->structures);
    json_t *missing = json_array();
    for (size_t point = 0; point < join->points; point++) {
        if (join->owner[point] == NULL) {
            (void)json_array_append_new(missing, json_integer((json_int_t)point));
        }
    }
    size_t count = json_array_size(missing);
    if (count > 0) {
        warn(join, "%zu of %zu cells are missing", count * structures, join->points * structures);
        char *lost = list_parts(join, NULL, NULL);
        if (lost[0] != '\0') {
            warn(join,
                 "not there, of %zu parts: %s; the command of %s does each, with its own "
                 "--part and -o",
                 join->parts[0].parts, lost, join->parts[0].file);
        }
        free(lost);
    }
    for (size_t i = 0; i < join->count; i++) {
        const struct part *part = &join->parts[i];
        if (part->done < json_array_size(part->points)) {
            warn(join,
                 "%s: %zu of the %zu points of part %zu are done; the same command does the "
                 "rest",
                 part->file, part->done, json_array_size(part->points), part->number);
        }
    }
    for (size_t i = 0; i < count && i < LISTED_MISSING_MAX; i++) {
        size_t point = whole_of(json_array_get(missing, i));
        char text[1024] = "";
        size_t used = 0;
        for (size_t k = 0; k < join->knobs->count; k++) {
            if (join->knobs->items[k].value_count > 1 && used < sizeof text) {
                int n = snprintf(text + used, sizeof text - used, " %s=%s",
                                 join->knobs->items[k].name, sweep_value_at(join->knobs, point, k));
                used += n > 0 ? (size_t)n : 0;
            }
        }
        warn(join, "missing: point %zu:%s", point, text);
    }
    if (count > LISTED_MISSING_MAX) {
        warn(join, "missing: %zu points more", count - LISTED_MISSING_MAX);
    }
    if (count > 0) {
        (void)json_object_set(join->context, "missing", missing);
    }
    json_decref(missing);
    return count;
}

/* The first part's, without the entries of a single part. */
static json_t *join_context(const struct join *join)
{
    const struct sweep_join_request *request = join->request;
    json_t *context = json_copy(join->parts[0].context);
    json_t *words = context_command_line(request->command_words, request->command_line);
    (void)json_object_del(context, SWEEP_PART);
    (void)json_object_set_new(context, "command_line", words);
    return context;
}

static bool join_all(struct join *join, struct outfolder *out, struct sweep_result *result,
                     struct error *error)
{
    if (!read_parts(join, error) || !read_knobs(join, error)) {
        return false;
    }
    join->owner = memory_new(join->points, sizeof *join->owner);
    join->context = join_context(join);
    for (size_t i = 0; i < join->count; i++) {
        if (!assign_points(join, &join->parts[i], error)) {
            return false;
        }
    }
    if (!join_rows(join, result->rows, error)) {
        return false;
    }
    result->points = join->points;
    result->points_left = report_missing(join);
    compare_machines(join);
    result->context = json_incref(join->context);
    return sweep_write_tables(out, join->knobs, result->rows, join->context, error);
}

bool sweep_join(const struct sweep_join_request *request, struct sweep_knobs *knobs,
                struct sweep_result *result, struct error *error)
{
    *result = (struct sweep_result){.rows = json_array()};
    struct join join = {.request = request,
                        .knobs = knobs,
                        .parts = memory_new(request->folder_count, sizeof *join.parts)};
    struct outfolder out = {0};
    bool good = outfolder_open(&out, request->dir, error) && join_all(&join, &out, result, error);
    outfolder_close(&out);
    result->all_right = sweep_rows_are_right(result->rows);
    for (size_t i = 0; i < join.count; i++) {
        json_decref(join.parts[i].root);
    }
    json_decref(join.context);
    free((void *)join.owner);
    free(join.parts);
    return good;
}
