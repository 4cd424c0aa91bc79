/*
 * drawing.h: a drawing of boxes, lines and words, as SVG. Lengths are in pixels, from the upper
 * left corner; everything is on a white ground, so that it reads alike on light and on dark
 * pages. The same calls give the same bytes.
 */
#ifndef SIM_DRAWING_H
#define SIM_DRAWING_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Initialise with drawing_open. */
struct drawing {
    FILE *stream; /* into `content` */
    char *content;
    size_t bytes;
};

/* Attributes of SVG, such as `fill="#fff"`, go where a function asks for a style. */

void drawing_open(struct drawing *drawing);

/* A box, its corners rounded by `radius`. */
void drawing_box(struct drawing *drawing, double x, double y, double width, double height,
                 double radius, const char *style);

void drawing_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
                  const char *style);

/* A triangle that points down at x, y, `size` high. */
void drawing_pointer(struct drawing *drawing, double x, double y, double size, const char *style);

void drawing_dot(struct drawing *drawing, double x, double y, double radius, const char *style);

/* Write a text on the line y, escaped for SVG. text-anchor in the style sets where x is: at the
 * start by default. */
void drawing_text(struct drawing *drawing, double x, double y, const char *style, const char *text);

/* About how wide a text is in the drawing's font, at this size. */
double drawing_text_width(const char *text, double font_size);

/* Write the document: the drawing, in a frame of that size, with a title and a description for
 * screen readers. */
void drawing_write(struct drawing *drawing, double width, double height, const char *title,
                   const char *description, FILE *stream);

/* Whether an SVG document, from its element svg on, contains only plain elements and titles: no
 * script, no style, no references. */
bool drawing_is_plain(const char *svg);

/* Write a character between the tags of HTML or SVG so that it stands for itself, never for markup; a
 * control character, except for tabs and line ends, as a question mark. */
void markup_write_character(FILE *stream, char c);

/* Frees it; harmless on one that is zeroed or closed. */
void drawing_close(struct drawing *drawing);

#endif
