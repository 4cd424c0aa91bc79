/*
 * go-heap: the timers of Go's runtime: a heap with four children an entry, where stop and restart
 * only mark.
 *
 *   heap      [when 3, id 7]                               in the order of the ticks in the entries
 *             [when 4, id 1] [when 5, id 4] [when 9, id 2]
 *   timers    id 1: when 20, modified       id 4: zombie       id 2, id 7: as in the heap
 *
 * A timer has at most one entry in the heap and does not know its place: sifting writes entries only.
 * start(1, 20) moved timer 1 from tick 4: it marked it `modified`, and the entry stays under the old
 * tick. stop(4) made timer 4 a zombie. advance(3) fires id 7. At tick 4 the entry of timer 1 comes to
 * the top and sinks by the timer's own tick; the entry of timer 4 is dropped at the top.
 *
 * A restart to an earlier tick would be seen too late. So the earliest tick of all modified timers is
 * kept, and the first advance that reaches it adjusts the whole heap; so does one with more than a
 * quarter of zombies. A start that adds an entry first removes marked entries from the top, and
 * zombies from the end. A timer that a callback starts when already due is held back until the
 * advance ends; Go does not see it because it read the clock before.
 *
 * Invariants
 *   - no entry is before its parent, by the tick in the entry
 *   - a timer has one entry if it is HEAPED, else none, with its own tick unless it is MODIFIED
 *   - a timer that is PENDING is HEAPED and no zombie, or held back by a running advance
 *   - no pending timer that is MODIFIED is due before `first_modified`
 *
 * Complexity: start O(log n), of a pending timer O(1), stop O(1), a tick O(1), expiry O(log n);
 * O(n) when the heap is adjusted. Use it where most timers are postponed, as in servers. Bad at:
 * restarts of a few timers to near ticks among very many others, each of which costs O(n).
 *
 * Source: golang/go, runtime/time.go (1.23 to 1.25): modify, stop, maybeAdd, cleanHead, adjust,
 * check, run.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define ARITY 4u
#define ROOT  ((size_t)3) /* the children of an entry begin at a multiple of 4: one line */
#define NONE  UINT32_MAX

enum state {
    HEAPED = 1,   /* has an entry */
    MODIFIED = 2, /* and that is not up to date */
    ZOMBIE = 4,   /* and that is to go: stopped */
    PENDING = 8,
    HELD_BACK = 16, /* to be started when the running advance is over */
    IN_LIST = 32,   /* in the list of timers held back */
};

struct node {
    uint64_t when;
    uint32_t next_held;
    uint8_t state;
};

struct entry {
    uint64_t when;
    uint32_t id;
};

struct go_heap {
    struct entry *entries; /* from ROOT to `end`; followed by the nodes, in one block */
    struct node *by_id AND_RECORDS;
    size_t end;
    size_t unlocked; /* the entries when others could last see them: Go's `len` */
    uint32_t zombies;
    uint32_t capacity;
    uint64_t first_modified; /* no modified timer is due before; TL_NEVER: there is none */
    uint64_t count;
    uint64_t clock;
    uint32_t held_first; /* the list of timers held back; NONE: empty */
    bool firing;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE            struct go_heap
#define ENTRY                struct entry
#define VALUE                struct node
#define VALUE_IDLE           ((struct node){.state = 0})
#define VALUE_IS_IDLE(value) (((value).state & PENDING) == 0)
#define PLACED_FIRST(heap)   ROOT
#define PLACED_END(heap)     ((heap)->end)
#include "placed_entries.h"
#define node_at value_at

/* --- data: the heap --------------------------------------------------------------------------- */

static inline size_t parent_of(size_t index)
{
    return index / ARITY + ROOT - 1;
}

static inline size_t children_of(size_t index)
{
    return ARITY * (index - ROOT + 1);
}

static inline bool is_marked(const struct node *node, unsigned states)
{
    return (node->state & states) != 0;
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
    heap->zombies -= is_marked(node, ZOMBIE);
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

/* Process a marked entry at the top. False: it is not marked. */
static bool update_top(struct go_heap *heap)
{
    struct node *node = entry_node(heap, ROOT);
    if (!is_marked(node, MODIFIED | ZOMBIE)) {
        return false;
    }
    if (is_marked(node, ZOMBIE)) {
        delete_min(heap);
    } else {
        node->state &= (uint8_t)~MODIFIED;
        sift_down(heap, ROOT, (struct entry){node->when, heap->entries[ROOT].id});
    }
    return true;
}

/* Drop zombies at the end, and process marked entries at the top, in turn: the entry at the end
 * replaces a zombie at the top. */
static void clean_head(struct go_heap *heap)
{
    while (heap->end > ROOT) {
        struct node *last = entry_node(heap, heap->end - 1);
        TL_COUNT(heap, compares, 1);
        if (is_marked(last, ZOMBIE)) {
            forget_entry(heap, last);
            heap->end--;
        } else if (!update_top(heap)) {
            return;
        }
    }
}

/* Update all entries, drop the zombies, and restore the heap. */
static void adjust(struct go_heap *heap)
{
    bool changed = false;
    heap->first_modified = TL_NEVER;
    for (size_t i = ROOT; i < heap->end; i++) {
        struct node *node = entry_node(heap, i);
        TL_COUNT(heap, compares, 1);
        changed = changed || is_marked(node, MODIFIED | ZOMBIE);
        if (is_marked(node, ZOMBIE)) {
            forget_entry(heap, node);
            put(heap, i, heap->entries[--heap->end]);
            i--; /* the entry that has come here is next */
        } else if (is_marked(node, MODIFIED)) {
            heap->entries[i].when = node->when;
            node->state &= (uint8_t)~MODIFIED;
            TL_COUNT(heap, cascades, 1);
        }
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

/* Make a timer pending. It may have an entry. */
static void modify(struct go_heap *heap, uint32_t id, uint64_t when)
{
    struct node *node = node_at(heap, id);
    node->when = when;
    TL_COUNT(heap, moves, 1);
    if (is_marked(node, HEAPED)) {
        heap->zombies -= is_marked(node, ZOMBIE);
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

/* Mark a timer's entry, if it has one, as a zombie. */
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
    if (is_marked(node, IN_LIST)) {
        return;
    }
    node->state |= IN_LIST;
    node->next_held = heap->held_first;
    heap->held_first = id;
}

/* Start the timers still held back, for the tick of this advance. The list begins with the newest,
 * and the oldest is started first. */
static void let_go(struct go_heap *heap)
{
    uint32_t oldest = NONE;
    while (heap->held_first != NONE) {
        uint32_t id = heap->held_first;
        heap->held_first = node_at(heap, id)->next_held;
        node_at(heap, id)->next_held = oldest;
        oldest = id;
    }
    for (uint32_t id = oldest; id != NONE; id = node_at(heap, id)->next_held) {
        struct node *node = node_at(heap, id);
        bool held = is_marked(node, HELD_BACK);
        node->state &= (uint8_t) ~(IN_LIST | HELD_BACK);
        if (held) {
            modify(heap, id, heap->clock);
        }
    }
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct go_heap *heap = self;
    struct node *node = node_at(heap, id);
    heap->count += !is_marked(node, PENDING);
    node->state |= PENDING;
    if (heap->firing && deadline <= heap->clock) {
        node->when = heap->clock;
        hold_back(heap, id);
    } else {
        node->state &= (uint8_t)~HELD_BACK;
        modify(heap, id, deadline > heap->clock ? deadline : heap->clock);
    }
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    struct go_heap *heap = self;
    struct node *node = node_at(heap, id);
    if (!is_marked(node, PENDING)) {
        return TL_IDLE;
    }
    node->state &= (uint8_t) ~(PENDING | HELD_BACK);
    bury(heap, node);
    heap->count--;
    TL_COUNT(heap, moves, 1);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Whether the top is due at `now`, after marked entries above it are processed. */
static bool top_is_due(struct go_heap *heap, uint64_t now)
{
    while (heap->end > ROOT) {
        TL_COUNT(heap, compares, 1);
        if (!update_top(heap)) {
            return heap->entries[ROOT].when <= now;
        }
    }
    return false;
}

/* The earliest tick of the heap and of the modified timers. */
static inline uint64_t wake_time(const struct go_heap *heap)
{
    uint64_t when = heap->end > ROOT ? heap->entries[ROOT].when : TL_NEVER;
    return heap->first_modified < when ? heap->first_modified : when;
}

static uint64_t expire(struct go_heap *heap, uint64_t now, uint64_t budget, tl_fire_fn fire,
                       void *ctx)
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
    return expire(heap, now, budget, fire, ctx);
}

static uint64_t heap_next(const void *self)
{
    const struct go_heap *heap = self;
    return heap->count > 0 ? wake_time(heap) : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct go_heap empty = {
        .end = ROOT,
        .first_modified = TL_NEVER,
        .held_first = NONE,
        .clock = config->now,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, placed_reserve, placed_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Return the fault of an entry and its timer, or NULL. */
static const char *check_entry(const struct go_heap *heap, size_t i)
{
    struct entry entry = heap->entries[i];
    const struct node *node = node_at(heap, entry.id);
    bool pending = is_marked(node, PENDING);
    bool is_placed =
        is_marked(node, MODIFIED) ? node->when >= heap->first_modified : node->when == entry.when;
    return i > ROOT && entry.when < heap->entries[parent_of(i)].when ? "is below a later one"
           : !is_marked(node, HEAPED) || pending == is_marked(node, ZOMBIE)
               ? "is in the heap, but its state differs"
           : pending && !is_placed ? "is due at a tick that no entry has"
                                   : NULL;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct go_heap *heap = self;
    for (size_t i = ROOT; i < heap->end; i++) {
        const char *fault = check_entry(heap, i);
        if (fault != NULL) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " %s", heap->entries[i].id, fault);
        }
    }
    size_t in_heap = 0;
    size_t zombies = 0;
    size_t pending = placed_count(heap);
    for (uint32_t id = 0; id < heap->capacity; id++) {
        in_heap += is_marked(node_at(heap, id), HEAPED);
        zombies += is_marked(node_at(heap, id), ZOMBIE);
    }
    if (in_heap != heap->end - ROOT || pending != heap->count || zombies != heap->zombies ||
        pending + zombies != in_heap) {
        return corrupt(why, why_bytes, "%zu timers with entries, %zu pending, %zu zombies", in_heap,
                       pending, zombies);
    }
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct go_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = ROOT; i < heap->end; i++) {
        struct entry entry = heap->entries[i];
        const struct node *node = node_at(heap, entry.id);
        walk_node(visitor, i - ROOT, i > ROOT ? parent_of(i) - ROOT : TL_NEVER);
        if (is_marked(node, MODIFIED)) {
            walk_stale(visitor, entry.id, entry.when); /* the tick of the entry */
        }
        if (!is_marked(node, ZOMBIE)) {
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
        "at the most. Stop and restart only mark the timer, and its entry is corrected at the top. "
        "The whole heap is corrected when the earliest tick to which a timer was moved is reached, "
        "and when more than a quarter are stopped. Bad at: restarts of a few timers to near ticks "
        "among very many others, each of which goes through the whole heap; and `next`, which may "
        "name the tick of a marked entry.",
    .cost = {.start = "O(log n), pending O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(log n) amortised, O(n) after restarts to near ticks"},
    .create = heap_create,
    .start = heap_start,
    .stop = heap_stop,
    .advance = heap_advance,
    .next = heap_next,
    PLACED_HOOKS,
    .check = heap_check,
    .walk = heap_walk,
    .differs =
        "one heap, where the original has one for each processor, and moves and steals; a timer "
        "that a callback starts already due waits for the next advance, where the original runs it "
        "if it is not after the time that was read before; no periods, and no channels, which the "
        "original keeps out of the heap while no goroutine waits for them.",
};
