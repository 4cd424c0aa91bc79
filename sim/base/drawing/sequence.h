/*
 * sequence.h: who did what with whom, as a drawing: a column for each who takes part, a row for
 * each step, from above to below; an arrow goes from who does something to whom it is done to.
 */
#ifndef SIM_SEQUENCE_H
#define SIM_SEQUENCE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum sequence_form {
    SEQUENCE_STEP,  /* an arrow from column `from` to `to`; a dot if they are the same */
    SEQUENCE_CRASH, /* a cross in column `from` */
    SEQUENCE_LINE   /* a line through all columns: only `left` stands there */
};

struct sequence_row {
    enum sequence_form form;
    size_t from;
    size_t to;
    size_t actor; /* at whose column the word stands */
    char word[96];
    char left[32]; /* at the left edge; "": nothing */
};

/* Writes the drawing, as SVG. */
void sequence_write(const char *const *columns, size_t column_count,
                    const struct sequence_row *rows, size_t row_count, const char *title,
                    const char *description, FILE *stream);

#endif
