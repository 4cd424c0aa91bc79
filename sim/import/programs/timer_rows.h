/*
 * timer_rows.h: importer of tables of timer operations: in each row a timer, of any name, is
 * started with a delay, stopped, or fires. The rows are sorted by time, the timers are numbered,
 * and timer_calls.h makes the trace.
 *
 * A timer started at t with delay d is due at the first tick that is not before t + d. A start that
 * follows the same timer's own expiry, before any other operation on it, is a reaction to that
 * expiry. All else is external. A timer without an expiry in the table fires when it is due.
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
    TIMER_ROW_OTHER,  /* does nothing to the timer: a cache's get */
    TIMER_ROW_OPS
};

/* Read the word of an operation, as programs write it. False: it is none. */
bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op);

struct timer_rows;

/* Begin, as event_log_open; of the settings, the tick and the window are used. */
struct timer_rows *timer_rows_open(struct import_tally *tally,
                                   const struct event_log_settings *settings, struct error *error);

struct timer_row {
    uint64_t time_ns;
    uint64_t delay_ns; /* of a start; the period of a repeat */
    uint64_t slack_ns; /* of either */
    uint64_t line;     /* of the input */
    enum timer_row_op op;
};

bool timer_rows_add(struct timer_rows *rows, const struct timer_row *row, const void *key,
                    size_t length, struct error *error);

/* After the last row: check the whole, write the summary, and complete the trace. */
bool timer_rows_finish(struct timer_rows *rows, struct error *error);

/* Release all (NULL is legal); unless it is finished, remove the trace. */
void timer_rows_close(struct timer_rows *rows);

#endif
