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
    uint64_t inspected; /* the witness's count of operations at the last inspection */
};

/* Makes the structure; false if it refused, and then nothing is left. */
bool kit_session_begin(struct kit_session_run *session, const struct kit_target *target,
                       const struct kit_session *start, struct kit_witness *witness);

/* Does one operation, ids and capacities brought into range, and inspects now and then. */
void kit_session_do(struct kit_session_run *session, const struct kit_op *op);

/* Lets everything fire, and destroys the structure. */
void kit_session_end(struct kit_session_run *session);

/* All operations of a trace. False if the structure refused the session's options. */
bool kit_execute(const struct kit_target *target, const struct kit_session *session,
                 const struct kit_op *ops, size_t count, struct kit_witness *witness);

#endif
