/*
 * recording.h: data of a recording in addition to its trace: the line and the system of each
 * operation, and the recorded expiries. Importers fill it on request; `predict` compares structures
 * with it.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

/* An operation of the trace. Its index is its number there. */
struct recorded_operation {
    uint64_t line; /* of the recording; unique */
    uint32_t system;
    bool deferrable; /* the system may fire it late */
};

/* An expiry of a timer. */
struct recorded_expiry {
    uint64_t tick;       /* of the trace */
    uint64_t line;       /* of the recording */
    uint64_t start_line; /* of the timer's start */
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

/* Add the trace's next operation. */
void recording_add_operation(struct recording *recording, struct recorded_operation operation);

/* Add an expiry. */
void recording_add_expiry(struct recording *recording, struct recorded_expiry expiry);

void recording_free(struct recording *recording);

#endif
