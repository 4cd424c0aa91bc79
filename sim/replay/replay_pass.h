/*
 * replay_pass.h: a pass under way, between replay.c, which takes it from the trace's first block to
 * its end, and the three kinds of pass, each in a file of its own.
 */
#ifndef SIM_REPLAY_PASS_H
#define SIM_REPLAY_PASS_H

#include "replay.h"
#include "schedule.h"
#include "step_codes.h"
#include "trace.h"

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
};

/* The state of a pass. What the inner loops touch comes first. */
struct replay {
    const struct tl_algo *algo;
    void *self;
    uint64_t now; /* tick of the last advance */
    bool use_next;
    struct tally tally;
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t refused_event; /* the operation that start refused */
    uint64_t refused_deadline;
    enum tl_status refused; /* TL_OK: none was */
    bool in_window;         /* the window has begun, and is not over */
    bool window_over;

    const struct trace_block *block; /* the running one */
    struct step_codes *steps;        /* throughput, latency: the running stretch */

    /* check */
    struct oracle *oracle;
    bool draining;

    /* latency */
    uint64_t last_cycles;           /* the last reading of the clock */
    uint32_t *op_cycles;            /* one for each record of a block */
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

    const struct replay_request *request;
    struct replay_result *result;
    struct trace_reader *reader;
    const struct trace_header *header;
    struct tl_memory memory;
};

/* What the kinds of pass do differently. */
struct pass {
    /* Makes what the pass needs beside the structure. False, with `error` set, if it cannot. */
    bool (*open)(struct replay *replay, struct error *error);
    /* Applies groups [from, to) of the running block; in the window, between two readings of the
     * clock. False if the structure refused an operation. */
    bool (*apply)(struct replay *replay, size_t from, size_t to);
    /* Lets time pass behind the last operation, up to `tick`. */
    void (*pass_rest)(struct replay *replay, uint64_t tick);
    /* After groups [from, to) were applied, inside the window or outside, with no clock running;
     * NULL: there is nothing to be done. */
    void (*file)(struct replay *replay, size_t from, size_t to);
    /* After the last operation of a trace that was taken whole; NULL as above. False, with `error`
     * set, if the replay's own memory does not suffice. */
    bool (*finish)(struct replay *replay, struct error *error);
    /* Frees what open made, whether it could make all of it or not. */
    void (*close)(struct replay *replay);
};

extern const struct pass check_pass;
extern const struct pass throughput_pass;
extern const struct pass latency_pass;

/* Equal sets of (id, tick) give equal sums, whatever the order. */
static inline void tally_add(struct tally *tally, uint32_t id, uint64_t now)
{
    uint64_t mixed = (now * UINT64_C(0x9e3779b97f4a7c15)) ^ id;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    tally->fired++;
    tally->digest += mixed ^ (mixed >> 31);
}

/* The callback of the timed passes; `ctx` is the tally. */
void tally_fired(void *ctx, uint32_t id, uint64_t now);

/* Notes the operation that the structure refused. */
void replay_refuse(struct replay *replay, const struct trace_record *record, enum tl_status status);

#endif
