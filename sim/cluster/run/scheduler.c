/*
 * A scheduler: does the steps of its protocol's row in order, and makes timers with an expired
 * lease ready. Between two steps it may be killed, with the timers that it holds.
 */
#include "part.h"

#include <stdlib.h>

enum { REAP_EVERY = 4 };

/* One round through the steps. */
struct schedule_round {
    struct part *part;
    const char *clock; /* of a seed's pass */
    uint64_t now_ms;
    uint64_t *version;
    uint64_t tick; /* that was won */
    uint64_t ids;
    struct engine_timer *timers; /* in hand */
    size_t count;
    int64_t moved;
    bool ends; /* there is no more to do */
};

/* Say a word of the timers in hand, in batches. */
static enum engine_end say_held(struct schedule_round *round, struct engine *engine,
                                enum engine_word word)
{
    char answers[ENGINE_BATCH_MAX];
    enum engine_end end = ENGINE_OK;
    for (size_t at = 0; at < round->count && end == ENGINE_OK; at += ENGINE_BATCH_MAX) {
        size_t left = round->count - at;
        end = round->part->plan->engine->say(engine, word, round->timers + at,
                                             left < ENGINE_BATCH_MAX ? left : ENGINE_BATCH_MAX,
                                             answers, &round->part->error);
        part_point(round->part);
    }
    return end;
}

/* Partition by partition, beginning with one of its own, so that schedulers are apart. */
static enum engine_end claim_parts(struct schedule_round *round, struct engine *engine, int node)
{
    const struct engine_plan *plan = &round->part->plan->steps;
    enum engine_end end = ENGINE_OK;
    for (uint32_t i = 0; i < plan->partitions && end == ENGINE_OK; i++) {
        int64_t moved = 0;
        const struct engine_claim claim = {.now_ms = round->now_ms,
                                           .partition =
                                               (round->part->member + i) % plan->partitions,
                                           .node = node};
        if (node >= 0 && (round->ids >> claim.partition % plan->ids & 1) == 0) {
            continue;
        }
        end = round->part->plan->engine->claim(engine, &claim, NULL, &moved, &round->part->error);
        round->moved += moved > 0 ? moved : 0;
        part_point(round->part);
    }
    return end;
}

static enum engine_end load_lists(struct schedule_round *round, struct engine *engine)
{
    enum engine_end end = ENGINE_OK;
    for (int64_t moved = 0; moved >= 0 && end == ENGINE_OK;) {
        end = round->part->plan->engine->step(engine, STEP_LOAD, round->now_ms, 0, &moved,
                                              &round->part->error);
        round->moved += moved > 0 ? moved : 0;
        part_point(round->part);
    }
    return end;
}

static enum engine_end do_step(struct schedule_round *round, struct engine *engine,
                               enum cluster_step step)
{
    struct part *part = round->part;
    const struct engine_kind *kind = part->plan->engine;
    const struct engine_plan *plan = &part->plan->steps;
    const struct engine_claim all = {.now_ms = round->now_ms, .node = -1};
    enum engine_end end;
    int64_t state = 0;
    switch (step) {
    case CLUSTER_MOVE_CLOCK:
        end = kind->move_clock(engine, round->clock, round->now_ms / plan->tick_ms, round->version,
                               &state, &round->tick, &part->error);
        round->ends = state < 0;
        return end;
    case CLUSTER_FETCH:
        end = kind->fetch(engine, round->tick, round->now_ms, &round->timers, &round->count,
                          &part->error);
        round->moved = (int64_t)round->count;
        round->ends = end == ENGINE_OK && round->count == 0;
        return end;
    case CLUSTER_REMOVE:
        return say_held(round, engine, SAY_ACK);
    case CLUSTER_PUSH:
        return say_held(round, engine, SAY_NACK);
    case CLUSTER_CLAIM:
        return kind->claim(engine, &all, round->version, &round->moved, &part->error);
    case CLUSTER_CLAIM_PART:
        return claim_parts(round, engine, -1);
    case CLUSTER_HAND_OUT:
        end = kind->step(engine, STEP_HAND_OUT, round->now_ms, 0, &state, &part->error);
        round->ends = end == ENGINE_OK && state == 0;
        return end;
    case CLUSTER_LOAD:
        return load_lists(round, engine);
    case CLUSTER_JOIN:
        end = kind->step(engine, STEP_JOIN, round->now_ms, part->member, &state, &part->error);
        round->ids = (uint64_t)state;
        return end;
    default: /* CLUSTER_CLAIM_OWN: others were refused */
        return claim_parts(round, engine, part->member);
    }
}

/* False: it cannot go on, or it is over. A step that is cut off by a broken connection is done
 * again, by the next connection; but the first one, with which nothing is in hand yet. */
static bool do_steps(struct schedule_round *round)
{
    const enum cluster_step *steps = round->part->plan->protocol->schedule;
    enum part_go go = PART_DONE;
    for (size_t i = 0; steps[i] != CLUSTER_END && go == PART_DONE && !round->ends; i++) {
        do {
            struct engine *engine = part_engine(round->part);
            if (engine == NULL) {
                go = PART_END;
                break;
            }
            part_point(round->part);
            go = part_judge(round->part, do_step(round, engine, steps[i]));
        } while (go == PART_AGAIN && i > 0);
        part_point(round->part);
    }
    free(round->timers);
    return go != PART_END;
}

/* *idle: there was nothing to do. */
static bool schedule_turn(struct part *part, bool reap, uint64_t *version, bool *idle)
{
    struct schedule_round round = {.part = part,
                                   .clock = "clk",
                                   .now_ms = part_now_ms(part->shared, part->plan),
                                   .version = version};
    int64_t reaped = 0;
    enum part_go go = PART_DONE;
    if (!do_steps(&round)) {
        return false;
    }
    struct engine *engine = reap && !part->plan->steps.is_seed ? part_engine(part) : NULL;
    if (engine != NULL) {
        go = part_judge(part, part->plan->engine->step(engine, STEP_REAP, round.now_ms, 0, &reaped,
                                                       &part->error));
        part_point(part);
    }
    *idle = *idle && go == PART_DONE && round.moved <= 0 && reaped == 0;
    return go != PART_END;
}

/* The seed's second pass: the same steps with a clock of its own, which is later. */
static bool scan_turn(struct part *part, uint64_t *version)
{
    uint64_t now_ms = part_now_ms(part->shared, part->plan);
    uint64_t behind_ms = part->plan->scan_ms;
    struct schedule_round round = {
        .part = part, .clock = "scn", .now_ms = now_ms - behind_ms, .version = version};
    return behind_ms == 0 || now_ms < behind_ms || do_steps(&round);
}

bool part_schedule(struct part *part)
{
    uint64_t version = 0;
    uint64_t scanned = 0;
    for (uint64_t i = 0; !part_is_over(part); i++) {
        bool idle = true;
        bool reap = i % REAP_EVERY == 0;
        if (!schedule_turn(part, reap, &version, &idle) || (reap && !scan_turn(part, &scanned))) {
            return part_is_over(part);
        }
        if (idle) {
            part_rest(part);
        }
    }
    return true;
}
