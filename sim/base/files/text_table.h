/*
 * text_table.h: a table of text, cell by cell and row after row, the first row with the headings;
 * written in aligned columns, or as Markdown.
 *
 * On a terminal that it is too wide for, it does without some columns: first those in which there
 * is nothing, then the last ones, so that the columns are in the order in which they are needed.
 * The first stays, and a text that is the last. Texts go on in a second line, where that helps.
 */
#ifndef SIM_TEXT_TABLE_H
#define SIM_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_TABLE_COLUMNS_MAX 64

/* Set how many columns there are, at most TEXT_TABLE_COLUMNS_MAX; the rest begins as zero. */
struct text_table {
    size_t columns;
    bool right[TEXT_TABLE_COLUMNS_MAX];           /* numbers are at the right */
    const char *ordinary[TEXT_TABLE_COLUMNS_MAX]; /* cells without information, as zeros and empty
                                                     ones; NULL: no others */
    const char *empty; /* stands for an empty cell, but in the last column; columns in which all
                          are empty are omitted then. NULL: as it is */
    char **cells;
    size_t count;
};

/* Where tables stand below one another. */
struct text_page {
    FILE *stream;
    size_t width;                          /* terminal_width */
    size_t widths[TEXT_TABLE_COLUMNS_MAX]; /* of the columns of its last table; 0: omitted */
    char *nothing; /* columns that were omitted, as ", a, b": there is nothing in them */
    char *no_room; /* those that there is no room for */
};

/* Adds a cell, in which no control character is left. One for which memory fails is empty. */
void text_table_add(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The table, and which columns are omitted. */
void text_table_write(const struct text_table *table, FILE *stream);
void text_table_write_markdown(const struct text_table *table, FILE *stream);

/* Of a table the rows from one to before another, the headings being row 0, laid out as all of it.
 * A table that is written row by row as it grows is given, as row 1, one that is as wide as any. */
struct text_page text_page_begin(FILE *stream);
void text_table_write_rows(const struct text_table *table, size_t from, size_t to,
                           struct text_page *page);

/* The row that was added last, on a terminal laid out as the rows before it. */
void text_table_write_last(const struct text_table *table, struct text_page *page);

/* Says which columns were omitted of the page's tables. */
void text_page_end(struct text_page *page);

/* Write a character, or a text, escaped for Markdown; line ends and other control characters become
 * blanks. */
void text_write_markdown_character(char c, FILE *stream);
void text_write_markdown(const char *text, FILE *stream);

void text_table_free(struct text_table *table);

#endif
