/* chart.h: a run of a small instance as a picture: who did what with whom, from above to below. */
#ifndef SIM_CHART_H
#define SIM_CHART_H

#include "check.h"

#include <stdio.h>

/* What a step did, in words: "scheduler 1 fetches timer 1"; cut where it is too long. */
void chart_step_text(const struct check_step *step, char *text, size_t bytes);

/* Writes the drawing, as SVG. `title` says of what it is. */
void chart_write(const struct check_step *run, size_t count, const char *title, FILE *stream);

/* Writes the same as a table: step,second,who,what,timers. */
void chart_write_csv(const struct check_step *run, size_t count, FILE *stream);

#endif
