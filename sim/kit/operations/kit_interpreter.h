/*
 * kit_interpreter.h: operations (kit_trace.h) done to a subject, those of a trace or as they are
 * thought up; then the clock is driven on until nothing is pending, and the structure destroyed.
 */
#ifndef SIM_KIT_INTERPRETER_H
#define SIM_KIT_INTERPRETER_H

#include "kit_subject.h"

struct kit_arms;

/* A session under way. */
struct kit_session_run {
    struct kit_subject subject;
    struct kit_arms *arms; /* what firings do, by the timer that fires */
    uint32_t arm_count;
};

/* Makes the structure, which may take so much memory; false if it refused, and then nothing is
 * left. */
bool kit_session_begin(struct kit_session_run *session, const struct kit_target *target,
                       const struct kit_session *start, uint64_t limit_bytes,
                       struct kit_witness *witness);

/* Does one operation on this structure, ids and capacities brought into range. */
void kit_session_do(struct kit_session_run *session, const struct kit_op *op);

/* Lets everything fire, and destroys the structure. */
void kit_session_end(struct kit_session_run *session);

/* Destroys the structure as it is. */
void kit_session_destroy(struct kit_session_run *session);

/* All operations of a trace, on the structures that it makes. False if its first create was
 * refused, though nothing was said of memory. */
bool kit_execute(const struct kit_target *target, const struct kit_trace *trace,
                 struct kit_witness *witness);

/* The same in a process that goes on after a fault, unless that ends it: what was found, FAULT_NONE
 * if nothing. What the structure had is given back; of what else it knows, all is as it left it. */
enum fault_kind kit_survive(const struct kit_target *target, const struct kit_trace *trace,
                            struct kit_witness *witness);

#endif
