#include "recording.h"

#include "memory.h"

#include <stdlib.h>

void recording_add_operation(struct recording *recording, struct recorded_operation operation)
{
    MEMORY_REACH(recording->operations, recording->operation_room, recording->operation_count);
    recording->operations[recording->operation_count++] = operation;
    if (operation.system >= recording->systems) {
        recording->systems = operation.system + 1;
    }
}

void recording_add_expiry(struct recording *recording, struct recorded_expiry expiry)
{
    MEMORY_REACH(recording->expiries, recording->expiry_room, recording->expiry_count);
    recording->expiries[recording->expiry_count++] = expiry;
}

void recording_free(struct recording *recording)
{
    free(recording->operations);
    free(recording->expiries);
    *recording = (struct recording){0};
}
