/*
 * recorder: a shared object that is loaded into a program before its libraries (LD_PRELOAD). It
 * intercepts the timer calls of libevent, libev and libuv, and of structures that `timerlab export`
 * wrote with --prefix timers, in a shared object: it records each call and passes it on. It needs
 * none of their headers, only the arguments of their calls, and the beginning of libev's watcher.
 *
 * A call made by a library within a recorded call (uv_timer_again starts and stops) is not
 * recorded. Callbacks are called from here, which shows the calls made within a callback, and the
 * expiries of timers that their library starts again without a call.
 */
#include "timer_record.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct timer_record_header *header; /* NULL: nothing is recorded */
static struct timer_record *records;
static int record_file = -1;
static uint32_t process;
static _Thread_local unsigned depth;      /* of recorded calls in progress */
static _Thread_local const void *running; /* the timer with the running callback; NULL: none */

/* --- writing records -------------------------------------------------------------------------- */

/* Allocate space on the disk for record `index`. Two threads may do so at once. Without space, or
 * beyond the limit of file sizes (ulimit -f), writing to a mapped page would kill the program. */
static bool make_room(uint64_t index)
{
    uint64_t room = (index / TIMER_RECORD_STEP + 1) * TIMER_RECORD_STEP;
    uint64_t bytes = TIMER_RECORD_HEADER_BYTES + room * sizeof(struct timer_record);
    struct rlimit limit;
    int why = EFBIG;
    if (room <= TIMER_RECORDS_MAX && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        bytes <= limit.rlim_cur) {
        why = posix_fallocate(record_file, 0, (off_t)bytes);
    }
    if (why != 0) {
        atomic_store(&header->failed, why);
        atomic_store(&header->closed, 1);
        return false;
    }
    uint64_t known = atomic_load(&header->room);
    while (known < room && !atomic_compare_exchange_weak(&header->room, &known, room)) {
    }
    return true;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void record_at(uint64_t time_ns, enum timer_record_library library, enum timer_record_op op,
                      const void *timer, uint64_t delay_ns, unsigned flags)
{
    if (header == NULL || atomic_load_explicit(&header->closed, memory_order_relaxed) != 0) {
        return;
    }
    uint64_t index = atomic_fetch_add_explicit(&header->claimed, 1, memory_order_relaxed);
    if (index >= atomic_load_explicit(&header->room, memory_order_relaxed) && !make_room(index)) {
        return;
    }
    struct timer_record *to = &records[index];
    to->time_ns = time_ns;
    to->timer = (uint64_t)(uintptr_t)timer;
    to->delay_ns = delay_ns;
    to->cause = (uint64_t)(uintptr_t)running;
    to->process = process;
    to->library = (uint8_t)library;
    to->flags = (uint8_t)flags;
    atomic_store_explicit(&to->op, (uint8_t)op, memory_order_release);
}

static void record(enum timer_record_library library, enum timer_record_op op, const void *timer,
                   uint64_t delay_ns, unsigned flags)
{
    if (header != NULL) {
        record_at(now_ns(), library, op, timer, delay_ns, flags);
    }
}

/* Opaque here. */
struct event;
struct event_base;
struct ev_loop;
struct uv_loop;
struct uv_timer;

struct ev_timer;

/* Called, but not intercepted. */
double ev_timer_remaining(struct ev_loop *loop, struct ev_timer *timer);
int uv_is_active(const struct uv_timer *timer);
uint64_t uv_timer_get_due_in(const struct uv_timer *timer);
uint64_t uv_timer_get_repeat(const struct uv_timer *timer);

typedef void (*event_callback)(int descriptor, short what, void *argument);
typedef void (*ev_callback)(struct ev_loop *loop, struct ev_timer *timer, int events);
typedef void (*uv_callback)(struct uv_timer *timer);

/* The link from a timer to its callback. Found by the timer's address, and kept for the next timer
 * there. */
struct shim {
    struct shim *next;
    const void *timer;
    event_callback callback;
    void *argument;
    short events;
    atomic_bool timed; /* it may have a timeout, so that its expiry matters */
    ev_callback ev_callback;
    uv_callback uv_callback;
    bool due; /* libev or libuv stopped it, and its callback comes soon */
};

#define SHELVES 4096u
static struct shelf {
    pthread_mutex_t lock;
    struct shim *first;
} shelves[SHELVES];

static struct shim *find_shim(const void *timer, bool make)
{
    uint64_t h = (uint64_t)(uintptr_t)timer * UINT64_C(0x9e3779b97f4a7c15);
    struct shelf *shelf = &shelves[h >> 52];
    (void)pthread_mutex_lock(&shelf->lock);
    struct shim *shim = shelf->first;
    while (shim != NULL && shim->timer != timer) {
        shim = shim->next;
    }
    if (shim == NULL && make) {
        shim = calloc(1, sizeof *shim);
        if (shim != NULL) {
            shim->timer = timer;
            shim->next = shelf->first;
            shelf->first = shim;
        }
    }
    (void)pthread_mutex_unlock(&shelf->lock);
    return shim;
}

/* At the beginning, and in a child after a fork, where another thread may have held a lock. */
static void begin_process(void)
{
    process = (uint32_t)getpid();
    for (size_t i = 0; i < SHELVES; i++) {
        (void)pthread_mutex_init(&shelves[i].lock, NULL);
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(TIMER_RECORD_ENVIRONMENT);
    if (path == NULL || header != NULL) {
        return;
    }
    record_file = open(path, O_RDWR | O_CLOEXEC);
    if (record_file < 0) {
        return;
    }
    size_t bytes = TIMER_RECORD_HEADER_BYTES + TIMER_RECORDS_MAX * sizeof(struct timer_record);
    void *map =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, record_file, 0);
    if (map == MAP_FAILED) {
        return;
    }
    begin_process();
    (void)pthread_atfork(NULL, NULL, begin_process);
    records = (struct timer_record *)(void *)((char *)map + TIMER_RECORD_HEADER_BYTES);
    header = map;
}

/* libev and libuv stop a timer that is due with the same call as their user does: by their own
 * clock, which they do not read again for every call, it is an expiry. */
static void record_end(enum timer_record_library library, const void *timer, bool due)
{
    record(library, due ? TIMER_RECORD_FIRE : TIMER_RECORD_STOP, timer, 0,
           due ? TIMER_RECORD_TIMEOUT : 0);
}

/* Point `function`, unless that is done, to the library's own of that name. Without it the program
 * would not have started. */
static void find_next(void *function, const char *name)
{
    void *symbol;
    memcpy(&symbol, function, sizeof symbol);
    if (symbol == NULL) {
        symbol = dlsym(RTLD_NEXT, name);
        memcpy(function, &symbol, sizeof symbol);
    }
    if (symbol == NULL) {
        abort();
    }
}

/* Begin the definition of a function that takes the place of the library's own. */
#define INTERCEPT(type, name, ...)                                                                 \
    __attribute__((visibility("default"))) type name(__VA_ARGS__);                                 \
    type name(__VA_ARGS__)

/* Declare `pointer` and point it to the library's own function of that name. */
#define FIND(pointer, name)                                                                        \
    static __typeof__(&(name)) pointer; /* NOLINT(bugprone-macro-parentheses) */                   \
    find_next(&(pointer), #name)

/* --- libevent --------------------------------------------------------------------------------- */

#define LIBEVENT_TIMEOUT 0x01
#define LIBEVENT_SIGNAL  0x08
#define LIBEVENT_PERSIST 0x10

static void fire(int descriptor, short what, void *argument)
{
    const struct shim *shim = argument;
    const void *outer = running;
    bool timeout = (what & LIBEVENT_TIMEOUT) != 0;
    if (atomic_load_explicit(&shim->timed, memory_order_relaxed)) {
        unsigned flags = (timeout ? TIMER_RECORD_TIMEOUT : 0) |
                         ((shim->events & LIBEVENT_PERSIST) != 0 ? TIMER_RECORD_REPEATS : 0);
        record(TIMER_RECORD_LIBEVENT, TIMER_RECORD_FIRE, shim->timer, 0, flags);
    }
    running = timeout ? shim->timer : NULL;
    shim->callback(descriptor, what, shim->argument);
    running = outer;
}

INTERCEPT(int, event_assign, struct event *event, struct event_base *base, int descriptor,
          short events, event_callback callback, void *argument)
{
    FIND(next, event_assign);
    struct shim *shim = NULL;
    if (header != NULL && callback != NULL && (events & LIBEVENT_SIGNAL) == 0) {
        shim = find_shim(event, true);
    }
    if (shim == NULL) {
        return next(event, base, descriptor, events, callback, argument);
    }
    /* A certain argument stands for the event itself. */
    static void *(*self)(void);
    if (self == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "event_self_cbarg");
        memcpy(&self, &symbol, sizeof symbol);
    }
    shim->callback = callback;
    shim->argument = self != NULL && argument == self() ? event : argument;
    shim->events = events;
    if (atomic_exchange(&shim->timed, false)) {
        record(TIMER_RECORD_LIBEVENT, TIMER_RECORD_INIT, event, 0, 0);
    }
    return next(event, base, descriptor, events, fire, shim);
}

INTERCEPT(int, event_add, struct event *event, const struct timeval *timeout)
{
    FIND(next, event_add);
    if (timeout != NULL && depth == 0 && header != NULL) {
        struct shim *shim = find_shim(event, false);
        if (shim != NULL) {
            atomic_store_explicit(&shim->timed, true, memory_order_relaxed);
        }
        /* A high bit or two of the microseconds mark a common timeout. */
        uint64_t us = (uint64_t)timeout->tv_usec & 0xfffff;
        record(TIMER_RECORD_LIBEVENT, TIMER_RECORD_START, event,
               (uint64_t)timeout->tv_sec * UINT64_C(1000000000) + us * 1000, 0);
    }
    depth++;
    int status = next(event, timeout);
    depth--;
    return status;
}

/* The calls that end an event's timeout differ in nothing else. */
#define LIBEVENT_STOP(name)                                                                        \
    INTERCEPT(int, name, struct event *event)                                                      \
    {                                                                                              \
        FIND(next, name);                                                                          \
        if (depth == 0 && header != NULL) {                                                        \
            const struct shim *shim = find_shim(event, false);                                     \
            if (shim == NULL || atomic_load_explicit(&shim->timed, memory_order_relaxed)) {        \
                record(TIMER_RECORD_LIBEVENT, TIMER_RECORD_STOP, event, 0, 0);                     \
            }                                                                                      \
        }                                                                                          \
        depth++;                                                                                   \
        int status = next(event);                                                                  \
        depth--;                                                                                   \
        return status;                                                                             \
    }

LIBEVENT_STOP(event_del)
LIBEVENT_STOP(event_del_block)
LIBEVENT_STOP(event_del_noblock)
LIBEVENT_STOP(event_remove_timer)

/* --- libev ------------------------------------------------------------------------------------ */

/* As libev is built by default, and by Debian. */
struct ev_timer {
    int active;
    int pending;
    int priority;
    void *data;
    ev_callback callback;
    double at; /* before the start: seconds from then on */
    double repeat;
};

static uint64_t seconds_to_ns(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

/* An idle timer has its own callback, in case the program copies it. */
static void give_back_callback(struct ev_timer *timer, const struct shim *shim)
{
    if (shim != NULL && timer->active == 0 && shim->ev_callback != NULL) {
        timer->callback = shim->ev_callback;
    }
}

static void ev_fire(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct shim *shim = find_shim(timer, false);
    const void *outer = running;
    ev_callback callback = shim->ev_callback;
    if (!shim->due && timer->active != 0 && timer->repeat > 0) {
        record(TIMER_RECORD_LIBEV, TIMER_RECORD_FIRE, timer, seconds_to_ns(timer->repeat),
               TIMER_RECORD_TIMEOUT | TIMER_RECORD_REPEATS);
    }
    shim->due = false;
    give_back_callback(timer, shim);
    running = timer;
    callback(loop, timer, events);
    running = outer;
}

/* Before a timer is started. */
static void take_callback(struct ev_timer *timer)
{
    struct shim *shim = header != NULL ? find_shim(timer, true) : NULL;
    if (shim != NULL) {
        shim->due = false;
        if (timer->callback != ev_fire) {
            shim->ev_callback = timer->callback;
            timer->callback = ev_fire;
        }
    }
}

INTERCEPT(void, ev_timer_start, struct ev_loop *loop, struct ev_timer *timer)
{
    FIND(next, ev_timer_start);
    if (depth == 0 && timer->active == 0) {
        record(TIMER_RECORD_LIBEV, TIMER_RECORD_START, timer, seconds_to_ns(timer->at), 0);
    }
    take_callback(timer);
    depth++;
    next(loop, timer);
    depth--;
}

INTERCEPT(void, ev_timer_stop, struct ev_loop *loop, struct ev_timer *timer)
{
    FIND(next, ev_timer_stop);
    FIND(remaining, ev_timer_remaining);
    struct shim *shim = header != NULL ? find_shim(timer, false) : NULL;
    if (depth == 0 && timer->active != 0) {
        /* The library does not stop repeating timers. */
        bool due = timer->repeat <= 0 && remaining(loop, timer) <= 0;
        record_end(TIMER_RECORD_LIBEV, timer, due);
        if (shim != NULL) {
            shim->due = due;
        }
    } else if (depth == 0) {
        record(TIMER_RECORD_LIBEV, TIMER_RECORD_STOP, timer, 0, 0);
    }
    depth++;
    next(loop, timer);
    depth--;
    if (shim != NULL && !shim->due) {
        give_back_callback(timer, shim);
    }
}

INTERCEPT(void, ev_timer_again, struct ev_loop *loop, struct ev_timer *timer)
{
    FIND(next, ev_timer_again);
    if (depth == 0 && timer->repeat > 0) {
        record(TIMER_RECORD_LIBEV, TIMER_RECORD_START, timer, seconds_to_ns(timer->repeat), 0);
        take_callback(timer);
    } else if (depth == 0 && timer->active != 0) {
        record(TIMER_RECORD_LIBEV, TIMER_RECORD_STOP, timer, 0, 0);
    }
    depth++;
    next(loop, timer);
    depth--;
}

/* --- libuv ------------------------------------------------------------------------------------ */

/* When a timer is due, libuv stops it, starts it again if it repeats, by these very calls, and
 * calls back. */

static void uv_fire(struct uv_timer *timer)
{
    struct shim *shim = find_shim(timer, false);
    const void *outer = running;
    running = timer;
    shim->due = false;
    shim->uv_callback(timer);
    running = outer;
}

INTERCEPT(int, uv_timer_init, struct uv_loop *loop, struct uv_timer *timer)
{
    FIND(next, uv_timer_init);
    if (header != NULL && find_shim(timer, false) != NULL) {
        record(TIMER_RECORD_LIBUV, TIMER_RECORD_INIT, timer, 0, 0);
    }
    return next(loop, timer);
}

INTERCEPT(int, uv_timer_start, struct uv_timer *timer, uv_callback callback, uint64_t timeout_ms,
          uint64_t repeat_ms)
{
    FIND(next, uv_timer_start);
    if (depth == 0) {
        uint64_t ms = timeout_ms < UINT64_C(1000000000000) ? timeout_ms : UINT64_C(1000000000000);
        record(TIMER_RECORD_LIBUV, TIMER_RECORD_START, timer, ms * 1000000, 0);
    }
    /* uv_timer_again passes the callback stored by us. */
    bool theirs = header != NULL && callback != NULL && callback != uv_fire;
    struct shim *shim = theirs ? find_shim(timer, true) : NULL;
    if (shim != NULL) {
        shim->uv_callback = callback;
        callback = uv_fire;
    }
    depth++;
    int status = next(timer, callback, timeout_ms, repeat_ms);
    depth--;
    return status;
}

INTERCEPT(int, uv_timer_stop, struct uv_timer *timer)
{
    FIND(next, uv_timer_stop);
    FIND(is_active, uv_is_active);
    FIND(due_in_ms, uv_timer_get_due_in);
    if (depth == 0 && is_active(timer) != 0) {
        struct shim *shim = find_shim(timer, false);
        bool due = due_in_ms(timer) == 0;
        record_end(TIMER_RECORD_LIBUV, timer, due);
        if (shim != NULL) {
            shim->due = due;
        }
    } else if (depth == 0) {
        record(TIMER_RECORD_LIBUV, TIMER_RECORD_STOP, timer, 0, 0);
    }
    depth++;
    int status = next(timer);
    depth--;
    return status;
}

INTERCEPT(int, uv_timer_again, struct uv_timer *timer)
{
    FIND(next, uv_timer_again);
    FIND(get_repeat, uv_timer_get_repeat);
    uint64_t repeat_ms = get_repeat(timer);
    if (depth == 0 && repeat_ms > 0) {
        uint64_t ms = repeat_ms < UINT64_C(1000000000000) ? repeat_ms : UINT64_C(1000000000000);
        const struct shim *shim = find_shim(timer, false);
        const void *outer = running;
        running = shim != NULL && shim->due ? timer : running;
        record(TIMER_RECORD_LIBUV, TIMER_RECORD_START, timer, ms * 1000000, 0);
        running = outer;
    }
    depth++;
    int status = next(timer);
    depth--;
    return status;
}

/* --- structures written by `timerlab export`
 * --------------------------------------------------- */

/* Their ticks are their user's; only milliseconds of CLOCK_MONOTONIC can be recorded. */
#define EXPORTED_TICK_NS UINT64_C(1000000)

/* Status of a stop of an idle timer: without effect, but called. */
#define EXPORTED_IDLE    1

typedef void (*exported_callback)(void *ctx, uint32_t id, uint64_t now);

/* Make a unique address: no address of the program begins like this, and the id is kept whole. */
static const void *exported_timer(const void *timers, uint32_t id)
{
    uint64_t whose = ((uint64_t)(uintptr_t)timers >> 4 | UINT64_C(1) << 31) << 32;
    return (const void *)(uintptr_t)(whose | id); /* NOLINT(performance-no-int-to-ptr) */
}

INTERCEPT(int, timers_start, void *timers, uint32_t id, uint64_t deadline)
{
    FIND(next, timers_start);
    uint64_t called_ns = now_ns();
    uint64_t most = UINT64_MAX / EXPORTED_TICK_NS;
    uint64_t deadline_ns = (deadline < most ? deadline : most) * EXPORTED_TICK_NS;
    int status = next(timers, id, deadline);
    if (status == 0) {
        record_at(called_ns, TIMER_RECORD_EXPORTED, TIMER_RECORD_START, exported_timer(timers, id),
                  deadline_ns > called_ns ? deadline_ns - called_ns : 0, 0);
    }
    return status;
}

INTERCEPT(int, timers_stop, void *timers, uint32_t id)
{
    FIND(next, timers_stop);
    int status = next(timers, id);
    if (status == 0 || status == EXPORTED_IDLE) {
        record(TIMER_RECORD_EXPORTED, TIMER_RECORD_STOP, exported_timer(timers, id), 0, 0);
    }
    return status;
}

/* An advance in progress. */
struct exported_advance {
    const void *timers;
    exported_callback callback;
    void *ctx;
};

static void exported_fire(void *ctx, uint32_t id, uint64_t now)
{
    const struct exported_advance *advance = ctx;
    const void *outer = running;
    running = exported_timer(advance->timers, id);
    record(TIMER_RECORD_EXPORTED, TIMER_RECORD_FIRE, running, 0, TIMER_RECORD_TIMEOUT);
    advance->callback(advance->ctx, id, now);
    running = outer;
}

INTERCEPT(uint64_t, timers_advance, void *timers, uint64_t now, uint64_t budget,
          exported_callback callback, void *ctx)
{
    FIND(next, timers_advance);
    struct exported_advance advance = {timers, callback, ctx};
    return next(timers, now, budget, exported_fire, &advance);
}
