/* json_text.h: text of any bytes in JSON, such as a file's name. */
#ifndef SIM_JSON_TEXT_H
#define SIM_JSON_TEXT_H

#include <jansson.h>

/* Return the text as a string; where it is not UTF-8, with \xHH for what is no plain character. */
json_t *json_text(const char *text);

#endif
