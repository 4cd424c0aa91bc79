#include "gen_model.h"

#include "memory.h"

#include <inttypes.h>
#include <string.h>

const struct tl_choice gen_rearm_words[] = {
    {"delay", 0, NULL}, {"rate", 1, NULL}, {"absolute", 2, NULL}, {0}};

bool gen_ordered(struct gen_model *model, unsigned low, unsigned high, double high_unit)
{
    const struct tl_option *rows = model->workload->parameters;
    return model->parameters[low] <= model->parameters[high] * high_unit ||
           error_set(model->error, "%s: %s is above %s", model->workload->name, rows[low].name,
                     rows[high].name);
}

bool gen_span_read(struct gen_model *model, unsigned row, struct gen_span *span)
{
    const double *p = model->parameters;
    *span = (struct gen_span){.min_ticks = p[row] * gen_per_second(model),
                              .max_ticks = p[row + 1] * gen_per_second(model),
                              .distinct = (uint32_t)p[row + 2]};
    return gen_ordered(model, row, row + 1, 1);
}

void gen_model_begin(struct gen_model *model, size_t record_bytes, uint64_t now,
                     uint64_t reach_ticks)
{
    model->record_bytes = record_bytes;
    model->records = memory_new(model->connections, record_bytes);
    gen_ring_create(&model->ring, now, reach_ticks);
    char *record = model->records;
    uint32_t id = model->first_id;
    for (uint32_t i = 0; model->workload->pending == NULL && i < model->connections; i++) {
        struct gen_timer *timers = (void *)record;
        for (unsigned k = 0; k < model->kind_count; k++) {
            timers[k].id = id++;
        }
        record += record_bytes;
    }
}

bool gen_too_many_timers(struct gen_model *model)
{
    model->failed = true;
    return error_set(model->error, "%s: more timers than a trace can name", model->workload->name);
}

/* Add ids for the places from `place` on. */
static bool add_ids(struct gen_model *model, uint32_t place, uint32_t count)
{
    const uint32_t first = *model->ids;
    struct gen_names *list = model->names;
    if (count > UINT32_MAX - first) {
        return gen_too_many_timers(model);
    }
    if (list != NULL && count > 0) {
        MEMORY_REACH(list->names, list->room, first + count - 1);
        for (uint32_t i = 0; i < count; i++) {
            list->names[first + i] = model->number + model->name_step * (place + (uint64_t)i);
        }
    }
    *model->ids += count;
    return true;
}

/* Add places without an id. */
static bool add_places(struct gen_model *model, uint32_t count)
{
    const uint32_t first = model->places;
    if (count > UINT32_MAX - first) {
        return gen_too_many_timers(model);
    }
    if (count > 0) {
        MEMORY_REACH(model->id_of, model->id_room, first + count - 1);
        memset(model->id_of + first, 0, count * sizeof *model->id_of);
    }
    return true;
}

bool gen_take_ids(struct gen_model *model, uint32_t count)
{
    bool good = model->workload->ids_when_used ? add_places(model, count)
                                               : add_ids(model, model->places, count);
    model->places += good ? count : 0;
    return good;
}

uint32_t gen_new_ids(struct gen_model *model)
{
    uint32_t first = model->workload->ids_when_used ? model->places : *model->ids;
    (void)gen_take_ids(model, model->kind_count);
    return first;
}

uint32_t gen_place_id(struct gen_model *model, uint32_t place)
{
    uint32_t *id = &model->id_of[place];
    if (*id == 0) {
        uint32_t next = *model->ids;
        *id = add_ids(model, place, 1) ? next + 1 : 1;
    }
    return *id - 1;
}

void gen_timers_renew(struct gen_model *model, struct gen_timer *timers)
{
    bool fired = false;
    for (unsigned k = 0; k < model->kind_count; k++) {
        fired = fired || timers[k].fired;
    }
    uint32_t id = fired ? gen_new_ids(model) : 0;
    for (unsigned k = 0; fired && k < model->kind_count; k++) {
        timers[k].id = id + k;
        timers[k].fired = false;
    }
}

double gen_comes_within(double ticks, double mean_ticks)
{
    return 1 - random_exp(-(ticks < 700 * mean_ticks ? ticks / mean_ticks : 700));
}

void gen_place_restarted(struct gen_model *model, struct gen_timer *timer, uint64_t now,
                         uint64_t delay_ticks, double gap_ticks, double within)
{
    double age = -gap_ticks * random_log(1 - random_unit(&model->random) * within);
    uint64_t age_ticks = gen_whole_ticks(age);
    gen_timer_place(timer, now, delay_ticks, age_ticks < delay_ticks ? age_ticks : delay_ticks);
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
                gen_pending_add(list, k, timers[k].id, timers[k].due, timers[k].delay_ticks);
            }
        }
    }
}

void gen_pending_sort(struct gen_pending *pending, struct gen_pending *spare, size_t count)
{
    uint64_t used = 0; /* bits in which they differ: any one is as good as the first as reference */
    for (size_t i = 0; i < count; i++) {
        used |= pending[i].started ^ pending[0].started;
    }
    /* Two passes at a time, so that the result is in the original array. */
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
