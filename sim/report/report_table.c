/* The parts of a page, tables and lists that grow, and the names of rows in them. */
#include "report_work.h"

#include "memory.h"
#include "timerlab.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the page -------------------------------------------------------------------------------- */

void page_write_id(const struct page *page, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        (void)fputc(isalnum(c) || c == '-' ? c : '_', page->stream);
    }
}

void page_begin(struct page *page, enum page_block block, const char *text, const char *id)
{
    const struct block_form *form = &page->form->blocks[block];
    if (block == PAGE_SECTION || block == PAGE_BACKGROUND) {
        page_end_section(page);
        page->section_end = form->end;
    }
    for (const char *c = form->before; *c != '\0'; c++) {
        if (*c == '@') {
            page_write_id(page, id, strlen(id));
        } else {
            (void)fputc(*c, page->stream);
        }
    }
    page->form->text(page, block, text);
    (void)fputs(form->after, page->stream);
}

void page_end(struct page *page, enum page_block block)
{
    (void)fputs(page->form->blocks[block].end, page->stream);
}

void page_end_section(struct page *page)
{
    (void)fputs(page->section_end != NULL ? page->section_end : "", page->stream);
    page->section_end = NULL;
}

void page_text(struct page *page, enum page_block block, const char *text)
{
    page_begin(page, block, text, "");
}

/* --- tables and lists ------------------------------------------------------------------------ */

void table_column(struct table *table, const char *heading, bool figures, const char *help)
{
    if (table->column_count < TABLE_COLUMNS_MAX) {
        table->columns[table->column_count++] = (struct table_column){heading, help, figures};
    }
}

void table_row(struct table *table, enum table_row_kind kind)
{
    table->kind = kind;
}

void table_cell(struct table *table, const char *text, double key)
{
    MEMORY_REACH(table->cells, table->cell_room, table->cell_count);
    table->cells[table->cell_count++] =
        (struct table_cell){.text = text, .key = key, .kind = table->kind};
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
        if (columns[i].words != NULL) {
            table_text(table, columns[i].words(table->report, object));
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
    table->id = id;
    table->caption = caption;
    if (table->cell_count > 0) {
        page->form->table(page, table);
    } else if (nothing[0] != '\0') {
        page_text(page, PAGE_PARAGRAPH, nothing);
    }
    free(table->cells);
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
        page_begin(page, PAGE_LIST, "", "");
        for (size_t i = 0; i < list->count; i++) {
            page_text(page, PAGE_ITEM, list->items[i]);
        }
        page_end(page, PAGE_LIST);
    }
    free((void *)list->items);
    *list = (struct page_list){.report = list->report};
}

/* --- names ----------------------------------------------------------------------------------- */

const char *series_text(struct pool *pool, const char *algo, const char *options, const char *mark)
{
    bool marked = mark != NULL && mark[0] != '\0';
    return pool_format(pool, MARK_CODE "%s%s%s%s%s" MARK_CODE, algo, options[0] != '\0' ? ":" : "",
                       options, marked ? "@" : "", marked ? mark : "");
}

const char *trace_base(const char *trace)
{
    const char *slash = strrchr(trace, '/');
    return slash != NULL ? slash + 1 : trace;
}

const char *place_text(struct pool *pool, const struct contest *contest)
{
    const char *mark = contest->set->mark;
    return mark[0] == '\0' ? trace_base(contest->trace)
                           : pool_format(pool, "%s (%s)", trace_base(contest->trace), mark);
}

enum table_row_kind row_plain_kind(const struct row *row)
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
