/*
 * Four wheels of 16 slots, each slot of one as wide as the wheel below; timers move down a level
 * when their slot comes. Exact, in no order, with a horizon. Right where WRONG is NOTHING.
 *
 * Where it is COARSE, deadlines are rounded up to whole slots of their level instead, and timers
 * never move: late by less than a slot, as declared.
 */
#include "wrong.h"

#include "lists.h"

enum wrong {
    NOTHING,
    COARSE,
    LOSES_SLOT_START,
    LEAVES_FIRST_ON_CASCADE,
    CASCADES_AFTER_FIRING,
    FIRES_WITHOUT_REFILING,
    IDLE_CLOCK_STANDS,
    JUMP_SKIPS_CASCADES,
    NEXT_FORGETS_CASCADES,
    NEXT_LOOKS_ONE_UP,
    LATER_THAN_DECLARED,
    ROUNDS_DOWN
};

#define BITS    4
#define SLOTS   (1u << BITS)
#define LEVELS  4
#define HORIZON (UINT64_C(1) << (BITS * LEVELS))
#define DUE     (LEVELS * SLOTS)
#define LATE    (DUE + 1) /* timers that are due at their start */
#define LISTS   (DUE + 2)

enum { IS_COARSE = WRONG == COARSE || WRONG == LATER_THAN_DECLARED || WRONG == ROUNDS_DOWN };

/* Delays below this go to the level. Rounded up, a delay may reach one slot further. */
static uint64_t reach_of(unsigned level)
{
    return (UINT64_C(1) << (BITS * level)) * (IS_COARSE ? SLOTS - 1 : SLOTS);
}

static unsigned level_of(uint64_t delay)
{
    unsigned level = 0;
    while (level + 1 < LEVELS && delay >= reach_of(level)) {
        level++;
    }
    return level;
}

struct cascade {
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint64_t clock;
    uint64_t count;
};

static enum tl_status cascade_reserve(void *self, uint32_t capacity)
{
    struct cascade *cascade = self;
    if (capacity > cascade->capacity) {
        if (!grow_nodes(cascade->allocator, &cascade->nodes, LISTS + cascade->capacity,
                        LISTS + capacity)) {
            return TL_ERR_NOMEM;
        }
        cascade->capacity = capacity;
    }
    return TL_OK;
}

static void cascade_destroy(void *self)
{
    struct cascade *cascade = self;
    tl_free(cascade->allocator, cascade->nodes,
            (LISTS + cascade->capacity) * sizeof *cascade->nodes, alignof(struct node));
    tl_free(cascade->allocator, cascade, sizeof *cascade, alignof(struct cascade));
}

static enum tl_status cascade_create(const struct tl_config *config, void **self)
{
    struct cascade *cascade = tl_alloc(config->allocator, sizeof *cascade, alignof(struct cascade));
    if (cascade == NULL) {
        return TL_ERR_NOMEM;
    }
    *cascade = (struct cascade){
        .allocator = config->allocator, .capacity = config->capacity, .clock = config->now};
    if (!grow_nodes(cascade->allocator, &cascade->nodes, 0, LISTS + cascade->capacity)) {
        tl_free(config->allocator, cascade, sizeof *cascade, alignof(struct cascade));
        return TL_ERR_NOMEM;
    }
    *self = cascade;
    return TL_OK;
}

static enum tl_status cascade_stop(void *self, uint32_t id)
{
    struct cascade *cascade = self;
    if (!is_linked(cascade->nodes, LISTS + id)) {
        return TL_IDLE;
    }
    unlink_node(cascade->nodes, LISTS + id);
    cascade->count--;
    return TL_OK;
}

/* Files a timer that is due at or after tick `clock`, in no list, and within the horizon. */
static void file_timer(struct cascade *cascade, uint32_t index, uint64_t clock)
{
    uint64_t due = cascade->nodes[index].due;
    unsigned level = level_of(due - clock);
    uint64_t slot = due >> (BITS * level);
    if (IS_COARSE && WRONG != ROUNDS_DOWN && slot << (BITS * level) < due) {
        slot++;
    }
    append_node(cascade->nodes, level * SLOTS + (uint32_t)(slot % SLOTS), index);
}

static enum tl_status cascade_start(void *self, uint32_t id, uint64_t deadline)
{
    struct cascade *cascade = self;
    if (deadline > cascade->clock && deadline - cascade->clock >= reach_of(LEVELS - 1)) {
        return TL_ERR_HORIZON;
    }
    (void)cascade_stop(self, id);
    cascade->nodes[LISTS + id].due = deadline;
    cascade->count++;
    if (deadline <= cascade->clock) {
        append_node(cascade->nodes, LATE, LISTS + id);
    } else {
        file_timer(cascade, LISTS + id, cascade->clock);
    }
    return TL_OK;
}

/* Refile the timers of a slot of an upper level, at its time. */
static void cascade_slot(struct cascade *cascade, uint32_t slot, uint64_t tick)
{
    struct node *nodes = cascade->nodes;
    uint32_t stays = WRONG == LEAVES_FIRST_ON_CASCADE ? nodes[slot].next : slot;
    uint32_t index = nodes[stays].next;
    if (IS_COARSE || WRONG == FIRES_WITHOUT_REFILING) {
        append_all(nodes, DUE, slot);
        return;
    }
    while (index != slot) {
        uint32_t next = nodes[index].next;
        if (nodes[index].due - tick < HORIZON) {
            unlink_node(nodes, index);
            if (WRONG != LOSES_SLOT_START || nodes[index].due != tick) {
                file_timer(cascade, index, tick);
            }
        }
        index = next;
    }
}

static void cascade_levels(struct cascade *cascade, uint64_t tick)
{
    for (unsigned level = LEVELS - 1; level > 0; level--) {
        if (tick % (UINT64_C(1) << (BITS * level)) == 0) {
            cascade_slot(cascade, level * SLOTS + (uint32_t)((tick >> (BITS * level)) % SLOTS),
                         tick);
        }
    }
}

static void one_tick(struct cascade *cascade, uint64_t tick)
{
    if (WRONG != CASCADES_AFTER_FIRING) {
        cascade_levels(cascade, tick);
    }
    append_all(cascade->nodes, DUE, (uint32_t)(tick % SLOTS));
    if (WRONG == CASCADES_AFTER_FIRING) {
        cascade_levels(cascade, tick);
    }
}

static uint64_t cascade_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct cascade *cascade = self;
    if (WRONG == IDLE_CLOCK_STANDS && cascade->count == 0) {
        return 0;
    }
    append_all(cascade->nodes, DUE, LATE);
    /* No timer is beyond the horizon. */
    uint64_t last = now - cascade->clock > HORIZON ? cascade->clock + HORIZON : now;
    if (WRONG == JUMP_SKIPS_CASCADES && now - cascade->clock > SLOTS * SLOTS) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            append_all(cascade->nodes, DUE, slot);
        }
    } else {
        for (uint64_t tick = cascade->clock + 1; tick <= last; tick++) {
            one_tick(cascade, tick);
        }
    }
    cascade->clock = now;
    uint64_t fired = 0;
    while (fired < budget && is_linked(cascade->nodes, DUE)) {
        uint32_t index = cascade->nodes[DUE].next;
        unlink_node(cascade->nodes, index);
        cascade->count--;
        fired++;
        fire(ctx, index - LISTS, now);
    }
    return fired;
}

static uint64_t cascade_next(const void *self)
{
    const struct cascade *cascade = self;
    if (cascade->count == 0) {
        return TL_NEVER;
    }
    if (is_linked(cascade->nodes, DUE) || is_linked(cascade->nodes, LATE)) {
        return cascade->clock;
    }
    uint64_t cascading = (cascade->clock / SLOTS + 1) * SLOTS;
    bool one_up = is_linked(cascade->nodes, SLOTS + (uint32_t)(cascading / SLOTS % SLOTS));
    bool goes_past = WRONG == NEXT_FORGETS_CASCADES || (WRONG == NEXT_LOOKS_ONE_UP && !one_up);
    uint64_t limit = goes_past ? cascade->clock + SLOTS : cascading;
    for (uint64_t tick = cascade->clock + 1; tick <= limit; tick++) {
        if (is_linked(cascade->nodes, (uint32_t)(tick % SLOTS))) {
            return tick;
        }
    }
    return cascading;
}

static uint64_t cascade_count(const void *self)
{
    return ((const struct cascade *)self)->count;
}

static struct tl_precision coarse_precision(const void *options, uint64_t delay_ticks)
{
    (void)options;
    if (WRONG == LATER_THAN_DECLARED) {
        return (struct tl_precision){.late_ticks = delay_ticks / 8};
    }
    return (struct tl_precision){.late_ticks = (UINT64_C(1) << (BITS * level_of(delay_ticks))) - 1};
}

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = (IS_COARSE ? 0 : TL_CAP_EXACT) | TL_CAP_NEXT | TL_CAP_BUDGET,
    .precision = IS_COARSE ? coarse_precision : NULL,
    .create = cascade_create,
    .destroy = cascade_destroy,
    .reserve = cascade_reserve,
    .start = cascade_start,
    .stop = cascade_stop,
    .advance = cascade_advance,
    .next = cascade_next,
    .count = cascade_count,
};
