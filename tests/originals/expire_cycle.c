/*
 * Expiry by sampling, compared with
 *
 *   sampling-expiry   Redis 7, expire.c: activeExpireCycle, activeExpireCycleTryExpire, with the
 *                     constants of effort 1. Omitted: databases, and the limit to a cycle's time.
 *
 * A key is a timer, and the buckets of the hash table are the ids in their order. databasesCron
 * calls the cycle `hz` times a second, here at the multiples of 100 ticks.
 */
#include "original.h"

enum habit {
    EXPIRES_ON_ACCESS = 1, /* expireIfNeeded: a key that is due and touched is gone */
};

enum { KEYS_PER_LOOP = 20, ACCEPTABLE_STALE = 10, MAX_BUCKETS = KEYS_PER_LOOP * 20, PERIOD = 100 };

struct keys {
    uint32_t habits;
    uint64_t clock;
    uint64_t cron_at; /* the next call of the cycle */
    uint32_t expires_cursor;
    bool pending[ORIGINAL_IDS];
    bool fresh[ORIGINAL_IDS]; /* set by a callback of this cycle */
    uint64_t due[ORIGINAL_IDS];
};

static void keys_open(void *self, uint64_t now, uint32_t habits)
{
    struct keys *keys = self;
    *keys = (struct keys){.habits = habits, .clock = now, .cron_at = now - now % PERIOD + PERIOD};
}

static bool keys_start(void *self, uint32_t id, uint64_t deadline)
{
    struct keys *keys = self;
    keys->pending[id] = true;
    keys->fresh[id] = true;
    keys->due[id] = deadline;
    return true;
}

static bool keys_stop(void *self, uint32_t id)
{
    struct keys *keys = self;
    bool was = keys->pending[id];
    bool gone = (keys->habits & EXPIRES_ON_ACCESS) != 0 && keys->due[id] <= keys->clock;
    keys->pending[id] = false;
    return was && !gone;
}

/* One call of the cycle: samples until a tenth of one or less has expired. `left`: buckets until a
 * whole turn has found none that did. Returns how many of them are left. */
static uint32_t cycle(struct keys *keys, uint32_t buckets, uint64_t as_of, uint32_t left,
                      const struct original_fire *fire)
{
    bool repeat = true;
    while (repeat && left > 0) {
        unsigned sampled = 0;
        unsigned expired = 0;
        for (unsigned checked = 0; sampled < KEYS_PER_LOOP && checked < MAX_BUCKETS && left > 0;
             checked++) {
            uint32_t id = keys->expires_cursor;
            keys->expires_cursor = (id + 1) % buckets;
            left--;
            sampled += keys->pending[id];
            if (keys->pending[id] && !keys->fresh[id] && keys->due[id] <= as_of) {
                keys->pending[id] = false;
                expired++;
                left = buckets;
                fire->call(fire->ctx, id);
            }
        }
        repeat = sampled > 0 && expired * 100 / sampled > ACCEPTABLE_STALE;
    }
    return left;
}

static void keys_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct keys *keys = self;
    keys->clock = now;
    if (now < keys->cron_at) {
        return;
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        keys->fresh[id] = false;
    }
    uint64_t last = now - now % PERIOD;
    uint32_t left = ORIGINAL_IDS;
    for (; keys->cron_at <= now && left > 0; keys->cron_at += PERIOD) {
        left = cycle(keys, ORIGINAL_IDS, last, left, fire);
    }
    keys->cron_at = last + PERIOD;
}

static const struct original redis = {
    .follows = "Redis 7, expire.c",
    .bytes = sizeof(struct keys),
    .open = keys_open,
    .start = keys_start,
    .stop = keys_stop,
    .advance = keys_advance,
};

static void sampling_expiry_is_rediss(void **state)
{
    (void)state;
    const struct original_case keys_case = {.original = &redis,
                                            .structure = "sampling-expiry",
                                            .options = "",
                                            .ordered = true,
                                            .ids = 60,
                                            .clock = 1000};
    original_agrees(&keys_case);
    original_differs(&keys_case, EXPIRES_ON_ACCESS, "no expiry on access");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampling_expiry_is_rediss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
