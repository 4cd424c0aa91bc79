/* text_file.h: a small text, whole in memory. */
#ifndef SIM_TEXT_FILE_H
#define SIM_TEXT_FILE_H

#include "error.h"

/* No script, scenario or list of parameters is longer. */
#define TEXT_FILE_BYTES_MAX ((size_t)1 << 20)

/* Return the content of `path` ("-" is standard input), to be freed. NULL with `error` set: it
 * cannot be read, is longer than TEXT_FILE_BYTES_MAX, as a device is, or has a byte that is 0. */
char *text_file_read(const char *path, struct error *error);

#endif
