#include "watched.h"

#include "child.h"
#include "memory.h"

#include <stdlib.h>

static const char *const longest_figures[WATCHED] = {
    [WATCHED_START] = "longest_start_ns",
    [WATCHED_STOP] = "longest_stop_ns",
    [WATCHED_ADVANCE] = "longest_advance_ns",
    [WATCHED_RESERVE] = "longest_reserve_ns",
};

void watch_begin(struct watch *watch, size_t starts, size_t stops, size_t advances)
{
    enum { RESERVES_MAX = 32 };
    *watch = (struct watch){.room = {[WATCHED_START] = starts,
                                     [WATCHED_STOP] = stops,
                                     [WATCHED_ADVANCE] = advances,
                                     [WATCHED_RESERVE] = RESERVES_MAX}};
    for (int kind = 0; kind < WATCHED; kind++) {
        watch->cycles[kind] = memory_new(watch->room[kind] + 1, sizeof *watch->cycles[kind]);
    }
}

/* Puts a call into its place in a heap of `count`, the shortest first, from the root down. */
static void sift_down(struct longest_call *calls, size_t count, struct longest_call call)
{
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && calls[child + 1].cycles < calls[child].cycles) {
            child++;
        }
        if (call.cycles <= calls[child].cycles) {
            break;
        }
        calls[at] = calls[child];
        at = child;
    }
    calls[at] = call;
}

/* Fill a heap of calls that took no time with the longest calls. */
static void keep_longest(struct longest *longest, const uint32_t *cycles, size_t count)
{
    longest->count = count < LONGEST_KEPT_MAX ? count : LONGEST_KEPT_MAX;
    for (size_t i = 0; i < count; i++) {
        if (cycles[i] > longest->calls[0].cycles) {
            sift_down(longest->calls, longest->count,
                      (struct longest_call){.index = (uint32_t)i, .cycles = cycles[i]});
        }
    }
}

static void lower(struct longest *longest, const uint32_t *cycles, size_t count)
{
    for (size_t i = 0; i < longest->count; i++) {
        struct longest_call *call = &longest->calls[i];
        if (call->index < count && cycles[call->index] < call->cycles) {
            call->cycles = cycles[call->index];
        }
    }
}

static double longest_ns(const struct longest *longest)
{
    uint32_t cycles = 0;
    for (size_t i = 0; i < longest->count; i++) {
        cycles = longest->calls[i].cycles > cycles ? longest->calls[i].cycles : cycles;
    }
    double ns = cycles * clock_ns_per_cycle() - clock_overhead_ns();
    return ns > 0 ? ns : 0;
}

static void report_longest(struct fixture *fixture, const struct watch *watch,
                           struct bench_measured *out)
{
    struct bench_row *row = fixture->row;
    if (row->longest == NULL) {
        row->longest = child_memory_new(WATCHED * sizeof *row->longest);
    }
    for (int kind = 0; kind < WATCHED; kind++) {
        struct longest *longest = &row->longest[kind];
        if (longest->count > 0) {
            lower(longest, watch->cycles[kind], watch->count[kind]);
        } else {
            keep_longest(longest, watch->cycles[kind], watch->count[kind]);
        }
        if (longest->count > 0) {
            bench_add_counter(out, longest_figures[kind], longest_ns(longest));
        }
    }
}

bool watch_end(struct watch *watch, struct fixture *fixture, bool good, struct bench_measured *out)
{
    if (good) {
        report_longest(fixture, watch, out);
    }
    for (int kind = 0; kind < WATCHED; kind++) {
        free(watch->cycles[kind]);
    }
    return good;
}
