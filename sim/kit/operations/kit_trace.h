/*
 * kit_trace.h: operations on a timer structure as data: the output of the fuzzer, the input of the
 * shrinker, and the text of a fault.
 *
 * Times are relative to the clock, so that any part of a trace is a trace. As text, one operation
 * a line, # begins a comment:
 *
 *     create capacity 4 now 0 max-delay 0 options slots=3
 *     start 2 in 17              deadline = clock + 17; a negative number is a deadline in the past
 *     start 0-69999 in 5         each of them, one after the other
 *     stop 2
 *     stop 0-69999 every 3       each third of them
 *     advance by 5
 *     advance by 5 budget 1
 *     advance to next            to the tick that the structure's `next` says, if that is ahead
 *     reserve 9
 *     allow 3                    further requests for memory that are granted; all: any number
 *     allow all up to 4096 bytes    in one request
 *     inspect                    the structure's own check and walk, and the guards
 *     move records               of the caller, to another place
 *     when 2 fires start 0 in 3  once, inside the callback
 *     when 2 fires stop 0
 *     when 2 fires start 2 in 5 always   each time; a stop likewise
 *     repeat 2 operations 65535 times    the two lines above, this often again
 *     create capacity 8 now 3 max-delay 0    another structure, for the next lines
 *     on 0                       the next lines are for the first one again
 *     destroy                    at once, whatever is pending
 *
 * `create` takes, before options: `allow N` (requests for memory that are granted), `page behind` or
 * `page before` (a protected page at that end of each block), `counted` (the build with counters),
 * `embedded` (the build that takes records, without any) and `records 24 before 8 behind` (with that
 * number of the caller's bytes at either end of those of a timer). The actions of one callback are
 * executed in the order of their lines. After the last operation the clock advances until every timer
 * must have fired, where actions with `always` are executed once more, and all is destroyed.
 */
#ifndef SIM_KIT_TRACE_H
#define SIM_KIT_TRACE_H

#include "error.h"
#include "kit_guard.h"
#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum kit_op_kind {
    KIT_OP_CREATE, /* has no form in the table of kit_trace.c: see `struct kit_session` */
    KIT_OP_ON,
    KIT_OP_DESTROY,
    KIT_OP_START,
    KIT_OP_STOP,
    KIT_OP_ADVANCE,
    KIT_OP_NEXT,
    KIT_OP_RESERVE,
    KIT_OP_ALLOW,
    KIT_OP_INSPECT,
    KIT_OP_MOVE,
    KIT_OP_REPEAT,
    KIT_OP_WHEN_START,
    KIT_OP_WHEN_STOP,
};

struct kit_op {
    enum kit_op_kind kind;
    uint32_t id;     /* reserve: the capacity; create, on: the index of the session; repeat: how
                        many of the operations before it */
    uint32_t last;   /* start, stop: of a range that begins with `id`; `id` itself for just one */
    uint32_t every;  /* of a range: the distance of its timers; at least 1 */
    uint32_t other;  /* when: the timer that the callback acts upon */
    int64_t ticks;   /* start: deadline - clock (INT64_MAX: the last legal deadline);
                        advance: now - clock */
    uint64_t budget; /* advance: TL_NO_BUDGET is none; allow: how many, UINT64_MAX is all;
                        repeat: how often */
    bool always;     /* when: each time, not only the next */
};

/* Where the timers are. */
enum kit_lodging {
    KIT_LODGING_OWN,    /* memory of the structure */
    KIT_LODGING_EITHER, /* the same, in the build that takes records */
    KIT_LODGING_RECORDS /* the caller's records */
};

/* A record: bytes of the caller, those of the timer, and bytes of the caller again. */
struct kit_records_layout {
    enum kit_lodging lodging;
    uint32_t before_bytes;
    uint32_t behind_bytes;
};

/* The arguments of create. */
struct kit_session {
    uint32_t capacity;
    uint64_t now;
    uint64_t max_delay_ticks;
    uint64_t grants;            /* requests for memory that are granted; UINT64_MAX: all */
    enum kit_guard_place place; /* of its memory */
    bool counted;               /* the build with counters */
    struct kit_records_layout records;
    TL_OPTION_VALUES(options);
};

/* Structures that can exist at the same time. */
#define KIT_INSTANCES_MAX 8u

struct kit_trace {
    struct kit_session sessions[KIT_INSTANCES_MAX]; /* the first exists from the beginning */
    size_t session_count;
    struct kit_op *ops; /* owned */
    size_t count;
    uint64_t seed; /* of the session that it comes from; 0: not from a seed */
};

/* Limits of a trace: timers, operations, and bytes at either end of a timer's in a record. */
#define KIT_CAPACITY_MAX (UINT32_C(1) << 21)
#define KIT_OPS_MAX      (UINT32_C(1) << 22)
#define KIT_RECORD_MAX   (UINT32_C(1) << 16)

/* Return an operation of that kind on that timer; its other members are defaults. */
struct kit_op kit_op_of(enum kit_op_kind kind, uint32_t id);

/* Return how many timers it names: 1 for a range, 2 for an action of a callback. */
size_t kit_op_timers(const struct kit_op *op);

/* Return the action of a callback as an operation of its own. */
struct kit_op kit_op_taken_out(const struct kit_op *op);

/* A position in a trace: the current structure, and the capacity of each. */
struct kit_place {
    uint32_t current;
    uint32_t capacity[KIT_INSTANCES_MAX];
};

/* Return the position before the first operation; move it past an operation. */
struct kit_place kit_place_first(const struct kit_trace *trace);
void kit_place_after(struct kit_place *place, const struct kit_trace *trace,
                     const struct kit_op *op);

/* Convert between a deadline and the ticks to it in an operation. */
int64_t kit_ticks_to(uint64_t clock, uint64_t deadline);
uint64_t kit_deadline_at(uint64_t clock, int64_t ticks);

/* Replace operations by ranges and repetitions of the same meaning. */
void kit_trace_fold(struct kit_trace *trace);

/* Write a trace as text. */
void kit_trace_write(const struct kit_trace *trace, const struct tl_algo *algo, FILE *stream);

/* Read a trace for that structure; `name` is the file's name for messages. Its options replace the
 * target's. Release the trace on success. */
bool kit_trace_read(struct kit_trace *trace, const struct tl_algo *algo, FILE *stream,
                    const char *name, struct error *error);

/* Read the operation that *at begins with, and move *at past it. `numbers`, if any, are the values of
 * the letters A, B, ... in it, which replace numbers: A, A+1 or A*2/3. */
bool kit_op_read(const char **at, const uint64_t *numbers, struct kit_op *op);

/* Read a number in the same way. */
bool kit_number_read(const char **at, const uint64_t *numbers, uint64_t *value);

/* Free the operations of a trace. Harmless on a zeroed one. */
void kit_trace_release(struct kit_trace *trace);

/* --- numbers --------------------------------------------------------------------------------- */

#define KIT_BOUNDARIES_MAX 512u

/* Numbers of ticks at which timer structures change their mind: powers and round numbers, and
 * the structure's own numeric option values with their products, each with its neighbours; in
 * increasing order, none above `largest`. Returns how many. */
size_t kit_boundaries(const struct tl_algo *algo, const void *options, uint64_t largest,
                      uint64_t values[KIT_BOUNDARIES_MAX]);

/* Values of an option worth trying, within its range: its words, its least, small and round
 * numbers. Returns how many. */
#define KIT_CANDIDATES_MAX 64u
size_t kit_option_candidates(const struct tl_option *option, uint64_t values[KIT_CANDIDATES_MAX]);

/* Where the timers of a structure that takes records may lie: the first is in memory of its own,
 * the others are in records, of which the first has nothing but timers. */
#define KIT_LAYOUTS 9u
extern const struct kit_records_layout kit_layouts[KIT_LAYOUTS];

/* --- the log --------------------------------------------------------------------------------- */

#define KIT_NO_INSTANCE UINT32_MAX

/* The operations so far, in memory that outlives the process, so that they can be printed, replayed
 * and made shorter after any end of the process. All zero is an empty log.
 *
 * An operation of a callback is logged as `when ID fires ...` before the advance that calls it; a
 * timer fires at most once in an advance, so the meaning is the same. */
struct kit_log {
    struct kit_session sessions[KIT_INSTANCES_MAX];
    uint32_t session_count;
    uint32_t alive;   /* structures that are not destroyed; for the caller to reduce */
    uint32_t current; /* the instance of the last operation */
    bool cut;         /* the log is incomplete */
    uint32_t count;
    struct kit_op ops[KIT_OPS_MAX]; /* last: not cleared between runs */
};

/* Log a create. If no other structure is alive, the log is emptied first. Return the instance,
 * KIT_NO_INSTANCE if there are too many. */
uint32_t kit_log_create(struct kit_log *log, const struct kit_session *session);

/* Log an operation that is about to be executed. One of a callback (`when`) belongs to the advance
 * that was logged last, and comes before it. */
void kit_log_op(struct kit_log *log, uint32_t instance, struct kit_op op);

/* Make a trace of the log; empty if that is incomplete. To be released. */
void kit_log_trace(const struct kit_log *log, struct kit_trace *trace);

#endif
