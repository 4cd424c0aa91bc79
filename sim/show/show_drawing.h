/* show_drawing.h: the steps of a run as a drawing. */
#ifndef SIM_SHOW_DRAWING_H
#define SIM_SHOW_DRAWING_H

#include "error.h"
#include "show.h"

#include <stdio.h>

/* Draw `count` steps from `first` on, one below the other, as one SVG document. */
void show_draw(const struct show *show, size_t first, size_t count, FILE *stream);

/* Write the beginning of an HTML page with a slider and a button that plays the steps. */
void show_page_begin(FILE *stream);

/* Append a drawing of `bytes` bytes to the page, as its next step. */
void show_page_add(const char *drawing, size_t bytes, FILE *stream);

#endif
