/* Fuzzing target: bytes as operations on a built-in structure, compared with the model. The first
 * byte selects the structure. */
#include "kit.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const struct tl_entry *entry = tl_registry_at(data[0] % tl_registry_count());
    if ((entry->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        struct kit_target target = kit_target_of(entry->timed, entry->counted);
        target.embedded = tl_entry_for_records(entry);
        kit_run_bytes(&target, data + 1, size - 1);
    }
    return 0;
}
