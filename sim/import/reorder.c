#include "reorder.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM      1024u /* a power of two */

/* How far back in the run an event out of order is inserted: a few places cost less than the
 * heap. */
#define PLACES_BACK_MAX 32u

/* Precedes each event's bytes. The number, by order of arrival, orders equal times. */
struct event_head {
    uint64_t time_ns;
    uint64_t number;
};

/* A ring of events in order: those that came so, and those that were inserted a few places back. */
struct event_run {
    unsigned char *slots;
    size_t room; /* a power of two */
    uint64_t first;
    uint64_t next;
};

/* The other events. */
struct event_heap {
    unsigned char *slots;
    size_t room;
    size_t count;
};

struct reorder {
    uint64_t window_ns;
    size_t event_bytes;
    size_t slot_bytes;
    reorder_fn take;
    void *ctx;
    uint64_t latest_ns;   /* the greatest time added */
    uint64_t previous_ns; /* of the last event added */
    struct event_run run;
    struct event_heap heap;
    unsigned char *spare; /* one slot */
    struct reorder_counts counts;
};

static struct event_head head_of(const unsigned char *slot)
{
    struct event_head head;
    memcpy(&head, slot, sizeof head);
    return head;
}

static bool before(const unsigned char *a, const unsigned char *b)
{
    struct event_head one = head_of(a);
    struct event_head other = head_of(b);
    return one.time_ns != other.time_ns ? one.time_ns < other.time_ns : one.number < other.number;
}

/* Copy bytes; an event of two words, the usual size, without a call. */
static void copy(unsigned char *to, const void *from, size_t bytes)
{
    const size_t usual = 2 * sizeof(uint64_t);
    if (bytes == usual) {
        memcpy(to, from, usual);
    } else if (bytes == sizeof(struct event_head) + usual) {
        memcpy(to, from, sizeof(struct event_head) + usual);
    } else {
        memcpy(to, from, bytes);
    }
}

static void copy_slot(const struct reorder *reorder, unsigned char *to, const unsigned char *from)
{
    copy(to, from, reorder->slot_bytes);
}

static void fill_slot(const struct reorder *reorder, unsigned char *slot, struct event_head head,
                      const void *event)
{
    memcpy(slot, &head, sizeof head);
    copy(slot + sizeof head, event, reorder->event_bytes);
}

/* --- the run ---------------------------------------------------------------------------------- */

static unsigned char *run_slot(const struct reorder *reorder, uint64_t i)
{
    const struct event_run *run = &reorder->run;
    return run->slots + (size_t)(i & (run->room - 1)) * reorder->slot_bytes;
}

/* Whether the place of an event at that time is at most PLACES_BACK_MAX before the run's end. */
static bool run_reaches(const struct reorder *reorder, uint64_t time_ns)
{
    const struct event_run *run = &reorder->run;
    return run->next - run->first <= PLACES_BACK_MAX ||
           head_of(run_slot(reorder, run->next - 1 - PLACES_BACK_MAX)).time_ns <= time_ns;
}

/* Insert an event after those of its time and before the later ones. */
static void run_add(struct reorder *reorder, struct event_head head, const void *event)
{
    struct event_run *run = &reorder->run;
    if (run->next - run->first == run->room) {
        size_t room = run->room * 2;
        unsigned char *slots = memory_bytes(room * reorder->slot_bytes);
        for (uint64_t i = run->first; i < run->next; i++) {
            copy_slot(reorder, slots + (size_t)(i & (room - 1)) * reorder->slot_bytes,
                      run_slot(reorder, i));
        }
        free(run->slots);
        run->slots = slots;
        run->room = room;
    }
    uint64_t at = run->next++;
    while (at > run->first && head_of(run_slot(reorder, at - 1)).time_ns > head.time_ns) {
        copy_slot(reorder, run_slot(reorder, at), run_slot(reorder, at - 1));
        at--;
    }
    fill_slot(reorder, run_slot(reorder, at), head, event);
}

/* --- the heap --------------------------------------------------------------------------------- */

static unsigned char *heap_slot(const struct reorder *reorder, size_t i)
{
    return reorder->heap.slots + i * reorder->slot_bytes;
}

static void heap_add(struct reorder *reorder, struct event_head head, const void *event)
{
    struct event_heap *heap = &reorder->heap;
    if (heap->count == heap->room) {
        heap->room *= 2;
        heap->slots = memory_resize(heap->slots, heap->room, reorder->slot_bytes);
    }
    fill_slot(reorder, reorder->spare, head, event);
    size_t at = heap->count++;
    while (at > 0 && before(reorder->spare, heap_slot(reorder, (at - 1) / 2))) {
        copy_slot(reorder, heap_slot(reorder, at), heap_slot(reorder, (at - 1) / 2));
        at = (at - 1) / 2;
    }
    copy_slot(reorder, heap_slot(reorder, at), reorder->spare);
}

/* Move the first event to `spare`. */
static void heap_remove_first(struct reorder *reorder)
{
    struct event_heap *heap = &reorder->heap;
    size_t count = --heap->count;
    copy_slot(reorder, reorder->spare, heap_slot(reorder, 0));
    const unsigned char *last = heap_slot(reorder, count);
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && before(heap_slot(reorder, child + 1), heap_slot(reorder, child))) {
            child++;
        }
        if (!before(heap_slot(reorder, child), last)) {
            break;
        }
        copy_slot(reorder, heap_slot(reorder, at), heap_slot(reorder, child));
        at = child;
    }
    if (at != count) {
        copy_slot(reorder, heap_slot(reorder, at), last);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

struct reorder *reorder_create(uint64_t window_ns, size_t event_bytes, reorder_fn take, void *ctx)
{
    struct reorder *reorder = memory_new(1, sizeof *reorder);
    reorder->window_ns = window_ns;
    reorder->event_bytes = event_bytes;
    reorder->slot_bytes = (sizeof(struct event_head) + event_bytes + 7) / 8 * 8; /* aligned */
    reorder->take = take;
    reorder->ctx = ctx;
    reorder->run.room = FIRST_ROOM;
    reorder->run.slots = memory_bytes(FIRST_ROOM * reorder->slot_bytes);
    reorder->heap.room = FIRST_ROOM;
    reorder->heap.slots = memory_bytes(FIRST_ROOM * reorder->slot_bytes);
    reorder->spare = memory_bytes(reorder->slot_bytes);
    return reorder;
}

static size_t held_back(const struct reorder *reorder)
{
    return (size_t)(reorder->run.next - reorder->run.first) + reorder->heap.count;
}

/* Return the first event that is held back; NULL: there is none. */
static const unsigned char *first_held(const struct reorder *reorder)
{
    const unsigned char *run =
        reorder->run.first < reorder->run.next ? run_slot(reorder, reorder->run.first) : NULL;
    const unsigned char *heap = reorder->heap.count > 0 ? heap_slot(reorder, 0) : NULL;
    if (run == NULL || heap == NULL) {
        return run != NULL ? run : heap;
    }
    return before(heap, run) ? heap : run;
}

static bool hand_out(struct reorder *reorder, const unsigned char *first)
{
    if (reorder->heap.count > 0 && first == reorder->heap.slots) {
        heap_remove_first(reorder);
        first = reorder->spare;
    } else {
        reorder->run.first++;
    }
    uint64_t time_ns = head_of(first).time_ns;
    struct reorder_counts *counts = &reorder->counts;
    if (counts->first_ns == UINT64_MAX) {
        counts->first_ns = time_ns;
    }
    counts->last_ns = time_ns;
    return reorder->take(reorder->ctx, time_ns, first + sizeof(struct event_head));
}

bool reorder_add(struct reorder *reorder, uint64_t time_ns, const void *event)
{
    struct reorder_counts *counts = &reorder->counts;
    if (counts->events == 0) {
        reorder->latest_ns = time_ns;
        counts->first_ns = UINT64_MAX;
    }
    struct event_head head = {.time_ns = time_ns, .number = counts->events++};
    counts->out_of_order += head.number > 0 && time_ns < reorder->previous_ns;
    reorder->previous_ns = time_ns;
    bool in_order = time_ns >= reorder->latest_ns;
    if (in_order) {
        reorder->latest_ns = time_ns;
    } else {
        if (reorder->latest_ns - time_ns > counts->max_backward_ns) {
            counts->max_backward_ns = reorder->latest_ns - time_ns;
        }
        if (counts->first_ns != UINT64_MAX && time_ns < counts->last_ns) {
            counts->too_late++;
            head.time_ns = counts->last_ns;
        }
    }
    if (in_order || run_reaches(reorder, head.time_ns)) {
        run_add(reorder, head, event);
    } else {
        heap_add(reorder, head, event);
    }
    const unsigned char *first = first_held(reorder);
    while (first != NULL && (reorder->latest_ns - head_of(first).time_ns >= reorder->window_ns ||
                             held_back(reorder) > REORDER_EVENTS_MAX)) {
        if (!hand_out(reorder, first)) {
            return false;
        }
        first = first_held(reorder);
    }
    return true;
}

bool reorder_finish(struct reorder *reorder)
{
    bool good = true;
    for (const unsigned char *first; good && (first = first_held(reorder)) != NULL;) {
        good = hand_out(reorder, first);
    }
    return good;
}

const struct reorder_counts *reorder_counts(const struct reorder *reorder)
{
    return &reorder->counts;
}

void reorder_destroy(struct reorder *reorder)
{
    if (reorder == NULL) {
        return;
    }
    free(reorder->run.slots);
    free(reorder->heap.slots);
    free(reorder->spare);
    free(reorder);
}
