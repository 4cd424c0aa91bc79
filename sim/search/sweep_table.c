/* The table: one row for each cell, with the knobs as columns. */
#include "sweep_work.h"

#include "memory.h"
#include "number.h"
#include "outfolder.h"
#include "results.h"
#include "text_table.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A trace's name has a column already. */
static bool has_column(const struct sweep_knob *knob)
{
    return strcmp(knob->name, SWEEP_KNOB_TRACE) != 0;
}

static const char *column_name(const struct sweep_knob *knob, char name[SWEEP_NAME_BYTES])
{
    (void)snprintf(name, SWEEP_NAME_BYTES, "%s%s", has_column(knob) ? "p_" : "", knob->name);
    return name;
}

void sweep_add_knobs(const struct sweep_request *request, size_t point, json_t *row)
{
    const struct sweep_knobs *knobs = request->knobs;
    for (size_t i = 0; i < knobs->count; i++) {
        const char *text = sweep_value_at(knobs, point, i);
        char name[SWEEP_NAME_BYTES];
        if (!has_column(&knobs->items[i])) {
            continue;
        }
        static const struct tl_number_form whole = {.to = INT64_MAX};
        static const struct tl_number_form real = {
            .kind = TL_NUMBER_REAL, .least = -DBL_MAX, .most = DBL_MAX};
        union tl_number number;
        column_name(&knobs->items[i], name);
        json_t *value = NULL;
        if (strpbrk(text, ".eE") == NULL && tl_number_read(&whole, text, &number)) {
            value = json_integer((json_int_t)number.whole);
        } else if (tl_number_read(&real, text, &number)) {
            value = json_real(number.real);
        } else {
            value = json_string(text);
        }
        (void)json_object_set_new(row, name, value);
    }
}

#define KNOB_DIGITS SIGNIFICANT(10)

void sweep_write_csv(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream)
{
    char(*names)[SWEEP_NAME_BYTES] = memory_new(knobs->count + 1, sizeof *names);
    struct column_info *more = memory_new(knobs->count + 1, sizeof *more);
    size_t count = 0;
    for (size_t k = 0; k < knobs->count; k++) {
        if (has_column(&knobs->items[k])) {
            more[count] = (struct column_info){.name = column_name(&knobs->items[k], names[count]),
                                               .digits = KNOB_DIGITS};
            count++;
        }
    }
    results_write_objects_csv(rows, more, count, stream);
    free(more);
    free(names);
}

/* A column of the printed table. */
struct shown_column {
    char name[SWEEP_NAME_BYTES];
    int digits;
};

void sweep_write_table(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream)
{
    static const enum column always[] = {COL_ALGO,
                                         COL_OPTIONS,
                                         COL_STATUS,
                                         COL_NS_PER_EVENT,
                                         COL_STALL,
                                         COL_BYTES_PER_TIMER,
                                         COL_WAKEUPS_PER_FIRED,
                                         COL_LATENESS_MAX,
                                         COL_AVERTED,
                                         COL_NS_PER_EVENT_MAD,
                                         COL_NOT_REACHED,
                                         COL_N_COMPARES,
                                         COL_N_MOVES,
                                         COL_N_SLOTS,
                                         COL_N_CASCADES,
                                         COL_REASON};
    enum { ALWAYS = sizeof always / sizeof always[0] };
    struct text_table table = {.empty = "-"};
    struct shown_column shown[TEXT_TABLE_COLUMNS_MAX];
    for (size_t k = 0; k < knobs->count && table.columns + ALWAYS < TEXT_TABLE_COLUMNS_MAX; k++) {
        if (knobs->items[k].value_count > 1) {
            shown[table.columns].digits = KNOB_DIGITS;
            (void)column_name(&knobs->items[k], shown[table.columns++].name);
        }
    }
    for (size_t i = 0; i < ALWAYS; i++) {
        shown[table.columns].digits = result_columns[always[i]].digits;
        (void)snprintf(shown[table.columns++].name, SWEEP_NAME_BYTES, "%s",
                       result_columns[always[i]].name);
    }
    for (size_t i = 0; i < table.columns; i++) {
        table.right[i] = true;
        text_table_add(&table, "%s", shown[i].name);
    }
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        for (size_t i = 0; i < table.columns; i++) {
            char text[64];
            const json_t *value = json_object_get(row, shown[i].name);
            table.right[i] = table.right[i] && !json_is_string(value);
            text_table_add(&table, "%s",
                           results_object_text(value, shown[i].digits, text, sizeof text));
        }
    }
    text_table_write(&table, stream);
    text_table_free(&table);
}

struct table {
    const struct sweep_knobs *knobs;
    json_t *rows;
    json_t *context;
};

static void write_csv(const void *at, FILE *stream)
{
    const struct table *table = at;
    sweep_write_csv(table->rows, table->knobs, stream);
}

static void write_json(const void *at, FILE *stream)
{
    const struct table *table = at;
    results_write_rows(table->rows, table->context, true, stream);
}

bool sweep_row_is_right(const json_t *row)
{
    const char *status = json_string_value(json_object_get(row, "status"));
    return status != NULL && (strcmp(status, "ok") == 0 || strcmp(status, "unsupported") == 0);
}

bool sweep_rows_are_right(const json_t *rows)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (!sweep_row_is_right(row)) {
            return false;
        }
    }
    return true;
}

bool sweep_write_tables(struct outfolder *out, const struct sweep_knobs *knobs, json_t *rows,
                        json_t *context, struct error *error)
{
    struct table table = {knobs, rows, json_copy(context)};
    bool done = outfolder_write(out, "results.csv", write_csv, &table, error);
    done = done && outfolder_write(out, "results.json", write_json, &table, error) &&
           outfolder_commit(out, result_files, error);
    json_decref(table.context);
    return done;
}
