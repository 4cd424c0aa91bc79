#include "cluster_rows.h"

#include "command.h"
#include "context.h"
#include "csv_table.h"
#include "memory.h"
#include "results.h"
#include "text_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- the command line ------------------------------------------------------------------------- */

void cluster_take_word(void *arguments, const char *name, struct argp_state *state)
{
    struct cluster_arguments *own = arguments;
    const struct cluster_protocol *protocol = cluster_protocol_find(name, &own->error);
    if (protocol == NULL) {
        argp_failure(state, argp_err_exit_status, 0, "%s", own->error.text);
        return;
    }
    for (size_t i = 0; i < own->count; i++) {
        if (own->protocols[i] == protocol) {
            return;
        }
    }
    own->protocols = memory_resize(own->protocols, own->count + 1, sizeof *own->protocols);
    own->protocols[own->count++] = protocol;
}

void cluster_take_all(struct cluster_arguments *arguments, struct argp_state *state)
{
    size_t named = arguments->count;
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; named == 0 && i < count; i++) {
        cluster_take_word(arguments, all[i].name, state);
    }
}

/* One line a protocol: its name, and what it is. */
static void list(FILE *stream)
{
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%s: %s (%s)\n", all[i].name, all[i].summary, all[i].origin);
    }
}

int cluster_command_run(const struct command_line *line, int argc, char **argv, void *arguments,
                        int (*run)(void *arguments, int argc, char **argv))
{
    struct cluster_arguments *own = arguments;
    int status = EXIT_OK;
    command_line_read(line, argc, argv, arguments);
    if (own->list) {
        list(stdout);
    } else {
        status = run(arguments, argc, argv);
    }
    free((void *)own->protocols);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Takes the value. */
static void put(json_t *row, json_t *value, const char *name, va_list arguments)
{
    char text[96];
    (void)vsnprintf(text, sizeof text, name, arguments);
    (void)json_object_set_new(row, text, value);
}

void cluster_row_count(json_t *row, uint64_t value, const char *name, ...)
{
    va_list arguments;
    va_start(arguments, name);
    put(row, json_integer((json_int_t)value), name, arguments);
    va_end(arguments);
}

void cluster_row_real(json_t *row, double value, const char *name, ...)
{
    va_list arguments;
    va_start(arguments, name);
    put(row, isfinite(value) ? json_real(value) : json_null(), name, arguments);
    va_end(arguments);
}

uint64_t cluster_causes_sum(const uint64_t counts[CLUSTER_CAUSES])
{
    uint64_t sum = 0;
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        sum += counts[cause];
    }
    return sum;
}

json_t *cluster_causes_text(const uint64_t counts[CLUSTER_CAUSES])
{
    char text[256] = "";
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        size_t used = strlen(text);
        if (counts[cause] > 0) {
            (void)snprintf(text + used, sizeof text - used, "%s%s %" PRIu64, used > 0 ? ", " : "",
                           cluster_cause_word((enum cluster_cause)cause), counts[cause]);
        }
    }
    return json_string(text);
}

static bool is_scalar(const json_t *value)
{
    return !json_is_array(value) && !json_is_object(value);
}

static void format_value(const json_t *value, bool for_people, char *text, size_t bytes)
{
    if (json_is_string(value)) {
        (void)snprintf(text, bytes, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(text, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(text, bytes, for_people ? "%.4g" : "%.9g", json_real_value(value));
    } else {
        (void)snprintf(text, bytes, "%s", for_people ? "-" : "");
    }
}

/* As a table, or as CSV if `table` is NULL. */
static void write_rows(const json_t *rows, struct text_table *table, FILE *stream)
{
    for (size_t i = 0; i <= json_array_size(rows) && json_array_size(rows) > 0; i++) {
        json_t *row = json_array_get(rows, i > 0 ? i - 1 : 0);
        const char *separator = "";
        const char *name = NULL;
        json_t *value = NULL;
        json_object_foreach(row, name, value)
        {
            char text[512];
            if (!is_scalar(value)) {
                continue;
            }
            format_value(value, table != NULL, text, sizeof text);
            if (table == NULL) {
                (void)fputs(separator, stream);
                csv_write_field(stream, i == 0 ? name : text);
                separator = ",";
                continue;
            }
            if (i == 0 && table->columns < TEXT_TABLE_COLUMNS_MAX) {
                table->right[table->columns++] = json_is_number(value);
            }
            text_table_add(table, "%s", i == 0 ? name : text);
        }
        (void)fputs(table == NULL ? "\n" : "", stream);
    }
}

void cluster_rows_write_csv(const json_t *rows, FILE *stream)
{
    write_rows(rows, NULL, stream);
}

static void write_table(const json_t *rows, FILE *stream)
{
    struct text_table table = {0};
    write_rows(rows, &table, stream);
    text_table_write(&table, stream);
    text_table_free(&table);
}

/* --- from beginning to end -------------------------------------------------------------------- */

bool cluster_work_begin(struct cluster_work *work, struct cluster_arguments *arguments, int argc,
                        char **argv)
{
    *work = (struct cluster_work){
        .rows = json_array(), .shown = json_array(), .context = context_json(argc, argv)};
    return arguments->out_dir == NULL ||
           outfolder_open(&work->folder, arguments->out_dir, &arguments->error);
}

static void write_csv_file(const void *ctx, FILE *stream)
{
    cluster_rows_write_csv(((const struct cluster_work *)ctx)->rows, stream);
}

static void write_json(const void *ctx, FILE *stream)
{
    const struct cluster_work *work = ctx;
    results_write_rows(work->rows, work->context, false, stream);
}

static bool keep(struct cluster_work *work, const char *name, const char *const *kinds,
                 struct error *error)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.csv", name);
    bool done = outfolder_write(&work->folder, file, write_csv_file, work, error);
    (void)snprintf(file, sizeof file, "%s.json", name);
    return done && outfolder_write(&work->folder, file, write_json, work, error) &&
           outfolder_commit(&work->folder, kinds, error);
}

bool cluster_work_end(struct cluster_work *work, struct cluster_arguments *arguments, bool done,
                      const char *name, const char *const *kinds)
{
    done = done && (arguments->out_dir == NULL || keep(work, name, kinds, &arguments->error));
    outfolder_close(&work->folder);
    if (!done) {
        command_complain(&arguments->error);
    } else if (arguments->format == CLUSTER_CSV) {
        write_csv_file(work, stdout);
    } else if (arguments->format == CLUSTER_JSON) {
        write_json(work, stdout);
    } else {
        write_table(json_array_size(work->shown) > 0 ? work->shown : work->rows, stdout);
    }
    return done;
}

void cluster_work_free(struct cluster_work *work)
{
    json_decref(work->context);
    json_decref(work->shown);
    json_decref(work->rows);
}
