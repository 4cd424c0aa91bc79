/*
 * lazy: a restart to a later deadline is only recorded, and applied when the timer fires.
 *
 * A server postpones its idle timers with every packet, and almost none of them expires. Moving such
 * a timer in its structure for each packet is useless work. So the structure keeps the timer under
 * its old deadline, with the new one next to it. When the structure fires the timer, it is handed
 * out if it is due, and else started again for the rest.
 *
 *   start 7, 100     the structure has 7 at 100
 *   start 7, 140     recorded: 140
 *   start 7, 180     recorded: 180
 *   tick 100         7 fires in the structure, is not due, and is started again for 180
 *   tick 180         7 fires
 *
 * Any number of restarts within one timeout costs one early expiry. Moves become wakeups: a loop that
 * sleeps until `next` wakes for a timer that is not due. That is a loss if restarts are rare, or if
 * timers are stopped for good.
 *
 * Three programs do the same, with differences:
 *
 *   - Netty's IdleStateHandler notes the time of the last read and write; its task, when it runs,
 *     schedules itself again for the rest.
 *
 *   - HAProxy's tasks have an `expire` in addition to the key under which they are queued. A later
 *     one only changes `expire`; an earlier one queues the task again. A task with a stopped timer
 *     stays queued and is dropped later: `stop=lazy`. By default it is taken out at once.
 *
 *   - nginx leaves a timer if its new key is within 300 ms of the old one, earlier or later, and
 *     otherwise moves it. It fires under the old key, up to that much from its deadline: `slack`. It
 *     is always counted from the key, so that nothing drifts.
 *
 * The structure's promises must hold for the last deadline. So if the structure may be late, a timer
 * stays only if even its latest expiry keeps the promise for the new delay, and the start for the
 * rest does too. If one bucket serves both deadlines, the timer stays and fires with it.
 *
 * The structure must have no horizon, and not refuse when it is full: it gets a deadline only when
 * the timer fires there.
 *
 * Timers that one advance fires are in the order of their old deadlines, and `next` is a bound:
 * `ordered`, `fifo`, `next-exact` and, with the option `slack`, `exact` are lost.
 */
#include "front.h"
#include "registry.h"
#include "walk.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

struct lazy_options {
    uint64_t slack;
    uint32_t stop;
};

enum { STOP_NOW, STOP_LAZY };

/* `kept` of a timer that was started by a callback and waits for the end of the advance: this, and the
 * id of the next one. Above all deadlines. */
#define WAITS      (UINT64_C(3) << 62)
#define WAITS_LAST UINT32_MAX

struct timer {
    uint64_t wanted; /* from this tick on, its expiry is handed out; TL_NEVER: it is not pending */
    uint64_t kept;   /* its deadline in the structure; TL_NEVER: it is not there */
};

/* The ticks between which the structure fires a timer. */
struct span {
    uint64_t first;
    uint64_t last;
};

struct lazy {
    const struct tl_algo *inner;
    void *self;
    const struct tl_allocator *allocator;
    struct timer *timers;
    struct span *spans; /* NULL if the structure is exact, and fires them at `kept` */
    uint64_t clock;
    uint64_t count;
    uint64_t slack_ticks;
    uint64_t fired; /* in the running advance */
    tl_fire_fn fire;
    void *fire_ctx;
    struct tl_counters counters; /* its own work, next to the structure's */
    uint32_t capacity;
    uint32_t first_waiting;
    bool exact;
    bool advancing;
    bool bounded; /* the running advance has a budget */
    bool leaves_stopped;
    uint64_t options[]; /* a copy of the structure's */
};

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_pending(const struct timer *timer)
{
    return timer->wanted != TL_NEVER;
}

static bool is_waiting(const struct timer *timer)
{
    return timer->kept >= WAITS && timer->kept != TL_NEVER;
}

/* Return the structure's precision for a deadline. */
static struct tl_precision precision_of(const struct lazy *lazy, uint64_t deadline)
{
    uint64_t delay_ticks = deadline > lazy->clock ? deadline - lazy->clock : 0;
    return lazy->exact ? (struct tl_precision){0}
                       : tl_algo_precision(lazy->inner, lazy->options, delay_ticks);
}

static struct span span_of(const struct lazy *lazy, uint32_t id)
{
    const struct timer *timer = &lazy->timers[id];
    return !lazy->exact ? lazy->spans[id]
                        : (struct span){.first = timer->kept, .last = timer->kept};
}

/* Start a timer in the structure. If that fails nothing has changed. */
static enum tl_status file(struct lazy *lazy, uint32_t id, uint64_t deadline)
{
    struct timer *timer = &lazy->timers[id];
    enum tl_status status = lazy->inner->start(lazy->self, id, deadline);
    if (status != TL_OK) {
        return status;
    }
    timer->kept = deadline;
    timer->wanted = deadline;
    if (!lazy->exact) {
        struct tl_precision precision = precision_of(lazy, deadline);
        timer->wanted -= precision.early_ticks < deadline ? precision.early_ticks : deadline;
        lazy->spans[id] =
            (struct span){.first = timer->wanted, .last = add(deadline, precision.late_ticks)};
    }
    return TL_OK;
}

/* Whether the structure promises no less for a delay. */
static bool keeps_to(const struct lazy *lazy, uint64_t delay_ticks, struct tl_precision promised)
{
    struct tl_precision precision = tl_algo_precision(lazy->inner, lazy->options, delay_ticks);
    return precision.early_ticks <= promised.early_ticks &&
           precision.late_ticks <= promised.late_ticks;
}

/* Whether a timer that is started for `deadline` may stay at its place in the structure; *wanted is
 * then the first tick at which its expiry is handed out. */
static bool may_stay(struct lazy *lazy, uint32_t id, uint64_t deadline, uint64_t *wanted)
{
    uint64_t kept = lazy->timers[id].kept;
    struct span span = span_of(lazy, id);
    struct tl_precision promised = precision_of(lazy, deadline);
    uint64_t apart = deadline > kept ? deadline - kept : kept - deadline;
    uint64_t last = add(deadline, promised.late_ticks);
    uint64_t slack = apart <= lazy->slack_ticks ? lazy->slack_ticks : 0;
    lazy->counters.compares++;
    /* It must not fire in the advance that started it. */
    bool later = !lazy->advancing || span.first > lazy->clock;
    if (later && add(add(span.first, promised.early_ticks), slack) >= deadline &&
        span.last <= add(last, slack)) {
        *wanted = span.first;
        return true;
    }
    if (span.last > last) {
        return false;
    }
    *wanted = deadline;
    if (lazy->exact || span.first >= deadline) {
        return true;
    }
    /* The later the structure fires it, the shorter is the rest. */
    return keeps_to(lazy, deadline - span.first, promised) && keeps_to(lazy, 1, promised);
}

/* Let a timer wait until the end of this advance. */
static void let_wait(struct lazy *lazy, uint32_t id)
{
    lazy->timers[id].kept = WAITS | lazy->first_waiting;
    lazy->first_waiting = id;
}

/* --- hooks ----------------------------------------------------------------------------------- */

static enum tl_status lazy_start(void *self, uint32_t id, uint64_t deadline)
{
    struct lazy *lazy = self;
    struct timer *timer = &lazy->timers[id];
    bool fresh = !is_pending(timer);
    bool due =
        lazy->advancing && deadline <= add(lazy->clock, precision_of(lazy, deadline).early_ticks);
    enum tl_status status = TL_OK;
    uint64_t wanted;
    if (is_waiting(timer)) {
        timer->wanted = deadline;
    } else if (!due && timer->kept != TL_NEVER && may_stay(lazy, id, deadline, &wanted)) {
        timer->wanted = wanted;
    } else if (due && lazy->bounded) {
        /* This advance may ask the structure again, and a timer started in it must not fire. */
        if (timer->kept != TL_NEVER) {
            (void)lazy->inner->stop(lazy->self, id);
        }
        timer->wanted = deadline;
        let_wait(lazy, id);
    } else {
        status = file(lazy, id, deadline);
    }
    lazy->count += status == TL_OK && fresh;
    return status;
}

static enum tl_status lazy_stop(void *self, uint32_t id)
{
    struct lazy *lazy = self;
    struct timer *timer = &lazy->timers[id];
    if (!is_pending(timer)) {
        return TL_IDLE;
    }
    lazy->count--;
    timer->wanted = TL_NEVER;
    if (!lazy->leaves_stopped && !is_waiting(timer)) {
        timer->kept = TL_NEVER;
        return lazy->inner->stop(lazy->self, id);
    }
    return TL_OK;
}

/* The structure's callback. */
static void inner_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct lazy *lazy = ctx;
    struct timer *timer = &lazy->timers[id];
    lazy->counters.compares++;
    timer->kept = TL_NEVER;
    if (!is_pending(timer)) {
        return;
    }
    /* An early structure could fire a timer started for the rest at once. */
    if (timer->wanted > add(now, precision_of(lazy, timer->wanted).early_ticks)) {
        lazy->counters.cascades++;
        if (lazy->bounded) {
            let_wait(lazy, id);
        } else {
            (void)file(lazy, id, timer->wanted);
        }
        return;
    }
    timer->wanted = TL_NEVER;
    lazy->count--;
    lazy->fired++;
    lazy->fire(lazy->fire_ctx, id, now);
}

/* Start the waiting timers at the end of an advance. */
static void start_waiting(struct lazy *lazy)
{
    while (lazy->first_waiting != WAITS_LAST) {
        uint32_t id = lazy->first_waiting;
        struct timer *timer = &lazy->timers[id];
        lazy->first_waiting = (uint32_t)timer->kept;
        timer->kept = TL_NEVER;
        if (is_pending(timer)) {
            (void)file(lazy, id, timer->wanted);
        }
    }
}

static uint64_t lazy_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct lazy *lazy = self;
    lazy->clock = now;
    lazy->fired = 0;
    lazy->fire = fire;
    lazy->fire_ctx = ctx;
    lazy->advancing = true;
    lazy->bounded = budget != TL_NO_BUDGET;
    uint64_t left = budget;
    uint64_t handed = lazy->inner->advance(lazy->self, now, left, inner_fired, lazy);
    bool any = handed > 0;
    /* Early expiries use up the structure's budget, but not the caller's. */
    while (handed == left && lazy->fired < budget) {
        left = budget - lazy->fired;
        handed = lazy->inner->advance(lazy->self, now, left, inner_fired, lazy);
    }
    lazy->advancing = false;
    start_waiting(lazy);
    if (lazy->fired == 0 && any && (lazy->inner->capabilities & TL_CAP_NEXT) != 0 &&
        lazy->inner->next(lazy->self) <= now) {
        /* The bound grows only if no timer fires at it. No callback has run. */
        (void)lazy->inner->advance(lazy->self, now, budget, inner_fired, lazy);
    }
    return lazy->fired;
}

static uint64_t lazy_next(const void *self)
{
    const struct lazy *lazy = self;
    return lazy->count > 0 ? lazy->inner->next(lazy->self) : TL_NEVER;
}

static uint64_t lazy_count(const void *self)
{
    const struct lazy *lazy = self;
    return lazy->count;
}

static void lazy_counters(const void *self, struct tl_counters *out)
{
    const struct lazy *lazy = self;
    lazy->inner->counters(lazy->self, out);
    tl_counters_add(out, &lazy->counters);
}

static enum tl_status lazy_check(const void *self, char *why, size_t why_bytes)
{
    const struct lazy *lazy = self;
    uint64_t pending = 0;
    uint64_t kept = 0;
    for (uint32_t id = 0; id < lazy->capacity; id++) {
        const struct timer *timer = &lazy->timers[id];
        if (is_waiting(timer) || (is_pending(timer) && timer->kept == TL_NEVER)) {
            return corrupt(why, why_bytes, "timer %u is pending, but not in the structure",
                           (unsigned)id);
        }
        pending += is_pending(timer);
        kept += timer->kept != TL_NEVER;
    }
    bool fires_nothing = (lazy->inner->capabilities & TL_CAP_FIRES_NOTHING) != 0;
    if (pending != lazy->count || (!fires_nothing && kept != lazy->inner->count(lazy->self))) {
        (void)snprintf(
            why, why_bytes, "%llu timers are pending, not %llu; the structure has %llu, not %llu",
            (unsigned long long)pending, (unsigned long long)lazy->count, (unsigned long long)kept,
            (unsigned long long)lazy->inner->count(lazy->self));
        return TL_ERR_CORRUPT;
    }
    return lazy->inner->check != NULL ? lazy->inner->check(lazy->self, why, why_bytes) : TL_OK;
}

/* A walk through the structure, for the caller's visitor. */
struct visit {
    const struct lazy *lazy;
    const struct tl_visitor *visitor;
};

static void visit_part(void *ctx, const struct tl_part *part)
{
    const struct visit *visit = ctx;
    visit->visitor->part(visit->visitor->ctx, part);
}

static void visit_cell(void *ctx, const struct tl_cell *cell)
{
    const struct visit *visit = ctx;
    visit->visitor->cell(visit->visitor->ctx, cell);
}

/* Mark stopped timers that stayed in the structure as stale. */
static void visit_timer(void *ctx, const struct tl_held *held)
{
    const struct visit *visit = ctx;
    struct tl_held seen = *held;
    if (!is_pending(&visit->lazy->timers[held->id])) {
        seen.marks |= TL_MARK_STALE;
    }
    visit->visitor->timer(visit->visitor->ctx, &seen);
}

static void lazy_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct lazy *lazy = self;
    struct visit visit = {.lazy = lazy, .visitor = visitor};
    const struct tl_visitor own = {
        .ctx = &visit, .part = visit_part, .cell = visit_cell, .timer = visit_timer};
    lazy->inner->walk(lazy->self, &own);
}

/* --- create, reserve, destroy ---------------------------------------------------------------- */

static void free_arrays(const struct lazy *lazy, struct timer *timers, struct span *spans,
                        uint32_t capacity)
{
    tl_free(lazy->allocator, timers, capacity * sizeof *timers, alignof(struct timer));
    tl_free(lazy->allocator, spans, capacity * sizeof *spans, alignof(struct span));
}

/* Room for the timers up to `capacity`. */
static enum tl_status grow(struct lazy *lazy, uint32_t capacity)
{
    if (capacity <= lazy->capacity) {
        return TL_OK;
    }
    struct timer *timers =
        tl_alloc(lazy->allocator, capacity * sizeof *timers, alignof(struct timer));
    struct span *spans =
        lazy->exact ? NULL
                    : tl_alloc(lazy->allocator, capacity * sizeof *spans, alignof(struct span));
    if (timers == NULL || (spans == NULL && !lazy->exact)) {
        free_arrays(lazy, timers, spans, capacity);
        return TL_ERR_NOMEM;
    }
    if (lazy->capacity > 0) {
        memcpy(timers, lazy->timers, lazy->capacity * sizeof *timers);
        if (spans != NULL) {
            memcpy(spans, lazy->spans, lazy->capacity * sizeof *spans);
        }
    }
    for (uint32_t id = lazy->capacity; id < capacity; id++) {
        timers[id] = (struct timer){.wanted = TL_NEVER, .kept = TL_NEVER};
    }
    free_arrays(lazy, lazy->timers, lazy->spans, lazy->capacity);
    lazy->timers = timers;
    lazy->spans = spans;
    lazy->capacity = capacity;
    return TL_OK;
}

static size_t lazy_bytes(const struct tl_algo *inner)
{
    return sizeof(struct lazy) + inner->options_bytes;
}

static enum tl_status lazy_create(const struct tl_algo *inner, const void *given,
                                  const struct tl_config *config, void **self)
{
    const struct lazy_options *own = given;
    size_t bytes = lazy_bytes(inner);
    struct lazy *lazy = tl_alloc(config->allocator, bytes, alignof(struct lazy));
    if (lazy == NULL) {
        return TL_ERR_NOMEM;
    }
    *lazy = (struct lazy){.inner = inner,
                          .allocator = config->allocator,
                          .clock = config->now,
                          .slack_ticks = own->slack,
                          .leaves_stopped = own->stop == STOP_LAZY,
                          .exact = tl_algo_is_exact(inner, config->options, TL_DEADLINE_MAX),
                          .first_waiting = WAITS_LAST};
    if (inner->options_bytes > 0) {
        memcpy(lazy->options, config->options, inner->options_bytes);
    }
    enum tl_status status = grow(lazy, config->capacity);
    if (status == TL_OK) {
        status = inner->create(config, &lazy->self);
    }
    if (status != TL_OK) {
        free_arrays(lazy, lazy->timers, lazy->spans, lazy->capacity);
        tl_free(config->allocator, lazy, bytes, alignof(struct lazy));
        return status;
    }
    *self = lazy;
    return TL_OK;
}

static void lazy_destroy(void *self)
{
    struct lazy *lazy = self;
    lazy->inner->destroy(lazy->self);
    free_arrays(lazy, lazy->timers, lazy->spans, lazy->capacity);
    tl_free(lazy->allocator, lazy, lazy_bytes(lazy->inner), alignof(struct lazy));
}

static enum tl_status lazy_reserve(void *self, uint32_t capacity)
{
    struct lazy *lazy = self;
    enum tl_status status = lazy->inner->reserve(lazy->self, capacity);
    return status == TL_OK ? grow(lazy, capacity) : status;
}

static struct tl_precision lazy_precision(const struct tl_algo *inner, const void *given,
                                          const void *options, uint64_t delay_ticks)
{
    const struct lazy_options *own = given;
    struct tl_precision precision = tl_algo_precision(inner, options, delay_ticks);
    uint64_t slack_ticks = own->slack;
    return (struct tl_precision){.early_ticks = add(precision.early_ticks, slack_ticks),
                                 .late_ticks = add(precision.late_ticks, slack_ticks)};
}

static const struct tl_choice stop_choices[] = {
    {"now", STOP_NOW, "it is taken out of the structure at once"},
    {"lazy", STOP_LAZY, "it stays there until it fires, and is dropped then"},
    {NULL, 0, NULL},
};

static const struct tl_option lazy_option_table[] = {
    {"slack", TL_TICKS(struct lazy_options, slack), 0, 0, INT64_C(1) << 40, NULL,
     "a timer restarted to within this many ticks of its deadline in the structure keeps that "
     "deadline, and fires early or late by the difference (nginx: 299 of a millisecond)"},
    {"stop", TL_CHOICE(struct lazy_options, stop), STOP_NOW, 0, 0, stop_choices,
     "what becomes of a timer that is stopped"},
    {0},
};

const struct tl_front tl_front_lazy = {
    .name = "lazy",
    .summary = "in which a restart to a later deadline is only written down",
    .origin = "Netty's IdleStateHandler, HAProxy's tasks, nginx (NGX_TIMER_LAZY_DELAY)",
    .description =
        "A timer that is restarted to a later deadline stays where it is in the structure; only "
        "the new deadline is recorded. When the structure fires the timer before that deadline, it "
        "is started again for the rest. So any number of restarts within one timeout costs one "
        "early wakeup and no moves. An earlier deadline moves the timer at once. The structure's "
        "promises of earliness and lateness hold: where it fires late by design, a timer stays "
        "only if the promise for the new deadline allows it. With `slack` it also stays for small "
        "changes either way, and fires early or late by the change. The structure must have no "
        "horizon. Bad at: timers that are rarely restarted, and sleeping loops with few timers.",
    .options = lazy_option_table,
    .options_bytes = sizeof(struct lazy_options),
    .needs = TL_CAP_UNLIMITED,
    .bars = TL_CAP_REFUSES,
    .keeps = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES | TL_CAP_BASELINE |
             TL_CAP_FIRES_NOTHING | TL_CAP_SLOW | TL_CAP_OWN_MEMORY,
    .precision = lazy_precision,
    .create = lazy_create,
    .hooks =
        {
            .destroy = lazy_destroy,
            .reserve = lazy_reserve,
            .start = lazy_start,
            .stop = lazy_stop,
            .advance = lazy_advance,
            .next = lazy_next,
            .count = lazy_count,
            .counters = lazy_counters,
            .check = lazy_check,
            .walk = lazy_walk,
        },
};
