#include "gen_model.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Sizes of the ring, in ticks. */
#define RING_MIN   (UINT64_C(1) << 10)
#define RING_MAX   (UINT64_C(1) << 20)

/* Numbers of a tick are visited in blocks of this size, the last block first. Another order gives
 * other traces. */
#define RING_BLOCK 14u

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
    gen_ring_create(&model->ring, model->connections, now, reach_ticks);
    uint32_t id = model->workload->ids_when_used ? 0 : model->first_id;
    for (uint32_t i = 0; i < model->connections; i++) {
        for (uint32_t end = 0; end < model->ends; end++) {
            for (unsigned k = 0; k < model->kind_count; k++) {
                gen_timers_of(model, i, end)[k].id = id++;
            }
        }
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
    if (!fired) {
        return;
    }
    uint32_t id = model->workload->ids_when_used ? model->places : *model->ids;
    (void)gen_take_ids(model, model->kind_count);
    for (unsigned k = 0; k < model->kind_count; k++) {
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

/* --- the ring -------------------------------------------------------------------------------- */

void gen_ring_create(struct gen_ring *ring, uint32_t numbers, uint64_t now, uint64_t reach_ticks)
{
    *ring = (struct gen_ring){.now = now, .size = RING_MIN};
    while (ring->size <= reach_ticks && ring->size < RING_MAX) {
        ring->size *= 2;
    }
    ring->lists = memory_new(ring->size, sizeof *ring->lists);
    ring->next = memory_new(numbers, sizeof *ring->next);
}

void gen_ring_destroy(struct gen_ring *ring)
{
    free(ring->lists);
    free(ring->next);
    free(ring->far);
    *ring = (struct gen_ring){0};
}

void gen_ring_add(struct gen_ring *ring, uint64_t tick, uint32_t number)
{
    if (tick - ring->now >= ring->size) {
        MEMORY_REACH(ring->far, ring->far_room, ring->far_count);
        ring->far[ring->far_count++] = (struct gen_ring_far){.tick = tick, .number = number};
        return;
    }
    struct gen_ring_list *list = &ring->lists[tick & (ring->size - 1)];
    uint32_t *link = list->count % RING_BLOCK == 0 ? &list->first : &ring->next[list->last];
    ring->next[number] = *link;
    *link = number;
    list->last = number;
    list->count++;
}

uint32_t gen_ring_take(struct gen_ring *ring, uint32_t *first)
{
    if (ring->now % (ring->size / 2) == 0) {
        /* Add the far events again; the ring keeps apart those that are still beyond its reach. */
        const size_t count = ring->far_count;
        ring->far_count = 0;
        for (size_t i = 0; i < count; i++) {
            gen_ring_add(ring, ring->far[i].tick, ring->far[i].number);
        }
    }
    struct gen_ring_list *list = &ring->lists[ring->now & (ring->size - 1)];
    const uint32_t count = list->count;
    *first = list->first;
    list->count = 0;
    ring->now++;
    return count;
}
