/*
 * kit_interpreter.h: executes operations (kit_trace.h) on a subject, one by one or as a trace, then
 * advances until no timer is pending and destroys the structure.
 */
#ifndef SIM_KIT_INTERPRETER_H
#define SIM_KIT_INTERPRETER_H

#include "kit_subject.h"

struct kit_arms;

/* A session under way. */
struct kit_session_run {
    struct kit_subject subject;
    struct kit_arms *arms; /* actions of callbacks, by timer */
    uint32_t arm_count;
};

/* Make the structure, with a limit of memory; false, with nothing to release, if it refused. */
bool kit_session_begin(struct kit_session_run *session, const struct kit_target *target,
                       const struct kit_session *start, uint64_t limit_bytes,
                       struct kit_witness *witness);

/* Execute one operation; ids and capacities are brought into range. */
void kit_session_do(struct kit_session_run *session, const struct kit_op *op);

/* Let all timers fire, and destroy the structure. */
void kit_session_end(struct kit_session_run *session);

/* Destroy the structure without draining it. */
void kit_session_destroy(struct kit_session_run *session);

/* Execute a trace, with all the structures that it makes. False if its first create was refused
 * without a limit of memory. */
bool kit_execute(const struct kit_target *target, const struct kit_trace *trace,
                 struct kit_witness *witness);

/* Do the same and return the fault, or FAULT_NONE, so that the process can continue unless the
 * fault ends it. The memory of the structure is released; other state of its code stays. */
enum fault_kind kit_survive(const struct kit_target *target, const struct kit_trace *trace,
                            struct kit_witness *witness);

#endif
