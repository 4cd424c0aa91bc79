/*
 * kit_log.h: a log of all operations, in memory that outlives the process, so that they can be
 * printed, replayed and made shorter after any end of the process.
 *
 * An operation of a callback is logged as `when ID fires ...` before the advance that calls it; a
 * timer fires at most once in an advance, so the meaning is the same.
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
    uint32_t current; /* the instance of the last operation */
    bool cut;         /* the log is incomplete */
    bool advancing[KIT_INSTANCES_MAX];
    struct kit_op advance[KIT_INSTANCES_MAX]; /* the one under way */
    uint32_t count;
    struct kit_op ops[KIT_OPS_MAX]; /* last: not cleared between runs */
};

/* Log a create. If no other structure is alive, the log is emptied first. Return the instance,
 * KIT_NO_INSTANCE if there are too many. */
uint32_t kit_log_create(struct kit_log *log, const struct kit_session *session);

/* Log that create failed or that the structure was destroyed. */
void kit_log_gone(struct kit_log *log, uint32_t instance);

/* Log an operation that is about to be executed. */
void kit_log_op(struct kit_log *log, uint32_t instance, struct kit_op op);

/* Log the begin and the end of an advance; operations between belong to its callbacks. */
void kit_log_advance(struct kit_log *log, uint32_t instance, struct kit_op op);
void kit_log_advanced(struct kit_log *log, uint32_t instance);

/* Make a trace of the log, with the advances that did not return; empty if the log is incomplete.
 * To be released. */
void kit_log_trace(const struct kit_log *log, struct kit_trace *trace);

#endif
