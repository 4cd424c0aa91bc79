/*
 * A wheel of lists with due ticks instead of rounds: exact, in no order. For faults that need many
 * timers or operations, or other structures. Right if WRONG is NOTHING.
 */
#include "wrong.h"

#include "lists.h"

enum wrong {
    NOTHING,
    COUNTS_SLOT_IN_8_BITS,
    COUNTS_SLOT_IN_16_BITS,
    COUNTS_ALL_IN_16_BITS,
    COUNTS_SLOT_IN_20_BITS,
    RETURNS_16_BITS,
    INDEX_OF_16_BITS,
    INDEX_OF_20_BITS,
    FIRES_4096_AN_ADVANCE,
    FIRES_100000_AN_ADVANCE,
    INDEX_OF_17_BITS,
    LEFT_OVER_256_IS_DROPPED,
    SHARES_SLOTS_OF_FIFTH,
    TEXT_OF_8_BYTES,
    RESERVE_COPIES_65536,
    LEAKS_GROWN,
    START_65536_IS_LATE,
    ADVANCE_65536_IS_IDLE,
    TURN_65536_IS_IDLE,
    STOP_65536_IS_FORGOTTEN,
    RESTART_65536_KEEPS_PLACE,
    STALE_GENERATION_OF_16_BITS,
    WEARS_OUT,
    DEFERS_64,
    DEFERS_4000,
    KEEPS_OPTIONS,
    KEEPS_CONFIG,
    SHARES_SLOTS,
    SHARES_SLOTS_WHEN_LARGER,
    LATE_AT_ANNOUNCED,
    EARLY_BEYOND_ANNOUNCED,
    COUNTS_SLOT_IN_9_BITS,
    COUNTS_SLOT_IN_17_BITS,
    START_140000_IS_LATE,
    DEFERS_9000,
    LEFT_OVER_330_IS_DROPPED,
    RESERVE_DROPS_FULL_128,
    RESERVE_FALLS_BACK,
    BUDGET_350_MISCOUNTS,
    FILES_100000_A_TICK
};

enum { SLOTS_MOST = 1024, DUE_LIST = SLOTS_MOST, LATE_LIST, NEW_LIST, LISTS };

/* A stale entry of a stop (STALE_GENERATION_OF_16_BITS). */
struct stale {
    uint64_t due;
    uint16_t generation;
    bool is_there;
};

struct wheel_options {
    uint32_t slots;
    char label[TL_TEXT_BYTES];
};

struct wheel {
    const struct tl_allocator *allocator;
    const struct tl_config *config;
    const struct wheel_options *options;
    struct node *nodes;
    struct stale stale; /* of timer 0 */
    void *grown;
    uint32_t capacity;
    uint32_t slots;
    uint32_t in_slot[SLOTS_MOST];
    uint32_t place;
    uint32_t left_over;
    uint32_t used_up; /* advances that fired just as many as the budget */
    char *text;
    uint64_t announced;
    uint64_t clock;
    uint64_t count;
    uint64_t starts;
    uint64_t restarts;
    uint64_t advances;
    uint64_t turns;
    uint64_t stops;
    uint64_t started_inside;
    uint64_t worn;
    uint16_t generation; /* of timer 0 */
    bool firing;
};

static uint32_t shared_slots;

/* The slots of four structures; others use those of the last. */
static struct {
    uint32_t slots;
    bool used;
} places[4];

static uint32_t slots_of(const struct wheel *wheel)
{
    if (WRONG == KEEPS_OPTIONS || WRONG == KEEPS_CONFIG) {
        const struct wheel_options *options =
            WRONG == KEEPS_OPTIONS ? wheel->options : wheel->config->options;
        return options->slots;
    }
    if (WRONG == SHARES_SLOTS_OF_FIFTH) {
        return places[wheel->place].slots;
    }
    return WRONG == SHARES_SLOTS || WRONG == SHARES_SLOTS_WHEN_LARGER ? shared_slots : wheel->slots;
}

/* Whether the count of a slot is 0. */
static bool is_empty(const struct wheel *wheel, uint32_t slot)
{
    uint32_t count = wheel->in_slot[slot];
    return (WRONG == COUNTS_SLOT_IN_8_BITS && (uint8_t)count == 0) ||
           (WRONG == COUNTS_SLOT_IN_16_BITS && (uint16_t)count == 0) ||
           (WRONG == COUNTS_SLOT_IN_9_BITS && count % (1u << 9) == 0) ||
           (WRONG == COUNTS_SLOT_IN_17_BITS && count % (1u << 17) == 0) ||
           (WRONG == COUNTS_SLOT_IN_20_BITS && count % (1u << 20) == 0) ||
           (WRONG == COUNTS_ALL_IN_16_BITS && (uint16_t)wheel->count == 0);
}

static uint32_t index_of(uint32_t id)
{
    if (WRONG == INDEX_OF_16_BITS) {
        id = (uint16_t)id;
    }
    id = WRONG == INDEX_OF_17_BITS ? id % (1u << 17) : id;
    return LISTS + (WRONG == INDEX_OF_20_BITS ? id % (1u << 20) : id);
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct wheel *wheel = self;
    if (capacity <= wheel->capacity) {
        return TL_OK;
    }
    void *grown = NULL;
    if (WRONG == LEAKS_GROWN && capacity > 65536 && wheel->grown == NULL) {
        grown = tl_alloc(wheel->allocator, 64, 16);
        if (grown == NULL) {
            return TL_ERR_NOMEM;
        }
    }
    if (!grow_nodes(wheel->allocator, &wheel->nodes, LISTS + wheel->capacity, LISTS + capacity)) {
        tl_free(wheel->allocator, grown, 64, 16);
        if (WRONG == RESERVE_FALLS_BACK) {
            /* With room for a few more it takes the large table for made. */
            void *few = tl_alloc(wheel->allocator, 16, 16);
            tl_free(wheel->allocator, few, 16, 16);
            return few != NULL ? TL_OK : TL_ERR_NOMEM;
        }
        return TL_ERR_NOMEM;
    }
    if (WRONG == RESERVE_DROPS_FULL_128 && wheel->count == 128 && wheel->capacity == 128) {
        unlink_node(wheel->nodes, LISTS + 127);
        wheel->count--;
    }
    for (uint32_t id = 65536; WRONG == RESERVE_COPIES_65536 && id < wheel->capacity; id++) {
        wheel->count -= is_linked(wheel->nodes, LISTS + id);
        unlink_node(wheel->nodes, LISTS + id);
    }
    wheel->grown = grown != NULL ? grown : wheel->grown;
    wheel->capacity = capacity;
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct wheel *wheel = self;
    places[wheel->place].used = false;
    tl_free(wheel->allocator, wheel->text, 8, 1);
    if (wheel->count == 0) {
        tl_free(wheel->allocator, wheel->grown, 64, 16);
    }
    tl_free(wheel->allocator, wheel->nodes, (LISTS + wheel->capacity) * sizeof *wheel->nodes,
            alignof(struct node));
    tl_free(wheel->allocator, wheel, sizeof *wheel, alignof(struct wheel));
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct wheel *wheel = tl_alloc(config->allocator, sizeof *wheel, alignof(struct wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct wheel){.allocator = config->allocator,
                            .config = config,
                            .options = config->options,
                            .capacity = config->capacity,
                            .slots = ((const struct wheel_options *)config->options)->slots,
                            .announced = config->max_delay_ticks,
                            .clock = config->now};
    if (WRONG != SHARES_SLOTS_WHEN_LARGER || wheel->slots > shared_slots) {
        shared_slots = wheel->slots;
    }
    while (wheel->place < 3 && places[wheel->place].used) {
        wheel->place++;
    }
    places[wheel->place].used = true;
    places[wheel->place].slots = wheel->slots;
    if (WRONG == TEXT_OF_8_BYTES) {
        const char *label = ((const struct wheel_options *)config->options)->label;
        wheel->text = tl_alloc(config->allocator, 8, 1);
        for (unsigned i = 0; wheel->text != NULL && label[i] != '\0'; i++) {
            wheel->text[i] = label[i];
        }
    }
    if (!grow_nodes(wheel->allocator, &wheel->nodes, 0, LISTS + wheel->capacity)) {
        tl_free(config->allocator, wheel->text, 8, 1);
        tl_free(config->allocator, wheel, sizeof *wheel, alignof(struct wheel));
        return TL_ERR_NOMEM;
    }
    *self = wheel;
    return TL_OK;
}

/* Remove a timer from its list. */
static void take_out(struct wheel *wheel, uint32_t index)
{
    wheel->in_slot[wheel->nodes[index].rounds % SLOTS_MOST] -=
        wheel->nodes[index].rounds < SLOTS_MOST;
    unlink_node(wheel->nodes, index);
}

static void put_in(struct wheel *wheel, uint32_t list, uint32_t index)
{
    wheel->nodes[index].rounds = list; /* where it is */
    wheel->in_slot[list % SLOTS_MOST] += list < SLOTS_MOST;
    append_node(wheel->nodes, list, index);
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    uint32_t index = index_of(id);
    if (!is_linked(wheel->nodes, index)) {
        return TL_IDLE;
    }
    if (WRONG == STALE_GENERATION_OF_16_BITS && id == 0 && !wheel->stale.is_there) {
        wheel->stale = (struct stale){wheel->nodes[index].due, wheel->generation, true};
    }
    if (WRONG == STOP_65536_IS_FORGOTTEN && ++wheel->stops % 65536 == 0) {
        return TL_OK;
    }
    take_out(wheel, index);
    wheel->count--;
    wheel->worn += WRONG == WEARS_OUT && wheel->starts % 2048 == 0;
    return TL_OK;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    uint32_t index = index_of(id);
    if (WRONG == WEARS_OUT && wheel->worn > 30) {
        return TL_ERR_NOMEM;
    }
    if (WRONG == RESTART_65536_KEEPS_PLACE && is_linked(wheel->nodes, index) &&
        ++wheel->restarts % 65536 == 0) {
        return TL_OK;
    }
    (void)wheel_stop(self, id);
    if (id == 0) {
        wheel->generation++;
    }
    wheel->starts++;
    wheel->count++;
    if (WRONG == START_65536_IS_LATE && wheel->starts % 65536 == 0) {
        deadline++;
    }
    deadline += WRONG == START_140000_IS_LATE && wheel->starts == 140000;
    uint64_t delay = deadline > wheel->clock ? deadline - wheel->clock : 0;
    if (wheel->announced > 0) {
        deadline += WRONG == LATE_AT_ANNOUNCED && delay == wheel->announced && delay >= 1000000;
        deadline -= WRONG == EARLY_BEYOND_ANNOUNCED && delay > wheel->announced;
    }
    wheel->nodes[index].due = deadline;
    wheel->started_inside += wheel->firing;
    bool overflows = (WRONG == DEFERS_64 && wheel->started_inside > 64) ||
                     (WRONG == DEFERS_4000 && wheel->started_inside > 4000) ||
                     (WRONG == DEFERS_9000 && wheel->started_inside > 9000);
    if (overflows && delay == 0) {
        put_in(wheel, DUE_LIST, index);
    } else if (delay == 0) {
        put_in(wheel, LATE_LIST, index);
    } else {
        put_in(wheel,
               WRONG == FILES_100000_A_TICK ? NEW_LIST : (uint32_t)(deadline % slots_of(wheel)),
               index);
    }
    return TL_OK;
}

/* Move the due timers of a list to the due list. */
static void gather(struct wheel *wheel, uint32_t list, uint64_t now)
{
    struct node *nodes = wheel->nodes;
    for (uint32_t index = nodes[list].next; index != list;) {
        uint32_t next = nodes[index].next;
        if (nodes[index].due <= now) {
            take_out(wheel, index);
            put_in(wheel, DUE_LIST, index);
        }
        index = next;
    }
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct wheel *wheel = self;
    uint32_t slots = slots_of(wheel);
    bool is_idle = WRONG == ADVANCE_65536_IS_IDLE && ++wheel->advances % 65536 == 0;
    wheel->turns += now / slots != wheel->clock / slots;
    if (WRONG == TURN_65536_IS_IDLE && wheel->turns == 65536) {
        wheel->turns++;
        is_idle = true;
    }
    if (WRONG == STALE_GENERATION_OF_16_BITS && wheel->stale.is_there && wheel->stale.due <= now) {
        wheel->stale.is_there = false;
        if (wheel->stale.generation == wheel->generation && is_linked(wheel->nodes, LISTS)) {
            wheel->nodes[LISTS].due = now;
            take_out(wheel, LISTS);
            put_in(wheel, LATE_LIST, LISTS);
        }
    }
    gather(wheel, LATE_LIST, now);
    for (uint32_t k = 0; k < 100000 && is_linked(wheel->nodes, NEW_LIST); k++) {
        uint32_t index = wheel->nodes[NEW_LIST].next;
        take_out(wheel, index);
        put_in(wheel,
               wheel->nodes[index].due <= now ? DUE_LIST
                                              : (uint32_t)(wheel->nodes[index].due % slots),
               index);
    }
    for (uint64_t k = 1; k <= now - wheel->clock && k <= slots && !is_idle; k++) {
        uint32_t slot = (uint32_t)((wheel->clock + k) % slots);
        if (!is_empty(wheel, slot)) {
            gather(wheel, slot, now);
        }
    }
    wheel->clock = now;
    wheel->started_inside = 0;
    wheel->firing = true;
    if (WRONG == FIRES_100000_AN_ADVANCE && budget > 100000) {
        budget = 100000;
    }
    uint64_t most = WRONG == FIRES_4096_AN_ADVANCE && budget > 4096 ? 4096 : budget;
    uint64_t fired = 0;
    while (fired < most && is_linked(wheel->nodes, DUE_LIST)) {
        uint32_t index = wheel->nodes[DUE_LIST].next;
        take_out(wheel, index);
        wheel->count--;
        fired++;
        fire(ctx, index - LISTS, now);
    }
    wheel->firing = false;
    wheel->used_up += fired == budget && !is_linked(wheel->nodes, DUE_LIST);
    wheel->count += WRONG == BUDGET_350_MISCOUNTS && fired == budget && wheel->used_up == 350;
    wheel->left_over = is_linked(wheel->nodes, DUE_LIST) ? wheel->left_over + 1 : 0;
    if ((WRONG == LEFT_OVER_256_IS_DROPPED && wheel->left_over == 256) ||
        (WRONG == LEFT_OVER_330_IS_DROPPED && wheel->left_over == 330)) {
        wheel->count--;
        take_out(wheel, wheel->nodes[DUE_LIST].next);
    }
    return WRONG == RETURNS_16_BITS ? (uint16_t)fired : fired;
}

static uint64_t wheel_count(const void *self)
{
    return ((const struct wheel *)self)->count;
}

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U32(struct wheel_options, slots), 256, 1, SLOTS_MOST, NULL, "slots of the wheel"},
    {"label", TL_TEXT(struct wheel_options, label), 0, 0, 0, NULL, "means nothing"},
    {0},
};

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .options = wheel_option_table,
    .options_bytes = sizeof(struct wheel_options),
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .count = wheel_count,
};
