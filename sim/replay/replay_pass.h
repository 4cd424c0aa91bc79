/*
 * replay_pass.h: a running pass, shared by replay.c, which runs it from the trace's first block to
 * its end, and the kinds of pass, each in its own file.
 */
#ifndef SIM_REPLAY_PASS_H
#define SIM_REPLAY_PASS_H

#include "clock.h"
#include "closed_loop.h"
#include "replay.h"
#include "tape.h"

#include <inttypes.h>

/* Count and digest of the expiries. */
struct tally {
    uint64_t fired;
    uint64_t digest;
};

/* The queue of the server that response times are computed for (replay.h). Zeroed but for tick_ns
 * at the beginning. */
struct schedule {
    double tick_ns;
    double due_tick;   /* when the last caller arrived */
    double backlog_ns; /* the work waiting then, the last caller's included */
};

/* Return the response time of a call that arrives at `due_tick` and is served for `service_ns`. One
 * that arrives before the last caller counts as arriving with it. */
static inline double schedule_respond(struct schedule *schedule, double due_tick, double service_ns)
{
    double passed_ns = (due_tick - schedule->due_tick) * schedule->tick_ns;
    if (passed_ns > 0) {
        schedule->backlog_ns -= passed_ns < schedule->backlog_ns ? passed_ns : schedule->backlog_ns;
        schedule->due_tick = due_tick;
    }
    schedule->backlog_ns += service_ns;
    return schedule->backlog_ns;
}

/* --- when operations become durable ---------------------------------------------------------- */

/* The sequence numbers that one tick gave, from `first`. */
struct acknowledged_tick {
    uint64_t first;
    uint64_t tick;
};

/* The ticks until an operation or expiry is durable, that is until the durable sequence has passed
 * its number. Zeroed at the beginning. */
struct acknowledged {
    struct acknowledged_tick *waiting; /* a queue, from `begin` to `end` */
    uint32_t room;
    uint32_t begin;
    uint32_t end;
    uint64_t seen; /* the last sequence number */
    uint64_t max_ticks;
};

/* Record the sequence at `tick`: once after each tick's advance, and once after its operations. */
void acknowledged_look(struct acknowledged *acknowledged, uint64_t tick,
                       const struct tl_durability *durability);

/* Count the operations that are not durable yet up to `tick`. */
void acknowledged_finish(struct acknowledged *acknowledged, uint64_t tick);

void acknowledged_release(struct acknowledged *acknowledged);

/* --- a pass ---------------------------------------------------------------------------------- */

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
    tl_fire_fn fire;                  /* of the throughput pass; its ctx is this */
    const struct tape_inside *inside; /* the next reaction in a callback */
    uint32_t firing;                  /* number of the next expiry in the section */
    bool strayed;                     /* it fired other timers than the tape says */
    uint64_t wakeups;
    uint64_t idle_wakeups;
    bool refused; /* the structure refused an operation, or is given up; the result says so */
    bool in_window;
    bool window_over;

    const struct stream_block *block; /* the running one */
    const uint64_t *arrived;          /* as in made_block; NULL: the ticks of the trace */
    struct step_codes steps;          /* timed passes: the running stretch */
    uint8_t *step_room;               /* memory for them, if the stream has none */
    size_t step_capacity;
    uint64_t begun_ns; /* of the running stretch */
    uint64_t begun_processor_ns;

    /* check */
    struct oracle *oracle;
    struct closed_loop *loop; /* NULL: the trace has no reactions */
    struct tape_head *recorder;
    struct acknowledged acknowledged; /* of a durable structure */
    struct tally named;               /* the expiries by the timers' names, if any */
    size_t reaction;                  /* of the running stretch: the check wakes up */
    size_t reaction_end;              /* at their ticks, for early structures */
    bool draining;

    uint64_t adopted; /* recovery: timers brought back so far */

    /* latency */
    uint64_t last_cycles;    /* the last reading of the counter */
    uint32_t *op_cycles;     /* of each record of the block */
    uint32_t *inside_cycles; /* of each reaction in a callback of the section */
    size_t op_capacity;
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
    struct tape_head *player;
    const struct tape_section *section; /* of the running stretch */
    struct made_block executed;
    struct tape_section all; /* for a structure that fires nothing: the stretch's reactions */
    bool may_be_early;

    struct made_block received;
    struct service *service; /* NULL: callbacks take no time */
    /* Of the check: when a loop that uses its timers' slack must wake up, at the earliest sum of
     * deadline and slack among the pending timers. The tape has the wakeups. */
    const struct tl_algo *slack_heap; /* NULL: not used */
    void *slack;

    bool broken; /* the replay cannot go on; `error` is set */
    struct error *error;
    const struct replay_request *request;
    struct replay_drive drive;
    const struct pass *pass;
    struct replay_result *result;
    struct trace_header header; /* the stream's, or that of the whole of a partition */
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
    /* Call after groups were applied, untimed. May be NULL. */
    void (*file)(struct replay *replay);
    /* Call when a section of the tape begins. May be NULL. */
    void (*section)(struct replay *replay);
    /* Call after the last operation of the trace. May be NULL. */
    void (*finish)(struct replay *replay);
    /* Free the memory of open, if that was called. May be NULL. */
    void (*close)(struct replay *replay);
};

extern const struct pass check_pass;
extern const struct pass throughput_pass;
extern const struct pass latency_pass;
extern const struct pass recovery_pass;

/* Create the structure for all timers of the trace, at the replay's clock. False: the result has
 * the reason. */
bool replay_create(struct replay *replay);

/* Equal sets of (id, tick) give equal sums in any order. */
static inline void tally_add(struct tally *tally, uint64_t id, uint64_t now)
{
    uint64_t mixed = (now * UINT64_C(0x9e3779b97f4a7c15)) ^ id;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    tally->fired++;
    tally->digest += mixed ^ (mixed >> 31);
}

/* In the check: record the durable sequence at `tick`. */
void check_durable(struct replay *replay, uint64_t tick);

/* Report that the structure refused an operation: its number in the trace, and its deadline. */
void replay_refuse(struct replay *replay, uint64_t event, uint64_t deadline, enum tl_status status);

/* End the pass with a status and its reason. */
void replay_end(struct replay *replay, enum replay_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- time ------------------------------------------------------------------------------------- */

/* The advances of a pass, by its polling policy. `advance` is a constant in every caller, so that
 * each pass has a loop of its own. */

/* Move the clock to `tick` and advance the structure; return the number of expiries. */
typedef uint64_t advance_fn(struct replay *replay, uint64_t tick);

/* Advance in a loop with callbacks that may take time. */
static inline __attribute__((always_inline)) uint64_t round_to(struct replay *replay, uint64_t tick,
                                                               advance_fn *advance)
{
    uint64_t fired = advance(replay, tick);
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
    const struct replay_drive *drive = &replay->drive;
    uint64_t soonest = replay->service != NULL ? service_free(replay->service) : replay->now + 1;
    if (drive->kind == DRIVE_POLL && !replay->used_up) {
        return service_chance(replay->service, drive, replay->now + 1);
    }
    if (drive->kind == DRIVE_SLACK && replay->slack_heap == NULL) {
        return TL_NEVER;
    }
    uint64_t wake = replay->use_next ? replay->algo->next(replay->self) : soonest;
    if (replay->slack_heap != NULL && !replay->used_up) {
        uint64_t latest = replay->slack_heap->next(replay->slack);
        wake = latest > wake ? latest : wake; /* a late structure has no work before */
    }
    return wake == TL_NEVER ? wake : drive_awake(drive, wake > soonest ? wake : soonest);
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
        replay->refused = true;
        replay_end(replay, REPLAY_UNSUPPORTED,
                   "from tick %" PRIu64 " on %" PRIu64
                   " ticks in which nothing comes are to be driven while timers are pending, "
                   "%.0f s a pass, where --timeout allows %.0f%s",
                   stretch->from, stretch->to - stretch->from, whole, patience,
                   replay->use_next ? "" : "; it has no `next` to sleep by");
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
        check_durable(replay, replay->now);
    }
}

/* Count the wakeups up to `tick` of a loop that wakes up at every tick even if nothing is pending,
 * without an advance at each. */
static inline void skip_to(struct replay *replay, uint64_t tick, advance_fn *advance)
{
    uint64_t ticks = tick - replay->now;
    replay->wakeups += ticks;
    replay->idle_wakeups += ticks;
    replay->result->empty_ticks += ticks;
    (void)advance(replay, tick);
}

/* pass_time for loops that are not plain, and over long stretches; not inlined, to keep the plain
 * loops small. */
static __attribute__((noinline)) void pass_rounds(struct replay *replay, uint64_t tick, bool comes,
                                                  advance_fn *advance)
{
    const struct replay_drive *drive = &replay->drive;
    struct long_stretch stretch = {.to = tick};
    uint64_t fired = 1;
    while (replay->now < tick && !replay->refused) {
        if (!replay->paced && !replay->use_next && fired > 0 &&
            replay->algo->count(replay->self) == 0) {
            skip_to(replay, tick, advance);
            return;
        }
        if (replay->syncs) {
            sync_before_wait(replay);
        }
        uint64_t wake = next_round(replay);
        if (wake > tick) {
            break;
        }
        if (replay->slack_heap != NULL) {
            tape_record_outside(replay->recorder, TAPE_WAKEUP, wake, 0);
        }
        fired = round_to(replay, wake, advance);
        replay->wakeups++;
        replay->idle_wakeups += fired == 0;
        replay->used_up = fired >= replay->budget;
        keep_pace(replay, &stretch);
    }
    if (replay->paced && comes && drive->kind != DRIVE_POLL && replay->now < tick &&
        drive_awake(drive, tick) == tick &&
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
    if (__builtin_expect(replay->paced || tick > replay->now + LONG_STRETCH_TICKS, false)) {
        pass_rounds(replay, tick, comes, advance);
        if (replay->paced || replay->refused || !replay->use_next) {
            return !replay->paced;
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
            replay->idle_wakeups += advance(replay, wake) == 0;
        }
        moves = comes && replay->now < tick;
        if (moves) {
            (void)advance(replay, tick);
        }
    } else {
        moves = replay->now < tick;
        for (uint64_t now = replay->now; now < tick;) {
            replay->wakeups++;
            replay->idle_wakeups += advance(replay, ++now) == 0;
        }
    }
    return moves;
}

#endif
