/*
 * go-heap: the timers of Go's runtime: a heap with four children an entry, where stop and restart
 * only mark.
 *
 *   heap      [when 3, id 7]                               in the order of the ticks in the entries
 *             [when 4, id 1] [when 5, id 4] [when 9, id 2]
 *   timers    id 1: when 20, modified       id 4: zombie       id 2, id 7: as in the heap
 *
 * A timer has at most one entry in the heap and does not know its place: there is no back-index,
 * and sifting writes entries only. start(1, 20) moved timer 1 from tick 4: it wrote the new tick to
 * the timer and marked it `modified`; the entry stays under the old tick. stop(4) made timer 4 a
 * zombie. advance(3) fires id 7. When the entry of timer 1 comes to the top, at tick 4, it sinks by
 * the timer's own tick; the entry of timer 4 is dropped at the top. A start revives a zombie.
 *
 * A restart to an earlier tick would be seen too late. So the earliest tick of all modified timers
 * is kept, and the first advance that reaches it adjusts the whole heap. The same happens when more
 * than a quarter of the entries are zombies. A start that adds an entry first removes marked
 * entries from the top, and zombies from the end of the array. With one entry for each timer at
 * most, stopped timers take no more memory.
 *
 * A timer that a callback starts when already due must not fire in the same advance. Go does not
 * see it because it read the clock before; here it is held back, as a zombie if it has an entry,
 * until the advance ends.
 *
 * Invariants
 *   - no entry is before its parent, by the tick in the entry
 *   - a timer has one entry if it is HEAPED, else none; if it is not MODIFIED the entry has its own
 *     tick; each entry of a zombie is counted
 *   - a timer that is PENDING is HEAPED and no zombie, or held back by a running advance
 *   - no pending timer that is MODIFIED is due before `first_modified`
 *
 * Complexity: start O(log n), of a pending timer O(1), stop O(1), a tick O(1), expiry O(log n);
 * O(n) when the heap is adjusted. Use it where most timers are postponed, as in servers. Bad at:
 * restarts of a few timers to near ticks among very many others, each of which costs O(n); `next`,
 * which may return the tick of a marked entry.
 *
 * Source: golang/go, runtime/time.go (1.23 to 1.25): modify, stop, maybeAdd, cleanHead, adjust,
 * check, run.
 */
#include "timerlab.h"

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "tuning.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define ARITY        4u
#define ROOT         ((size_t)3) /* the children of an entry begin at a multiple of 4: one line */
#define ENTRY_ALIGN  64
#define CAPACITY_MAX (UINT32_C(1) << 31)
#define NONE         UINT32_MAX

enum state {
    HEAPED = 1,   /* has an entry */
    MODIFIED = 2, /* and that is not up to date */
    ZOMBIE = 4,   /* and that is to go: stopped */
    PENDING = 8,
    HELD_BACK = 16, /* to be started when the running advance is over */
    IN_QUEUE = 32,  /* in the queue of timers held back */
};

struct node {
    uint64_t when;
    uint32_t behind; /* the next one in that queue */
    uint8_t state;
};

struct entry {
    uint64_t when;
    uint32_t id;
};

struct go_heap {
    struct node *nodes AND_RECORDS;
    struct entry *entries; /* from ROOT to `end` */
    size_t end;
    size_t unlocked; /* the entries when others could last see them: Go's `len` */
    uint32_t zombies;
    uint32_t capacity;
    uint64_t first_modified; /* no modified timer is due before; TL_NEVER: there is none */
    uint64_t count;
    uint64_t clock;
    uint32_t held_first; /* the queue of timers held back; NONE: empty */
    uint32_t held_last;
    bool firing;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define NODE_ARRAY  struct go_heap
#define NODES_FIRST ((uint32_t)0)
#include "node_array.h"
#define STRUCTURE struct go_heap
#include "structure.h"

/* --- data: the heap --------------------------------------------------------------------------- */

static inline size_t parent_of(size_t index)
{
    return index / ARITY + ROOT - 1;
}

static inline size_t children_of(size_t index)
{
    return ARITY * (index - ROOT + 1);
}

static inline void put(struct go_heap *heap, size_t index, struct entry entry)
{
    heap->entries[index] = entry;
    TL_COUNT(heap, moves, 1);
}

static void sift_up(struct go_heap *heap, size_t hole, struct entry entry)
{
    while (hole > ROOT) {
        TL_COUNT(heap, compares, 1);
        if (entry.when >= heap->entries[parent_of(hole)].when) {
            break;
        }
        put(heap, hole, heap->entries[parent_of(hole)]);
        hole = parent_of(hole);
    }
    put(heap, hole, entry);
}

/* Of equal children the first goes up, and none that is not before the entry. */
static void sift_down(struct go_heap *heap, size_t hole, struct entry entry)
{
    for (size_t child = children_of(hole); child < heap->end; child = children_of(hole)) {
        size_t last = child + ARITY < heap->end ? child + ARITY : heap->end;
        size_t first = child;
        for (size_t i = child + 1; i < last; i++) {
            TL_COUNT(heap, compares, 1);
            first = heap->entries[i].when < heap->entries[first].when ? i : first;
        }
        TL_COUNT(heap, compares, 1);
        if (heap->entries[first].when >= entry.when) {
            break;
        }
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    put(heap, hole, entry);
}

static inline struct node *entry_node(const struct go_heap *heap, size_t index)
{
    return node_at(heap, heap->entries[index].id);
}

static inline void forget_entry(struct go_heap *heap, struct node *node)
{
    heap->zombies -= (node->state & ZOMBIE) != 0;
    node->state &= (uint8_t) ~(HEAPED | MODIFIED | ZOMBIE);
}

static void delete_min(struct go_heap *heap)
{
    forget_entry(heap, entry_node(heap, ROOT));
    struct entry last = heap->entries[--heap->end];
    if (heap->end > ROOT) {
        sift_down(heap, ROOT, last);
    } else {
        heap->first_modified = TL_NEVER;
    }
}

/* Deals with a marked entry at the top. False: it is not marked. */
static bool update_top(struct go_heap *heap)
{
    struct node *node = entry_node(heap, ROOT);
    if ((node->state & ZOMBIE) != 0) {
        delete_min(heap);
        return true;
    }
    if ((node->state & MODIFIED) != 0) {
        struct entry entry = {.when = node->when, .id = heap->entries[ROOT].id};
        node->state &= (uint8_t)~MODIFIED;
        sift_down(heap, ROOT, entry);
        return true;
    }
    return false;
}

/* Drops zombies from the end, and process marked entries at the top, by turns: a zombie at the
 * top is replaced by the entry at the end. */
static void clean_head(struct go_heap *heap)
{
    while (heap->end > ROOT) {
        struct node *last = entry_node(heap, heap->end - 1);
        TL_COUNT(heap, compares, 1);
        if ((last->state & ZOMBIE) != 0) {
            forget_entry(heap, last);
            heap->end--;
        } else if (!update_top(heap)) {
            return;
        }
    }
}

/* Puts all entries right, drops the zombies, and makes it a heap again. */
static void adjust(struct go_heap *heap)
{
    bool changed = false;
    heap->first_modified = TL_NEVER;
    for (size_t i = ROOT; i < heap->end;) {
        struct node *node = entry_node(heap, i);
        TL_COUNT(heap, compares, 1);
        if ((node->state & ZOMBIE) != 0) {
            forget_entry(heap, node);
            put(heap, i, heap->entries[--heap->end]);
            changed = true;
            continue; /* with the one that has come here */
        }
        if ((node->state & MODIFIED) != 0) {
            heap->entries[i].when = node->when;
            node->state &= (uint8_t)~MODIFIED;
            TL_COUNT(heap, cascades, 1);
            changed = true;
        }
        i++;
    }
    if (changed && heap->end > ROOT + 1) {
        for (size_t i = parent_of(heap->end - 1); i >= ROOT; i--) {
            sift_down(heap, i, heap->entries[i]);
        }
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static inline bool has_many_zombies(const struct go_heap *heap)
{
    return heap->zombies > heap->unlocked / 4;
}

/* Makes a timer that may have an entry pending. */
static void modify(struct go_heap *heap, uint32_t id, uint64_t when)
{
    struct node *node = node_at(heap, id);
    node->when = when;
    TL_COUNT(heap, moves, 1);
    if ((node->state & HEAPED) != 0) {
        heap->zombies -= (node->state & ZOMBIE) != 0;
        node->state &= (uint8_t)~ZOMBIE;
        node->state |= MODIFIED;
        heap->first_modified = when < heap->first_modified ? when : heap->first_modified;
        return;
    }
    clean_head(heap);
    node->state |= HEAPED;
    sift_up(heap, heap->end++, (struct entry){.when = when, .id = id});
    heap->unlocked = heap->end - ROOT;
}

/* Makes a zombie of a timer's entry, if it has one. */
static void bury(struct go_heap *heap, struct node *node)
{
    if ((node->state & (HEAPED | ZOMBIE)) == HEAPED) {
        node->state |= MODIFIED | ZOMBIE;
        heap->zombies++;
    }
}

static void hold_back(struct go_heap *heap, uint32_t id)
{
    struct node *node = node_at(heap, id);
    bury(heap, node);
    node->state |= HELD_BACK;
    if ((node->state & IN_QUEUE) != 0) {
        return;
    }
    node->state |= IN_QUEUE;
    node->behind = NONE;
    if (heap->held_first == NONE) {
        heap->held_first = id;
    } else {
        node_at(heap, heap->held_last)->behind = id;
    }
    heap->held_last = id;
}

/* Start the timers still held back, for the tick of the advance that has ended. */
static void let_go(struct go_heap *heap)
{
    while (heap->held_first != NONE) {
        uint32_t id = heap->held_first;
        struct node *node = node_at(heap, id);
        heap->held_first = node->behind;
        bool held = (node->state & HELD_BACK) != 0;
        node->state &= (uint8_t) ~(IN_QUEUE | HELD_BACK);
        if (held) {
            modify(heap, id, heap->clock);
        }
    }
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct go_heap *heap = self;
    struct node *node = node_at(heap, id);
    heap->count += (node->state & PENDING) == 0;
    node->state |= PENDING;
    if (heap->firing && deadline <= heap->clock) {
        node->when = heap->clock;
        hold_back(heap, id);
        return TL_OK;
    }
    node->state &= (uint8_t)~HELD_BACK;
    modify(heap, id, deadline > heap->clock ? deadline : heap->clock);
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    struct go_heap *heap = self;
    struct node *node = node_at(heap, id);
    if ((node->state & PENDING) == 0) {
        return TL_IDLE;
    }
    node->state &= (uint8_t) ~(PENDING | HELD_BACK);
    bury(heap, node);
    heap->count--;
    TL_COUNT(heap, moves, 1);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Whether the top is to fire at `now`, after all that is marked above it has been dealt with. */
static bool top_is_due(struct go_heap *heap, uint64_t now)
{
    while (heap->end > ROOT) {
        bool marked = (entry_node(heap, ROOT)->state & (MODIFIED | ZOMBIE)) != 0;
        TL_COUNT(heap, compares, 1);
        if (!marked) {
            return heap->entries[ROOT].when <= now;
        }
        (void)update_top(heap);
    }
    return false;
}

/* The earliest tick of the heap and of the modified timers. */
static inline uint64_t wake_time(const struct go_heap *heap)
{
    uint64_t when = heap->end > ROOT ? heap->entries[ROOT].when : TL_NEVER;
    return heap->first_modified < when ? heap->first_modified : when;
}

/* Apart from heap_advance, so that a tick at which nothing is due costs no more
 * than to see that. */
static NEVER_INLINE uint64_t run(struct go_heap *heap, uint64_t now, uint64_t budget,
                                 tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    heap->firing = true;
    if (heap->first_modified <= now) {
        adjust(heap);
    }
    while (fired < budget && top_is_due(heap, now)) {
        uint32_t id = heap->entries[ROOT].id;
        delete_min(heap);
        node_at(heap, id)->state &= (uint8_t)~PENDING;
        heap->count--;
        heap->unlocked = heap->end - ROOT;
        fired++;
        fire(ctx, id, now);
    }
    if (heap->end > ROOT && has_many_zombies(heap)) {
        adjust(heap);
    }
    heap->unlocked = heap->end - ROOT;
    heap->firing = false;
    let_go(heap);
    return fired;
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct go_heap *heap = self;
    heap->clock = now;
    TL_COUNT(heap, compares, 1);
    if (heap->end == ROOT || (now < wake_time(heap) && !has_many_zombies(heap))) {
        return 0;
    }
    return run(heap, now, budget, fire, ctx);
}

static uint64_t heap_next(const void *self)
{
    const struct go_heap *heap = self;
    return heap->count > 0 ? wake_time(heap) : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static size_t entries_bytes(uint32_t capacity)
{
    return (ROOT + capacity) * sizeof(struct entry);
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    struct go_heap *heap = self;
    bool fresh = heap->entries == NULL;
    if (capacity <= heap->capacity && !fresh) {
        return TL_OK;
    }
    struct entry *entries = tl_alloc(heap->allocator, entries_bytes(capacity), ENTRY_ALIGN);
    if (entries == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t old_capacity = heap->capacity;
    enum tl_status status =
        nodes_reserve(heap, capacity, CAPACITY_MAX, (struct node){.behind = NONE});
    if (status != TL_OK) {
        tl_free(heap->allocator, entries, entries_bytes(capacity), ENTRY_ALIGN);
        return status;
    }
    for (size_t i = ROOT; i < heap->end; i++) {
        entries[i] = heap->entries[i];
    }
    if (!fresh) {
        tl_free(heap->allocator, heap->entries, entries_bytes(old_capacity), ENTRY_ALIGN);
    }
    heap->entries = entries;
    return TL_OK;
}

static void heap_destroy(void *self)
{
    struct go_heap *heap = self;
    tl_free(heap->allocator, heap->entries, entries_bytes(heap->capacity), ENTRY_ALIGN);
    nodes_destroy(self);
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct go_heap empty = {
        .end = ROOT,
        .first_modified = TL_NEVER,
        .held_first = NONE,
        .clock = config->now,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, heap_reserve, heap_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* An entry and its timer. */
static enum tl_status check_entry(const struct go_heap *heap, size_t i, char *why, size_t why_bytes)
{
    struct entry entry = heap->entries[i];
    const struct node *node = node_at(heap, entry.id);
    if (i > ROOT && entry.when < heap->entries[parent_of(i)].when) {
        return corrupt(why, why_bytes, "timer %" PRIu32 " stands below a later one", entry.id);
    }
    bool pending = (node->state & PENDING) != 0;
    if ((node->state & HEAPED) == 0 || pending == ((node->state & ZOMBIE) != 0)) {
        return corrupt(why, why_bytes, "timer %" PRIu32 " is in the heap in state %u", entry.id,
                       (unsigned)node->state);
    }
    if (pending && ((node->state & MODIFIED) == 0 ? node->when != entry.when
                                                  : node->when < heap->first_modified)) {
        return corrupt(why, why_bytes,
                       "timer %" PRIu32 " is due at %" PRIu64 ", and no entry says so", entry.id,
                       node->when);
    }
    return TL_OK;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct go_heap *heap = self;
    enum tl_status status = TL_OK;
    for (size_t i = ROOT; status == TL_OK && i < heap->end; i++) {
        status = check_entry(heap, i, why, why_bytes);
    }
    uint64_t in_heap = 0;
    uint64_t pending = 0;
    uint64_t zombies = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        in_heap += (node_at(heap, id)->state & HEAPED) != 0;
        pending += (node_at(heap, id)->state & PENDING) != 0;
        zombies += (node_at(heap, id)->state & ZOMBIE) != 0;
    }
    if (status == TL_OK && (in_heap != heap->end - ROOT || pending != heap->count ||
                            zombies != heap->zombies || pending + zombies != in_heap)) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers with entries, %" PRIu64 " pending, %" PRIu64
                       " zombies; %" PRIu64 ", %" PRIu64 ", %" PRIu32 " counted",
                       in_heap, pending, zombies, (uint64_t)(heap->end - ROOT), heap->count,
                       heap->zombies);
    }
    return status;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct go_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = ROOT; i < heap->end; i++) {
        struct entry entry = heap->entries[i];
        const struct node *node = node_at(heap, entry.id);
        walk_node(visitor, i - ROOT, i > ROOT ? parent_of(i) - ROOT : TL_NEVER);
        if ((node->state & MODIFIED) != 0) {
            walk_stale(visitor, entry.id, entry.when); /* the tick of the entry */
        }
        if ((node->state & ZOMBIE) == 0) {
            walk_timer(visitor, entry.id, node->when, 0);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(go_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "go-heap",
    .summary = "a heap in which stop and restart only mark the timer",
    .origin = "Go runtime, runtime/time.go (1.23 and later)",
    .description =
        "A heap of four children an entry without a back-index, in which each timer has one entry "
        "at the most. Stop makes the timer a zombie, restart marks it as modified, and both leave "
        "the entry where it is: a marked entry is corrected when it reaches the top. The whole "
        "heap is corrected, and zombies are dropped, when the earliest tick to which a timer was "
        "moved is reached, and when more than a quarter are zombies. Bad at: restarts of a few "
        "timers to near ticks among very many others, each of which goes through the whole heap; "
        "and `next`, which may name the tick of a marked entry.",
    .cost = {.start = "O(log n), pending O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(log n) amortised, O(n) after restarts to near ticks"},
    .create = heap_create,
    .destroy = heap_destroy,
    .reserve = heap_reserve,
    .start = heap_start,
    .stop = heap_stop,
    .advance = heap_advance,
    .next = heap_next,
    NODES_HOOKS,
    .check = heap_check,
    .walk = heap_walk,
    .differs =
        "one heap, where the original has one for each processor, and moves and steals; a timer "
        "that a callback starts already due waits for the next advance, where the original runs it "
        "if it is not after the time that was read before; no periods, and no channels, which the "
        "original keeps out of the heap while no goroutine waits for them.",
};
