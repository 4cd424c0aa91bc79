/*
 * radix-heap compared with Seastar's timer_set.
 *
 * The model follows include/seastar/core/timer-set.hh (2024): get_index, insert, remove, expire,
 * get_next_timeout. Not modelled: that time stamps are signed, with 64 buckets for 63 bits.
 */
#include "original.h"

enum habit {
    EVERY_EXPIRE_DEALS = 1, /* even if nothing can be due: the buckets are always those of now */
    NEXT_IS_THE_EARLIEST_SEEN = 2, /* since the last expire, stopped or not, of all buckets */
};

struct timer_set {
    uint32_t habits;
    uint64_t now;
    uint64_t last;
    uint64_t next;
    bool pending[ORIGINAL_IDS];
    uint64_t timeout[ORIGINAL_IDS];
    uint32_t bucket[ORIGINAL_IDS]; /* leading bit that differs from `last`, from 1; 0: due */
    uint64_t earliest[65];         /* without the habit: put into a bucket since it was empty */
    bool used[65];
};

static void set_open(void *self, uint64_t now, uint32_t habits)
{
    struct timer_set *set = self;
    *set = (struct timer_set){.habits = habits, .now = now, .last = now, .next = UINT64_MAX};
}

static uint32_t index_of(const struct timer_set *set, uint64_t timestamp)
{
    uint32_t bit = 0;
    uint64_t differs = timestamp <= set->last ? 0 : timestamp ^ set->last;
    for (; differs != 0; differs >>= 1) {
        bit++;
    }
    return bit;
}

static void insert(struct timer_set *set, uint32_t id)
{
    uint64_t timeout = set->timeout[id];
    uint32_t index = index_of(set, timeout);
    set->pending[id] = true;
    set->bucket[id] = index;
    if (!set->used[index] || timeout < set->earliest[index]) {
        set->earliest[index] = timeout;
    }
    set->used[index] = true;
    set->next = timeout < set->next ? timeout : set->next;
}

static bool set_stop(void *self, uint32_t id)
{
    struct timer_set *set = self;
    bool was = set->pending[id];
    set->pending[id] = false;
    return was;
}

static bool set_start(void *self, uint32_t id, uint64_t deadline)
{
    struct timer_set *set = self;
    (void)set_stop(set, id);
    set->timeout[id] = deadline > set->now ? deadline : set->now;
    if (deadline <= set->now) { /* the last bucket, that of active timers which are due */
        set->pending[id] = true;
        set->bucket[id] = 0;
        set->next = set->last;
        return true;
    }
    insert(set, id);
    return true;
}

/* The earliest timeout that was put into the lowest bucket in use. */
static uint64_t lowest_bound(const struct timer_set *set)
{
    for (uint32_t bucket = 1; bucket < 65; bucket++) {
        if (set->used[bucket]) {
            return set->earliest[bucket];
        }
    }
    return UINT64_MAX;
}

/* expire, and then the callbacks */
static void set_expire(void *self, uint64_t now, const struct original_fire *fire)
{
    struct timer_set *set = self;
    bool expired[ORIGINAL_IDS] = {false};
    bool deals = (set->habits & EVERY_EXPIRE_DEALS) != 0 || lowest_bound(set) <= now;
    uint32_t index = index_of(set, now);
    set->now = now;
    if (deals) {
        set->last = now;
        set->next = UINT64_MAX;
        for (uint32_t bucket = 1; bucket <= index; bucket++) {
            set->used[bucket] = false;
        }
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool due = set->pending[id] && set->timeout[id] <= now;
        if (due) {
            expired[id] = true;
            set->pending[id] = false;
        } else if (set->pending[id] && deals && set->bucket[id] == index) {
            insert(set, id);
        }
    }
    if (deals && set->next == UINT64_MAX) { /* of the first bucket that is not empty */
        uint32_t first = 65;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            first = set->pending[id] && set->bucket[id] < first ? set->bucket[id] : first;
        }
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (set->pending[id] && set->bucket[id] == first && set->timeout[id] < set->next) {
                set->next = set->timeout[id];
            }
        }
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (expired[id]) {
            fire->call(fire->ctx, id);
        }
    }
}

static uint64_t set_next(void *self)
{
    const struct timer_set *set = self;
    bool any = false;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        any |= set->pending[id];
        if (set->pending[id] && set->bucket[id] == 0) {
            return set->now;
        }
    }
    if (!any) {
        return TL_NEVER;
    }
    return (set->habits & NEXT_IS_THE_EARLIEST_SEEN) != 0 ? set->next : lowest_bound(set);
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct timer_set *set = self;
    place->pending = set->pending[id];
    place->slot = set->bucket[id] > 0 ? set->bucket[id] : place->slot;
}

static const struct original timer_set = {
    .follows = "Seastar 2024, timer-set.hh",
    .bytes = sizeof(struct timer_set),
    .open = set_open,
    .start = set_start,
    .stop = set_stop,
    .advance = set_expire,
    .next = set_next,
    .place = place_of,
};

static const struct original_case set_case = {
    .original = &timer_set,
    .structure = "radix-heap",
    .options = "",
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 30,
    .clock = 1000,
};

static void the_buckets_of_seastar(void **state)
{
    (void)state;
    original_agrees(&set_case);
    struct original_case near_case = set_case;
    near_case.delay_bits = 8;
    original_agrees(&near_case);
}

static void but_for_when_it_deals(void **state)
{
    (void)state;
    original_differs(&set_case, EVERY_EXPIRE_DEALS, "even if nothing can be due");
    original_differs(&set_case, NEXT_IS_THE_EARLIEST_SEEN, "the earliest that was inserted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_buckets_of_seastar),
        cmocka_unit_test(but_for_when_it_deals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
