/*
 * terminal.h: how wide a terminal is, and texts that fit it. Widths are in characters; of UTF-8, as
 * many as begin.
 */
#ifndef SIM_TERMINAL_H
#define SIM_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The length of a line where this stream goes; 0: it is no terminal, or lines may have any. */
size_t terminal_width(FILE *stream);

/* From here on they may. */
void terminal_set_wide(void);

/* Whether terminal_set_wide was called. */
bool terminal_is_wide(void);

size_t text_width(const char *text, size_t bytes);

/* How many of the first `bytes` are in a line of this width: up to a blank, or all. A word that
 * is wider stands whole in a line of its own. */
size_t text_fit(const char *text, size_t bytes, size_t width);

/* Write a text in lines of at most this width, or of any (0), except for longer words. Each
 * line of the text begins with `first` blanks, its continuation lines with `rest`. */
void text_wrap(FILE *stream, const char *text, size_t width, size_t first, size_t rest);

/* Wrapped lines printed piece by piece: the output to `wrapped_begin` goes to `stream` at
 * `wrapped_end`, wrapped at a terminal's width as by text_wrap. */
struct wrapped {
    FILE *stream;
    FILE *memory;
    char *text;
    size_t bytes;
    size_t rest;
};
FILE *wrapped_begin(struct wrapped *wrapped, FILE *stream, size_t rest);
void wrapped_end(struct wrapped *wrapped);

#endif
