/*
 * kv_layout.h: under which keys kv-wheel's timers lie: how one gets there, how it is taken away,
 * and how those that are due are found.
 *
 * Every search begins at `first`, a key that no timer comes before.
 *
 * Internal to kv_wheel.c.
 */
#ifndef ALGOS_KV_LAYOUT_H
#define ALGOS_KV_LAYOUT_H

#include "kv_table.h"

/* --- layout=list ----------------------------------------------------------------------------- */

static struct kv_record head_key(const struct kv_wheel *wheel, uint64_t tick, uint64_t part)
{
    return numbered(TAG_HEAD, tick % SLOTS * wheel->partitions + part);
}

/* *generation is 0 where the list is empty. */
static enum tl_status get_head(struct kv_wheel *wheel, uint64_t tick, uint64_t part,
                               uint64_t *generation)
{
    struct kv_record head = head_key(wheel, tick, part);
    enum tl_status status = get(wheel, &head);
    *generation = status == TL_OK ? number_at(head.value, 8) : 0;
    return status == TL_IDLE ? TL_OK : status;
}

static enum tl_status put_head(struct kv_wheel *wheel, uint64_t tick, uint64_t part,
                               uint64_t generation)
{
    struct kv_record head = head_key(wheel, tick, part);
    if (generation == 0) {
        return erase(wheel, &head);
    }
    add(&head, generation, 8);
    return put(wheel, &head);
}

static enum tl_status get_task(struct kv_wheel *wheel, uint64_t generation, struct task *task)
{
    TL_COUNT(wheel, slots, 1);
    enum tl_status status = look_up(wheel, generation, task);
    return status == TL_IDLE ? TL_ERR_STORE : status; /* a list ends where it should not */
}

static enum tl_status put_task(struct kv_wheel *wheel, const struct task *task)
{
    struct kv_record record = listed(task);
    return put(wheel, &record);
}

static enum tl_status list_insert(struct kv_wheel *wheel, struct task *task)
{
    uint64_t part = task->id % wheel->partitions;
    enum tl_status status = get_head(wheel, task->due, part, &task->next);
    if (status == TL_OK) {
        status = put_task(wheel, task);
    }
    return status == TL_OK ? put_head(wheel, task->due, part, task->generation) : status;
}

/* Singly linked: it stays where it is, until its list is walked. */
static enum tl_status list_remove(struct kv_wheel *wheel, uint64_t generation)
{
    struct task task;
    enum tl_status status = get_task(wheel, generation, &task);
    task.is_stopped = true;
    return status == TL_OK ? put_task(wheel, &task) : status;
}

/* A walk along the lists of one slot. */
struct list_walk {
    uint64_t tick;
    uint64_t limit; /* of generations that are taken */
    uint32_t max;   /* so many are taken */
    uint64_t until; /* it ends when that generation was removed; 0: at the end */
    bool is_over;
};

/* Hands what is due to the batch. */
static void pick(struct kv_wheel *wheel, struct list_walk *walk, const struct task *task)
{
    TL_COUNT(wheel, compares, 1);
    if (task->due == walk->tick && (task->generation & ~HAS_CALL) <= walk->limit &&
        wheel->batch_count < walk->max) {
        wheel->batch[wheel->batch_count++] = *task;
        walk->is_over = wheel->batch_count == walk->max;
    }
}

/* What stays before a gap, or the head where nothing does, goes on to `generation`. */
static enum tl_status close_gap(struct kv_wheel *wheel, const struct list_walk *walk, uint64_t part,
                                struct task *before, uint64_t generation)
{
    before->next = generation;
    return before->generation == 0 ? put_head(wheel, walk->tick, part, generation)
                                   : put_task(wheel, before);
}

/* Takes what is due, and removes what is not meant any more. `before` is the one that stays before
 * `generation`; its own generation is 0 before the list's first. */
static enum tl_status list_walk_part(struct kv_wheel *wheel, struct list_walk *walk, uint64_t part)
{
    struct task before = {.generation = 0};
    struct task task = {.generation = 0};
    bool has_gap = false; /* behind `before` */
    uint64_t generation = 0;
    enum tl_status status = get_head(wheel, walk->tick, part, &generation);
    while (status == TL_OK && generation != 0 && !walk->is_over) {
        status = get_task(wheel, generation, &task);
        if (status == TL_OK && !is_meant(wheel, &task)) {
            struct kv_record gone = numbered(TAG_TASK, generation);
            status = erase(wheel, &gone);
            has_gap = true;
            walk->is_over = generation == walk->until;
        } else if (status == TL_OK) {
            if (has_gap) {
                status = close_gap(wheel, walk, part, &before, generation);
                has_gap = false;
            }
            before = task;
            pick(wheel, walk, &task);
        }
        generation = task.next;
    }
    return status == TL_OK && has_gap ? close_gap(wheel, walk, part, &before, generation) : status;
}

static enum tl_status list_walk(struct kv_wheel *wheel, struct list_walk *walk)
{
    enum tl_status status = TL_OK;
    for (uint64_t part = 0; part < wheel->partitions && status == TL_OK && !walk->is_over; part++) {
        status = list_walk_part(wheel, walk, part);
    }
    return status;
}

/* The earliest tick in the list at that head, or the first that is `tick`; IDLE:
 * nothing is meant. */
static enum tl_status list_earliest(struct kv_wheel *wheel, uint64_t generation, uint64_t tick,
                                    uint64_t *due)
{
    enum tl_status status = TL_OK;
    *due = IDLE;
    while (generation != 0 && *due != tick && status == TL_OK) {
        struct task task;
        status = get_task(wheel, generation, &task);
        if (status == TL_OK && is_meant(wheel, &task) && task.due < *due) {
            *due = task.due;
        }
        generation = status == TL_OK ? task.next : 0;
    }
    return status;
}

static bool keep_record(void *ctx, const struct kv_record *record)
{
    *(struct kv_record *)ctx = *record;
    return false;
}

/* --- all layouts ----------------------------------------------------------------------------- */

static enum tl_status insert(struct kv_wheel *wheel, struct task *task)
{
    if (wheel->layout == LAYOUT_LIST) {
        return list_insert(wheel, task);
    }
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
    if (wheel->layout == LAYOUT_LIST) {
        return list_remove(wheel, node->generation);
    }
    struct kv_record record = keyed(node->due, id);
    return erase(wheel, &record);
}

/* A search for the first timer; layout=list: it goes once round the wheel. */
struct search {
    struct kv_wheel *wheel;
    uint64_t turn; /* the tick of slot 0 in the turn that is searched */
    uint64_t end;  /* the slot before which it ends */
    uint64_t due;  /* the earliest so far */
    uint32_t id;
    bool is_found;
    bool has_passed_stale; /* layout=list: lists of which nothing is meant any more */
    enum tl_status status;
};

static bool visit_head(struct search *search, const struct kv_record *record)
{
    struct kv_wheel *wheel = search->wheel;
    uint64_t slot = slot_of_head(wheel, record);
    uint64_t due = IDLE;
    if (record->key[0] != TAG_HEAD || slot >= search->end) {
        return false;
    }
    search->status = list_earliest(wheel, number_at(record->value, 8), search->turn + slot, &due);
    search->due = due < search->due ? due : search->due;
    search->is_found = due == search->turn + slot;
    search->has_passed_stale |= due == IDLE;
    return search->status == TL_OK && !search->is_found;
}

static bool visit_for_first(void *ctx, const struct kv_record *record)
{
    struct search *search = ctx;
    struct kv_wheel *wheel = search->wheel;
    TL_COUNT(wheel, slots, 1);
    if (wheel->layout == LAYOUT_LIST) {
        return visit_head(search, record);
    }
    if (record->key[0] != TAG_TIMER) {
        return false;
    }
    struct task task = task_of_keyed(record);
    search->due = task.due;
    search->id = task.id;
    search->is_found = true;
    return false;
}

static enum tl_status search_from(struct search *search, uint64_t due, uint32_t id)
{
    struct kv_wheel *wheel = search->wheel;
    struct kv_record from = wheel->layout == LAYOUT_LIST ? head_key(wheel, due, 0) : keyed(due, id);
    enum tl_status status = seek(wheel, &from, visit_for_first, search);
    return status == TL_OK ? search->status : status;
}

/* Removes what is not meant any more from the slots from `from` on to that before `to`, but from no
 * more than there are. */
static enum tl_status sweep(struct kv_wheel *wheel, uint64_t from, uint64_t to)
{
    enum tl_status status = TL_OK;
    to = to - from < SLOTS ? to : from + SLOTS;
    while (status == TL_OK && from < to) {
        struct kv_record head = head_key(wheel, from, 0);
        uint64_t turn = from - from % SLOTS;
        status = seek(wheel, &head, keep_record, &head);
        uint64_t slot =
            head.key[0] == TAG_HEAD && head.value_bytes > 0 ? slot_of_head(wheel, &head) : SLOTS;
        from = turn + slot;
        if (status == TL_OK && slot < SLOTS && from < to) {
            struct list_walk walk = {.tick = from};
            status = list_walk(wheel, &walk);
            from++;
        }
    }
    return status;
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
    struct search search = {.wheel = wheel,
                            .turn = wheel->first_due - wheel->first_due % SLOTS,
                            .end = SLOTS,
                            .due = IDLE};
    enum tl_status status = TL_OK;
    if (wheel->lost == TL_OK) {
        status = search_from(&search, wheel->first_due, wheel->first_id);
        if (status == TL_OK && !search.is_found && wheel->layout == LAYOUT_LIST) {
            search.turn += SLOTS;
            search.end = wheel->first_due % SLOTS;
            status = search_from(&search, 0, 0);
        }
    }
    if (status == TL_OK && search.has_passed_stale) {
        status = sweep(wheel, wheel->first_due, search.due);
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
    } else if (wheel->layout == LAYOUT_LIST) {
        struct list_walk walk = {.tick = taking->due, .limit = taking->limit, .max = taking->max};
        status = list_walk(wheel, &walk);
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
    if (wheel->layout == LAYOUT_LIST) {
        const struct task *last = &wheel->batch[wheel->batch_count - 1];
        struct list_walk walk = {.tick = last->due, .until = last->generation};
        return list_walk(wheel, &walk);
    }
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
