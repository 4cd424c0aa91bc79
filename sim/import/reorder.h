/*
 * reorder.h: puts events into the order of their times, within a window. An event is held back
 * until one has been seen that is a window later; events of the same time stay in the order in
 * which they came. What comes later than the window allows is moved to the time that has been
 * reached, and counted. Events that come in order cost next to nothing, those that are a few
 * places off little more; the others go through a heap.
 */
#ifndef SIM_REORDER_H
#define SIM_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reorder;

/* At most this number of events is held back, however long the window. */
#define REORDER_EVENTS_MAX ((size_t)1 << 20)

/* Takes an event at its time; false ends everything. */
typedef bool (*reorder_fn)(void *ctx, uint64_t time_ns, const void *event);

/* Events are of `event_bytes` each. */
struct reorder *reorder_create(uint64_t window_ns, size_t event_bytes, reorder_fn take, void *ctx);

/* How far an event is from its turn when it is announced: some events, or half as many. */
enum reorder_step { REORDER_SOON, REORDER_SOONER };
typedef void (*reorder_announce_fn)(void *ctx, const void *event, enum reorder_step step);

/* From now on most events are announced twice before they are taken, so that what they need can be
 * fetched into the cache. Not all are: there is no relying on it. */
void reorder_announce(struct reorder *reorder, reorder_announce_fn announce);

/* Adds an event, of which a copy is made. False if `take` returned false. */
bool reorder_add(struct reorder *reorder, uint64_t time_ns, const void *event);

/* Hands out what is still held back. */
bool reorder_finish(struct reorder *reorder);

struct reorder_counts {
    uint64_t events;
    uint64_t out_of_order;    /* with a time before that of the event before */
    uint64_t too_late;        /* further out of order than the window, and moved */
    uint64_t max_backward_ns; /* longest way back from the greatest time until then */
    uint64_t first_ns;        /* the earliest and the latest time handed out */
    uint64_t last_ns;
};

const struct reorder_counts *reorder_counts(const struct reorder *reorder);

/* NULL is legal. */
void reorder_destroy(struct reorder *reorder);

#endif
