/* The output of a structure's `check` and `walk`, compared with the model. */
#include "kit_subject.h"

#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With no more timers than this, no slot is crowded. */
#define CROWD      16u

/* A walk costs time for each cell: do it only in each of this number of inspections. */
#define WALK_EVERY 16

/* The cost of a structure's check is not bounded: do it only with up to this number of timers. */
#define CHECK_MOST 4096u

struct link {
    uint64_t index;
    uint64_t parent;
};

/* A walk under way. */
struct walk {
    struct kit_subject *subject;
    uint32_t *sightings; /* of each timer, by id */
    struct tl_part part; /* without a name: none yet */
    char part_name[48];
    uint64_t cells;      /* of the part so far */
    struct tl_cell cell; /* the last one */
    uint64_t hands;
    struct link *links; /* the cells */
    size_t room;
    bool sorted;
};

#define WALK_FAIL(walk, format, ...)                                                               \
    kit_fail((walk)->subject->witness, FAULT_WALK, "walk at clock %" PRIu64 " shows " format,      \
             (walk)->subject->clock, __VA_ARGS__)

static int by_index(const void *left, const void *right)
{
    const struct link *a = left;
    const struct link *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* The indices of cells are unique; a wheel shows all of its slots. In a tree, each cell but the roots
 * has a parent that is shown; in other parts, none has. */
static void check_cells(const struct walk *walk)
{
    bool has_root = walk->cells == 0;
    for (uint64_t i = 0; i < walk->cells; i++) {
        struct link link = walk->links[i];
        struct link parent = {.index = link.parent};
        if (i > 0 && link.index == walk->links[i - 1].index) {
            WALK_FAIL(walk, "two cells %" PRIu64 " in `%s`", link.index, walk->part_name);
        }
        if (walk->part.form == TL_FORM_WHEEL && link.index != i) {
            WALK_FAIL(walk, "cell %" PRIu64 " of the wheel `%s`, and no cell %" PRIu64, link.index,
                      walk->part_name, i);
        }
        has_root = has_root || link.parent == TL_NEVER;
        if (link.parent == TL_NEVER) {
            continue;
        }
        bool is_shown =
            bsearch(&parent, walk->links, (size_t)walk->cells, sizeof parent, by_index) != NULL;
        if (walk->part.form != TL_FORM_TREE || link.parent == link.index || !is_shown) {
            WALK_FAIL(walk, "cell %" PRIu64 " of `%s` hanging from %" PRIu64 ", %s", link.index,
                      walk->part_name, link.parent,
                      walk->part.form != TL_FORM_TREE ? "and the part is no tree"
                      : is_shown                      ? "itself"
                                                      : "which is not shown");
        }
    }
    if (!has_root) {
        WALK_FAIL(walk, "a tree `%s` in which every cell hangs from another", walk->part_name);
    }
}

static void end_part(struct walk *walk)
{
    if (walk->part.name == NULL) {
        return;
    }
    if (walk->part.form == TL_FORM_WHEEL && (walk->cells == 0 || walk->hands > 1)) {
        WALK_FAIL(walk, "a wheel `%s` with %s", walk->part_name,
                  walk->cells == 0 ? "no cells" : "more than one hand");
    }
    if (!walk->sorted) {
        qsort(walk->links, (size_t)walk->cells, sizeof *walk->links, by_index);
    }
    check_cells(walk);
}

static void see_part(void *ctx, const struct tl_part *part)
{
    struct walk *walk = ctx;
    end_part(walk);
    if (part->name == NULL || part->form > TL_FORM_TREE) {
        WALK_FAIL(walk, "a part %s", "without a name, or of no known form");
    }
    walk->part = *part;
    (void)snprintf(walk->part_name, sizeof walk->part_name, "%s", part->name);
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
    if (walk->part.name == NULL) {
        WALK_FAIL(walk, "cell %" PRIu64 " before any part", cell->index);
    }
    keep_link(walk, cell);
    if (cell->from > cell->to) {
        WALK_FAIL(walk,
                  "cell %" PRIu64 " of `%s`, for ticks "
                  "%" PRIu64 " to %" PRIu64,
                  cell->index, walk->part_name, cell->from, cell->to);
    }
    walk->cell = *cell;
    walk->cells++;
    walk->hands += (cell->marks & TL_MARK_HAND) != 0;
}

/* A timer is kept with its due tick, in a cell of a wheel that does not come too late for it. */
static void check_held(const struct walk *walk, const struct tl_held *held)
{
    struct kit_subject *subject = walk->subject;
    const struct kit_timer *timer = &subject->timers[held->id];
    const struct tl_cell *cell = &walk->cell;
    /* For a timer that was due when it was started, structures keep other ticks. */
    if (timer->state != KIT_TIMER_PENDING || timer->deadline <= timer->started_at) {
        return;
    }
    if (held->at != TL_NEVER && held->at != timer->due &&
        (held->at > timer->limit || (held->at < timer->due && timer->filed_under == timer->due))) {
        WALK_FAIL(walk, "timer %" PRIu32 " kept with tick %" PRIu64 ", and it is due at %" PRIu64,
                  held->id, held->at, timer->due);
    }
    /* Where memory was refused or a slot is crowded, a timer may be in any other. */
    if (subject->guard.refused == 0 && subject->pending <= CROWD &&
        walk->part.form == TL_FORM_WHEEL && held->rounds == 0 && cell->from != TL_NEVER &&
        cell->from > timer->limit && cell->from > subject->clock) {
        WALK_FAIL(walk,
                  "timer %" PRIu32 ", which is to fire by %" PRIu64 ", in cell %" PRIu64
                  " of `%s`, for ticks %" PRIu64 " to %" PRIu64,
                  held->id, timer->limit, cell->index, walk->part_name, cell->from, cell->to);
    }
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    struct walk *walk = ctx;
    struct kit_subject *subject = walk->subject;
    if (walk->cells == 0 || held->id >= subject->capacity) {
        WALK_FAIL(walk, "timer %" PRIu32 " %s", held->id,
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
            WALK_FAIL(&walk, "timer %" PRIu32 " %" PRIu32 " times, and it is %s", id,
                      walk.sightings[id], expected ? "pending" : "not pending");
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
            kit_fail(subject->witness, FAULT_CORRUPT, "at clock %" PRIu64 ", check returned %s: %s",
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
