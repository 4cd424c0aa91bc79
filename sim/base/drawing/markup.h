/* markup.h: text between the tags of HTML and SVG. */
#ifndef SIM_MARKUP_H
#define SIM_MARKUP_H

#include <stdio.h>

/* Writes a character so that it stands for itself, never for markup; a control
 * character, but for tabs and line ends, as a question mark. */
void markup_write_character(FILE *stream, char c);

#endif
