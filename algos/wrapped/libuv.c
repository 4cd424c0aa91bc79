/*
 * libuv: the timers of libuv's event loop, through its public interface, under a virtual clock.
 *
 *   heap by pointers:    (due 3, start 7)
 *                       /                \
 *             (due 5, start 2)     (due 5, start 9)      left, right, parent: three pointers each
 *
 * libuv keeps a binary heap whose nodes are linked by pointers and lie in the handles. The way to
 * the last place is read from the bits of the number of timers. Equal deadlines are told apart by a
 * number that every start draws, so they fire in the order of their starts.
 *
 * An advance sets libuv's clock (uv_update_time) and asks how long it may wait
 * (uv_backend_timeout), as programs do that have libuv's loop inside another one; only if something
 * is due does the loop turn without waiting (UV_RUN_NOWAIT), with all that belongs to it, the
 * system call epoll_wait included unless poll=none. `next` is that same wait, which libuv cuts at
 * 2^31 - 1 milliseconds. A tick is a millisecond, libuv's unit. The reading of the machine's clock
 * costs nothing here, see virtual_clock.h.
 *
 * Before its first turn libuv says that it would not wait at all, since it has yet to give its own
 * files to epoll.
 *
 * While libuv 1.44 calls back for what is due, it takes from the heap whatever is due next, what a
 * callback has just started included: a timer that starts itself with no delay is called for ever
 * (pull request 4250 changed that in later versions). So starts in a callback that are due already
 * are set aside here, and given to libuv when the turn is over.
 *
 * A handle has 152 bytes, in our table, by id, with 8 for that list. libuv allocates nothing for a
 * timer; its loop takes a few kilobytes from malloc, which the bytes shown do not include.
 *
 * Invariants
 *   - timer id is pending if and only if its handle is active or set aside; `count` is how many are
 *   - timers are set aside only while an advance runs
 *   - base <= clock; the deadline of each handle is at most base + REACH_TICKS
 *   - libuv's clock is min(clock - base, REACH_TICKS) milliseconds; the base moves when no timer is
 *     pending, for libuv counts nanoseconds in 64 bits
 *
 * Complexity: start, stop, expire O(log n), a cache miss for each level; a tick that fires nothing
 * O(1). Bad at: many timers, whose handles are spread over memory.
 *
 * Source: libuv 1.44, uv_timer_t; libuv1-dev.
 */
#include "timerlab.h"
#include "virtual_clock.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#ifdef TL_HAVE_LIBUV

#include "pinned_table.h"

#include <uv.h>

/* In nanoseconds it is still below 2^64. */
#define REACH_TICKS (UINT64_C(1) << 44)

struct node {
    uint32_t next; /* in the list of those set aside; SLOT_NONE: in none */
    uint32_t prev;
    uv_timer_t handle;
};

struct libuv_timers {
    struct virtual_clock clock;
    uv_loop_t loop;
    struct pinned_table nodes; /* by id */
    struct node aside;         /* the list's head */
    uint64_t now;
    uint64_t base; /* the tick at libuv's time 0 */
    uint64_t count;
    bool advancing;
    uint64_t fired;
    tl_fire_fn fire;
    void *fire_ctx;
    const struct tl_allocator *allocator;
};

#define SLOT_LISTS struct libuv_timers
#include "slot_list.h"

#define ASIDE (PINNED_CAPACITY_MAX)

static inline struct node *slot_node(const struct libuv_timers *timers, uint32_t index)
{
    return index == ASIDE ? (struct node *)&timers->aside : pinned_at(&timers->nodes, index);
}

static bool is_pending(const struct node *node)
{
    return uv_is_active((const uv_handle_t *)&node->handle) != 0 || node->next != SLOT_NONE;
}

static void on_timer(uv_timer_t *handle)
{
    struct libuv_timers *timers = handle->loop->data;
    timers->count--;
    timers->fired++;
    timers->fire(timers->fire_ctx, (uint32_t)(uintptr_t)handle->data, timers->now);
}

static void set_clock(struct libuv_timers *timers, uint64_t now)
{
    uint64_t passed = now - timers->base;
    timers->now = now;
    timers->clock.now_ms = passed < REACH_TICKS ? passed : REACH_TICKS;
}

/* libuv reads the clock when it is told to, and when its loop turns. */
static void update_time(struct libuv_timers *timers)
{
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    uv_update_time(&timers->loop);
    (void)tl_virtual_clock_swap(before);
}

static void turn(struct libuv_timers *timers)
{
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    (void)uv_run(&timers->loop, UV_RUN_NOWAIT);
    (void)tl_virtual_clock_swap(before);
}

static enum tl_status libuv_reserve(void *self, uint32_t capacity)
{
    struct libuv_timers *timers = self;
    uint32_t id = timers->nodes.capacity;
    enum tl_status status = pinned_grow(&timers->nodes, capacity);
    for (; id < timers->nodes.capacity; id++) {
        struct node *node = slot_node(timers, id);
        (void)uv_timer_init(&timers->loop, &node->handle);
        node->handle.data = (void *)(uintptr_t)id; /* NOLINT(performance-no-int-to-ptr) */
        node->next = SLOT_NONE;
    }
    return status;
}

static void libuv_destroy(void *self)
{
    struct libuv_timers *timers = self;
    for (uint32_t id = 0; id < timers->nodes.capacity; id++) {
        uv_close((uv_handle_t *)&slot_node(timers, id)->handle, NULL);
    }
    turn(timers); /* closing ends there */
    (void)uv_loop_close(&timers->loop);
    pinned_free(&timers->nodes);
    tl_free(timers->allocator, timers, sizeof *timers, alignof(struct libuv_timers));
}

static enum tl_status open_loop(struct libuv_timers *timers)
{
    if (!tl_virtual_clock_attach((void (*)(void))uv_run)) {
        return TL_ERR_UNAVAILABLE;
    }
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    int opened = uv_loop_init(&timers->loop);
    (void)tl_virtual_clock_swap(before);
    timers->loop.data = timers;
    return opened == 0 ? TL_OK : opened == UV_ENOMEM ? TL_ERR_NOMEM : TL_ERR_UNAVAILABLE;
}

static enum tl_status libuv_create(const struct tl_config *config, void **self)
{
    struct libuv_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct libuv_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct libuv_timers){
        .clock.on_wait = config->options[0] != 0 ? NULL : virtual_clock_no_poll,
        .nodes = {.entry_bytes = sizeof(struct node), .allocator = config->allocator},
        .now = config->now,
        .base = config->now,
        .allocator = config->allocator,
    };
    slot_clear(timers, ASIDE);
    enum tl_status status = open_loop(timers);
    if (status != TL_OK) {
        tl_free(config->allocator, timers, sizeof *timers, alignof(struct libuv_timers));
        return status;
    }
    status = libuv_reserve(timers, config->capacity);
    if (status != TL_OK) {
        libuv_destroy(timers);
        return status;
    }
    *self = timers;
    return TL_OK;
}

static enum tl_status libuv_start(void *self, uint32_t id, uint64_t deadline)
{
    struct libuv_timers *timers = self;
    struct node *node = slot_node(timers, id);
    if (timers->count == 0 && timers->now - timers->base > REACH_TICKS / 2) {
        timers->base = timers->now; /* nothing is pending: the clock may go back */
        set_clock(timers, timers->now);
        update_time(timers);
    }
    if (deadline > timers->now && deadline - timers->base > REACH_TICKS) {
        return TL_ERR_HORIZON;
    }
    timers->count += !is_pending(node);
    if (slot_is_linked(timers, id)) {
        slot_remove(timers, id);
    }
    uint64_t delay = deadline > timers->now ? deadline - timers->now : 0;
    if (delay == 0 && timers->advancing) {
        (void)uv_timer_stop(&node->handle);
        slot_append(timers, ASIDE, id);
        return TL_OK;
    }
    (void)uv_timer_start(&node->handle, on_timer, delay, 0);
    return TL_OK;
}

static enum tl_status libuv_stop(void *self, uint32_t id)
{
    struct libuv_timers *timers = self;
    struct node *node = slot_node(timers, id);
    if (!is_pending(node)) {
        return TL_IDLE;
    }
    if (slot_is_linked(timers, id)) {
        slot_remove(timers, id);
    }
    (void)uv_timer_stop(&node->handle);
    timers->count--;
    return TL_OK;
}

static uint64_t libuv_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    (void)budget; /* none is declared */
    struct libuv_timers *timers = self;
    set_clock(timers, now);
    update_time(timers);
    if (timers->count == 0 || uv_backend_timeout(&timers->loop) > 0) {
        return 0;
    }
    timers->fired = 0;
    timers->fire = fire;
    timers->fire_ctx = ctx;
    timers->advancing = true;
    turn(timers);
    timers->advancing = false;
    while (!slot_is_empty(timers, ASIDE)) {
        uint32_t id = timers->aside.next;
        slot_remove(timers, id);
        (void)uv_timer_start(&slot_node(timers, id)->handle, on_timer, 0, 0);
    }
    return timers->fired;
}

static uint64_t libuv_next(const void *self)
{
    const struct libuv_timers *timers = self;
    if (timers->count == 0) {
        return TL_NEVER;
    }
    return timers->now + (uint64_t)uv_backend_timeout(&timers->loop);
}

static uint64_t libuv_count(const void *self)
{
    return ((const struct libuv_timers *)self)->count;
}

static enum tl_status libuv_check(const void *self, char *why, size_t why_bytes)
{
    const struct libuv_timers *timers = self;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < timers->nodes.capacity; id++) {
        pending += is_pending(slot_node(timers, id));
    }
    if (!slot_is_empty(timers, ASIDE)) {
        (void)snprintf(why, why_bytes, "timers are still set aside");
        return TL_ERR_CORRUPT;
    }
    if (pending != timers->count) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " handles, %" PRIu64 " timers counted", pending,
                       timers->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

#define LIBUV_SUMMARY "libuv's event loop: a binary heap of handles linked by pointers"
/* clang-format off */
#define LIBUV_HOOKS                                                                                \
    .create = libuv_create,                                                                        \
    .destroy = libuv_destroy,                                                                      \
    .reserve = libuv_reserve,                                                                      \
    .start = libuv_start,                                                                          \
    .stop = libuv_stop,                                                                            \
    .advance = libuv_advance,                                                                      \
    .next = libuv_next,                                                                            \
    .count = libuv_count,                                                                          \
    .check = libuv_check
/* clang-format on */

#else

#include "unavailable.h"

#define LIBUV_SUMMARY "libuv's event loop (not in this build, which lacked libuv1-dev)"
#define LIBUV_HOOKS   UNAVAILABLE_HOOKS

#endif

static const struct tl_option libuv_options[] = {
    VIRTUAL_CLOCK_POLL_OPTION,
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(libuv) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT,
    .name = "libuv",
    .summary = LIBUV_SUMMARY,
    .origin = "libuv (libuv1-dev)",
    .description =
        "The timers of libuv's event loop through its public interface, under a virtual clock of "
        "one millisecond a tick. A binary heap linked by pointers, with the order of starts to "
        "break ties. An advance asks uv_backend_timeout whether anything is due, and if so turns "
        "the loop without waiting, its call of epoll_wait included unless poll=none; `next` is "
        "that wait. What a "
        "callback starts that is due already waits for the next advance, where libuv 1.44 would "
        "call it in the same turn. Deadlines reach 2^44 ticks beyond the clock when the loop was "
        "last empty. The loop's own few kilobytes come from malloc, and the bytes shown do not "
        "include them. Bad at: many timers, each a handle of 152 bytes. Needs libuv1-dev when "
        "timerlab is built.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = libuv_options,
    LIBUV_HOOKS,
};
