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
#include <xxhash.h>

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

/* Call the hook of a start, stop or next, and add the call to the history. */
static void call_hook(struct play *play, unsigned thread, struct history_call call)
{
    const struct kit_subject *subject = &play->subject;
    const struct tl_algo *algo = subject->algo;
    uint64_t clock = atomic_load_explicit(&play->clock, memory_order_relaxed);
    struct tl_precision precision =
        tl_algo_precision(algo, subject->options, due_delay(clock, call.tick));
    call.early = precision.early_ticks;
    call.late = precision.late_ticks;
    call.begun = take_moment(play);
    if (call.kind == HISTORY_START) {
        call.status = algo->start(subject->self, call.id, call.tick);
    } else if (call.kind == HISTORY_STOP) {
        call.status = algo->stop(subject->self, call.id);
    } else {
        call.tick = algo->next(subject->self);
    }
    call.ended = take_moment(play);
    add_call(play, thread, call);
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
        call_hook(play, advancing->thread,
                  (struct history_call){.id = id, .tick = now, .advance = play->advance});
    }
    if (callback.stops) {
        play_call(play, advancing->thread, (struct play_call){'X', callback.other, 0});
    }
}

static void advance(struct play *play, unsigned thread, uint64_t now)
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

void play_call(struct play *play, unsigned thread, struct play_call call)
{
    struct play_callback *callback = &play->callbacks[call.id];
    switch (call.kind) {
    case 'A':
        advance(play, thread, call.tick);
        break;
    case 'R':
        callback->restarts = true;
        break;
    case 'K':
        callback->stops = true;
        callback->other = (uint32_t)call.tick;
        break;
    default:
        call_hook(play, thread,
                  (struct history_call){.kind = call.kind == 'S'   ? HISTORY_START
                                                : call.kind == 'X' ? HISTORY_STOP
                                                                   : HISTORY_NEXT,
                                        .id = call.id,
                                        .tick = call.tick});
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

struct search {
    const struct history_call *calls[CALLS_MAX]; /* in the order of their begin */
    size_t count;
    uint64_t
        tried[TRIED_MAX]; /* hashes of the calls that had taken effect and the state after them */
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
    const uint64_t state[] = {passed, (uintptr_t)timer->start, timer->limit, timer->pending,
                              timer->owed};
    uint64_t hash = XXH3_64bits(state, sizeof state) | 1;
    size_t at = (size_t)(hash >> 40) % TRIED_MAX;
    for (; search->tried[at] != 0; at = (at + 1) % TRIED_MAX) {
        if (search->tried[at] == hash) {
            return false;
        }
    }
    search->tried_count++;
    search->tried[at] = hash;
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
    static const char *const words[] = {
        "start for tick", "stop", "expiry at tick", "next:", "advance to tick", "advance to tick"};
    bool has_status = call->kind <= HISTORY_STOP;
    const char *end = has_status                    ? tl_status_name(call->status)
                      : call->kind == HISTORY_BEGIN ? " begins"
                      : call->kind == HISTORY_END   ? " returns"
                                                    : "";
    char tick[24] = "";
    if (call->kind != HISTORY_STOP) {
        (void)snprintf(tick, sizeof tick, " %" PRIu64, call->tick);
    }
    bool is_inside = call->kind == HISTORY_START && call->advance != 0;
    (void)snprintf(text, bytes, "%c %s%s%s%s%s", (char)('A' + (int)call->thread), words[call->kind],
                   tick, is_inside ? " (in a callback)" : "", has_status ? ": " : "",
                   has_status && call->status == TL_OK ? "ok" : end);
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
