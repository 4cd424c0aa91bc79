#include "reorder.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* An event that came after a later one. */
struct late_event {
    uint64_t time_ns;
    uint64_t number; /* by order of arrival, orders equal times */
    void *event;     /* a copy */
};

/* The events that came in order are in the run, an array of slots, each a time and a copy. The late
 * ones are in the heap; the run has a later one for each of them. */
struct reorder {
    uint64_t window_ns;
    size_t event_bytes;
    reorder_fn take;
    void *ctx;
    uint64_t latest_ns;   /* the greatest time added */
    uint64_t previous_ns; /* of the last event added */
    size_t count;         /* of the events that are held back */
    size_t slot_bytes;
    char *run;
    size_t run_first; /* in bytes, as the next two */
    size_t run_end;
    size_t run_room;
    struct late_event *heap; /* the first event is the root */
    size_t late;
    size_t heap_room;
    struct reorder_counts counts;
};

struct reorder *reorder_create(uint64_t window_ns, size_t event_bytes, reorder_fn take, void *ctx)
{
    struct reorder *reorder = memory_new(1, sizeof *reorder);
    reorder->window_ns = window_ns;
    reorder->event_bytes = event_bytes;
    reorder->slot_bytes = sizeof(uint64_t) + (event_bytes + 7) / 8 * 8; /* aligned */
    reorder->take = take;
    reorder->ctx = ctx;
    return reorder;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void add_in_order(struct reorder *reorder, uint64_t time_ns, const void *event)
{
    if (reorder->run_first > reorder->run_room / 2) {
        /* Most of it has been taken. */
        reorder->run_end -= reorder->run_first;
        memmove(reorder->run, reorder->run + reorder->run_first, reorder->run_end);
        reorder->run_first = 0;
    }
    size_t end = reorder->run_end + reorder->slot_bytes;
    MEMORY_REACH(reorder->run, reorder->run_room, end);
    char *slot = reorder->run + reorder->run_end;
    memcpy(slot, &time_ns, sizeof time_ns);
    memcpy(slot + sizeof time_ns, event, reorder->event_bytes);
    reorder->run_end = end;
}

/* --- the heap --------------------------------------------------------------------------------- */

static bool before(const struct late_event *a, const struct late_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void add_late(struct reorder *reorder, uint64_t time_ns, const void *event)
{
    struct late_event added = {.time_ns = time_ns,
                               .number = reorder->counts.events,
                               .event = memory_bytes(reorder->event_bytes)};
    memcpy(added.event, event, reorder->event_bytes);
    MEMORY_REACH(reorder->heap, reorder->heap_room, reorder->late);
    struct late_event *heap = reorder->heap;
    size_t at = reorder->late++;
    for (; at > 0 && before(&added, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = added;
}

static struct late_event remove_first(struct reorder *reorder)
{
    struct late_event *heap = reorder->heap;
    struct late_event first = heap[0];
    size_t count = --reorder->late;
    struct late_event last = heap[count];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* --- the whole -------------------------------------------------------------------------------- */

static uint64_t run_time_ns(const struct reorder *reorder)
{
    uint64_t time_ns;
    memcpy(&time_ns, reorder->run + reorder->run_first, sizeof time_ns);
    return time_ns;
}

/* Whether the first event is a late one. Of two at the same time it is not. */
static bool late_is_first(const struct reorder *reorder)
{
    return reorder->late > 0 && reorder->heap[0].time_ns < run_time_ns(reorder);
}

static bool take_first(struct reorder *reorder, struct error *error)
{
    reorder->count--;
    if (late_is_first(reorder)) {
        struct late_event first = remove_first(reorder);
        reorder->counts.last_ns = first.time_ns;
        bool good = reorder->take(reorder->ctx, first.time_ns, first.event, error);
        free(first.event);
        return good;
    }
    uint64_t time_ns = run_time_ns(reorder);
    const char *event = reorder->run + reorder->run_first + sizeof time_ns;
    reorder->run_first += reorder->slot_bytes;
    reorder->counts.last_ns = time_ns;
    return reorder->take(reorder->ctx, time_ns, event, error);
}

bool reorder_take_until(struct reorder *reorder, uint64_t time_ns, struct error *error)
{
    bool good = true;
    while (good && reorder->count > 0 &&
           (run_time_ns(reorder) <= time_ns ||
            (reorder->late > 0 && reorder->heap[0].time_ns <= time_ns))) {
        good = take_first(reorder, error);
    }
    return good;
}

bool reorder_add(struct reorder *reorder, uint64_t time_ns, const void *event, struct error *error)
{
    struct reorder_counts *counts = &reorder->counts;
    counts->out_of_order += time_ns < reorder->previous_ns;
    reorder->previous_ns = time_ns;
    if (time_ns < reorder->latest_ns && reorder->latest_ns - time_ns > counts->max_backward_ns) {
        counts->max_backward_ns = reorder->latest_ns - time_ns;
    }
    if (time_ns < counts->last_ns) {
        counts->too_late++;
        time_ns = counts->last_ns;
    }
    if (time_ns >= reorder->latest_ns) {
        reorder->latest_ns = time_ns;
        add_in_order(reorder, time_ns, event);
    } else {
        add_late(reorder, time_ns, event);
    }
    counts->events++;
    reorder->count++;
    if (reorder->window_ns == REORDER_NO_WINDOW) {
        return true;
    }
    bool good = true;
    while (good && reorder->count > REORDER_EVENTS_MAX) {
        good = take_first(reorder, error);
    }
    return good && (reorder->latest_ns < reorder->window_ns ||
                    reorder_take_until(reorder, reorder->latest_ns - reorder->window_ns, error));
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
    for (size_t i = 0; i < reorder->late; i++) {
        free(reorder->heap[i].event);
    }
    free(reorder->heap);
    free(reorder->run);
    free(reorder);
}
