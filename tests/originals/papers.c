/*
 * Structures from papers, compared with the promises of those papers.
 *
 * If a descriptor has no differences that a caller can notice, the model is the abstract one of
 * those papers: the first due timer is taken first, equal ones in the order of their starts, if the
 * structure promises order. Taken from the registry.
 *
 * ffs-queue compared with the circular queue of Eiffel (Saeed et al. 2019, section 3.1.1): two
 * windows of buckets; timers beyond them go into the last one. Not modelled: how buckets are found.
 *
 * kv-wheel compared with the purpose of its table: tasks, from which a scheduler fetches those due
 * before now.
 */
#include "original.h"

#include <string.h>

enum habit {
    SERVES_THE_LAST_BUCKET = 1, /* when its time comes, whatever is in it */
    WAITS_FOR_THE_NEXT = 2,     /* fetches the tasks that are due before now */
};

enum { BUCKETS = 100 };

struct set {
    uint32_t habits;
    uint64_t now;
    uint64_t base; /* the first tick of the primary window */
    uint64_t order;
    bool pending[ORIGINAL_IDS];
    uint64_t due[ORIGINAL_IDS];
    uint64_t started[ORIGINAL_IDS];
};

static void set_open(void *self, uint64_t now, uint32_t habits)
{
    struct set *set = self;
    *set = (struct set){.habits = habits, .now = now, .base = now};
}

static bool set_stop(void *self, uint32_t id)
{
    struct set *set = self;
    bool was = set->pending[id];
    set->pending[id] = false;
    return was;
}

static bool set_start(void *self, uint32_t id, uint64_t deadline)
{
    struct set *set = self;
    uint64_t last = set->base + 2 * BUCKETS - 1;
    set->pending[id] = true;
    set->due[id] = deadline > set->now ? deadline : set->now;
    if ((set->habits & SERVES_THE_LAST_BUCKET) != 0 && set->due[id] > last) {
        set->due[id] = last;
    }
    set->started[id] = set->order++;
    return true;
}

/* The first of those started before; ORIGINAL_IDS: there is none. */
static uint32_t first_of(const struct set *set, uint64_t before)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool earlier = first == ORIGINAL_IDS || set->due[id] < set->due[first] ||
                       (set->due[id] == set->due[first] && set->started[id] < set->started[first]);
        if (set->pending[id] && set->started[id] < before && earlier) {
            first = id;
        }
    }
    return first;
}

static void set_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct set *set = self;
    uint64_t before = set->order;
    set->now = now;
    for (;;) {
        uint32_t id = first_of(set, before);
        bool waits = id < ORIGINAL_IDS && set->due[id] == now && (set->habits & WAITS_FOR_THE_NEXT);
        if (id == ORIGINAL_IDS || set->due[id] > now || waits) {
            break;
        }
        set->pending[id] = false;
        fire->call(fire->ctx, id);
    }
    uint32_t first = first_of(set, UINT64_MAX);
    uint64_t empty_to = first < ORIGINAL_IDS && set->due[first] < now ? set->due[first] : now;
    while (empty_to >= set->base + BUCKETS) { /* the primary is over and empty: they take turns */
        set->base += BUCKETS;
    }
}

static uint64_t set_next(void *self)
{
    const struct set *set = self;
    uint32_t first = first_of(set, UINT64_MAX);
    return first < ORIGINAL_IDS ? set->due[first] : TL_NEVER;
}

static const struct original event_set = {
    .follows = "the paper",
    .bytes = sizeof(struct set),
    .open = set_open,
    .start = set_start,
    .stop = set_stop,
    .advance = set_advance,
    .next = set_next,
};

static void nothing_can_be_noticed(void **state)
{
    (void)state;
    uint32_t compared = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if (algo->differs == NULL ||
            strncmp(algo->differs, "nothing that a caller can notice", 32) != 0) {
            continue;
        }
        const uint32_t in_order = TL_CAP_ORDERED | TL_CAP_FIFO;
        struct original_case set_case = {
            .original = &event_set,
            .structure = algo->name,
            .options = "",
            .ordered = (algo->capabilities & in_order) == in_order,
            .next = (algo->capabilities & TL_CAP_NEXT_EXACT) != 0 ? ORIGINAL_NEXT_SAME
                    : (algo->capabilities & TL_CAP_NEXT) != 0     ? ORIGINAL_NEXT_BEFORE
                                                                  : ORIGINAL_NEXT_ANY,
            .delay_bits = 10,
            .clock = 1000,
        };
        original_agrees(&set_case);
        compared++;
    }
    assert_true(compared > 0);
}

static void the_windows_of_eiffel(void **state)
{
    (void)state;
    struct original_case queue_case = {
        .original = &event_set,
        .structure = "ffs-queue",
        .options = "buckets=100",
        .ordered = true,
        .delay_bits = 12,
        .clock = 1000,
    };
    original_agrees(&queue_case);
    original_differs(&queue_case, SERVES_THE_LAST_BUCKET,
                     "Eiffel serves them with that bucket, early");
}

static void the_table_of_tasks(void **state)
{
    (void)state;
    if (!test_is_available(tl_registry_find("kv-wheel")->timed)) {
        print_message("kv-wheel is not in this build: left out\n");
        skip();
    }
    const struct original_case table_case = {
        .original = &event_set,
        .structure = "kv-wheel",
        .options = "sync=none",
        .operations = 100,
        .delay_bits = 8,
        .clock = 1000,
    };
    original_agrees(&table_case);
    original_differs(&table_case, WAITS_FOR_THE_NEXT, "waits for the next");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_can_be_noticed),
        cmocka_unit_test(the_windows_of_eiffel),
        cmocka_unit_test(the_table_of_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
