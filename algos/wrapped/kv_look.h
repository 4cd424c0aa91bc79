/*
 * kv_look.h: kv-wheel's table looked at and left alone: `check`.
 *
 * Internal to kv_wheel.c.
 */
#ifndef ALGOS_KV_LOOK_H
#define ALGOS_KV_LOOK_H

#include "kv_table.h"

#include "check.h"

#include <inttypes.h>

struct audit {
    struct kv_wheel *wheel;
    uint64_t met;      /* timers that wait, by their records */
    const char *wrong; /* NULL: nothing */
};

static bool audit_task(struct audit *audit, const struct task *task)
{
    struct kv_wheel *wheel = audit->wheel;
    bool is_known = task->id < wheel->capacity && is_meant(wheel, task);
    audit->met += is_known;
    audit->wrong = !is_known                      ? "a record is no timer's"
                   : task->due < wheel->first_due ? "a record comes before the first"
                                                  : NULL;
    return audit->wrong == NULL;
}

static bool visit_to_audit(void *ctx, const struct kv_record *record)
{
    struct audit *audit = ctx;
    struct task task;
    if (record->key[0] != TAG_TIMER) {
        return true;
    }
    task = task_of_keyed(record);
    return audit_task(audit, &task);
}

static enum tl_status kv_check(const void *self, char *why, size_t why_bytes)
{
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* reading begins a transaction */
    uint64_t waiting = 0;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        waiting += is_waiting(&wheel->nodes[id]);
        pending += wheel->nodes[id].due != IDLE;
    }
    if (pending != wheel->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers pending, %" PRIu64 " counted", pending,
                       wheel->count);
    }
    if (wheel->lost != TL_OK || !wheel->is_recovered) {
        return TL_OK;
    }
    struct audit audit = {.wheel = wheel};
    struct kv_record from = tagged(0);
    if (kv_seek(wheel->store, &from, visit_to_audit, &audit) != TL_OK) {
        audit.wrong = kv_failure(wheel->store);
    }
    if (audit.wrong == NULL && (audit.met != waiting)) {
        audit.wrong = "a timer has no record";
    }
    return audit.wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", audit.wrong);
}

#endif
