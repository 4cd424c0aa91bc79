/*
 * tape.h: the reactions that a structure executed in closed loop, recorded by the check pass.
 *
 * Structures are deterministic. The check pass looks up the reactions to each expiry and records
 * them as executed: those in a callback with the number of the expiry, the others with their tick.
 * The timed passes play the tape: their callback compares two numbers and moves a pointer, so that
 * no look-up is timed, and a structure that fires other timers than before is detected.
 *
 * A tape is a file without a name, with a section for each stretch of the replay. Only the program
 * that wrote it reads it.
 */
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include "closed_loop.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reaction in a callback. */
struct tape_inside {
    uint64_t deadline;
    uint32_t firing; /* number of the expiry in the section, from 0 */
    uint32_t cause;  /* the timer that fires */
    uint32_t id;
    uint32_t op; /* enum trace_op */
};

/* The place of each of these, kept apart because the timed loop does not need it. */
struct tape_place {
    uint64_t tick;
    uint64_t event;
};

/* The end mark of a section. */
#define TAPE_NO_FIRING UINT32_MAX

/* Entries outside of callbacks. */
enum tape_outside_op {
    TAPE_START = TRACE_START,
    TAPE_STOP = TRACE_STOP,
    TAPE_WAKEUP,     /* the loop wakes up at a tick that the structure's `next` does not name */
    TAPE_SUPERSEDED, /* the external operation is skipped */
    TAPE_APPLIED, /* the external operations of a tick, from this one on, are applied at `tick` */
};

struct tape_outside {
    uint64_t tick; /* after its last advance, before its external operations */
    uint64_t event;
    uint64_t deadline;
    uint32_t id;
    uint32_t op; /* enum tape_outside_op */
};

struct tape;

/* Make an empty tape in $TMPDIR or /tmp. NULL with `error` set. */
struct tape *tape_create(struct error *error);

/* Return its file descriptor, which processes that use it must keep open. */
int tape_file(const struct tape *tape);

/* Delete it. Harmless on NULL. */
void tape_close(struct tape *tape);

/* --- writing --------------------------------------------------------------------------------- */

struct tape_recorder;

/* Write to an empty tape. NULL with `error` set if the file cannot be opened again. */
struct tape_recorder *tape_recorder_open(const struct tape *tape, struct error *error);

/* Record an expiry, before its reactions. */
void tape_record_firing(struct tape_recorder *recorder);

/* Record an executed reaction, in the callback of the last expiry or outside of callbacks. */
void tape_record(struct tape_recorder *recorder, const struct loop_operation *operation,
                 uint64_t tick);

/* Record another entry outside of callbacks at `tick`; `event`: the external operation concerned,
 * if any. */
void tape_record_outside(struct tape_recorder *recorder, enum tape_outside_op op, uint64_t tick,
                         uint64_t event);

/* End a section. False with `error` set if it could not be written. */
bool tape_record_section(struct tape_recorder *recorder, struct error *error);

/* Harmless on NULL. */
void tape_recorder_close(struct tape_recorder *recorder);

/* --- playing --------------------------------------------------------------------------------- */

/* A section, in the player's memory. */
struct tape_section {
    struct tape_inside *inside; /* ends with TAPE_NO_FIRING */
    struct tape_place *places;  /* of each of these */
    struct tape_outside *outside;
    size_t inside_count;
    size_t outside_count;
};

struct tape_player;

/* Play a tape from its beginning. */
struct tape_player *tape_player_open(const struct tape *tape);

/* Return the next section, valid until the next call. NULL with `error` set if there is none. */
const struct tape_section *tape_player_next(struct tape_player *player, struct error *error);

/* Harmless on NULL. */
void tape_player_close(struct tape_player *player);

#endif
