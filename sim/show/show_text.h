/* show_text.h: the steps of a run as text. */
#ifndef SIM_SHOW_TEXT_H
#define SIM_SHOW_TEXT_H

#include "show.h"

#include <stdio.h>

void show_write_text(const struct show *show, FILE *stream);

/* A timer: "a@5", or "a@5, 2 rounds" if it waits for several turns of a wheel. Return as
 * snprintf. */
int show_format_held(const struct show *show, const struct show_held *held, char *text,
                     size_t text_bytes);

/* The state after a step: "clock 3, 2 pending, next 4". Return as snprintf. */
int show_format_facts(const struct show *show, const struct show_step *step, char *text,
                      size_t text_bytes);

/* The work of a step: "2 compares, 1 slot", or "". Return the number of bytes it needs. */
int show_format_work(const struct show_step *step, char *text, size_t text_bytes);

#endif
