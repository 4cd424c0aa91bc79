/* A structure under test: see stand.h. */
#include "stand.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the structure --------------------------------------------------------------------------- */

const struct tl_algo *stand_algo(const char *name)
{
    const struct tl_entry *entry = tl_registry_find(name);
    assert_non_null(entry);
    return entry->counted;
}

/* Room for the due ticks of more timers, which are idle. */
static void widen(struct stand *s, uint32_t capacity)
{
    s->due = realloc(s->due, (capacity + (size_t)1) * sizeof *s->due);
    assert_non_null(s->due);
    for (uint32_t id = s->capacity; id < capacity; id++) {
        s->due[id] = TL_NEVER;
    }
    s->capacity = capacity;
}

enum tl_status stand_try(struct stand *s, const struct tl_algo *algo, const char *text,
                         struct tl_config config)
{
    char why[256] = "";
    *s = (struct stand){.algo = algo, .clock = config.now};
    tl_counting_allocator(&s->memory, tl_system_allocator());
    if (text != NULL && tl_options_parse(algo, text, s->options, why, sizeof why) != TL_OK) {
        fail_msg("%s:%s: %s", algo->name, text, why);
    }
    config.options = text != NULL ? s->options : config.options;
    config.allocator = &s->memory.allocator;
    enum tl_status status = algo->create(&config, &s->self);
    if (status == TL_OK) {
        widen(s, config.capacity);
    } else {
        assert_int_equal(s->memory.bytes, 0);
    }
    return status;
}

void stand_must(struct stand *s, const struct tl_algo *algo, const char *text,
                struct tl_config config)
{
    enum tl_status status = stand_try(s, algo, text, config);
    if (status != TL_OK) {
        fail_msg("%s:%s: %s", algo->name, text != NULL ? text : "", tl_status_text(status));
    }
}

void stand_check(const struct stand *s)
{
    char why[256] = "";
    uint64_t pending = 0;
    for (uint32_t id = 0; id < s->capacity; id++) {
        pending += s->due[id] != TL_NEVER;
    }
    assert_int_equal(stand_count(s), pending);
    if (s->algo->check != NULL && s->algo->check(s->self, why, sizeof why) != TL_OK) {
        fail_msg("%s at tick %" PRIu64 ": %s", s->algo->name, s->clock, why);
    }
}

void stand_close(struct stand *s)
{
    stand_check(s);
    s->algo->destroy(s->self);
    assert_int_equal(s->memory.bytes, 0);
    free(s->due);
}

void stand_reserve(struct stand *s, uint32_t capacity)
{
    assert_int_equal(s->algo->reserve(s->self, capacity), TL_OK);
    widen(s, capacity);
}

/* --- its timers ------------------------------------------------------------------------------ */

enum tl_status stand_try_start(struct stand *s, uint32_t id, uint64_t deadline)
{
    enum tl_status status = s->algo->start(s->self, id, deadline);
    if (status == TL_OK) {
        s->due[id] = deadline > s->clock ? deadline : s->clock;
    }
    return status;
}

void stand_start(struct stand *s, uint32_t id, uint64_t deadline)
{
    assert_int_equal(stand_try_start(s, id, deadline), TL_OK);
}

enum tl_status stand_stop(struct stand *s, uint32_t id)
{
    enum tl_status status = s->algo->stop(s->self, id);
    assert_int_equal(status, s->due[id] != TL_NEVER ? TL_OK : TL_IDLE);
    s->due[id] = TL_NEVER;
    return status;
}

/* One advance. */
struct turn {
    struct stand *s;
    uint64_t fired;
};

static void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct turn *turn = ctx;
    struct stand *s = turn->s;
    assert_int_equal(now, s->clock);
    assert_true(id < s->capacity);
    uint64_t due = s->due[id];
    if (due == TL_NEVER) {
        fail_msg("%s: idle timer %" PRIu32 " fires at tick %" PRIu64, s->algo->name, id, now);
    }
    s->due[id] = TL_NEVER;
    s->fired++;
    if (turn->fired < STAND_FIRED_MAX) {
        s->ids[turn->fired] = id;
    }
    turn->fired++;
    if (s->on_expiry != NULL) {
        s->on_expiry(s, id, due);
    }
}

uint64_t stand_advance_some(struct stand *s, uint64_t now, uint64_t budget)
{
    struct turn turn = {.s = s};
    s->clock = now;
    uint64_t fired = s->algo->advance(s->self, now, budget, on_fire, &turn);
    assert_int_equal(fired, turn.fired);
    return fired;
}

uint64_t stand_advance(struct stand *s, uint64_t now)
{
    return stand_advance_some(s, now, TL_NO_BUDGET);
}

uint64_t stand_run_dry(struct stand *s)
{
    while (stand_count(s) > 0) {
        (void)stand_advance(s, s->clock + 1);
    }
    return s->clock;
}

uint64_t stand_next(const struct stand *s)
{
    return s->algo->next(s->self);
}

uint64_t stand_count(const struct stand *s)
{
    return s->algo->count(s->self);
}

/* --- its work -------------------------------------------------------------------------------- */

struct tl_counters stand_counters(const struct stand *s)
{
    struct tl_counters counters = {0};
    s->algo->counters(s->self, &counters);
    return counters;
}

struct tl_counters stand_since(const struct stand *s, const struct tl_counters *before)
{
    struct tl_counters now = stand_counters(s);
    return (struct tl_counters){
        .compares = now.compares - before->compares,
        .moves = now.moves - before->moves,
        .slots = now.slots - before->slots,
        .cascades = now.cascades - before->cascades,
    };
}

uint64_t stand_work(const struct stand *s)
{
    struct tl_counters counters = stand_counters(s);
    return counters.compares + counters.moves + counters.slots;
}

uint64_t stand_draw(struct stand *s, uint64_t bound)
{
    return test_draw(&s->random) % bound;
}

/* --- where its walk shows a timer ------------------------------------------------------------ */

/* A walk under way. */
struct place_walk {
    struct place *places;
    uint32_t capacity;
    struct place at; /* the cell that is being shown */
    uint64_t index;
    bool is_tree;
    uint64_t *parents; /* of the tree's cells, by index */
    uint64_t room;
};

static void place_part(void *ctx, const struct tl_part *part)
{
    struct place_walk *walk = ctx;
    bool named = strncmp(part->name, "level ", 6) == 0;
    (void)snprintf(walk->at.part, sizeof walk->at.part, "%s", part->name);
    walk->at.level = named ? (unsigned)atoi(part->name + 6) : part->form == TL_FORM_WHEEL;
    walk->is_tree = part->form == TL_FORM_TREE;
}

static void place_cell(void *ctx, const struct tl_cell *cell)
{
    struct place_walk *walk = ctx;
    walk->at.slot = cell->index;
    walk->at.from = cell->from;
    walk->at.to = cell->to;
    if (walk->is_tree && cell->index >= walk->room) {
        uint64_t room = 2 * cell->index + 64;
        walk->parents = realloc(walk->parents, room * sizeof *walk->parents);
        walk->room = room;
    }
    if (walk->is_tree) {
        walk->parents[cell->index] = cell->parent;
    }
}

static void place_timer(void *ctx, const struct tl_held *held)
{
    struct place_walk *walk = ctx;
    if ((held->marks & TL_MARK_STALE) == 0 && held->id < walk->capacity) {
        walk->at.pending = true;
        walk->at.rounds = held->rounds;
        walk->places[held->id] = walk->at;
        /* Marks a tree's cell until all of them are known. */
        walk->places[held->id].from = walk->is_tree ? TL_NEVER - 1 : walk->at.from;
    }
}

/* Fills in the places of the timers below `capacity`. */
void places_find(const struct tl_algo *algo, const void *self, struct place *places,
                 uint32_t capacity)
{
    struct place_walk walk = {.places = places, .capacity = capacity};
    const struct tl_visitor visitor = {
        .ctx = &walk, .part = place_part, .cell = place_cell, .timer = place_timer};
    memset(places, 0, capacity * sizeof *places);
    algo->walk(self, &visitor);
    for (uint32_t id = 0; id < capacity; id++) {
        if (places[id].pending && places[id].from == TL_NEVER - 1) {
            uint64_t above = 0;
            for (uint64_t cell = places[id].slot; walk.parents[cell] != TL_NEVER; above++) {
                cell = walk.parents[cell];
            }
            places[id].slot = above;
            places[id].from = TL_NEVER;
        }
    }
    free(walk.parents);
}

/* The place of one timer. */
struct place place_find(const struct tl_algo *algo, const void *self, uint32_t id)
{
    struct place *places = malloc(((size_t)id + 1) * sizeof *places);
    places_find(algo, self, places, id + 1);
    struct place place = places[id];
    free(places);
    return place;
}

struct place stand_place(const struct stand *s, uint32_t id)
{
    struct place place = place_find(s->algo, s->self, id);
    assert_true(place.pending);
    return place;
}
