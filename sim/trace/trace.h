/*
 * trace.h: a stream of timer operations in time order, as a file.
 *
 * A trace holds {tick, timer id, op, delay, cause, slack}; op is start (also restart) or stop. It says
 * what a program asked of its timers, never what a structure made of it: an expiry is not in it,
 * because it follows. The header carries what a reader must know before the first operation, the
 * blocks after it are compressed and checksummed one by one, so that a trace is written and read
 * in constant memory and damage is found where it is. The format is described in
 * docs/reference/trace-format.md.
 *
 * Two ticks divide a trace. Before `warmup_end_tick` operations build up a steady state: they are
 * applied but not timed. From `end_tick` on nothing is timed any more, and what is pending is
 * driven to its end. 0 <= warmup_end_tick <= end_tick, and every operation's tick is < end_tick.
 *
 * Ids are dense: 0 <= id < ids. A delay of 0 is legal, and due at the next tick. An id is one
 * timer's for as long as any structure may hold it, which may be later than an exact one would.
 *
 * An operation is external (a packet, a request, a close: it happens at its tick whatever a
 * structure does), or a reaction: done by the code that runs when a timer fires. A reaction names
 * that timer, and is at the tick at which an exact structure fires it. Whoever makes a trace
 * knows, or does not: then the trace is "open loop", and all its operations count as external.
 *
 * The slack of a start is optional: the timer may fire up to this number of ticks after its deadline. A
 * loop can use it to serve several timers by one wakeup.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_op { TRACE_START = 0, TRACE_STOP = 1 };

/* What brings an operation about, and, of a start that an expiry causes, what its delay counts from:
 * the tick of the expiry; the cause's own deadline, however late it fired; or the tick at which the
 * operation is in the trace, so that its deadline is fixed. A stop has no delay, and of these
 * always the first. */
enum trace_basis {
    TRACE_EXTERNAL = 0,
    TRACE_FIXED_DELAY = 1,
    TRACE_FIXED_RATE = 2,
    TRACE_ABSOLUTE = 3,
};

struct trace_cause {
    uint32_t id;          /* the timer whose firing causes it; 0 of what is external */
    uint32_t basis;       /* enum trace_basis */
    uint32_t slack_ticks; /* of a start, also of one that is external; of a stop 0 */
};

/* Longest tick and longest delay that a trace holds: their sum is a legal deadline. */
#define TRACE_TICK_MAX         (UINT64_C(1) << 62)

/* Longest tick in nanoseconds: some thirty years. */
#define TRACE_TICK_NS_MAX      UINT64_C(1000000000000000000)

/* Longest origin, in bytes. */
#define TRACE_ORIGIN_MAX_BYTES (UINT32_C(1) << 19)

struct trace_header {
    uint64_t tick_ns; /* what one tick lasts */
    uint64_t events;  /* operations of both kinds */
    uint64_t starts;  /* restarts included */
    uint64_t stops;
    uint64_t reactions; /* of both kinds, those that an expiry causes */
    uint64_t warmup_end_tick;
    uint64_t end_tick;
    uint64_t max_delay_ticks; /* longest delay of any start */
    uint32_t max_slack_ticks; /* longest slack of any start; 0: no timer has any */
    uint32_t ids;             /* timers that can be named: one more than the largest id */
    bool causes_known;        /* false: open loop */
    const char *origin;       /* a JSON object: where the trace came from, what was counted */
};

/* What is to be said wherever something is said of a trace that is open loop. */
#define TRACE_OPEN_LOOP_NOTE                                                                       \
    "open loop: the trace does not record reactions to expiries, so a late structure can skip "    \
    "work"

/* --- writing --------------------------------------------------------------------------------- */

struct trace_writer;

/* Whether a trace can be written to `path`; call it before long work. False with `error` set. */
bool trace_writer_check(const char *path, struct error *error);

/* Begins a trace; nothing is at `path` until trace_writer_commit. "-" is standard output, which
 * must not be a terminal. NULL with `error` set. */
struct trace_writer *trace_writer_open(const char *path, uint64_t tick_ns, struct error *error);

/* Says that its maker knows what causes what: what is not added as a reaction is external. Without
 * this the trace is open loop, unless a reaction is added. */
void trace_writer_declare_causes(struct trace_writer *writer);

/* Adds an operation; `delay_ticks` is ignored for a stop. Ticks must not go back: false, with
 * `error` set, if they do, if a limit is passed, or if writing failed. */
bool trace_writer_add(struct trace_writer *writer, uint64_t tick, uint32_t id, enum trace_op op,
                      uint64_t delay_ticks, struct error *error);

/* The same of an operation that `cause` brings about; `tick` is that at which an exact structure
 * fires cause.id, which must have been named before, or be the operation's own timer. Of a stop
 * basis and slack do not matter; a start at a fixed rate needs a delay of at least 1. What is
 * external by its cause is added as by trace_writer_add, with the slack. */
bool trace_writer_add_reaction(struct trace_writer *writer, uint64_t tick, uint32_t id,
                               enum trace_op op, uint64_t delay_ticks, struct trace_cause cause,
                               struct error *error);

/* Changes what a tick lasts, where that is known only at the end. */
bool trace_writer_set_tick_ns(struct trace_writer *writer, uint64_t tick_ns, struct error *error);

/* Operations added so far. */
uint64_t trace_writer_events(const struct trace_writer *writer);

/* Completes the file and ends the writer. Counts, ids and longest delay are the writer's own; the
 * caller says where the window lies, and `min_ids` if more timers exist than were named (0
 * otherwise). `origin` is a JSON object as text, stored as it is but for line ends, which become
 * blanks; NULL stands for an empty one. end_tick is raised to after the last operation
 * if it is smaller. Ends the writer on failure too, and then leaves nothing behind. */
bool trace_writer_commit(struct trace_writer *writer, uint64_t warmup_end_tick, uint64_t end_tick,
                         uint32_t min_ids, const char *origin, struct error *error);

/* Gives up: removes what was written. NULL is legal. */
void trace_writer_abort(struct trace_writer *writer);

/* --- reading --------------------------------------------------------------------------------- */

/* An operation as the replay wants it: the delay is already added up. */
struct trace_record {
    uint64_t deadline; /* start: tick + delay; stop: 0 */
    uint32_t id;
    uint32_t op; /* enum trace_op */
};

/* A run of records with the same tick. */
struct trace_group {
    uint64_t tick;
    uint32_t first; /* index into the block's records */
    uint32_t count;
};

/* One decoded block. A tick can go on in the next block: its first group then has the tick of this
 * block's last. */
struct trace_block {
    const struct trace_record *records;
    const struct trace_cause
        *causes; /* one for each record; NULL: all are external, without slack */
    const struct trace_group *groups;
    size_t record_count;
    size_t group_count;
    uint64_t index;       /* of the block, from 0 */
    uint64_t first_event; /* how many operations precede it */
};

/* No block decodes to more records than this. */
#define TRACE_BLOCK_RECORDS 65536u

struct trace_reader;

/* Whether the file begins as a trace. For readers of other formats; "-" is no trace. */
bool trace_is(const char *path);

/* What to say then where results are wanted; takes the path. */
#define TRACE_NO_RESULTS                                                                           \
    "is a trace, not results; `timerlab sim %s -o DIR` makes results in DIR, and `timerlab trace " \
    "info` describes a trace"

/* Opens a trace, checks its header. "-" is standard input (standard_streams.h). NULL with `error`
 * set: not a trace, another version, damaged. */
struct trace_reader *trace_reader_open(const char *path, struct error *error);

/* The header; valid as long as the reader. */
const struct trace_header *trace_reader_header(const struct trace_reader *reader);

/* Decodes the next block into the reader's own memory, valid until the next call. 1: a block;
 * 0: the end, all of it was there; -1: `error` is set, with the block's number: truncated,
 * altered, or holding what a trace must not hold (ids and ticks out of range, time going back). */
int trace_reader_next(struct trace_reader *reader, struct trace_block *block, struct error *error);

/* Goes back to the first block. */
bool trace_reader_rewind(struct trace_reader *reader, struct error *error);

/* How many blocks it has. */
uint64_t trace_reader_blocks(const struct trace_reader *reader);

/* Bytes of the file. */
uint64_t trace_reader_file_bytes(const struct trace_reader *reader);

void trace_reader_close(struct trace_reader *reader);

#endif
