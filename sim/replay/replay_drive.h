/*
 * replay_drive.h: when a pass advances its structure: the drive, as replay.h tells it. The passes
 * differ in what surrounds an advance: `advance` is a constant in every caller, so that each pass's
 * loop holds its own work only.
 */
#ifndef SIM_REPLAY_DRIVE_H
#define SIM_REPLAY_DRIVE_H

#include "replay_pass.h"

/* Advances the structure to `tick`; returns how many fired. */
typedef uint64_t advance_fn(struct replay *replay, uint64_t tick);

/* One advance, and the clock with it. Returns how many fired. */
static inline __attribute__((always_inline)) uint64_t drive_to(struct replay *replay, uint64_t tick,
                                                               advance_fn *advance)
{
    uint64_t fired = advance(replay, tick);
    replay->now = tick;
    return fired;
}

/* When a loop that is not plain comes round next by itself. */
static inline uint64_t next_round(const struct replay *replay)
{
    const struct replay_drive *drive = &replay->request->drive;
    uint64_t end_tick = replay->header->end_tick;
    uint64_t soonest = replay->now + 1;
    if (drive->kind == DRIVE_POLL && !replay->used_up) {
        return drive_chance(drive, end_tick, soonest);
    }
    uint64_t wake = replay->use_next ? replay->algo->next(replay->self) : soonest;
    return wake == TL_NEVER ? wake : drive_awake(drive, end_tick, wake > soonest ? wake : soonest);
}

/* As pass_time does it, for all that is not plain. Not in the way of what is. */
static __attribute__((noinline)) void pass_paced(struct replay *replay, uint64_t tick, bool comes,
                                                 advance_fn *advance)
{
    const struct replay_drive *drive = &replay->request->drive;
    while (replay->now < tick) {
        uint64_t wake = next_round(replay);
        if (wake > tick) {
            break;
        }
        uint64_t fired = drive_to(replay, wake, advance);
        replay->wakeups++;
        replay->idle_wakeups += fired == 0;
        replay->used_up = fired >= replay->budget;
    }
    if (comes && drive->kind == DRIVE_SLEEP && replay->now < tick &&
        drive_awake(drive, replay->header->end_tick, tick) == tick) {
        replay->used_up = drive_to(replay, tick, advance) >= replay->budget;
    }
}

/* Lets time pass up to `tick`, with every wakeup on the way; if something `comes` there, the clock
 * is moved to it. True if the last that was done is an advance. */
static inline __attribute__((always_inline)) bool pass_time(struct replay *replay, uint64_t tick,
                                                            bool comes, advance_fn *advance)
{
    bool moves;
    if (__builtin_expect(!replay->plain, false)) {
        pass_paced(replay, tick, comes, advance);
        return false;
    }
    if (replay->use_next) {
        /* Once it has come to the tick it need not be asked: nothing more can happen there. */
        while (replay->now < tick) {
            uint64_t wake = replay->algo->next(replay->self);
            /* Due already: the loop comes round at the next tick. */
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
