/*
 * A list in the order of due ticks, with timers that may be in the caller's records: exact,
 * ordered, first in first out. Right if WRONG is NOTHING.
 */
#include "wrong.h"

#include <string.h>

enum wrong {
    NOTHING,
    WRITES_BEHIND,
    NEEDS_MORE,
    FORGETS_OFFSET,
    FORGETS_STRIDE,
    STRIDE_IN_8_BITS,
    SHARES_STRIDE,
    KEEPS_OLD_BASE,
    KEEPS_OLD_STRIDE,
    KEEPS_FIRST,
    KEEPS_WHAT_IT_WAS_TOLD,
    LOOKS_WHERE_THEY_WERE,
    READIES_ONE_MORE,
    NEEDS_RECORDS,
    GIVES_RECORDS_BACK,
    OTHER_ORDER,
    READS_BEHIND,
    ASSUMES_16_BYTES
};

#define HEAD 0u /* index of the head; that of a timer is its id and 1 */

struct node {
    uint64_t due;
    uint64_t serial; /* of its start; 0: not pending */
    uint32_t next;
    uint32_t prev;
};

struct list {
    const struct tl_allocator *allocator;
    char *own;                     /* the timers, where there are no records */
    char *first;                   /* the bytes of timer 0 */
    const struct tl_records *told; /* KEEPS_WHAT_IT_WAS_TOLD */
    struct node *earliest;         /* KEEPS_FIRST */
    size_t stride;
    bool given;
    struct node head;
    uint32_t capacity;
    uint64_t clock;
    uint64_t count;
    uint64_t serial;
};

static size_t shared_stride;

static struct node *node_at(struct list *list, uint32_t index)
{
    if (index == HEAD) {
        return &list->head;
    }
    if (WRONG == KEEPS_WHAT_IT_WAS_TOLD && list->told != NULL) {
        return (struct node *)(void *)((char *)list->told->base + list->told->offset_bytes +
                                       (index - 1) * list->told->stride_bytes);
    }
    size_t stride = WRONG == SHARES_STRIDE ? shared_stride : list->stride;
    return (struct node *)(void *)(list->first + (index - 1) * stride);
}

static void take_records(struct list *list, const struct tl_records *records)
{
    list->first = (char *)records->base + (WRONG == FORGETS_OFFSET ? 0 : records->offset_bytes);
    list->stride = WRONG == FORGETS_STRIDE ? sizeof(struct node) : records->stride_bytes;
    if (WRONG == STRIDE_IN_8_BITS) {
        list->stride = (uint8_t)list->stride;
    }
    shared_stride = list->stride;
    list->given = true;
    list->told = records;
}

static void list_moved(void *self, const struct tl_records *records)
{
    struct list *list = self;
    struct list old = *list;
    take_records(list, records);
    if (WRONG == KEEPS_OLD_BASE) {
        list->first = old.first;
    }
    if (WRONG == KEEPS_OLD_STRIDE) {
        list->stride = old.stride;
    }
    for (uint32_t i = 1; WRONG == LOOKS_WHERE_THEY_WERE && i <= list->capacity; i++) {
        *node_at(list, i) = *node_at(&old, i);
    }
    if (WRONG != KEEPS_FIRST) {
        list->earliest = node_at(list, list->head.next);
    }
}

/* Of timers started at once the first is in front. */
static void insert(struct list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    uint32_t at = list->head.prev;
    while (at != HEAD &&
           (node_at(list, at)->due > node->due ||
            (WRONG == OTHER_ORDER && list->given && node_at(list, at)->due == node->due))) {
        at = node_at(list, at)->prev;
    }
    node->prev = at;
    node->next = node_at(list, at)->next;
    node_at(list, node->next)->prev = index;
    node_at(list, at)->next = index;
    list->earliest = node_at(list, list->head.next);
    list->count++;
}

static void take(struct list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    node_at(list, node->prev)->next = node->next;
    node_at(list, node->next)->prev = node->prev;
    node->serial = 0;
    if (WRONG == ASSUMES_16_BYTES && list->given) { /* two words at once, at a multiple of 16 */
        typedef uint64_t two_words __attribute__((vector_size(16)));
        *(volatile two_words *)(void *)node = (two_words){0, 0};
    }
    list->earliest = node_at(list, list->head.next);
    list->count--;
    if (WRONG == READS_BEHIND && list->given) {
        list->clock += *(volatile uint64_t *)(void *)(node + 1) == 1;
    }
    if (WRONG == WRITES_BEHIND && list->given) {
        *(uint64_t *)(void *)(node + 1) = list->clock;
    }
}

static enum tl_status list_reserve(void *self, uint32_t capacity)
{
    struct list *list = self;
    if (capacity <= list->capacity) {
        return TL_OK;
    }
    if (!list->given) {
        char *own = list->allocator->resize(list->allocator->ctx, list->own,
                                            list->capacity * sizeof(struct node),
                                            capacity * sizeof(struct node), alignof(struct node));
        if (own == NULL) {
            return TL_ERR_NOMEM;
        }
        list->own = own;
        list->first = own;
        list->stride = sizeof(struct node);
        shared_stride = list->stride;
        list->earliest = node_at(list, list->head.next);
    }
    uint32_t ready = capacity + (WRONG == READIES_ONE_MORE && list->given ? 1 : 0);
    for (uint32_t index = list->capacity + 1; index <= ready; index++) {
        memset(node_at(list, index), index <= capacity ? 0 : 0xff, sizeof(struct node));
    }
    list->capacity = capacity;
    return TL_OK;
}

static void list_destroy(void *self)
{
    struct list *list = self;
    if (WRONG == GIVES_RECORDS_BACK && list->given) {
        tl_free(list->allocator, list->first, list->capacity * list->stride, alignof(struct node));
    }
    tl_free(list->allocator, list->own, list->capacity * sizeof(struct node), alignof(struct node));
    tl_free(list->allocator, list, sizeof *list, alignof(struct list));
}

static enum tl_status list_create(const struct tl_config *config, void **self)
{
    struct list *list = tl_alloc(config->allocator, sizeof *list, alignof(struct list));
    if (list == NULL) {
        return TL_ERR_NOMEM;
    }
    *list = (struct list){.allocator = config->allocator, .clock = config->now};
    list->earliest = &list->head;
    if (config->records != NULL) {
        take_records(list, config->records);
    } else if (WRONG == NEEDS_RECORDS) {
        list->given = true; /* where nothing is */
    }
    enum tl_status status = list_reserve(list, config->capacity);
    if (status != TL_OK) {
        list_destroy(list);
        return status;
    }
    *self = list;
    return TL_OK;
}

static enum tl_status list_stop(void *self, uint32_t id)
{
    struct list *list = self;
    if (node_at(list, id + 1)->serial == 0) {
        return TL_IDLE;
    }
    take(list, id + 1);
    return TL_OK;
}

static enum tl_status list_start(void *self, uint32_t id, uint64_t deadline)
{
    struct list *list = self;
    (void)list_stop(list, id);
    struct node *node = node_at(list, id + 1);
    node->due = deadline > list->clock ? deadline : list->clock;
    node->serial = ++list->serial;
    insert(list, id + 1);
    return TL_OK;
}

static uint64_t list_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct list *list = self;
    uint64_t last = list->serial;
    uint64_t fired = 0;
    list->clock = now;
    while (fired < budget) {
        /* Timers that callbacks start for now follow all that were due before. */
        uint32_t index = list->head.next;
        while (index != HEAD && node_at(list, index)->serial > last) {
            index = node_at(list, index)->next;
        }
        if (index == HEAD || node_at(list, index)->due > now) {
            break;
        }
        take(list, index);
        fired++;
        fire(ctx, index - 1, now);
    }
    return fired;
}

static uint64_t list_next(const void *self)
{
    const struct list *list = self;
    return list->count > 0 ? list->earliest->due : TL_NEVER;
}

static uint64_t list_count(const void *self)
{
    return ((const struct list *)self)->count;
}

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = TL_CAP_ORDERED | (WRONG == OTHER_ORDER ? 0 : TL_CAP_FIFO) | TL_CAP_EXACT |
                    TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .create = list_create,
    .destroy = list_destroy,
    .reserve = list_reserve,
    .start = list_start,
    .stop = list_stop,
    .advance = list_advance,
    .next = list_next,
    .count = list_count,
    .embedded_bytes = sizeof(struct node) - (WRONG == NEEDS_MORE ? TL_EMBEDDED_ALIGN : 0),
    .moved = list_moved,
};
