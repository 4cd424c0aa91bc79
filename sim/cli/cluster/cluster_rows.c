#include "cluster_rows.h"

#include "csv_table.h"
#include "results.h"
#include "text_table.h"

#include <stdlib.h>
#include <string.h>

void cluster_choice_add(struct cluster_choice *choice, const char *name, struct argp_state *state)
{
    struct error error;
    const struct cluster_protocol *protocol = cluster_protocol_find(name, &error);
    if (protocol == NULL) {
        argp_failure(state, argp_err_exit_status, 0, "%s", error.text);
        return;
    }
    for (size_t i = 0; i < choice->count; i++) {
        if (choice->items[i] == protocol) {
            return;
        }
    }
    void *items = realloc(choice->items, (choice->count + 1) * sizeof *choice->items);
    if (items == NULL) {
        argp_failure(state, argp_err_exit_status, 0, "out of memory");
        return;
    }
    choice->items = items;
    choice->items[choice->count++] = protocol;
}

void cluster_choice_complete(struct cluster_choice *choice, struct argp_state *state)
{
    size_t named = choice->count;
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; named == 0 && i < count; i++) {
        cluster_choice_add(choice, all[i].name, state);
    }
}

void cluster_choice_list(FILE *stream)
{
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%s: %s (%s)\n", all[i].name, all[i].summary, all[i].origin);
    }
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

void cluster_rows_write_csv(const json_t *rows, FILE *stream)
{
    for (size_t i = 0; i <= json_array_size(rows) && json_array_size(rows) > 0; i++) {
        json_t *row = json_array_get(rows, i > 0 ? i - 1 : 0);
        const char *separator = "";
        const char *name = NULL;
        json_t *value = NULL;
        json_object_foreach(row, name, value)
        {
            char text[512];
            if (is_scalar(value)) {
                format_value(value, false, text, sizeof text);
                (void)fputs(separator, stream);
                csv_write_field(stream, i == 0 ? name : text);
                separator = ",";
            }
        }
        (void)fputc('\n', stream);
    }
}

static void write_table(const json_t *rows, FILE *stream)
{
    struct text_table table = {0};
    for (size_t i = 0; i <= json_array_size(rows) && json_array_size(rows) > 0; i++) {
        json_t *row = json_array_get(rows, i > 0 ? i - 1 : 0);
        const char *name = NULL;
        json_t *value = NULL;
        json_object_foreach(row, name, value)
        {
            char text[512];
            if (!is_scalar(value)) {
                continue;
            }
            format_value(value, true, text, sizeof text);
            if (i == 0 && table.columns < TEXT_TABLE_COLUMNS_MAX) {
                table.right[table.columns++] = json_is_number(value);
            }
            text_table_add(&table, "%s", i == 0 ? name : text);
        }
    }
    text_table_write(&table, stream);
    text_table_free(&table);
}

void cluster_rows_print(json_t *rows, enum cluster_format format, const json_t *context)
{
    switch (format) {
    case CLUSTER_CSV:
        cluster_rows_write_csv(rows, stdout);
        break;
    case CLUSTER_JSON:
        results_write_rows(rows, context, stdout);
        break;
    default:
        write_table(rows, stdout);
        break;
    }
}

struct document {
    json_t *rows;
    const json_t *context;
};

static void write_csv_file(const void *ctx, FILE *stream)
{
    cluster_rows_write_csv(((const struct document *)ctx)->rows, stream);
}

static void write_json_file(const void *ctx, FILE *stream)
{
    const struct document *document = ctx;
    results_write_rows(document->rows, document->context, stream);
}

bool cluster_rows_keep(json_t *rows, const json_t *context, const char *name,
                       struct outfolder *folder, const char *const *kinds, struct error *error)
{
    const struct document document = {rows, context};
    char file[64];
    (void)snprintf(file, sizeof file, "%s.csv", name);
    bool done = outfolder_write(folder, file, write_csv_file, &document, error);
    (void)snprintf(file, sizeof file, "%s.json", name);
    done = done && outfolder_write(folder, file, write_json_file, &document, error);
    if (!done) {
        outfolder_abort(folder);
        return false;
    }
    return outfolder_commit(folder, kinds, error);
}
