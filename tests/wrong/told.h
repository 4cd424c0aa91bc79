/*
 * Three wheels of 32 slots, each slot of one as wide as the wheel below, and a list for what is
 * further: exact, in no order. It tells of its inside all that can be told, and is right where
 * WRONG is NOTHING.
 */
#define WRONG_COST                                                                                 \
    {                                                                                              \
        .start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"                          \
    }
#include "wrong.h"

#include "lists.h"

enum wrong {
    NOTHING,
    COUNTERS_SHARED,
    COUNTERS_FORGOTTEN_BY_RESERVE,
    COUNTERS_COUNT_READING,
    COUNTERS_COUNT_CHECKS,
    CASCADES_COUNT_TWICE,
    STARTS_NOT_COUNTED,
    CHECK_MOVES,
    WALK_MOVES,
    WALK_IN_NEXT_CELL,
    WALK_REPEATS_CELLS,
    WALK_OMITS_EMPTY,
    WALK_TWO_HANDS,
    WALK_WRONG_TICK,
    WALK_PARENTS,
    START_SCANS,
    START_SCANS_AT_TIMES,
    RESTART_SCANS,
    STOP_SCANS,
    TICK_SCANS,
    EXPIRY_SCANS,
    SEARCHES_IN_ORDER,
    START_WALKS,
    RESTART_WALKS,
    STOP_WALKS,
    TICK_WALKS,
    EXPIRY_WALKS,
    MOVES_NOT_COUNTED,
    START_GROWS_AS_BORNE,
    START_GROWS_A_LITTLE_MORE,
    STOP_WALKS_WHEN_MANY,
    TICK_WALKS_WHEN_MANY
};

#define BITS   5
#define SLOTS  (1u << BITS)
#define LEVELS 3u
#define DUE    (LEVELS * SLOTS)
#define FAR    (DUE + 1) /* beyond the wheels */
#define LATE   (DUE + 2) /* what is due when it is started */
#define LISTS  (DUE + 3)

struct told {
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint64_t starts;
    uint64_t clock;
    uint64_t count;
    struct tl_counters counters;
};

static struct tl_counters all_counters;

static struct tl_counters *counters_of(struct told *told)
{
    return WRONG == COUNTERS_SHARED ? &all_counters : &told->counters;
}

/* Looks at all timers, for nothing. */
static void scan(struct told *told)
{
    counters_of(told)->compares += told->count;
}

/* Visits the timers of a list from that one to the last, and counts nothing. */
static void walk_list(const struct told *told, uint32_t index)
{
    volatile uint32_t at = index;
    while (at >= LISTS) {
        at = told->nodes[at].next;
    }
}

static enum tl_status told_reserve(void *self, uint32_t capacity)
{
    struct told *told = self;
    if (capacity > told->capacity) {
        if (!grow_nodes(told->allocator, &told->nodes, LISTS + told->capacity, LISTS + capacity)) {
            return TL_ERR_NOMEM;
        }
        told->capacity = capacity;
        if (WRONG == COUNTERS_FORGOTTEN_BY_RESERVE) {
            told->counters = (struct tl_counters){0};
        }
    }
    return TL_OK;
}

static void told_destroy(void *self)
{
    struct told *told = self;
    tl_free(told->allocator, told->nodes, (LISTS + told->capacity) * sizeof *told->nodes,
            alignof(struct node));
    tl_free(told->allocator, told, sizeof *told, alignof(struct told));
}

static enum tl_status told_create(const struct tl_config *config, void **self)
{
    struct told *told = tl_alloc(config->allocator, sizeof *told, alignof(struct told));
    if (told == NULL) {
        return TL_ERR_NOMEM;
    }
    *told = (struct told){
        .allocator = config->allocator, .capacity = config->capacity, .clock = config->now};
    if (!grow_nodes(told->allocator, &told->nodes, 0, LISTS + told->capacity)) {
        tl_free(config->allocator, told, sizeof *told, alignof(struct told));
        return TL_ERR_NOMEM;
    }
    *self = told;
    return TL_OK;
}

static enum tl_status told_stop(void *self, uint32_t id)
{
    struct told *told = self;
    if (!is_linked(told->nodes, LISTS + id)) {
        return TL_IDLE;
    }
    if (WRONG == STOP_SCANS) {
        scan(told);
    }
    if (WRONG == STOP_WALKS || (WRONG == STOP_WALKS_WHEN_MANY && told->count > 4096)) {
        walk_list(told, LISTS + id);
    }
    unlink_node(told->nodes, LISTS + id);
    told->count--;
    counters_of(told)->moves++;
    return TL_OK;
}

/* The list for a due tick: the lowest level on which it is in the turn that the clock is in. */
static uint32_t list_for(const struct told *told, uint64_t due)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        if (due >> (BITS * (level + 1)) == told->clock >> (BITS * (level + 1))) {
            return level * SLOTS + (uint32_t)(due >> (BITS * level)) % SLOTS;
        }
    }
    return FAR;
}

static void file_timer(struct told *told, uint32_t index)
{
    counters_of(told)->moves++;
    append_node(told->nodes, list_for(told, told->nodes[index].due), index);
}

static enum tl_status told_start(void *self, uint32_t id, uint64_t deadline)
{
    struct told *told = self;
    struct tl_counters before = *counters_of(told);
    bool restart = told_stop(self, id) == TL_OK;
    if (WRONG == STOP_SCANS) {
        *counters_of(told) = before;
    }
    if (WRONG == START_SCANS || (WRONG == RESTART_SCANS && restart) ||
        (WRONG == START_SCANS_AT_TIMES && ++told->starts % 64 == 0)) {
        scan(told);
    }
    if (WRONG == START_GROWS_AS_BORNE || WRONG == START_GROWS_A_LITTLE_MORE) {
        /* From 11 with few timers, its own move and these, to 17, or to 18, with many: what grows
         * by no more than two fifths and 2 does not grow. */
        const uint64_t with_many = WRONG == START_GROWS_AS_BORNE ? 16 : 17;
        counters_of(told)->compares += told->capacity > 256 ? with_many : 10;
    }
    if (WRONG == SEARCHES_IN_ORDER) {
        /* As in a sorted list that is searched from its end. */
        uint32_t last = told->nodes[FAR].prev;
        while (last != FAR && told->nodes[last].due > deadline) {
            counters_of(told)->compares++;
            last = told->nodes[last].prev;
        }
    }
    told->nodes[LISTS + id].due = deadline;
    told->count++;
    if (deadline <= told->clock) {
        append_node(told->nodes, LATE, LISTS + id);
        counters_of(told)->moves++;
    } else {
        file_timer(told, LISTS + id);
    }
    if (WRONG == START_WALKS || (WRONG == RESTART_WALKS && restart)) {
        walk_list(told, told->nodes[told->nodes[LISTS + id].next].next);
    }
    if (WRONG == STARTS_NOT_COUNTED) {
        *counters_of(told) = before;
    }
    return TL_OK;
}

/* Files all of a list again: the clock has come to its slot. */
static void cascade(struct told *told, uint32_t list)
{
    uint32_t end = told->nodes[list].prev;
    bool more = is_linked(told->nodes, list);
    while (more) {
        uint32_t index = told->nodes[list].next;
        more = index != end;
        unlink_node(told->nodes, index);
        file_timer(told, index);
        counters_of(told)->cascades += WRONG == CASCADES_COUNT_TWICE ? 2 : 1;
    }
}

static void one_tick(struct told *told, uint64_t tick)
{
    told->clock = tick;
    if (WRONG == TICK_SCANS) {
        scan(told);
    }
    if (WRONG == TICK_WALKS || (WRONG == TICK_WALKS_WHEN_MANY && told->count > 4096)) {
        walk_list(told, told->nodes[FAR].next);
    }
    if (tick % (UINT64_C(1) << (BITS * LEVELS)) == 0) {
        cascade(told, FAR);
    }
    for (uint32_t level = LEVELS - 1; level > 0; level--) {
        if (tick % (UINT64_C(1) << (BITS * level)) == 0) {
            counters_of(told)->slots++;
            cascade(told, level * SLOTS + (uint32_t)(tick >> (BITS * level)) % SLOTS);
        }
    }
    counters_of(told)->slots++;
    append_all(told->nodes, DUE, (uint32_t)tick % SLOTS);
}

/* The first tick from the clock to `now` for which something is filed; `now` if there is none. */
static uint64_t first_due(const struct told *told, uint64_t now)
{
    uint64_t first = now;
    for (uint32_t index = LISTS; index < LISTS + told->capacity; index++) {
        if (is_linked(told->nodes, index) && told->nodes[index].due > told->clock &&
            told->nodes[index].due < first) {
            first = told->nodes[index].due;
        }
    }
    return first;
}

/* After a jump, file all again: the ticks between do not matter. */
static void jump(struct told *told, uint64_t now)
{
    uint64_t due;
    do {
        due = first_due(told, now);
        told->clock = due - 1;
        for (uint32_t index = LISTS; index < LISTS + told->capacity; index++) {
            if (is_linked(told->nodes, index) && told->nodes[index].due > told->clock) {
                unlink_node(told->nodes, index);
                file_timer(told, index);
            }
        }
        one_tick(told, due);
    } while (due < now);
}

static uint64_t told_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct told *told = self;
    append_all(told->nodes, DUE, LATE);
    if (now - told->clock > UINT64_C(1) << (BITS * (LEVELS + 1))) {
        jump(told, now);
    }
    for (uint64_t tick = told->clock + 1; tick <= now; tick++) {
        one_tick(told, tick);
    }
    uint64_t fired = 0;
    while (fired < budget && is_linked(told->nodes, DUE)) {
        uint32_t index = told->nodes[DUE].next;
        if (WRONG == EXPIRY_SCANS) {
            scan(told);
        }
        if (WRONG == EXPIRY_WALKS) {
            walk_list(told, told->nodes[FAR].next);
        }
        unlink_node(told->nodes, index);
        told->count--;
        counters_of(told)->moves++;
        fired++;
        fire(ctx, index - LISTS, now);
    }
    return fired;
}

static uint64_t told_count(const void *self)
{
    return ((const struct told *)self)->count;
}

/* Calls that only ask must not do this: move the first of each list to its end. */
static void turn_over(const void *self)
{
    struct told *told = (struct told *)(uintptr_t)self;
    for (uint32_t list = 0; list < FAR; list++) {
        if (is_linked(told->nodes, list)) {
            uint32_t index = told->nodes[list].next;
            unlink_node(told->nodes, index);
            append_node(told->nodes, list, index);
        }
    }
}

static void told_counters(const void *self, struct tl_counters *out)
{
    struct told *told = (struct told *)(uintptr_t)self;
    *out = *counters_of(told);
    out->moves = WRONG == MOVES_NOT_COUNTED ? 0 : out->moves;
    out->cascades = WRONG == MOVES_NOT_COUNTED ? 0 : out->cascades;
    if (WRONG == COUNTERS_COUNT_READING) {
        told->counters.compares++;
    }
}

static enum tl_status told_check(const void *self, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    if (WRONG == CHECK_MOVES) {
        turn_over(self);
    }
    if (WRONG == COUNTERS_COUNT_CHECKS) {
        scan((struct told *)(uintptr_t)self);
    }
    return TL_OK;
}

static void show_list(const struct told *told, uint32_t list, const struct tl_visitor *visitor)
{
    for (uint32_t index = told->nodes[list].next; index != list; index = told->nodes[index].next) {
        uint64_t at = told->nodes[index].due;
        visitor->timer(visitor->ctx,
                       &(struct tl_held){.id = index - LISTS,
                                         .at = WRONG == WALK_WRONG_TICK ? at >> BITS << BITS : at});
    }
}

static void show_level(const struct told *told, uint32_t level, const struct tl_visitor *visitor)
{
    static const char *const names[] = {"level 1", "level 2", "level 3"};
    uint64_t ticks = UINT64_C(1) << (BITS * level);
    uint64_t turn = told->clock / (ticks * SLOTS) * (ticks * SLOTS);
    uint32_t hand = (uint32_t)(told->clock / ticks % SLOTS);
    visitor->part(
        visitor->ctx,
        &(struct tl_part){.name = names[level], .form = TL_FORM_WHEEL, .cell_ticks = ticks});
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint32_t list = level * SLOTS + slot;
        if (WRONG == WALK_OMITS_EMPTY && slot % 4 == 1 && !is_linked(told->nodes, list)) {
            continue;
        }
        uint64_t from = turn + slot * ticks;
        from += WRONG == WALK_IN_NEXT_CELL ? ticks : 0;
        bool is_hand = slot == hand || (WRONG == WALK_TWO_HANDS && slot == 0);
        visitor->cell(visitor->ctx,
                      &(struct tl_cell){.index = WRONG == WALK_REPEATS_CELLS ? slot / 2 : slot,
                                        .parent = WRONG == WALK_PARENTS ? 0 : TL_NEVER,
                                        .from = from,
                                        .to = from + ticks - 1,
                                        .marks = is_hand ? TL_MARK_HAND : 0});
        show_list(told, list, visitor);
    }
}

static void told_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct told *told = self;
    if (WRONG == WALK_MOVES) {
        turn_over(self);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        show_level(told, level, visitor);
    }
    visitor->part(visitor->ctx, &(struct tl_part){.name = "lists", .form = TL_FORM_LIST});
    for (uint32_t list = DUE; list < LISTS; list++) {
        visitor->cell(visitor->ctx, &(struct tl_cell){.index = list - DUE,
                                                      .parent = TL_NEVER,
                                                      .from = TL_NEVER,
                                                      .to = TL_NEVER});
        show_list(told, list, visitor);
    }
}

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .create = told_create,
    .destroy = told_destroy,
    .reserve = told_reserve,
    .start = told_start,
    .stop = told_stop,
    .advance = told_advance,
    .count = told_count,
    .counters = told_counters,
    .check = told_check,
    .walk = told_walk,
};
