/*
 * trace.h: a file of timer operations in time order.
 *
 * A trace holds {tick, timer id, op, delay, cause, slack}; op is start (also restart) or stop. It
 * records the requests of a program to its timers, not their expiries, which follow from them. The
 * header has the properties that a reader must know before the first operation. The blocks after it
 * are compressed and checksummed one by one, so that a trace is written and read in constant memory
 * and damage is located. docs/reference/trace-format.md describes the format.
 *
 * Two ticks divide a trace. Before `warmup_end_tick` operations build up a steady state: they are
 * applied but not timed. From `end_tick` on nothing is timed any more, and pending timers are
 * driven to their expiry. 0 <= warmup_end_tick <= end_tick, and every operation's tick is <
 * end_tick.
 *
 * Ids are dense: 0 <= id < ids. A delay of 0 is legal, and due at the next tick. An id belongs to
 * one timer for as long as any structure may hold it, which may be later than an exact one would.
 *
 * An operation is external (a packet, a request, a close: it happens at its tick with any
 * structure), or a reaction: done by the code that runs when a timer fires. A reaction names that
 * timer, and is at the tick at which an exact structure fires it. If the reactions are unknown, the
 * trace is "open loop", and all its operations count as external.
 *
 * The slack of a start is optional: the timer may fire up to this number of ticks after its
 * deadline, so that a loop can serve several timers by one wakeup.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_op { TRACE_START = 0, TRACE_STOP = 1 };

/* The kind of an operation, and, for a start in a reaction, the base of its delay: the tick of the
 * expiry; the cause's deadline, however late it fired; or the operation's tick in the trace, so
 * that its deadline is fixed. Stops in reactions have the first. */
enum trace_basis {
    TRACE_EXTERNAL = 0,
    TRACE_FIXED_DELAY = 1,
    TRACE_FIXED_RATE = 2,
    TRACE_ABSOLUTE = 3,
};

struct trace_cause {
    uint32_t id;          /* the timer that triggers it; 0 if external */
    uint32_t basis;       /* enum trace_basis */
    uint32_t slack_ticks; /* of a start, external or not; 0 for a stop */
};

/* Longest tick and longest delay: their sum is a legal deadline. */
#define TRACE_TICK_MAX         (UINT64_C(1) << 62)

/* Longest tick in nanoseconds: some thirty years. */
#define TRACE_TICK_NS_MAX      UINT64_C(1000000000000000000)

/* Longest origin, in bytes. */
#define TRACE_ORIGIN_MAX_BYTES (UINT32_C(1) << 19)

struct trace_header {
    uint64_t tick_ns; /* length of a tick */
    uint64_t events;  /* operations of both kinds */
    uint64_t starts;  /* restarts included */
    uint64_t stops;
    uint64_t reactions; /* of both kinds */
    uint64_t warmup_end_tick;
    uint64_t end_tick;
    uint64_t max_delay_ticks; /* longest delay of any start */
    uint32_t max_slack_ticks; /* longest slack of any start; 0: none */
    uint32_t ids;             /* one more than the largest id */
    bool causes_known;        /* false: open loop */
    const char *origin;       /* a JSON object: source and counters */
    uint64_t blocks;          /* of the file */
    uint64_t file_bytes;
};

/* A note for all output about an open-loop trace. */
#define TRACE_OPEN_LOOP_NOTE                                                                       \
    "open loop: the trace does not record reactions to expiries, so a late structure can skip "    \
    "work"

/* --- writing --------------------------------------------------------------------------------- */

struct trace_writer;

/* Return whether a trace can be written to `path`; call it before long work. False with `error`
 * set. */
bool trace_writer_check(const char *path, struct error *error);

/* Begin a trace; no file is at `path` until trace_writer_commit. "-" is standard output, which must
 * not be a terminal. NULL with `error` set. */
struct trace_writer *trace_writer_open(const char *path, uint64_t tick_ns, struct error *error);

/* Declare that the causes are known: operations not added as reactions are external. Otherwise the
 * trace is open loop, unless a reaction is added. */
void trace_writer_declare_causes(struct trace_writer *writer);

/* Add an operation; `delay_ticks` is ignored for a stop. False with `error` set if ticks decrease,
 * a limit is passed, or writing failed. */
bool trace_writer_add(struct trace_writer *writer, uint64_t tick, uint32_t id, enum trace_op op,
                      uint64_t delay_ticks, struct error *error);

/* Add an operation with its cause; `tick` is that at which an exact structure fires cause.id, which
 * must have been used before, or be the operation's own timer. For a stop, basis and slack are
 * ignored; a start at a fixed rate needs a delay of at least 1. An external cause is allowed: it
 * may have slack. */
bool trace_writer_add_reaction(struct trace_writer *writer, uint64_t tick, uint32_t id,
                               enum trace_op op, uint64_t delay_ticks, struct trace_cause cause,
                               struct error *error);

/* Change the length of a tick, if it is known only at the end. */
bool trace_writer_set_tick_ns(struct trace_writer *writer, uint64_t tick_ns, struct error *error);

/* Return the number of operations added so far. */
uint64_t trace_writer_events(const struct trace_writer *writer);

/* Complete the file and free the writer. Counts, ids and longest delay are the writer's; the caller
 * gives the window, and `min_ids` if more timers exist than were used (0 otherwise). `origin` is a
 * JSON object as text, stored with blanks for its line ends; NULL stands for an empty one. end_tick
 * is raised to after the last operation if it is smaller. On failure the writer is freed as well,
 * and no file is left. */
bool trace_writer_commit(struct trace_writer *writer, uint64_t warmup_end_tick, uint64_t end_tick,
                         uint32_t min_ids, const char *origin, struct error *error);

/* Free the writer, and remove its file. Harmless on NULL. */
void trace_writer_abort(struct trace_writer *writer);

/* --- reading --------------------------------------------------------------------------------- */

/* An operation with its deadline, as the replay needs it. */
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

/* A decoded block. A tick may continue in the next block: its first group then has the tick of this
 * block's last. */
struct trace_block {
    const struct trace_record *records;
    const struct trace_cause
        *causes; /* one for each record; NULL: all are external, without slack */
    const struct trace_group *groups;
    size_t record_count;
    size_t group_count;
    uint64_t index;       /* of the block, from 0 */
    uint64_t first_event; /* number of the operations before it */
};

/* No block has more records. */
#define TRACE_BLOCK_RECORDS 65536u

struct trace_reader;

/* Return whether the file begins as a trace, for readers of other formats; "-" is no trace. */
bool trace_is(const char *path);

/* The message for a trace where results are expected; takes the path. */
#define TRACE_NO_RESULTS                                                                           \
    "is a trace, not results; `timerlab sim %s -o DIR` makes results in DIR, and `timerlab trace " \
    "info` describes a trace"

/* Open a trace and check its header. "-" is standard input (standard_streams.h). NULL with `error`
 * set: not a trace, another version, damaged. */
struct trace_reader *trace_reader_open(const char *path, struct error *error);

/* Return the header, valid as long as the reader. */
const struct trace_header *trace_reader_header(const struct trace_reader *reader);

/* Decode the next block into the reader's memory, valid until the next call. 1: a block; 0: the
 * end, and the trace was complete; -1: `error` is set, with the block's number: truncated, altered,
 * or with invalid content (ids and ticks out of range, decreasing ticks). The blocks never have
 * more operations or reactions than the header says. */
int trace_reader_next(struct trace_reader *reader, struct trace_block *block, struct error *error);

/* Go back to the first block. */
void trace_reader_rewind(struct trace_reader *reader);

/* Go back to the first block, and from there compute a checksum: of the operations, the ticks and
 * the number of timers, independent of the compression and the origin. Call it once. */
void trace_reader_sum(struct trace_reader *reader);

/* Return the checksum of the blocks read so far. Requires trace_reader_sum. */
uint64_t trace_reader_checksum(const struct trace_reader *reader);

void trace_reader_close(struct trace_reader *reader);

#endif
