/* Tables and lists that grow, and the names of rows in them. */
#include "report_work.h"

#include "memory.h"
#include "timerlab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *series_text(struct pool *pool, const char *algo, const char *options, const char *mark)
{
    bool marked = mark != NULL && mark[0] != '\0';
    return pool_format(pool, MARK_CODE "%s%s%s%s%s" MARK_CODE, algo, options[0] != '\0' ? ":" : "",
                       options, marked ? "@" : "", marked ? mark : "");
}

const char *place_text(struct pool *pool, const struct contest *contest)
{
    const char *mark = contest->set->mark;
    return mark[0] == '\0' ? trace_base(contest->trace)
                           : pool_format(pool, "%s (%s)", trace_base(contest->trace), mark);
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
        table->cells[table->cell_count++] = (struct page_cell){.text = text, .key = key};
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

void table_columns(struct table *table, const struct shown_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        table_column(table, columns[i].heading, columns[i].figure != NULL, columns[i].help);
    }
}

void table_cells(struct table *table, const json_t *object, const struct shown_column *columns,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (columns[i].cell != NULL) {
            struct page_cell cell = columns[i].cell(table->report, object);
            table_cell(table, cell.text, cell.key);
        } else if (columns[i].figure != NULL) {
            table_figure(table, json_figure(object, columns[i].name), columns[i].figure);
        } else {
            table_text(table, json_word(object, columns[i].name));
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
    if (table->page.row_count == 0 && nothing[0] != '\0') {
        page->form->paragraph(page, nothing);
    } else if (table->page.row_count > 0) {
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

enum page_row_kind row_plain_kind(const struct row *row)
{
    return (row->capabilities & TL_CAP_BASELINE) != 0 ? ROW_YARDSTICK : ROW_PLAIN;
}

const char *row_name(struct report *report, const struct row *row)
{
    const char *italic = row_plain_kind(row) == ROW_YARDSTICK ? MARK_ITALIC : "";
    const char *name =
        series_text(&report->pool, row_text(row, COL_ALGO), row_text(row, COL_OPTIONS), row->mark);
    return pool_format(&report->pool, "%s%s%s", italic, name, italic);
}
