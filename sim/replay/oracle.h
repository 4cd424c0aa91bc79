/*
 * oracle.h: knows, for each timer, the one tick at which it is due, and judges every firing.
 *
 * It sees the same operations as the structure and what the structure answered and fired. Its own
 * state is one record per id, with no structure in it that could be wrong in the same way: the due
 * tick follows from the last operation alone.
 *
 * When that is, and within which ticks it may fire, due.h says. A firing at tick f has lateness
 * f - due. With the declared precision (early, late) for the timer's delay, these are faults of
 * those in fault.h:
 *
 *   early       f < due - early
 *   late        f > due + late
 *   lost        still not fired at due + late or later, when it is stopped, restarted, or the end
 *   duplicate   fired though not pending: twice, after a stop, never started
 *   misordered  within one advance, a smaller due tick after a larger one, where order is promised;
 *               or equal due ticks not in the order of their starts, where that is promised
 *   budget      more timers fired in an advance than its budget allows
 *   status      a hook answered what cannot be: stop said idle of a pending timer, or the reverse
 *
 * `due + late` is, where the drive does not look at timers then, the first tick after it at which
 * it does: by then a structure that keeps its promise has fired, as would an exact one that is
 * asked as late. Where it has a budget, a timer may wait on as long as each advance from then on
 * uses its budget up, and the loop comes round for the next at once. While callbacks keep the loop
 * busy, it does not look. A loop that makes use of slack may look only when the timer has none
 * left. Lateness counts from the due
 * tick all the same: what the drive adds to it is in the columns, and is no fault.
 *
 * A stop or restart after the due tick, but within the declared lateness, is legal. If it is
 * external, it excuses the structure from a firing that an exact one owes: `averted`.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "drive.h"
#include "fault.h"
#include "histogram.h"
#include "registry.h"
#include "service.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* One fault, with all that is needed to find it in the trace. */
struct fault {
    enum fault_kind kind;
    uint64_t id;    /* the timer's name, where it has one in oracle_plan */
    uint64_t tick;  /* when it was noticed */
    uint64_t due;   /* when the timer was due; 0 if it was not pending */
    uint64_t event; /* index of the operation that it follows from; UINT64_MAX: none */
    char detail[160];
};

#define ORACLE_FAULTS_KEPT 8

/* What the oracle found. Plain data. */
struct verdict {
    uint64_t events;
    uint64_t starts;   /* of timers that were not pending */
    uint64_t restarts; /* of timers that were */
    uint64_t stops;
    uint64_t fired;   /* up to the trace's end tick */
    uint64_t drained; /* after it */
    uint64_t averted;
    struct tl_precision declared; /* the widest of those for the delays that were started */
    uint64_t faults[FAULT_KINDS];
    uint64_t fault_count; /* of all kinds */
    struct fault first[ORACLE_FAULTS_KEPT];
    int64_t lateness_min;
    int64_t lateness_max;
    struct histogram early_ticks; /* how far before their due ticks timers fired */
    struct histogram late_ticks;  /* how far after; those on time are 0 */
};

struct oracle;

/* What firings are held to: the descriptor's precision under these options, and its promises of
 * order, of the timers 0 .. ids-1, as `drive` lets them fire in a replay up to `end_tick`. `names`
 * are what these are called where faults are told; NULL: as they are. */
struct oracle_plan {
    const struct tl_algo *algo;
    const void *options;
    uint32_t ids;
    uint64_t events; /* how many operations there are at most; 0: not known */
    const uint64_t *names;
    const struct replay_drive *drive;
    uint64_t end_tick;
    const struct service *service; /* the clock of its loop; NULL: callbacks take no time */
    const uint32_t *slacks; /* of each operation, as the loop makes use of it; NULL: it does not */
};

/* `verdict` is where it writes, zeroed by it. It, and what `plan` points to, must outlive the
 * oracle. */
struct oracle *oracle_create(const struct oracle_plan *plan, struct verdict *verdict);

/* Frees it; harmless on NULL. */
void oracle_destroy(struct oracle *oracle);

/* An operation, as the structure executed it. */
struct oracle_operation {
    uint64_t event;    /* its number in the trace */
    uint64_t deadline; /* of a start */
    uint32_t id;
    enum trace_op op;
    bool reaction; /* a firing caused it */
};

/* After the structure took it at tick `tick`, and what it answered. */
void oracle_operated(struct oracle *oracle, uint64_t tick, const struct oracle_operation *operation,
                     enum tl_status answer);

/* Before each call of advance to tick `now` with this budget. `draining`: the trace's end tick has
 * passed. */
void oracle_advancing(struct oracle *oracle, uint64_t now, uint64_t budget, bool draining);

/* In the callback. */
void oracle_fired(struct oracle *oracle, uint32_t id, uint64_t now);

/* Have the processor fetch what it has of a timer, for an operation to come. */
void oracle_fetch(const struct oracle *oracle, uint32_t id);

/* How many timers it holds to be pending. */
uint64_t oracle_pending(const struct oracle *oracle);

/* The ticks at which a pending timer may fire. */
struct due_window {
    uint64_t first;
    uint64_t last;
};

/* Fill `windows`, which have room for at least 2, with those that begin at `from` or later: the
 * earliest ones, in order, one for all timers whose window begins at the same tick. Returns how
 * many; 0: there are none. */
size_t oracle_due_windows(const struct oracle *oracle, uint64_t from, struct due_window *windows,
                          size_t room);

/* At the very end, at tick `now`: whatever is pending is lost. */
void oracle_finish(struct oracle *oracle, uint64_t now);

/* The lateness in ticks (negative: early) that `share` of the firings do not exceed. */
int64_t verdict_lateness_quantile(const struct verdict *verdict, double share);

#endif
