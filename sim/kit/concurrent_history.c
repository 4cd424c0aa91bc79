/*
 * The search of Wing and Gong (1993), with Lowe's memory of the states tried before (2017): the next
 * moment may be that of any call which no other remaining call precedes, provided that the model
 * allows its result.
 */
#include "concurrent_history.h"

#include "due.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- calls ----------------------------------------------------------------------------------- */

/* The moments of a history must be in the order of the threads' calls, but must not order the
 * memory accesses of the structure, or the thread sanitizer would see no races. */
#ifdef __SANITIZE_THREAD__
#define MOMENT_ORDER memory_order_relaxed
#else
#define MOMENT_ORDER memory_order_acq_rel
#endif

static uint64_t take_moment(struct play *play)
{
    return atomic_fetch_add_explicit(&play->moment, 1, MOMENT_ORDER) + 1;
}

static void add_call(struct play *play, unsigned thread, struct history_call call)
{
    struct history *log = &play->logs[thread];
    if (log->count < HISTORY_CALLS) {
        call.thread = thread;
        log->calls[log->count++] = call;
    }
}

/* Call the hook, and add the call to the history. */
static void make_call(struct play *play, unsigned thread, struct history_call call)
{
    const struct tl_algo *algo = play->subject.algo;
    call.begun = take_moment(play);
    if (call.kind == HISTORY_START) {
        call.status = algo->start(play->subject.self, call.id, call.tick);
    } else if (call.kind == HISTORY_STOP) {
        call.status = algo->stop(play->subject.self, call.id);
    } else {
        call.tick = algo->next(play->subject.self);
    }
    call.ended = take_moment(play);
    add_call(play, thread, call);
}

static void start_in(struct play *play, unsigned thread, uint32_t id, uint64_t deadline,
                     uint64_t advance)
{
    uint64_t clock = atomic_load_explicit(&play->clock, memory_order_relaxed);
    uint64_t delay = deadline > clock ? deadline - clock : 0;
    struct tl_precision precision =
        tl_algo_precision(play->subject.algo, play->subject.options, delay);
    make_call(play, thread,
              (struct history_call){.kind = HISTORY_START,
                                    .id = id,
                                    .tick = deadline,
                                    .advance = advance,
                                    .early = precision.early_ticks,
                                    .late = precision.late_ticks});
}

void play_start(struct play *play, unsigned thread, uint32_t id, uint64_t deadline)
{
    start_in(play, thread, id, deadline, 0);
}

void play_stop(struct play *play, unsigned thread, uint32_t id)
{
    make_call(play, thread, (struct history_call){.kind = HISTORY_STOP, .id = id});
}

void play_next(struct play *play, unsigned thread)
{
    make_call(play, thread, (struct history_call){.kind = HISTORY_NEXT});
}

/* An advance under way. */
struct advancing {
    struct play *play;
    unsigned thread;
    uint64_t now;
    uint64_t begun;
    uint64_t fired;
};

static void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct advancing *advancing = ctx;
    struct play *play = advancing->play;
    if (id >= play->subject.capacity || now != advancing->now) {
        kit_fail(play->subject.witness, FAULT_COUNT,
                 "a callback of advance(%" PRIu64 ") got timer %" PRIu32 " and tick %" PRIu64
                 "; there are %" PRIu32 " timers",
                 advancing->now, id, now, play->subject.capacity);
    }
    advancing->fired++;
    add_call(play, advancing->thread,
             (struct history_call){.kind = HISTORY_EXPIRY,
                                   .id = id,
                                   .tick = now,
                                   .advance = play->advance,
                                   .begun = advancing->begun,
                                   .ended = take_moment(play)});
    struct play_callback callback = play->callbacks[id];
    play->callbacks[id] = (struct play_callback){.restarts = false};
    if (callback.restarts) {
        start_in(play, advancing->thread, id, now, play->advance);
    }
    if (callback.stops) {
        play_stop(play, advancing->thread, callback.other);
    }
}

void play_advance(struct play *play, unsigned thread, uint64_t now)
{
    struct advancing advancing = {play, thread, now, take_moment(play), 0};
    struct history_call call = {.tick = now, .begun = advancing.begun, .ended = advancing.begun};
    call.kind = HISTORY_BEGIN;
    play->advance++;
    atomic_store_explicit(&play->clock, now, memory_order_relaxed);
    add_call(play, thread, call);
    uint64_t fired =
        play->subject.algo->advance(play->subject.self, now, TL_NO_BUDGET, on_fire, &advancing);
    call.kind = HISTORY_END;
    call.begun = call.ended = take_moment(play);
    add_call(play, thread, call);
    if (fired != advancing.fired) {
        kit_fail(play->subject.witness, FAULT_COUNT,
                 "advance(%" PRIu64 ") returned %" PRIu64 " and called back for %" PRIu64, now,
                 fired, advancing.fired);
    }
}

/* --- the model ------------------------------------------------------------------------------- */

enum { CALLS_MAX = 64, TRIED_MAX = 1024, SHOWN_MAX = 14 };

/* A timer. Which start was the last decides about its deadline. */
struct timer_model {
    const struct history_call *start;
    uint64_t clock;
    uint64_t limit; /* the last tick at which it may fire */
    bool pending;
    bool owed; /* the running advance must fire it: the start had returned */
};

/* The calls that have taken effect, and the state after them. */
struct tried {
    uint64_t passed;
    struct timer_model timer;
};

struct search {
    const struct history_call *calls[CALLS_MAX]; /* in the order of their begin */
    size_t count;
    struct tried tried[TRIED_MAX];
    size_t tried_count;
    size_t most; /* the most moments that were put in order, and the call that then failed */
    const struct history_call *stuck;
};

/* Whether the model allows the result of the call now; if so, the state after it. */
static bool allow(struct timer_model *timer, const struct history_call *call)
{
    bool is_ok = call->status == TL_OK;
    switch (call->kind) {
    case HISTORY_START:
        if (is_ok) {
            timer->start = call;
            timer->limit = due_last(due_tick(timer->clock, call->tick), call->late);
            timer->pending = true;
            timer->owed = false;
        }
        return true; /* a refusal changes nothing */
    case HISTORY_STOP:
        if (is_ok != timer->pending) {
            return false;
        }
        break;
    case HISTORY_EXPIRY:
        if (!timer->pending || due_is_early(call->tick, timer->start->tick, timer->start->early) ||
            timer->start->advance == call->advance) {
            return false;
        }
        break;
    case HISTORY_NEXT:
        return !timer->pending || call->tick <= timer->limit;
    case HISTORY_BEGIN:
        timer->clock = call->tick;
        timer->owed =
            timer->pending && timer->limit <= call->tick && timer->start->ended < call->begun;
        return true;
    case HISTORY_END:
        return !timer->owed;
    }
    timer->pending = false;
    timer->owed = false;
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Whether the state is new. */
static bool remember(struct search *search, uint64_t passed, const struct timer_model *timer)
{
    uint64_t hash = (passed ^ (uintptr_t)timer->start) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 40) % TRIED_MAX;
    while (search->tried[at].passed != 0) {
        const struct tried *tried = &search->tried[at];
        if (tried->passed == passed && tried->timer.start == timer->start &&
            tried->timer.limit == timer->limit && tried->timer.pending == timer->pending &&
            tried->timer.owed == timer->owed) {
            return false;
        }
        at = (at + 1) % TRIED_MAX;
    }
    search->tried_count++;
    search->tried[at] = (struct tried){passed, *timer};
    return true;
}

/* Whether the calls that are not in `passed` can follow. Too many states: true, so that no fault is
 * reported which is none. */
static bool can_go_on(struct search *search, uint64_t passed, size_t depth,
                      const struct timer_model *timer)
{
    if (depth == search->count || search->tried_count > TRIED_MAX / 2) {
        return true;
    }
    uint64_t first_end = UINT64_MAX;
    for (size_t i = 0; i < search->count; i++) {
        if ((passed >> i & 1) == 0 && search->calls[i]->ended < first_end) {
            first_end = search->calls[i]->ended;
        }
    }
    for (size_t i = 0; i < search->count && search->calls[i]->begun <= first_end; i++) {
        struct timer_model after = *timer;
        if ((passed >> i & 1) != 0) {
            continue;
        }
        uint64_t longer = passed | UINT64_C(1) << i;
        if (!allow(&after, search->calls[i])) {
            if (depth >= search->most && search->calls[i]->ended == first_end) {
                search->most = depth;
                search->stuck = search->calls[i];
            }
        } else if (remember(search, longer, &after) &&
                   can_go_on(search, longer, depth + 1, &after)) {
            return true;
        }
    }
    return false;
}

/* Puts the calls about one timer in order. False if there are too many. */
static bool gather(struct search *search, const struct history *logs, uint32_t id)
{
    bool used = false;
    for (size_t l = 0; l < PLAY_THREADS; l++) {
        for (size_t i = 0; i < logs[l].count; i++) {
            const struct history_call *call = &logs[l].calls[i];
            bool about_timer = call->kind <= HISTORY_EXPIRY;
            if (about_timer && call->id != id) {
                continue;
            }
            if (search->count == CALLS_MAX) {
                return false;
            }
            size_t at = search->count++;
            for (; at > 0 && search->calls[at - 1]->begun > call->begun; at--) {
                search->calls[at] = search->calls[at - 1];
            }
            search->calls[at] = call;
            used = used || about_timer;
        }
    }
    return used;
}

/* --- messages -------------------------------------------------------------------------------- */

static void write_call(const struct history_call *call, char *text, size_t bytes)
{
    const char *result = call->status == TL_OK ? "ok" : tl_status_name(call->status);
    char who = (char)('A' + (int)call->thread);
    switch (call->kind) {
    case HISTORY_START:
        (void)snprintf(text, bytes, "%c start for tick %" PRIu64 "%s: %s", who, call->tick,
                       call->advance != 0 ? " (in a callback)" : "", result);
        break;
    case HISTORY_STOP:
        (void)snprintf(text, bytes, "%c stop: %s", who, result);
        break;
    case HISTORY_EXPIRY:
        (void)snprintf(text, bytes, "%c expiry at tick %" PRIu64, who, call->tick);
        break;
    case HISTORY_NEXT:
        (void)snprintf(text, bytes, "%c next: %" PRIu64, who, call->tick);
        break;
    case HISTORY_BEGIN:
        (void)snprintf(text, bytes, "%c advance to tick %" PRIu64 " begins", who, call->tick);
        break;
    case HISTORY_END:
        (void)snprintf(text, bytes, "%c advance to tick %" PRIu64 " returns", who, call->tick);
        break;
    }
}

/* Report the result without an explanation, and the calls about this timer. */
static noreturn void fail(const struct search *search, uint32_t id, struct play *play,
                          const char *what)
{
    static const struct {
        enum fault_kind fault;
        const char *reason;
    } faults[] = {
        [HISTORY_STOP] = {FAULT_STATUS, "the timer's state at the stop was another one"},
        [HISTORY_EXPIRY] = {FAULT_DUPLICATE, "the timer was not pending, it was too early, or the "
                                             "same advance had started it"},
        [HISTORY_NEXT] = {FAULT_NEXT, "`next` names a tick after the expiry of a pending timer"},
        [HISTORY_END] = {FAULT_LOST, "a timer that was due when the advance began was neither "
                                     "fired nor stopped nor restarted"}};
    enum history_kind kind = search->stuck->kind;
    char line[128];
    char text[800];
    write_call(search->stuck, line, sizeof line);
    int used = snprintf(text, sizeof text,
                        "timer %" PRIu32 ", \"%s\": %s, in whatever order overlapping calls took "
                        "effect. The last calls [begin-end]:",
                        id, line, faults[kind].reason);
    size_t end = search->count;
    while (search->calls[end - 1]->begun > search->stuck->ended) {
        end--; /* later calls explain nothing */
    }
    for (size_t i = end > SHOWN_MAX ? end - SHOWN_MAX : 0; i < end && used < (int)sizeof text;
         i++) {
        const struct history_call *call = search->calls[i];
        write_call(call, line, sizeof line);
        used += snprintf(text + used, sizeof text - (size_t)used, " [%" PRIu64 "-%" PRIu64 "] %s;",
                         call->begun, call->ended, line);
    }
    kit_fail(play->subject.witness, faults[kind].fault, "%s: %s", what, text);
}

void play_judge(struct play *play, const char *what)
{
    static struct search search; /* large; one thread judges */
    struct kit_witness *witness = play->subject.witness;
    const struct timer_model idle = {.start = NULL};
    for (uint32_t id = 0; id < play->subject.capacity; id++) {
        search.count = 0;
        if (!gather(&search, play->logs, id)) {
            continue;
        }
        search.most = 0;
        search.tried_count = 0;
        memset(search.tried, 0, sizeof search.tried);
        if (!can_go_on(&search, 0, 0, &idle)) {
            fail(&search, id, play, what);
        }
    }
    uint64_t count = play->subject.algo->count(play->subject.self);
    if (count != 0) {
        kit_fail(witness, FAULT_COUNT,
                 "%s: count returns %" PRIu64 " after all timers have expired or were stopped",
                 what, count);
    }
    for (unsigned thread = 0; thread < PLAY_THREADS; thread++) {
        witness->operations += play->logs[thread].count;
        play->logs[thread].count = 0;
    }
}
