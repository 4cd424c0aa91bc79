/*
 * recording.h: what a recording says next to its trace: where each operation is in it, on which
 * of several systems it was done, and when what was started expired there. Importers fill it if
 * their job asks for it; `predict` holds structures against it.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

/* An operation of the trace. Its number there is its place in the array. */
struct recorded_operation {
    uint64_t line; /* of the recording; no two operations have the same */
    uint32_t system;
    bool deferrable; /* the system may fire it later than it said */
};

/* An expiry of a timer. */
struct recorded_expiry {
    uint64_t tick;       /* of the trace */
    uint64_t line;       /* of the recording */
    uint64_t start_line; /* where the timer was started */
};

/* Zero at first. */
struct recording {
    struct recorded_operation *operations;
    struct recorded_expiry *expiries;
    uint32_t operation_count;
    uint32_t operation_room;
    uint32_t expiry_count;
    uint32_t expiry_room;
    uint32_t systems;     /* that operations name, from 0 */
    uint64_t grain_ticks; /* step of the recorded system's clock */
};

/* Adds the trace's next operation. */
void recording_add_operation(struct recording *recording, struct recorded_operation operation);

/* Adds an expiry. */
void recording_add_expiry(struct recording *recording, struct recorded_expiry expiry);

void recording_free(struct recording *recording);

#endif
