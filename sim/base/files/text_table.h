/*
 * text_table.h: a table of text, cell by cell and row after row, the first row with the headings;
 * written in aligned columns, or as Markdown.
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
    bool right[TEXT_TABLE_COLUMNS_MAX];   /* numbers stand at the right */
    size_t width[TEXT_TABLE_COLUMNS_MAX]; /* at least */
    const char *empty; /* stands for an empty cell, but in the last column; columns in which all
                          are empty are left out then. NULL: as it is */
    char **cells;
    size_t count;
};

/* Adds a cell. One for which memory fails is left empty. */
void text_table_add(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void text_table_write(const struct text_table *table, FILE *stream);
void text_table_write_markdown(const struct text_table *table, FILE *stream);

/* Writes a text so that it stands for itself in Markdown. */
void text_write_markdown(const char *text, FILE *stream);

void text_table_free(struct text_table *table);

#endif
