/*
 * The walk of structures: every pending timer once, in a cell with ticks that include its deadline,
 * at the place that the walk states; no wheel with two hands. With late restarts, the tick under
 * which a timer is filed, or the last of its cell, is used instead of its deadline.
 */
#include "stand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIMERS 40u

struct shown {
    const struct stand *stand;
    struct tl_precision precision;
    bool restarts_late; /* a restart may leave a timer filed under an earlier tick */
    uint64_t filed_early;
    uint32_t seen[TIMERS];
    struct tl_part part;
    char part_name[32];
    struct tl_cell cell;
    bool has_part;
    bool has_cell;
    uint64_t hands;
    uint64_t cells;
};

static void end_part(struct shown *shown)
{
    if (shown->has_part && shown->part.form == TL_FORM_WHEEL) {
        assert_true(shown->hands <= 1);
        assert_true(shown->cells > 0);
    }
}

static void see_part(void *ctx, const struct tl_part *part)
{
    struct shown *shown = ctx;
    end_part(shown);
    assert_non_null(part->name);
    shown->part = *part;
    (void)snprintf(shown->part_name, sizeof shown->part_name, "%s", part->name);
    shown->has_part = true;
    shown->has_cell = false;
    shown->hands = 0;
    shown->cells = 0;
}

static void see_cell(void *ctx, const struct tl_cell *cell)
{
    struct shown *shown = ctx;
    assert_true(shown->has_part);
    if (shown->part.form != TL_FORM_TREE) {
        assert_int_equal(cell->index, shown->cells);
        assert_true(cell->parent == TL_NEVER);
    }
    assert_int_equal(cell->from == TL_NEVER, cell->to == TL_NEVER);
    assert_true(cell->from <= cell->to);
    shown->hands += (cell->marks & TL_MARK_HAND) != 0;
    shown->cells++;
    shown->cell = *cell;
    shown->has_cell = true;
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    struct shown *shown = ctx;
    assert_true(shown->has_cell);
    assert_true(held->id < TIMERS);
    if ((held->marks & TL_MARK_STALE) != 0) {
        return;
    }
    shown->seen[held->id]++;
    uint64_t deadline = shown->stand->due[held->id];
    if (shown->restarts_late && held->at < deadline) {
        deadline = held->at;
        shown->filed_early++;
    }
    const struct tl_cell *cell = &shown->cell;
    if (shown->restarts_late && cell->from != TL_NEVER && cell->to < deadline) {
        deadline = cell->to;
        shown->filed_early++;
    }
    /* Where a structure is coarse on purpose, the slot may be as late as it says. */
    uint64_t latest = deadline + shown->precision.late_ticks;
    if (held->at != TL_NEVER && held->at != deadline && held->at != shown->stand->due[held->id]) {
        fail_msg("%s: timer %" PRIu32 " is kept with %" PRIu64 ", not %" PRIu64,
                 shown->stand->algo->name, held->id, held->at, deadline);
    }
    if (shown->part.form == TL_FORM_WHEEL && held->rounds == 0 && cell->from != TL_NEVER &&
        (latest < cell->from || deadline > cell->to)) {
        fail_msg("%s: timer %" PRIu32 " of tick %" PRIu64 " is in a slot of %" PRIu64
                 " to %" PRIu64,
                 shown->stand->algo->name, held->id, deadline, cell->from, cell->to);
    }
}

static void look(struct shown *shown)
{
    const struct tl_visitor visitor = {
        .ctx = shown, .part = see_part, .cell = see_cell, .timer = see_timer};
    memset(shown->seen, 0, sizeof shown->seen);
    shown->has_part = false;
    shown->stand->algo->walk(shown->stand->self, &visitor);
    end_part(shown);
    for (uint32_t id = 0; id < TIMERS; id++) {
        if (shown->seen[id] != (shown->stand->due[id] != TL_NEVER)) {
            fail_msg("%s: timer %" PRIu32 " with deadline %" PRIu64 " is shown %" PRIu32 " times",
                     shown->stand->algo->name, id, shown->stand->due[id], shown->seen[id]);
        }
    }
}

/* Starts, stops and advances; small delays mostly, so that slots are shared and hands go round.
 * No deadline is in the past, for which structures keep other ticks than those. */
static void hold_to_operations(const struct tl_algo *algo, const char *options, uint64_t longest,
                               unsigned steps)
{
    struct stand s;
    struct tl_config config = {.capacity = TIMERS, .now = 7, .max_delay_ticks = longest};
    enum tl_status status = stand_try(&s, algo, options, config);
    if (status == TL_ERR_UNAVAILABLE) {
        return; /* its library is not here */
    }
    assert_int_equal(status, TL_OK);
    struct shown shown = {.stand = &s,
                          .precision = tl_algo_precision(algo, s.options, 1),
                          .restarts_late = strcmp(algo->name, "chunk-wheel") == 0 ||
                                           strcmp(algo->name, "linked-wheel") == 0 ||
                                           (strcmp(algo->name, "tokio-wheel") == 0 &&
                                            strstr(options, "restart=move") == NULL)};
    uint64_t budget = (algo->capabilities & TL_CAP_BUDGET) != 0 ? 2 : TL_NO_BUDGET;
    look(&shown);
    /* A restart to later comes first, because linked-wheel is late only where most are. */
    (void)stand_try_start(&s, 0, s.clock + 1);
    (void)stand_try_start(&s, 0, s.clock + 2);
    look(&shown);
    for (unsigned step = 0; step < steps; step++) {
        uint32_t id = (uint32_t)stand_draw(&s, TIMERS);
        uint64_t what = stand_draw(&s, 10);
        if (what < 6) {
            uint64_t delay = 1 + stand_draw(&s, stand_draw(&s, 4) == 0 ? longest : 12);
            (void)stand_try_start(&s, id, s.clock + delay);
        } else if (what < 7) {
            (void)stand_stop(&s, id);
        } else {
            uint64_t ticks = stand_draw(&s, 20) == 0 ? stand_draw(&s, longest) : stand_draw(&s, 4);
            (void)stand_advance_some(&s, s.clock + ticks, what == 7 ? budget : TL_NO_BUDGET);
        }
        look(&shown);
    }
    assert_int_equal(shown.filed_early > 0, shown.restarts_late);
    stand_close(&s);
}

static void everything_pending_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *options;
    } cases[] = {
        {"simple-wheel", "slots=50"},
        {"simple-wheel", "slots=50:tick=3"},
        {"round-wheel", "slots=8"},
        {"round-wheel", "slots=5:pow2=no"},
        {"round-wheel", "slots=5:pow2=no:tick=3"},
        {"hier-wheel", "slots=3"},
        {"hier-wheel", "slots=4:tick=5:rounding=ceil"},
        {"hier-wheel", "slots=4:tick=5:rounding=floor"},
        {"cascading-wheel", "l1=4:l2=4:l3=100:l4=0:l5=0"},
        {"hashed-ordered-wheel", "slots=8"},
        {"bitmap-wheel", "bits=3:levels=7"},
        {"dary-heap", "arity=3"},
        {"brpc-timer", "buckets=3:sweep=never"},
        {"two-level-wheel", "soon-bits=6:later-bits=6"},
        {"ffs-queue", "buckets=64"},
        {"duration-queues", "queues=4"},
        {"duration-queues", "expiry=scan"},
        {"tokio-wheel", "levels=3"},
        {"tokio-wheel", "restart=move"},
        {"coarse-wheel", "rounding=next"},
        {"nexus-wheel", "bits=2:step=1:levels=3:moves=0"},
        {"nexus-wheel", "bits=2:step=1:levels=3"},
        {"probing-wheel", "cap=1"},
        {"probing-wheel", "cap=2:resolution=4:gears=2:interval=5"},
        {"callout-wheel", "bits=3"},
        {"callout-wheel", "bits=4:bucket-bits=0:precision=3:deviation=none"},
        {"vpp-wheel", "wheels=3:bits=8"},
        {"spoke-wheel", "spokes=4:allocation=1"},
        {"spoke-wheel", "spokes=4:tick=4"},
    };
    unsigned shows = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->counted;
        shows += algo->walk != NULL;
        if (algo->walk != NULL) {
            hold_to_operations(algo, "", 3000, 100);
        }
    }
    assert_true(shows >= 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hold_to_operations(tl_registry_find(cases[i].name)->counted, cases[i].options, 300, 1500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_pending_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
