/*
 * compare_print.h: what came of a comparison, for people (a table, Markdown) and for programs
 * (JSON).
 */
#ifndef SIM_COMPARE_PRINT_H
#define SIM_COMPARE_PRINT_H

#include "compare.h"

#include <stdio.h>

/* Aligned columns: the comparisons, the counts that differ, a summary. */
void compare_print_table(const struct compare_request *request,
                         const struct comparisons *comparisons, FILE *stream);

/* The same as Markdown, with the warnings. */
void compare_print_markdown(const struct compare_request *request,
                            const struct comparisons *comparisons, FILE *stream);

/* An object {schema, base, confidence, correction, warnings, comparisons, counts, summary}; a
 * number that there is none for is null. False if a name is not UTF-8, which JSON requires. */
bool compare_print_json(const struct compare_request *request,
                        const struct comparisons *comparisons, FILE *stream);

#endif
