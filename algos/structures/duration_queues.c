/*
 * duration-queues: one FIFO for each distinct duration, as in Lawn and libevent's common timeouts.
 *
 *   duration     200    due 1010 <-> due 1180 <-> due 1199
 *   duration   5,000    due 1020 <-> due 3500
 *   duration  60,000    due 7000 <-> due 9001 <-> due 61,000 <-> due 61,200
 *
 *   heap         [200: 1010] [5,000: 1020] [60,000: 7000] [alone: 1333]
 *
 * Timers of one duration expire in the order of their starts. At tick 1005, start(a, 1205) finds
 * the queue of duration 200 in a hash table and appends a. advance(1010) takes the queue that is
 * due first from the heap, fires its first timer, and puts the queue back with its next tick, 1180.
 * stop(a) unlinks a. Only the first timers of the queues compete, and a server has many connections
 * but few durations.
 *
 * Lawn makes a queue for every duration; libevent's caller names the common ones, and all other
 * timers are in a heap. Here the first `queues` durations that are in use get a queue; an empty
 * queue is free again. A timer that gets none is alone in the heap, among the queues.
 *
 * expiry=heap keeps queues and single timers in a binary heap by due tick. When the first timer of
 * a queue goes, the queue's tick stays, too early, and is corrected at the top of the heap.
 * expiry=scan is Lawn's method: one lower bound for all queues, and a look at each queue when that
 * tick has come.
 *
 * Invariants
 *   - along a queue `due` never decreases, and due - duration is the start of each timer
 *   - a queue is in the heap and in the table exactly if it holds timers; else it is in `idle`
 *   - an entry of the heap is due at its `due` or later, and no entry is before its parent's
 *     (expiry=scan: none is before `bound`)
 *   - `prev` of a timer in the heap is its place, `next` is IN_HEAP
 *
 * Complexity (t: queues and single timers): start and stop O(1), or O(log t) for the first timer of
 * a duration and for single ones; a tick O(1), with scan O(t) if a timer is due; expiry O(1), and
 * O(log t) for each queue. Use it for few durations. Bad at: very many of them.
 *
 * Source: A. Lev-Libfeld, "Lawn: an Unbound Low Latency Timer Data Structure", 2019; libevent,
 * event.c (event_base_init_common_timeout); envoyproxy/envoy, scaled_range_timer_manager_impl.cc.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define QUEUES_MAX     (INT64_C(1) << 20)
#define NO_QUEUE       0u

#define BUCKET_STRIPES 1u
#include "due_buckets.h" /* `due` of a queue's head orders the queue in the heap */

#define FIRST_QUEUE 2u /* after DUE and LATE */

struct queue {
    uint64_t duration;
    uint32_t place; /* in the heap; while idle: the next idle queue */
};

struct duration_queues {
    struct timer_buckets buckets; /* bucket FIRST_QUEUE + q is queue q */
    uint32_t *heap;               /* node indices: heads of queues, and single timers */
    uint32_t heap_count;
    uint32_t queue_count;
    uint32_t idle; /* head of the first idle queue, or NO_QUEUE */
    uint32_t table_mask;
    uint32_t table_shift; /* 64 - log2 of its size */
    bool scan;
    uint64_t bound; /* expiry=scan: nothing comes due before */
    struct queue *queues;
    uint32_t *table;      /* open addressing: FIRST_QUEUE + queue, or NO_QUEUE */
    struct queue block[]; /* the queues, and after them the table */
};
#define STRUCTURE struct duration_queues
#define STRUCTURE_BYTES(q)                                                                         \
    (sizeof *(q) + (q)->queue_count * sizeof(struct queue) +                                       \
     ((size_t)(q)->table_mask + 1) * sizeof(uint32_t))
#define FILE_TIMER
#define TAKE_OUT take_out
#define NEXT_WORK
#define TAKES_FROM FIRST_QUEUE
#include "bucket_hooks.h"

#define HEAP_OTHERS(self) (self)->queue_count
#include "index_heap.h"

/* --- data: the heap --------------------------------------------------------------------------- */

static inline bool is_queue(const struct duration_queues *q, uint32_t index)
{
    return index < q->buckets.first_timer;
}

static inline struct queue *queue_of(const struct duration_queues *q, uint32_t head)
{
    return &q->queues[head - FIRST_QUEUE];
}

static inline void heap_put(struct duration_queues *q, uint32_t place, uint32_t index)
{
    q->heap[place] = index;
    if (is_queue(q, index)) {
        queue_of(q, index)->place = place;
    } else {
        node_at(&q->buckets, index)->prev = place;
        TL_COUNT(&q->buckets, moves, 1);
    }
}

/* Puts an entry where it belongs, from the hole at `place` up or down. */
static void heap_settle(struct duration_queues *q, uint32_t place, uint32_t index)
{
    uint64_t due = node_at(&q->buckets, index)->due;
    if (q->scan) {
        q->bound = due < q->bound ? due : q->bound;
        heap_put(q, place, index);
    } else {
        heap_sift(q, place, index);
    }
}

static void heap_remove(struct duration_queues *q, uint32_t place)
{
    uint32_t last = q->heap[--q->heap_count];
    if (place != q->heap_count) {
        heap_settle(q, place, last);
    }
}

/* --- data: queues by duration ----------------------------------------------------------------- */

static inline uint32_t table_slot(const struct duration_queues *q, uint64_t duration)
{
    return (uint32_t)(duration * UINT64_C(0x9e3779b97f4a7c15) >> q->table_shift);
}

/* The slot in the table of a duration: of its queue, or the free one where it would be put. */
static uint32_t table_find(struct duration_queues *q, uint64_t duration)
{
    uint32_t slot = table_slot(q, duration);
    while (q->table[slot] != NO_QUEUE) {
        TL_COUNT(&q->buckets, compares, 1);
        if (queue_of(q, q->table[slot])->duration == duration) {
            break;
        }
        slot = (slot + 1) & q->table_mask;
    }
    return slot;
}

/* Takes a queue out of the table; those that were pushed on by it move up, so that there are never
 * marks of deleted ones. */
static void table_remove(struct duration_queues *q, uint64_t duration)
{
    uint32_t gap = table_find(q, duration);
    for (uint32_t slot = (gap + 1) & q->table_mask; q->table[slot] != NO_QUEUE;
         slot = (slot + 1) & q->table_mask) {
        uint32_t home = table_slot(q, queue_of(q, q->table[slot])->duration);
        if (((slot - home) & q->table_mask) >= ((slot - gap) & q->table_mask)) {
            q->table[gap] = q->table[slot];
            gap = slot;
        }
    }
    q->table[gap] = NO_QUEUE;
}

static void queue_close(struct duration_queues *q, uint32_t head)
{
    struct queue *queue = queue_of(q, head);
    table_remove(q, queue->duration);
    heap_remove(q, queue->place);
    queue->place = q->idle;
    q->idle = head;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* Files a timer that is in no list and due after the clock. */
static inline void file_timer(struct duration_queues *q, uint32_t index, uint64_t due)
{
    uint64_t duration = due - q->buckets.clock;
    uint32_t slot = table_find(q, duration);
    uint32_t head = q->table[slot];
    if (head == NO_QUEUE && q->idle != NO_QUEUE) {
        head = q->idle;
        q->idle = queue_of(q, head)->place;
        q->table[slot] = head;
        queue_of(q, head)->duration = duration;
        node_at(&q->buckets, head)->due = due;
        heap_settle(q, q->heap_count++, head);
    }
    if (head != NO_QUEUE) {
        bucket_append(&q->buckets, head, index);
    } else {
        node_at(&q->buckets, index)->next = IN_HEAP;
        heap_settle(q, q->heap_count++, index);
    }
}

static inline void take_out(struct duration_queues *q, uint32_t index)
{
    struct node *node = node_at(&q->buckets, index);
    if (node->next == IN_HEAP) {
        node->next = SLOT_NONE;
        TL_COUNT(&q->buckets, moves, 1);
        heap_remove(q, node->prev);
        return;
    }
    uint32_t emptied = bucket_remove(&q->buckets, index);
    if (emptied != BUCKET_NONE && emptied >= FIRST_QUEUE) {
        queue_close(q, emptied);
    }
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Move the due timers of an entry of the heap to DUE. Return whether the entry is gone; else its
 * tick is corrected. */
static bool take_due(struct duration_queues *q, uint32_t index, uint64_t now)
{
    struct timer_buckets *buckets = &q->buckets;
    TL_COUNT(buckets, slots, 1);
    if (!is_queue(q, index)) {
        if (node_at(buckets, index)->due > now) {
            return false;
        }
        take_out(q, index);
        bucket_append(buckets, DUE, index);
        return true;
    }
    uint32_t first = node_at(buckets, index)->next;
    while (first != index) {
        TL_COUNT(buckets, compares, 1);
        if (node_at(buckets, first)->due > now) {
            node_at(buckets, index)->due = node_at(buckets, first)->due;
            return false;
        }
        uint32_t next = node_at(buckets, first)->next;
        PREFETCH(node_at(buckets, next));
        slot_remove(buckets, first);
        bucket_append(buckets, DUE, first);
        first = next;
    }
    queue_close(q, index);
    return true;
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct duration_queues *q, uint64_t now)
{
    bucket_move_all(&q->buckets, LATE, DUE);
    q->buckets.clock = now;
    if (!q->scan) {
        while (q->heap_count > 0 && heap_due(q, 0) <= now) {
            uint32_t index = q->heap[0];
            if (!take_due(q, index, now)) {
                heap_settle(q, 0, index);
            }
        }
        return;
    }
    if (q->bound > now) {
        return;
    }
    q->bound = TL_NEVER;
    for (uint32_t place = 0; place < q->heap_count;) {
        uint32_t index = q->heap[place];
        if (!take_due(q, index, now)) { /* else another has taken its place */
            uint64_t at = node_at(&q->buckets, index)->due;
            q->bound = at < q->bound ? at : q->bound;
            place++;
        }
    }
}

static uint64_t next_work(const struct duration_queues *q)
{
    return q->scan ? q->bound : heap_due(q, 0);
}

/* --- create and options ----------------------------------------------------------------------- */

/* For the first timers, all queues are idle. */
static enum tl_status queues_reserve(void *self, uint32_t capacity)
{
    struct duration_queues *q = self;
    if (q->heap == NULL) {
        q->queues = q->block;
        q->table = (uint32_t *)(void *)(q->block + q->queue_count);
        q->idle = NO_QUEUE;
        for (uint32_t head = FIRST_QUEUE + q->queue_count; head-- > FIRST_QUEUE;) {
            queue_of(q, head)->place = q->idle;
            q->idle = head;
        }
    }
    return heap_reserve(q, capacity);
}

struct queues_options {
    uint32_t queues;
    uint32_t expiry;
};
enum expiry { EXPIRY_HEAP, EXPIRY_SCAN };

static enum tl_status queues_create(const struct tl_config *config, void **self)
{
    const struct queues_options *options = config->options;
    uint32_t size = 4; /* of the table: at most half full */
    while (size < 2 * options->queues) {
        size *= 2;
    }
    struct duration_queues empty = {
        .buckets = buckets_empty(config, FIRST_QUEUE + options->queues),
        .queue_count = options->queues,
        .table_mask = size - 1,
        .table_shift = 64 - (uint32_t)__builtin_ctz(size),
        .scan = options->expiry == EXPIRY_SCAN,
        .bound = TL_NEVER,
    };
    return structure_create(config, &empty, queues_reserve, heap_destroy, self);
}

static const struct tl_choice expiry_choices[] = {
    {"heap", EXPIRY_HEAP, "a heap of the queues: O(log t)"},
    {"scan", EXPIRY_SCAN, "a look at every queue when one may be due: O(t), Lawn's"},
    {NULL, 0, NULL},
};

static const struct tl_option queues_option_table[] = {
    {"queues", TL_U32(struct queues_options, queues), 4096, 1, QUEUES_MAX, NULL,
     "distinct durations that get a queue; timers of more go to the heap"},
    {"expiry", TL_CHOICE(struct queues_options, expiry), EXPIRY_HEAP, 0, 0, expiry_choices,
     "how the queue that is due first is found"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool bucket_takes(const struct duration_queues *q, uint32_t head, const struct node *node)
{
    const struct timer_buckets *buckets = &q->buckets;
    return node->due >= node_at(buckets, node->prev)->due && node->due > buckets->clock &&
           node->due - queue_of(q, head)->duration <= buckets->clock;
}

/* Whether the table leads to a queue, which holds timers and knows its place in the heap. */
static bool queue_is_right(const struct duration_queues *q, uint32_t head, uint32_t place)
{
    uint32_t slot = table_slot(q, queue_of(q, head)->duration);
    while (q->table[slot] != head && q->table[slot] != NO_QUEUE) {
        slot = (slot + 1) & q->table_mask;
    }
    return q->table[slot] == head && queue_of(q, head)->place == place &&
           !bucket_is_empty(&q->buckets, head);
}

static enum tl_status queues_check(const void *self, char *why, size_t why_bytes)
{
    const struct duration_queues *q = self;
    uint32_t busy = 0;
    for (uint32_t place = 0; place < q->heap_count; place++) {
        uint32_t index = q->heap[place];
        bool right = q->scan ? heap_due(q, place) >= q->bound
                             : heap_due(q, place) >= heap_due(q, place > 0 ? (place - 1) / 2 : 0);
        if (is_queue(q, index)) {
            busy++;
            right = right && queue_is_right(q, index, place);
        } else {
            const struct node *node = node_at(&q->buckets, index);
            right = right && node->next == IN_HEAP && node->prev == place &&
                    node->due > q->buckets.clock;
        }
        if (!right) {
            return corrupt(why, why_bytes, "entry %" PRIu32 " of the heap is wrong", place);
        }
    }
    uint32_t idle = 0;
    for (uint32_t head = q->idle; head != NO_QUEUE && idle <= q->queue_count; idle++) {
        head = queue_of(q, head)->place;
    }
    if (busy + idle != q->queue_count) {
        return corrupt(why, why_bytes, "%" PRIu32 " queues are in use, %" PRIu32 " idle", busy,
                       idle);
    }
    return buckets_check_timers(q, q->heap_count - busy, why, why_bytes);
}

static const char *queue_name(const struct duration_queues *q, uint32_t head, char name[48])
{
    (void)snprintf(name, 48, "for %" PRIu64 " ticks", queue_of(q, head)->duration);
    return name;
}

static void queues_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct duration_queues *q = self;
    char name[48];
    buckets_walk_due(&q->buckets, visitor);
    walk_part(visitor, q->scan ? "queues" : "heap", q->scan ? TL_FORM_LIST : TL_FORM_TREE, 0);
    for (uint32_t place = 0; place < q->heap_count; place++) {
        uint32_t index = q->heap[place];
        uint64_t due = heap_due(q, place);
        uint64_t parent = place > 0 && !q->scan ? (place - 1) / 2 : TL_NEVER;
        if (is_queue(q, index)) {
            walk_reference(visitor, place, parent, due, queue_name(q, index, name));
        } else {
            walk_node(visitor, place, parent);
            walk_timer(visitor, timer_id(&q->buckets, index), due, 0);
        }
    }
    for (uint32_t place = 0; place < q->heap_count; place++) {
        uint32_t head = q->heap[place];
        if (is_queue(q, head)) {
            walk_part(visitor, queue_name(q, head, name), TL_FORM_LIST, 0);
            uint64_t index = 0;
            for (uint32_t i = bucket_first(&q->buckets, head); i != SLOT_NONE;
                 i = bucket_after(&q->buckets, head, i)) {
                walk_node(visitor, index++, TL_NEVER);
                walk_timer(visitor, timer_id(&q->buckets, i), node_at(&q->buckets, i)->due, 0);
            }
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(duration_queues) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "duration-queues",
    .summary = "one FIFO for each distinct duration",
    .origin = "Lawn; libevent's common timeouts; Envoy's scaled timers",
    .description =
        "Timers of the same duration are due in the order of their starts, so each duration has a "
        "queue to which starts append; a hash table finds it, and a heap of the queues, or a scan, "
        "finds which is due first. A server has few durations. When more of them are in use than "
        "there are queues, the timers of the others are in the heap one by one. Bad at: very many "
        "distinct durations, with which it becomes a binary heap.",
    .differs =
        "durations get queues as they come, where libevent's are set beforehand, at most 256 of "
        "them, and Lawn and Envoy have no limit; a restart moves the timer, where Lawn's "
        "set_element_ttl leaves the first one in its queue, so that it fires twice; next may be "
        "that of a timer that was stopped, as in libevent, where Lawn and Envoy look again, and "
        "libevent is woken for it even if its queue is empty by then; no scale factor and no "
        "minimum, by which Envoy makes all wait shorter under load; stop says whether the timer "
        "was pending, where the three answer the same either way; a timer due at its start waits "
        "for the next advance.",
    .cost = {.start = "O(1), O(log t) where it is the first of its duration",
             .stop = "O(1), O(log t) where it was the last",
             .tick = "O(1)",
             .expire = "O(log t)"},
    OPTIONS(queues_option_table, struct queues_options),
    .create = queues_create,
    .destroy = heap_destroy,
    .reserve = queues_reserve,
    .start = buckets_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_OTHER_HOOKS,
    .check = queues_check,
    .walk = queues_walk,
};
