/* The throughput pass: only the structure's calls between two readings of the clock. The recovery
 * pass is the same up to its end. */
#include "replay_steps.h"

#include "memory.h"

#include <stdlib.h>

static void fired_untimed(void *ctx, uint32_t id, uint64_t now)
{
    play_fired(ctx, id, now, play_inside);
}

static void open_throughput(struct replay *replay)
{
    replay->step_room = memory_bytes(STEPS_MAX);
    replay->fire = replay->player != NULL ? fired_untimed : tally_fired;
}

static inline __attribute__((always_inline)) uint64_t advance_untimed(struct replay *replay,
                                                                      uint64_t tick)
{
    return replay->algo->advance(replay->self, tick, replay->budget, replay->fire, replay);
}

/* Not inlined: it has many callers. */
static __attribute__((noinline)) void pass_time_untimed(struct replay *replay, uint64_t tick)
{
    (void)pass_time(replay, tick, true, advance_untimed);
}

static void pass_rest_untimed(struct replay *replay, uint64_t tick, bool comes)
{
    (void)pass_time(replay, tick, comes, advance_untimed);
}

static inline uint64_t let_pass_untimed(struct replay *replay, const struct trace_group *group)
{
    pass_time_untimed(replay, group->tick);
    return 0; /* no operation is timed */
}

static bool apply_untimed(struct replay *replay, size_t from, size_t to)
{
    (void)to; /* the steps say how far */
    return apply_steps(replay, from, let_pass_untimed, false);
}

static void close_throughput(struct replay *replay)
{
    free(replay->step_room);
}

const struct pass throughput_pass = {
    .open = open_throughput,
    .apply = apply_untimed,
    .pass_rest = pass_rest_untimed,
    .close = close_throughput,
};

const struct pass recovery_pass = {
    .open = open_throughput,
    .apply = apply_untimed,
    .pass_rest = pass_rest_untimed,
    .finish = recovery_finish,
    .close = close_throughput,
};
