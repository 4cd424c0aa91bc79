/*
 * Three wheels of 32 slots, each slot as wide as the wheel below, and a list for later timers:
 * exact, in no order. It shows its inside completely, and is right if WRONG is NOTHING.
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
    START_GROWS_AS_TOLERATED,
    START_GROWS_A_LITTLE_MORE,
    STOP_WALKS_WHEN_MANY,
    TICK_WALKS_WHEN_MANY,
    START_WALKS_WHEN_MANY,
    RESTART_WALKS_WHEN_MANY,
    EXPIRY_WALKS_WHEN_MANY,
    START_WALKS_ITS_TICK,
    STOP_SEARCHES_ITS_LIST,
    WALK_ENDS_FIRST,
    ADVANCE_VISITS_BLOCKS,
    ADVANCE_WALKS_BLOCKS
};

#define BITS   5
#define SLOTS  (1u << BITS)
#define LEVELS 3u
#define DUE    (LEVELS * SLOTS)
#define FAR    (DUE + 1) /* beyond the wheels */
#define LATE   (DUE + 2) /* timers that are due at their start */
#define LISTS  (DUE + 3)

struct shown {
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint64_t starts;
    uint64_t clock;
    uint64_t count;
    struct tl_counters counters;
};

static struct tl_counters all_counters;

static struct tl_counters *counters_of(struct shown *shown)
{
    return WRONG == COUNTERS_SHARED ? &all_counters : &shown->counters;
}

/* Looks at all timers, for nothing. */
static void scan(struct shown *shown)
{
    counters_of(shown)->compares += shown->count;
}

/* Visits the timers of a list from that one to the last, and counts nothing. */
static void walk_list(const struct shown *shown, uint32_t index)
{
    volatile uint32_t at = index;
    while (at >= LISTS) {
        at = shown->nodes[at].next;
    }
}

/* Go back from a timer to the head of its list, past those that were filed before it. */
static void find_list(const struct shown *shown, uint32_t index)
{
    volatile uint32_t at = index;
    while (at >= LISTS) {
        at = shown->nodes[at].prev;
    }
}

/* Go back past the timers with the due tick of this one. */
static void walk_tick(const struct shown *shown, uint32_t index)
{
    volatile uint32_t at = index;
    while (at >= LISTS && shown->nodes[at].due == shown->nodes[index].due) {
        at = shown->nodes[at].prev;
    }
}

/* Visit a slot for each 2^20 ticks to `now`, or 2^20 of them, and count nothing. */
static void walk_blocks(const struct shown *shown, uint64_t now)
{
    uint64_t end = now >> 20;
    uint64_t most = (shown->clock >> 20) + (1u << 20);
    volatile uint32_t at = 0;
    for (uint64_t block = shown->clock >> 20; block < end && block < most; block++) {
        at = shown->nodes[block % SLOTS].next;
    }
    (void)at;
}

static enum tl_status told_reserve(void *self, uint32_t capacity)
{
    struct shown *shown = self;
    if (capacity > shown->capacity) {
        if (!grow_nodes(shown->allocator, &shown->nodes, LISTS + shown->capacity,
                        LISTS + capacity)) {
            return TL_ERR_NOMEM;
        }
        shown->capacity = capacity;
        if (WRONG == COUNTERS_FORGOTTEN_BY_RESERVE) {
            shown->counters = (struct tl_counters){0};
        }
    }
    return TL_OK;
}

static void told_destroy(void *self)
{
    struct shown *shown = self;
    tl_free(shown->allocator, shown->nodes, (LISTS + shown->capacity) * sizeof *shown->nodes,
            alignof(struct node));
    tl_free(shown->allocator, shown, sizeof *shown, alignof(struct shown));
}

static enum tl_status told_create(const struct tl_config *config, void **self)
{
    struct shown *shown = tl_alloc(config->allocator, sizeof *shown, alignof(struct shown));
    if (shown == NULL) {
        return TL_ERR_NOMEM;
    }
    *shown = (struct shown){
        .allocator = config->allocator, .capacity = config->capacity, .clock = config->now};
    if (!grow_nodes(shown->allocator, &shown->nodes, 0, LISTS + shown->capacity)) {
        tl_free(config->allocator, shown, sizeof *shown, alignof(struct shown));
        return TL_ERR_NOMEM;
    }
    *self = shown;
    return TL_OK;
}

static enum tl_status told_stop(void *self, uint32_t id)
{
    struct shown *shown = self;
    if (!is_linked(shown->nodes, LISTS + id)) {
        return TL_IDLE;
    }
    if (WRONG == STOP_SCANS) {
        scan(shown);
    }
    if (WRONG == STOP_WALKS || (WRONG == STOP_WALKS_WHEN_MANY && shown->count > 4096)) {
        walk_list(shown, LISTS + id);
    }
    if (WRONG == STOP_SEARCHES_ITS_LIST) {
        find_list(shown, LISTS + id);
    }
    unlink_node(shown->nodes, LISTS + id);
    shown->count--;
    counters_of(shown)->moves++;
    return TL_OK;
}

/* The list for a due tick: the lowest level on which it is in the turn that the clock is in. */
static uint32_t list_for(const struct shown *shown, uint64_t due)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        if (due >> (BITS * (level + 1)) == shown->clock >> (BITS * (level + 1))) {
            return level * SLOTS + (uint32_t)(due >> (BITS * level)) % SLOTS;
        }
    }
    return FAR;
}

static void file_timer(struct shown *shown, uint32_t index)
{
    counters_of(shown)->moves++;
    append_node(shown->nodes, list_for(shown, shown->nodes[index].due), index);
}

static enum tl_status told_start(void *self, uint32_t id, uint64_t deadline)
{
    struct shown *shown = self;
    struct tl_counters before = *counters_of(shown);
    bool restart = told_stop(self, id) == TL_OK;
    if (WRONG == STOP_SCANS) {
        *counters_of(shown) = before;
    }
    if (WRONG == START_SCANS || (WRONG == RESTART_SCANS && restart) ||
        (WRONG == START_SCANS_AT_TIMES && ++shown->starts % 64 == 0)) {
        scan(shown);
    }
    if (WRONG == START_GROWS_AS_TOLERATED || WRONG == START_GROWS_A_LITTLE_MORE) {
        /* From 11 with few timers, its own move and these, to 17, or to 18, with many: what grows
         * by no more than two fifths and 2 does not grow. */
        const uint64_t with_many = WRONG == START_GROWS_AS_TOLERATED ? 16 : 17;
        counters_of(shown)->compares += shown->capacity > 256 ? with_many : 10;
    }
    if (WRONG == SEARCHES_IN_ORDER) {
        /* As in a sorted list that is searched from its end. */
        uint32_t last = shown->nodes[FAR].prev;
        while (last != FAR && shown->nodes[last].due > deadline) {
            counters_of(shown)->compares++;
            last = shown->nodes[last].prev;
        }
    }
    shown->nodes[LISTS + id].due = deadline;
    shown->count++;
    if (deadline <= shown->clock) {
        append_node(shown->nodes, LATE, LISTS + id);
        counters_of(shown)->moves++;
    } else {
        file_timer(shown, LISTS + id);
    }
    bool many = shown->count > 4096;
    if (WRONG == START_WALKS_ITS_TICK) {
        walk_tick(shown, LISTS + id);
    }
    if (WRONG == START_WALKS || (WRONG == RESTART_WALKS && restart) ||
        (WRONG == START_WALKS_WHEN_MANY && many) ||
        (WRONG == RESTART_WALKS_WHEN_MANY && restart && many)) {
        walk_list(shown, shown->nodes[shown->nodes[LISTS + id].next].next);
    }
    if (WRONG == STARTS_NOT_COUNTED) {
        *counters_of(shown) = before;
    }
    return TL_OK;
}

/* Files all of a list again: the clock has come to its slot. */
static void cascade(struct shown *shown, uint32_t list)
{
    uint32_t end = shown->nodes[list].prev;
    bool more = is_linked(shown->nodes, list);
    while (more) {
        uint32_t index = shown->nodes[list].next;
        more = index != end;
        unlink_node(shown->nodes, index);
        file_timer(shown, index);
        counters_of(shown)->cascades += WRONG == CASCADES_COUNT_TWICE ? 2 : 1;
    }
}

static void one_tick(struct shown *shown, uint64_t tick)
{
    shown->clock = tick;
    if (WRONG == TICK_SCANS) {
        scan(shown);
    }
    if (WRONG == TICK_WALKS || (WRONG == TICK_WALKS_WHEN_MANY && shown->count > 4096)) {
        walk_list(shown, shown->nodes[FAR].next);
    }
    if (tick % (UINT64_C(1) << (BITS * LEVELS)) == 0) {
        cascade(shown, FAR);
    }
    for (uint32_t level = LEVELS - 1; level > 0; level--) {
        if (tick % (UINT64_C(1) << (BITS * level)) == 0) {
            counters_of(shown)->slots++;
            cascade(shown, level * SLOTS + (uint32_t)(tick >> (BITS * level)) % SLOTS);
        }
    }
    counters_of(shown)->slots++;
    append_all(shown->nodes, DUE, (uint32_t)tick % SLOTS);
}

/* The first tick from the clock to `now` for which something is filed; `now` if there is none. */
static uint64_t first_due(const struct shown *shown, uint64_t now)
{
    uint64_t first = now;
    for (uint32_t index = LISTS; index < LISTS + shown->capacity; index++) {
        if (is_linked(shown->nodes, index) && shown->nodes[index].due > shown->clock &&
            shown->nodes[index].due < first) {
            first = shown->nodes[index].due;
        }
    }
    return first;
}

/* After a jump, file all again: the ticks between do not matter. */
static void jump(struct shown *shown, uint64_t now)
{
    uint64_t due;
    do {
        due = first_due(shown, now);
        shown->clock = due - 1;
        for (uint32_t index = LISTS; index < LISTS + shown->capacity; index++) {
            if (is_linked(shown->nodes, index) && shown->nodes[index].due > shown->clock) {
                unlink_node(shown->nodes, index);
                file_timer(shown, index);
            }
        }
        one_tick(shown, due);
    } while (due < now);
}

static uint64_t told_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct shown *shown = self;
    if (WRONG == ADVANCE_VISITS_BLOCKS) { /* one slot for each 2^20 ticks */
        shown->counters.slots += (now >> 20) - (shown->clock >> 20);
    }
    if (WRONG == ADVANCE_WALKS_BLOCKS) {
        walk_blocks(shown, now);
    }
    append_all(shown->nodes, DUE, LATE);
    if (now - shown->clock > UINT64_C(1) << (BITS * (LEVELS + 1))) {
        jump(shown, now);
    }
    for (uint64_t tick = shown->clock + 1; tick <= now; tick++) {
        one_tick(shown, tick);
    }
    uint64_t fired = 0;
    while (fired < budget && is_linked(shown->nodes, DUE)) {
        uint32_t index = shown->nodes[DUE].next;
        if (WRONG == EXPIRY_SCANS) {
            scan(shown);
        }
        if (WRONG == EXPIRY_WALKS || (WRONG == EXPIRY_WALKS_WHEN_MANY && shown->count > 4096)) {
            walk_list(shown, shown->nodes[FAR].next);
        }
        unlink_node(shown->nodes, index);
        shown->count--;
        counters_of(shown)->moves++;
        fired++;
        fire(ctx, index - LISTS, now);
    }
    return fired;
}

static uint64_t told_count(const void *self)
{
    return ((const struct shown *)self)->count;
}

/* Calls that only ask must not do this: move the first of each list to its end. */
static void turn_over(const void *self)
{
    struct shown *shown = (struct shown *)(uintptr_t)self;
    for (uint32_t list = 0; list < FAR; list++) {
        if (is_linked(shown->nodes, list)) {
            uint32_t index = shown->nodes[list].next;
            unlink_node(shown->nodes, index);
            append_node(shown->nodes, list, index);
        }
    }
}

static void told_counters(const void *self, struct tl_counters *out)
{
    struct shown *shown = (struct shown *)(uintptr_t)self;
    *out = *counters_of(shown);
    out->moves = WRONG == MOVES_NOT_COUNTED ? 0 : out->moves;
    out->cascades = WRONG == MOVES_NOT_COUNTED ? 0 : out->cascades;
    if (WRONG == COUNTERS_COUNT_READING) {
        shown->counters.compares++;
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
        scan((struct shown *)(uintptr_t)self);
    }
    return TL_OK;
}

static void show_list(const struct shown *shown, uint32_t list, const struct tl_visitor *visitor)
{
    for (uint32_t index = shown->nodes[list].next; index != list;
         index = shown->nodes[index].next) {
        uint64_t at = shown->nodes[index].due;
        visitor->timer(visitor->ctx,
                       &(struct tl_held){.id = index - LISTS,
                                         .at = WRONG == WALK_WRONG_TICK ? at >> BITS << BITS : at});
    }
}

static void show_level(const struct shown *shown, uint32_t level, const struct tl_visitor *visitor)
{
    static const char *const names[] = {"level 1", "level 2", "level 3"};
    uint64_t ticks = UINT64_C(1) << (BITS * level);
    uint64_t turn = shown->clock / (ticks * SLOTS) * (ticks * SLOTS);
    uint32_t hand = (uint32_t)(shown->clock / ticks % SLOTS);
    visitor->part(
        visitor->ctx,
        &(struct tl_part){.name = names[level], .form = TL_FORM_WHEEL, .cell_ticks = ticks});
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint32_t list = level * SLOTS + slot;
        if (WRONG == WALK_OMITS_EMPTY && slot % 4 == 1 && !is_linked(shown->nodes, list)) {
            continue;
        }
        uint64_t from = turn + slot * ticks;
        from += WRONG == WALK_IN_NEXT_CELL ? ticks : 0;
        bool is_hand = slot == hand || (WRONG == WALK_TWO_HANDS && slot == 0);
        visitor->cell(
            visitor->ctx,
            &(struct tl_cell){.index = WRONG == WALK_REPEATS_CELLS ? slot / 2 : slot,
                              .parent = WRONG == WALK_PARENTS ? 0 : TL_NEVER,
                              .from = from,
                              .to = WRONG == WALK_ENDS_FIRST ? from / 2 : from + ticks - 1,
                              .marks = is_hand ? TL_MARK_HAND : 0});
        show_list(shown, list, visitor);
    }
}

static void told_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct shown *shown = self;
    if (WRONG == WALK_MOVES) {
        turn_over(self);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        show_level(shown, level, visitor);
    }
    visitor->part(visitor->ctx, &(struct tl_part){.name = "lists", .form = TL_FORM_LIST});
    for (uint32_t list = DUE; list < LISTS; list++) {
        visitor->cell(visitor->ctx, &(struct tl_cell){.index = list - DUE,
                                                      .parent = TL_NEVER,
                                                      .from = TL_NEVER,
                                                      .to = TL_NEVER});
        show_list(shown, list, visitor);
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
