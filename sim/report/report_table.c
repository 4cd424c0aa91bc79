/* Tables and lists that grow, and what rows of the results look like in them. */
#include "report_work.h"

#include "memory.h"
#include "report_words.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *column_help(const char *name)
{
    for (int c = 0; c < COLUMNS; c++) {
        if (strcmp(result_columns[c].name, name) == 0) {
            return result_columns[c].help;
        }
    }
    return "";
}

void table_column(struct table *table, const char *heading, bool figures, const char *help)
{
    if (table->page.column_count < TABLE_COLUMNS_MAX) {
        table->columns[table->page.column_count++] = (struct page_column){heading, help, figures};
    }
}

void table_row(struct table *table, enum page_row_kind kind)
{
    size_t needed = table->cell_count + TABLE_COLUMNS_MAX;
    size_t room = table->cell_room;
    MEMORY_REACH(table->kinds, room, needed);
    MEMORY_REACH(table->cells, table->cell_room, needed);
    table->kinds[table->page.row_count++] = kind;
}

void table_cell(struct table *table, const char *text, double key)
{
    if (table->cell_count < table->cell_room) {
        table->cells[table->cell_count++] = (struct page_cell){text, key};
    }
}

void table_text(struct table *table, const char *text)
{
    table_cell(table, text, NAN);
}

void table_figure(struct table *table, double value,
                  const char *(*figure)(double, char[FIGURE_BYTES]))
{
    table_cell(table, pool_format(&table->report->pool, "%s", figure(value, FIGURE)), value);
}

/* Whether a column says anything: the folders' and the ranks' do only where there are several. */
static bool is_shown(const struct report *report, const struct shown_column *column)
{
    return (report->data->set_count > 1 || strcmp(column->name, "set") != 0) &&
           (report->several_ranks || strcmp(column->name, "ranks") != 0);
}

void table_columns(struct table *table, const struct shown_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct shown_column *column = &columns[i];
        if (is_shown(table->report, column)) {
            table_column(table, column->heading, column->figure != NULL,
                         column->help != NULL ? column->help : column_help(column->name));
        }
    }
}

void table_cells(struct table *table, const json_t *row, const struct shown_column *columns,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct shown_column *column = &columns[i];
        if (!is_shown(table->report, column)) {
            continue;
        }
        if (column->cell != NULL) {
            struct page_cell cell = column->cell(table->report, row);
            table_cell(table, cell.text, cell.key);
        } else if (column->figure != NULL) {
            table_figure(table, row_number(row, column->name), column->figure);
        } else {
            table_text(table, row_string(row, column->name));
        }
    }
}

void table_write(struct table *table, const char *id, const char *caption, const char *nothing)
{
    struct page *page = &table->report->page;
    table->page.id = id;
    table->page.caption = caption;
    table->page.columns = table->columns;
    table->page.cells = table->cells;
    table->page.kinds = table->kinds;
    if (table->page.row_count == 0) {
        page->form->paragraph(page, nothing);
    } else {
        page->form->table(page, &table->page);
    }
    free(table->cells);
    free(table->kinds);
}

void page_list_add(struct page_list *list, const char *text)
{
    MEMORY_REACH(list->items, list->room, list->count);
    list->items[list->count++] = text;
}

void page_list_write(struct page_list *list)
{
    struct page *page = &list->report->page;
    if (list->count > 0) {
        page->form->list(page, list->items, list->count);
    }
    free((void *)list->items);
    *list = (struct page_list){.report = list->report};
}

enum page_row_kind row_plain_kind(const struct report *report, const json_t *row)
{
    return row_promises(report->data, row, "baseline") ? ROW_YARDSTICK : ROW_PLAIN;
}

const char *row_name(struct report *report, const json_t *row)
{
    const char *name = series_text(&report->pool, row);
    return row_plain_kind(report, row) == ROW_YARDSTICK
               ? pool_format(&report->pool, MARK_ITALIC "%s" MARK_ITALIC, name)
               : name;
}

const json_t **report_rows(struct report *report, const struct contest *contest, size_t *count)
{
    const json_t **rows = memory_new(json_array_size(report->data->rows) + 1, sizeof *rows);
    *count = contest_rows(contest, report->data, ROWS_ANY, rows);
    return rows;
}

const char *trace_checksum(const struct report *report, const struct contest *contest)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (contest_has(contest, row) && row_string(row, "trace_checksum")[0] != '\0') {
            return row_string(row, "trace_checksum");
        }
    }
    return "";
}
