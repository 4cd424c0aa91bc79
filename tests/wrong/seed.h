/*
 * A hashed wheel in a table, like the reference design of kv-wheel, on one node: a planner files a
 * task by `deadline mod slots`; a scheduler moves the clock second by second and fetches the slot
 * of each; an executor calls the queued tasks. The table is in memory, because the faults here need
 * no crash. Exact, in no order. Right if WRONG is NOTHING.
 */
#include "wrong.h"

#include "lists.h"

enum wrong { NOTHING, FETCHES_BEFORE_NOW, FILES_BEHIND_FETCHED, SCANS_FOR_MISSED };

#define SCAN_DELAY 2 /* seconds after which a task still in the table counts as missed */

struct seed {
    const struct tl_allocator *allocator;
    struct node *nodes; /* rounds: of a task that is queued, 1 + how often it was queued again */
    uint32_t capacity;
    uint32_t slots;
    uint32_t queue;
    uint32_t lists;
    uint64_t clock;
    uint64_t count;
};

static enum tl_status seed_reserve(void *self, uint32_t capacity)
{
    struct seed *seed = self;
    if (capacity > seed->capacity) {
        if (!grow_nodes(seed->allocator, &seed->nodes, seed->lists + seed->capacity,
                        seed->lists + capacity)) {
            return TL_ERR_NOMEM;
        }
        seed->capacity = capacity;
    }
    return TL_OK;
}

static void seed_destroy(void *self)
{
    struct seed *seed = self;
    tl_free(seed->allocator, seed->nodes, (seed->lists + seed->capacity) * sizeof *seed->nodes,
            alignof(struct node));
    tl_free(seed->allocator, seed, sizeof *seed, alignof(struct seed));
}

struct seed_options {
    uint32_t slots;
};

static enum tl_status seed_create(const struct tl_config *config, void **self)
{
    struct seed *seed = tl_alloc(config->allocator, sizeof *seed, alignof(struct seed));
    if (seed == NULL) {
        return TL_ERR_NOMEM;
    }
    const struct seed_options *options = config->options;
    uint32_t slots = options->slots;
    *seed = (struct seed){.allocator = config->allocator,
                          .capacity = config->capacity,
                          .slots = slots,
                          .queue = slots,
                          .lists = slots + 1,
                          .clock = config->now};
    if (!grow_nodes(seed->allocator, &seed->nodes, 0, seed->lists + seed->capacity)) {
        tl_free(config->allocator, seed, sizeof *seed, alignof(struct seed));
        return TL_ERR_NOMEM;
    }
    *self = seed;
    return TL_OK;
}

static enum tl_status seed_stop(void *self, uint32_t id)
{
    struct seed *seed = self;
    if (!is_linked(seed->nodes, seed->lists + id)) {
        return TL_IDLE;
    }
    unlink_node(seed->nodes, seed->lists + id);
    seed->count--;
    return TL_OK;
}

/* The planner. */
static enum tl_status seed_start(void *self, uint32_t id, uint64_t deadline)
{
    struct seed *seed = self;
    (void)seed_stop(self, id);
    struct node *node = &seed->nodes[seed->lists + id];
    node->due = deadline > seed->clock ? deadline : seed->clock;
    node->rounds = 0;
    append_node(seed->nodes, (uint32_t)(node->due % seed->slots), seed->lists + id);
    seed->count++;
    return TL_OK;
}

/* The scheduler, at one slot: the tasks that are due go to the queue. */
static void fetch(struct seed *seed, uint32_t slot, uint64_t now)
{
    struct node *nodes = seed->nodes;
    for (uint32_t index = nodes[slot].next; index != slot;) {
        uint32_t next = nodes[index].next;
        if (WRONG == FETCHES_BEFORE_NOW ? nodes[index].due < now : nodes[index].due <= now) {
            unlink_node(nodes, index);
            append_node(nodes, seed->queue, index);
            nodes[index].rounds = 1;
        }
        index = next;
    }
}

/* The second scheduler, some time later. Queued tasks leave the table after their call, so it takes
 * them for missed, too. */
static void scan_for_missed(struct seed *seed, uint64_t now)
{
    struct node *nodes = seed->nodes;
    for (uint32_t index = nodes[seed->queue].next; index != seed->queue;
         index = nodes[index].next) {
        nodes[index].rounds += nodes[index].due + SCAN_DELAY <= now;
    }
}

static uint64_t seed_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct seed *seed = self;
    uint64_t passed = now - seed->clock;
    /* Fetch the last second once more, for tasks filed there since. */
    uint64_t first = WRONG == FILES_BEHIND_FETCHED ? 1 : 0;
    for (uint64_t k = first; k <= passed && k < seed->slots + first; k++) {
        fetch(seed, (uint32_t)((seed->clock + k) % seed->slots), now);
    }
    if (WRONG == SCANS_FOR_MISSED) {
        scan_for_missed(seed, now);
    }
    seed->clock = now;
    uint64_t fired = 0;
    while (fired < budget && seed->nodes[seed->queue].next != seed->queue) {
        uint32_t index = seed->nodes[seed->queue].next;
        uint64_t calls = seed->nodes[index].rounds;
        unlink_node(seed->nodes, index);
        seed->count--;
        for (fired++; calls > 0; calls--) {
            fire(ctx, index - seed->lists, now);
        }
    }
    return fired;
}

static uint64_t seed_count(const void *self)
{
    return ((const struct seed *)self)->count;
}

static const struct tl_option seed_option_table[] = {
    {"slots", TL_U32(struct seed_options, slots), 64, 1, 4096, NULL,
     "slots of the wheel; the reference design has 10^8"},
    {0},
};

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .options = seed_option_table,
    .options_bytes = sizeof(struct seed_options),
    .create = seed_create,
    .destroy = seed_destroy,
    .reserve = seed_reserve,
    .start = seed_start,
    .stop = seed_stop,
    .advance = seed_advance,
    .count = seed_count,
};
