/*
 * timeline.h: messages and faults in order, as a table (a column `timers`: which, or of a run the
 * generation of the one timer) and as a drawing, SVG.
 */
#ifndef SIM_CLUSTER_TIMELINE_H
#define SIM_CLUSTER_TIMELINE_H

#include "check.h"
#include "run.h"

#include <stdio.h>

/* What a step did, in words: "scheduler 1: fetch timer 1"; cut if it is too long. */
void timeline_step_text(const struct check_step *step, char *text, size_t bytes);

/* A run of a small instance. */
void timeline_write_check(const struct check_step *run, size_t count, FILE *stream);
void timeline_draw_check(const struct check_step *run, size_t count, const char *title,
                         FILE *stream);

/* One timer, by the journals of a run. */
bool timeline_write_run(const struct run_plan *plan, const char *folder, uint64_t id, FILE *stream,
                        struct error *error);
bool timeline_draw_run(const struct run_plan *plan, const char *folder, uint64_t id,
                       const char *title, FILE *stream, struct error *error);

#endif
