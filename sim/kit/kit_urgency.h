/*
 * kit_urgency.h: of many timers, the one that must fire first: a tournament. Each leaf is a timer,
 * each inner node names the more urgent of its two children, the root the most urgent of all. A
 * change plays the matches between its leaf and the root again: O(log n), and asking is O(1), so
 * that the judge can ask after every operation on a million timers.
 */
#ifndef SIM_KIT_URGENCY_H
#define SIM_KIT_URGENCY_H

#include <stdbool.h>
#include <stdint.h>

#define KIT_NO_TIMER UINT32_MAX

/* Of one timer: the tick by which it must have fired, and of two with one tick, the lesser serial
 * is the more urgent. */
struct kit_urge {
    uint64_t limit;
    uint64_t serial;
};

/* Treat as opaque; all zero is one without timers. */
struct kit_urgency {
    struct kit_urge *urges; /* by timer */
    uint32_t *winners;      /* by node, the root 1, the children of k at 2k and 2k + 1 */
    uint32_t leaves;        /* a power of two; 0: none */
};

/* Make room for that many timers. */
void kit_urgency_grow(struct kit_urgency *urgency, uint32_t timers);

/* Insert or update the timer. */
void kit_urgency_set(struct kit_urgency *urgency, uint32_t id, struct kit_urge urge);

/* Remove the timer; harmless if it is not in. */
void kit_urgency_clear(struct kit_urgency *urgency, uint32_t id);

/* Return the most urgent timer; KIT_NO_TIMER if there is none. */
uint32_t kit_urgency_first(const struct kit_urgency *urgency);

/* Return the memory that it has from malloc. */
uint64_t kit_urgency_bytes(const struct kit_urgency *urgency);

/* Free all memory, and leave an empty one. */
void kit_urgency_release(struct kit_urgency *urgency);

#endif
