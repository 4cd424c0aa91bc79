/* What a structure says of its own inside, held against the model. */
#include "kit_subject.h"

#include <inttypes.h>

/* A walk takes as long as the structure has cells: every so many inspections are enough. */
#define WALK_EVERY  16

/* To find a place may take as long as there are timers: of very many, so many are asked for. */
#define PLACES_MOST 600u

static void see_part(void *ctx, const struct tl_part *part)
{
    struct kit_subject *subject = ctx;
    if (part->name == NULL || part->form > TL_FORM_TREE) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows a part without a name, or of no known form",
                 subject->clock);
    }
    subject->walk_depth = 1;
}

static void see_cell(void *ctx, const struct tl_cell *cell)
{
    struct kit_subject *subject = ctx;
    if (subject->walk_depth == 0) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows cell %" PRIu64 " before any part", subject->clock,
                 cell->index);
    }
    subject->walk_depth = 2;
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    struct kit_subject *subject = ctx;
    if (subject->walk_depth < 2 || held->id >= subject->capacity) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows timer %" PRIu32 " %s", subject->clock, held->id,
                 held->id >= subject->capacity ? "of no such id" : "before any cell of its part");
    }
    if ((held->marks & TL_MARK_STALE) == 0) {
        subject->timers[held->id].shown++;
    }
}

static void inspect_walk(struct kit_subject *subject)
{
    const struct tl_visitor visitor = {
        .ctx = subject, .part = see_part, .cell = see_cell, .timer = see_timer};
    for (uint32_t id = 0; id < subject->capacity; id++) {
        subject->timers[id].shown = 0;
    }
    subject->walk_depth = 0;
    kit_enter(subject, KIT_HOOK_WALK, 0, subject->clock);
    subject->algo->walk(subject->self, &visitor);
    for (uint32_t id = 0; id < subject->capacity; id++) {
        uint32_t expected = subject->timers[id].state == KIT_TIMER_PENDING;
        if (subject->timers[id].shown != expected) {
            kit_fail(subject->witness, FAULT_WALK,
                     "walk at clock %" PRIu64 " shows timer %" PRIu32 " %" PRIu32
                     " times, and it is %s",
                     subject->clock, id, subject->timers[id].shown,
                     expected ? "pending" : "not pending");
        }
    }
}

void subject_inspect(struct kit_subject *subject)
{
    if (!subject->witness->repeating) {
        kit_log_op(&subject->witness->log, subject->instance, kit_op_of(KIT_OP_INSPECT, 0));
    }
    kit_guard_check(&subject->guard);
    if (subject->algo->check != NULL) {
        char why[256] = "";
        kit_enter(subject, KIT_HOOK_CHECK, 0, subject->clock);
        enum tl_status status = subject->algo->check(subject->self, why, sizeof why);
        if (status != TL_OK) {
            why[sizeof why - 1] = '\0';
            kit_fail(subject->witness, FAULT_CORRUPT, "at clock %" PRIu64 ", check says %s: %s",
                     subject->clock, tl_status_name(status), why);
        }
    }
    bool walks = subject->witness->repeating || subject->inspections++ % WALK_EVERY == 0;
    if (subject->algo->walk != NULL && walks) {
        inspect_walk(subject);
    }
    if (subject->algo->place == NULL) {
        return;
    }
    uint32_t stride = 1 + subject->capacity / PLACES_MOST;
    for (uint32_t id = (uint32_t)(subject->inspections % stride); id < subject->capacity;
         id += stride) {
        struct tl_place place = {0};
        kit_enter(subject, KIT_HOOK_PLACE, id, subject->clock);
        enum tl_status status = subject->algo->place(subject->self, id, &place);
        enum tl_status expected = subject->timers[id].state == KIT_TIMER_PENDING ? TL_OK : TL_IDLE;
        if (status != expected) {
            kit_fail(subject->witness, FAULT_PLACE,
                     "place of timer %" PRIu32 " at clock %" PRIu64 " returned %s, expected %s", id,
                     subject->clock, tl_status_name(status), tl_status_name(expected));
        }
    }
}
