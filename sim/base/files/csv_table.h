/*
 * csv_table.h: a small table in CSV (RFC 4180, without line breaks inside a field), whole in
 * memory.
 */
#ifndef SIM_CSV_TABLE_H
#define SIM_CSV_TABLE_H

#include "error.h"

#include <jansson.h>
#include <stdio.h>

/* Read a file with column names in its first line: return an array with an object for each further
 * line, in which each column is a string. An empty file is an empty array. NULL, with `error` set
 * (file, line, fault), if it cannot be read. */
json_t *csv_table_read(const char *path, struct error *error);

/* A text as one field of a CSV line, quoted if it must be. */
void csv_write_field(FILE *stream, const char *text);

#endif
