/*
 * henriksen-list: Henriksen's sorted list, with an index of pointers that the searches themselves
 * adjust.
 *
 *   index     [0]       [1]           [2]            [3]
 *              |          \             \             (passed: due 5)
 *              |           v             v
 *   list      end <-> 90 <-> 71 <-> 64 <-> 40 <-> 33 <-> 20 <-> 8 <-> beginning
 *
 * The list is in order of due tick. start(a, 50) searches the index, by halves, for the earliest
 * pointer that is due later, [1] at 71, and walks from there towards the beginning: over 64, to its
 * place before 40. After each `pull` timers that a walk passes, it moves the index's next pointer,
 * here [2], to the current timer. So pointers gather where starts are frequent, and no start has a
 * long walk twice for the same reason. advance fires from the beginning, without a search. stop(a)
 * unlinks a.
 *
 * If there is no next pointer the index doubles, and the new pointers begin as passed; when the
 * clock has passed half of them, it is halved.
 *
 * An entry of the index keeps the due tick of its timer. Expiry and stop leave the index unchanged.
 * An entry at or before the clock is passed, and no start uses it. If a search ends at an entry
 * with a timer that was stopped or moved, that entry joins the pointer before it, to be moved or
 * passed with that. The index has room for one pointer to two timers, and is allocated with them.
 *
 * A timer that is due at its start goes to the list LATE, and to its place in the next advance.
 *
 * Invariants
 *   - the list is in order of due tick, equal ticks in order of start
 *   - the index's ticks fall from entry to entry; entry 0 is the list's end
 *   - the number of entries is a power of two, no more than there is room for
 *   - the list and LATE together hold exactly the pending timers
 *
 * Complexity: stop, expiry and a tick O(1); start O(n) at worst, O(sqrt n) amortised (Kingston),
 * about O(log n) for delays of a steady distribution. Use it for simulations with up to some
 * thousand timers. Bad at: memory latency, a cache miss for each timer passed; a distribution that
 * changes; many stops in one place, which leave stale entries.
 *
 * Source: J. O. Henriksen, "An improved events list algorithm", Winter Simulation Conference 1977;
 * J. H. Kingston, "Analysis of Henriksen's algorithm for the simulation event set", SIAM Journal on
 * Computing 15(3), 1986, and "The amortized complexity of Henriksen's algorithm", BIT 26, 1986. The
 * index grows and shrinks as in SSJ's class Henriksen (L'Ecuyer, Universite de Montreal).
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define LIST (HEAD_BIT + 1)

struct henriksen {
    struct timer *timers AND_RECORDS;
    struct node *heads; /* LATE and LIST, in one block after the timers */
    uint32_t capacity;
    uint32_t pull;
    uint64_t *ticks; /* of the index: a timer was due then; entry 0: TL_NEVER, 0: it has none */
    uint32_t *ids;   /* their ids, in one block after the ticks; entry 0: LIST */
    uint32_t entries;
    uint32_t entries_max;
    uint64_t count;
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE          struct henriksen
#define HEADS_OF(capacity) ((size_t)2)
#include "timer_lists.h"

/* --- data: the index -------------------------------------------------------------------------- */

static size_t index_bytes(uint32_t entries)
{
    return entries * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* Double the index. False: there is no more room. */
static bool grow(struct henriksen *list)
{
    if (list->entries == list->entries_max) {
        return false;
    }
    for (uint32_t i = list->entries; i < 2 * list->entries; i++) {
        list->ticks[i] = 0;
    }
    TL_COUNT(list, slots, list->entries);
    list->entries *= 2;
    return true;
}

/* Return the last entry that is due after a tick. */
static uint32_t search(struct henriksen *list, uint64_t due)
{
    uint32_t at = 0;
    for (uint32_t step = list->entries / 2; step > 0; step /= 2) {
        TL_COUNT(list, compares, 1);
        if (list->ticks[at + step] > due) {
            at += step;
        }
    }
    return at;
}

/* Whether an entry's timer has not moved. The list's end never does. */
static inline bool is_true(const struct henriksen *list, uint32_t entry)
{
    uint32_t id = list->ids[entry];
    return entry == 0 || id == LIST ||
           (slot_is_linked(list, id) && timer_at(list, id)->due == list->ticks[entry]);
}

/* Return the entry, or the next one before it in the index with a timer that has not moved. The entries
 * between join the pointer before them. */
static uint32_t true_entry(struct henriksen *list, uint32_t entry)
{
    uint32_t found = entry;
    while (!is_true(list, found)) {
        found--;
        TL_COUNT(list, slots, 1);
    }
    for (uint32_t i = entry; i > found; i--) {
        list->ticks[i] = i + 1 < list->entries ? list->ticks[i + 1] : 0;
        list->ids[i] = i + 1 < list->entries ? list->ids[i + 1] : LIST;
    }
    return found;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void queue_file(struct henriksen *list, uint32_t id)
{
    uint64_t due = timer_at(list, id)->due;
    uint32_t entry = true_entry(list, search(list, due));
    uint32_t after = list->ids[entry]; /* the timer goes before it */
    uint32_t scanned = 0;
    for (;;) {
        uint32_t before = slot_node(list, after)->prev;
        if (before == LIST) {
            break;
        }
        TL_COUNT(list, compares, 1);
        if (timer_at(list, before)->due <= due) {
            break;
        }
        after = before;
        scanned++;
        if (scanned == list->pull && (entry + 1 < list->entries || grow(list))) {
            entry++;
            scanned = 0;
            list->ticks[entry] = timer_at(list, after)->due;
            list->ids[entry] = after;
            TL_COUNT(list, slots, 1);
        }
    }
    slot_append(list, after, id); /* to the end of the list that would begin there */
    TL_COUNT(list, moves, 1);
}

static void queue_take(struct henriksen *list, uint32_t id)
{
    slot_remove(list, id);
    TL_COUNT(list, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct henriksen *list = self;
    queue_set_clock(list, now);
    uint64_t fired = 0;
    while (fired < budget && !slot_is_empty(list, LIST)) {
        uint32_t id = slot_node(list, LIST)->next;
        uint64_t due = timer_at(list, id)->due;
        TL_COUNT(list, compares, 1);
        if (due > now) {
            break;
        }
        if (list->entries > 1 && list->ticks[list->entries / 2] <= due) {
            list->entries /= 2;
        }
        queue_take(list, id);
        list->count--;
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t queue_next(const void *self)
{
    const struct henriksen *list = self;
    if (!slot_is_empty(list, LATE)) {
        return list->clock;
    }
    uint32_t first = slot_node(list, LIST)->next;
    return first != LIST ? timer_at(list, first)->due : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status queue_reserve(void *self, uint32_t capacity)
{
    struct henriksen *list = self;
    uint32_t entries_max = 1;
    while (entries_max < capacity / 2) {
        entries_max *= 2;
    }
    uint64_t *ticks = NULL;
    if (list->ticks == NULL || entries_max > list->entries_max) {
        ticks = tl_alloc(list->allocator, index_bytes(entries_max), BLOCK_ALIGN);
        if (ticks == NULL) {
            return TL_ERR_NOMEM;
        }
    }
    enum tl_status status = lists_reserve(list, capacity);
    if (status != TL_OK) {
        tl_free(list->allocator, ticks, index_bytes(entries_max), BLOCK_ALIGN);
        return status;
    }
    if (ticks != NULL) {
        uint32_t *ids = (uint32_t *)(void *)&ticks[entries_max];
        if (list->ticks != NULL) {
            memcpy(ticks, list->ticks, list->entries * sizeof *ticks);
            memcpy(ids, list->ids, list->entries * sizeof *ids);
            tl_free(list->allocator, list->ticks, index_bytes(list->entries_max), BLOCK_ALIGN);
        } else {
            ticks[0] = TL_NEVER;
            ids[0] = LIST;
        }
        list->ticks = ticks;
        list->ids = ids;
        list->entries_max = entries_max;
    }
    return TL_OK;
}

struct list_options {
    uint32_t pull;
};

static const struct tl_option list_option_table[] = {
    {"pull", TL_U32(struct list_options, pull), 4, 1, 1000000, NULL,
     "timers that a start goes over before it pulls a pointer to where it stands"},
    {0},
};

static void queue_destroy(void *self)
{
    struct henriksen *list = self;
    tl_free(list->allocator, list->ticks, index_bytes(list->entries_max), BLOCK_ALIGN);
    lists_destroy(list);
}

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    const struct list_options *options = config->options;
    struct henriksen empty = {
        .pull = options->pull, .entries = 1, .clock = config->now, .allocator = config->allocator};
    return structure_create(config, &empty, queue_reserve, queue_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status queue_check(const void *self, char *why, size_t why_bytes)
{
    const struct henriksen *list = self;
    uint64_t seen = 0;
    if (!slot_walk(list, LATE, list->count, &seen) || !slot_walk(list, LIST, list->count, &seen)) {
        return corrupt(why, why_bytes, "the links of a list do not agree");
    }
    uint64_t last = 0;
    for (uint32_t id = slot_node(list, LIST)->next; id != LIST;
         id = timer_at(list, id)->links.next) {
        if (timer_at(list, id)->due < last) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is out of order", id);
        }
        last = timer_at(list, id)->due;
    }
    for (uint32_t i = 1; i < list->entries; i++) {
        if (list->ticks[i] > list->ticks[i - 1]) {
            return corrupt(why, why_bytes, "entry %" PRIu32 " of the index is out of order", i);
        }
    }
    if (list->ticks[0] != TL_NEVER || list->ids[0] != LIST || list->entries > list->entries_max ||
        (list->entries & (list->entries - 1)) != 0) {
        return corrupt(why, why_bytes, "the index of %" PRIu32 " entries has lost its end",
                       list->entries);
    }
    return queue_check_count(list, seen, why, why_bytes);
}

/* The index is shown up to the last pointer to a timer. */
static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct henriksen *list = self;
    queue_walk_late(list, visitor);
    queue_walk_list(list, LIST, "list", visitor);
    walk_part(visitor, "index", TL_FORM_LIST, 0);
    uint64_t shown = 0;
    for (uint32_t i = 1; i < list->entries && list->ticks[i] > list->clock; i++) {
        if (list->ids[i] != LIST && is_true(list, i)) {
            char refers[24];
            (void)snprintf(refers, sizeof refers, "id %" PRIu32, list->ids[i]);
            walk_reference(visitor, shown++, TL_NEVER, list->ticks[i], refers);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(henriksen_list) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "henriksen-list",
    .summary = "a sorted list, and an index into it that adapts to where starts go",
    .origin = "Henriksen 1977, Kingston 1986; SSJ",
    .description = "A list in order of due tick, with an index of pointers that is searched by "
                   "halves. A start goes on from the pointer found, and pulls the next one along "
                   "after every four timers that it had to go over; the index doubles and halves "
                   "with need. The event set of several simulation languages. Stop and expiry are "
                   "constant, and no tuning is needed. Bad at: scans, a cache miss a timer; delays "
                   "with a changing distribution; a single start, which may be linear.",
    .differs =
        "a stop leaves its timer's pointers in the index, to be detected by a later search, where "
        "SSJ's moves them to the neighbour at once; a timer due at its start waits on a list of "
        "its own for the next advance, in SSJ it is entered at once, at its own tick.",
    .cost = {.start = "O(sqrt n) amortised, O(n) worst",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(1)"},
    OPTIONS(list_option_table, struct list_options),
    QUEUE_HOOKS,
    .destroy = queue_destroy,
    .reserve = queue_reserve,
};
