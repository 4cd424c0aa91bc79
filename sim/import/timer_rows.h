/*
 * timer_rows.h: what importers of tables of timer operations have in common: rows that say of a
 * timer, by any name, that it was started with a delay, stopped, or fired. They are put in order,
 * the timers numbered, and the trace is written.
 *
 * A timer started at t with delay d is due at the first tick that is not before t + d. A start is
 * taken for a reaction to the timer's own firing, which a structure that fires later brings about
 * later, if a row says that the timer fired in that tick, and it was due in it; all else is
 * external. What fired otherwise than when it was due is counted: a structure goes by its deadline.
 */
#ifndef SIM_TIMER_ROWS_H
#define SIM_TIMER_ROWS_H

#include "error.h"
#include "event_log.h"
#include "import.h"
#include "import_tally.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timer_row_op { TIMER_ROW_START, TIMER_ROW_STOP, TIMER_ROW_FIRE };

/* The operation that a word names, of those that programs use; false if it is none. */
bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op);

struct timer_rows;

/* Of the settings the tick, the window and the share of malformed lines. NULL with `error` set. */
struct timer_rows *timer_rows_open(const struct import_job *job, const char *name,
                                   const struct event_log_settings *settings, struct error *error);

/* Where lines are counted. */
struct import_tally *timer_rows_tally(struct timer_rows *rows);

/* A row; the delay is that of a start. */
bool timer_rows_add(struct timer_rows *rows, uint64_t time_ns, const void *key, size_t length,
                    enum timer_row_op op, uint64_t delay_ns, struct error *error);

/* After the last: judges the whole, writes the summary, and completes the trace. */
bool timer_rows_finish(struct timer_rows *rows, struct error *error);

/* NULL is legal. What is not finished leaves nothing behind, and shows the malformed lines. */
void timer_rows_close(struct timer_rows *rows);

#endif
