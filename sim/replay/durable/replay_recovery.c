/* Durable structures: when their operations become durable, and the end of the recovery pass. */
#include "clock.h"
#include "replay_pass.h"

#include <inttypes.h>
#include <stdio.h>

void replay_look_what_is_durable(struct replay *replay, uint64_t tick)
{
    struct tl_durability durability;
    if (!replay_is_durable(replay->algo) || replay->draining) {
        return;
    }
    replay->algo->durability(replay->self, &durability);
    acknowledged_look(&replay->acknowledged, tick, &durability);
}

static void adopted(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct replay *replay = ctx;
    (void)id;
    (void)deadline;
    (void)generation;
    replay->adopted++;
}

static void report_failure(struct replay *replay, const char *call, enum tl_status status)
{
    struct tl_durability durability = {0};
    replay->algo->durability(replay->self, &durability);
    replay_end(replay, REPLAY_FAULT, "%s: %s", call,
               durability.failure != NULL ? durability.failure : tl_status_text(status));
}

void recovery_finish(struct replay *replay)
{
    struct replay_result *result = replay->result;
    uint64_t pending = replay->algo->count(replay->self);
    uint64_t durable_sequence;
    enum tl_status status = replay->algo->sync(replay->self, &durable_sequence);
    if (status != TL_OK) {
        report_failure(replay, "sync at the end tick", status);
        return;
    }
    replay->algo->destroy(replay->self);
    uint64_t begun_ns = clock_now_ns();
    if (!replay_create(replay)) {
        return;
    }
    status = replay->algo->recover(replay->self, adopted, replay);
    result->recovery_ns = clock_now_ns() - begun_ns;
    result->recovered = replay->adopted;
    if (status != TL_OK) {
        report_failure(replay, "recover after the end tick", status);
    } else if (replay->adopted != pending || replay->algo->count(replay->self) != pending) {
        replay_end(replay, REPLAY_FAULT,
                   "%" PRIu64 " timers were pending and synced at the end tick; it brought back "
                   "%" PRIu64 ", and counts %" PRIu64,
                   pending, replay->adopted, replay->algo->count(replay->self));
    }
}
