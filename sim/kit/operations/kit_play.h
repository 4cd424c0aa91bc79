/*
 * kit_play.h: executes operations (kit_trace.h) on subjects: one by one, as a trace, or as bytes say;
 * in this process or in a child with a verdict; and shortens the operations of a fault.
 */
#ifndef SIM_KIT_PLAY_H
#define SIM_KIT_PLAY_H

#include "kit_subject.h"

/* --- in this process ------------------------------------------------------------------------- */

/* One of the structures, with the actions of its callbacks. */
struct kit_player {
    struct kit_subject subject;
    bool alive;
    bool ends;                  /* actions with `always` are executed once more, then no more */
    struct kit_action *actions; /* from number 1 on */
    uint32_t action_count;
    uint32_t action_room;
};

/* Execute one operation on a structure; ids and capacities are brought into range. Actions of
 * callbacks are for a kit_player. */
void kit_do(struct kit_subject *subject, const struct kit_op *op);

/* Operations under way. */
struct kit_play {
    const struct kit_target *target;
    const struct kit_session *sessions;
    uint64_t limit_bytes; /* memory limit of each structure */
    struct kit_witness *witness;
    struct kit_player of[KIT_INSTANCES_MAX]; /* zero before the first operation */
    uint32_t current;
};

/* Make the structure of that session and make it the current one; false if it refused. */
bool kit_play_create(struct kit_play *play, uint32_t instance);

/* Execute one operation, except a repetition. */
void kit_play_op(struct kit_play *play, const struct kit_op *op);

/* Let all timers fire, and destroy the structures. */
void kit_play_end(struct kit_play *play);

/* Execute a trace and return the fault, or FAULT_NONE, so that the process can continue unless the
 * fault ends it. The memory of the structure is released; other state of its code stays. */
enum fault_kind kit_survive(const struct kit_target *target, const struct kit_trace *trace,
                            struct kit_witness *witness);

/* Execute the session of the bytes: every sequence of bytes is one, whether it comes from a random
 * generator, a corpus or a fuzzing engine. The operations are logged in the witness. */
void kit_interpret(const struct kit_target *target, const uint8_t *bytes, size_t size,
                   struct kit_witness *witness);

/* --- in a process of its own ----------------------------------------------------------------- */

/* A function for the child. It reports a fault by kit_fail, or returns. */
typedef void (*kit_child_fn)(void *ctx, struct kit_witness *witness);

/* Clear the witness, which is in memory shared with children (child.h); run `child` in a process of
 * its own until it ends or exceeds its processor time; and fill in the verdict: result, fault,
 * message, operations, seconds. Output of the structure is captured, and is a fault. */
void kit_sandbox(const struct tl_algo *algo, kit_child_fn child, void *ctx,
                 const struct kit_limits *limits, struct kit_witness *witness,
                 struct kit_verdict *verdict);

/* Do the same for the operations of a trace. */
void kit_sandbox_trace(const struct kit_target *target, const struct kit_trace *trace,
                       const struct kit_limits *limits, struct kit_witness *witness,
                       struct kit_verdict *verdict);

/* Execute a failing trace again. If it fails in the same way, replace it and its verdict by the
 * smallest trace found, and return true. */
bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict);

#endif
