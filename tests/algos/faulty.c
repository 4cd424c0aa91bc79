/*
 * Structures that are wrong in one way each, as plug-ins: this file is compiled once for each
 * FAULTY_... below. Each is the ordered list with one hook spoiled, so that the oracle and the
 * child processes have something to find.
 */
#define TL_IN_TREE /* the list's own descriptor keeps its name; the plug-in's is at the end */
#include "structures/ordered_list.c"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VICTIM 5u /* the timer to which the fault happens, if it is one */

struct relay {
    tl_fire_fn fire;
    void *ctx;
    uint32_t held[64];
    unsigned held_count;
};

static void relay_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct relay *relay = ctx;
#if defined(FAULTY_NEVER)
    if (id == VICTIM) {
        return;
    }
#elif defined(FAULTY_MISORDERED)
    if (relay->held_count < 64) {
        relay->held[relay->held_count++] = id;
        return;
    }
#elif defined(FAULTY_TWICE)
    if (id == VICTIM) {
        relay->fire(relay->ctx, id, now);
    }
#elif defined(FAULTY_STRANGER)
    relay->fire(relay->ctx, id + 1000000, now);
#endif
    relay->fire(relay->ctx, id, now);
}

static uint64_t faulty_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                               void *ctx)
{
    struct relay relay = {.fire = fire, .ctx = ctx};
    uint64_t fired = ordered_advance(self, now, budget, relay_fire, &relay);
    while (relay.held_count > 0) {
        fire(ctx, relay.held[--relay.held_count], now);
    }
#if defined(FAULTY_CRASH)
    if (fired > 0) {
        (void)raise(SIGSEGV);
    }
#elif defined(FAULTY_EXIT)
    if (fired > 0) {
        exit(3);
    }
#elif defined(FAULTY_HANG)
    while (fired > 0) {
        (void)pause();
    }
#elif defined(FAULTY_PRINT)
    if (fired > 0) {
        (void)puts("expired");
    }
#endif
    return fired;
}

static enum tl_status faulty_start(void *self, uint32_t id, uint64_t deadline)
{
#if defined(FAULTY_EARLY)
    deadline -= id == VICTIM ? 3 : 0;
#elif defined(FAULTY_LATE)
    deadline += id == VICTIM ? 2 : 0;
#elif defined(FAULTY_MEMORY)
    struct ordered_list *list = self;
    char *more = tl_alloc(list->allocator, (size_t)64 << 20, 8);
    if (more == NULL) {
        return TL_ERR_NOMEM;
    }
    more[0] = 1;
#endif
    return ordered_start(self, id, deadline);
}

static enum tl_status faulty_stop(void *self, uint32_t id)
{
#if defined(FAULTY_AFTER_STOP)
    return id == VICTIM ? TL_OK : ordered_stop(self, id);
#elif defined(FAULTY_STOP_STATUS)
    (void)ordered_stop(self, id);
    return TL_OK;
#else
    return ordered_stop(self, id);
#endif
}

static uint64_t faulty_count(const void *self)
{
#if defined(FAULTY_COUNT)
    return nodes_count(self) + 1;
#else
    return nodes_count(self);
#endif
}

#if defined(FAULTY_ABI)
#define FAULTY_ABI_NUMBER (TL_ABI + 1)
#else
#define FAULTY_ABI_NUMBER TL_ABI
#endif

#if defined(FAULTY_SYMBOL)
#define timerlab_algo some_other_symbol
#endif

extern TL_EXPORT const struct tl_algo timerlab_algo;
const struct tl_algo timerlab_algo = {
    .abi = FAULTY_ABI_NUMBER,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = FAULTY_NAME,
    .summary = "wrong on purpose",
    .origin = "timerlab's tests",
    .description = "The ordered list with one hook spoiled.",
    .cost = {.start = "O(n)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    .create = ordered_create,
    .destroy = nodes_destroy,
    .reserve = ordered_reserve,
    .start = faulty_start,
    .stop = faulty_stop,
    .advance = faulty_advance,
#if !defined(FAULTY_DESCRIPTOR)
    .next = ordered_next,
#endif
    .count = faulty_count,
};
