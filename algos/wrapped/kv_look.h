/*
 * kv_look.h: kv-wheel's table looked at and left alone: `check` and `walk`.
 *
 * Internal to kv_wheel.c.
 */
#ifndef ALGOS_KV_LOOK_H
#define ALGOS_KV_LOOK_H

#include "kv_table.h"

#include "check.h"
#include "walk.h"

#include <inttypes.h>

/* --- check ----------------------------------------------------------------------------------- */

struct audit {
    struct kv_wheel *wheel;
    uint64_t met;      /* timers that wait, by their records */
    uint64_t chained;  /* layout=list: records that lists lead to */
    uint64_t tasks;    /* layout=list: records that there are */
    const char *wrong; /* NULL: nothing */
};

static bool audit_task(struct audit *audit, const struct task *task)
{
    struct kv_wheel *wheel = audit->wheel;
    bool is_known = task->id < wheel->capacity && is_meant(wheel, task);
    bool is_stale = wheel->layout == LAYOUT_LIST;
    audit->met += is_known;
    audit->wrong = !is_known && !is_stale         ? "a record is no timer's"
                   : task->due < wheel->first_due ? "a record comes before the first"
                                                  : NULL;
    return audit->wrong == NULL;
}

static void audit_list(struct audit *audit, const struct kv_record *head)
{
    struct kv_wheel *wheel = audit->wheel;
    struct task task;
    for (uint64_t generation = number_at(head->value, 8); generation != 0; generation = task.next) {
        if (look_up(wheel, generation, &task) != TL_OK) {
            audit->wrong = "a list leads to no record";
            return;
        }
        if (task.due % SLOTS != slot_of_head(wheel, head) ||
            task.id % wheel->partitions != part_of_head(wheel, head)) {
            audit->wrong = "a record is in another's list";
        }
        audit->chained++;
    }
}

static bool visit_to_audit(void *ctx, const struct kv_record *record)
{
    struct audit *audit = ctx;
    struct task task;
    switch (record->key[0]) {
    case TAG_HEAD:
        audit_list(audit, record);
        return audit->wrong == NULL;
    case TAG_TASK:
        audit->tasks++;
        task = task_of_listed(record);
        return audit_task(audit, &task);
    case TAG_TIMER:
        task = task_of_keyed(record);
        return audit_task(audit, &task);
    default:
        return true;
    }
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
    if (audit.wrong == NULL && audit.chained != audit.tasks) {
        audit.wrong = "a record is in no list";
    }
    if (audit.wrong == NULL && (audit.met != waiting)) {
        audit.wrong = "a timer has no record";
    }
    return audit.wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", audit.wrong);
}

/* --- walk ------------------------------------------------------------------------------------ */

/* What is shown, record by record, in the order of the keys: a part for each list, in the order of
 * its links; else one for the table. */
struct showing {
    struct kv_wheel *wheel;
    const struct tl_visitor *visitor;
    int tag;        /* of the part under way; 0: there is none yet */
    uint64_t cells; /* of the part */
};

static void show_record(struct showing *showing, uint32_t id, uint64_t deadline, bool is_pending)
{
    walk_node(showing->visitor, showing->cells++, TL_NEVER);
    if (is_pending) {
        walk_timer(showing->visitor, id, deadline, 0);
    } else {
        walk_stale(showing->visitor, id, deadline);
    }
}

static void show_part(struct showing *showing, const char *name, int tag)
{
    if (tag != showing->tag) {
        walk_part(showing->visitor, name, TL_FORM_LIST, 0);
        showing->cells = 0;
        showing->tag = tag;
    }
}

static void show_task(struct showing *showing, const struct task *task)
{
    show_record(showing, task->id, task->deadline, is_meant(showing->wheel, task));
}

static void show_list(struct showing *showing, const struct kv_record *head)
{
    const struct kv_wheel *wheel = showing->wheel;
    char name[64];
    (void)snprintf(name, sizeof name, "slot %" PRIu64 ", list %" PRIu64, slot_of_head(wheel, head),
                   part_of_head(wheel, head));
    showing->tag = 0; /* each list is a part */
    show_part(showing, name, TAG_HEAD);
    struct task task;
    for (uint64_t generation = number_at(head->value, 8);
         generation != 0 && look_up(wheel, generation, &task) == TL_OK; generation = task.next) {
        show_task(showing, &task);
    }
}

static bool visit_to_show(void *ctx, const struct kv_record *record)
{
    struct showing *showing = ctx;
    if (record->key[0] == TAG_HEAD) {
        show_list(showing, record);
    } else if (record->key[0] == TAG_TIMER) {
        struct task task = task_of_keyed(record);
        show_part(showing, "table", TAG_TIMER);
        show_task(showing, &task);
    }
    return true;
}

/* While the store is behind, what memory knows: no deadline but the key's. */
static void show_nodes(struct showing *showing)
{
    const struct kv_wheel *wheel = showing->wheel;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = &wheel->nodes[id];
        if (node->due != IDLE) {
            show_part(showing, "in memory alone", TAG_META);
            show_record(showing, id, is_waiting(node) ? node->due : TL_NEVER, true);
        }
    }
}

static void kv_walk(const void *self, const struct tl_visitor *visitor)
{
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* reading begins a transaction */
    struct showing showing = {.wheel = wheel, .visitor = visitor};
    struct kv_record from = tagged(0);
    if (wheel->lost != TL_OK) {
        show_nodes(&showing);
    } else if (wheel->is_recovered) {
        (void)kv_seek(wheel->store, &from, visit_to_show, &showing);
    }
}

#endif
