/*
 * tape.h: the operations of a trace in the order in which a structure executed them in closed loop.
 *
 * Structures are deterministic. The check pass looks up the reactions to each expiry and records
 * them as executed: those in a callback with the number of the expiry, the others with their tick.
 * The timed passes play the tape: their callback compares two numbers and moves a pointer, so that
 * no look-up is timed, and a structure that fires other timers than before is detected. Operations
 * outside of callbacks are played as blocks, like those of the stream.
 *
 * A tape is a file without a name, with a section for each stretch of the replay. Only the program
 * that wrote it reads it.
 */
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include "drive.h"
#include "error.h"
#include "stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reaction in a callback. */
struct tape_inside {
    uint64_t deadline;
    uint64_t event : 63;
    uint64_t stops : 1; /* it is a stop; otherwise a start */
    uint32_t firing;    /* number of the expiry in the section, from 0 */
    uint32_t cause;     /* the timer that fires */
    uint32_t id;
} __attribute__((packed, aligned(4)));

/* The end mark of a section. */
#define TAPE_NO_FIRING UINT32_MAX

/* The `op` of an entry outside of callbacks, in addition to enum trace_op. Its tick is after the last advance, before the
 * external operations. */
enum tape_op {
    TAPE_WAKEUP =
        TRACE_STOP + 1, /* the loop wakes up at a tick that the structure's `next` does not name */
    TAPE_SUPERSEDED,    /* the external operation `event` is skipped */
    TAPE_APPLIED,       /* those of a tick, from `event` on, are applied at `tick` */
};

/* A section, in memory. */
struct tape_section {
    struct tape_inside *inside; /* of one that is played, ends with TAPE_NO_FIRING */
    struct stream_operation *outside;
    size_t inside_count;
    size_t outside_count;
    size_t inside_room;
    size_t outside_room;
};

/* Add an operation outside of callbacks. */
void tape_add_outside(struct tape_section *section, struct stream_operation operation);

/* Processes that use it must keep its file open. */
struct tape {
    int file;
};

/* Make an empty tape in $TMPDIR or /tmp. NULL with `error` set. */
struct tape *tape_create(struct error *error);

/* Delete it. Harmless on NULL. */
void tape_close(struct tape *tape);

/* A tape that is written or read, from its beginning. One process at a time does. */
struct tape_head;

/* NULL with `error` set if the file cannot be opened again. */
struct tape_head *tape_head_open(const struct tape *tape, struct error *error);

/* Harmless on NULL. */
void tape_head_close(struct tape_head *head);

/* --- writing --------------------------------------------------------------------------------- */

/* Record an expiry, before its reactions. Harmless on NULL, as recording the others. */
void tape_record_firing(struct tape_head *head);

/* Record an executed reaction, in the callback of the last expiry or outside of callbacks. */
void tape_record(struct tape_head *head, const struct stream_operation *operation);

/* Record another entry outside of callbacks at `tick`; `event`: the external operation concerned,
 * if any. */
void tape_record_outside(struct tape_head *head, enum tape_op op, uint64_t tick, uint64_t event);

/* End a section. False with `error` set if it could not be written. */
bool tape_record_section(struct tape_head *head, struct error *error);

/* --- playing --------------------------------------------------------------------------------- */

/* Return the next section, valid until the next call. NULL with `error` set if there is none. */
const struct tape_section *tape_play_section(struct tape_head *head, struct error *error);

/* A block that is not the stream's own, of any size. Zeroed at the beginning. */
struct made_block {
    struct stream_block block;
    uint64_t *arrived; /* of each record: its tick in the trace */
    uint64_t *events;
    struct trace_record *records;
    struct trace_group *groups;
    size_t record_room;
    size_t group_room;
};

/* Make the block of the operations that a loop with pauses receives: those during a busy pause are
 * postponed to its end, with their delays; those during suspension are lost. */
void block_make_received(struct made_block *made, const struct stream_block *from,
                         const struct replay_drive *drive);

/* Make the block of groups [group, group_end) of `from`, and of the operations outside of callbacks
 * in their section of the tape, in executed order: postponed reactions come at their ticks, before
 * the external operations. `queues`: the tape has the ticks at which these are applied. */
void block_make_executed(struct made_block *made, const struct stream_block *from, size_t group,
                         size_t group_end, const struct tape_section *section, bool queues);

/* Free its memory. */
void block_release(struct made_block *made);

#endif
