/*
 * vpp-wheel compared with VPP's tw_timer.
 *
 * The model follows src/vppinfra/tw_timer_template.c of FD.io VPP (commit 0442428e): the place of a
 * timer by the digits of its interval and of the current tick, with carry; the value that it keeps
 * there, its lower digits or, in the overflow, its tick; one tick after the other, with the actions
 * when one, two or three digits return to 0; the bitmap that a stop leaves alone. It omits the pool
 * and the clock in seconds. Handles are handed out at the end of a call, as by
 * tw_timer_expire_timers_vec. VPP handles the current slot before it counts the tick; that is one
 * of the habits.
 */
#include "original.h"

enum habit {
    COUNTS_AFTERWARDS = 1, /* a slot comes up with the tick after */
    LAST_FILED_FIRST = 2,  /* in a slot */
    GOES_ROUND = 4,        /* takes any interval of less than a turn of all rings */
    CAPS_EXPIRATIONS = 8,  /* max_expirations, here 2: the rest of the ticks comes later */
    WAKES_EVERY_TURN = 16, /* tw_timer_first_expires_in_ticks looks at the fast ring alone */
};

enum { SLOTS_MAX = 2048, MAX_EXPIRATIONS = 2 };

enum where { NOWHERE, ASIDE, FAST, SLOW, GLACIER, OVERFLOW, EXPIRED };

struct timer {
    enum where where;
    uint32_t slot;
    uint32_t fast_offset;
    uint32_t slow_offset;
    uint64_t expiration; /* in the overflow alone */
    uint64_t order;
};

struct tw {
    uint32_t habits;
    uint32_t rings;
    uint32_t shift;
    bool overflows;
    uint64_t now;
    uint64_t tick;
    uint64_t order;
    uint32_t held[GLACIER + 1][SLOTS_MAX]; /* timers of each slot */
    bool bitmap[SLOTS_MAX];
    struct timer timers[ORIGINAL_IDS];
};

static bool has(const struct tw *tw, enum habit habit)
{
    return (tw->habits & habit) != 0;
}

static uint32_t slots_of(const struct tw *tw)
{
    return UINT32_C(1) << tw->shift;
}

static uint32_t digit(const struct tw *tw, uint32_t ring)
{
    return (uint32_t)(tw->tick >> (ring * tw->shift)) & (slots_of(tw) - 1);
}

static void put(struct tw *tw, struct timer *timer, enum where where, uint32_t slot)
{
    timer->where = where;
    timer->slot = slot;
    timer->order = tw->order++;
    if (where >= FAST && where <= GLACIER) {
        tw->held[where][slot]++;
    }
    if (where == FAST) {
        tw->bitmap[slot] = true;
    }
}

static void take(struct tw *tw, struct timer *timer)
{
    if (timer->where >= FAST && timer->where <= GLACIER) {
        tw->held[timer->where][timer->slot]--;
    }
    timer->where = NOWHERE;
}

/* timer_add */
static void add(struct tw *tw, struct timer *timer, uint64_t interval)
{
    uint32_t slots = slots_of(tw);
    uint64_t turn = UINT64_C(1) << (3 * tw->shift);
    if (tw->overflows && interval + (tw->tick & (turn - 1)) >= turn) {
        timer->expiration = tw->tick + interval;
        put(tw, timer, OVERFLOW, 0);
        return;
    }
    uint32_t glacier = (uint32_t)(interval >> (2 * tw->shift));
    uint32_t slow = (uint32_t)(interval >> tw->shift) & (slots - 1);
    uint32_t fast = (uint32_t)interval & (slots - 1);
    fast += digit(tw, 0);
    slow += digit(tw, 1) + fast / slots;
    glacier += digit(tw, 2) + slow / slots;
    timer->fast_offset = fast % slots;
    timer->slow_offset = slow % slots;
    if (tw->rings > 2 && glacier % slots != digit(tw, 2)) {
        put(tw, timer, GLACIER, glacier % slots);
    } else if (tw->rings > 1 && timer->slow_offset != digit(tw, 1)) {
        put(tw, timer, SLOW, timer->slow_offset);
    } else {
        put(tw, timer, FAST, timer->fast_offset);
    }
}

static bool start(void *self, uint32_t id, uint64_t deadline)
{
    struct tw *tw = self;
    struct timer *timer = &tw->timers[id];
    uint32_t top = (tw->rings - 1) * tw->shift;
    bool ahead = deadline > tw->now;
    bool beyond = has(tw, GOES_ROUND)
                      ? deadline - tw->tick >= UINT64_C(1) << (tw->rings * tw->shift)
                      : (deadline >> top) - (tw->now >> top) >= slots_of(tw);
    if (ahead && !tw->overflows && beyond) {
        return false;
    }
    take(tw, timer);
    if (ahead) {
        add(tw, timer, deadline - tw->tick);
    } else {
        put(tw, timer, ASIDE, 0);
    }
    return true;
}

static bool stop(void *self, uint32_t id)
{
    struct tw *tw = self;
    bool was = tw->timers[id].where != NOWHERE;
    take(tw, &tw->timers[id]);
    return was;
}

/* The next of those in a slot that were there before `before`; NULL at the end. */
static struct timer *next_in(struct tw *tw, enum where where, uint32_t slot, uint64_t before)
{
    struct timer *found = NULL;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        struct timer *timer = &tw->timers[id];
        if (timer->where == where && timer->slot == slot && timer->order < before &&
            (found == NULL || (timer->order < found->order) != has(tw, LAST_FILED_FIRST))) {
            found = timer;
        }
    }
    return found;
}

static void expire(struct tw *tw, struct timer *timer)
{
    take(tw, timer);
    put(tw, timer, EXPIRED, 0);
}

/* The overflow vector, when all digits are 0. */
static void go_through_overflow(struct tw *tw)
{
    uint64_t before = tw->order;
    struct timer *timer;
    while ((timer = next_in(tw, OVERFLOW, 0, before)) != NULL) {
        uint64_t interval = timer->expiration - tw->tick;
        if (interval == 0) {
            expire(tw, timer);
        } else {
            take(tw, timer);
            add(tw, timer, interval);
        }
    }
}

/* A slot of the glacier ring or of the slow one. */
static void deal_slot(struct tw *tw, enum where where, uint32_t slot)
{
    uint64_t before = tw->order;
    struct timer *timer;
    while (tw->held[where][slot] > 0 && (timer = next_in(tw, where, slot, before)) != NULL) {
        take(tw, timer);
        if (where == GLACIER && timer->slow_offset != 0) {
            put(tw, timer, SLOW, timer->slow_offset);
        } else if (timer->fast_offset != 0) {
            put(tw, timer, FAST, timer->fast_offset);
        } else {
            expire(tw, timer);
        }
    }
}

static void handle_tick(struct tw *tw)
{
    bool fast_click = digit(tw, 0) == 0;
    bool slow_click = fast_click && digit(tw, 1) == 0;
    if (tw->overflows && slow_click && digit(tw, 2) == 0) {
        go_through_overflow(tw);
    }
    if (tw->rings > 2 && slow_click) {
        deal_slot(tw, GLACIER, digit(tw, 2));
    }
    if (tw->rings > 1 && fast_click) {
        deal_slot(tw, SLOW, digit(tw, 1));
    }
    uint32_t slot = digit(tw, 0);
    uint64_t before = tw->order;
    struct timer *timer;
    while (tw->held[FAST][slot] > 0 && (timer = next_in(tw, FAST, slot, before)) != NULL) {
        expire(tw, timer);
    }
    tw->bitmap[slot] = false;
}

static uint32_t expired(const struct tw *tw)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        count += tw->timers[id].where == EXPIRED;
    }
    return count;
}

/* tw_timer_expire_timers_vec, and its caller */
static void advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct tw *tw = self;
    uint64_t before = tw->order;
    struct timer *timer;
    tw->now = now;
    while ((timer = next_in(tw, ASIDE, 0, before)) != NULL) {
        expire(tw, timer);
    }
    while (tw->tick < now) {
        if (has(tw, COUNTS_AFTERWARDS)) {
            handle_tick(tw);
            tw->tick++;
        } else {
            tw->tick++;
            handle_tick(tw);
        }
        if (has(tw, CAPS_EXPIRATIONS) && expired(tw) >= MAX_EXPIRATIONS) {
            break;
        }
    }
    for (;;) {
        timer = NULL;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (tw->timers[id].where == EXPIRED &&
                (timer == NULL || tw->timers[id].order < timer->order)) {
                timer = &tw->timers[id];
            }
        }
        if (timer == NULL) {
            return;
        }
        take(tw, timer);
        fire->call(fire->ctx, (uint32_t)(timer - tw->timers));
    }
}

/* tw_timer_first_expires_in_ticks: with several rings it also examines the end of the fast one's
 * turn; with one ring it does not, and the bitmap wraps around. */
static uint64_t next(void *self)
{
    const struct tw *tw = self;
    uint32_t slots = slots_of(tw);
    bool any = false;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (tw->timers[id].where == ASIDE) {
            return tw->now;
        }
        any = any || tw->timers[id].where != NOWHERE;
    }
    if (!any && !has(tw, WAKES_EVERY_TURN)) {
        return TL_NEVER;
    }
    for (uint32_t ahead = 1; ahead < slots; ahead++) {
        uint64_t tick = tw->tick + ahead;
        if (tw->bitmap[tick & (slots - 1)] || (tw->rings > 1 && (tick & (slots - 1)) == 0)) {
            return tick;
        }
    }
    return tw->tick + slots;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct tw *tw = self;
    const struct timer *timer = &tw->timers[id];
    place->pending = timer->where != NOWHERE;
    place->level = 0;
    if (timer->where >= FAST && timer->where <= GLACIER) {
        place->level = timer->where - FAST + 1;
        place->slot = timer->slot;
    }
}

static void open_rings(void *self, uint64_t now, uint32_t habits, uint32_t rings, uint32_t shift)
{
    struct tw *tw = self;
    tw->habits = habits;
    tw->rings = rings;
    tw->shift = shift;
    tw->now = now;
    tw->tick = now; /* as if it had run since tick 0 */
}

static void open_1w_2048sl(void *self, uint64_t now, uint32_t habits)
{
    open_rings(self, now, habits, 1, 11);
}

static void open_2w_512sl(void *self, uint64_t now, uint32_t habits)
{
    open_rings(self, now, habits, 2, 9);
}

static void open_3w_256sl(void *self, uint64_t now, uint32_t habits)
{
    open_rings(self, now, habits, 3, 8);
}

static void open_3w_1024sl_ov(void *self, uint64_t now, uint32_t habits)
{
    open_rings(self, now, habits, 3, 10);
    ((struct tw *)self)->overflows = true;
}

#define GEOMETRY(name)                                                                             \
    {                                                                                              \
        .follows = "VPP's tw_timer_" #name, .bytes = sizeof(struct tw), .open = open_##name,       \
        .start = start, .stop = stop, .advance = advance, .next = next, .place = place_of          \
    }

static const struct original tw_1w_2048sl = GEOMETRY(1w_2048sl);
static const struct original tw_2w_512sl = GEOMETRY(2w_512sl);
static const struct original tw_3w_256sl = GEOMETRY(3w_256sl);
static const struct original tw_3w_1024sl_ov = GEOMETRY(3w_1024sl_ov);

static const struct {
    const struct original *original;
    const char *options;
    uint32_t bits; /* of the intervals of a turn of all rings */
} geometries[] = {
    {&tw_1w_2048sl, "wheels=1:bits=11", 11},
    {&tw_2w_512sl, "wheels=2:bits=9", 18},
    {&tw_3w_256sl, "wheels=3:bits=8", 24},
    {&tw_3w_1024sl_ov, "", 30},
};

/* Before a turn of all rings is over, so that it comes round soon. */
static struct original_case geometry(size_t i, uint32_t delay_bits)
{
    return (struct original_case){.original = geometries[i].original,
                                  .structure = "vpp-wheel",
                                  .options = geometries[i].options,
                                  .next = ORIGINAL_NEXT_AFTER,
                                  .clock = (UINT64_C(1) << geometries[i].bits) - 1000,
                                  .delay_bits = delay_bits,
                                  .step_ticks = 3000};
}

static void rings_click_as_vpps_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof geometries / sizeof geometries[0]; i++) {
        struct original_case wanted = geometry(i, geometries[i].bits + 2);
        original_agrees(&wanted);
        wanted.delay_bits = 14;
        original_agrees(&wanted);
        wanted.delay_bits = 9;
        wanted.step_ticks = 40;
        wanted.ids = ORIGINAL_IDS;
        original_agrees(&wanted);
    }
}

static void what_differs_is_said(void **state)
{
    (void)state;
    struct original_case wanted = geometry(3, 14);
    original_differs(&wanted, COUNTS_AFTERWARDS, "fires at the tick itself");
    original_differs(&wanted, CAPS_EXPIRATIONS,
                     "no cap on the timers that one call hands out but the budget");
    wanted.next = ORIGINAL_NEXT_SAME;
    original_differs(&wanted, WAKES_EVERY_TURN, "`next` looks beyond the turn of the fast ring");
    wanted.next = ORIGINAL_NEXT_ANY;
    wanted.delay_bits = 3;
    wanted.ordered = true;
    original_differs(&wanted, LAST_FILED_FIRST, "VPP's the last one filed first");
    wanted = geometry(1, 18);
    original_differs(&wanted, GOES_ROUND, "VPP files it a turn too early");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_click_as_vpps_do),
        cmocka_unit_test(what_differs_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
