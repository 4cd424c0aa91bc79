/*
 * replay_drive.h: the advances of a pass, by its polling policy. `advance` is a constant in every
 * caller, so that each pass has a loop of its own.
 */
#ifndef SIM_REPLAY_DRIVE_H
#define SIM_REPLAY_DRIVE_H

#include "clock.h"
#include "replay_pass.h"

/* Advance the structure to `tick`; return the number of expiries. */
typedef uint64_t advance_fn(struct replay *replay, uint64_t tick);

/* Make one advance and move the clock; return the number of expiries. */
static inline __attribute__((always_inline)) uint64_t drive_to(struct replay *replay, uint64_t tick,
                                                               advance_fn *advance)
{
    uint64_t fired = advance(replay, tick);
    replay->now = tick;
    return fired;
}

/* As drive_to, in a loop with callbacks that may take time. */
static inline __attribute__((always_inline)) uint64_t round_to(struct replay *replay, uint64_t tick,
                                                               advance_fn *advance)
{
    uint64_t fired = drive_to(replay, tick, advance);
    if (replay->service != NULL) {
        uint64_t busy_ns = service_advanced(replay->service, tick, fired);
        if (replay->advance_count > 0) {
            replay->advances[replay->advance_count - 1].busy_ns = busy_ns;
        }
    }
    return fired;
}

/* Return the tick of the next wakeup of a loop that is not plain. */
static inline uint64_t next_round(const struct replay *replay)
{
    const struct replay_drive *drive = &replay->request->drive;
    uint64_t end_tick = replay->header->end_tick;
    uint64_t soonest = replay->service != NULL ? service_free(replay->service) : replay->now + 1;
    if (drive->kind == DRIVE_POLL && !replay->used_up) {
        return service_chance(replay->service, drive, end_tick, replay->now + 1);
    }
    if (drive->kind == DRIVE_SLACK && replay->slack == NULL) {
        return TL_NEVER;
    }
    uint64_t wake = replay->use_next ? replay->algo->next(replay->self) : soonest;
    if (replay->slack != NULL && !replay->used_up) {
        uint64_t latest = slack_wake(replay->slack);
        wake = latest > wake ? latest : wake; /* a late structure has no work before */
    }
    return wake == TL_NEVER ? wake : drive_awake(drive, end_tick, wake > soonest ? wake : soonest);
}

/* From this many ticks without operations on, a stretch is long. */
#define LONG_STRETCH_TICKS (UINT64_C(1) << 24)

/* A stretch that is driven wakeup by wakeup. */
struct long_stretch {
    uint64_t from;
    uint64_t to;
    uint64_t begun_ns;
    uint64_t rounds;
};

/* Give the replay up if, at the pace so far, the stretch would take longer than the check may. The
 * timed passes only repeat the check. */
static inline void keep_pace(struct replay *replay, struct long_stretch *stretch)
{
    enum { LOOK_EVERY = 1 << 20 };
    if (replay->oracle == NULL || stretch->rounds++ % LOOK_EVERY != 0) {
        return;
    }
    if (stretch->rounds == 1) {
        stretch->from = replay->now;
        stretch->begun_ns = clock_now_ns();
        return;
    }
    double seconds = (double)(clock_now_ns() - stretch->begun_ns) / 1e9;
    double whole =
        seconds * ((double)(stretch->to - stretch->from) / (double)(replay->now - stretch->from));
    double patience = replay->request->patience_seconds;
    if (patience > 0 && whole > patience) {
        replay_give_up(replay, stretch->from, stretch->to, whole);
    }
}

/* pass_time over a long stretch. A loop that wakes up at every tick does so even if nothing is
 * pending; such wakeups are counted without an advance. */
static __attribute__((noinline)) void pass_long(struct replay *replay, uint64_t tick,
                                                advance_fn *advance)
{
    struct long_stretch stretch = {.to = tick};
    uint64_t fired = 1;
    while (replay->now < tick && replay->refused == TL_OK) {
        if (!replay->use_next && fired > 0 && replay->algo->count(replay->self) == 0) {
            uint64_t ticks = tick - replay->now;
            replay->wakeups += ticks;
            replay->idle_wakeups += ticks;
            replay->result->empty_ticks += ticks;
            (void)drive_to(replay, tick, advance);
            return;
        }
        uint64_t wake = next_round(replay);
        if (wake > tick) {
            return;
        }
        fired = drive_to(replay, wake, advance);
        replay->wakeups++;
        replay->idle_wakeups += fired == 0;
        keep_pace(replay, &stretch);
    }
}

/* Sync, as the contract requires before waiting for `next`. */
static inline void sync_before_wait(struct replay *replay)
{
    uint64_t durable_sequence;
    enum tl_status status = replay->algo->sync(replay->self, &durable_sequence);
    if (status != TL_OK) {
        replay_refuse(replay, replay->next_event, 0, status);
    } else if (replay->oracle != NULL) {
        replay_look_what_is_durable(replay, replay->now);
    }
}

/* pass_time for loops that are not plain; not inlined, to keep the plain ones small. */
static __attribute__((noinline)) void pass_paced(struct replay *replay, uint64_t tick, bool comes,
                                                 advance_fn *advance)
{
    const struct replay_drive *drive = &replay->request->drive;
    struct long_stretch stretch = {.to = tick};
    while (replay->now < tick && replay->refused == TL_OK) {
        if (replay->syncs) {
            sync_before_wait(replay);
        }
        uint64_t wake = next_round(replay);
        if (wake > tick) {
            break;
        }
        if (replay->slack != NULL && replay->recorder != NULL) {
            tape_record_outside(replay->recorder, TAPE_WAKEUP, wake, 0);
        }
        uint64_t fired = round_to(replay, wake, advance);
        replay->wakeups++;
        replay->idle_wakeups += fired == 0;
        replay->used_up = fired >= replay->budget;
        keep_pace(replay, &stretch);
    }
    if (comes && drive->kind != DRIVE_POLL && replay->now < tick &&
        drive_awake(drive, replay->header->end_tick, tick) == tick &&
        (replay->service == NULL || service_free(replay->service) <= tick)) {
        replay->used_up = round_to(replay, tick, advance) >= replay->budget;
    }
}

/* Let time pass up to `tick`, with all wakeups; if something `comes` there, move the clock to it.
 * Return whether the last call was an advance. */
static inline __attribute__((always_inline)) bool pass_time(struct replay *replay, uint64_t tick,
                                                            bool comes, advance_fn *advance)
{
    bool moves;
    if (__builtin_expect(replay->paced, false)) {
        pass_paced(replay, tick, comes, advance);
        return false;
    }
    if (__builtin_expect(tick > replay->now && tick - replay->now > LONG_STRETCH_TICKS, false)) {
        pass_long(replay, tick, advance);
        if (!replay->use_next || replay->refused != TL_OK) {
            return true;
        }
    }
    if (replay->use_next) {
        /* At the tick itself nothing more can happen: no need to ask. */
        while (replay->now < tick) {
            uint64_t wake = replay->algo->next(replay->self);
            /* Already due: the loop continues at the next tick. */
            wake = wake > replay->now ? wake : replay->now + 1;
            if (wake > tick) {
                break;
            }
            replay->wakeups++;
            replay->idle_wakeups += drive_to(replay, wake, advance) == 0;
        }
        moves = comes && replay->now < tick;
        if (moves) {
            (void)drive_to(replay, tick, advance);
        }
    } else {
        moves = replay->now < tick;
        for (uint64_t now = replay->now; now < tick;) {
            replay->wakeups++;
            replay->idle_wakeups += drive_to(replay, ++now, advance) == 0;
        }
    }
    return moves;
}

#endif
