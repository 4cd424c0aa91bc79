/* Run a structure, and record its steps. */
#include "show.h"

#include "memory.h"
#include "work_series.h"

#include <stdio.h>
#include <stdlib.h>

#define NO_PLACE UINT64_MAX

/* --- arrays that grow ------------------------------------------------------------------------ */

/* Make room for one more item. */
static void *grow(void *items, size_t count, size_t item_bytes)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return items; /* the room is a power of two */
    }
    return memory_resize(items, count == 0 ? 1 : 2 * count, item_bytes);
}

/* --- looking inside -------------------------------------------------------------------------- */

/* A walk, and the step that records it. */
struct looker {
    struct show *show;
    struct show_step *step;
    struct show_cell *cell; /* for the following timers; NULL: the last one was omitted */
    struct show_cell spare; /* a cell that is recorded if it has timers */
    uint64_t cell_index;    /* in walking order */
};

static struct show_part *last_part(struct looker *looker)
{
    return &looker->step->parts[looker->step->part_count - 1];
}

static void see_part(void *ctx, const struct tl_part *part)
{
    struct looker *looker = ctx;
    struct show_step *step = looker->step;
    step->parts = grow(step->parts, step->part_count, sizeof *step->parts);
    step->parts[step->part_count++] =
        (struct show_part){.name = pool_format(&looker->show->pool, "%s", part->name),
                           .form = part->form,
                           .cell_ticks = part->cell_ticks};
    looker->cell = NULL;
    looker->spare = (struct show_cell){0};
}

/* Add a cell to the last part. */
static struct show_cell *keep_cell(struct looker *looker, const struct show_cell *cell)
{
    struct show_part *part = last_part(looker);
    part->cells = grow(part->cells, part->cell_count, sizeof *part->cells);
    part->cells[part->cell_count] = *cell;
    return &part->cells[part->cell_count++];
}

static void see_cell(void *ctx, const struct tl_cell *cell)
{
    struct looker *looker = ctx;
    if (looker->step->part_count == 0) {
        return;
    }
    struct show_part *part = last_part(looker);
    part->cell_total++;
    looker->cell = NULL;
    looker->cell_index = cell->index;
    looker->spare = (struct show_cell){
        .index = cell->index,
        .parent = cell->parent,
        .from = cell->from,
        .to = cell->to,
        .marks = cell->marks,
    };
    /* All cells of a small wheel; of a large one, those with marks here, those with timers
     * later. */
    bool plain = part->form == TL_FORM_WHEEL && cell->marks == 0;
    bool fits = part->cell_count < SHOW_CELLS_MAX || (cell->marks & TL_MARK_HAND) != 0;
    if (fits && (!plain || part->cell_total <= SHOW_CELLS_MAX / 2)) {
        looker->cell = keep_cell(looker, &looker->spare);
        if (cell->refers != NULL) {
            looker->cell->refers = pool_format(&looker->show->pool, "%s", cell->refers);
        }
    }
}

static bool was_started(const struct show *show, uint32_t id)
{
    for (size_t i = 0; i < show->started_count; i++) {
        if (show->started[i] == id) {
            return true;
        }
    }
    return false;
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    struct looker *looker = ctx;
    struct show *show = looker->show;
    if (looker->step->part_count == 0 || held->id >= show->capacity) {
        return;
    }
    bool stale = (held->marks & TL_MARK_STALE) != 0;
    bool changed = false;
    if (!stale) {
        /* A hash of the part's name and the cell's number, to notice moves. In lists and trees a
         * cell is an entry, and its number changes with others. */
        uint64_t place = last_part(looker)->form == TL_FORM_WHEEL ? looker->cell_index : 0;
        for (const char *c = last_part(looker)->name; *c != '\0'; c++) {
            place = (place ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        }
        changed = was_started(show, held->id) ||
                  (show->places[held->id] != place && show->places[held->id] != NO_PLACE);
        show->places[held->id] = place;
    }
    if (looker->cell == NULL && last_part(looker)->cell_count < SHOW_CELLS_MAX) {
        looker->cell = keep_cell(looker, &looker->spare);
    }
    struct show_cell *cell = looker->cell;
    if (cell == NULL) {
        return;
    }
    cell->held_total++;
    if (cell->held_count == SHOW_HELD_MAX) {
        return;
    }
    cell->held = grow(cell->held, cell->held_count, sizeof *cell->held);
    cell->held[cell->held_count++] = (struct show_held){
        .id = held->id,
        .marks = held->marks,
        .at = held->at,
        .deadline = stale ? TL_NEVER : show->deadlines[held->id],
        .rounds = held->rounds,
        .changed = changed,
    };
}

struct pending {
    uint64_t deadline;
    uint32_t id;
};

static int compare_pending(const void *a, const void *b)
{
    const struct pending *x = a;
    const struct pending *y = b;
    if (x->deadline != y->deadline) {
        return x->deadline < y->deadline ? -1 : 1;
    }
    return (x->id > y->id) - (x->id < y->id);
}

/* Derive the content of a structure without `walk`: its timers by deadline. */
static void look_from_outside(struct looker *looker)
{
    struct show *show = looker->show;
    size_t count = 0;
    for (uint32_t id = 0; id < show->capacity; id++) {
        count += show->deadlines[id] != TL_NEVER;
    }
    see_part(looker, &(struct tl_part){.name = "pending, by deadline", .form = TL_FORM_LIST});
    struct pending *pending = memory_new(count + 1, sizeof *pending);
    size_t n = 0;
    for (uint32_t id = 0; id < show->capacity; id++) {
        if (show->deadlines[id] != TL_NEVER) {
            pending[n++] = (struct pending){show->deadlines[id], id};
        }
    }
    qsort(pending, count, sizeof *pending, compare_pending);
    for (size_t i = 0; i < count; i++) {
        see_cell(looker, &(struct tl_cell){
                             .index = i, .parent = TL_NEVER, .from = TL_NEVER, .to = TL_NEVER});
        see_timer(looker, &(struct tl_held){.id = pending[i].id, .at = TL_NEVER});
    }
    free(pending);
}

static void look_inside(struct show *show, struct show_step *step)
{
    struct looker looker = {.show = show, .step = step};
    const struct tl_visitor visitor = {
        .ctx = &looker, .part = see_part, .cell = see_cell, .timer = see_timer};
    if (show->algo->walk != NULL) {
        show->algo->walk(show->self, &visitor);
    } else {
        look_from_outside(&looker);
    }
}

/* --- the run --------------------------------------------------------------------------------- */

bool show_open(struct show *show, const struct contender *contender, const struct show_setup *setup,
               struct error *error)
{
    const struct tl_algo *algo = contender->counted;
    *show = (struct show){.algo = algo,
                          .options = contender->options,
                          .names = setup->names,
                          .capacity = setup->capacity,
                          .clock = setup->clock};
    const char *colon = contender->option_text[0] != '\0' ? ":" : "";
    (void)snprintf(show->title, sizeof show->title, "%s%s%s", algo->name, colon,
                   contender->option_text);
    if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        return error_set(error, "%s keeps no timers: there is nothing to show", algo->name);
    }
    size_t ids = (size_t)setup->capacity + 1;
    show->deadlines = memory_new(ids, sizeof *show->deadlines);
    show->places = memory_new(ids, sizeof *show->places);
    for (size_t id = 0; id < ids; id++) {
        show->deadlines[id] = TL_NEVER;
        show->places[id] = NO_PLACE;
    }
    tl_counting_allocator(&show->memory, tl_system_allocator());
    const struct tl_config config = {
        .capacity = setup->capacity,
        .now = setup->clock,
        .max_delay_ticks = setup->max_delay_ticks,
        .options = contender->options,
        .allocator = &show->memory.allocator,
    };
    enum tl_status status = algo->create(&config, &show->self);
    if (status != TL_OK) {
        show->self = NULL;
        return error_set(error, "%s: %s", show->title, tl_status_text(status));
    }
    return true;
}

enum tl_status show_start(struct show *show, uint32_t id, uint64_t deadline)
{
    enum tl_status status = show->algo->start(show->self, id, deadline);
    if (status != TL_OK) {
        return status;
    }
    show->deadlines[id] = deadline;
    if (!show->quiet) {
        show->started = grow(show->started, show->started_count, sizeof *show->started);
        show->started[show->started_count++] = id;
    }
    return status;
}

enum tl_status show_stop(struct show *show, uint32_t id)
{
    enum tl_status status = show->algo->stop(show->self, id);
    show->deadlines[id] = TL_NEVER;
    show->places[id] = NO_PLACE;
    return status;
}

static void keep_fired(struct show *show, uint32_t id, uint64_t deadline)
{
    show->fired = grow(show->fired, show->fired_count, sizeof *show->fired);
    show->fired[show->fired_count++] = (struct show_fired){id, deadline};
}

struct advance {
    struct show *show;
    tl_fire_fn also;
    void *ctx;
};

static void note_fired(void *ctx, uint32_t id, uint64_t now)
{
    const struct advance *advance = ctx;
    struct show *show = advance->show;
    if (id >= show->capacity) {
        return;
    }
    uint64_t deadline = show->deadlines[id];
    show->deadlines[id] = TL_NEVER;
    show->places[id] = NO_PLACE;
    if (!show->quiet) {
        keep_fired(show, id, deadline);
    }
    if (advance->also != NULL) {
        advance->also(advance->ctx, id, now);
    }
}

uint64_t show_advance(struct show *show, uint64_t now, tl_fire_fn also, void *ctx)
{
    struct advance advance = {.show = show, .also = also, .ctx = ctx};
    show->clock = now;
    return show->algo->advance(show->self, now, TL_NO_BUDGET, note_fired, &advance);
}

static void forget_step(struct show *show)
{
    free(show->fired);
    free(show->started);
    show->fired = NULL;
    show->started = NULL;
    show->fired_count = 0;
    show->started_count = 0;
}

struct tl_counters show_counted(const struct show *show)
{
    struct tl_counters counted = {0};
    if (show->algo->counters != NULL) {
        show->algo->counters(show->self, &counted);
    }
    return counted;
}

void show_set_quiet(struct show *show, bool quiet)
{
    show->quiet = quiet;
    show->work = show_counted(show);
}

void show_end_step(struct show *show, const char *caption, const char *outcome)
{
    if (show->step_count == SHOW_STEPS_MAX) {
        show->truncated = true;
        forget_step(show);
        return;
    }
    show->steps = grow(show->steps, show->step_count, sizeof *show->steps);
    struct show_step *step = &show->steps[show->step_count++];
    *step = (struct show_step){
        .caption = caption,
        .outcome = outcome,
        .clock = show->clock,
        .pending = show->algo->count(show->self),
        .next = show->algo->next != NULL ? show->algo->next(show->self) : TL_NEVER,
        .fired = show->fired,
        .fired_count = show->fired_count,
    };
    show->fired = NULL;
    show->fired_count = 0;
    const struct tl_counters counted = show_counted(show);
    step->work = work_since(&counted, &show->work);
    show->work = counted;
    look_inside(show, step);
    forget_step(show);
}

void show_close(struct show *show)
{
    if (show->self != NULL) {
        show->algo->destroy(show->self);
    }
    for (size_t i = 0; i < show->step_count; i++) {
        struct show_step *step = &show->steps[i];
        for (size_t k = 0; k < step->part_count; k++) {
            for (size_t cell = 0; cell < step->parts[k].cell_count; cell++) {
                free(step->parts[k].cells[cell].held);
            }
            free(step->parts[k].cells);
        }
        free(step->parts);
        free(step->fired);
    }
    free(show->steps);
    free(show->deadlines);
    free(show->places);
    free(show->fired);
    free(show->started);
    pool_free(&show->pool);
    *show = (struct show){0};
}
