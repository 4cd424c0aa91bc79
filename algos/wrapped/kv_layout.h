/*
 * kv_layout.h: how a timer of kv-wheel gets into the table and out of it, and how those that are
 * due are found.
 *
 * Every search begins at `first`, a key that no timer comes before.
 *
 * Internal to kv_wheel.c.
 */
#ifndef ALGOS_KV_LAYOUT_H
#define ALGOS_KV_LAYOUT_H

#include "kv_table.h"

static bool keep_record(void *ctx, const struct kv_record *record)
{
    *(struct kv_record *)ctx = *record;
    return false;
}

static enum tl_status insert(struct kv_wheel *wheel, struct task *task)
{
    struct kv_record record = keyed(task->due, task->id);
    add(&record, task->generation, 8);
    add_deadline(&record, task);
    return put(wheel, &record);
}

static enum tl_status erase_call(struct kv_wheel *wheel, uint32_t id, uint64_t generation)
{
    struct kv_record key = call_key(id, generation);
    return (generation & HAS_CALL) != 0 ? erase(wheel, &key) : TL_OK;
}

static enum tl_status extract(struct kv_wheel *wheel, uint32_t id, const struct node *node)
{
    enum tl_status status = erase_call(wheel, id, node->generation);
    if (status != TL_OK) {
        return status;
    }
    struct kv_record record = keyed(node->due, id);
    return erase(wheel, &record);
}

/* A search for the first timer. */
struct search {
    uint64_t due;
    uint32_t id;
};

static bool visit_for_first(void *ctx, const struct kv_record *record)
{
    struct search *search = ctx;
    if (record->key[0] == TAG_TIMER) {
        struct task task = task_of_keyed(record);
        search->due = task.due;
        search->id = task.id;
    }
    return false;
}

/* While the store is behind: from the nodes. */
static uint64_t earliest_node(const struct kv_wheel *wheel)
{
    uint64_t due = IDLE;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = &wheel->nodes[id];
        due = is_waiting(node) && node->due < due ? node->due : due;
    }
    return due;
}

/* The tick of the first timer in the store; IDLE: there is none. */
static uint64_t find_first(struct kv_wheel *wheel)
{
    if (wheel->count == 0) {
        return IDLE;
    }
    if (wheel->first_is_exact) {
        return wheel->first_due;
    }
    struct search search = {.due = IDLE};
    enum tl_status status = TL_OK;
    if (wheel->lost == TL_OK) {
        struct kv_record from = keyed(wheel->first_due, wheel->first_id);
        TL_COUNT(wheel, slots, 1);
        status = seek(wheel, &from, visit_for_first, &search);
    }
    if (status != TL_OK) {
        lose(wheel, status);
    }
    if (wheel->lost != TL_OK) {
        search.due = earliest_node(wheel);
        search.id = 0;
    }
    wheel->first_due = search.due;
    wheel->first_id = search.id;
    wheel->first_is_exact = true;
    return search.due;
}

/* --- what is due ----------------------------------------------------------------------------- */

/* Where an advance is, and what it may take. */
struct taking {
    struct kv_wheel *wheel;
    uint64_t due; /* from this key on */
    uint32_t id;
    uint64_t now;
    uint64_t limit; /* of generations: what callbacks start has later ones */
    uint32_t max;
};

static bool visit_to_take(void *ctx, const struct kv_record *record)
{
    struct taking *taking = ctx;
    struct kv_wheel *wheel = taking->wheel;
    TL_COUNT(wheel, slots, 1);
    TL_COUNT(wheel, compares, 1);
    if (record->key[0] != TAG_TIMER) {
        return false;
    }
    struct task task = task_of_keyed(record);
    if (task.due > taking->now) {
        return false;
    }
    if ((task.generation & ~HAS_CALL) > taking->limit) {
        return true; /* of a later advance */
    }
    wheel->batch[wheel->batch_count++] = task;
    taking->due = task.due;
    taking->id = task.id;
    return wheel->batch_count < taking->max;
}

/* All of one tick, in no order, until there are enough. */
static void take_from_nodes(const struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    for (uint32_t id = 0; id < wheel->capacity && wheel->batch_count < taking->max; id++) {
        const struct node *node = &wheel->nodes[id];
        if (node->due == taking->due && (node->generation & ~HAS_CALL) <= taking->limit) {
            wheel->batch[wheel->batch_count++] = task_of_node(wheel, id);
        }
    }
}

/* Fills the batch with what is due. */
static enum tl_status take(struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    enum tl_status status = TL_OK;
    wheel->batch_count = 0;
    if (wheel->lost != TL_OK) {
        take_from_nodes(taking);
    } else {
        struct kv_record from = keyed(taking->due, taking->id);
        status = seek(wheel, &from, visit_to_take, taking);
    }
    for (uint32_t i = 0; i < wheel->batch_count; i++) {
        wheel->nodes[wheel->batch[i].id].due = TAKEN;
    }
    wheel->first_is_exact = wheel->first_is_exact && wheel->batch_count == 0;
    return status;
}

/* Removes the batch from the store, but for a record that a callback has written over. */
static enum tl_status drop(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK; i++) {
        const struct task *task = &wheel->batch[i];
        if (wheel->nodes[task->id].due != task->due) {
            struct kv_record record = keyed(task->due, task->id);
            status = erase(wheel, &record);
        }
    }
    return status;
}

#endif
