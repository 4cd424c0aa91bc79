/*
 * kit_log.h: what is done to structures, noted by the judge as it is done, in memory that outlives
 * the process: whatever a structure ends in, what led there can be told, replayed and made shorter.
 *
 * What a callback does to a timer is noted as `when ID fires ...` before the advance that it is
 * called by: a timer fires once in an advance at most, so that says the same.
 */
#ifndef SIM_KIT_LOG_H
#define SIM_KIT_LOG_H

#include "kit_trace.h"

#define KIT_NO_INSTANCE UINT32_MAX

/* All zero is an empty one. */
struct kit_log {
    struct kit_session sessions[KIT_INSTANCES_MAX];
    uint32_t session_count;
    uint32_t alive;   /* structures that are not destroyed */
    uint32_t current; /* the instance that the last operation was about */
    bool cut;         /* more was done than is noted here */
    bool advancing[KIT_INSTANCES_MAX];
    struct kit_op advance[KIT_INSTANCES_MAX]; /* the one under way */
    uint32_t count;
    struct kit_op ops[KIT_OPS_MAX]; /* last: not cleared between runs */
};

/* A structure is about to be made. Where no other is alive, what was noted so far is forgotten.
 * Returns its number, KIT_NO_INSTANCE if there is no room for one more. */
uint32_t kit_log_create(struct kit_log *log, const struct kit_session *session);

/* It was not made after all, or is destroyed by now. */
void kit_log_gone(struct kit_log *log, uint32_t instance);

/* Something is about to be done. */
void kit_log_op(struct kit_log *log, uint32_t instance, struct kit_op op);

/* An advance begins and has ended; what comes between is done by its callbacks. */
void kit_log_advance(struct kit_log *log, uint32_t instance, struct kit_op op);
void kit_log_advanced(struct kit_log *log, uint32_t instance);

/* What was noted, as a trace, with the advances that did not end; empty if it was cut, or if there
 * is no memory for it. To be released. */
void kit_log_trace(const struct kit_log *log, struct kit_trace *trace);

#endif
