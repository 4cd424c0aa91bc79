/*
 * replay_pass.h: a running pass, shared by replay.c, which runs it from the trace's first block to
 * its end, and the kinds of pass, each in its own file.
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

/* Count and digest of the expiries. */
struct tally {
    uint64_t fired;
    uint64_t digest;
};

struct timed_advance {
    uint64_t tick;
    uint32_t cycles;
    uint32_t fired;
    uint32_t reactions; /* carried out in its callbacks; their time is not included */
    uint64_t busy_ns;   /* service time of its callbacks by the polling policy */
};

/* The state of a pass. Members of the inner loops come first. */
struct replay {
    const struct tl_algo *algo;
    void *self;
    uint64_t now; /* tick of the last advance */
    bool use_next;
    bool plain;      /* drive_is_plain */
    bool syncs;      /* sync before waiting for `next` */
    bool paced;      /* it syncs, or the policy is not plain */
    bool used_up;    /* the last advance used up its budget */
    uint64_t budget; /* of each advance, or TL_NO_BUDGET */
    struct tally tally;
    tl_fire_fn fire;                  /* of the timed passes; its ctx is this */
    const struct tape_inside *inside; /* the next reaction in a callback */
    uint32_t firing;                  /* number of the next expiry in the section */
    bool strayed;                     /* it fired other timers than the tape says */
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t refused_event; /* the operation that the structure refused */
    uint64_t refused_deadline;
    enum tl_status refused; /* TL_OK: none */
    bool in_window;
    bool window_over;

    const struct stream_block *block; /* the running one */
    const uint64_t *arrived;          /* as in executed.h; NULL: the ticks of the trace */
    struct step_codes steps;          /* timed passes: the running stretch */
    uint8_t *step_room;               /* memory for them, if the stream has none */

    /* check */
    struct oracle *oracle;
    struct closed_loop *loop; /* NULL: the trace has no reactions */
    struct tape_recorder *recorder;
    struct acknowledged acknowledged; /* of a durable structure */
    struct tally named;               /* the expiries by the timers' names, if any */
    size_t reaction;                  /* of the running stretch: the check wakes up */
    size_t reaction_end;              /* at their ticks, for early structures */
    bool draining;

    uint64_t adopted; /* recovery: timers brought back so far */

    /* latency */
    uint64_t last_cycles;    /* the last reading of the counter */
    uint32_t *op_cycles;     /* of each record of a block */
    uint32_t *inside_cycles; /* of each reaction in a callback of the section */
    size_t inside_capacity;
    uint64_t inside_sum_cycles;     /* in the running advance */
    size_t inside_filed;            /* reactions of the section that are filed */
    uint64_t *due;                  /* by id: when an exact structure fires it; 0: not pending */
    struct timed_advance *advances; /* not filed yet */
    size_t advance_count;
    size_t advance_capacity;
    size_t groups_filed; /* of the block: filed below this */
    size_t groups_done;  /* applied below this */
    uint64_t next_event; /* number of the first operation not applied */
    double ns_per_cycle;
    uint64_t window_tick;     /* first tick of the window */
    struct schedule schedule; /* in ticks after that */

    /* Passes that play a tape. */
    struct tape_player *player;
    const struct tape_section *section; /* of the running stretch */
    struct executed *executed;
    struct tape_section all; /* for a structure that fires nothing: the stretch's reactions */
    size_t all_capacity;
    bool may_be_early;

    struct arrivals *arrivals; /* NULL: no pauses */
    struct service *service;   /* NULL: callbacks take no time */
    struct slack *slack;       /* of the check; the tape has its wakeups; NULL: not used */

    bool broken; /* the replay cannot go on; `error` is set */
    struct error *error;
    const struct replay_request *request;
    struct replay_result *result;
    struct trace_header own_header; /* the stream's, or that of the whole of a partition */
    const struct trace_header *header;
    struct tl_memory memory;
};

/* The functions of a kind of pass. Those that may be NULL say so. */
struct pass {
    /* Allocate the pass's own memory. */
    void (*open)(struct replay *replay);
    /* Apply groups [from, to) of the running block, timed inside the window. False if the structure
     * refused an operation. */
    bool (*apply)(struct replay *replay, size_t from, size_t to);
    /* Let time pass after the last operation up to `tick`; if something `comes` there, move the
     * clock to it. */
    void (*pass_rest)(struct replay *replay, uint64_t tick, bool comes);
    /* Call after groups [from, to) were applied, untimed; with none, at the end of a section. May
     * be NULL. */
    void (*file)(struct replay *replay, size_t from, size_t to);
    /* Call when a section of the tape begins. May be NULL. */
    void (*section)(struct replay *replay);
    /* Call after the last operation of the trace. May be NULL. */
    void (*finish)(struct replay *replay);
    /* Free the memory of open, if that was called. */
    void (*close)(struct replay *replay);
};

extern const struct pass check_pass;
extern const struct pass throughput_pass;
extern const struct pass latency_pass;
extern const struct pass recovery_pass;

/* Recover from the structure's folder, and time it. */
void recovery_finish(struct replay *replay);

/* Return the tick at which the loop receives an operation that is at `tick` in the trace. */
static inline uint64_t replay_comes_at(const struct replay *replay, uint64_t tick)
{
    return replay->arrivals == NULL
               ? tick
               : drive_awake(&replay->request->drive, replay->header->end_tick, tick);
}

/* Create the structure for all timers of the trace, at the replay's clock. False: the result has
 * the reason. */
bool replay_create(struct replay *replay);

/* In the check: record the durable sequence at `tick`. */
void replay_look_what_is_durable(struct replay *replay, uint64_t tick);

/* Equal sets of (id, tick) give equal sums in any order. */
static inline void tally_add(struct tally *tally, uint64_t id, uint64_t now)
{
    uint64_t mixed = (now * UINT64_C(0x9e3779b97f4a7c15)) ^ id;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    tally->fired++;
    tally->digest += mixed ^ (mixed >> 31);
}

/* The callback that only counts; `ctx` is the replay. */
void tally_fired(void *ctx, uint32_t id, uint64_t now);

/* The callback that plays a tape. `carry` is a constant in every caller. */
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

static inline __attribute__((always_inline)) enum tl_status
play_inside(struct replay *replay, const struct tape_inside *inside)
{
    return inside->op == TRACE_START
               ? replay->algo->start(replay->self, inside->id, inside->deadline)
               : replay->algo->stop(replay->self, inside->id);
}

/* The check's loop_carry_fn; `ctx` is the replay. */
void check_carry(void *ctx, const struct loop_operation *operation, uint64_t now);

/* Record the operation that the structure refused: its number in the trace, and its deadline. */
void replay_refuse(struct replay *replay, uint64_t event, uint64_t deadline, enum tl_status status);

/* End the pass with a status and its reason. */
void replay_end(struct replay *replay, enum replay_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Give up a stretch of ticks that would take `seconds`. */
void replay_give_up(struct replay *replay, uint64_t from_tick, uint64_t to_tick, double seconds);

#endif
