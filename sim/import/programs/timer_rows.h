/*
 * timer_rows.h: importer of tables of timer operations: each row says that a timer, by any name,
 * was started with a delay, stopped, or fired. The rows are put in order of time, the timers are
 * numbered, and timer_calls.h makes the trace.
 *
 * A timer started at t with delay d is due at the first tick that is not before t + d. A start that
 * follows the same timer's own expiry, before any other operation on it, is a reaction to that
 * expiry. All else is external. If no row says that a timer fired, it is taken to fire when due.
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

enum timer_row_op {
    TIMER_ROW_START,
    TIMER_ROW_STOP,
    TIMER_ROW_FIRE,
    TIMER_ROW_REPEAT, /* a start of a timer that starts itself again whenever it fires */
    TIMER_ROW_OTHER,  /* nothing that a timer notices: a cache's get */
    TIMER_ROW_OPS
};

/* The operation that a word names, of those that programs use; false if it is none. */
bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op);

struct timer_rows;

/* Of the settings the tick, the window and the share of malformed lines. NULL with `error` set. */
struct timer_rows *timer_rows_open(const struct import_job *job, const char *name,
                                   const struct event_log_settings *settings, struct error *error);

/* Where lines are counted. */
struct import_tally *timer_rows_tally(struct timer_rows *rows);

struct timer_row {
    uint64_t time_ns;
    uint64_t delay_ns; /* of a start; the period of a repeat */
    uint64_t slack_ns; /* of either */
    uint64_t line;     /* of the input */
    enum timer_row_op op;
};

bool timer_rows_add(struct timer_rows *rows, const struct timer_row *row, const void *key,
                    size_t length, struct error *error);

/* After the last: judges the whole, writes the summary, and completes the trace. */
bool timer_rows_finish(struct timer_rows *rows, struct error *error);

/* NULL is legal. What is not finished leaves nothing behind, and shows the malformed lines. */
void timer_rows_close(struct timer_rows *rows);

#endif
