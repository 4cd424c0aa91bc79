/*
 * reorder.h: sorts events by time, within a window. An event is held back until another is a window
 * later; events of the same time keep their order. Events that are later than the window allows are
 * moved to the time that has been reached, and counted.
 */
#ifndef SIM_REORDER_H
#define SIM_REORDER_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reorder;

/* The number of events that are held back at most, for any window. */
#define REORDER_EVENTS_MAX ((size_t)1 << 20)

/* Instead of a window: all events are held back until reorder_take_until. */
#define REORDER_NO_WINDOW  UINT64_MAX

/* Take the next event in order, which is valid until an event is added; false, with `error` set,
 * ends everything. */
typedef bool (*reorder_fn)(void *ctx, uint64_t time_ns, const void *event, struct error *error);

struct reorder *reorder_create(uint64_t window_ns, size_t event_bytes, reorder_fn take, void *ctx);

/* Add a copy of an event. False: `take` returned false. */
bool reorder_add(struct reorder *reorder, uint64_t time_ns, const void *event, struct error *error);

/* Take the events up to that time; UINT64_MAX: all that are held back. False as above. */
bool reorder_take_until(struct reorder *reorder, uint64_t time_ns, struct error *error);

struct reorder_counts {
    uint64_t events;
    uint64_t out_of_order;    /* earlier than the event before */
    uint64_t too_late;        /* further out of order than the window, and moved */
    uint64_t max_backward_ns; /* longest way back from the greatest time until then */
    uint64_t last_ns;         /* the latest time that was taken; 0: none */
};

const struct reorder_counts *reorder_counts(const struct reorder *reorder);

/* NULL is legal. */
void reorder_destroy(struct reorder *reorder);

#endif
