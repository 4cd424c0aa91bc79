/*
 * Structures that keep timers in order, compared with programs of the same order:
 *
 *   skip-list        DPDK 23.03, lib/timer/rte_timer.c: timer_add, __rte_timer_reset,
 *                    __rte_timer_stop, __rte_timer_manage, rte_timer_next_ticks. Not modelled: other
 *                    cores, periodic timers, and the lanes, which have random heights.
 *   rbtree           nginx 1.24, ngx_event_timer.h and .c: ngx_event_add_timer, _del_timer,
 *                    _find_timer, _expire_timers. Not modelled: the tree.
 *                    Linux 6.1, kernel/time/hrtimer.c: hrtimer_start_range_ns, hrtimer_cancel,
 *                    __hrtimer_run_queues, __hrtimer_next_event_base. Not modelled: clocks and bases,
 *                    soft interrupts, the tree.
 *   unordered-list   Redis 7, ae.c: aeCreateTimeEvent, aeDeleteTimeEvent, processTimeEvents,
 *                    usUntilEarliestTimer. Not modelled: periodic events, and finalizers.
 *
 * They fire the same timers; the model is a list from which the first is taken.
 */
#include "original.h"

enum habit {
    STOP_ALWAYS_SUCCEEDS = 1, /* rte_timer: 0, pending or not */
    RUN_LIST_IS_FINAL = 2,    /* rte_timer: timers that this manage fires cannot be stopped or
                               * moved */
    LAZY_RESTARTS = 4,        /* nginx: not by less than 300 ms */
    SAME_LOOP = 8,            /* nginx, hrtimer: a due timer started by a callback fires, too */
    SLACK = 16,               /* hrtimer: the clock event is set to the end of a range */
    NEWEST_FIRST = 32,        /* Redis */
};

enum { NGX_TIMER_LAZY_DELAY = 300, RANGE = 50 };

struct list {
    uint32_t habits;
    uint64_t clock;
    uint64_t order;   /* of starts */
    uint32_t running; /* the timer with the running callback */
    bool pending[ORIGINAL_IDS];
    bool taken[ORIGINAL_IDS]; /* to fire in this advance */
    uint64_t due[ORIGINAL_IDS];
    uint64_t started[ORIGINAL_IDS];
};

static void list_open(void *self, uint64_t now, uint32_t habits)
{
    struct list *list = self;
    *list = (struct list){.habits = habits, .clock = now, .running = ORIGINAL_IDS};
}

static bool list_has(const struct list *list, enum habit habit)
{
    return (list->habits & (uint32_t)habit) != 0;
}

static bool is_final(const struct list *list, uint32_t id)
{
    return list_has(list, RUN_LIST_IS_FINAL) && list->taken[id] && id != list->running;
}

static bool list_stop(void *self, uint32_t id)
{
    struct list *list = self;
    if (is_final(list, id)) {
        return false;
    }
    bool was = list->pending[id];
    list->pending[id] = false;
    list->taken[id] = false;
    return was || list_has(list, STOP_ALWAYS_SUCCEEDS);
}

static bool list_start(void *self, uint32_t id, uint64_t deadline)
{
    struct list *list = self;
    uint64_t due = deadline > list->clock ? deadline : list->clock;
    if (is_final(list, id)) {
        return false;
    }
    uint64_t distance = due > list->due[id] ? due - list->due[id] : list->due[id] - due;
    if (list->pending[id] && list_has(list, LAZY_RESTARTS) && distance < NGX_TIMER_LAZY_DELAY) {
        return true;
    }
    list->pending[id] = true;
    list->taken[id] = false;
    list->due[id] = due;
    list->started[id] = list->order++;
    return true;
}

/* The first timer to fire; with the habit, the newest. ORIGINAL_IDS: none. */
static uint32_t first_of(const struct list *list, const bool *among)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (!among[id]) {
            continue;
        }
        bool before =
            first == ORIGINAL_IDS || list->due[id] < list->due[first] ||
            (list->due[id] == list->due[first] && list->started[id] < list->started[first]);
        if (first < ORIGINAL_IDS && list_has(list, NEWEST_FIRST)) {
            before = list->started[id] > list->started[first];
        }
        first = before ? id : first;
    }
    return first;
}

static void take_due(struct list *list)
{
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        list->taken[id] = list->pending[id] && list->due[id] <= list->clock;
    }
}

static void list_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct list *list = self;
    list->clock = now;
    take_due(list);
    for (;;) {
        uint32_t id = first_of(list, list->taken);
        if (id == ORIGINAL_IDS) {
            break;
        }
        list->pending[id] = false;
        list->taken[id] = false;
        list->running = id;
        fire->call(fire->ctx, id);
        list->running = ORIGINAL_IDS;
        if (list_has(list, SAME_LOOP)) {
            take_due(list);
        }
    }
}

static uint64_t list_next(void *self)
{
    const struct list *list = self;
    uint64_t next = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        next = list->pending[id] && list->due[id] < next ? list->due[id] : next;
    }
    return next < UINT64_MAX && list_has(list, SLACK) ? next + RANGE : next;
}

#define LIST_OF(source)                                                                            \
    {                                                                                              \
        .follows = (source), .bytes = sizeof(struct list), .open = list_open, .start = list_start, \
        .stop = list_stop, .advance = list_advance, .next = list_next                              \
    }

static const struct original rte_timer = LIST_OF("DPDK 23.03, rte_timer.c");
static const struct original nginx = LIST_OF("nginx 1.24, ngx_event_timer.c");
static const struct original hrtimer = LIST_OF("Linux 6.1, hrtimer.c");
static const struct original redis = LIST_OF("Redis 7, ae.c");

/* Among few timers, so that callbacks meet others that are due. */
#define SORTED_CASE(model, name)                                                                   \
    {                                                                                              \
        .original = &(model), .structure = (name), .options = "", .ordered = true,                 \
        .next = ORIGINAL_NEXT_SAME, .ids = 16, .delay_bits = 11, .clock = 1000                     \
    }

static void skip_list_is_rte_timers(void **state)
{
    (void)state;
    const struct original_case list_case = SORTED_CASE(rte_timer, "skip-list");
    original_agrees(&list_case);
    original_differs(&list_case, STOP_ALWAYS_SUCCEEDS, "rte_timer_stop answers 0 either way");
    original_differs(&list_case, RUN_LIST_IS_FINAL, "answer -1");
}

static void rbtree_is_nginxs(void **state)
{
    (void)state;
    const struct original_case tree_case = SORTED_CASE(nginx, "rbtree");
    original_agrees(&tree_case);
    original_differs(&tree_case, LAZY_RESTARTS, "less than 300");
    original_differs(&tree_case, SAME_LOOP, "fire it in the same loop");
}

static void rbtree_is_hrtimers(void **state)
{
    (void)state;
    const struct original_case tree_case = SORTED_CASE(hrtimer, "rbtree");
    original_agrees(&tree_case);
    original_differs(&tree_case, SAME_LOOP, "fire it in the same loop");
    original_differs(&tree_case, SLACK, "slack");
}

static void unordered_list_is_rediss(void **state)
{
    (void)state;
    struct original_case list_case = SORTED_CASE(redis, "unordered-list");
    list_case.ordered = false;
    original_agrees(&list_case);
    list_case.ordered = true;
    list_case.quiet = true;
    original_differs(&list_case, NEWEST_FIRST, "newest first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skip_list_is_rte_timers),
        cmocka_unit_test(rbtree_is_nginxs),
        cmocka_unit_test(rbtree_is_hrtimers),
        cmocka_unit_test(unordered_list_is_rediss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
