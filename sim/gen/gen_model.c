#include "gen_model.h"

#include <inttypes.h>
#include <stdlib.h>

void *gen_state(struct gen_model *model, size_t bytes)
{
    model->state = calloc(1, bytes);
    if (model->state == NULL) {
        (void)gen_out_of_memory(model);
    }
    return model->state;
}

bool gen_model_begin(struct gen_model *model, size_t record_bytes, uint64_t now,
                     uint64_t reach_ticks)
{
    model->record_bytes = record_bytes;
    model->records = calloc(model->connections, record_bytes);
    return (model->records != NULL && gen_ring_create(&model->ring, now, reach_ticks)) ||
           gen_out_of_memory(model);
}

bool gen_out_of_memory(struct gen_model *model)
{
    model->failed = true;
    return error_set(model->error, "%s: out of memory for %" PRIu32 " connections",
                     model->workload->name, model->connections);
}

void gen_pending_collect(const struct gen_model *model, struct gen_pending_list *list)
{
    const char *record = model->records;
    for (uint32_t i = 0; i < model->connections; i++, record += model->record_bytes) {
        if (model->workload->pending != NULL) {
            model->workload->pending(model, i, list);
            continue;
        }
        const struct gen_timer *timers = (const void *)record;
        for (unsigned k = 0; k < model->kind_count; k++) {
            if (timers[k].delay_ticks > 0) {
                gen_pending_add(list, k, gen_timer_id(model, i, k), timers[k].due,
                                timers[k].delay_ticks);
            }
        }
    }
}

void gen_pending_sort(struct gen_pending *pending, struct gen_pending *spare, size_t count)
{
    uint64_t used = 0; /* bits in which they differ: the first is as good as any */
    for (size_t i = 0; i < count; i++) {
        used |= pending[i].started ^ pending[0].started;
    }
    /* Two passes at a time: sorted where it began. */
    for (unsigned shift = 0; shift < 64 && used >> shift != 0; shift += 16) {
        for (unsigned half = 0; half < 16; half += 8) {
            size_t at[257] = {0};
            for (size_t i = 0; i < count; i++) {
                at[(pending[i].started >> (shift + half) & 0xff) + 1]++;
            }
            for (unsigned i = 0; i < 256; i++) {
                at[i + 1] += at[i];
            }
            for (size_t i = 0; i < count; i++) {
                spare[at[pending[i].started >> (shift + half) & 0xff]++] = pending[i];
            }
            struct gen_pending *other = pending;
            pending = spare;
            spare = other;
        }
    }
}
