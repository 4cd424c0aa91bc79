/*
 * tape.h: what a structure did in closed loop, written down so that it can be played again.
 *
 * A structure is deterministic. The pass that is checked looks up what each firing causes, and
 * writes the reactions down as they were carried out: those in a callback with the number of the
 * firing, those outside with their tick. The timed passes play this: their callback compares two
 * numbers and moves a pointer; no look-up burdens what is timed, and a structure that fires
 * otherwise than it did is found out.
 *
 * A tape is a file without a name, made before both processes. It has a section for each stretch of
 * the replay, in their order. It is read only by the program that wrote it.
 */
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include "closed_loop.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the callback of a firing. */
struct tape_inside {
    uint64_t deadline;
    uint32_t firing; /* its number in the section, from 0 */
    uint32_t cause;  /* the timer that fires */
    uint32_t id;
    uint32_t op; /* enum trace_op */
};

/* Where each of these stands: asked for outside of what is timed. */
struct tape_place {
    uint64_t tick;
    uint64_t event;
};

/* Behind the last firing of a section. */
#define TAPE_NO_FIRING UINT32_MAX

/* Outside of callbacks. */
enum tape_outside_op {
    TAPE_START = TRACE_START,
    TAPE_STOP = TRACE_STOP,
    TAPE_WAKEUP, /* the loop comes round by itself, and the structure's `next` does not say when */
    TAPE_SUPERSEDED, /* the external operation is not done */
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

/* An empty one, in $TMPDIR or /tmp. NULL with `error` set. */
struct tape *tape_create(struct error *error);

/* Its open file, which a process needs that writes or plays it. */
int tape_file(const struct tape *tape);

/* Ends it, and its file. Harmless on NULL. */
void tape_close(struct tape *tape);

/* --- writing --------------------------------------------------------------------------------- */

struct tape_recorder;

/* Writes to an empty tape. NULL with `error` set if the file cannot be opened again. */
struct tape_recorder *tape_recorder_open(const struct tape *tape, struct error *error);

/* A timer has fired; call it before its reactions. */
void tape_record_firing(struct tape_recorder *recorder);

/* A reaction has been carried out, in the callback of the last firing or outside of all. */
void tape_record(struct tape_recorder *recorder, const struct loop_operation *operation,
                 uint64_t tick);

/* Something other than an operation is done outside of callbacks at `tick`; `event` is the number of
 * the external operation that it concerns, if any. */
void tape_record_outside(struct tape_recorder *recorder, enum tape_outside_op op, uint64_t tick,
                         uint64_t event);

/* Ends a section. False with `error` set if it could not be written, or memory was short. */
bool tape_record_section(struct tape_recorder *recorder, struct error *error);

/* Harmless on NULL. */
void tape_recorder_close(struct tape_recorder *recorder);

/* --- playing --------------------------------------------------------------------------------- */

/* A section, in the player's own memory. */
struct tape_section {
    struct tape_inside *inside; /* behind the last, one with TAPE_NO_FIRING */
    struct tape_place *places;  /* one for each of these */
    struct tape_outside *outside;
    size_t inside_count;
    size_t outside_count;
};

struct tape_player;

/* Plays it from its beginning. */
struct tape_player *tape_player_open(const struct tape *tape);

/* The next section, valid until the next call. NULL with `error` set if there is none. */
const struct tape_section *tape_player_next(struct tape_player *player, struct error *error);

/* Harmless on NULL. */
void tape_player_close(struct tape_player *player);

#endif
