#include "kit_log.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void append(struct kit_log *log, struct kit_op op)
{
    if (log->count < KIT_OPS_MAX) {
        log->ops[log->count++] = op;
    } else {
        log->cut = true;
    }
}

uint32_t kit_log_create(struct kit_log *log, const struct kit_session *session)
{
    if (log->alive == 0) {
        memset(log, 0, offsetof(struct kit_log, ops));
    }
    log->alive++;
    if (log->session_count == KIT_INSTANCES_MAX) {
        log->cut = true;
        return KIT_NO_INSTANCE;
    }
    uint32_t instance = log->session_count++;
    log->sessions[instance] = *session;
    if (instance > 0) {
        append(log, kit_op_of(KIT_OP_CREATE, instance));
    }
    log->current = instance;
    return instance;
}

void kit_log_gone(struct kit_log *log, uint32_t instance)
{
    (void)instance;
    log->alive--;
}

void kit_log_op(struct kit_log *log, uint32_t instance, struct kit_op op)
{
    if (instance == KIT_NO_INSTANCE) {
        return;
    }
    if (instance != log->current) {
        append(log, kit_op_of(KIT_OP_ON, instance));
        log->current = instance;
    }
    append(log, op);
}

void kit_log_advance(struct kit_log *log, uint32_t instance, struct kit_op op)
{
    if (instance != KIT_NO_INSTANCE) {
        log->advance[instance] = op;
        log->advancing[instance] = true;
    }
}

void kit_log_advanced(struct kit_log *log, uint32_t instance)
{
    if (instance != KIT_NO_INSTANCE) {
        log->advancing[instance] = false;
        kit_log_op(log, instance, log->advance[instance]);
    }
}

void kit_log_trace(const struct kit_log *log, struct kit_trace *trace)
{
    *trace = (struct kit_trace){.ops = NULL};
    /* A structure may have written to it. */
    if (log->session_count > KIT_INSTANCES_MAX || log->count > KIT_OPS_MAX) {
        return;
    }
    trace->session_count = log->session_count;
    memcpy(trace->sessions, log->sessions, sizeof trace->sessions);
    size_t most = log->count + 2 * (size_t)KIT_INSTANCES_MAX;
    if (log->cut || log->session_count == 0) {
        return;
    }
    trace->ops = memory_new(most, sizeof *trace->ops);
    memcpy(trace->ops, log->ops, log->count * sizeof *trace->ops);
    trace->count = log->count;
    uint32_t current = log->current;
    for (uint32_t i = 0; i < log->session_count; i++) {
        if (log->advancing[i]) {
            if (i != current) {
                trace->ops[trace->count++] = kit_op_of(KIT_OP_ON, i);
                current = i;
            }
            trace->ops[trace->count++] = log->advance[i];
        }
    }
}
