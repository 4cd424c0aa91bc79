/* Fuzzing target: bytes as operations on a built-in structure, compared with the model. The first
 * byte selects the structure. */
#include "child.h"
#include "fuzz.h"
#include "kit_play.h"

#include <string.h>

static void abort_with_fault(struct kit_witness *witness)
{
    struct kit_trace trace;
    kit_log_trace(&witness->log, &trace);
    (void)fprintf(stderr, "%s: %s: %s\n", witness->timed->name, fault_word(witness->fault),
                  witness->message);
    kit_trace_write(&trace, witness->timed, stderr);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kit_witness *witness;
    if (size == 0) {
        return 0;
    }
    const struct tl_entry *entry = tl_registry_at(data[0] % tl_registry_count());
    if ((entry->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        struct kit_target target = kit_target_of(entry->timed, entry->counted);
        target.embedded = tl_entry_for_records(entry);
        witness = witness != NULL ? witness : child_memory_new(sizeof *witness);
        memset(witness, 0, KIT_WITNESS_CLEARED);
        witness->timed = entry->timed;
        witness->give_up = abort_with_fault;
        kit_interpret(&target, data + 1, size - 1, witness);
    }
    return 0;
}
