/* What a structure says of its own inside, held against the model. */
#include "kit_subject.h"

#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many timers as any slot should hold. */
#define CROWD      16u

/* A walk takes as long as the structure has cells: every so many inspections are enough. */
#define WALK_EVERY 16

/* A structure's check may cost what it likes, so it is asked where there are not too many. */
#define CHECK_MOST 4096u

struct link {
    uint64_t index;
    uint64_t parent;
};

/* A walk under way. */
struct walk {
    struct kit_subject *subject;
    uint32_t *sightings; /* of each timer, by id */
    struct tl_part part;
    char part_name[48];
    bool has_part;
    bool has_cell;
    struct tl_cell cell;
    uint64_t cells; /* of the part so far */
    uint64_t hands;
    struct link *links; /* the cells */
    size_t room;
    bool sorted;
};

static int by_index(const void *left, const void *right)
{
    const struct link *a = left;
    const struct link *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* Each cell has an index of its own; a wheel shows all of its slots. */
static void check_indices(struct walk *walk)
{
    struct kit_subject *subject = walk->subject;
    if (!walk->sorted) {
        qsort(walk->links, (size_t)walk->cells, sizeof *walk->links, by_index);
    }
    for (uint64_t i = 0; i < walk->cells; i++) {
        uint64_t index = walk->links[i].index;
        if (i > 0 && index == walk->links[i - 1].index) {
            kit_fail(subject->witness, FAULT_WALK,
                     "walk at clock %" PRIu64 " shows two cells %" PRIu64 " in `%s`",
                     subject->clock, index, walk->part_name);
        }
        if (walk->part.form == TL_FORM_WHEEL && index != i) {
            kit_fail(subject->witness, FAULT_WALK,
                     "walk at clock %" PRIu64 " shows cell %" PRIu64
                     " of the wheel `%s`, and no cell %" PRIu64,
                     subject->clock, index, walk->part_name, i);
        }
    }
}

/* Each cell of a tree hangs from another that is shown, but for the roots; of any other part, from
 * none. */
static void check_parents(const struct walk *walk)
{
    struct kit_subject *subject = walk->subject;
    bool has_root = walk->cells == 0;
    for (uint64_t i = 0; i < walk->cells; i++) {
        struct link link = walk->links[i];
        has_root = has_root || link.parent == TL_NEVER;
        if (link.parent == TL_NEVER) {
            continue;
        }
        struct link parent = {.index = link.parent};
        bool is_shown =
            bsearch(&parent, walk->links, (size_t)walk->cells, sizeof parent, by_index) != NULL;
        if (walk->part.form != TL_FORM_TREE || link.parent == link.index || !is_shown) {
            kit_fail(subject->witness, FAULT_WALK,
                     "walk at clock %" PRIu64 " shows cell %" PRIu64
                     " of `%s` hanging from %" PRIu64 ", %s",
                     subject->clock, link.index, walk->part_name, link.parent,
                     walk->part.form != TL_FORM_TREE ? "and the part is no tree"
                     : is_shown                      ? "itself"
                                                     : "which is not shown");
        }
    }
    if (!has_root) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows a tree `%s` in which every cell hangs from "
                 "another",
                 subject->clock, walk->part_name);
    }
}

static void end_part(struct walk *walk)
{
    struct kit_subject *subject = walk->subject;
    if (!walk->has_part) {
        return;
    }
    if (walk->part.form == TL_FORM_WHEEL && (walk->cells == 0 || walk->hands > 1)) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows a wheel `%s` with %s", subject->clock,
                 walk->part_name, walk->cells == 0 ? "no cells" : "more than one hand");
    }
    check_indices(walk);
    check_parents(walk);
}

static void see_part(void *ctx, const struct tl_part *part)
{
    struct walk *walk = ctx;
    struct kit_subject *subject = walk->subject;
    end_part(walk);
    if (part->name == NULL || part->form > TL_FORM_TREE) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows a part without a name, or of no known form",
                 subject->clock);
    }
    walk->part = *part;
    (void)snprintf(walk->part_name, sizeof walk->part_name, "%s", part->name);
    walk->has_part = true;
    walk->has_cell = false;
    walk->cells = 0;
    walk->sorted = true;
    walk->hands = 0;
}

static void keep_link(struct walk *walk, const struct tl_cell *cell)
{
    MEMORY_REACH(walk->links, walk->room, walk->cells);
    walk->sorted =
        walk->sorted && (walk->cells == 0 || walk->links[walk->cells - 1].index < cell->index);
    walk->links[walk->cells] = (struct link){cell->index, cell->parent};
}

static void see_cell(void *ctx, const struct tl_cell *cell)
{
    struct walk *walk = ctx;
    struct kit_subject *subject = walk->subject;
    if (!walk->has_part) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows cell %" PRIu64 " before any part", subject->clock,
                 cell->index);
    }
    keep_link(walk, cell);
    if (cell->from > cell->to) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows cell %" PRIu64 " of `%s`, which stands for ticks "
                 "%" PRIu64 " to %" PRIu64,
                 subject->clock, cell->index, walk->part_name, cell->from, cell->to);
    }
    walk->cell = *cell;
    walk->has_cell = true;
    walk->cells++;
    walk->hands += (cell->marks & TL_MARK_HAND) != 0;
}

/* What a cell of a wheel says of a timer that waits in it for no further turn. */
static void check_held(const struct walk *walk, const struct tl_held *held)
{
    struct kit_subject *subject = walk->subject;
    const struct kit_timer *timer = &subject->timers[held->id];
    const struct tl_cell *cell = &walk->cell;
    /* For what is due when it is started, structures keep other ticks than its deadline. */
    if (timer->state != KIT_TIMER_PENDING || timer->deadline <= timer->started_at) {
        return;
    }
    if (held->at != TL_NEVER && held->at != timer->due &&
        (held->at > timer->limit || (held->at < timer->due && timer->filed_under == timer->due))) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows timer %" PRIu32 " kept with tick %" PRIu64
                 ", and it is due at %" PRIu64,
                 subject->clock, held->id, held->at, timer->due);
    }
    /* A timer may be wherever there is room, where memory was refused or its slot is crowded. */
    if (subject->guard.refused == 0 && subject->pending <= CROWD &&
        walk->part.form == TL_FORM_WHEEL && held->rounds == 0 && cell->from != TL_NEVER &&
        cell->from > timer->limit && cell->from > subject->clock) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows timer %" PRIu32 ", which is to fire by %" PRIu64
                 ", in cell %" PRIu64 " of `%s`, which stands for ticks %" PRIu64 " to %" PRIu64,
                 subject->clock, held->id, timer->limit, cell->index, walk->part_name, cell->from,
                 cell->to);
    }
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    struct walk *walk = ctx;
    struct kit_subject *subject = walk->subject;
    if (!walk->has_cell || held->id >= subject->capacity) {
        kit_fail(subject->witness, FAULT_WALK,
                 "walk at clock %" PRIu64 " shows timer %" PRIu32 " %s", subject->clock, held->id,
                 held->id >= subject->capacity ? "of no such id" : "before any cell of its part");
    }
    if ((held->marks & TL_MARK_STALE) != 0) {
        return;
    }
    walk->sightings[held->id]++;
    check_held(walk, held);
}

static void inspect_walk(struct kit_subject *subject)
{
    struct walk walk = {.subject = subject,
                        .sightings =
                            memory_new((size_t)subject->capacity + 1, sizeof *walk.sightings)};
    const struct tl_visitor visitor = {
        .ctx = &walk, .part = see_part, .cell = see_cell, .timer = see_timer};
    kit_enter(subject, KIT_HOOK_WALK, 0, subject->clock);
    subject->algo->walk(subject->self, &visitor);
    end_part(&walk);
    free(walk.links);
    for (uint32_t id = 0; id < subject->capacity; id++) {
        uint32_t expected = subject->timers[id].state == KIT_TIMER_PENDING;
        if (walk.sightings[id] != expected) {
            kit_fail(subject->witness, FAULT_WALK,
                     "walk at clock %" PRIu64 " shows timer %" PRIu32 " %" PRIu32
                     " times, and it is %s",
                     subject->clock, id, walk.sightings[id], expected ? "pending" : "not pending");
        }
    }
    free(walk.sightings);
}

void subject_inspect(struct kit_subject *subject)
{
    if (!subject->witness->repeating) {
        kit_log_op(&subject->witness->log, subject->instance, kit_op_of(KIT_OP_INSPECT, 0));
    }
    subject_check_memory(subject);
    if (subject->algo->check != NULL && subject->pending <= CHECK_MOST) {
        char why[256] = "";
        kit_enter(subject, KIT_HOOK_CHECK, 0, subject->clock);
        enum tl_status status = subject->algo->check(subject->self, why, sizeof why);
        if (status != TL_OK) {
            why[sizeof why - 1] = '\0';
            kit_fail(subject->witness, FAULT_CORRUPT, "at clock %" PRIu64 ", check says %s: %s",
                     subject->clock, tl_status_name(status), why);
        }
    }
    bool walks = subject->algo->walk != NULL &&
                 (subject->witness->repeating || subject->witness->inspections % WALK_EVERY == 0);
    subject->witness->inspections++;
    if (walks) {
        inspect_walk(subject);
    }
}
