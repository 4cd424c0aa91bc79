/*
 * Front ends: a composition with a structure passes the conformance kit, its changes are declared,
 * and invalid compositions are refused in words.
 */
#include "stand.h"

#include "catalog.h"
#include "front.h"
#include "kit/passes.h"

#include <stdio.h>
#include <string.h>

struct trial {
    struct catalog catalog;
    struct contender_list contenders;
};

static struct trial select_structures(const char *text)
{
    struct trial trial = {0};
    struct error error;
    catalog_init(&trial.catalog);
    if (!catalog_select(&trial.catalog, text, &trial.contenders, &error)) {
        fail_msg("%s", error.text);
    }
    return trial;
}

static void end(struct trial *trial)
{
    contender_list_free(&trial->contenders);
    catalog_free(&trial->catalog);
}

static void compositions_pass_the_kit(void **state)
{
    (void)state;
    struct trial trial = select_structures(
        "locked(binary-heap),handoff(round-wheel),sharded(binary-heap),lazy(hier-wheel),"
        "handoff(binary-heap),lazy(binary-heap),lazy(coarse-wheel),lazy(duration-queues)");
    for (size_t i = 0; i < trial.contenders.count; i++) {
        const struct contender *contender = &trial.contenders.items[i];
        /* To the long cases one of each front end. */
        assert_passes(&(struct tl_entry){contender->timed, contender->counted, NULL},
                      !SANITIZED && i < 4);
    }
    end(&trial);
}

/* The options of both follow the name, the front end's first, in any order. */
static void options_of_both_are_one_table(void **state)
{
    (void)state;
    struct trial trial = select_structures("sharded(hier-wheel:tick=5):shards=3");
    const struct contender *contender = &trial.contenders.items[0];
    assert_string_equal(contender->timed->name, "sharded(hier-wheel)");
    assert_string_equal(contender->option_text, "shards=3:tick=5");
    struct tl_precision precision = tl_algo_precision(contender->timed, contender->options, 1000);
    assert_int_equal(precision.early_ticks, 4); /* hier-wheel's floor */
    end(&trial);
}

static void what_is_kept_is_declared(void **state)
{
    (void)state;
    struct trial trial = select_structures("binary-heap,locked(binary-heap),handoff(binary-heap),"
                                           "sharded(binary-heap),lazy(binary-heap)");
    const struct contender *items = trial.contenders.items;
    uint32_t heap = items[0].timed->capabilities;
    assert_true((heap & TL_CAP_EXACT) != 0 && (heap & TL_CAP_NEXT) != 0);
    assert_true((heap & TL_CAP_ORDERED) != 0 && (heap & TL_CAP_BUDGET) != 0);
    assert_int_equal(items[1].timed->capabilities, heap | TL_CAP_CONCURRENT);
    assert_int_equal(items[2].timed->capabilities & (TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_ORDERED),
                     0);
    assert_null(items[2].timed->next);
    assert_true((items[3].timed->capabilities & TL_CAP_EXACT) != 0);
    assert_int_equal(items[3].timed->capabilities & (TL_CAP_ORDERED | TL_CAP_BUDGET), 0);
    assert_int_equal(
        items[4].timed->capabilities,
        heap & ~(uint32_t)(TL_CAP_EXACT | TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_NEXT_EXACT));
    for (size_t i = 0; i < 5; i++) {
        const struct tl_front *front = tl_front_of(items[i].timed);
        assert_true((front != NULL) == (i > 0));
        bool concurrent = (items[i].timed->capabilities & TL_CAP_CONCURRENT) != 0;
        assert_true(concurrent == (i > 0 && i < 4));
    }
    end(&trial);
}

/* With 2 moved a tick, five timers due at once fire at 1, 1, 2, 2 and 3: no more than two a tick,
 * and no later than is declared. */
static void a_flood_is_handed_over_by_and_by(void **state)
{
    (void)state;
    struct trial trial = select_structures("handoff(binary-heap):moved=2:pending=1Mi");
    const struct contender *contender = &trial.contenders.items[0];
    struct stand s;
    stand_must(&s, contender->timed, NULL,
               (struct tl_config){.capacity = 8, .options = contender->options});
    for (uint32_t id = 0; id < 5; id++) {
        stand_start(&s, id, 1);
    }
    assert_int_equal(stand_count(&s), 5);
    static const uint64_t expected[] = {2, 2, 1, 0};
    for (uint64_t t = 0; t < 4; t++) {
        assert_int_equal(stand_advance(&s, t + 1), expected[t]);
    }
    /* Stopped before it was handed over, and after. */
    stand_start(&s, 0, 10);
    assert_int_equal(stand_stop(&s, 0), TL_OK);
    assert_int_equal(stand_stop(&s, 0), TL_IDLE);
    stand_start(&s, 1, 10);
    assert_int_equal(stand_advance(&s, 5), 0);
    assert_int_equal(stand_stop(&s, 1), TL_OK);
    assert_int_equal(stand_advance(&s, 20), 0);
    stand_close(&s);
    struct tl_precision near = tl_algo_precision(contender->timed, contender->options, 0);
    struct tl_precision far = tl_algo_precision(contender->timed, contender->options, 1 << 20);
    assert_int_equal(near.late_ticks, ((1 << 20) - 1) / 2 + 1);
    assert_int_equal(far.late_ticks, 0);
    end(&trial);
}

/* --- lazy ------------------------------------------------------------------------------------ */

/* A lazy structure under way: `fired` is the tick at which timer 7 fired last; 0: it has not. */
struct lazy_trial {
    struct trial trial;
    struct stand stand;
    uint64_t fired;
};

static void note_fired(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    assert_int_equal(id, 7);
    ((struct lazy_trial *)s->ctx)->fired = s->clock;
}

static void begin_lazy(struct lazy_trial *lazy, const char *text)
{
    lazy->trial = select_structures(text);
    lazy->fired = 0;
    const struct contender *contender = &lazy->trial.contenders.items[0];
    stand_must(&lazy->stand, contender->counted, NULL,
               (struct tl_config){.capacity = 8, .options = contender->options});
    lazy->stand.on_expiry = note_fired;
    lazy->stand.ctx = lazy;
}

static void end_lazy(struct lazy_trial *lazy)
{
    stand_close(&lazy->stand);
    end(&lazy->trial);
}

static void start_at(struct lazy_trial *lazy, uint64_t deadline)
{
    stand_start(&lazy->stand, 7, deadline);
}

/* Advances to a tick; at which one timer 7 has fired so far. */
static uint64_t fired_by(struct lazy_trial *lazy, uint64_t now)
{
    (void)stand_advance(&lazy->stand, now);
    return lazy->fired;
}

/* The example that opens front_lazy.c: two restarts cost no move, and one expiry inside. */
static void a_later_restart_is_found_out_when_it_fires(void **state)
{
    (void)state;
    struct lazy_trial lazy;
    begin_lazy(&lazy, "lazy(binary-heap)");
    start_at(&lazy, 100);
    struct tl_counters begun = stand_counters(&lazy.stand);
    start_at(&lazy, 140);
    start_at(&lazy, 180);
    assert_int_equal(stand_counters(&lazy.stand).moves, begun.moves);
    assert_int_equal(stand_next(&lazy.stand), 100);
    assert_int_equal(fired_by(&lazy, 100), 0);
    assert_int_equal(stand_counters(&lazy.stand).cascades, 1);
    assert_int_equal(stand_count(&lazy.stand), 1);
    assert_int_equal(stand_next(&lazy.stand), 180);
    assert_int_equal(fired_by(&lazy, 179), 0);
    assert_int_equal(fired_by(&lazy, 180), 180);
    /* Earlier: at once. */
    start_at(&lazy, 400);
    start_at(&lazy, 300);
    assert_int_equal(stand_next(&lazy.stand), 300);
    /* In one advance over both its deadlines it fires once. */
    start_at(&lazy, 500);
    assert_int_equal(fired_by(&lazy, 600), 600);
    assert_int_equal(stand_counters(&lazy.stand).cascades, 1);
    end_lazy(&lazy);
}

/* In a structure with a bound that useless inner expiries do not raise, as in Kafka's wheels, an
 * advance without expiries still raises the lazy one's. */
static void next_grows_if_only_restarts_are_found(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {1, 2, TL_NO_BUDGET};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        struct lazy_trial lazy;
        begin_lazy(&lazy, "lazy(hier-wheel):rounding=ceil:clock=bucket");
        (void)fired_by(&lazy, 32);
        start_at(&lazy, 32);
        start_at(&lazy, 33);
        assert_true(stand_next(&lazy.stand) <= 32);
        assert_int_equal(stand_advance_some(&lazy.stand, 32, budgets[i]), 0);
        assert_int_equal(stand_next(&lazy.stand), 33);
        assert_int_equal(fired_by(&lazy, 33), 33);
        end_lazy(&lazy);
    }
}

/* nginx's rule: within the slack of the kept deadline, however often, that one stays. */
static void slack_counts_from_the_deadline_that_is_kept(void **state)
{
    (void)state;
    static const struct {
        uint64_t asked[2];
        uint64_t fires;
    } cases[] = {
        {{1299, 1299}, 1000}, /* early by 299 */
        {{1200, 1299}, 1000}, /* not from 1200 */
        {{1200, 1301}, 1301}, /* beyond it: exact */
        {{701, 701}, 1000},   /* late by 299 */
        {{699, 699}, 699},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lazy_trial lazy;
        begin_lazy(&lazy, "lazy(binary-heap):slack=299");
        start_at(&lazy, 1000);
        start_at(&lazy, cases[i].asked[0]);
        start_at(&lazy, cases[i].asked[1]);
        for (uint64_t now = 1; now < 2000 && lazy.fired == 0; now++) {
            (void)fired_by(&lazy, now);
        }
        assert_int_equal(lazy.fired, cases[i].fires);
        struct tl_precision declared =
            tl_algo_precision(lazy.stand.algo, lazy.trial.contenders.items[0].options, 50);
        assert_int_equal(declared.early_ticks, 299);
        assert_int_equal(declared.late_ticks, 299);
        end_lazy(&lazy);
    }
}

/* As in HAProxy's stop: the structure keeps the timer, no caller sees it, and a start finds it
 * there. */
static void a_stop_can_be_found_out_too(void **state)
{
    (void)state;
    struct lazy_trial lazy;
    begin_lazy(&lazy, "lazy(binary-heap):stop=lazy");
    start_at(&lazy, 100);
    struct tl_counters begun = stand_counters(&lazy.stand);
    assert_int_equal(stand_stop(&lazy.stand, 7), TL_OK);
    assert_int_equal(stand_stop(&lazy.stand, 7), TL_IDLE);
    assert_int_equal(stand_count(&lazy.stand), 0);
    assert_true(stand_next(&lazy.stand) == TL_NEVER);
    assert_false(place_find(lazy.stand.algo, lazy.stand.self, 7).pending);
    start_at(&lazy, 150);
    assert_int_equal(stand_counters(&lazy.stand).moves, begun.moves);
    assert_int_equal(fired_by(&lazy, 149), 0);
    assert_int_equal(fired_by(&lazy, 150), 150);
    start_at(&lazy, 200);
    assert_int_equal(stand_stop(&lazy.stand, 7), TL_OK);
    assert_int_equal(fired_by(&lazy, 300), 150);
    end_lazy(&lazy);
}

/* Over coarse-wheel, which rounds 1000 up to 1024, a timer stays for 1020, but not for a delay that
 * must not be so late. */
static void lateness_is_promised_for_the_last_start(void **state)
{
    (void)state;
    struct lazy_trial lazy;
    begin_lazy(&lazy, "lazy(coarse-wheel)");
    start_at(&lazy, 1000);
    assert_int_equal(fired_by(&lazy, 995), 0);
    start_at(&lazy, 1005);
    struct tl_precision declared =
        tl_algo_precision(lazy.stand.algo, lazy.trial.contenders.items[0].options, 10);
    uint64_t now = 996;
    while (lazy.fired == 0 && now < 2000) {
        (void)fired_by(&lazy, now++);
    }
    assert_in_range(lazy.fired, 1005, 1005 + declared.late_ticks);
    end_lazy(&lazy);
}

static void what_cannot_be_composed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"lockd(binary-heap)", "no front end 'lockd'; did you mean 'locked'"},
        {"locked(binary-hep)", "did you mean 'binary-heap'"},
        {"locked", "needs a structure, as in locked(hier-wheel)"},
        {"locked(binary-heap", "in parentheses"},
        {"locked(sharded(binary-heap))", "one front end at a time"},
        {"handoff(simple-wheel)", "needs a structure that promises `unlimited`"},
        {"lazy(simple-wheel)", "needs a structure that promises `unlimited`"},
        {"lazy(locked(binary-heap))", "one front end at a time"},
        {"sharded(binary-heap):shards=0", "shards=0 is not usable"},
        {"locked(binary-heap),locked(binary-heap)", "named twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct catalog catalog;
        struct contender_list list = {0};
        struct error error;
        catalog_init(&catalog);
        assert_false(catalog_select(&catalog, cases[i].text, &list, &error));
        if (strstr(error.text, cases[i].message) == NULL) {
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, error.text, cases[i].message);
        }
        contender_list_free(&list);
        catalog_free(&catalog);
    }
}

/* Every slot is given back, and one too many is refused. */
static void slots_are_given_back(void **state)
{
    (void)state;
    const struct tl_algo *heap = tl_registry_find("binary-heap")->timed;
    const struct tl_algo *composed[TL_COMPOSITIONS_MAX];
    char why[256];
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < TL_COMPOSITIONS_MAX; i++) {
            composed[i] = tl_front_compose(tl_front_find("locked"), heap, why, sizeof why);
            assert_non_null(composed[i]);
        }
        assert_null(tl_front_compose(tl_front_find("locked"), heap, why, sizeof why));
        for (size_t i = 0; i < TL_COMPOSITIONS_MAX; i++) {
            tl_front_release(composed[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compositions_pass_the_kit),
        cmocka_unit_test(options_of_both_are_one_table),
        cmocka_unit_test(what_is_kept_is_declared),
        cmocka_unit_test(a_flood_is_handed_over_by_and_by),
        cmocka_unit_test(a_later_restart_is_found_out_when_it_fires),
        cmocka_unit_test(next_grows_if_only_restarts_are_found),
        cmocka_unit_test(slack_counts_from_the_deadline_that_is_kept),
        cmocka_unit_test(a_stop_can_be_found_out_too),
        cmocka_unit_test(lateness_is_promised_for_the_last_start),
        cmocka_unit_test(what_cannot_be_composed_is_refused),
        cmocka_unit_test(slots_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
