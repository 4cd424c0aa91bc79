/*
 * protocol.h: the table of protocols by which machines share timers. A timer is a record in a
 * shared table; schedulers put due timers into a queue; executors take them from the queue and call
 * the user's service. A row has the atomic steps of both: between two steps anything may happen,
 * including a crash. The exhaustive check, the simulation and the real run read the same rows, and
 * use the same names of faults.
 */
#ifndef SIM_PROTOCOL_H
#define SIM_PROTOCOL_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- steps ----------------------------------------------------------------------------------- */

/* X(code, word, description). Each step is atomic. The first ones are a scheduler's, those from
 * CLUSTER_TAKE on an executor's. */
#define CLUSTER_STEP_MAP(X)                                                                        \
    X(CLUSTER_END, "end", "begins again")                                                          \
    X(CLUSTER_MOVE_CLOCK, "move-clock", "moves the shared clock past a second, if no other did")   \
    X(CLUSTER_FETCH, "fetch", "reads the records of that second")                                  \
    X(CLUSTER_REMOVE, "remove", "deletes the records that it has read")                            \
    X(CLUSTER_PUSH, "push", "puts the timers that it holds into the queue")                        \
    X(CLUSTER_CLAIM, "claim", "moves due timers from the table into the queue, in one step")       \
    X(CLUSTER_CLAIM_PART, "claim-part", "the same, of one partition: others take the others")      \
    X(CLUSTER_HAND_OUT, "hand-out", "puts the names of the lists that are due into a queue")       \
    X(CLUSTER_LOAD, "load", "takes one such name, and claims the due timers of that list")         \
    X(CLUSTER_JOIN, "join", "gets a node id: a lock of the engine, with its lease")                \
    X(CLUSTER_CLAIM_OWN, "claim-own", "claims from its id's partitions, if it still has the id")   \
    X(CLUSTER_TAKE, "take", "takes a timer out of the queue")                                      \
    X(CLUSTER_LEASE, "lease", "takes a timer out of the queue, for a time, with a new token")      \
    X(CLUSTER_CALL, "call", "calls the user's service")                                            \
    X(CLUSTER_LATER, "later", "puts it back for the time that the service asked for, by token")    \
    X(CLUSTER_DELETE, "delete", "deletes the record")                                              \
    X(CLUSTER_ACK, "ack", "ends the timer, if its token is still the latest")

/* Of a row (code, word, text) the code, for an enum. */
#define CLUSTER_CODE(code, word, text) code,

enum cluster_step { CLUSTER_STEP_MAP(CLUSTER_CODE) CLUSTER_STEPS };

const char *cluster_step_word(enum cluster_step step);

/* --- the table ------------------------------------------------------------------------------- */

/* No row has more steps of a kind, CLUSTER_END included. */
#define CLUSTER_STEPS_MAX 6

struct cluster_protocol {
    const char *name;
    const char *summary;                           /* one line */
    const char *origin;                            /* its author */
    enum cluster_step schedule[CLUSTER_STEPS_MAX]; /* up to CLUSTER_END */
    enum cluster_step execute[CLUSTER_STEPS_MAX];
    bool scanned; /* a second pass can be had, over the seconds that the clock has passed long ago,
                     in the same steps, with a clock of its own */
    bool control; /* wrong on purpose: what checks a protocol has to find it out */
};

/* The protocols; *count is set to how many. */
const struct cluster_protocol *cluster_protocols(size_t *count);

/* The protocol of that name; NULL, with the nearest name in `error`. */
const struct cluster_protocol *cluster_protocol_find(const char *name, struct error *error);

/* Whether a step is among a protocol's. */
bool cluster_protocol_does(const struct cluster_protocol *protocol, enum cluster_step step);

/* Whether timers are taken under a lease: when it ends, a timer is in the queue again. */
bool cluster_protocol_leases(const struct cluster_protocol *protocol);

/* Whether the record is still in the table while a scheduler has the timer in hand, so that
 * something can find the timer after a crash. */
bool cluster_protocol_keeps_record(const struct cluster_protocol *protocol);

/* --- faults ---------------------------------------------------------------------------------- */

/* The cause of a call after a timer's first, or of a missing one: the fault of the holder of the
 * copy before. X(code, word, description) */
#define CLUSTER_CAUSE_MAP(X)                                                                       \
    X(CLUSTER_CAUSE_CRASH, "crash", "a node was killed that held it")                              \
    X(CLUSTER_CAUSE_OUTRUN, "outrun", "a node was alive, but slower than its lease or delay")      \
    X(CLUSTER_CAUSE_REPLY, "reply_lost", "the service did it, and the answer was lost")            \
    X(CLUSTER_CAUSE_SCAN, "scan", "the second pass found it, which the first had found too")       \
    X(CLUSTER_CAUSE_LATE, "late_insert", "it came into a second that had been read already")       \
    X(CLUSTER_CAUSE_CLOCK, "clock_step", "clocks differed, or one jumped")                         \
    X(CLUSTER_CAUSE_PARTITION, "partition", "nodes did not see one another")                       \
    X(CLUSTER_CAUSE_OTHER, "other", "none of these")

enum cluster_cause { CLUSTER_CAUSE_MAP(CLUSTER_CODE) CLUSTER_CAUSES };

const char *cluster_cause_word(enum cluster_cause cause);

/* --- books ------------------------------------------------------------------------------------ */

/* What became of all timers that were accepted. Each is in one of these, at any moment. */
struct cluster_books {
    uint64_t started; /* accepted */
    uint64_t fired;   /* their service was called and did it, once or more often */
    uint64_t stopped; /* before that, at their planner's wish */
    uint64_t dead;    /* attempts until it is given up */
    uint64_t pending; /* in the table, the queue or somebody's hands */
    uint64_t lost;    /* none of these: it will never be found */
};

/* Whether they add up; otherwise says in `error` by how much they do not. */
bool cluster_books_balance(const struct cluster_books *books, struct error *error);

#endif
