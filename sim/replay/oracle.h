/*
 * oracle.h: the due tick of each timer, and the check of every expiry.
 *
 * The oracle sees the operations, and the structure's return values and expiries. Its own state is
 * one record per id, without any timer structure: the due tick follows from the last operation
 * alone.
 *
 * due.h defines the due tick and the window. An expiry at tick f has lateness f - due. With the
 * declared precision (early, late) for the timer's delay, these are faults (fault.h):
 *
 *   early       f < due - early
 *   late        f > due + late
 *   lost        not fired at due + late or later, when it is stopped, restarted, or at the end
 *   duplicate   fired though not pending: twice, after a stop, never started
 *   misordered  within one advance, a smaller due tick after a larger one, where order is promised;
 *               or equal due ticks not in the order of their starts, where that is promised
 *   budget      more timers fired in an advance than its budget allows
 *   status      a wrong return value: stop returned idle for a pending timer, or the reverse
 *
 * If the loop does not look at its timers at `due + late`, the first tick after it at which it does
 * counts instead. With a budget, a timer may wait as long as each advance from then on uses up its
 * budget and the next follows at once. With service times the loop does not look while callbacks
 * run; with slack it may look only when the timer has none left. Lateness counts from the due tick
 * in all cases: the part due to the polling policy is in the columns, and is no fault.
 *
 * A stop or restart after the due tick, but within the declared lateness, is legal. If it is
 * external, it cancels an expiry that an exact structure would have performed: `averted`.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "drive.h"
#include "fault.h"
#include "histogram.h"
#include "registry.h"
#include "stream.h"

#include <stdbool.h>
#include <stdint.h>

/* One fault, with its place in the trace. */
struct fault {
    enum fault_kind kind;
    uint64_t id;    /* the timer's name, if oracle_plan has one */
    uint64_t tick;  /* when it was detected */
    uint64_t due;   /* 0 if the timer was not pending */
    uint64_t event; /* the timer's last operation; UINT64_MAX: none */
    char detail[160];
};

#define ORACLE_FAULTS_KEPT 8

/* The result of a check. Plain data. */
struct verdict {
    uint64_t events;
    uint64_t starts;   /* of timers that were not pending */
    uint64_t restarts; /* of timers that were */
    uint64_t stops;
    uint64_t fired;   /* up to the trace's end tick */
    uint64_t drained; /* after it */
    uint64_t averted;
    uint64_t pending;             /* timers that must be */
    struct tl_precision declared; /* the widest of those for the started delays */
    uint64_t faults[FAULT_KINDS];
    uint64_t fault_count; /* of all kinds */
    struct fault first[ORACLE_FAULTS_KEPT];
    int64_t lateness_min;
    int64_t lateness_max;
    struct histogram early_ticks; /* by how much timers fired before their due ticks */
    struct histogram late_ticks;  /* or after; 0 for those on time */
};

struct oracle;

/* The structure to check, with its options, for timers 0 .. ids-1 and the polling policy `drive`.
 * `names`: of the timers in fault reports; NULL: their ids. */
struct oracle_plan {
    const struct tl_algo *algo;
    const void *options;
    uint32_t ids;
    uint64_t events; /* upper bound of the operations; 0: not known */
    const uint64_t *names;
    const struct replay_drive *drive;
    const struct service *service; /* NULL: callbacks take no time */
    const uint32_t *slacks;        /* of each operation, if the loop uses it; otherwise NULL */
};

/* Make an oracle that writes to `verdict`. It, and what `plan` points to, must outlive the
 * oracle. */
struct oracle *oracle_create(const struct oracle_plan *plan, struct verdict *verdict);

/* Harmless on NULL. */
void oracle_destroy(struct oracle *oracle);

/* Call after the structure executed an operation and returned `answer`. */
void oracle_operated(struct oracle *oracle, const struct stream_operation *operation,
                     enum tl_status answer);

/* Call before each advance to tick `now`. `draining`: the trace's end tick has passed. */
void oracle_advancing(struct oracle *oracle, uint64_t now, uint64_t budget, bool draining);

/* Call in the callback. */
void oracle_fired(struct oracle *oracle, uint32_t id, uint64_t now);

/* Prefetch the memory of a timer, for a later operation. */
void oracle_fetch(const struct oracle *oracle, uint32_t id);

/* The ticks at which a pending timer may fire. */
struct due_window {
    uint64_t first;
    uint64_t last;
};

/* Fill `windows`, which must hold at least 2, with the earliest windows that begin at `from` or
 * later, in order; timers with windows from the same tick share one. Return how many; 0:
 * none. */
size_t oracle_due_windows(const struct oracle *oracle, uint64_t from, struct due_window *windows,
                          size_t room);

/* Call at the very end, at tick `now`: pending timers are lost. */
void oracle_finish(struct oracle *oracle, uint64_t now);

/* Return the lateness in ticks (negative: early) that a fraction `share` of the expiries does not
 * exceed. */
int64_t verdict_lateness_quantile(const struct verdict *verdict, double share);

#endif
