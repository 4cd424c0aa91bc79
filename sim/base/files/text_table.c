#include "text_table.h"

#include "memory.h"
#include "standard_files.h"
#include "terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Texts that are wider go on in a second line before a column is omitted. */
#define NARROW_TEXT 24

/* Between two columns. */
#define GAP         2

void text_table_add(struct text_table *table, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = memory_format_list(format, list);
    va_end(list);
    table->cells =
        (char **)memory_resize((void *)table->cells, table->count + 1, sizeof *table->cells);
    table->cells[table->count++] = standard_files_line(text);
    free(text);
}

static const char *cell_at(const struct text_table *table, size_t row, size_t column)
{
    return table->cells[row * table->columns + column];
}

static size_t row_count(const struct text_table *table)
{
    return table->columns > 0 ? table->count / table->columns : 0;
}

/* --- what fits a line ------------------------------------------------------------------------ */

/* How wide a column is; 0: it is omitted. */
static size_t column_width(const struct text_table *table, size_t column)
{
    size_t width = 0;
    bool used = table->empty == NULL;
    for (size_t row = 0; row < row_count(table); row++) {
        const char *text = cell_at(table, row, column);
        size_t own = text_width(text, strlen(text));
        width = own > width ? own : width;
        used = used || (row > 0 && own > 0);
    }
    return used ? width : 0;
}

/* Of how many characters no cell's text can be less wide. */
static size_t widest_word(const struct text_table *table, size_t column)
{
    size_t widest = 0;
    for (size_t row = 0; row < row_count(table); row++) {
        const char *text = cell_at(table, row, column);
        while (*text != '\0') {
            size_t word = strcspn(text, " ");
            size_t width = text_width(text, word);
            widest = width > widest ? width : widest;
            text += word + strspn(text + word, " ");
        }
    }
    return widest;
}

/* Whether the values of a column differ, or exist at all. */
static bool tells(const struct text_table *table, size_t column)
{
    const char *ordinary = table->ordinary[column];
    bool told = row_count(table) < 2;
    for (size_t row = 1; row < row_count(table) && !told; row++) {
        const char *text = cell_at(table, row, column);
        told =
            text[strspn(text, "-0.")] != '\0' && (ordinary == NULL || strcmp(text, ordinary) != 0);
    }
    return told;
}

static size_t line_width(const size_t *widths, size_t columns)
{
    size_t width = 0;
    for (size_t c = 0; c < columns; c++) {
        width += widths[c] > 0 ? widths[c] + (width > 0 ? GAP : 0) : 0;
    }
    return width;
}

/* Appends a column's heading, once. */
static void leave_out(const struct text_table *table, size_t column, size_t *widths, char **names)
{
    const char *before = *names != NULL ? *names : "";
    char *entry = memory_format(", %s,", cell_at(table, 0, column));
    char *listed = memory_format("%s,", before);
    widths[column] = 0;
    if (strstr(listed, entry) == NULL) {
        char *longer = memory_format("%s, %s", before, cell_at(table, 0, column));
        free(*names);
        *names = longer;
    }
    free(entry);
    free(listed);
}

/* How wide each column is; 0: it is omitted. */
static void lay_out(const struct text_table *table, struct text_page *page, size_t *widths)
{
    size_t natural[TEXT_TABLE_COLUMNS_MAX];
    size_t columns = table->columns;
    size_t kept = columns > 0 && !table->right[columns - 1] ? columns - 1 : 0;
    for (size_t c = 0; c < columns; c++) {
        widths[c] = natural[c] = column_width(table, c);
    }
    if (page->width == 0 || line_width(widths, columns) <= page->width) {
        return;
    }
    for (size_t c = 1; c < columns; c++) {
        if (widths[c] > 0 && !tells(table, c)) {
            leave_out(table, c, widths, &page->nothing);
        }
        if (widths[c] > NARROW_TEXT && !table->right[c]) {
            size_t least = widest_word(table, c);
            widths[c] = least > NARROW_TEXT ? least : NARROW_TEXT;
        }
    }
    for (size_t c = columns; --c > 0 && line_width(widths, columns) > page->width;) {
        if (widths[c] > 0 && c != kept) {
            leave_out(table, c, widths, &page->no_room);
        }
    }
    size_t used = line_width(widths, columns);
    for (size_t c = columns; c-- > 0 && used < page->width;) {
        if (widths[c] > 0 && widths[c] < natural[c]) {
            size_t room = page->width - used;
            size_t more = natural[c] - widths[c] < room ? natural[c] - widths[c] : room;
            widths[c] += more;
            used += more;
        }
    }
}

/* --- writing --------------------------------------------------------------------------------- */

/* Write one line of a row: from each cell the text that fits; `rest` is set to the remainder. */
static void write_line(const struct text_table *table, const size_t *widths, const char **rest,
                       FILE *stream)
{
    size_t blanks = 0;
    for (size_t c = 0; c < table->columns; c++) {
        if (widths[c] == 0) {
            continue;
        }
        size_t bytes = text_fit(rest[c], strlen(rest[c]), widths[c]);
        size_t width = text_width(rest[c], bytes);
        size_t pad = width < widths[c] ? widths[c] - width : 0;
        blanks += table->right[c] ? pad : 0;
        if (bytes > 0) {
            (void)fprintf(stream, "%*s%.*s", (int)blanks, "", (int)bytes, rest[c]);
            blanks = 0;
        }
        blanks += GAP + (table->right[c] ? 0 : pad);
        rest[c] += bytes + strspn(rest[c] + bytes, " ");
    }
    (void)fputc('\n', stream);
}

static void write_row(const struct text_table *table, size_t row, const size_t *widths,
                      FILE *stream)
{
    const char *rest[TEXT_TABLE_COLUMNS_MAX];
    for (size_t c = 0; c < table->columns; c++) {
        rest[c] = cell_at(table, row, c);
        if (rest[c][0] == '\0' && table->empty != NULL && c + 1 < table->columns) {
            rest[c] = table->empty;
        }
    }
    bool more = true;
    while (more) {
        write_line(table, widths, rest, stream);
        more = false;
        for (size_t c = 0; c < table->columns; c++) {
            more = more || (widths[c] > 0 && rest[c][0] != '\0');
        }
    }
}

struct text_page text_page_begin(FILE *stream)
{
    return (struct text_page){.stream = stream, .width = terminal_width(stream)};
}

void text_table_write_rows(const struct text_table *table, size_t from, size_t to,
                           struct text_page *page)
{
    lay_out(table, page, page->widths);
    for (size_t row = from; row < to && row < row_count(table); row++) {
        write_row(table, row, page->widths, page->stream);
    }
}

void text_table_write_last(const struct text_table *table, struct text_page *page)
{
    size_t rows = row_count(table);
    if (page->width == 0) {
        lay_out(table, page, page->widths);
    }
    if (rows > 0) {
        write_row(table, rows - 1, page->widths, page->stream);
    }
}

void text_page_end(struct text_page *page)
{
    const char *nothing = page->nothing != NULL ? page->nothing + strlen(", ") : "";
    const char *no_room = page->no_room != NULL ? page->no_room + strlen(", ") : "";
    if (nothing[0] != '\0' || no_room[0] != '\0') {
        char *text = memory_format("\ncolumns omitted: %s%s%s%s%s; --wide shows them\n", nothing,
                                   nothing[0] != '\0' ? " (nothing in them)" : "",
                                   nothing[0] != '\0' && no_room[0] != '\0' ? "; " : "", no_room,
                                   no_room[0] != '\0' ? " (no room)" : "");
        text_wrap(page->stream, text, page->width, 0, 2);
        free(text);
    }
    free(page->nothing);
    free(page->no_room);
}

void text_table_write(const struct text_table *table, FILE *stream)
{
    struct text_page page = text_page_begin(stream);
    text_table_write_rows(table, 0, row_count(table), &page);
    text_page_end(&page);
}

void text_write_markdown_character(char c, FILE *stream)
{
    if ((unsigned char)c < ' ' || c == 0x7F) {
        c = ' ';
    } else if (strchr("|*_`\\[]~$", c) != NULL) {
        (void)fputc('\\', stream);
    }
    (void)fputs(c == '<' ? "&lt;" : c == '&' ? "&amp;" : (char[]){c, '\0'}, stream);
}

void text_write_markdown(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        text_write_markdown_character(*text, stream);
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
