/*
 * replay_pass.h: a pass under way, between replay.c, which takes it from the trace's first block to
 * its end, and the kinds of pass, each in a file of its own.
 */
#ifndef SIM_REPLAY_PASS_H
#define SIM_REPLAY_PASS_H

#include "acknowledged.h"
#include "arrivals.h"
#include "closed_loop.h"
#include "executed.h"
#include "replay.h"
#include "schedule.h"
#include "service.h"
#include "slack.h"
#include "stream.h"

/* What has fired, as the callback of the timed passes sees it. */
struct tally {
    uint64_t fired;
    uint64_t digest;
};

/* One advance that has been timed. */
struct timed_advance {
    uint64_t tick;
    uint32_t cycles;
    uint32_t fired;
    uint32_t reactions; /* carried out in its callbacks, whose time is not its own */
    uint64_t busy_ns;   /* what its callbacks take by the drive */
};

/* The state of a pass. What the inner loops touch comes first. */
struct replay {
    const struct tl_algo *algo;
    void *self;
    uint64_t now; /* tick of the last advance */
    bool use_next;
    bool plain;      /* the drive is */
    bool syncs;      /* before it waits for `next` */
    bool paced;      /* it syncs, or the drive is not plain */
    bool used_up;    /* the last advance fired as many as its budget allows */
    uint64_t budget; /* of each advance; TL_NO_BUDGET: none */
    struct tally tally;
    tl_fire_fn fire;                  /* the callback of the timed passes; its ctx is this */
    const struct tape_inside *inside; /* the next reaction in a callback */
    uint32_t firing;                  /* in the section, so far */
    bool strayed;                     /* it did otherwise than the tape says */
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t refused_event; /* the operation that start refused */
    uint64_t refused_deadline;
    enum tl_status refused; /* TL_OK: none was */
    bool in_window;         /* the window has begun, and is not over */
    bool window_over;

    const struct stream_block *block; /* the running one */
    const uint64_t *arrived; /* as in executed.h; NULL: its operations came at their ticks */
    struct step_codes steps; /* throughput, latency: the running stretch; */
    uint8_t *step_room;      /* where they are made, if they are not yet */

    /* check */
    struct oracle *oracle;
    struct closed_loop *loop; /* NULL: all operations of the trace come at their ticks */
    struct tape_recorder *recorder;
    struct acknowledged acknowledged; /* of a durable structure */
    struct tally named;               /* what has fired, by its names, where it has any */
    size_t reaction;                  /* of the stream, in the running stretch: at the ticks of */
    size_t reaction_end;              /* these the loop comes round for early structures */
    bool draining;

    uint64_t adopted; /* recovery: timers brought back so far */

    /* latency */
    uint64_t last_cycles;    /* the last reading of the clock */
    uint32_t *op_cycles;     /* one for each record of a block */
    uint32_t *inside_cycles; /* one for each reaction in a callback of the section */
    size_t inside_capacity;
    uint64_t inside_sum_cycles;     /* in the running advance */
    size_t inside_filed;            /* reactions of the section that have been filed */
    uint64_t *due;                  /* by id: when an exact structure fires it; 0: not pending */
    struct timed_advance *advances; /* that are not filed yet */
    size_t advance_count;
    size_t advance_capacity;
    size_t groups_filed; /* groups of the block below this have been filed, */
    size_t groups_done;  /* below this applied */
    uint64_t next_event; /* the number of the first operation not applied */
    double ns_per_cycle;
    uint64_t window_tick;     /* where the window began */
    struct schedule schedule; /* in ticks after that */

    /* Of the passes that play a tape. */
    struct tape_player *player;
    const struct tape_section *section; /* of the running stretch */
    struct executed *executed;
    struct tape_section all; /* of a structure that fires nothing: the stretch's reactions */
    size_t all_capacity;
    bool may_be_early;

    struct arrivals *arrivals; /* NULL: there are no pauses */
    struct service *service;   /* NULL: callbacks take no time */
    struct slack *slack;       /* of the check: its rounds are on the tape; NULL: not used */

    bool broken; /* the replay itself cannot go on: `error` is set */
    struct error *error;
    const struct replay_request *request;
    struct replay_result *result;
    struct trace_header header_told; /* the stream's, or as it is of a share */
    const struct trace_header *header;
    struct tl_memory memory;
};

/* What the kinds of pass do differently. */
struct pass {
    /* Makes what the pass needs beside the structure. */
    void (*open)(struct replay *replay);
    /* Applies groups [from, to) of the running block; in the window, between two readings of the
     * clock. False if the structure refused an operation. */
    bool (*apply)(struct replay *replay, size_t from, size_t to);
    /* Lets time pass behind the last operation, up to `tick`, with none before it, and if something
     * `comes` there, the clock to it. */
    void (*pass_rest)(struct replay *replay, uint64_t tick, bool comes);
    /* After groups [from, to) were applied, inside the window or outside, with no clock running;
     * with none, at the end of a section of the tape. NULL: there is nothing to be done. */
    void (*file)(struct replay *replay, size_t from, size_t to);
    /* A section of the tape begins; NULL as above. */
    void (*section)(struct replay *replay);
    /* After the last operation of a trace that was taken whole; NULL as above. */
    void (*finish)(struct replay *replay);
    /* Frees what open made, if it was called. */
    void (*close)(struct replay *replay);
};

extern const struct pass check_pass;
extern const struct pass throughput_pass;
extern const struct pass latency_pass;
extern const struct pass recovery_pass;

/* Brings back what the structure's folder holds, and times it. */
void recovery_finish(struct replay *replay);

/* The tick at which an operation comes that stands at `tick` in the trace. */
static inline uint64_t replay_comes_at(const struct replay *replay, uint64_t tick)
{
    return replay->arrivals == NULL
               ? tick
               : drive_awake(&replay->request->drive, replay->header->end_tick, tick);
}

/* Makes the structure, for all the trace's timers, with the replay's clock. False: it cannot be
 * had, and the result says why. */
bool replay_create(struct replay *replay);

/* In the check: notes what has become durable by that tick. */
void replay_look_what_is_durable(struct replay *replay, uint64_t tick);

/* Equal sets of (id, tick) give equal sums, whatever the order. */
static inline void tally_add(struct tally *tally, uint64_t id, uint64_t now)
{
    uint64_t mixed = (now * UINT64_C(0x9e3779b97f4a7c15)) ^ id;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    tally->fired++;
    tally->digest += mixed ^ (mixed >> 31);
}

/* The callback that does nothing else; `ctx` is the replay. */
void tally_fired(void *ctx, uint32_t id, uint64_t now);

/* The callback that plays a tape; `ctx` is the replay. What is to be done with each reaction is a
 * constant in every caller. */
static inline __attribute__((always_inline)) void
play_fired(struct replay *replay, uint32_t id, uint64_t now,
           enum tl_status (*carry)(struct replay *replay, const struct tape_inside *inside))
{
    tally_add(&replay->tally, id, now);
    uint32_t firing = replay->firing++;
    while (__builtin_expect(replay->inside->firing == firing, true)) {
        const struct tape_inside *inside = replay->inside++;
        replay->strayed |= inside->cause != id || carry(replay, inside) > TL_IDLE;
    }
}

/* Does it. */
static inline __attribute__((always_inline)) enum tl_status
play_inside(struct replay *replay, const struct tape_inside *inside)
{
    return inside->op == TRACE_START
               ? replay->algo->start(replay->self, inside->id, inside->deadline)
               : replay->algo->stop(replay->self, inside->id);
}

/* What the check pass does with a reaction; `ctx` is the replay. */
void check_carry(void *ctx, const struct loop_operation *operation, uint64_t now);

/* Notes the operation that the structure refused: its number in the trace, and its deadline. */
void replay_refuse(struct replay *replay, uint64_t event, uint64_t deadline, enum tl_status status);

/* End the pass with a status, and a sentence why. */
void replay_end(struct replay *replay, enum replay_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives up a stretch of ticks that would take so many seconds. */
void replay_give_up(struct replay *replay, uint64_t from_tick, uint64_t to_tick, double seconds);

#endif
