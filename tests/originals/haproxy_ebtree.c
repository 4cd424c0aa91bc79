/*
 * ebtree compared with HAProxy's timers.
 *
 * The model follows src/task.c (task_queue, wake_expired_tasks), include/haproxy/ticks.h and
 * include/import/ebtree.h of HAProxy 3.5-dev5: ticks of 32 bits that turn over, a task's place in
 * the tree separate from its expiry; expired tasks are moved to the run queue before any of them
 * runs. It omits threads. Of the tree it knows two properties from its description: equal keys are
 * walked in the order of their insertion, and above a leaf there is one node for every bit that is
 * the highest in which the leaf's key differs from another.
 */
#include "original.h"

enum habit {
    CAPS_THE_RUN_QUEUE = 1, /* tune.runqueue-depth, here 3 */
    MOVES_LAZILY = 2,       /* a later expiry is looked at when the earlier place is reached */
    TAKES_THE_FAR = 4,
    KEEPS_THE_PASSED = 8, /* as ticks before now */
    TURNS_JUMPS_OVER = 16,
    HAS_NO_TICK_0 = 32,
};

enum { DEPTH = 3 };

enum where { NOWHERE, WAIT_QUEUE, RUN_QUEUE };

struct task {
    enum where where;
    uint64_t expire;
    uint64_t key; /* the key in the wait queue */
    uint64_t order;
};

struct haproxy {
    uint32_t habits;
    bool wide;
    uint64_t now;
    uint64_t order;
    struct task tasks[ORIGINAL_IDS];
};

static void haproxy_open(void *self, uint64_t now, uint32_t habits)
{
    *(struct haproxy *)self = (struct haproxy){.habits = habits, .now = now};
}

static void wide_open(void *self, uint64_t now, uint32_t habits)
{
    *(struct haproxy *)self = (struct haproxy){.habits = habits, .now = now, .wide = true};
}

static bool has(const struct haproxy *haproxy, enum habit habit)
{
    return (haproxy->habits & habit) != 0;
}

static void queue(struct haproxy *haproxy, struct task *task)
{
    task->where = WAIT_QUEUE;
    task->key = task->expire;
    task->order = haproxy->order++;
}

static bool haproxy_start(void *self, uint32_t id, uint64_t deadline)
{
    struct haproxy *haproxy = self;
    struct task *task = &haproxy->tasks[id];
    if (deadline <= haproxy->now && !has(haproxy, KEEPS_THE_PASSED)) {
        deadline = haproxy->now;
    }
    if (!haproxy->wide && deadline > haproxy->now && deadline - haproxy->now > INT32_MAX &&
        !has(haproxy, TAKES_THE_FAR)) {
        return false;
    }
    if (has(haproxy, HAS_NO_TICK_0) && (uint32_t)deadline == 0) {
        deadline++;
    }
    task->expire = deadline;
    if (!has(haproxy, MOVES_LAZILY) || task->where != WAIT_QUEUE || task->expire < task->key) {
        queue(haproxy, task);
    }
    return true;
}

static bool haproxy_stop(void *self, uint32_t id)
{
    struct task *task = &((struct haproxy *)self)->tasks[id];
    bool was = task->where != NOWHERE;
    task->where = NOWHERE;
    return was;
}

static bool is_expired(const struct haproxy *haproxy, uint64_t tick)
{
    if (has(haproxy, TURNS_JUMPS_OVER) || has(haproxy, TAKES_THE_FAR)) {
        return (int32_t)((uint32_t)tick - (uint32_t)haproxy->now) <= 0;
    }
    return tick <= haproxy->now;
}

/* The first of a queue; ORIGINAL_IDS: none. */
static uint32_t first_of(const struct haproxy *haproxy, enum where where)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        const struct task *task = &haproxy->tasks[id];
        const struct task *than = &haproxy->tasks[first % ORIGINAL_IDS];
        if (task->where == where &&
            (first == ORIGINAL_IDS ||
             (where == WAIT_QUEUE && task->key != than->key ? task->key < than->key
                                                            : task->order < than->order))) {
            first = id;
        }
    }
    return first;
}

/* wake_expired_tasks, and then the run queue. */
static void haproxy_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct haproxy *haproxy = self;
    uint32_t left = has(haproxy, CAPS_THE_RUN_QUEUE) ? DEPTH : UINT32_MAX;
    haproxy->now = now;
    for (uint32_t id = 0; left > 0 && (id = first_of(haproxy, WAIT_QUEUE)) < ORIGINAL_IDS; left--) {
        struct task *task = &haproxy->tasks[id];
        if (is_expired(haproxy, task->expire)) {
            task->where = RUN_QUEUE;
            task->order = haproxy->order++;
        } else if (task->key != task->expire) {
            queue(haproxy, task);
        } else {
            break;
        }
    }
    for (uint32_t id = 0; (id = first_of(haproxy, RUN_QUEUE)) < ORIGINAL_IDS;) {
        haproxy->tasks[id].where = NOWHERE;
        fire->call(fire->ctx, id);
    }
}

/* next_timer_expiry */
static uint64_t haproxy_next(void *self)
{
    const struct haproxy *haproxy = self;
    uint32_t first = first_of(haproxy, WAIT_QUEUE);
    return first < ORIGINAL_IDS ? haproxy->tasks[first].key : TL_NEVER;
}

/* The nodes above a task's leaf: at least, and at most. */
static void depth_of(const struct haproxy *haproxy, const struct task *task, uint64_t *least,
                     uint64_t *most)
{
    uint64_t mask = haproxy->wide ? UINT64_MAX : UINT32_MAX;
    uint64_t bits = 0;
    uint64_t equal = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        const struct task *other = &haproxy->tasks[id];
        uint64_t differ = (task->key ^ other->key) & mask;
        if (other->where == WAIT_QUEUE && other != task) {
            equal += differ == 0;
            bits |= differ == 0 ? 0 : UINT64_C(1) << (63 - __builtin_clzll(differ));
        }
    }
    uint64_t nodes = (uint64_t)__builtin_popcountll(bits);
    *least = nodes + (equal > 0);
    *most = nodes + equal;
}

/* The forks above a timer, in the bounds that equal keys leave. */
static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct haproxy *haproxy = self;
    const struct task *task = &haproxy->tasks[id];
    place->pending = task->where == WAIT_QUEUE;
    if (place->pending) {
        uint64_t least = 0;
        uint64_t most = 0;
        depth_of(haproxy, task, &least, &most);
        place->slot = place->slot < least ? least : place->slot > most ? most : place->slot;
    }
}

static const struct original haproxy = {
    .follows = "HAProxy 3.5-dev5, src/task.c",
    .bytes = sizeof(struct haproxy),
    .open = haproxy_open,
    .start = haproxy_start,
    .stop = haproxy_stop,
    .advance = haproxy_advance,
    .next = haproxy_next,
    .place = place_of,
};

/* The same with the tree's 64-bit keys. */
static const struct original haproxy_wide = {
    .follows = "HAProxy 3.5-dev5, src/task.c, on eb64tree",
    .bytes = sizeof(struct haproxy),
    .open = wide_open,
    .start = haproxy_start,
    .stop = haproxy_stop,
    .advance = haproxy_advance,
    .next = haproxy_next,
    .place = place_of,
};

static void timers_fire_as_haproxys_do(void **state)
{
    (void)state;
    struct original_case wanted = {.original = &haproxy,
                                   .structure = "ebtree",
                                   .options = "",
                                   .ordered = true,
                                   .next = ORIGINAL_NEXT_SAME};
    original_agrees(&wanted);
    wanted.clock = UINT32_MAX - 20000; /* turns over on the way */
    original_agrees(&wanted);
    wanted.delay_bits = 4; /* many equals */
    wanted.ids = 60;
    original_agrees(&wanted);
    wanted.delay_bits = 34; /* refused, too; and jumps over several turns */
    original_agrees(&wanted);
    wanted.original = &haproxy_wide;
    wanted.options = "keys=64";
    original_agrees(&wanted);
    wanted.delay_bits = 50;
    original_agrees(&wanted);
    wanted.delay_bits = 5;
    original_agrees(&wanted);
}

static void what_differs_is_said(void **state)
{
    (void)state;
    struct original_case wanted = {.original = &haproxy,
                                   .structure = "ebtree",
                                   .options = "",
                                   .ordered = true,
                                   .next = ORIGINAL_NEXT_SAME,
                                   .clock = UINT32_MAX - 500};
    original_differs(&wanted, CAPS_THE_RUN_QUEUE,
                     "no cap on the timers that one call wakes but the budget");
    original_differs(&wanted, MOVES_LAZILY, "a restart always moves the timer");
    original_differs(&wanted, KEEPS_THE_PASSED, "one that has passed is due at the clock");
    wanted.delay_bits = 5;
    wanted.clock = UINT32_MAX - 20;
    original_differs(&wanted, HAS_NO_TICK_0, "tick 0 is a tick like any other");
    wanted.delay_bits = 33;
    original_differs(&wanted, TAKES_THE_FAR, "a deadline beyond half a turn is refused");
    wanted.delay_bits = 32;
    original_differs(&wanted, TURNS_JUMPS_OVER, "jumps of the clock may be of any size");
}

/* --- the trees of the original's description ------------------------------------------------- */

/* 8, 10, 12, 13 and 14, in any order, make one tree; and a removal closes the gap. */
static void keys_make_one_tree(void **state)
{
    (void)state;
    static const uint32_t keys[] = {8, 10, 12, 13, 14};
    static const uint64_t depths[] = {2, 2, 3, 3, 2};
    for (uint32_t turn = 0; turn < 5; turn++) {
        struct stand s;
        stand_open(&s, "ebtree", "", .capacity = 2000);
        for (uint32_t i = 0; i < 5; i++) {
            uint32_t key = keys[(turn + 2 * i) % 5];
            stand_start(&s, key, key);
        }
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(stand_place(&s, keys[i]).slot, depths[i]);
        }
        assert_int_equal(stand_stop(&s, 12), TL_OK);
        assert_int_equal(stand_place(&s, 13).slot, 2);
        assert_int_equal(stand_place(&s, 14).slot, 2);
        assert_int_equal(stand_place(&s, 8).slot, 2);
        assert_int_equal(stand_stop(&s, 10), TL_OK);
        assert_int_equal(stand_place(&s, 8).slot, 1);
        stand_close(&s);
    }
}

/* A thousand equals hang no deeper than twice the logarithm of their number, not in a chain. */
static void equals_make_a_shallow_tree(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "ebtree", "", .capacity = 2000);
    uint64_t deepest = 0;
    for (uint32_t id = 0; id < 1000; id++) {
        stand_start(&s, id, 77);
    }
    for (uint32_t id = 0; id < 1000; id++) {
        uint64_t at = stand_place(&s, id).slot;
        deepest = at > deepest ? at : deepest;
    }
    assert_in_range(deepest, 10, 20);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_as_haproxys_do),
        cmocka_unit_test(what_differs_is_said),
        cmocka_unit_test(keys_make_one_tree),
        cmocka_unit_test(equals_make_a_shallow_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
