#include "recording.h"

#include "growing_array.h"

#include <stdlib.h>

bool recording_add_operation(struct recording *recording, struct recorded_operation operation)
{
    struct recorded_operation *operations =
        array_reach(recording->operations, &recording->operation_room, recording->operation_count,
                    sizeof *operations);
    if (operations == NULL) {
        return false;
    }
    recording->operations = operations;
    operations[recording->operation_count++] = operation;
    if (operation.system >= recording->systems) {
        recording->systems = operation.system + 1;
    }
    return true;
}

bool recording_add_expiry(struct recording *recording, struct recorded_expiry expiry)
{
    struct recorded_expiry *expiries = array_reach(recording->expiries, &recording->expiry_room,
                                                   recording->expiry_count, sizeof *expiries);
    if (expiries == NULL) {
        return false;
    }
    recording->expiries = expiries;
    expiries[recording->expiry_count++] = expiry;
    return true;
}

void recording_free(struct recording *recording)
{
    free(recording->operations);
    free(recording->expiries);
    *recording = (struct recording){0};
}
