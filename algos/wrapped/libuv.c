/*
 * libuv: the timers of libuv's event loop, through its public interface, under a virtual clock.
 *
 *   heap by pointers:    (due 3, start 7)
 *                       /                \
 *             (due 5, start 2)     (due 5, start 9)      left, right, parent: three pointers each
 *
 * libuv keeps a binary heap of nodes in the handles, linked by pointers. The bits of the number of
 * timers give the path to the last place. Every start draws a number that breaks ties, so equal
 * deadlines fire in the order of their starts.
 *
 * An advance sets libuv's clock (uv_update_time) and asks how long it may wait
 * (uv_backend_timeout), as programs do that have libuv's loop inside another one. Only if a timer is
 * due does the loop turn without waiting (UV_RUN_NOWAIT), including the system call epoll_wait unless
 * poll=none. `next` is the same wait, which libuv limits to 2^31 - 1 milliseconds. A tick is a
 * millisecond, libuv's unit. Reading the machine's clock costs nothing here, see virtual_clock.h.
 *
 * Before its first turn libuv reports a wait of 0, since it has yet to give its own files to epoll.
 *
 * While libuv 1.44 calls back for due timers, it takes the next due one from the heap, even if a
 * callback has just started it: a timer that starts itself with no delay is called for ever (pull
 * request 4250 changed that in later versions). So starts in a callback that are due already are set
 * aside here, and given to libuv after the turn.
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
 * O(1). Bad at: many timers, because the handles are spread over memory.
 *
 * Source: libuv 1.44, uv_timer_t; libuv1-dev.
 */
#include "event_loop.h"

#ifdef TL_HAVE_LIBUV

#include <uv.h>

#define LIBUV_FUNCTIONS(X)                                                                         \
    X(uv_backend_timeout)                                                                          \
    X(uv_close)                                                                                    \
    X(uv_is_active)                                                                                \
    X(uv_loop_close)                                                                               \
    X(uv_loop_init)                                                                                \
    X(uv_run)                                                                                      \
    X(uv_timer_init)                                                                               \
    X(uv_timer_start)                                                                              \
    X(uv_timer_stop)                                                                               \
    X(uv_update_time)
LOADED_LIBRARY(LIBUV_FUNCTIONS, "libuv.so.1");

/* In nanoseconds it is still below 2^64. */
#define REACH_TICKS (UINT64_C(1) << 44)

struct node {
    uint32_t next; /* in the list of those set aside; SLOT_NONE: in none */
    uint32_t prev;
    uv_timer_t handle;
};

struct libuv_timers {
    struct event_loop common;
    uv_loop_t loop;
    struct node aside; /* the list's head */
};

#define SLOT_LISTS struct libuv_timers
#include "slot_list.h"

#define ASIDE (PINNED_CAPACITY_MAX)

static inline struct node *slot_node(const struct libuv_timers *timers, uint32_t index)
{
    return index == ASIDE ? (struct node *)&timers->aside
                          : pinned_at(&timers->common.entries, index);
}

static bool is_pending(const void *entry)
{
    const struct node *node = entry;
    return lib.uv_is_active((const uv_handle_t *)&node->handle) != 0 || node->next != SLOT_NONE;
}

static void on_timer(uv_timer_t *handle)
{
    event_loop_fire(handle->loop->data, (uint32_t)(uintptr_t)handle->data);
}

/* libuv reads the clock here, and when its loop turns. */
static void update_time(struct libuv_timers *timers)
{
    UNDER_CLOCK(&timers->common, lib.uv_update_time(&timers->loop));
}

static void turn(struct libuv_timers *timers)
{
    UNDER_CLOCK(&timers->common, (void)lib.uv_run(&timers->loop, UV_RUN_NOWAIT));
}

static void prepare(struct event_loop *common, void *entry, uint32_t id)
{
    struct node *node = entry;
    (void)lib.uv_timer_init(&((struct libuv_timers *)common)->loop, &node->handle);
    node->handle.data = (void *)(uintptr_t)id; /* NOLINT(performance-no-int-to-ptr) */
    node->next = SLOT_NONE;
}

static enum tl_status libuv_reserve(void *self, uint32_t capacity)
{
    return event_loop_reserve(self, capacity, prepare);
}

static void libuv_destroy(void *self)
{
    struct libuv_timers *timers = self;
    for (uint32_t id = 0; id < timers->common.entries.capacity; id++) {
        lib.uv_close((uv_handle_t *)&slot_node(timers, id)->handle, NULL);
    }
    if (timers->loop.data != NULL) { /* it was opened */
        turn(timers);                /* closing ends there */
        (void)lib.uv_loop_close(&timers->loop);
    }
    event_loop_free(&timers->common, sizeof *timers);
}

static enum tl_status open_loop(struct event_loop *common)
{
    struct libuv_timers *timers = (struct libuv_timers *)common;
    common->clock.allocator = NULL; /* libuv's own few kilobytes are not counted */
    slot_clear(timers, ASIDE);
    enum tl_status status = event_loop_load(&library);
    if (status != TL_OK) {
        return status;
    }
    int opened = 0;
    UNDER_CLOCK(common, opened = lib.uv_loop_init(&timers->loop));
    timers->loop.data = opened == 0 ? timers : NULL;
    return opened == 0 ? TL_OK : opened == UV_ENOMEM ? TL_ERR_NOMEM : TL_ERR_UNAVAILABLE;
}

static enum tl_status libuv_create(const struct tl_config *config, void **self)
{
    return event_loop_create(config, sizeof(struct libuv_timers), sizeof(struct node), open_loop,
                             libuv_reserve, libuv_destroy, self);
}

static enum tl_status libuv_start(void *self, uint32_t id, uint64_t deadline)
{
    struct libuv_timers *timers = self;
    struct event_loop *common = &timers->common;
    struct node *node = slot_node(timers, id);
    if (event_loop_move_base(common, REACH_TICKS)) {
        update_time(timers);
    }
    if (!event_loop_reaches(common, deadline, REACH_TICKS)) {
        return TL_ERR_HORIZON;
    }
    common->count += !is_pending(node);
    if (slot_is_linked(timers, id)) {
        slot_remove(timers, id);
    }
    uint64_t delay = deadline > common->now ? deadline - common->now : 0;
    if (delay == 0 && common->advancing) {
        (void)lib.uv_timer_stop(&node->handle);
        slot_append(timers, ASIDE, id);
        return TL_OK;
    }
    (void)lib.uv_timer_start(&node->handle, on_timer, delay, 0);
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
    (void)lib.uv_timer_stop(&node->handle);
    timers->common.count--;
    return TL_OK;
}

static uint64_t libuv_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    (void)budget; /* none is declared */
    struct libuv_timers *timers = self;
    event_loop_set_clock(&timers->common, now, REACH_TICKS);
    update_time(timers);
    if (timers->common.count == 0 || lib.uv_backend_timeout(&timers->loop) > 0) {
        return 0;
    }
    event_loop_begin(&timers->common, fire, ctx);
    timers->common.advancing = true;
    turn(timers);
    timers->common.advancing = false;
    while (!slot_is_empty(timers, ASIDE)) {
        uint32_t id = timers->aside.next;
        slot_remove(timers, id);
        (void)lib.uv_timer_start(&slot_node(timers, id)->handle, on_timer, 0, 0);
    }
    return timers->common.fired;
}

static uint64_t libuv_next(const void *self)
{
    const struct libuv_timers *timers = self;
    if (timers->common.count == 0) {
        return TL_NEVER;
    }
    return timers->common.now + (uint64_t)lib.uv_backend_timeout(&timers->loop);
}

static enum tl_status libuv_check(const void *self, char *why, size_t why_bytes)
{
    if (!slot_is_empty(self, ASIDE)) {
        return corrupt(why, why_bytes, "timers are still set aside");
    }
    return event_loop_check(self, is_pending, "handles", why, why_bytes);
}

#define LIBUV_SUMMARY "libuv's event loop: a binary heap of handles linked by pointers"
#define LIBUV_HOOKS                                                                                \
    .create = libuv_create, .destroy = libuv_destroy, .reserve = libuv_reserve,                    \
    .start = libuv_start, .stop = libuv_stop, .advance = libuv_advance, .next = libuv_next,        \
    .count = event_loop_count, .check = libuv_check

#else

#include "unavailable.h"

#define LIBUV_SUMMARY "libuv's event loop (not in this build, which lacked libuv1-dev)"
#define LIBUV_HOOKS   UNAVAILABLE_HOOKS

#endif

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
        "that wait. A timer that a callback starts already due waits for the next advance, where "
        "libuv 1.44 would call it in the same turn. Deadlines reach 2^44 ticks beyond the clock "
        "when the loop was last empty. The loop's own few kilobytes come from malloc, and the "
        "bytes shown do not include them. Bad at: many timers, each a handle of 152 bytes. Needs "
        "libuv1-dev when timerlab is built.",
    .differs =
        "a timer that a callback starts already due waits for the next advance, where libuv before "
        "1.48 calls it in the same turn; stop says whether the timer was pending, where "
        "uv_timer_stop answers 0 either way; no repeating timers; the clock is the caller's; "
        "deadlines reach 2^44 ticks beyond the clock when the loop was last empty.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = event_loop_option_table,
    .options_bytes = sizeof(struct event_loop_options),
    LIBUV_HOOKS,
};
