/*
 * A binary heap by due tick and start, with a back-index per timer: exact, ordered, first in first
 * out. Right where WRONG is NOTHING.
 */
#include "wrong.h"

#include <stdio.h>
#include <stdlib.h>

enum wrong {
    NOTHING,
    COMPARES_IDS,
    NEVER_SIFTS_UP,
    RESTART_KEEPS_PLACE,
    RESTART_COUNTS_TWICE,
    STALE_ENTRY_FIRES,
    STALE_INDEX_STOPS_ANOTHER,
    COUNTS_WITHOUT_CALLBACK,
    FIRES_WHAT_CALLBACKS_STOP,
    FIRES_WHAT_CALLBACKS_START,
    FIRES_WHAT_CALLBACKS_MOVE,
    FORGETS_RESTART_OF_SELF,
    RESTART_OF_SELF_KEEPS_TURN,
    DROPS_BUDGET_REMAINDER,
    IGNORES_BUDGET,
    BUDGET_IN_32_BITS,
    SETS_SELF_ON_FAILURE,
    FALLS_SHORT_OF_BUDGET,
    NEXT_TOO_LATE,
    NEXT_NEVER_GROWS,
    NEXT_INEXACT,
    LEAKS,
    LEAKS_ON_FAILURE,
    WRITES_PAST_ITS_MEMORY,
    USES_FREED_MEMORY,
    ALLOCATES_IN_START,
    RESERVE_BREAKS_ITS_WORD,
    RESERVE_FORGETS_TO_INITIALISE,
    TIES_UNBROKEN,
    UNORDERED,
    TRUNCATES_DEADLINES,
    SHARES_ITS_CLOCK,
    SHARES_ITS_BATCH,
    SHARES_WHAT_IT_SIFTS,
    SHARES_FREE_NODES,
    SHARES_LAST_ID,
    SHARES_LAST_FOUND,
    READS_UNINITIALISED,
    HIDES_MEMORY,
    STOP_SAYS_OK,
    CRASHES,
    HANGS,
    PRINTS,
    EXITS,
    COUNTERS_GO_BACK,
    WALK_FORGETS,
    FULL_RIGHTLY,
    FULL_UNDECLARED,
    FULL_FORGETS,
    FULL_FOR_EVER,
    FULL_AND_HORIZON,
    READS_PAST_ITS_MEMORY,
    READS_BEFORE_ITS_MEMORY,
    READS_WHAT_IT_FREED,
    WRITES_FAR_PAST,
    FREES_TWICE,
    FREES_AS_SMALLER,
    SIZES_IN_32_BITS,
    HIDES_MEMORY_IN_START,
    LEAKS_UNSEEN_IN_STOP,
    FORGETS_LEFT_OVER,
    FORGETS_SEVENTH_FOR_NOW,
    FORGETS_IN_ONE_SEQUENCE,
    TAGS_POINTERS,
    ASSUMES_16_BYTES,
    HORIZON_BY_ID
};

#define NOWHERE   UINT32_MAX
#define FULL_SIZE 5u /* of those that refuse */

struct entry {
    uint64_t due;
    uint64_t serial;
    uint32_t id;
};

/* A node of each pending timer (SHARES_FREE_NODES). */
struct node {
    struct node *next;
};

struct heap {
    const struct tl_allocator *allocator;
    struct node *nodes;
    struct entry *entries;
    uint32_t *at; /* by id: index in entries, NOWHERE */
    bool *dead;   /* by id: stopped, and its entry still there (STALE_ENTRY_FIRES) */
    uint32_t *garbage;
    void *hidden;
    uintptr_t tagged; /* a block, and a flag in its lowest bits (TAGS_POINTERS) */
    uint64_t sum;     /* a sum of needless reads */
    uint32_t size;
    uint32_t dead_count;
    uint32_t capacity;
    uint32_t allocated;
    uint64_t clock;
    uint64_t serial;
    struct entry firing; /* the timer of the callback */
    uint64_t extra;      /* by which count is wrong */
    uint64_t operations;
    bool was_full;     /* FULL_FOR_EVER: 200 timers were pending */
    unsigned for_now;  /* timers that their callbacks started for now, in this advance */
    uint64_t sequence; /* operations of the failing sequence so far (FORGETS_IN_ONE_SEQUENCE) */
};

static uint64_t shared_clock;

static uint64_t *clock_of(struct heap *heap)
{
    return WRONG == SHARES_ITS_CLOCK ? &shared_clock : &heap->clock;
}

/* The last lookup (SHARES_LAST_ID, SHARES_LAST_FOUND). */
static struct {
    const struct heap *heap;
    uint32_t id;
    uint32_t index;
} last = {.id = NOWHERE};

/* A call, so that it is looked up again when it is asked again. */
__attribute__((noinline)) static uint32_t index_of(const struct heap *heap, uint32_t id)
{
    if (WRONG != SHARES_LAST_ID && WRONG != SHARES_LAST_FOUND) {
        return heap->at[id];
    }
    if (last.id != id || (WRONG == SHARES_LAST_FOUND && last.heap != heap)) {
        last.index = heap->at[id];
        last.id = id;
        last.heap = heap;
    }
    return last.index;
}

static void set_index(struct heap *heap, uint32_t id, uint32_t index)
{
    heap->at[id] = index;
    if (last.id == id && (WRONG == SHARES_LAST_ID || last.heap == heap)) {
        last.id = NOWHERE;
    }
}

static struct node *free_nodes;

/* From one list to the other. */
static void move_node(struct node **from, struct node **to)
{
    struct node *node = *from;
    *from = node->next;
    node->next = *to;
    *to = node;
}

static void drop_free_nodes(const struct heap *heap, uint32_t count)
{
    for (; count > 0 && free_nodes != NULL; count--) {
        struct node *node = free_nodes;
        free_nodes = node->next;
        tl_free(heap->allocator, node, sizeof *node, alignof(struct node));
    }
}

static bool add_free_nodes(const struct heap *heap, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = tl_alloc(heap->allocator, sizeof *node, alignof(struct node));
        if (node == NULL) {
            drop_free_nodes(heap, i);
            return false;
        }
        node->next = free_nodes;
        free_nodes = node;
    }
    return true;
}

static bool before(const struct heap *heap, const struct entry *a, const struct entry *b)
{
    if (WRONG == COMPARES_IDS) {
        return a->id < b->id;
    }
    if (WRONG == READS_UNINITIALISED && a->due == b->due && heap->garbage[0] % 2 != 0) {
        return a->serial > b->serial;
    }
    if (a->due != b->due || WRONG == TIES_UNBROKEN) {
        return a->due < b->due;
    }
    return a->serial < b->serial;
}

static void put(struct heap *heap, uint32_t index, struct entry entry)
{
    heap->entries[index] = entry;
    set_index(heap, entry.id, index);
}

static struct entry shared_entry;

static void sift_up(struct heap *heap, uint32_t index)
{
    struct entry own;
    struct entry *entry = WRONG == SHARES_WHAT_IT_SIFTS ? &shared_entry : &own;
    *entry = heap->entries[index];
    while (index > 0 && before(heap, entry, &heap->entries[(index - 1) / 2])) {
        put(heap, index, heap->entries[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, *entry);
}

static void sift_down(struct heap *heap, uint32_t index)
{
    struct entry own;
    struct entry *entry = WRONG == SHARES_WHAT_IT_SIFTS ? &shared_entry : &own;
    *entry = heap->entries[index];
    for (uint32_t child = 2 * index + 1; child < heap->size; child = 2 * index + 1) {
        if (child + 1 < heap->size &&
            before(heap, &heap->entries[child + 1], &heap->entries[child])) {
            child++;
        }
        if (!before(heap, &heap->entries[child], entry)) {
            break;
        }
        put(heap, index, heap->entries[child]);
        index = child;
    }
    put(heap, index, *entry);
}

static void remove_at(struct heap *heap, uint32_t index)
{
    uint32_t id = heap->entries[index].id;
    heap->size--;
    if (WRONG != STALE_INDEX_STOPS_ANOTHER) {
        set_index(heap, id, NOWHERE);
    }
    if (WRONG == SHARES_FREE_NODES) {
        move_node(&heap->nodes, &free_nodes);
    }
    if (index < heap->size) {
        uint32_t moved = heap->entries[heap->size].id;
        put(heap, index, heap->entries[heap->size]);
        sift_down(heap, index);
        if (WRONG != NEVER_SIFTS_UP) {
            sift_up(heap, heap->at[moved]);
        }
    }
}

/* One entry more than is used, but for the structure that writes past its memory. */
static size_t entries_bytes(uint32_t capacity)
{
    return ((size_t)capacity + (WRONG == WRITES_PAST_ITS_MEMORY ? 0 : 1)) * sizeof(struct entry);
}

/* Room for that many timers. */
static bool make_room(struct heap *heap, uint32_t capacity)
{
    struct heap old = *heap;
    uint32_t had = heap->allocated;
    size_t one = had > 0 ? had : 1;
    size_t many = capacity > 0 ? capacity : 1;
    if (WRONG == SIZES_IN_32_BITS && (uint32_t)entries_bytes((uint32_t)many) < many) {
        heap->allocated = (uint32_t)many; /* as if there had been room enough */
        return true;
    }
    struct entry *entries = tl_alloc(heap->allocator, entries_bytes((uint32_t)many), 16);
    uint32_t *at = tl_alloc(heap->allocator, many * sizeof *at, 16);
    bool *dead = tl_alloc(heap->allocator, many * sizeof *dead, 16);
    uint32_t *garbage = tl_alloc(heap->allocator, many * sizeof *garbage, 16);
    bool room = entries != NULL && at != NULL && dead != NULL && garbage != NULL;
    if (!room || (WRONG == SHARES_FREE_NODES && !add_free_nodes(heap, (uint32_t)many - had))) {
        if (WRONG != LEAKS_ON_FAILURE) {
            tl_free(heap->allocator, entries, entries_bytes((uint32_t)many), 16);
            tl_free(heap->allocator, at, many * sizeof *at, 16);
            tl_free(heap->allocator, dead, many * sizeof *dead, 16);
            tl_free(heap->allocator, garbage, many * sizeof *garbage, 16);
        }
        return false;
    }
    for (uint32_t i = 0; i < heap->size; i++) {
        entries[i] = heap->entries[i];
    }
    for (uint32_t id = 0; id < many; id++) {
        at[id] = id < had ? heap->at[id] : NOWHERE;
        dead[id] = id < had && heap->dead[id];
        if (WRONG == RESERVE_FORGETS_TO_INITIALISE && id >= had && heap->entries != NULL) {
            at[id] = 0;
        }
    }
    heap->entries = entries;
    heap->at = at;
    heap->dead = dead;
    heap->garbage = garbage;
    heap->allocated = (uint32_t)many;
    if (old.entries != NULL) {
        tl_free(heap->allocator, old.entries, entries_bytes((uint32_t)one), 16);
        tl_free(heap->allocator, old.at, one * sizeof *at, 16);
        tl_free(heap->allocator, old.dead, one * sizeof *dead, 16);
        tl_free(heap->allocator, old.garbage, one * sizeof *garbage, 16);
        if (WRONG == USES_FREED_MEMORY) {
            old.at[0] = NOWHERE;
        }
        if (WRONG == READS_WHAT_IT_FREED) {
            heap->sum += old.at[one - 1];
        }
    }
    return true;
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    struct heap *heap = self;
    if (capacity > heap->allocated) {
        if (WRONG != RESERVE_BREAKS_ITS_WORD && !make_room(heap, capacity)) {
            return TL_ERR_NOMEM;
        }
        heap->capacity = capacity;
    }
    return TL_OK;
}

static void heap_destroy(void *self)
{
    struct heap *heap = self;
    const struct tl_allocator *allocator = heap->allocator;
    if (WRONG != LEAKS || heap->size == 0) {
        tl_free(allocator, heap->entries, entries_bytes(heap->allocated), 16);
    }
    tl_free(allocator, heap->at, heap->allocated * sizeof *heap->at, 16);
    tl_free(allocator, heap->dead, heap->allocated * sizeof *heap->dead, 16);
    tl_free(allocator, heap->garbage, heap->allocated * sizeof *heap->garbage, 16);
    free(heap->hidden);
    tl_free(allocator, (void *)(heap->tagged & ~(uintptr_t)7), 40, 4);
    while (heap->nodes != NULL) {
        move_node(&heap->nodes, &free_nodes);
    }
    if (WRONG == SHARES_FREE_NODES) {
        drop_free_nodes(heap, heap->allocated);
    }
    if (WRONG == FREES_TWICE && heap->size > 2) {
        tl_free(allocator, heap->garbage, heap->allocated * sizeof *heap->garbage, 16);
    }
    tl_free(allocator, heap, sizeof *heap - (WRONG == FREES_AS_SMALLER ? 8 : 0),
            alignof(struct heap));
}

/* Two words are stored at once, at an address that must be a multiple of 16. */
static void store_two_words(const struct tl_allocator *allocator)
{
    typedef uint64_t two_words __attribute__((vector_size(16)));
    volatile two_words *words = tl_alloc(allocator, sizeof *words, 8);
    if (words != NULL) {
        *words = (two_words){0, 0};
    }
    tl_free(allocator, (void *)words, sizeof *words, 8);
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct heap *heap = tl_alloc(config->allocator, sizeof *heap, alignof(struct heap));
    if (heap == NULL) {
        return TL_ERR_NOMEM;
    }
    *heap = (struct heap){
        .allocator = config->allocator, .capacity = config->capacity, .firing.id = NOWHERE};
    *clock_of(heap) = config->now;
    if (!make_room(heap, config->capacity)) {
        *self = WRONG == SETS_SELF_ON_FAILURE ? heap : *self;
        tl_free(config->allocator, heap, sizeof *heap, alignof(struct heap));
        return TL_ERR_NOMEM;
    }
    if (WRONG == TAGS_POINTERS) {
        heap->tagged = (uintptr_t)tl_alloc(config->allocator, 40, 4) | 1;
    }
    if (WRONG == ASSUMES_16_BYTES) {
        store_two_words(config->allocator);
    }
    if (WRONG == HIDES_MEMORY) {
        heap->hidden = malloc((size_t)config->capacity * 40 + 1);
    }
    *self = heap;
    return TL_OK;
}

static bool is_pending(const struct heap *heap, uint32_t id)
{
    uint32_t index = index_of(heap, id);
    if (WRONG == STALE_INDEX_STOPS_ANOTHER || WRONG == RESERVE_FORGETS_TO_INITIALISE) {
        return index != NOWHERE && index < heap->size;
    }
    return index != NOWHERE && !heap->dead[id];
}

/* Whether an operation is the next of a sequence that begins with a new heap. */
static bool is_next(struct heap *heap, uint64_t number, bool as_expected)
{
    heap->sequence += heap->sequence == number && as_expected && heap->operations == number + 1;
    return heap->sequence == number + 1 && heap->operations == number + 1;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    struct heap *heap = self;
    heap->operations++;
    (void)is_next(heap, 2, id == 0);
    if (WRONG == RESERVE_BREAKS_ITS_WORD && id >= heap->allocated) {
        return TL_IDLE;
    }
    if (WRONG == CRASHES && heap->size == 0) {
        return heap->entries[(size_t)heap->at[id] << 20].due != 0 ? TL_IDLE : TL_OK;
    }
    if (!is_pending(heap, id)) {
        return WRONG == STOP_SAYS_OK ? TL_OK : TL_IDLE;
    }
    if (WRONG == LEAKS_UNSEEN_IN_STOP) {
        heap->sum += (uintptr_t)malloc(40);
    }
    if (WRONG == STALE_ENTRY_FIRES) {
        heap->dead[id] = true;
        heap->dead_count++;
        return TL_OK;
    }
    remove_at(heap, index_of(heap, id));
    return TL_OK;
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct heap *heap = self;
    heap->operations++;
    if (WRONG == RESERVE_BREAKS_ITS_WORD && id >= heap->allocated &&
        !make_room(heap, heap->capacity)) {
        return TL_ERR_NOMEM;
    }
    if (WRONG == ALLOCATES_IN_START) {
        void *scratch = tl_alloc(heap->allocator, 64, 16);
        tl_free(heap->allocator, scratch, 64, 16);
    }
    if (WRONG == READS_PAST_ITS_MEMORY) {
        heap->sum += heap->at[heap->allocated];
    }
    if (WRONG == READS_BEFORE_ITS_MEMORY) {
        heap->sum += *(heap->at - 1);
    }
    if (WRONG == WRITES_FAR_PAST && heap->size > 3) {
        heap->garbage[heap->allocated + 1100] = 1;
    }
    if (WRONG == HIDES_MEMORY_IN_START && heap->hidden == NULL && heap->size > 100) {
        heap->hidden = malloc((size_t)heap->allocated * 8);
    }
    if (WRONG == PRINTS && is_pending(heap, id)) {
        (void)printf("restarted %u\n", (unsigned)id);
    }
    if (WRONG == EXITS && heap->operations >= 700) {
        exit(3);
    }
    uint64_t clock = *clock_of(heap);
    uint64_t due = deadline > clock ? deadline : clock;
    if (WRONG == TRUNCATES_DEADLINES) {
        due = clock + (uint32_t)(due - clock);
    }
    if (heap->dead[id] && heap->at[id] != NOWHERE) {
        heap->dead[id] = false; /* the old entry will do, it thinks */
        heap->dead_count--;
        return TL_OK;
    }
    bool restart = is_pending(heap, id);
    if ((WRONG == FULL_AND_HORIZON && due - clock > 100) ||
        (WRONG == HORIZON_BY_ID && due - clock > (id < 5 ? 1000 : 900))) {
        return TL_ERR_HORIZON;
    }
    if (WRONG == FORGETS_IN_ONE_SEQUENCE) {
        (void)is_next(heap, 0, id == 0 && due == clock + 64);
        (void)is_next(heap, 1, id == 1 && due == clock + 1);
        if (is_next(heap, 3, id == 0 && due == clock + 1)) {
            remove_at(heap, heap->at[1]);
        }
    }
    if (WRONG == FORGETS_LEFT_OVER && restart && deadline <= clock &&
        heap->entries[heap->at[id]].due <= clock) {
        remove_at(heap, heap->at[id]);
        return TL_OK;
    }
    if (WRONG == FORGETS_SEVENTH_FOR_NOW && id == heap->firing.id && due == clock &&
        ++heap->for_now == 7) {
        return TL_OK;
    }
    heap->was_full = heap->was_full || heap->size >= 200;
    if (WRONG == FULL_FOR_EVER && heap->was_full) {
        return TL_ERR_FULL;
    }
    if ((WRONG == FULL_RIGHTLY || WRONG == FULL_UNDECLARED || WRONG == FULL_FORGETS) &&
        heap->size >= FULL_SIZE) {
        if (restart && WRONG == FULL_FORGETS) {
            remove_at(heap, heap->at[id]);
        }
        return TL_ERR_FULL;
    }
    if (restart && WRONG == RESTART_KEEPS_PLACE) {
        heap->entries[heap->at[id]].due = due;
        heap->entries[heap->at[id]].serial = heap->serial++;
        return TL_OK;
    }
    if (restart) {
        remove_at(heap, index_of(heap, id));
        heap->extra += WRONG == RESTART_COUNTS_TWICE;
    }
    if (WRONG == SHARES_FREE_NODES) {
        move_node(&free_nodes, &heap->nodes);
    }
    uint32_t index = heap->size++;
    if (WRONG == WRITES_PAST_ITS_MEMORY) {
        heap->entries[index + 1].due = 0;
    }
    uint64_t serial = heap->serial++;
    if (WRONG == RESTART_OF_SELF_KEEPS_TURN && id == heap->firing.id && due > clock) {
        serial = heap->firing.serial;
    }
    put(heap, index, (struct entry){.due = due, .serial = serial, .id = id});
    sift_up(heap, index);
    return TL_OK;
}

/* Whether the top of the heap may fire: due, and not started by this advance's callbacks. */
static bool may_fire(const struct heap *heap, uint64_t now, uint64_t first_inside)
{
    return heap->size > 0 && heap->entries[0].due <= now &&
           (heap->entries[0].serial < first_inside || WRONG == FIRES_WHAT_CALLBACKS_START);
}

/* In the order of the array, which is a heap's, not that of their ticks. */
static uint32_t find_any_due(const struct heap *heap, uint64_t now, uint64_t first_inside)
{
    for (uint32_t i = heap->size; i-- > 0;) {
        if (heap->entries[i].due <= now && heap->entries[i].serial < first_inside) {
            return i;
        }
    }
    return NOWHERE;
}

static uint64_t fire_batch(struct heap *heap, uint64_t now, uint64_t budget, tl_fire_fn fire,
                           void *ctx)
{
    uint32_t batch[512];
    uint64_t fired = 0;
    while (fired < budget && fired < 512 && may_fire(heap, now, UINT64_MAX)) {
        batch[fired++] = heap->entries[0].id;
        remove_at(heap, 0);
    }
    heap->extra += fired;
    for (uint64_t i = 0; i < fired; i++) {
        heap->extra--;
        fire(ctx, batch[i], now);
    }
    return fired;
}

static struct entry shared_batch[512];

/* Note the due timers; each fires if it is pending at its turn, and has not moved. */
static uint64_t fire_noted(struct heap *heap, uint64_t now, uint64_t budget, uint64_t first_inside,
                           tl_fire_fn fire, void *ctx)
{
    struct entry own_batch[512];
    struct entry *batch = WRONG == SHARES_ITS_BATCH ? shared_batch : own_batch;
    size_t noted = 0;
    uint64_t fired = 0;
    while (noted < budget && noted < 512 && may_fire(heap, now, first_inside)) {
        batch[noted++] = heap->entries[0];
        remove_at(heap, 0);
    }
    for (size_t i = 0; i < noted; i++) {
        put(heap, heap->size, batch[i]);
        sift_up(heap, heap->size++);
    }
    for (size_t i = 0; i < noted; i++) {
        uint32_t id = batch[i].id;
        if (is_pending(heap, id) && (WRONG == FIRES_WHAT_CALLBACKS_MOVE ||
                                     heap->entries[heap->at[id]].serial == batch[i].serial)) {
            remove_at(heap, heap->at[id]);
            fired++;
            fire(ctx, id, now);
        }
    }
    /* What callbacks stopped or moved has left room for others. */
    return noted == 0 || fired == budget
               ? fired
               : fired + fire_noted(heap, now, budget - fired, first_inside, fire, ctx);
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct heap *heap = self;
    uint64_t first_inside = heap->serial;
    uint64_t fired = 0;
    heap->operations++;
    if (WRONG == BUDGET_IN_32_BITS && budget != TL_NO_BUDGET) {
        budget = (uint32_t)budget;
    }
    if (WRONG == HANGS) {
        for (volatile uint64_t tick = heap->clock; tick < now; tick++) {
        }
    }
    *clock_of(heap) = now;
    heap->for_now = 0;
    if (WRONG == FIRES_WHAT_CALLBACKS_STOP) {
        return fire_batch(heap, now, budget, fire, ctx);
    }
    if (WRONG == FIRES_WHAT_CALLBACKS_MOVE || WRONG == SHARES_ITS_BATCH) {
        return fire_noted(heap, now, budget, first_inside, fire, ctx);
    }
    while ((fired + (WRONG == FALLS_SHORT_OF_BUDGET && fired > 0) < budget ||
            WRONG == IGNORES_BUDGET) &&
           (WRONG == UNORDERED ? find_any_due(heap, now, first_inside) != NOWHERE
                               : may_fire(heap, now, first_inside))) {
        uint32_t index = WRONG == UNORDERED ? find_any_due(heap, now, first_inside) : 0;
        uint32_t id = heap->entries[index].id;
        heap->firing = heap->entries[index];
        remove_at(heap, index);
        if (heap->dead[id]) {
            heap->dead[id] = false;
            heap->dead_count--;
            continue;
        }
        fired++;
        if (WRONG != COUNTS_WITHOUT_CALLBACK || fired == 1) {
            fire(ctx, id, now);
        }
        if (WRONG == FORGETS_RESTART_OF_SELF && is_pending(heap, id)) {
            remove_at(heap, heap->at[id]);
        }
    }
    heap->firing.id = NOWHERE;
    while (WRONG == DROPS_BUDGET_REMAINDER && may_fire(heap, now, first_inside)) {
        remove_at(heap, 0);
    }
    return fired;
}

static uint64_t heap_next(const void *self)
{
    const struct heap *heap = self;
    if (heap->size == 0) {
        return TL_NEVER;
    }
    uint64_t first = heap->entries[0].due;
    if (WRONG == NEXT_NEVER_GROWS) {
        return first > heap->clock ? heap->clock : first;
    }
    if (WRONG == NEXT_INEXACT) {
        return first > heap->clock ? heap->clock + (first - heap->clock + 1) / 2 : first;
    }
    return WRONG == NEXT_TOO_LATE && heap->size > 1 ? heap->entries[1].due : first;
}

static uint64_t heap_count(const void *self)
{
    const struct heap *heap = self;
    return heap->size - heap->dead_count + heap->extra;
}

static void heap_counters(const void *self, struct tl_counters *out)
{
    const struct heap *heap = self;
    *out = (struct tl_counters){.compares = heap->operations,
                                .moves = WRONG == COUNTERS_GO_BACK ? heap->size : heap->operations};
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct heap *heap = self;
    visitor->part(visitor->ctx, &(struct tl_part){.name = "heap", .form = TL_FORM_TREE});
    for (uint32_t i = 0; i < heap->size; i++) {
        const struct entry *entry = &heap->entries[i];
        visitor->cell(visitor->ctx, &(struct tl_cell){.index = i,
                                                      .parent = i > 0 ? (i - 1) / 2 : TL_NEVER,
                                                      .from = TL_NEVER,
                                                      .to = TL_NEVER});
        if (WRONG == WALK_FORGETS && i == 6) {
            continue;
        }
        bool stale = heap->dead[entry->id];
        visitor->timer(visitor->ctx, &(struct tl_held){.id = entry->id,
                                                       .marks = stale ? TL_MARK_STALE : 0,
                                                       .at = entry->due});
    }
}

enum {
    KEEPS_NO_ORDER =
        WRONG == STALE_ENTRY_FIRES || WRONG == NEXT_NEVER_GROWS || WRONG == READS_UNINITIALISED,
    INEXACT_NEXT = WRONG == STALE_ENTRY_FIRES || WRONG == NEXT_NEVER_GROWS
};

TL_ALGO(WRONG_SYMBOL) = {
    WRONG_TEXTS(WRONG_HOW, WRONG_CASE),
    .capabilities = (KEEPS_NO_ORDER ? 0 : TL_CAP_ORDERED | TL_CAP_FIFO) | TL_CAP_EXACT |
                    TL_CAP_NEXT | (INEXACT_NEXT ? 0 : TL_CAP_NEXT_EXACT) | TL_CAP_BUDGET |
                    (WRONG == FULL_AND_HORIZON ? TL_CAP_REFUSES
                     : WRONG == HORIZON_BY_ID  ? 0
                                               : TL_CAP_UNLIMITED) |
                    (WRONG == RESERVE_BREAKS_ITS_WORD ? TL_CAP_ALLOCATES : 0) |
                    (WRONG == FULL_RIGHTLY || WRONG == FULL_FORGETS || WRONG == FULL_FOR_EVER
                         ? TL_CAP_REFUSES
                         : 0),
    .create = heap_create,
    .destroy = heap_destroy,
    .reserve = heap_reserve,
    .start = heap_start,
    .stop = heap_stop,
    .advance = heap_advance,
    .next = heap_next,
    .count = heap_count,
    .counters = heap_counters,
    .walk = heap_walk,
};
