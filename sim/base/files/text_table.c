#include "text_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void text_table_add(struct text_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) {
        text = NULL;
    }
    va_end(list);
    char **cells = (char **)realloc((void *)table->cells, (table->count + 1) * sizeof *cells);
    if (cells == NULL) {
        free(text);
        return;
    }
    table->cells = cells;
    cells[table->count++] = text;
}

static const char *cell_at(const struct text_table *table, size_t row, size_t column)
{
    const char *text = table->cells[row * table->columns + column];
    return text != NULL ? text : "";
}

static size_t row_count(const struct text_table *table)
{
    return table->columns > 0 ? table->count / table->columns : 0;
}

/* How wide a column is; 0: it is left out. */
static size_t column_width(const struct text_table *table, size_t column)
{
    size_t width = table->width[column];
    bool used = table->empty == NULL;
    for (size_t row = 0; row < row_count(table); row++) {
        size_t length = strlen(cell_at(table, row, column));
        width = length > width ? length : width;
        used = used || (row > 0 && length > 0);
    }
    return used ? width : 0;
}

void text_table_write(const struct text_table *table, FILE *stream)
{
    int widths[TEXT_TABLE_COLUMNS_MAX] = {0};
    for (size_t column = 0; column < table->columns; column++) {
        widths[column] = (int)column_width(table, column);
    }
    for (size_t row = 0; row < row_count(table); row++) {
        const char *separator = "";
        for (size_t column = 0; column < table->columns; column++) {
            bool last = column + 1 == table->columns;
            int width = table->right[column] ? widths[column] : last ? 0 : -widths[column];
            const char *text = cell_at(table, row, column);
            if (widths[column] > 0) {
                (void)fprintf(stream, "%s%*s", separator, width,
                              text[0] == '\0' && table->empty != NULL && !last ? table->empty
                                                                               : text);
                separator = "  ";
            }
        }
        (void)fputc('\n', stream);
    }
}

void text_write_markdown(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        if (strchr("|*_<`\\", *text) != NULL) {
            (void)fputc('\\', stream);
        }
        (void)fputc(*text, stream);
    }
}

void text_table_write_markdown(const struct text_table *table, FILE *stream)
{
    for (size_t row = 0; row < row_count(table); row++) {
        for (size_t column = 0; column < table->columns; column++) {
            (void)fputs("| ", stream);
            text_write_markdown(cell_at(table, row, column), stream);
            (void)fputc(' ', stream);
        }
        (void)fputs("|\n", stream);
        for (size_t column = 0; row == 0 && column < table->columns; column++) {
            (void)fprintf(stream, "|%s", table->right[column] ? "--:" : "---");
        }
        (void)fputs(row == 0 ? "|\n" : "", stream);
    }
}

void text_table_free(struct text_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->cells[i]);
    }
    free((void *)table->cells);
}
