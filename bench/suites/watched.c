#include "watched.h"

#include "memory.h"

#include <stdlib.h>

static const char *const figures[WATCHED] = {
#define WATCHED_FIGURE(code, figure) figure,
    WATCHED_MAP(WATCHED_FIGURE)
#undef WATCHED_FIGURE
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

void watch_end(struct watch *watch)
{
    for (int kind = 0; kind < WATCHED; kind++) {
        free(watch->cycles[kind]);
        watch->cycles[kind] = NULL;
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

static void sift_up(struct longest_call *calls, size_t at, struct longest_call call)
{
    while (at > 0 && call.cycles < calls[(at - 1) / 2].cycles) {
        calls[at] = calls[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    calls[at] = call;
}

/* The longest of the first repetition. */
static void keep_longest(struct longest *longest, const uint32_t *cycles, size_t count)
{
    longest->known = true;
    longest->calls =
        memory_new(count < LONGEST_KEPT_MAX ? count + 1 : LONGEST_KEPT_MAX, sizeof *longest->calls);
    for (size_t i = 0; i < count; i++) {
        struct longest_call call = {.index = (uint32_t)i, .cycles = cycles[i]};
        if (longest->count < LONGEST_KEPT_MAX) {
            sift_up(longest->calls, longest->count++, call);
        } else if (call.cycles > longest->calls[0].cycles) {
            sift_down(longest->calls, longest->count, call);
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

void watch_report(struct fixture *fixture, struct watch *watch, struct bench_measured *out)
{
    for (int kind = 0; kind < WATCHED; kind++) {
        struct longest *longest = &fixture->row->longest[kind];
        if (longest->known) {
            lower(longest, watch->cycles[kind], watch->count[kind]);
        } else {
            keep_longest(longest, watch->cycles[kind], watch->count[kind]);
        }
        if (longest->count > 0) {
            bench_add_counter(out, figures[kind], longest_ns(longest));
        }
    }
    watch_end(watch);
}
