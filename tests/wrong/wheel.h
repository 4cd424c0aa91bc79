/*
 * A hashed wheel with rounds: exact, in no order. Right where WRONG is NOTHING.
 */
#include "wrong.h"

#include "lists.h"

enum wrong {
    NOTHING,
    EDGE_ONE_TURN_LATE,
    ROUNDS_ONCE_A_JUMP,
    NOW_ONE_TURN_LATE,
    SKIPS_FIRST_OF_SLOT,
    MIXES_MODULI,
    REFUSES_TOO_LATE,
    ONE_TURN_AN_ADVANCE,
    KEEPS_NEXT_POINTER,
    KEEPS_WHERE_BUDGET_ENDED,
    FILES_UNDER_THE_HAND,
    CLOCK_MOVES_AFTER_CALLBACKS,
    DROPS_TIMERS_OF_A_JUMP
};

#define HORIZON (UINT64_C(1) << 20) /* of REFUSES_TOO_LATE, which alone has one */

struct wheel {
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint32_t slots;
    uint32_t due_list;
    uint32_t late_list; /* timers that are due at their start */
    uint32_t lists;
    uint32_t resumes_at; /* where a budget ended; 0: nowhere */
    bool firing;
    uint64_t clock;
    uint64_t count;
};

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct wheel *wheel = self;
    if (capacity > wheel->capacity) {
        if (!grow_nodes(wheel->allocator, &wheel->nodes, wheel->lists + wheel->capacity,
                        wheel->lists + capacity)) {
            return TL_ERR_NOMEM;
        }
        wheel->capacity = capacity;
    }
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct wheel *wheel = self;
    tl_free(wheel->allocator, wheel->nodes, (wheel->lists + wheel->capacity) * sizeof *wheel->nodes,
            alignof(struct node));
    tl_free(wheel->allocator, wheel, sizeof *wheel, alignof(struct wheel));
}

struct wheel_options {
    uint32_t slots;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct wheel *wheel = tl_alloc(config->allocator, sizeof *wheel, alignof(struct wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    const struct wheel_options *options = config->options;
    uint32_t slots = options->slots;
    *wheel = (struct wheel){.allocator = config->allocator,
                            .capacity = config->capacity,
                            .slots = slots,
                            .due_list = slots,
                            .late_list = slots + 1,
                            .lists = slots + 2,
                            .clock = config->now};
    if (!grow_nodes(wheel->allocator, &wheel->nodes, 0, wheel->lists + wheel->capacity)) {
        tl_free(config->allocator, wheel, sizeof *wheel, alignof(struct wheel));
        return TL_ERR_NOMEM;
    }
    *self = wheel;
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    if (!is_linked(wheel->nodes, wheel->lists + id)) {
        return TL_IDLE;
    }
    if (wheel->resumes_at == wheel->lists + id) {
        uint32_t next = wheel->nodes[wheel->resumes_at].next;
        wheel->resumes_at = next != wheel->due_list ? next : 0;
    }
    unlink_node(wheel->nodes, wheel->lists + id);
    wheel->count--;
    return TL_OK;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    if (WRONG == REFUSES_TOO_LATE) {
        (void)wheel_stop(self, id);
        if (deadline > wheel->clock && deadline - wheel->clock > HORIZON) {
            return TL_ERR_HORIZON;
        }
    }
    (void)wheel_stop(self, id);
    struct node *node = &wheel->nodes[wheel->lists + id];
    uint64_t modulus = WRONG == MIXES_MODULI && wheel->slots > 1 ? wheel->slots - 1 : wheel->slots;
    node->due = deadline;
    node->rounds = 0;
    wheel->count++;
    if (deadline <= wheel->clock) {
        append_node(wheel->nodes,
                    WRONG == NOW_ONE_TURN_LATE ? (uint32_t)(wheel->clock % wheel->slots)
                                               : wheel->late_list,
                    wheel->lists + id);
        return TL_OK;
    }
    uint64_t delay = deadline - wheel->clock;
    if (WRONG == FILES_UNDER_THE_HAND && wheel->firing && delay == wheel->slots) {
        append_node(wheel->nodes, wheel->due_list, wheel->lists + id);
        return TL_OK;
    }
    node->rounds = (WRONG == EDGE_ONE_TURN_LATE ? delay : delay - 1) / wheel->slots;
    append_node(wheel->nodes, (uint32_t)(deadline % modulus), wheel->lists + id);
    return TL_OK;
}

/* Move the due timers of a slot that the hand has passed `times` times to the due list. */
static void visit_slot(struct wheel *wheel, uint32_t slot, uint64_t times)
{
    struct node *nodes = wheel->nodes;
    uint32_t index = nodes[slot].next;
    if (WRONG == SKIPS_FIRST_OF_SLOT && index != slot && nodes[index].next != slot) {
        index = nodes[index].next;
    }
    while (index != slot) {
        uint32_t next = nodes[index].next;
        if (nodes[index].rounds < times) {
            unlink_node(nodes, index);
            append_node(nodes, wheel->due_list, index);
        } else {
            nodes[index].rounds -= times;
        }
        index = next;
    }
}

static void turn(struct wheel *wheel, uint64_t now)
{
    uint64_t passed = now - wheel->clock;
    if (WRONG == ONE_TURN_AN_ADVANCE && passed > wheel->slots) {
        passed = wheel->slots;
    }
    if (WRONG == DROPS_TIMERS_OF_A_JUMP && passed > wheel->slots) {
        return;
    }
    for (uint64_t k = 0; k < passed && k < wheel->slots; k++) {
        uint64_t times = WRONG == ROUNDS_ONCE_A_JUMP ? 1 : 1 + (passed - 1 - k) / wheel->slots;
        visit_slot(wheel, (uint32_t)((wheel->clock + 1 + k) % wheel->slots), times);
    }
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct wheel *wheel = self;
    append_all(wheel->nodes, wheel->due_list, wheel->late_list);
    turn(wheel, now);
    uint64_t reached = now;
    if (WRONG == ONE_TURN_AN_ADVANCE && now - wheel->clock > wheel->slots) {
        reached = wheel->clock + wheel->slots;
    }
    if (WRONG != CLOCK_MOVES_AFTER_CALLBACKS) {
        wheel->clock = reached;
    }
    uint64_t fired = 0;
    uint32_t index = wheel->nodes[wheel->due_list].next;
    if (WRONG == KEEPS_WHERE_BUDGET_ENDED && wheel->resumes_at != 0) {
        index = wheel->resumes_at;
    }
    wheel->resumes_at = 0;
    wheel->firing = true;
    while (fired < budget && index != wheel->due_list) {
        uint32_t next = wheel->nodes[index].next;
        unlink_node(wheel->nodes, index);
        wheel->count--;
        fired++;
        fire(ctx, index - wheel->lists, now);
        index = WRONG == KEEPS_NEXT_POINTER ? next : wheel->nodes[wheel->due_list].next;
        if (WRONG == KEEPS_WHERE_BUDGET_ENDED && fired == budget && next != wheel->due_list) {
            wheel->resumes_at = next;
        }
    }
    wheel->firing = false;
    wheel->clock = reached;
    return fired;
}

static uint64_t wheel_count(const void *self)
{
    return ((const struct wheel *)self)->count;
}

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U32(struct wheel_options, slots), 64, 1, 4096, NULL, "slots of the wheel"},
    {0},
};

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET |
                    (WRONG == REFUSES_TOO_LATE ? 0 : TL_CAP_UNLIMITED),
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
