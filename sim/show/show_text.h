/* show_text.h: the steps of a run, told as text. */
#ifndef SIM_SHOW_TEXT_H
#define SIM_SHOW_TEXT_H

#include "show.h"

#include <stdio.h>

/* All steps, one after the other. */
void show_write_text(const struct show *show, FILE *stream);

/* What stands with a timer: "a@5", and "a@5, 2 rounds" for those that wait for turns. Returns what
 * snprintf would. */
int show_format_held(const struct show *show, const struct show_held *held, char *text,
                     size_t text_bytes);

/* The facts beside a step: "clock 3, 2 pending, next 4". Returns what snprintf would. */
int show_format_facts(const struct show *show, const struct show_step *step, char *text,
                      size_t text_bytes);

/* The work done in a step: "2 compares, 1 slot", or "". Returns how many bytes it needs. */
int show_format_work(const struct show_step *step, char *text, size_t text_bytes);

#endif
