#include "reorder.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

struct waiting_event {
    uint64_t time_ns;
    uint64_t number; /* by order of arrival, orders equal times */
    void *event;     /* a copy */
};

struct reorder {
    uint64_t window_ns;
    size_t event_bytes;
    reorder_fn take;
    void *ctx;
    uint64_t latest_ns;         /* the greatest time added */
    uint64_t previous_ns;       /* of the last event added */
    struct waiting_event *heap; /* the first event is the root */
    size_t count;
    size_t room;
    struct reorder_counts counts;
};

struct reorder *reorder_create(uint64_t window_ns, size_t event_bytes, reorder_fn take, void *ctx)
{
    struct reorder *reorder = memory_new(1, sizeof *reorder);
    reorder->window_ns = window_ns;
    reorder->event_bytes = event_bytes;
    reorder->take = take;
    reorder->ctx = ctx;
    return reorder;
}

/* --- the heap --------------------------------------------------------------------------------- */

static bool before(const struct waiting_event *a, const struct waiting_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void add_waiting(struct reorder *reorder, struct waiting_event waiting)
{
    MEMORY_REACH(reorder->heap, reorder->room, reorder->count);
    struct waiting_event *heap = reorder->heap;
    size_t at = reorder->count++;
    for (; at > 0 && before(&waiting, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = waiting;
}

static struct waiting_event remove_first(struct reorder *reorder)
{
    struct waiting_event *heap = reorder->heap;
    struct waiting_event first = heap[0];
    size_t count = --reorder->count;
    struct waiting_event last = heap[count];
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

static bool take_first(struct reorder *reorder)
{
    struct waiting_event first = remove_first(reorder);
    reorder->counts.last_ns = first.time_ns;
    bool good = reorder->take(reorder->ctx, first.time_ns, first.event);
    free(first.event);
    return good;
}

bool reorder_take_until(struct reorder *reorder, uint64_t time_ns)
{
    bool good = true;
    while (good && reorder->count > 0 && reorder->heap[0].time_ns <= time_ns) {
        good = take_first(reorder);
    }
    return good;
}

bool reorder_add(struct reorder *reorder, uint64_t time_ns, const void *event)
{
    struct reorder_counts *counts = &reorder->counts;
    struct waiting_event waiting = {.time_ns = time_ns,
                                    .number = counts->events++,
                                    .event = memory_bytes(reorder->event_bytes)};
    memcpy(waiting.event, event, reorder->event_bytes);
    counts->out_of_order += time_ns < reorder->previous_ns;
    reorder->previous_ns = time_ns;
    if (time_ns >= reorder->latest_ns) {
        reorder->latest_ns = time_ns;
    } else if (reorder->latest_ns - time_ns > counts->max_backward_ns) {
        counts->max_backward_ns = reorder->latest_ns - time_ns;
    }
    if (time_ns < counts->last_ns) {
        counts->too_late++;
        waiting.time_ns = counts->last_ns;
    }
    add_waiting(reorder, waiting);
    if (reorder->window_ns == REORDER_NO_WINDOW) {
        return true;
    }
    bool good = true;
    while (good && reorder->count > REORDER_EVENTS_MAX) {
        good = take_first(reorder);
    }
    return good && (reorder->latest_ns < reorder->window_ns ||
                    reorder_take_until(reorder, reorder->latest_ns - reorder->window_ns));
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
    for (size_t i = 0; i < reorder->count; i++) {
        free(reorder->heap[i].event);
    }
    free(reorder->heap);
    free(reorder);
}
