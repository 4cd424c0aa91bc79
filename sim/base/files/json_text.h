/* json_text.h: text of any bytes in JSON, such as a file's name; texts and numbers of objects. */
#ifndef SIM_JSON_TEXT_H
#define SIM_JSON_TEXT_H

#include <jansson.h>

/* Return the text as a string; if it is not UTF-8, with \xHH for characters that are not plain. */
json_t *json_text(const char *text);

/* Return a member of an object as a number, NAN if it is none, or as a text, "" if it is none. A text
 * that is a number counts as one. */
double json_figure(const json_t *object, const char *name);
const char *json_word(const json_t *object, const char *name);

#endif
