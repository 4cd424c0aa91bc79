/*
 * replay_drive.h: when a pass advances its structure: the drive, as replay.h tells it. The passes
 * differ in what surrounds an advance: `advance` is a constant in every caller, so that each pass's
 * loop holds its own work only.
 */
#ifndef SIM_REPLAY_DRIVE_H
#define SIM_REPLAY_DRIVE_H

#include "clock.h"
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

/* The same of a loop that is not plain. */
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

/* When a loop that is not plain comes round next by itself. */
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
        wake = latest > wake ? latest : wake; /* a late structure has nothing to do before */
    }
    return wake == TL_NEVER ? wake : drive_awake(drive, end_tick, wake > soonest ? wake : soonest);
}

/* So many ticks in which nothing comes are a long stretch: some, with a clock of years. */
#define LONG_STRETCH_TICKS (UINT64_C(1) << 24)

/* A stretch that is driven round by round. */
struct long_stretch {
    uint64_t from;
    uint64_t to;
    uint64_t begun_ns;
    uint64_t rounds;
};

/* After a round: gives the replay up where, at the pace so far, the stretch would take longer than
 * the check may. The timed passes have no need to: what they do the check has done. */
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

/* As pass_time does it, over a long stretch. A loop that comes round at every tick does so whether
 * anything is pending or not; where nothing is, its rounds are counted, and not made. */
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

/* As the contract asks of who is about to wait for `next`. */
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

/* As pass_time does it, for all that is not plain. Not in the way of what is. */
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

/* Lets time pass up to `tick`, with every wakeup on the way; if something `comes` there, the clock
 * is moved to it. True if the last that was done is an advance. */
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
