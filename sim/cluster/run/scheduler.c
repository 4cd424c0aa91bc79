/* A scheduler: makes ready what is due, and again what has outrun its lease. Several race for each
 * tick; who loses sleeps. Nothing rests on it being there: what it leaves, another takes. */
#include "part.h"

#include "clock.h"

enum { REAP_EVERY = 4 };

static void between(void *part)
{
    part_point(part);
}

/* False: it cannot go on, or it is over. *idle: there was nothing to do. */
static bool turn(struct part *part, uint32_t which, bool reap, uint64_t *version, bool *idle)
{
    const struct engine_kind *kind = part->plan->engine;
    struct engine *engine = part_engine(part, which);
    if (engine == NULL) {
        return false;
    }
    int64_t moved = 0;
    uint64_t reaped = 0;
    part_point(part);
    uint64_t begun_ns = clock_now_ns();
    uint64_t now_ms = part_now_ms(part->shared, part->plan);
    enum part_go go = part_judge(part, which,
                                 kind->advance(engine, now_ms, ENGINE_BATCH_MAX, version, &moved,
                                               between, part, &part->error));
    if (go == PART_DONE) {
        part_store_took(part, moved > 0 ? TIME_CLAIM : TIME_IDLE, begun_ns);
    }
    part_point(part);
    if (go == PART_DONE && reap) {
        go = part_judge(part, which,
                        kind->reap(engine, now_ms, ENGINE_BATCH_MAX, &reaped, &part->error));
        part_point(part);
    }
    *idle = *idle && go == PART_DONE && moved <= 0 && reaped == 0;
    return go != PART_END;
}

bool part_schedule(struct part *part)
{
    uint64_t versions[RUN_ENGINES_MAX] = {0};
    uint64_t reaped_ns = clock_now_ns();
    for (uint64_t i = 0; !part_is_over(part); i++) {
        bool idle = true;
        uint64_t begun_ns = clock_now_ns();
        if (i % REAP_EVERY == 0) {
            part_took(part, TIME_REAP, reaped_ns);
            reaped_ns = begun_ns;
        }
        for (uint32_t which = 0; which < part->plan->engines; which++) {
            if (!turn(part, which, i % REAP_EVERY == 0, &versions[which], &idle)) {
                return part_is_over(part);
            }
        }
        if (idle) {
            part_rest(part);
            part_took(part, TIME_LOOK, begun_ns);
        }
    }
    return true;
}
