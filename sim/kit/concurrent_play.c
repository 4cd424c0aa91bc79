#include "concurrent_play.h"

#include <inttypes.h>
#include <string.h>

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

bool play_has_room(const struct play *play, unsigned thread, size_t calls)
{
    return play->logs[thread].count + calls <= HISTORY_CALLS;
}

static void start_in(struct play *play, unsigned thread, uint32_t id, uint64_t deadline,
                     uint64_t advance)
{
    const struct tl_algo *algo = play->subject.algo;
    uint64_t clock = atomic_load_explicit(&play->clock, memory_order_relaxed);
    uint64_t delay = deadline > clock ? deadline - clock : 0;
    struct tl_precision precision = tl_algo_precision(algo, play->subject.options, delay);
    struct history_call call = {.kind = HISTORY_START,
                                .id = id,
                                .tick = deadline,
                                .advance = advance,
                                .early = precision.early_ticks,
                                .late = precision.late_ticks};
    call.begun = take_moment(play);
    call.status = algo->start(play->subject.self, id, deadline);
    call.ended = take_moment(play);
    add_call(play, thread, call);
}

void play_start(struct play *play, unsigned thread, uint32_t id, uint64_t deadline)
{
    start_in(play, thread, id, deadline, 0);
}

void play_stop(struct play *play, unsigned thread, uint32_t id)
{
    struct history_call call = {.kind = HISTORY_STOP, .id = id, .begun = take_moment(play)};
    call.status = play->subject.algo->stop(play->subject.self, id);
    call.ended = take_moment(play);
    add_call(play, thread, call);
}

void play_next(struct play *play, unsigned thread)
{
    struct history_call call = {.kind = HISTORY_NEXT, .begun = take_moment(play)};
    call.tick = play->subject.algo->next(play->subject.self);
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

void play_judge(struct play *play, const char *what)
{
    struct kit_witness *witness = play->subject.witness;
    struct history_fault fault;
    for (uint32_t id = 0; id < play->subject.capacity; id++) {
        if (!history_explains(play->logs, PLAY_THREADS, id, &fault)) {
            kit_fail(witness, fault.kind, "%s: %s", what, fault.text);
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
